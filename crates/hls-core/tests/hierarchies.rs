//! The core, driven by hand in small hierarchies, and random hierarchies with a check of all invariants after every
//! event. Each policy has tests in a file of its own, named like the policy.

use crate::support::{ByHand, MS, policy_of};
use hls_core::{
    Call, Calls, Core, CoreError, CoreScheduler, CoreVp, Op, Params, RecordKind, Unsound, limits,
};
use hls_scenario::{Machine, Trial};
use hls_units::Nanos;

#[test]
fn idle_cpus_are_used_and_affinity_binds() {
    let mut m = Machine::new(2, None);
    let fp = m.root("fixed-priority", &[]);
    let ps = m.scheduler("proportional-share", &[]);
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

#[test]
fn a_thread_on_a_cpu_that_goes_takes_another_cpu() {
    let mut m = Machine::new(2, None);
    let fp = m.root("fixed-priority", &[]);
    let ts = m.scheduler("time-sharing", &[]);
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
    // Nor can a thread that wakes up later get it, or a thread that may use no other CPU.
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

/// If a thread may not use a CPU, the VPs above it refuse that CPU, one after the other. When the thread may use it
/// again, and loses its own CPU before the change has led to a decision, all of these VPs must stop refusing.
#[test]
fn refusals_of_all_levels_end_when_a_cpu_is_lost() {
    let mut m = Machine::new(2, None);
    let root = m.root("join", &[]);
    let upper = m.below(root, &[], "join", &[]);
    let lower = m.below(upper, &[], "join", &[]);
    let thread = m.thread(lower, &[]);
    m.wake(thread);
    m.core.set_affinity(thread, 0b10, m.now).unwrap();
    m.settled();
    assert_eq!(m.running, [None, Some(thread)]);
    m.core.set_affinity(thread, 0b01, m.now).unwrap();
    m.offline(1).unwrap();
    m.settled();
    assert_eq!(m.running, [Some(thread), None]);
}

#[test]
fn a_cpu_that_goes_is_one_that_is_there_and_not_the_last() {
    let mut m = Machine::new(2, None);
    let fp = m.root("fixed-priority", &[]);
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
    // The scheduler to which the machine will grant the CPU when it is back cannot be destroyed, nor can the CPU be
    // granted to others.
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

#[test]
fn a_watched_vp_has_its_present_state_recorded() {
    let mut m = Machine::new(1, None);
    let fp = m.root("fixed-priority", &[]);
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

/// The records of a thread on one of two CPUs, of one that waits, and of one that sleeps, while each is bound to other
/// CPUs, gets another parameter, and is moved.
#[test]
fn a_change_of_a_thread_is_no_sleep_and_no_wakeup() {
    let mut m = Machine::new(2, None);
    let fp = m.root("fixed-priority", &[]);
    let [runs, waits, sleeps, other] = [3, 1, 2, 2].map(|priority| m.thread(fp, &[priority]));
    let below = m.below(fp, &[4], "fixed-priority", &[]);
    for vp in [runs, other, waits] {
        m.wake(vp);
        m.core.watch(vp, true).unwrap();
    }
    m.core.watch(sleeps, true).unwrap();
    let told = |m: &mut Machine, vp: CoreVp| {
        let mut kinds = Vec::new();
        assert!(m.core.take_records(|record| kinds.extend((record.vp == vp).then_some(record.kind))));
        // Makes the decisions that are due, and drops their records.
        m.settled();
        kinds
    };
    told(&mut m, runs);
    let on = m.core.vp(runs).unwrap().cpu;
    for vp in [runs, waits, sleeps] {
        let expected = if vp == runs { &[RecordKind::Revoke][..] } else { &[] };
        m.core.set_affinity(vp, 1 << on, m.now).unwrap();
        assert_eq!(told(&mut m, vp), expected, "{vp} is bound");
        let priority = if vp == runs { 4 } else { 1 };
        m.core.set_param(vp, 0, priority, m.now).unwrap();
        assert_eq!(told(&mut m, vp), expected, "{vp} has a new priority");
    }
    m.core.move_to(runs, below, Params::from_slice(&[1]), m.now).unwrap();
    assert_eq!(told(&mut m, runs), [RecordKind::Revoke]);
    m.core.release(runs, m.now);
    m.core.request(runs, m.now);
    assert_eq!(told(&mut m, runs), [RecordKind::Release, RecordKind::Request]);
    m.core.request(sleeps, m.now);
    assert_eq!(told(&mut m, sleeps), [RecordKind::Request]);
}

#[test]
fn impossible_calls_are_refused_and_change_nothing() {
    let mut m = Machine::new(1, None);
    let fp = m.root("fixed-priority", &[]);
    let join = m.below(fp, &[1], "join", &[]);
    assert_eq!(m.core.attach(fp, None, Params::from_slice(&[64])), Err(CoreError::Param));
    assert_eq!(m.core.attach(fp, Some(fp), Params::from_slice(&[1])), Err(CoreError::Depth));
    assert_eq!(m.core.attach(CoreScheduler(9), None, Params::default()), Err(CoreError::NotFound));
    assert_eq!(m.core.create_scheduler(99, Params::default()), Err(CoreError::NotFound));
    assert_eq!(
        m.core.create_scheduler(policy_of("fixed-priority").id, Params::default()),
        Err(CoreError::Param)
    );
    let thread = m.thread(join, &[]);
    assert_eq!(m.core.attach(join, None, Params::default()), Err(CoreError::Children));
    assert_eq!(m.core.destroy_scheduler(join), Err(CoreError::Busy));
    m.wake(thread);
    assert_eq!(m.core.move_to(thread, fp, Params::from_slice(&[70]), m.now), Err(CoreError::Param));
    assert_eq!(m.running[0], Some(thread));
    m.core.move_to(thread, fp, Params::from_slice(&[7]), m.now).unwrap();
    m.settled();
    assert_eq!(m.running[0], Some(thread));
    assert_eq!(m.core.set_param(thread, 0, 99, m.now), Err(CoreError::Param));
    assert_eq!(m.core.set_param(thread, 0, 9, m.now), Ok(()));
    m.settled();
}

#[test]
fn it_is_thirty_two_levels_deep() {
    let mut m = Machine::new(1, None);
    let mut s = m.root("fixed-priority", &[]);
    for _ in 1..limits::MAX_DEPTH {
        s = m.below(s, &[1], "fixed-priority", &[]);
    }
    let too_deep = m.scheduler("fixed-priority", &[]);
    assert_eq!(m.core.attach(s, Some(too_deep), Params::from_slice(&[1])), Err(CoreError::Depth));
    let (a, b) = (m.thread(s, &[1]), m.thread(s, &[2]));
    m.wake(a);
    m.wake(b);
    assert_eq!(m.running[0], Some(b));
    m.block(b);
    assert_eq!(m.running[0], Some(a));
}

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
        [(0, 0), (Op::COUNT as u32 + 1, 0), (Op::Request as u32, 1 << 20), (Op::Schedule as u32, 64)]
    {
        let call = Call { op, a, ..Call::default() };
        let mut core = Core::new();
        assert_eq!(core.play(&mut [sound, call]), Err(Unsound { at: 1, call }));
        assert_eq!(core.attach_root(CoreScheduler(1), 0), Err(CoreError::NotFound), "nothing was done");
    }
    assert_eq!(Core::new().play(&mut [sound]), Ok(()));
}

#[test]
fn invariants_hold_in_random_hierarchies_under_random_events() {
    let seeds = std::env::var("HLS_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(1_500);
    for seed in 0..seeds {
        if let Err(finding) = Trial::of_built_in().run(seed) {
            panic!("seed {seed}, after {} events: {finding}", finding.after);
        }
    }
}

#[test]
fn a_vp_that_was_granted_a_cpu_after_the_time_asked_for_has_had_nothing() {
    let mut m = Machine::new(1, None);
    let root = m.root("round-robin", &[]);
    let thread = m.thread(root, &[]);
    m.run_to(Nanos(10 * MS));
    m.wake(thread);
    assert_eq!(m.core.ran(thread, Nanos(9 * MS)), Nanos::ZERO);
    assert_eq!(m.core.ran(thread, Nanos(11 * MS)), Nanos(MS));
}
