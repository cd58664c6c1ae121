//! The core, driven by hand: small hierarchies whose every decision is known, and random ones whose invariants are
//! checked after every event.

use crate::{Core, CoreError, Params, ffi, limits, policies};
use hls_units::Nanos;

const FP: u8 = 1;
const TS: u8 = 2;
const PS: u8 = 3;
const RES: u8 = 4;
const JOIN: u8 = 5;
const LIMIT: u8 = 6;
const RR: u8 = 7;

const MS: u64 = 1_000_000;

/// A core that keeps the rules: schedules what is kicked and checks the invariants after every event.
struct Machine {
    core: Core,
    cpus: u16,
    running: Vec<Option<u32>>,
    now: Nanos,
}

impl Machine {
    fn new(cpus: u16) -> Machine {
        let mut core = Core::new();
        (0..cpus).for_each(|cpu| core.add_cpu(cpu).unwrap());
        Machine { core, cpus, running: vec![None; cpus.into()], now: Nanos(0) }
    }

    fn scheduler(&mut self, policy: u8, params: &[u64]) -> u32 {
        let policy = policies().iter().find(|p| p.id == policy).unwrap();
        let mut all: Vec<u64> = policy.scheduler_params.iter().map(|p| p.default.unwrap()).collect();
        all[..params.len()].copy_from_slice(params);
        self.core.create_scheduler(policy.id, Params::from_slice(&all)).unwrap()
    }

    fn root(&mut self, policy: u8, params: &[u64]) -> u32 {
        let s = self.scheduler(policy, params);
        (0..self.cpus).for_each(|cpu| assert!(self.core.attach_root(s, cpu).is_ok()));
        s
    }

    fn below(&mut self, parent: u32, vp_params: &[u64], policy: u8, params: &[u64]) -> u32 {
        let s = self.scheduler(policy, params);
        self.core.attach(parent, Some(s), Params::from_slice(vp_params)).unwrap();
        s
    }

    fn thread(&mut self, parent: u32, params: &[u64]) -> u32 {
        self.core.attach(parent, None, Params::from_slice(params)).unwrap()
    }

    fn settle(&mut self) {
        while self.core.kick() != 0 {
            let cpu = self.core.kick().trailing_zeros() as u16;
            self.running[usize::from(cpu)] = self.core.schedule(cpu, self.now);
        }
        assert!(self.core.take_records(|_| ()));
        self.core
            .check()
            .unwrap_or_else(|fault| panic!("at {}: {fault}; running {:?}", self.now, self.running));
        for (i, vp) in self.running.iter().enumerate() {
            assert!(vp.is_none() || !self.running[..i].contains(vp), "a thread on two CPUs");
        }
    }

    fn wake(&mut self, vp: u32) {
        self.core.request(vp, self.now);
        self.settle();
    }

    fn block(&mut self, vp: u32) {
        self.core.release(vp, self.now);
        self.settle();
    }

    /// The next instant at which the core wants to be called.
    fn next(&mut self) -> Nanos {
        let slices = (0..self.cpus).map(|cpu| self.core.expires_at(cpu)).min().unwrap();
        slices.min(self.core.timer_at())
    }

    fn run_until(&mut self, end: Nanos) {
        while self.next() <= end {
            self.now = self.next();
            self.core.timers(self.now);
            (0..self.cpus).for_each(|cpu| self.core.expire(cpu, self.now));
            self.settle();
        }
        self.now = end;
    }

    fn ran_ms(&self, vp: u32) -> f64 {
        self.core.ran(vp, self.now).0 as f64 / MS as f64
    }
}

#[test]
fn limits_are_those_of_the_c_side() {
    // SAFETY: a constant.
    let sizes = unsafe { ffi::hls_sizes };
    let ours =
        [limits::MAX_DEPTH, limits::MAX_CPUS, limits::MAX_SCHEDULERS, limits::MAX_VPS, limits::MAX_RECORDS];
    assert_eq!(sizes[5..10], ours.map(|n| n as u64));
    assert_eq!(sizes[10], limits::PARAMS as u64);
    assert_eq!(sizes[4], size_of::<ffi::HlsRecord>() as u64);
}

#[test]
fn the_highest_priority_runs() {
    let mut m = Machine::new(1);
    let fp = m.root(FP, &[]);
    let (low, high) = (m.thread(fp, &[1]), m.thread(fp, &[2]));
    m.wake(low);
    assert_eq!(m.running[0], Some(low));
    m.wake(high);
    assert_eq!(m.running[0], Some(high));
    m.block(high);
    assert_eq!(m.running[0], Some(low));
    m.block(low);
    assert_eq!(m.running[0], None);
}

#[test]
fn a_level_is_shared_in_turn() {
    let mut m = Machine::new(1);
    let fp = m.root(FP, &[10 * MS]);
    let threads: Vec<u32> = (0..3).map(|_| m.thread(fp, &[5])).collect();
    threads.iter().for_each(|&t| m.wake(t));
    m.run_until(Nanos(300 * MS));
    threads.iter().for_each(|&t| assert_eq!(m.ran_ms(t), 100.0));
}

#[test]
fn shares_are_proportional() {
    let mut m = Machine::new(1);
    let ps = m.root(PS, &[MS]);
    let (a, b) = (m.thread(ps, &[1]), m.thread(ps, &[4]));
    m.wake(a);
    m.wake(b);
    m.run_until(Nanos(1000 * MS));
    assert!((m.ran_ms(a) - 200.0).abs() <= 1.0, "{}", m.ran_ms(a));
    assert!((m.ran_ms(b) - 800.0).abs() <= 1.0);
}

#[test]
fn a_reservation_is_kept_and_is_hard() {
    let mut m = Machine::new(1);
    let fp = m.root(FP, &[]);
    let res = m.below(fp, &[2], RES, &[]);
    let rr = m.below(fp, &[1], RR, &[]);
    let reserved = m.thread(res, &[10 * MS, 33 * MS]);
    let hog = m.thread(rr, &[]);
    m.wake(hog);
    m.wake(reserved);
    m.run_until(Nanos(3300 * MS));
    assert_eq!(m.ran_ms(reserved), 1000.0);
    assert_eq!(m.ran_ms(hog), 2300.0);
}

#[test]
fn a_join_takes_the_slack_as_well() {
    let mut m = Machine::new(1);
    let fp = m.root(FP, &[]);
    let res = m.below(fp, &[2], RES, &[]);
    let rr = m.below(fp, &[1], RR, &[10 * MS]);
    let join = m.below(res, &[10 * MS, 40 * MS], JOIN, &[]);
    m.core.attach(rr, Some(join), Params::default()).unwrap();
    let (soft, hog) = (m.thread(join, &[]), m.thread(rr, &[]));
    m.wake(hog);
    m.wake(soft);
    m.run_until(Nanos(4000 * MS));
    assert!((m.ran_ms(soft) - 2500.0).abs() <= 20.0, "{}", m.ran_ms(soft));
    m.block(soft);
    m.run_until(Nanos(5000 * MS));
    assert!((m.ran_ms(hog) - 2500.0).abs() <= 20.0, "{}", m.ran_ms(hog));
}

#[test]
fn a_limit_makes_hard() {
    let mut m = Machine::new(1);
    let rr = m.root(RR, &[]);
    let limit = m.below(rr, &[], LIMIT, &[]);
    let capped = m.thread(limit, &[5 * MS, 20 * MS]);
    m.wake(capped);
    m.run_until(Nanos(1000 * MS));
    assert_eq!(m.ran_ms(capped), 250.0);
}

#[test]
fn nobody_starves_for_ever_under_time_sharing() {
    let mut m = Machine::new(1);
    let ts = m.root(TS, &[20 * MS, 0, 980 * MS, 20 * MS]);
    let (high, low) = (m.thread(ts, &[9]), m.thread(ts, &[3]));
    m.wake(high);
    m.wake(low);
    m.run_until(Nanos(10_000 * MS));
    assert_eq!(m.ran_ms(low), 200.0);
    assert_eq!(m.ran_ms(high), 9800.0);
}

#[test]
fn idle_cpus_are_used_and_affinity_binds() {
    let mut m = Machine::new(2);
    let fp = m.root(FP, &[]);
    let ps = m.scheduler(PS, &[]);
    for _ in 0..2 {
        m.core.attach(fp, Some(ps), Params::from_slice(&[1])).unwrap();
    }
    let (a, b) = (m.thread(ps, &[1]), m.thread(ps, &[1]));
    m.core.set_affinity(a, 0b10, Nanos(0)).unwrap();
    m.wake(a);
    assert_eq!(m.running, [None, Some(a)]);
    m.wake(b);
    assert_eq!(m.running, [Some(b), Some(a)]);
    m.core.set_affinity(b, 0b10, m.now).unwrap();
    m.settle();
    assert_eq!(m.running.iter().flatten().count(), 1, "both are bound to CPU 1");
    m.run_until(Nanos(200 * MS));
    assert_eq!(m.ran_ms(a) + m.ran_ms(b), 200.0);
}

#[test]
fn what_cannot_be_is_refused_and_changes_nothing() {
    let mut m = Machine::new(1);
    let fp = m.root(FP, &[]);
    let join = m.below(fp, &[1], JOIN, &[]);
    assert_eq!(m.core.attach(fp, None, Params::from_slice(&[64])), Err(CoreError::Param));
    assert_eq!(m.core.attach(fp, Some(fp), Params::from_slice(&[1])), Err(CoreError::Depth));
    assert_eq!(m.core.attach(9, None, Params::default()), Err(CoreError::NotFound));
    assert_eq!(m.core.create_scheduler(99, Params::default()), Err(CoreError::NotFound));
    assert_eq!(m.core.create_scheduler(FP, Params::default()), Err(CoreError::Param));
    let thread = m.thread(join, &[]);
    assert_eq!(m.core.attach(join, None, Params::default()), Err(CoreError::Children));
    assert_eq!(m.core.destroy_scheduler(join), Err(CoreError::Busy));
    m.wake(thread);
    assert_eq!(m.core.move_to(thread, fp, Params::from_slice(&[70]), m.now), Err(CoreError::Param));
    assert_eq!(m.running[0], Some(thread));
    m.core.move_to(thread, fp, Params::from_slice(&[7]), m.now).unwrap();
    m.settle();
    assert_eq!(m.running[0], Some(thread));
    assert_eq!(m.core.message(thread, 0, 99, m.now), Err(CoreError::Param));
    assert_eq!(m.core.message(thread, 0, 9, m.now), Ok(()));
    m.settle();
}

#[test]
fn it_is_thirty_two_levels_deep() {
    let mut m = Machine::new(1);
    let mut s = m.root(FP, &[]);
    for _ in 1..limits::MAX_DEPTH {
        s = m.below(s, &[1], FP, &[]);
    }
    let too_deep = m.scheduler(FP, &[]);
    assert_eq!(m.core.attach(s, Some(too_deep), Params::from_slice(&[1])), Err(CoreError::Depth));
    let (a, b) = (m.thread(s, &[1]), m.thread(s, &[2]));
    m.wake(a);
    m.wake(b);
    assert_eq!(m.running[0], Some(b));
    m.block(b);
    assert_eq!(m.running[0], Some(a));
}

/// A small generator, so that a failing seed says all.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % n
    }
}

/// A random hierarchy of all policies on a few CPUs: its schedulers with their policies, and its threads.
fn random_hierarchy(m: &mut Machine, random: &mut Random) -> (Vec<(u32, u8)>, Vec<u32>) {
    let root = [FP, TS, PS, RES, RR][random.below(5) as usize];
    let root = (m.root(root, &[]), root);
    let mut schedulers = vec![root];
    for _ in 0..random.below(8) {
        let (parent, parent_policy) = schedulers[random.below(schedulers.len() as u64) as usize];
        let policy = [FP, TS, PS, RES, JOIN, LIMIT, RR][random.below(7) as usize];
        let s = m.scheduler(policy, &[]);
        let mut hung = false;
        for _ in 0..=random.below(u64::from(m.cpus)) {
            let params = vp_params(parent_policy, random);
            hung |= m.core.attach(parent, Some(s), params).is_ok();
        }
        if policy == JOIN && hung {
            let (other, other_policy) = schedulers[random.below(schedulers.len() as u64) as usize];
            let params = vp_params(other_policy, random);
            let _ = m.core.attach(other, Some(s), params);
        }
        if hung {
            schedulers.push((s, policy));
        }
    }
    let mut threads = Vec::new();
    for _ in 0..12 {
        let (parent, policy) = schedulers[random.below(schedulers.len() as u64) as usize];
        let params = vp_params(policy, random);
        threads.extend(m.core.attach(parent, None, params));
    }
    for &t in &threads {
        if random.below(3) == 0 {
            let mask = 1 + random.below((1 << m.cpus) - 1);
            m.core.set_affinity(t, mask, m.now).unwrap();
        }
    }
    (schedulers, threads)
}

fn vp_params(policy: u8, random: &mut Random) -> Params {
    Params::from_slice(&match policy {
        FP => vec![random.below(4)],
        TS => vec![random.below(32)],
        PS => vec![1 + random.below(5), random.below(2) * random.below(20) * MS],
        RES | LIMIT => {
            let period = 1 + random.below(40);
            vec![(1 + random.below(period)) * MS, period * MS]
        }
        _ => vec![],
    })
}

/// A hierarchy with threads that come, go, move and talk.
struct Scenario {
    machine: Machine,
    random: Random,
    schedulers: Vec<(u32, u8)>,
    threads: Vec<u32>,
}

impl Scenario {
    fn new(seed: u64) -> Scenario {
        let mut random = Random(seed);
        let mut machine = Machine::new(1 + random.below(4) as u16);
        let (schedulers, threads) = random_hierarchy(&mut machine, &mut random);
        Scenario { machine, random, schedulers, threads }
    }

    fn pick<T: Copy>(&mut self, of: impl Fn(&Scenario) -> &[T]) -> Option<T> {
        let length = of(self).len() as u64;
        (length > 0).then(|| self.random.below(length)).map(|index| of(self)[index as usize])
    }

    fn step(&mut self) {
        if self.machine.core.kick() == 0 {
            let end = self.machine.now + Nanos(self.random.below(8 * MS));
            self.machine.run_until(end);
        }
        let Some(thread) = self.pick(|s| &s.threads) else { return self.arrive() };
        let now = self.machine.now;
        let core = &mut self.machine.core;
        match self.random.below(16) {
            0..6 => core.request(thread, now),
            6..10 => core.release(thread, now),
            10 => core.yield_now(thread, now),
            11 => {
                let mask = 1 + self.random.below((1 << self.machine.cpus) - 1);
                core.set_affinity(thread, mask, now).unwrap();
            }
            12 => self.leave(thread),
            13 => self.arrive(),
            14 => self.change(thread),
            _ => self.hierarchy_moves(thread),
        }
        // Several things may happen at one instant before the CPUs decide.
        if self.random.below(3) > 0 {
            self.machine.settle();
        }
    }

    fn arrive(&mut self) {
        let (parent, policy) = self.pick(|s| &s.schedulers).unwrap();
        let params = vp_params(policy, &mut self.random);
        self.threads.extend(self.machine.core.attach(parent, None, params));
    }

    fn leave(&mut self, thread: u32) {
        self.machine.core.detach(thread, self.machine.now).unwrap();
        self.threads.retain(|&t| t != thread);
    }

    /// The thread tells its scheduler a new value of some parameter, which that may refuse.
    fn change(&mut self, thread: u32) {
        let (param, value) =
            (self.random.below(3) as u32, self.random.below(40) * MS.pow(self.random.below(2) as u32));
        let _ = self.machine.core.message(thread, param, value, self.machine.now);
    }

    fn hierarchy_moves(&mut self, thread: u32) {
        let (parent, policy) = self.pick(|s| &s.schedulers).unwrap();
        let params = vp_params(policy, &mut self.random);
        let _ = self.machine.core.move_to(thread, parent, params, self.machine.now);
    }
}

/// `HLS_SEEDS=100000` makes a campaign of it; the last seed printed is the one that fails.
#[test]
fn invariants_hold_in_random_hierarchies_under_random_events() {
    let seeds = std::env::var("HLS_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1_500);
    for seed in 0..seeds {
        println!("seed {seed}");
        let mut scenario = Scenario::new(seed);
        (0..200).for_each(|_| scenario.step());
    }
}
