//! Threads that are suspended and resumed, in small hierarchies that are driven by hand.

use crate::support::{ByHand, MS};
use hls_core::{Calls, CoreError, CoreScheduler, CoreVp, Params};
use hls_scenario::Machine;
use hls_units::Nanos;

/// A machine with a scheduler below another one, and two threads below the lower one.
fn nested() -> (Machine, CoreScheduler, [CoreVp; 2]) {
    let mut m = Machine::new(1, None);
    let above = m.root("fixed-priority", &[]);
    let below = m.below(above, &[1], "round-robin", &[10 * MS]);
    let threads = [(); 2].map(|()| m.thread(below, &[]));
    (m, above, threads)
}

fn suspend(m: &mut Machine, vp: CoreVp) {
    let now = m.now;
    m.core.suspend(vp, true, now).expect("it is a thread");
    m.settled();
}

fn resume(m: &mut Machine, vp: CoreVp) {
    let now = m.now;
    m.core.suspend(vp, false, now).expect("it is a thread");
    m.settled();
}

#[test]
fn a_suspended_thread_loses_its_cpu_and_gets_none() {
    let (mut m, _, [first, second]) = nested();
    m.wake(first);
    m.wake(second);
    assert_eq!(m.running[0], Some(first));
    suspend(&mut m, first);
    assert_eq!(m.running[0], Some(second));
    m.block(second);
    assert_eq!(m.running[0], None, "the CPU stays idle though the first thread would run");
    resume(&mut m, first);
    assert_eq!(m.running[0], Some(first), "it still wants the CPU");
}

#[test]
fn what_a_suspended_thread_does_shows_when_it_is_resumed() {
    let (mut m, _, [first, _]) = nested();
    suspend(&mut m, first);
    suspend(&mut m, first);
    m.wake(first);
    assert_eq!(m.running[0], None);
    m.block(first);
    resume(&mut m, first);
    assert_eq!(m.running[0], None, "it has gone back to sleep");
    suspend(&mut m, first);
    m.wake(first);
    resume(&mut m, first);
    assert_eq!(m.running[0], Some(first));
    resume(&mut m, first);
    assert_eq!(m.running[0], Some(first));
}

#[test]
fn a_thread_stays_suspended_wherever_it_moves() {
    let (mut m, above, [first, _]) = nested();
    m.wake(first);
    suspend(&mut m, first);
    let now = m.now;
    m.core.move_to(first, above, Params::from_slice(&[5]), now).expect("it takes everybody");
    m.core.set_affinity(first, 1, now).expect("the CPU is there");
    m.settled();
    m.run_to(Nanos(50 * MS));
    assert_eq!(m.running[0], None);
    resume(&mut m, first);
    assert_eq!(m.running[0], Some(first), "it still wants the CPU");
}

#[test]
fn only_threads_are_suspended() {
    let (mut m, _, [first, _]) = nested();
    let (now, held) = (m.now, m.core.vp(CoreVp(first.0 - 1)).expect("the scheduler's came before"));
    assert_ne!(held.child, CoreScheduler(0));
    assert!(m.core.suspend(CoreVp(first.0 - 1), true, now).is_err());
    assert!(m.core.suspend(CoreVp(first.0 - 1), false, now).is_err());
}

/// Only a thread's VP changes a parameter while it runs: below a scheduler's VP others run.
#[test]
fn no_parameter_of_a_schedulers_vp_is_set() {
    let mut m = Machine::new(1, None);
    let root = m.root("fixed-priority", &[]);
    let below = m.scheduler("round-robin", &[10 * MS]);
    let vp = m.core.attach(root, Some(below), Params::from_slice(&[1])).unwrap();
    let thread = m.thread(below, &[]);
    m.wake(thread);
    let before = m.core.memory().to_vec();
    assert_eq!(m.core.set_param(vp, 0, 2, m.now), Err(CoreError::NotFound));
    assert!(m.core.memory() == before.as_slice(), "nothing has changed");
}
