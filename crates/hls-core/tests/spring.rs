//! What the policy `spring` decides: plans that were worked out by hand, a character a millisecond.

use crate::support::{ByHand, MS, timeline};
use hls_core::{Calls, CoreError, CoreScheduler, CoreVp, Params};
use hls_scenario::Machine;
use hls_units::Nanos;

/// A machine with children below its root, all awake, with these budgets and periods in milliseconds.
fn bench(claims: &[[u64; 2]]) -> (Machine, CoreScheduler, Vec<CoreVp>) {
    let mut machine = Machine::new(1, None);
    let root = machine.root("spring", &[]);
    let threads: Vec<CoreVp> =
        (claims.iter()).map(|&[budget, period]| machine.thread(root, &[budget * MS, period * MS])).collect();
    threads.iter().for_each(|&thread| machine.core.request(thread, machine.now));
    machine.run_to(machine.now);
    (machine, root, threads)
}

/// Whether a plan is found for children that all arrive at once.
fn has_plan(claims: &[[u64; 2]]) -> bool {
    let mut machine = Machine::new(1, None);
    let root = machine.root("spring", &[]);
    let mut attach = |claim: &[u64; 2]| {
        let params = claim.map(|time| time * MS);
        machine.core.attach(root, None, Params::from_slice(&params))
    };
    claims.iter().all(|claim| match attach(claim) {
        Ok(_) => true,
        Err(CoreError::Children) => false,
        Err(error) => panic!("{error}"),
    })
}

/// Jobs in order of H = deadline + earliest start. In the second plan that is 4 + 0 of `a`, then 6 + 1 of `b`; then
/// the second job of `a` with 8 + 4 goes before the job of `c` with 12 + 3, so that the CPU waits for it.
#[test]
fn a_plan_is_carried_out_round_by_round() {
    let (mut machine, _, threads) = bench(&[[1, 2], [2, 4]]);
    assert_eq!(timeline(&mut machine, &threads, 12), "abbaabbaabba");
    let (mut machine, _, threads) = bench(&[[1, 4], [2, 6], [1, 12]]);
    assert_eq!(timeline(&mut machine, &threads, 24), "abb.acbba...abb.acbba...");
}

/// Jobs run in one piece: sets that need jobs in pieces are refused, and so are sets without any plan. The search
/// backtracks where a job would be late: after `a` and `c`, `b` cannot have 3 in one piece before `a` is due again.
#[test]
fn sets_without_a_plan_are_refused() {
    assert!(has_plan(&[[1, 2], [1, 2]]));
    assert!(!has_plan(&[[1, 2], [1, 2], [1, 1000]]));
    assert!(!has_plan(&[[1, 2], [3, 6]]), "three in one piece leave no room for one in every two");
    assert!(has_plan(&[[1, 4], [3, 8]]));
    assert!(!has_plan(&[[1, 1000], [1, 999]]), "a round of 1999 jobs");
    assert!(has_plan(&[[1, 100]; 16]) && !has_plan(&[[1, 100]; 17]));
}

/// An unused slot stays free; a thread that wakes up in its slot gets the rest of it.
#[test]
fn slots_pass_whether_or_not_they_are_wanted() {
    let (mut machine, _, threads) = bench(&[[3, 10], [2, 10]]);
    assert_eq!(timeline(&mut machine, &threads, 5), "aaabb");
    machine.block(threads[0]);
    assert_eq!(timeline(&mut machine, &threads, 6), "......");
    machine.wake(threads[0]);
    assert_eq!(timeline(&mut machine, &threads, 14), "aabb.....aaabb");
}

/// If no thread is runnable when a round ends, the plan pauses, and the next round begins with the next wake-up.
#[test]
fn the_plan_rests_while_nobody_wants_the_cpu() {
    let (mut machine, _, threads) = bench(&[[2, 10], [1, 5]]);
    assert_eq!(timeline(&mut machine, &threads, 5), "baa..");
    threads.iter().for_each(|&thread| machine.block(thread));
    machine.wake(threads[0]);
    assert_eq!(timeline(&mut machine, &threads, 3), "...", "the slot of this period has passed");
    machine.block(threads[0]);
    machine.run_to(Nanos(23 * MS));
    assert_eq!(machine.core.timer_at(), Nanos::MAX);
    machine.wake(threads[0]);
    machine.run_to(machine.now);
    assert_eq!(timeline(&mut machine, &threads, 13), ".aa........aa");
}

/// A thread that comes while the plan is carried out is planned at once; the present slot, and all periods, stay.
#[test]
fn a_new_thread_is_planned_at_once() {
    let (mut machine, root, mut threads) = bench(&[[2, 8], [2, 8]]);
    machine.run_to(Nanos(MS));
    let came = machine.core.attach_at(root, None, Params::from_slice(&[MS, 4 * MS]), machine.now).unwrap();
    threads.push(came);
    machine.core.request(came, machine.now);
    machine.settled();
    assert_eq!(timeline(&mut machine, &threads, 16), "acbbc..aacbbc..a");
    let refused = machine.core.attach_at(root, None, Params::from_slice(&[5 * MS, 8 * MS]), machine.now);
    assert_eq!(refused, Err(CoreError::Children));
    machine.core.detach(came, machine.now).unwrap();
    machine.settled();
    let runs = timeline(&mut machine, &threads[..2], 16);
    assert_eq!(runs.matches('a').count() + runs.matches('b').count(), 8, "{runs}");
}

/// Parameters for which there is no plan leave everything as it was.
#[test]
fn parameters_may_change_if_there_is_a_plan() {
    let (mut machine, _, threads) = bench(&[[1, 2], [2, 4]]);
    assert_eq!(timeline(&mut machine, &threads, 2), "ab");
    assert_eq!(machine.core.set_param(threads[1], 0, 3 * MS, machine.now), Err(CoreError::Children));
    machine.settled();
    assert_eq!(timeline(&mut machine, &threads, 6), "baabba");
    machine.core.set_param(threads[1], 0, MS, machine.now).expect("a shorter slot");
    machine.settled();
    let runs = timeline(&mut machine, &threads, 8);
    assert_eq!((runs.matches('a').count(), runs.matches('b').count()), (4, 2), "{runs}");
    assert_eq!(machine.core.set_param(threads[1], 0, 5 * MS, machine.now), Err(CoreError::Param));
    machine.settled();
}

/// Time that a late timer gives a thread beyond its slot delays the next slot, and the thread's next slot pays.
#[test]
fn an_overrun_is_paid_by_the_next_slot() {
    let (mut machine, _, threads) = bench(&[[3, 8], [2, 8]]);
    machine.now = Nanos(4 * MS);
    machine.core.timers(machine.now);
    machine.core.expire(0, machine.now);
    machine.settled();
    assert_eq!(timeline(&mut machine, &threads, 13), "bb..aabb....a");
}

/// On several CPUs the plan is for one CPU.
#[test]
fn one_slot_at_a_time() {
    let mut machine = Machine::new(2, None);
    let root = machine.root("spring", &[]);
    let threads = [[2, 4], [2, 4]].map(|claim| machine.thread(root, &claim.map(|time| time * MS)));
    threads.iter().for_each(|&thread| machine.core.request(thread, machine.now));
    machine.settled();
    machine.run_to(Nanos(8 * MS));
    assert_eq!(threads.map(|thread| machine.ran_ms(thread)), [4.0, 4.0]);
}
