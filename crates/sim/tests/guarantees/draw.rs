//! Draws hierarchies from seeds to test guarantees: each scheduler grows where a thread was (`hls_scenario`), with what
//! the promise to its VP can carry, so that schedulers at every level promise something. Draws threads that make
//! trouble for schedulers: that wake up just before or after a budget is renewed, run for just as long as a budget,
//! arrive late and leave early.
//!
//! Relies on the calculus for what a VP is promised; a wrong label makes a draw less interesting, but not wrong. Every
//! file that is drawn is valid.

use super::held::plan;
use super::tree::{Case, HOG, Interrupt, Life, Range, Work};
use crate::runs::generator::AGENTS;
use hls_calculus::{Guarantee, Label, Mode, Rational};
use hls_check::Derived;
use hls_core::{PolicyInfo, limits, policies};
use hls_hierarchy::model::{Child, ModelEdge};
use hls_scenario::{Given, Place, Random, Supply, What, times};
use hls_units::Nanos;

const MAX_DEPTH: usize = 7;
const US: u64 = 1_000;
const MS: u64 = 1_000_000;

/// How often another scheduler is tried where one promises nothing.
const TRIES: u32 = 3;

pub struct Draw {
    pub random: Random,
    pub case: Case,
    /// A policy that half of the schedulers have.
    favourite: Option<&'static PolicyInfo>,
}

/// What a guarantee is worth to the budgets below it.
struct Held<'g>(&'g Guarantee);

impl Supply for Held<'_> {
    fn blackout_ns(&self) -> Option<u64> {
        u64::try_from(self.0.blackout()?.ceil().to_integer()).ok()
    }

    fn least_ns(&self, window_ns: u64) -> u64 {
        self.0.sbf_floor_nanos(Nanos(window_ns)).0
    }

    fn rate_ppm(&self) -> u64 {
        let millionths = Rational::from_integer(1_000_000.into()) * self.0.rate();
        u64::try_from(millionths.to_integer()).unwrap_or(0)
    }
}

/// Draws a hierarchy with hogs as threads. The same seed draws the same hierarchy.
pub fn hierarchy(seed: u64) -> Case {
    draw(seed, None)
}

/// The same, with many schedulers of this policy.
pub fn hierarchy_with(policy: &str, seed: u64) -> Case {
    draw(seed, policies().iter().find(|known| known.name == policy))
}

fn draw(seed: u64, favourite: Option<&'static PolicyInfo>) -> Case {
    let mut draw = Draw { random: Random::new(seed, 0), case: Case::new(1, seed), favourite };
    if draw.random.chance(15) {
        draw.case.cpus = draw.random.between(2, 4);
    }
    if draw.case.cpus > 1 && draw.random.chance(50) {
        draw.grow_apart();
    } else {
        let first = draw.favoured();
        draw.grow(0, first, &Guarantee::All);
    }
    for _ in 0..draw.random.between(1, 8) {
        draw.grow_somewhere();
    }
    if draw.random.chance(20) {
        draw.interrupts();
    }
    draw.case
}

/// Draws schedulers of this policy below slower processors.
pub fn below_slower(policy: &'static PolicyInfo, seed: u64) -> Case {
    let mut draw =
        Draw { random: Random::new(seed, 0x510e), case: Case::new(1, seed), favourite: Some(policy) };
    let slower = draw.random.one_of(&["bss-i", "pshed"]);
    let slower = policies().iter().find(|known| known.name == slower).expect("it is built in");
    draw.put(0, slower, &Guarantee::All, true);
    for child in draw.case.tree.children(0) {
        let held = draw.labels().swap_remove(child);
        draw.grow(child, Some(policy), &held);
    }
    for _ in 0..draw.random.between(0, 3) {
        draw.grow_somewhere();
    }
    draw.case
}

/// Draws a BVT scheduler with some threads that ask for JOB, and with other schedulers below it.
pub fn jobs(seed: u64) -> Case {
    let mut draw = Draw { random: Random::new(seed, 0x10b), case: Case::new(1, seed), favourite: None };
    let has_job = |case: &Case| (0..case.tree.nodes.len()).any(|node| case.job(node).is_some());
    while !has_job(&draw.case) {
        draw.case = Case::new(1, seed);
        draw.put_bvt();
    }
    for _ in 0..draw.random.between(0, 2) {
        let mut threads = draw.case.tree.places();
        threads.retain(|thread| draw.case.job(*thread).is_none());
        let Some(&thread) = draw.random.pick(&threads) else { break };
        let held = draw.labels().swap_remove(thread);
        draw.grow(thread, None, &held);
    }
    draw.case
}

/// Draws threads with equal shares of several CPUs below a BVT scheduler, which promises something to each.
pub fn even(seed: u64) -> Case {
    let mut draw = Draw { random: Random::new(seed, 0xe7e2), case: Case::new(2, seed), favourite: None };
    let cpus = draw.random.one_of(&[2, 2, 4]);
    while !matches!(draw.labels().last(), Some(Guarantee::Psbe { .. })) {
        draw.case = Case::new(cpus, seed);
        draw.put_bvt();
    }
    draw.case
}

/// Draws what the threads of a hierarchy do.
pub fn workload(case: &Case, seed: u64) -> Case {
    let case_of_seed = Case { seed, ..case.clone() };
    let mut draw = Draw { random: Random::new(seed, 0x5eed), case: case_of_seed, favourite: None };
    let marks = draw.landmarks();
    let longest = marks.iter().max().copied().unwrap_or(MS);
    draw.case.length = (12 * longest).clamp(100 * MS, 300 * MS) + draw.random.between(0, 5_000) * US;
    for thread in draw.case.tree.threads() {
        let life = draw.life(&marks);
        let life = match draw.case.job(thread) {
            _ if draw.case.tree.is_agent(thread) => Life { work: draw.agent(), ..life },
            Some(job) if draw.random.chance(80) => Life { work: draw.requests(job, &marks), ..life },
            _ => life,
        };
        draw.case.tree.nodes[thread].what = What::Thread(life);
    }
    draw.case
}

impl Draw {
    /// Adds one or two sources of interrupts, which leave most of each CPU.
    fn interrupts(&mut self) {
        for _ in 0..self.random.between(1, 2) {
            let (every, takes) =
                (self.random.between(2_000, 20_000) * US, self.random.between(10, 1_000) * US);
            let interrupt = Interrupt {
                cpu: self.random.between(0, self.case.cpus - 1),
                every: (every, every + self.random.between(0, 1_000) * US),
                takes: (takes / self.random.between(1, 3), takes),
            };
            self.case.interrupts.push(interrupt);
        }
    }

    /// The promises to the VPs of threads, by node.
    fn labels(&self) -> Vec<Guarantee> {
        self.promised(Label::clone)
    }

    /// What this makes of the labels of threads, by node, in real time.
    fn promised(&self, of: impl Fn(&Label) -> Label) -> Vec<Guarantee> {
        let mut labels = vec![Guarantee::Null; self.case.tree.nodes.len()];
        let Ok(plan) = plan(&self.case) else { return labels };
        let derived = Derived::new(&plan, Mode::Tight);
        for (index, edge) in plan.hierarchy.edges.iter().enumerate() {
            let Child::Thread(thread) = edge.child else { continue };
            let number: usize = plan.hierarchy.threads[thread].name[1..].parse().expect("a number follows");
            if let Some(label) = derived.input.graph_edge_of(ModelEdge(index), 0) {
                labels[number] = of(&derived.analysis.labels[label]).absolute();
            }
        }
        labels
    }

    /// Any policy: half of the time a standard one, which is no join.
    fn any_policy(&mut self) -> &'static PolicyInfo {
        let is_any = self.random.chance(50);
        let is_one =
            |policy: &&PolicyInfo| is_any || policy.id < limits::FIRST_OPTIONAL && !policy.properties.joins;
        self.random.one_of(&policies().iter().filter(is_one).collect::<Vec<_>>())
    }

    /// The policy that the case is drawn for, in half of the cases where there is one.
    fn favoured(&mut self) -> Option<&'static PolicyInfo> {
        self.favourite.filter(|_| self.random.chance(50))
    }

    /// Puts a scheduler in the place of a thread, mostly of one that is promised something; or a join in the place of
    /// two.
    fn grow_somewhere(&mut self) {
        let labels = self.labels();
        let mut threads = self.case.tree.places();
        threads.retain(|thread| self.case.tree.depth(*thread) < MAX_DEPTH);
        if threads.is_empty() {
            return;
        }
        let mut thread = self.random.one_of(&threads);
        for _ in 0..4 {
            if labels[thread] == Guarantee::Null {
                thread = self.random.one_of(&threads);
            }
        }
        let other = self.random.one_of(&threads);
        let joins = if self.case.cpus > 1 { 40 } else { 25 };
        if other != thread && self.random.chance(joins) {
            return self.join(thread, other);
        }
        let policy = self.favoured();
        self.grow(thread, policy, &labels[thread]);
    }

    fn join(&mut self, first: usize, second: usize) {
        let joins = policies().iter().find(|policy| policy.properties.joins).expect("one policy joins");
        self.case.tree.join([first, second], joins, &HOG);
    }

    /// Puts a scheduler in the place of a thread with a VP that is promised `held`, mostly one that promises something
    /// in its turn. `asked`: its policy; `None`: any.
    fn grow(&mut self, at: usize, asked: Option<&'static PolicyInfo>, held: &Guarantee) {
        let tries = if *held == Guarantee::Null { 1 } else { TRIES };
        for left in (0..tries).rev() {
            let policy = asked.unwrap_or_else(|| self.any_policy());
            let before = self.case.tree.clone();
            self.put(at, policy, held, left == 0);
            // Children that are promised nothing may have no room: that ends the run.
            let may_stay = left == 0 || !policy.properties.plans && self.random.chance(20);
            if may_stay || self.promises_below(at) {
                return;
            }
            self.case.tree = before;
        }
    }

    /// Whether a scheduler promises something to one of its children, all of which are threads.
    fn promises_below(&self, at: usize) -> bool {
        let labels = self.labels();
        self.case.tree.children(at).into_iter().any(|child| labels[child] != Guarantee::Null)
    }

    /// Puts a scheduler with this policy, with threads below it, in the place of a thread with a VP that is promised
    /// `held`.
    pub fn put(&mut self, at: usize, policy: &'static PolicyInfo, held: &Guarantee, is_roomy: bool) {
        // Budgets on a slower processor are in its time, where the policy tells it of deadlines.
        let is_slower = matches!(held, Guarantee::Resu { .. });
        let untold = |label: &Label| label.untold(policy.properties.joins);
        let untold = if is_slower { self.promised(untold).swap_remove(at) } else { held.clone() };
        let held = if is_slower && policy.properties.tells_deadlines { &Guarantee::All } else { &untold };
        let place = Place { held: &Held(held), cpus: self.case.cpus, is_roomy };
        self.case.tree.grow(&mut self.random, at, policy, &place, &HOG);
        // Mostly one CPU, since most analyses are for a scheduler with one VP.
        if self.case.cpus > 1 && self.random.chance(60) {
            let width = if self.random.chance(65) { 1 } else { self.random.between(1, self.case.cpus) };
            self.set_width(at, Some(width));
        }
        if *held == Guarantee::All && self.random.chance(60) {
            self.promise_more(at);
        }
        // More CPUs than those above hold are refused.
        if plan(&self.case).is_err() {
            self.set_width(at, None);
        }
    }

    fn set_width(&mut self, at: usize, width: Option<u64>) {
        if let What::Scheduler(scheduler) = &mut self.case.tree.nodes[at].what {
            scheduler.width = width;
        }
    }

    /// Makes a root with schedulers that have one CPU each, and a join below two of them, which may both grant it at
    /// once.
    fn grow_apart(&mut self) {
        let by_level: Vec<_> =
            policies().iter().filter(|policy| policy.properties.promises_by_level).collect();
        let root = self.random.one_of(&by_level);
        while self.case.tree.children(0).len() < 2 {
            self.case.tree = Case::new(1, 0).tree;
            self.put(0, root, &Guarantee::All, true);
        }
        let children = self.case.tree.children(0);
        for &child in &children[1..] {
            let policy = self.favoured();
            let held = self.labels().swap_remove(child);
            self.grow(child, policy, &held);
            self.set_width(child, Some(1));
        }
        let below = |child: usize| self.case.tree.children(child).first().copied().unwrap_or(child);
        let first = children.get(2).map_or(children[0], |&child| below(child));
        let second = below(children[1]);
        if ![first, second].iter().any(|node| self.case.tree.is_agent(*node)) {
            self.join(first, second);
        }
    }

    fn agent(&mut self) -> Work {
        let longest = self.random.one_of(&[2, 10, 50, 500, 5_000]) * US;
        Work::Agent { by: self.random.one_of(&AGENTS), cost: (US, longest) }
    }

    /// The lengths of time that matter in this hierarchy: budgets, periods, their differences, quanta.
    fn landmarks(&self) -> Vec<u64> {
        let mut marks = vec![MS];
        for node in &self.case.tree.nodes {
            if let What::Scheduler(scheduler) = &node.what {
                marks.extend(with_difference(&scheduler.params));
            }
            marks.extend(node.above.iter().flat_map(|edge| with_difference(&edge.params)));
        }
        marks
    }

    /// Draws a length of time: one of the landmarks, a little more or less, a part or a multiple of it, or any other.
    pub fn time(&mut self, marks: &[u64]) -> u64 {
        let mark = self.random.one_of(marks);
        let time = match self.random.between(0, 7) {
            0..=1 => mark,
            2 => mark + self.random.one_of(&[1, US, 7 * US]),
            3 => mark.saturating_sub(self.random.one_of(&[1, US, 7 * US])),
            4 => mark * self.random.between(1, 99) / 100,
            5 => mark * self.random.between(2, 5),
            _ => self.random.between(1, 6_000) * US,
        };
        time.max(US)
    }

    fn range(&mut self, marks: &[u64]) -> Range {
        let time = self.time(marks);
        if self.random.chance(60) {
            return (time, time);
        }
        let other = self.time(marks);
        (time.min(other), time.max(other))
    }

    fn life(&mut self, marks: &[u64]) -> Life {
        let work = match self.random.between(0, 9) {
            0..=3 => Work::Hog,
            4..=6 => {
                let (run, sleep) = (self.range(marks), self.range(marks));
                let stall = if self.random.chance(40) { self.range(marks) } else { (0, 0) };
                Work::Bursty { run, sleep, stall }
            }
            _ => {
                let jitter = if self.random.chance(30) { self.time(marks) } else { 0 };
                let offset = if self.random.chance(60) { self.time(marks) } else { 0 };
                Work::Periodic { run: self.range(marks), every: self.time(marks), offset, jitter }
            }
        };
        let arrive = if self.random.chance(25) { self.time(marks) } else { 0 };
        let leave = if self.random.chance(10) {
            Some(arrive + self.time(marks) * self.random.between(2, 10))
        } else {
            None
        };
        let is_bound = self.case.cpus > 1 && self.random.chance(10);
        let cpu = is_bound.then(|| self.random.between(0, self.case.cpus - 1));
        Life { arrive, leave, cpu, work }
    }
}

/// The times among parameters; of two also how far they are apart.
fn with_difference(params: &Given) -> Vec<u64> {
    let mut times: Vec<u64> = times(params).collect();
    if let [first, second] = times[..] {
        times.push(first.abs_diff(second).max(1));
    }
    times
}
