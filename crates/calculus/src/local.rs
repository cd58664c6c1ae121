//! One scheduler's step of the composition, by local knowledge: from the labels above a scheduler and the edges below
//! it to the labels below it. [`crate::analyse`] takes a step for every scheduler, [`crate::Admission`] takes one for
//! each scheduler where something changes. Relies on the analyses of the policies (`schedulers/`). Never looks further
//! than the scheduler's own edges.

use crate::cap::Cap;
use crate::derivation::Rule;
use crate::derivation::refusal;
use crate::graph::{Child, Edge, Graph, Links, Scheduler};
use crate::guarantee::Guarantee;
use crate::label::Label;
use crate::narrow::most_vps_below;
use crate::rewrite::steps_to_compare;
use crate::rules::Mode;
use crate::schedulers::{self, Complaint, HeldVps, Instance, Provided};
use crate::work::Work;

/// What a problem is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Index into [`Graph::schedulers`].
    Scheduler(usize),
    /// Index into [`Graph::edges`].
    Edge(usize),
}

/// A place where the hierarchy cannot keep what it should.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Where.
    pub place: Place,
    /// What is needed there.
    pub needed: String,
    /// What there is instead.
    pub found: String,
    /// What is needed and what there is, in a sentence.
    pub message: String,
}

impl Problem {
    /// The problem as a reason: the formula of the NULL labels that are due to it.
    pub fn refusal(&self) -> String {
        refusal(&self.needed, &self.found)
    }
}

const OPEN: Rule = Rule { name: "open", source: "each thread that comes has a share as well" };
const PINNED: Rule = Rule { name: "pinned", source: "a VP may be granted a CPU that its child may not use" };

/// What there is in place of a need that was not compared, since no steps were left for that.
const GIVEN_UP: &str = "a guarantee that takes more steps to compare than are left";

/// What a scheduler's step may look at.
pub(crate) struct StepContext<'a> {
    pub(crate) graph: &'a Graph,
    pub(crate) links: &'a Links,
    pub(crate) mode: Mode,
    /// What each edge takes at most; empty unless the rules are global.
    pub(crate) caps: &'a [Option<Cap>],
    /// How many VPs each scheduler can use at once, by what is below it; empty where only its policy is looked at.
    pub(crate) usable: &'a [u16],
    /// How many elementary steps the analysis may still take.
    pub(crate) work: &'a Work,
}

impl<'a> StepContext<'a> {
    /// The labels of the edges below a scheduler, in the order of the edges, and what the scheduler cannot do.
    pub(crate) fn step<'l>(
        &self,
        scheduler: usize,
        label_of: impl Fn(usize) -> Option<&'l Label>,
    ) -> (Vec<Label>, Vec<Problem>) {
        let steals = |edge: &&usize| self.graph.steals(**edge);
        let (stealing, below): (Vec<usize>, Vec<usize>) =
            self.links.below[scheduler].iter().partition(steals);
        let (mut labels, mut problems) = self.step_for(scheduler, &below, &label_of);
        // As if there were no siblings: what steals from them comes before them.
        for edge in stealing {
            let (own, of_own) = self.step_for(scheduler, &[edge], &label_of);
            labels.extend(own);
            problems.extend(of_own);
        }
        labels.sort_by_key(|(edge, _)| *edge);
        (labels.into_iter().map(|(_, label)| label).collect(), problems)
    }

    /// The labels of these edges below a scheduler, as if there were no others.
    fn step_for<'l>(
        &self,
        scheduler: usize,
        below: &[usize],
        label_of: impl Fn(usize) -> Option<&'l Label>,
    ) -> (Vec<(usize, Label)>, Vec<Problem>) {
        let provided = self.provide(scheduler, below, label_of);
        let problem = |Complaint { child, needed, found }| {
            let edge = child.and_then(|child: usize| below.get(child).copied());
            self.problem(edge.map_or(Place::Scheduler(scheduler), Place::Edge), needed, found)
        };
        let problems = provided.complaints.into_iter().map(problem).collect();
        let finished = |(edge, label): (&usize, Label)| (*edge, self.finished(*edge, label));
        (below.iter().zip(provided.labels).map(finished).collect(), problems)
    }

    /// What the scheduler's policy provides to these edges below it.
    fn provide<'l>(
        &self,
        scheduler: usize,
        below: &[usize],
        label_of: impl Fn(usize) -> Option<&'l Label>,
    ) -> Provided {
        let graph = self.graph;
        let Scheduler { policy, joins, tells_deadlines, params, .. } = &graph.schedulers[scheduler];
        let slot =
            |edge: &usize| Some(HeldVps { label: label_of(*edge)?, width: graph.edges[*edge].width.max(1) });
        let instance = Instance {
            params,
            joins: *joins,
            tells_deadlines: *tells_deadlines,
            held: self.links.above[scheduler].iter().filter_map(slot).collect(),
            children: below.iter().map(|edge| &graph.edges[*edge]).collect(),
            names: below.iter().map(|edge| graph.child_name(*edge)).collect(),
            cpus: graph.cpus,
            mode: self.mode,
            caps: below.iter().map(|edge| self.caps.get(*edge).cloned().flatten()).collect(),
            work: self.work,
        };
        if graph.open.contains(&scheduler) {
            return instance.nothing(OPEN, "threads may come here that nobody placed");
        }
        schedulers::provide(policy, &instance)
    }

    /// The label of an edge once the edge is considered: with the child's name, and NULL for a child that may use only
    /// some CPUs.
    pub(crate) fn finished(&self, edge: usize, label: Label) -> Label {
        self.work.take(1);
        let Edge { child, pinned, .. } = &self.graph.edges[edge];
        let bound = if matches!(child, Child::Thread(_)) { "it" } else { "a thread below it" };
        let label = if *pinned && self.graph.cpus > 1 && label.guarantee != Guarantee::Null {
            let formula = format!("{bound} may use only some of the machine's {} CPUs", self.graph.cpus);
            Label::new(Guarantee::Null, 0, PINNED, vec![label.derivation.clone()], formula)
        } else {
            label
        };
        Label { usable: self.usable_vps(edge), ..label }.named(self.graph.child_name(edge))
    }

    /// How many of an edge's VPs can have a CPU at once, by what is below them.
    fn usable_vps(&self, edge: usize) -> u16 {
        let Child::Scheduler(child) = self.graph.edges[edge].child else { return u16::MAX };
        let by_policy = || self.graph.schedulers.get(child).map_or(u16::MAX, most_vps_below);
        self.usable.get(child).copied().unwrap_or_else(by_policy)
    }

    /// The problem of an edge that asks for something that its label does not give, and how many steps it took to tell.
    pub(crate) fn unmet(&self, edge: usize, label: &Label) -> (usize, Option<Problem>) {
        let Some(need) = &self.graph.edges[edge].requested else { return (0, None) };
        let steps = steps_to_compare(&label.guarantee, need);
        if !self.work.take(steps) {
            let problem = self.problem(Place::Edge(edge), need.rounded_for_people(), GIVEN_UP.to_owned());
            return (steps, Some(problem));
        }
        let problem = label.shortcoming(need).map(|reason| {
            let found = format!("{} ({reason})", label.rounded_for_people());
            self.problem(Place::Edge(edge), need.rounded_for_people(), found)
        });
        (steps, problem)
    }

    /// A problem, with the sentence that says it.
    pub(crate) fn problem(&self, place: Place, needed: String, found: String) -> Problem {
        let name = match place {
            Place::Scheduler(index) => {
                self.graph.schedulers.get(index).map_or("?", |scheduler| &scheduler.name)
            }
            Place::Edge(index) => self.graph.child_name(index),
        };
        let message = format!("{name}: {}", refusal(&needed, &found));
        Problem { place, needed, found, message }
    }
}
