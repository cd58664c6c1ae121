//! The core, driven by hand: small hierarchies whose every decision is known, and random ones whose invariants are
//! checked after every event.

use hls_core::{Call, Calls, Core, CoreError, Op, Params, RecordKind, Unsound, limits, policies};
use hls_scenario::{Machine, Trial};
use hls_units::Nanos;

const FP: u8 = 1;
const TS: u8 = 2;
const PS: u8 = 3;
const RES: u8 = 4;
const JOIN: u8 = 5;
const LIMIT: u8 = 6;
const RR: u8 = 7;

const MS: u64 = 1_000_000;

/// A machine, driven by hand.
trait ByHand {
    fn settled(&mut self);
    fn run_to(&mut self, end: Nanos);
    fn scheduler(&mut self, policy: u8, params: &[u64]) -> u32;
    fn root(&mut self, policy: u8, params: &[u64]) -> u32;
    fn below(&mut self, parent: u32, vp_params: &[u64], policy: u8, params: &[u64]) -> u32;
    fn thread(&mut self, parent: u32, params: &[u64]) -> u32;
    fn wake(&mut self, vp: u32);
    fn block(&mut self, vp: u32);
    fn ran_ms(&self, vp: u32) -> f64;
}

impl ByHand for Machine {
    fn settled(&mut self) {
        self.settle().unwrap_or_else(|trouble| panic!("at {}: {trouble}", self.now));
    }

    fn run_to(&mut self, end: Nanos) {
        self.run_until(end).unwrap_or_else(|trouble| panic!("at {}: {trouble}", self.now));
    }

    fn scheduler(&mut self, policy: u8, params: &[u64]) -> u32 {
        let policy = policies().iter().find(|p| p.id == policy).unwrap();
        let mut all: Vec<u64> = policy.scheduler_params.iter().map(|p| p.default.unwrap()).collect();
        all[..params.len()].copy_from_slice(params);
        self.core.create_scheduler(policy.id, Params::from_slice(&all)).unwrap()
    }

    fn root(&mut self, policy: u8, params: &[u64]) -> u32 {
        let s = self.scheduler(policy, params);
        self.make_root(s).unwrap();
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

    fn wake(&mut self, vp: u32) {
        self.core.request(vp, self.now);
        self.settled();
    }

    fn block(&mut self, vp: u32) {
        self.core.release(vp, self.now);
        self.settled();
    }

    fn ran_ms(&self, vp: u32) -> f64 {
        self.core.ran(vp, self.now).0 as f64 / MS as f64
    }
}

#[test]
fn the_highest_priority_runs() {
    let mut m = Machine::new(1, None);
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
    let mut m = Machine::new(1, None);
    let fp = m.root(FP, &[10 * MS]);
    let threads: Vec<u32> = (0..3).map(|_| m.thread(fp, &[5])).collect();
    threads.iter().for_each(|&t| m.wake(t));
    m.run_to(Nanos(300 * MS));
    threads.iter().for_each(|&t| assert_eq!(m.ran_ms(t), 100.0));
}

#[test]
fn shares_are_proportional() {
    let mut m = Machine::new(1, None);
    let ps = m.root(PS, &[MS]);
    let (a, b) = (m.thread(ps, &[1]), m.thread(ps, &[4]));
    m.wake(a);
    m.wake(b);
    m.run_to(Nanos(1000 * MS));
    assert!((m.ran_ms(a) - 200.0).abs() <= 1.0, "{}", m.ran_ms(a));
    assert!((m.ran_ms(b) - 800.0).abs() <= 1.0);
}

#[test]
fn a_reservation_is_kept_and_is_hard() {
    let mut m = Machine::new(1, None);
    let fp = m.root(FP, &[]);
    let res = m.below(fp, &[2], RES, &[]);
    let rr = m.below(fp, &[1], RR, &[]);
    let reserved = m.thread(res, &[10 * MS, 33 * MS]);
    let hog = m.thread(rr, &[]);
    m.wake(hog);
    m.wake(reserved);
    m.run_to(Nanos(3300 * MS));
    assert_eq!(m.ran_ms(reserved), 1000.0);
    assert_eq!(m.ran_ms(hog), 2300.0);
}

#[test]
fn a_join_takes_the_slack_as_well() {
    let mut m = Machine::new(1, None);
    let fp = m.root(FP, &[]);
    let res = m.below(fp, &[2], RES, &[]);
    let rr = m.below(fp, &[1], RR, &[10 * MS]);
    let join = m.below(res, &[10 * MS, 40 * MS], JOIN, &[]);
    m.core.attach(rr, Some(join), Params::default()).unwrap();
    let (soft, hog) = (m.thread(join, &[]), m.thread(rr, &[]));
    m.wake(hog);
    m.wake(soft);
    m.run_to(Nanos(4000 * MS));
    assert!((m.ran_ms(soft) - 2500.0).abs() <= 20.0, "{}", m.ran_ms(soft));
    m.block(soft);
    m.run_to(Nanos(5000 * MS));
    assert!((m.ran_ms(hog) - 2500.0).abs() <= 20.0, "{}", m.ran_ms(hog));
}

#[test]
fn a_limit_makes_hard() {
    let mut m = Machine::new(1, None);
    let rr = m.root(RR, &[]);
    let limit = m.below(rr, &[], LIMIT, &[]);
    let capped = m.thread(limit, &[5 * MS, 20 * MS]);
    m.wake(capped);
    m.run_to(Nanos(1000 * MS));
    assert_eq!(m.ran_ms(capped), 250.0);
}

#[test]
fn nobody_starves_for_ever_under_time_sharing() {
    let mut m = Machine::new(1, None);
    let ts = m.root(TS, &[20 * MS, 0, 980 * MS, 20 * MS]);
    let (high, low) = (m.thread(ts, &[9]), m.thread(ts, &[3]));
    m.wake(high);
    m.wake(low);
    m.run_to(Nanos(10_000 * MS));
    assert_eq!(m.ran_ms(low), 200.0);
    assert_eq!(m.ran_ms(high), 9800.0);
}

#[test]
fn idle_cpus_are_used_and_affinity_binds() {
    let mut m = Machine::new(2, None);
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
    m.settled();
    assert_eq!(m.running.iter().flatten().count(), 1, "both are bound to CPU 1");
    m.run_to(Nanos(200 * MS));
    assert_eq!(m.ran_ms(a) + m.ran_ms(b), 200.0);
}

/// Two CPUs, and what is left when one goes: the more important thread, at once.
#[test]
fn who_loses_a_cpu_that_goes_takes_another() {
    let mut m = Machine::new(2, None);
    let fp = m.root(FP, &[]);
    let ts = m.scheduler(TS, &[]);
    for _ in 0..2 {
        m.core.attach(fp, Some(ts), Params::from_slice(&[1])).unwrap();
    }
    let (low, high) = (m.thread(ts, &[1]), m.thread(fp, &[5]));
    m.wake(low);
    m.wake(high);
    let cpu_of = |m: &Machine, thread| m.running.iter().position(|&vp| vp == Some(thread));
    let gone = cpu_of(&m, high).unwrap() as u16;
    m.offline(gone).unwrap();
    m.settled();
    assert_eq!((cpu_of(&m, high), cpu_of(&m, low)), (Some(usize::from(1 - gone)), None));
    // Nor can who wakes up later have it, or who may use no other.
    let bound = m.thread(fp, &[9]);
    m.core.set_affinity(bound, 1 << gone, m.now).unwrap();
    m.wake(bound);
    m.run_to(Nanos(100 * MS));
    assert_eq!((m.ran_ms(high), m.ran_ms(low), m.ran_ms(bound)), (100.0, 0.0, 0.0));
    m.core.online(gone, m.now).unwrap();
    m.settled();
    assert_eq!(cpu_of(&m, bound), Some(gone.into()));
    m.block(bound);
    assert_eq!(cpu_of(&m, low), Some(gone.into()));
}

#[test]
fn a_cpu_that_goes_is_one_that_is_there_and_not_the_last() {
    let mut m = Machine::new(2, None);
    let fp = m.root(FP, &[]);
    let thread = m.thread(fp, &[1]);
    m.wake(thread);
    assert_eq!(m.offline(2), Err(CoreError::NotFound));
    assert_eq!(m.offline(u16::MAX), Err(CoreError::NotFound));
    assert_eq!(m.core.online(2, m.now), Err(CoreError::NotFound));
    m.offline(0).unwrap();
    m.settled();
    m.offline(0).unwrap();
    assert_eq!(m.offline(1), Err(CoreError::Busy));
    assert_eq!(m.running, [None, Some(thread)]);
    // What the machine would grant when it is back cannot be destroyed, nor granted to others.
    assert_eq!(m.core.attach_root(fp, 0), Err(CoreError::NotFound));
    m.core.detach(thread, m.now).unwrap();
    m.settled();
    let root_of_1 = m.roots[1];
    m.core.detach(root_of_1, m.now).unwrap();
    assert_eq!(m.core.destroy_scheduler(fp), Err(CoreError::Busy));
    m.core.detach(m.roots[0], m.now).unwrap();
    m.core.destroy_scheduler(fp).unwrap();
    m.core.online(0, m.now).unwrap();
    m.settled();
    m.core.online(0, m.now).unwrap();
    m.settled();
    assert_eq!(m.running, [None, None]);
}

/// Whoever begins to watch hears how things stand, and only then what changes.
#[test]
fn what_is_watched_is_told_as_it_stands() {
    let mut m = Machine::new(1, None);
    let fp = m.root(FP, &[]);
    let [runs, waits, sleeps] = [2, 1, 0].map(|priority| m.thread(fp, &[priority]));
    m.wake(waits);
    m.wake(runs);
    for vp in [runs, waits, sleeps] {
        m.core.watch(vp, true).unwrap();
    }
    let mut told = Vec::new();
    assert!(m.core.take_records(|record| told.push((record.at, record.vp, record.kind))));
    assert_eq!(told, [(m.now, runs, RecordKind::Grant), (m.now, waits, RecordKind::Request)]);
    m.core.watch(runs, false).unwrap();
    assert!(m.core.take_records(|_| panic!("nothing changed")));
}

#[test]
fn what_cannot_be_is_refused_and_changes_nothing() {
    let mut m = Machine::new(1, None);
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
    m.settled();
    assert_eq!(m.running[0], Some(thread));
    assert_eq!(m.core.message(thread, 0, 99, m.now), Err(CoreError::Param));
    assert_eq!(m.core.message(thread, 0, 9, m.now), Ok(()));
    m.settled();
}

#[test]
fn it_is_thirty_two_levels_deep() {
    let mut m = Machine::new(1, None);
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

/// What `Core` calls itself and what `core/call.h` makes of a call are the same.
#[test]
fn a_tape_does_again_what_was_done() {
    for seed in 0..50 {
        let trial = Trial::of_built_in();
        let (mut stage, ended) = trial.play(&trial.script(seed));
        ended.unwrap();
        let tape = stage.machine.core.take_tape();
        let (mut played, mut again) = (tape.clone(), Core::new());
        played.iter_mut().for_each(|call| call.result = 0);
        again.play(&mut played).unwrap();
        assert!(played == tape, "seed {seed}");
        assert!(again.memory() == stage.machine.core.memory(), "seed {seed}");
    }
}

#[test]
fn a_tape_that_nobody_can_play_is_refused() {
    let sound = Call { op: Op::AddCpu as u32, ..Call::default() };
    for (op, a) in
        [(0, 0), (Op::SetPace as u32 + 1, 0), (Op::Request as u32, 1 << 20), (Op::Schedule as u32, 64)]
    {
        let call = Call { op, a, ..Call::default() };
        let mut core = Core::new();
        assert_eq!(core.play(&mut [sound, call]), Err(Unsound { at: 1, call }));
        assert_eq!(core.attach_root(1, 0), Err(CoreError::NotFound), "nothing was done");
    }
    assert_eq!(Core::new().play(&mut [sound]), Ok(()));
}

/// `HLS_SEEDS=100000` makes a campaign of it.
#[test]
fn invariants_hold_in_random_hierarchies_under_random_events() {
    let seeds = std::env::var("HLS_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1_500);
    for seed in 0..seeds {
        if let Err(finding) = Trial::of_built_in().run(seed) {
            panic!("seed {seed}, after {} events: {finding}", finding.after);
        }
    }
}
