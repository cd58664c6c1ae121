//! The smallest change of one number that mends a problem, found by search and verified by analysing.
//!
//! A number moves on the grid of what people write: whole multiples of a power of ten, three digits of the old value or
//! more ([`Setting::step`]). The size of a change is |new - old| / old, exactly. For each number and direction, values
//! are tried at one step, two, four and so on. A value has one of three outcomes: the problem stays, is mended, or
//! something else breaks. Where the outcomes of two successive values differ, bisection finds the first value with the
//! new outcome. So the value that is returned has been analysed, and the value one step nearer does not mend. The only
//! assumption is that between two tried values of one outcome no other outcome lies: where that is not so, a smaller
//! change may be missed, but never a wrong one returned.
//!
//! Cost: all analyses for one problem together take [`MOST_STEPS`] elementary steps at most, whatever the hierarchy.
//! Where that is not enough, in large hierarchies and where supplies are long sums, not every number is tried, and
//! [`Mends::extent`] says so. Relies on [`analyse`](crate::analyse) as a whole and knows no policy.

use crate::compose::{Analysis, analyse_within};
use crate::graph::{Child, Graph};
use crate::local::Place;
use crate::rational::{Rational, quotient, whole};
use crate::rules::Rules;
use crate::work::Work;
use num_traits::{One, Signed, ToPrimitive};
use std::cmp::Reverse;
use std::fmt;
use std::ops::{Range, RangeInclusive};

/// How many elementary steps the search for one mend may take: a label is one, a supply at one length of a window four.
/// They take about half a second.
pub const MOST_STEPS: u64 = 100_000;

/// What a number belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Owner {
    /// Index into [`Graph::schedulers`].
    Scheduler(usize),
    /// Indices into [`Graph::edges`]: one edge, or the edges of a thread's instances, which have their numbers in
    /// common.
    Edges(Range<usize>),
}

/// A number of a hierarchy's file that can be changed alone: a parameter, a number of the guarantee that is asked for,
/// or both where one number of the file sets both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// What the number belongs to.
    pub owner: Owner,
    /// The parameter that the number sets, by its name.
    pub param: Option<String>,
    /// The number of the requested guarantee that the number sets, counted from 0.
    pub asked: Option<usize>,
    /// The values that the number may have.
    pub range: RangeInclusive<Rational>,
    /// The values of the number are whole multiples of this: a nanosecond, one, or the finest share that is of any use.
    pub grain: Rational,
}

impl Setting {
    /// The number's value in a graph.
    pub fn value(&self, graph: &Graph) -> Option<Rational> {
        let (params, requested) = match &self.owner {
            Owner::Scheduler(index) => (&graph.schedulers.get(*index)?.params, None),
            Owner::Edges(edges) => {
                let edge = graph.edges.get(edges.start)?;
                (&edge.params, edge.requested.as_ref())
            }
        };
        match (&self.param, self.asked) {
            (Some(name), _) => params.iter().find(|(key, _)| key == name).map(|(_, value)| whole(*value)),
            (None, Some(number)) => requested?.number(number).cloned(),
            (None, None) => None,
        }
    }

    /// Gives the number a value, which lies in its range.
    pub fn set(&self, graph: &mut Graph, value: &Rational) {
        let set_param = |params: &mut Vec<(String, u64)>| {
            let param = params.iter_mut().find(|(key, _)| self.param.as_ref() == Some(key));
            if let (Some((_, param)), Some(value)) = (param, value.to_integer().to_u64()) {
                *param = value;
            }
        };
        match &self.owner {
            Owner::Scheduler(index) => {
                graph
                    .schedulers
                    .get_mut(*index)
                    .into_iter()
                    .for_each(|scheduler| set_param(&mut scheduler.params));
            }
            Owner::Edges(edges) => {
                for edge in graph.edges.get_mut(edges.clone()).unwrap_or_default() {
                    set_param(&mut edge.params);
                    if let (Some(asked), Some(number)) = (&mut edge.requested, self.asked) {
                        *asked = asked.with_number(number, value);
                    }
                }
            }
        }
    }

    /// Whether the number belongs to a need alone, so that to change it changes no label.
    pub fn is_need(&self) -> bool {
        self.param.is_none()
    }

    /// The distance between the values that are tried: one unit of the third digit of the value (`33.3ms`, `0.25`), or
    /// the grain where that is coarser.
    pub fn step(&self, value: &Rational) -> Rational {
        let (ten, thousand) = (whole(10), whole(1_000));
        let mut step = self.grain.clone();
        while step.is_positive() && &step * &thousand <= *value {
            step *= &ten;
        }
        step
    }

    /// How large a change is: |new - old| / old. A zero counts as one grain.
    pub fn change(&self, from: &Rational, to: &Rational) -> Rational {
        quotient(&(to - from).abs(), from.max(&self.grain))
    }
}

/// A change that mends a problem and makes no other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mend {
    /// What is changed, as an index into the settings that were given.
    pub setting: usize,
    /// The number's value as it is.
    pub from: Rational,
    /// The value that mends.
    pub to: Rational,
    /// How many problems are gone with the change, the one that was to be mended among them.
    pub removed: usize,
}

/// The two ways to mend a problem; `None` where none was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mends {
    /// The least change of a parameter.
    pub change: Option<Mend>,
    /// The least change of what the edge asks for, and of nothing else: a need that can be met.
    pub need: Option<Mend>,
    /// How far the search went.
    pub extent: Extent,
    /// How many elementary steps it took.
    pub steps: u64,
}

/// How far a search for a mend went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extent {
    /// Every setting was tried: a mend that was found is the least one, and where none was found there is none.
    #[default]
    Complete,
    /// The search used up its steps before every setting was tried: there may be a smaller change than the one that was
    /// found, or a change although none was found.
    GaveUp,
}

impl fmt::Display for Extent {
    /// For people: what to add to the answer of the search; nothing where every setting was tried.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Extent::Complete => Ok(()),
            Extent::GaveUp => {
                write!(f, "the search gave up after {MOST_STEPS} steps")
            }
        }
    }
}

/// Searches the least change of one of `settings` after which the place of a problem has none and no other place has
/// more than before. Among equal changes: the one that removes most problems, then the first of `settings`.
///
/// Considered are the schedulers above the problem and all edges below them; needs only where they are not met.
/// `analysis` is made of `graph` by the same rules. Nothing is found for an index or for settings that do not exist.
pub fn mend(
    graph: &Graph,
    rules: impl Into<Rules>,
    analysis: &Analysis,
    problem: usize,
    settings: &[Setting],
) -> Mends {
    let mut mends = Mends::default();
    let Some(problem) = analysis.problems.get(problem) else {
        return mends;
    };
    let work = Work::of(MOST_STEPS);
    let mut search = Search {
        graph: graph.clone(),
        rules: rules.into(),
        place: position(graph, problem.place),
        before: tally(graph, analysis),
        work: &work,
    };
    let above = schedulers_above(graph, problem.place);
    let near = |setting: &Setting| nearness(graph, problem.place, &above, setting);
    let mut order: Vec<(u8, usize)> =
        settings.iter().enumerate().filter_map(|(index, setting)| Some((near(setting)?, index))).collect();
    order.sort_unstable();
    for (_, index) in order {
        let best = if settings[index].is_need() { &mut mends.need } else { &mut mends.change };
        search.improve(best, index, settings);
    }
    mends.extent = if work.left().is_some() { Extent::Complete } else { Extent::GaveUp };
    mends.steps = MOST_STEPS - work.left().unwrap_or(0);
    mends
}

/// In which round a setting is tried, if at all, so that a search that gives up has tried what matters most: first the
/// edge with the problem, then what leads to that edge from the root, then the siblings of these.
fn nearness(graph: &Graph, place: Place, above: &[bool], setting: &Setting) -> Option<u8> {
    let is_above = |scheduler: usize| above.get(scheduler) == Some(&true);
    let edges = match &setting.owner {
        Owner::Scheduler(scheduler) => return is_above(*scheduler).then_some(1),
        Owner::Edges(edges) => edges,
    };
    let edge = graph.edges.get(edges.start)?;
    match (&edge.child, edge.parent?) {
        _ if matches!(place, Place::Edge(edge) if edges.contains(&edge)) => Some(0),
        _ if setting.is_need() => None,
        (Child::Scheduler(child), _) if is_above(*child) => Some(1),
        (_, parent) => is_above(parent).then_some(2),
    }
}

/// For each scheduler whether a path from the root to the place leads through it; a scheduler that is the place counts.
fn schedulers_above(graph: &Graph, place: Place) -> Vec<bool> {
    let mut above = vec![false; graph.schedulers.len()];
    let mut parents = vec![Vec::new(); graph.schedulers.len()];
    for edge in &graph.edges {
        if let (Child::Scheduler(child), Some(parent)) = (&edge.child, edge.parent)
            && let Some(parents) = parents.get_mut(*child)
        {
            parents.push(parent);
        }
    }
    let mut next: Vec<usize> = match place {
        Place::Scheduler(scheduler) => vec![scheduler],
        Place::Edge(edge) => graph.edges.get(edge).and_then(|edge| edge.parent).into_iter().collect(),
    };
    while let Some(scheduler) = next.pop() {
        if above.get(scheduler) == Some(&false) {
            above[scheduler] = true;
            next.extend(&parents[scheduler]);
        }
    }
    above
}

/// How many problems each place has: the schedulers, then the edges.
fn tally(graph: &Graph, analysis: &Analysis) -> Vec<usize> {
    let mut counts = vec![0; graph.schedulers.len() + graph.edges.len()];
    for problem in &analysis.problems {
        counts.get_mut(position(graph, problem.place)).into_iter().for_each(|count| *count += 1);
    }
    counts
}

fn position(graph: &Graph, place: Place) -> usize {
    match place {
        Place::Scheduler(scheduler) => scheduler,
        Place::Edge(edge) => graph.schedulers.len() + edge,
    }
}

/// What an analysis with a tried value says.
#[derive(Clone, Copy)]
enum Outcome {
    /// The problem is as it was, and nothing else is worse.
    Stays,
    /// The problem is gone, this many problems are gone in all, itself included, and nothing else is worse.
    Mended(usize),
    /// Something else is worse.
    Breaks,
}

impl Outcome {
    fn is_like(self, other: Outcome) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }
}

/// The values to try in one direction from the old value: `step * (base + sign * n)`, for n from 1 to `length`.
struct Track {
    step: Rational,
    base: Rational,
    sign: Rational,
    length: u64,
}

impl Track {
    fn new(from: &Rational, step: &Rational, end: &Rational, up: bool) -> Track {
        let (at, end) = (from / step, end / step);
        let (base, distance) =
            if up { (at.floor(), end.floor() - at.floor()) } else { (at.ceil(), at.ceil() - end.ceil()) };
        let sign = if up { Rational::one() } else { -Rational::one() };
        let length =
            if distance.is_positive() { distance.to_integer().to_u64().unwrap_or(u64::MAX) } else { 0 };
        Track { step: step.clone(), base, sign, length }
    }

    fn value(&self, n: u64) -> Rational {
        &self.step * (&self.base + &self.sign * whole(n))
    }
}

struct Search<'w> {
    graph: Graph,
    rules: Rules,
    /// The position of the problem's place in the tallies.
    place: usize,
    before: Vec<usize>,
    /// The steps that are left for all analyses together.
    work: &'w Work,
}

impl Search<'_> {
    /// Replaces the best mend where this setting has a better one.
    fn improve(&mut self, best: &mut Option<Mend>, index: usize, settings: &[Setting]) {
        let setting = &settings[index];
        let Some(from) = setting.value(&self.graph) else {
            return;
        };
        let step = setting.step(&from);
        if !step.is_positive() {
            return;
        }
        let change = |mend: &Mend| settings[mend.setting].change(&mend.from, &mend.to);
        for up in [false, true] {
            let mut end = if up { setting.range.end().clone() } else { setting.range.start().clone() };
            // A change larger than the best so far is of no use.
            if let Some(bound) = best.as_ref().map(change) {
                let reach = bound * from.clone().max(setting.grain.clone());
                end = if up { end.min(&from + reach) } else { end.max(&from - reach) };
            }
            let track = Track::new(&from, &step, &end, up);
            let found = self.first_on(&track, setting);
            setting.set(&mut self.graph, &from);
            let Some((n, removed)) = found else {
                continue;
            };
            let mend = Mend { setting: index, from: from.clone(), to: track.value(n), removed };
            let key = |mend: &Mend| (change(mend), Reverse(mend.removed), mend.setting);
            if best.as_ref().is_none_or(|best| key(&mend) < key(best)) {
                *best = Some(mend);
            }
        }
    }

    /// The first value on a track that mends, by doubling and bisection, and how many problems it removes.
    fn first_on(&mut self, track: &Track, setting: &Setting) -> Option<(u64, usize)> {
        let (mut near, mut outcome) = (0, Outcome::Stays);
        while near < track.length {
            let far = near.saturating_mul(2).clamp(1, track.length);
            let beyond = self.outcome(setting, &track.value(far))?;
            if beyond.is_like(outcome) {
                near = far;
                continue;
            }
            let (first, change) = self.first_change((near, outcome), (far, beyond), track, setting)?;
            if let Outcome::Mended(removed) = change {
                return Some((first, removed));
            }
            (near, outcome) = (far, beyond);
        }
        None
    }

    /// Between two values of different outcomes, the first with another outcome than `near`, and its outcome.
    fn first_change(
        &mut self,
        mut near: (u64, Outcome),
        mut far: (u64, Outcome),
        track: &Track,
        setting: &Setting,
    ) -> Option<(u64, Outcome)> {
        while far.0 - near.0 > 1 {
            let middle = near.0 + (far.0 - near.0) / 2;
            let outcome = self.outcome(setting, &track.value(middle))?;
            *(if outcome.is_like(near.1) { &mut near } else { &mut far }) = (middle, outcome);
        }
        Some(far)
    }

    /// The outcome of a value; `None` where the steps that were left are not enough for the analysis.
    fn outcome(&mut self, setting: &Setting, value: &Rational) -> Option<Outcome> {
        self.work.left()?;
        setting.set(&mut self.graph, value);
        let after = tally(&self.graph, &analyse_within(&self.graph, self.rules, self.work));
        self.work.left()?;
        let is_worse = after.iter().zip(&self.before).any(|(after, before)| after > before);
        let removed = self.before.iter().sum::<usize>().saturating_sub(after.iter().sum());
        Some(match () {
            () if is_worse => Outcome::Breaks,
            () if after.get(self.place) == Some(&0) => Outcome::Mended(removed),
            () => Outcome::Stays,
        })
    }
}
