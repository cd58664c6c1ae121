//! Time in slots: a parent, children, what they ask for and get, and what the calculus promises them.

use crate::support::scheduler;
use hls_calculus::{Child, Edge, Graph, Guarantee, Label, Mode, Rational, analyse};
use num_bigint::BigInt;
use num_traits::ToPrimitive;

pub const SLOTS: usize = 240;

pub fn int(n: usize) -> Rational {
    Rational::from_integer(BigInt::from(n))
}

/// How many cases a test tries; `HLS_SEEDS` makes a campaign of it.
pub fn soak(cases: usize) -> usize {
    std::env::var("HLS_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(cases)
}

/// xorshift64: the same numbers on every run.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

/// A parent that grants a slot only when a window of requests would otherwise fall below the supply, or by chance.
struct Miser {
    /// sbf(0), sbf(1), ..., rounded up.
    least: Vec<usize>,
    /// For each slot since the request began, how many slots had been granted by then.
    granted: Vec<usize>,
    generosity: usize,
}

impl Miser {
    fn new(held: &Guarantee, generosity: usize) -> Miser {
        let least = (0..=SLOTS).map(|t| held.sbf(&int(t)).ceil().to_integer().to_usize().unwrap()).collect();
        Miser { least, granted: vec![0], generosity }
    }

    fn grants(&mut self, requested: bool, random: &mut Random) -> bool {
        if !requested {
            self.granted = vec![0];
            return false;
        }
        let (now, sum) = (self.granted.len(), self.granted[self.granted.len() - 1]);
        let owed = (0..now).any(|start| sum - self.granted[start] < self.least[now - start]);
        let grant = owed || random.below(100) < self.generosity;
        self.granted.push(sum + usize::from(grant));
        grant
    }
}

/// What a child asked for and got, slot by slot.
#[derive(Clone, Default)]
pub struct Log {
    pub wanted: Vec<bool>,
    pub got: Vec<bool>,
}

impl Log {
    /// The first window that breaks the promise.
    pub fn broken(&self, promise: &Guarantee) -> Option<(usize, usize)> {
        let whole = |value: Rational| value.to_integer().to_usize().unwrap();
        let least: Vec<usize> = (0..=SLOTS).map(|t| whole(promise.sbf(&int(t)).ceil())).collect();
        let most: Vec<usize> = (0..=SLOTS).map(|t| whole(promise.ubf(&int(t)).floor())).collect();
        (0..self.got.len()).find_map(|start| {
            let (mut got, mut wanted) = (0, true);
            (start..self.got.len()).find_map(|slot| {
                got += usize::from(self.got[slot]);
                wanted &= self.wanted[slot];
                let length = slot + 1 - start;
                let short = wanted && got < least[length];
                (short || got > most[length]).then_some((start, length))
            })
        })
    }
}

/// A scheduler in unit slots.
pub trait Policy {
    /// A slot begins: `wanted` says which children want to run. Returns whether the scheduler requests a CPU from its
    /// parent.
    fn begin(&mut self, now: usize, wanted: &[bool]) -> bool;
    /// The parent grants the slot. Returns the child that runs.
    fn run(&mut self, wanted: &[bool]) -> usize;
}

/// A scheduler under a parent.
pub struct Run<'a> {
    pub policy: &'a mut dyn Policy,
    pub children: usize,
    pub held: &'a Guarantee,
    /// Children wake at multiples of this only.
    pub grid: usize,
}

/// Runs a scheduler below a parent that holds this guarantee.
pub fn execute(policy: &mut dyn Policy, children: usize, held: &Guarantee, random: &mut Random) -> Vec<Log> {
    Run { policy, children, held, grid: 1 }.execute(random)
}

impl Run<'_> {
    pub fn execute(self, random: &mut Random) -> Vec<Log> {
        let Run { policy, children, held, grid } = self;
        let mut parent = Miser::new(held, [0, 0, 5, 30][random.below(4)]);
        let eagerness: Vec<usize> = (0..children).map(|_| [100, 95, 70][random.below(3)]).collect();
        let mut logs = vec![Log::default(); children];
        let mut wanted = vec![false; children];
        for now in 0..SLOTS {
            for child in 0..children {
                // A child mostly goes on as before: long sleeps and long bursts break more promises than noise does.
                let change = if wanted[child] { 100 - eagerness[child] } else { 25 };
                let may_change = wanted[child] || now % grid == 0;
                wanted[child] ^= random.below(100) < change && may_change;
            }
            let requested = policy.begin(now, &wanted);
            let runs = parent.grants(requested, random).then(|| policy.run(&wanted));
            for (child, log) in logs.iter_mut().enumerate() {
                log.wanted.push(wanted[child]);
                log.got.push(runs == Some(child));
            }
        }
        logs
    }
}

/// Parameters by name.
pub type Params<'a> = &'a [(&'a str, usize)];

/// A scheduler: its policy, its parameters, and the parameters of its VP.
pub type Link<'a> = (&'a str, Params<'a>, Params<'a>);

/// The labels of the children of the last of a chain of schedulers, each the only child of the one before.
pub fn labels(chain: &[Link], children: &[Vec<(&str, usize)>]) -> Vec<Label> {
    let owned = |list: Params| list.iter().map(|(name, value)| ((*name).into(), *value as u64)).collect();
    let edge =
        |parent, child, params| Edge { parent, child, params, requested: None, width: 1, pinned: false };
    let mut graph = Graph { cpus: 1, ..Graph::default() };
    for (at, (policy, params, of_vp)) in chain.iter().enumerate() {
        graph.schedulers.push(scheduler(*policy, policy, owned(params)));
        graph.edges.push(edge(at.checked_sub(1), Child::Scheduler(at), owned(of_vp)));
    }
    let last = chain.len() - 1;
    graph
        .edges
        .extend(children.iter().map(|child| edge(Some(last), Child::Thread("t".into()), owned(child))));
    analyse(&graph, Mode::Tight).labels.split_off(chain.len())
}

/// What a scheduler holds: the machine itself, or a reservation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Held {
    All,
    Reservation(usize, usize),
}

impl Held {
    pub fn guarantee(self) -> Guarantee {
        match self {
            Held::All => Guarantee::All,
            Held::Reservation(x, y) => Guarantee::resbh(int(x), int(y)),
        }
    }

    /// The labels of the children of a scheduler that holds this.
    pub fn labels(self, policy: &str, params: Params, children: &[Vec<(&str, usize)>]) -> Vec<Label> {
        match self {
            Held::All => labels(&[(policy, params, &[])], children),
            Held::Reservation(x, y) => {
                let claim = [("budget", x), ("period", y)];
                labels(&[("reservation", &[], &[]), (policy, params, &claim)], children)
            }
        }
    }
}

/// Budgets and periods as parameters.
pub fn claimed(claims: &[(usize, usize)]) -> Vec<Vec<(&'static str, usize)>> {
    claims.iter().map(|(x, y)| vec![("budget", *x), ("period", *y)]).collect()
}

/// Fails if a promise is broken.
pub fn hold(promises: impl IntoIterator<Item = Guarantee>, logs: &[Log], setting: &str) {
    for (child, (promise, log)) in promises.into_iter().zip(logs).enumerate() {
        assert_eq!(log.broken(&promise), None, "{setting}: {promise} of child {child}");
    }
}
