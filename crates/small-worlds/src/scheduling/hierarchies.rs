//! All small hierarchies: every shape of up to three schedulers, every built-in policy in every place that can have
//! it, and the ways to put three threads below them. Policies, their parameters and how many children they take come
//! from the core's registry, so that a new policy is in all of this as soon as it is registered.

use hls_core::{ParamInfo, Params, PolicyInfo, Unit, policies};
use std::fmt;

/// Threads of a small world.
pub const THREADS: usize = 3;

/// CPUs of a small world.
pub const CPUS: usize = 2;

/// The unit of all times: a tick. Budgets, periods and quanta are a few of them.
pub const TICK_NS: u64 = 1_000_000;

/// A scheduler of a hierarchy.
#[derive(Clone, Copy)]
pub struct Scheduler {
    /// Its policy.
    pub policy: &'static PolicyInfo,
    /// For each VP that it holds, the scheduler above, by its place in the hierarchy; none for the root's VPs.
    ups: [Option<usize>; CPUS],
}

impl Scheduler {
    /// For each VP that it holds, the place of the scheduler above.
    pub fn ups(&self) -> impl Iterator<Item = usize> + use<> {
        self.ups.into_iter().flatten()
    }
}

/// A hierarchy and its threads.
#[derive(Clone)]
pub struct Hierarchy {
    /// The schedulers, each behind those above it.
    pub schedulers: Vec<Scheduler>,
    /// The place of the scheduler above each thread; `None`: the thread comes later, if at all.
    pub threads: [Option<usize>; THREADS],
}

impl fmt::Display for Hierarchy {
    /// `fixed-priority < reservation(0 0), threads 0 1 1`: the root and, below it twice, a reservation.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, scheduler) in self.schedulers.iter().enumerate() {
            let ups: Vec<String> = scheduler.ups().map(|up| up.to_string()).collect();
            match at {
                0 => write!(f, "{}", scheduler.policy.name)?,
                _ => write!(f, " < {}({})", scheduler.policy.name, ups.join(" "))?,
            }
        }
        let above = self.threads.map(|above| above.map_or_else(|| "-".to_owned(), |above| above.to_string()));
        write!(f, ", threads {}", above.join(" "))
    }
}

/// Two choices of a parameter of VPs, so that some siblings are equal and others not: `variant` is 0 or 1.
fn vp_param(info: &ParamInfo, place: u64, variant: u64) -> u64 {
    let value = match (info.unit, info.default) {
        // Budget, then period: 1 of 3 ticks or 2 of 4.
        (Unit::Time, None) => TICK_NS * (1 + 2 * place + variant),
        (Unit::Time, Some(default)) => default + TICK_NS * variant,
        // Any slot.
        (Unit::Count, Some(default)) if info.name == SLOT => default,
        // Speeds in millionths: a quarter, or a half.
        (Unit::Count, _) if info.name == "rate-ppm" => 250_000 * (1 + variant),
        (Unit::Count, _) => info.min.max(1) + variant,
    };
    value.clamp(info.min, info.max)
}

/// The parameter that is a child's slot in the pages of a process; 0: the agent's.
const SLOT: &str = "slot";

/// The longest period of a slot of a policy that plans. The others divide it.
pub const TABLE_NS: u64 = TICK_NS * 64;

/// The parameters of a VP below a scheduler with this policy.
pub fn vp_params(policy: &PolicyInfo, variant: usize) -> Params {
    let variant = variant as u64 % 2;
    // Slots of one or two ticks: as many as there may be have a place, wherever others came and went.
    let slots = [TICK_NS * (1 + variant), TABLE_NS / (2 - variant)];
    if policy.properties.plans {
        return Params::from_slice(&slots);
    }
    let value = |(place, info)| vp_param(info, place, variant);
    Params::from_slice(&(0..).zip(&policy.vp_params).map(value).collect::<Vec<_>>())
}

/// The parameters of a thread there. One thread is the agent of every scheduler with a process as its policy.
pub fn thread_params(policy: &PolicyInfo, thread: usize) -> Params {
    const AGENT: usize = 1;
    let mut params = vp_params(policy, thread);
    if let Some(slot) = policy.vp_params.iter().position(|info| info.name == SLOT && thread == AGENT) {
        params.0[slot] = 0;
    }
    params
}

/// The parameters of a scheduler: quanta of two ticks, other times a tick longer each.
pub fn scheduler_params(policy: &PolicyInfo) -> Params {
    let value = |(place, info): (u64, &ParamInfo)| match (info.unit, info.default) {
        (Unit::Count, Some(default)) => default,
        (Unit::Count, None) => info.min,
        (Unit::Time, _) => (TICK_NS * (2 + place)).clamp(info.min, info.max),
    };
    Params::from_slice(&(0..).zip(&policy.scheduler_params).map(value).collect::<Vec<_>>())
}

/// How many VPs a scheduler of this policy may have below it, as far as it matters here.
fn room(policy: &PolicyInfo) -> usize {
    policy.max_children as usize
}

/// All hierarchies of this many schedulers, each with each way to put threads below it.
pub fn of(schedulers: usize) -> Vec<Hierarchy> {
    let mut trees = vec![];
    grow(&mut Vec::new(), schedulers, &mut trees);
    trees.into_iter().flat_map(with_threads).collect()
}

fn runnable() -> impl Iterator<Item = &'static PolicyInfo> {
    policies().iter()
}

/// Adds one more scheduler in every way, until there are `wanted`.
fn grow(tree: &mut Vec<Scheduler>, wanted: usize, trees: &mut Vec<Vec<Scheduler>>) {
    if tree.len() == wanted {
        trees.push(tree.clone());
        return;
    }
    for policy in runnable() {
        for ups in ways_up(tree, policy) {
            tree.push(Scheduler { policy, ups });
            if has_room(tree) && is_in_order(tree) {
                grow(tree, wanted, trees);
            }
            tree.pop();
        }
    }
}

/// The VPs that the next scheduler may hold: one or two of one scheduler; a join, also one of each of two.
fn ways_up(tree: &[Scheduler], policy: &PolicyInfo) -> Vec<[Option<usize>; CPUS]> {
    if tree.is_empty() {
        return vec![[None; CPUS]];
    }
    let one = (0..tree.len()).map(|above| [Some(above), None]);
    let twice = (0..tree.len()).map(|above| [Some(above); CPUS]);
    let pairs = (0..tree.len()).flat_map(|a| (0..a).map(move |b| [Some(b), Some(a)]));
    one.chain(twice).chain(pairs.filter(|_| policy.properties.joins)).collect()
}

fn has_room(tree: &[Scheduler]) -> bool {
    (0..tree.len()).all(|above| children(tree, above) <= room(tree[above].policy))
}

/// Schedulers below the schedulers of a tree, one for each VP.
fn children(tree: &[Scheduler], above: usize) -> usize {
    tree.iter().flat_map(Scheduler::ups).filter(|up| *up == above).count()
}

/// One of two trees that differ only in the order of two leaves is in order.
fn is_in_order(tree: &[Scheduler]) -> bool {
    let [.., one, other] = tree else { return true };
    let below_the_first = other.ups().any(|up| up == tree.len() - 2);
    below_the_first || tree.len() < 3 || (one.ups, one.policy.id) <= (other.ups, other.policy.id)
}

/// The tree with threads: at least one thread below each scheduler that has no scheduler below it, and as many as there
/// is room for.
fn with_threads(tree: Vec<Scheduler>) -> Vec<Hierarchy> {
    for number in (1..=THREADS).rev() {
        let mut found = vec![];
        place(&tree, &mut Vec::new(), number, &mut found);
        if !found.is_empty() {
            let hierarchy = |threads| Hierarchy { schedulers: tree.clone(), threads };
            return found.into_iter().map(hierarchy).collect();
        }
    }
    vec![]
}

fn place(
    tree: &[Scheduler],
    threads: &mut Vec<usize>,
    number: usize,
    found: &mut Vec<[Option<usize>; THREADS]>,
) {
    let below = |at: usize| threads.iter().filter(|above| **above == at).count();
    if (0..tree.len()).any(|at| children(tree, at) + below(at) > room(tree[at].policy)) {
        return;
    }
    if threads.len() == number {
        let is_used = |at: usize| children(tree, at) > 0 || below(at) > 0;
        if (0..tree.len()).all(is_used) {
            found.push([0, 1, 2].map(|thread: usize| threads.get(thread).copied()));
        }
        return;
    }
    for above in threads.last().copied().unwrap_or(0)..tree.len() {
        threads.push(above);
        place(tree, threads, number, found);
        threads.pop();
    }
}
