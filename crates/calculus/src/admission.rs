//! Admission while a hierarchy runs: guarantees that begin, change and end (HLS sections 3.1 and 3.3).
//!
//! The scheduler that a request is made to decides on it, from what that scheduler receives and what it provides. Where
//! its decision changes what a scheduler below receives, that scheduler decides in turn, and so on down. Each decision
//! is the same step that [`crate::analyse`] takes. Every need that was admitted holds after every request; a refusal
//! changes nothing. Never looks above the scheduler that decides, nor below its children:
//! [`Rules::global`](crate::Rules::global) is not for admission.

use crate::compose::analyse;
use crate::graph::{Child, Edge, Graph, Links, Scheduler};
use crate::guarantee::Guarantee;
use crate::label::Label;
use crate::local::{Place, Problem, StepContext};
use crate::mend::MOST_STEPS;
use crate::rules::Mode;
use crate::work::Work;
use std::collections::{BTreeMap, BTreeSet};

/// A hierarchy in which every need holds. Only [`Admission::fall_back`] may leave needs that do not.
///
/// Schedulers and edges are known by numbers, which are their positions in the first graph and later those that
/// [`Admission::create`] and [`Admission::begin`] return. The numbers of edges that ended and of schedulers that were
/// destroyed are given out again.
#[derive(Clone, Debug)]
pub struct Admission {
    graph: Graph,
    links: Links,
    mode: Mode,
    /// The label of each edge; `None` for an edge that ended.
    labels: Vec<Option<Label>>,
    ended: Vec<usize>,
    /// The numbers of schedulers that were destroyed, to be given out again.
    destroyed: Vec<usize>,
    /// The place of each scheduler in an order in which parents come first.
    rank: Vec<usize>,
}

/// New labels by edge.
type Changes = BTreeMap<usize, Label>;

impl Admission {
    /// Begins with a hierarchy that composes correctly.
    ///
    /// # Errors
    /// Everything that is wrong with the hierarchy.
    pub fn new(graph: Graph, mode: Mode) -> Result<Admission, Vec<Problem>> {
        let analysis = analyse(&graph, mode);
        if !analysis.problems.is_empty() {
            return Err(analysis.problems);
        }
        let links = Links::new(&graph);
        let labels = analysis.labels.into_iter().map(Some).collect();
        let rank = ranks(&graph, &links).unwrap_or_else(|| vec![0; graph.schedulers.len()]);
        let graph = graph.with_pins_spread().into_owned();
        Ok(Admission { graph, links, mode, labels, ended: Vec::new(), destroyed: Vec::new(), rank })
    }

    /// The label of an edge; `None` where no edge has this number. The label's derivation is from the last request that
    /// changed what the label promises; analyse [`Admission::graph`] for the derivation as of now.
    pub fn label(&self, edge: usize) -> Option<&Label> {
        self.labels.get(edge)?.as_ref()
    }

    /// An edge; `None` where no edge has this number.
    pub fn edge(&self, edge: usize) -> Option<&Edge> {
        self.label(edge).map(|_| &self.graph.edges[edge])
    }

    /// The edges below a scheduler; none where no scheduler has this number.
    pub fn below(&self, scheduler: usize) -> impl Iterator<Item = &Edge> {
        let edges = self.links.below.get(scheduler).map_or(&[][..], Vec::as_slice);
        edges.iter().map(|edge| &self.graph.edges[*edge])
    }

    /// The hierarchy as it is, without the edges that ended; the other edges are counted anew.
    pub fn graph(&self) -> Graph {
        let live = self.graph.edges.iter().zip(&self.labels).filter(|(_, label)| label.is_some());
        Graph { edges: live.map(|(edge, _)| edge.clone()).collect(), ..self.graph.clone() }
    }

    /// Adds a scheduler that no edge leads to yet. Returns the scheduler's number.
    pub fn create(&mut self, scheduler: Scheduler) -> usize {
        if let Some(number) = self.destroyed.pop() {
            self.graph.schedulers[number] = scheduler;
            return number;
        }
        self.graph.schedulers.push(scheduler);
        self.links.above.push(Vec::new());
        self.links.below.push(Vec::new());
        self.rank.push(self.rank.len());
        self.rank.len() - 1
    }

    /// Removes a scheduler that no longer has edges, neither above nor below.
    ///
    /// # Errors
    /// No such scheduler, or one that still has edges.
    pub fn destroy(&mut self, scheduler: usize) -> Result<(), Problem> {
        let edges = self.links.above.get(scheduler).zip(self.links.below.get(scheduler));
        let found = match edges {
            None => "none of that number",
            Some(_) if self.destroyed.contains(&scheduler) => "one that was destroyed",
            Some((above, below)) if !above.is_empty() || !below.is_empty() => "one with edges",
            Some(_) => {
                self.destroyed.push(scheduler);
                return Ok(());
            }
        };
        Err(self.problem_at(Place::Scheduler(scheduler), "a scheduler without edges", found))
    }

    /// Gives a scheduler another policy.
    ///
    /// # Errors
    /// No such scheduler, or a need below it that would not hold.
    pub fn replace(&mut self, scheduler: usize, by: Scheduler) -> Result<(), Problem> {
        let old = self.put(scheduler, by)?;
        match self.settle(&[scheduler], &self.links.below[scheduler]) {
            Ok(changes) => {
                self.adopt(changes);
                Ok(())
            }
            Err(problem) => {
                self.graph.schedulers[scheduler] = old;
                Err(problem)
            }
        }
    }

    /// Records that a scheduler has another policy now, whether the needs below the scheduler hold by that policy or
    /// not. Where a need does not hold, its edge is promised what the label says, and requests that touch the edge are
    /// refused until the need holds again.
    ///
    /// # Errors
    /// No such scheduler.
    pub fn fall_back(&mut self, scheduler: usize, to: Scheduler) -> Result<(), Problem> {
        self.put(scheduler, to)?;
        let changes = self.spread(&[scheduler], &[], &Work::unlimited(), |_| Ok(()))?;
        self.adopt(changes);
        Ok(())
    }

    /// Puts a scheduler in the place of another. Returns the old one.
    fn put(&mut self, scheduler: usize, by: Scheduler) -> Result<Scheduler, Problem> {
        match self.graph.schedulers.get_mut(scheduler) {
            Some(old) if !self.destroyed.contains(&scheduler) => Ok(std::mem::replace(old, by)),
            _ => Err(self.problem_at(Place::Scheduler(scheduler), "a scheduler", "none of that number")),
        }
    }

    /// Puts a child below a scheduler. Returns the number of the new edge.
    ///
    /// # Errors
    /// Why the edge cannot be: no such scheduler, a cycle, a second parent of a scheduler that takes one, or a need, of
    /// this edge or of another, that would not hold.
    pub fn begin(&mut self, edge: Edge) -> Result<usize, Problem> {
        self.begin_within(edge, &Work::unlimited())
    }

    /// Like [`Admission::begin`], in the elementary steps of `work`.
    ///
    /// # Errors
    /// As of [`Admission::begin`]; also where the steps are not enough, after which none are left.
    pub fn begin_within(&mut self, edge: Edge, work: &Work) -> Result<usize, Problem> {
        let place = self.enter(edge);
        self.decide(&[place], work)?;
        Ok(place)
    }

    /// Puts children below schedulers, all or none: each scheduler decides once, on all of them. Returns the numbers of
    /// the new edges.
    ///
    /// # Errors
    /// As of [`Admission::begin_within`], of one of the edges.
    pub fn begin_together(
        &mut self,
        edges: impl IntoIterator<Item = Edge>,
        work: &Work,
    ) -> Result<Vec<usize>, Problem> {
        let places: Vec<usize> = edges.into_iter().map(|edge| self.enter(edge)).collect();
        self.decide(&places, work)?;
        Ok(places)
    }

    /// Gives an edge a number, without linking it.
    fn enter(&mut self, edge: Edge) -> usize {
        let Some(place) = self.ended.pop() else {
            self.graph.edges.push(edge);
            self.labels.push(None);
            return self.labels.len() - 1;
        };
        self.graph.edges[place] = edge;
        place
    }

    /// Links new edges and adopts what the schedulers above them decide, or takes the edges back.
    fn decide(&mut self, places: &[usize], work: &Work) -> Result<(), Problem> {
        match self.admit(places, work) {
            Ok(changes) => {
                self.adopt(changes);
                Ok(())
            }
            Err(problem) => {
                for &place in places.iter().rev() {
                    self.links.unlink(place, &self.graph.edges[place]);
                    self.ended.push(place);
                }
                Err(problem)
            }
        }
    }

    /// Links new edges and decides on them.
    fn admit(&mut self, places: &[usize], work: &Work) -> Result<Changes, Problem> {
        let parents = places.iter().map(|place| self.connect(*place)).collect::<Result<Vec<_>, Problem>>()?;
        self.spread(&parents, places, work, Err)
    }

    /// Links a new edge. Returns the scheduler above it.
    fn connect(&mut self, place: usize) -> Result<usize, Problem> {
        let schedulers = 0..self.graph.schedulers.len();
        let Edge { parent, child, .. } = &self.graph.edges[place];
        let parent = parent.filter(|parent| schedulers.contains(parent));
        let Some(parent) = parent else {
            return Err(self.problem(place, "a scheduler as its parent", "none of that number"));
        };
        let leads_to = if let Child::Scheduler(child) = *child { Some(child) } else { None };
        if leads_to.is_some_and(|child| !schedulers.contains(&child)) {
            return Err(self.problem(place, "a scheduler to be scheduled", "none of that number"));
        }
        self.links.link(place, &self.graph.edges[place]);
        if self.takes_from_above(place, parent) {
            return Err(self.problem(
                place,
                "a child that may use every CPU",
                "one that takes from what is above",
            ));
        }
        if leads_to.is_some() {
            let rank = ranks(&self.graph, &self.links);
            self.rank = rank.ok_or_else(|| self.problem(place, "a path from the root", "a cycle"))?;
        }
        Ok(parent)
    }

    /// Gives an edge other parameters and another need.
    ///
    /// # Errors
    /// No such edge, or a need, of this edge or of another, that would not hold.
    pub fn change(
        &mut self,
        edge: usize,
        params: Vec<(String, u64)>,
        requested: Option<Guarantee>,
    ) -> Result<(), Problem> {
        let parent = self.parent_of(edge)?;
        let old = self.graph.edges[edge].clone();
        self.graph.edges[edge] = Edge { params, requested, ..old.clone() };
        match self.settle(&[parent], &[edge]) {
            Ok(changes) => {
                self.adopt(changes);
                Ok(())
            }
            Err(problem) => {
                self.graph.edges[edge] = old;
                Err(problem)
            }
        }
    }

    /// Ends an edge. The edge of a thread can always end.
    ///
    /// # Errors
    /// No such edge, the root's own, or one without which needs below it would not hold.
    pub fn end(&mut self, edge: usize) -> Result<(), Problem> {
        let parent = self.parent_of(edge)?;
        let Child::Scheduler(child) = self.graph.edges[edge].child else {
            return self.end_threads(&[edge]);
        };
        let label = self.labels[edge].take();
        self.links.unlink(edge, &self.graph.edges[edge]);
        let settled = match self.links.above[child].is_empty() {
            true if !self.links.below[child].is_empty() => {
                Err(self.problem(edge, "a parent, while it has children", "none left"))
            }
            // A scheduler that is nowhere needs nothing.
            true => self.settle(&[parent], &[]),
            false => self.settle(&[parent, child], &[]),
        };
        match settled {
            Ok(changes) => {
                self.adopt(changes);
                self.ended.push(edge);
                Ok(())
            }
            Err(problem) => {
                self.labels[edge] = label;
                self.links.link(edge, &self.graph.edges[edge]);
                Err(problem)
            }
        }
    }

    /// Ends the edges of threads; each scheduler above decides once. These edges can always end: to its siblings a
    /// thread is then one that never asks for the CPU again, so their guarantees still hold; where the analysis of
    /// fewer children says less, or takes more than [`MOST_STEPS`], old labels stay.
    ///
    /// # Errors
    /// No such edge, or one of a scheduler; then none has ended.
    pub fn end_threads(&mut self, edges: &[usize]) -> Result<(), Problem> {
        self.end_threads_within(edges, &Work::of(MOST_STEPS))
    }

    fn end_threads_within(&mut self, edges: &[usize], work: &Work) -> Result<(), Problem> {
        let mut of_parents: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for &edge in edges {
            of_parents.entry(self.parent_of(edge)?).or_default().insert(edge);
            if matches!(self.graph.edges[edge].child, Child::Scheduler(_)) {
                return Err(self.problem(edge, "an edge of a thread", "one of a scheduler"));
            }
        }
        for (parent, ended) in of_parents {
            self.links.below[parent].retain(|edge| !ended.contains(edge));
            for edge in ended {
                self.labels[edge] = None;
                self.ended.push(edge);
            }
            let changes = self.spread(&[parent], &[], work, Err).unwrap_or_default();
            self.adopt(changes);
        }
        Ok(())
    }

    /// Whether a new edge would weaken the labels above it: it is pinned to some CPUs, itself or by a thread below it,
    /// and is the first such edge below its parent.
    fn takes_from_above(&mut self, place: usize, parent: usize) -> bool {
        if let Child::Scheduler(child) = self.graph.edges[place].child {
            self.graph.edges[place].pinned |=
                self.links.below[child].iter().any(|edge| self.graph.edges[*edge].pinned);
        }
        let is_spread = |edge: &usize| self.graph.edges[*edge].pinned || self.graph.has_every_cpu(*edge);
        self.graph.cpus > 1
            && self.graph.edges[place].pinned
            && !self.links.above[parent].iter().all(is_spread)
    }

    /// The labels that change when these schedulers decide again, and with them every scheduler that then receives
    /// something else; or the first need that would not hold. Needs of the edges in `asked` are looked at even if the
    /// labels of these edges stay.
    fn settle(&self, schedulers: &[usize], asked: &[usize]) -> Result<Changes, Problem> {
        self.spread(schedulers, asked, &Work::unlimited(), Err)
    }

    /// Like [`Admission::settle`], in the elementary steps of `work`; `judge` decides which needs may be left unmet.
    fn spread(
        &self,
        schedulers: &[usize],
        asked: &[usize],
        work: &Work,
        judge: impl Fn(Problem) -> Result<(), Problem>,
    ) -> Result<Changes, Problem> {
        let around = self.step_context(work);
        let is_within =
            |scheduler| work.left().map_or_else(|| Err(self.too_hard(scheduler, work)), |_| Ok(()));
        let asked: BTreeSet<usize> = asked.iter().copied().collect();
        let mut changes = Changes::new();
        // Parents first, so that each scheduler decides once.
        let mut open: BTreeSet<(usize, usize)> = schedulers.iter().map(|s| (self.rank[*s], *s)).collect();
        while let Some((_, scheduler)) = open.pop_first() {
            let label_of = |edge: usize| changes.get(&edge).or(self.labels[edge].as_ref());
            let (labels, problems) = around.step(scheduler, label_of);
            // Without steps left an analysis says less than is true.
            is_within(scheduler)?;
            problems.into_iter().try_for_each(&judge)?;
            for (&edge, label) in self.links.below[scheduler].iter().zip(labels) {
                let stays = self.labels[edge].as_ref().is_some_and(|old| old.promises_as(&label));
                if (!stays || asked.contains(&edge))
                    && let (_, Some(problem)) = around.unmet(edge, &label)
                {
                    is_within(scheduler)?;
                    judge(problem)?;
                }
                if !stays {
                    if let Child::Scheduler(child) = self.graph.edges[edge].child {
                        open.insert((self.rank[child], child));
                    }
                    changes.insert(edge, label);
                }
            }
        }
        Ok(changes)
    }

    fn adopt(&mut self, changes: Changes) {
        for (edge, label) in changes {
            self.labels[edge] = Some(label);
        }
    }

    /// The scheduler above an edge that there is.
    fn parent_of(&self, edge: usize) -> Result<usize, Problem> {
        if self.label(edge).is_none() {
            return Err(self.problem(edge, "an edge", "none of that number"));
        }
        let parent = self.graph.edges[edge].parent;
        parent.ok_or_else(|| self.problem(edge, "an edge with a parent", "the root's own"))
    }

    fn problem(&self, edge: usize, needed: &str, found: &str) -> Problem {
        self.problem_at(Place::Edge(edge), needed, found)
    }

    /// The problem of a check that took more steps than were given when it came to this scheduler.
    fn too_hard(&self, scheduler: usize, work: &Work) -> Problem {
        let needed = format!("a check of at most {} steps", work.given());
        let problem = self.problem_at(Place::Scheduler(scheduler), &needed, "one that takes more");
        Problem { message: format!("too hard to check: {}", problem.message), ..problem }
    }

    fn problem_at(&self, place: Place, needed: &str, found: &str) -> Problem {
        self.step_context(&Work::unlimited()).problem(place, needed.to_owned(), found.to_owned())
    }

    fn step_context<'a>(&'a self, work: &'a Work) -> StepContext<'a> {
        StepContext { graph: &self.graph, links: &self.links, mode: self.mode, caps: &[], usable: &[], work }
    }
}

/// For each scheduler its place in an order in which parents come first; `None` where the graph has a cycle.
fn ranks(graph: &Graph, links: &Links) -> Option<Vec<usize>> {
    let mut waiting: Vec<usize> = links.above.iter().map(Vec::len).collect();
    for edge in graph.edges.iter().filter(|edge| edge.parent.is_none()) {
        if let Child::Scheduler(child) = edge.child {
            waiting[child] -= 1;
        }
    }
    let mut order: Vec<usize> = (0..waiting.len()).filter(|scheduler| waiting[*scheduler] == 0).collect();
    let mut rank = vec![0; waiting.len()];
    let mut at = 0;
    while let Some(&scheduler) = order.get(at) {
        rank[scheduler] = at;
        at += 1;
        for &edge in &links.below[scheduler] {
            if let Child::Scheduler(child) = graph.edges[edge].child {
                waiting[child] -= 1;
                if waiting[child] == 0 {
                    order.push(child);
                }
            }
        }
    }
    (order.len() == rank.len()).then_some(rank)
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREADS: usize = 100;

    /// Shares of a CPU for a hundred threads, and the numbers of their edges.
    fn shares() -> (Admission, Vec<usize>) {
        let scheduler = Scheduler {
            name: "shares".into(),
            policy: "proportional-share".into(),
            params: vec![("quantum".into(), 1_000_000)],
            joins: false,
            tells_deadlines: false,
        };
        let edge = |parent, child| Edge {
            parent,
            child,
            params: vec![("share".into(), 1)],
            requested: None,
            width: 1,
            pinned: false,
        };
        let edges = vec![edge(None, Child::Scheduler(0))];
        let graph = Graph { cpus: 1, schedulers: vec![scheduler], edges, ..Graph::default() };
        let mut admission = Admission::new(graph, Mode::Tight).unwrap();
        let thread = || edge(Some(0), Child::Thread("t".into()));
        let threads = admission.begin_together((0..THREADS).map(|_| thread()), &Work::unlimited()).unwrap();
        (admission, threads)
    }

    /// A label for each thread that is left, however many end; without steps for that the old labels stay.
    #[test]
    fn the_end_of_many_threads_is_one_decision() {
        let share = |admission: &Admission, edge: usize| admission.label(edge).unwrap().guarantee.to_string();
        let (mut admission, threads) = shares();
        let work = Work::of(10);
        admission.end_threads_within(&threads[10..], &work).unwrap();
        assert_eq!(work.left(), Some(0));
        assert!(share(&admission, threads[0]).starts_with("PSBE 1/10 "));
        let (mut admission, threads) = shares();
        admission.end_threads_within(&threads[10..], &Work::of(9)).unwrap();
        assert!(share(&admission, threads[0]).starts_with("PSBE 1/100 "));
        assert_eq!(admission.graph().edges.len(), 1 + 10);
    }
}
