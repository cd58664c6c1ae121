//! What the policy `eevdf` decides: the example of its paper (Stoica et al., RTSS 1996, figure 1), and its rules for
//! joining and leaving.

use crate::support::{ByHand, MS};
use hls_core::{Calls, CoreError, CoreVp, Params};
use hls_scenario::Machine;
use hls_units::Nanos;

const QUANTUM: u64 = 10 * MS;

/// A machine with threads below its root, all asleep, with these shares and requests.
fn bench(threads: &[[u64; 2]]) -> (Machine, Vec<CoreVp>) {
    let mut machine = Machine::new(1, None);
    let root = machine.root("eevdf", &[QUANTUM]);
    let threads = threads.iter().map(|params| machine.thread(root, params)).collect();
    (machine, threads)
}

/// Which thread runs in each of the next quanta: `a`, `b`, `c`.
fn quanta(machine: &mut Machine, threads: &[CoreVp], quanta: u64) -> String {
    (0..quanta)
        .map(|_| {
            let nth = threads.iter().position(|&thread| machine.running[0] == Some(thread));
            machine.run_to(machine.now + Nanos(QUANTUM));
            nth.map_or('.', |nth| ['a', 'b', 'c'][nth])
        })
        .collect()
}

/// Two clients of equal weight, with requests of two quanta and of one. The second comes after a quantum (here a
/// nanosecond earlier, so that the decision includes it).
///
/// From its source: figure 1, quantum by quantum.
#[test]
fn the_example_of_the_paper() {
    let (mut machine, threads) = bench(&[[2, 2 * QUANTUM], [2, QUANTUM]]);
    machine.wake(threads[0]);
    machine.run_to(Nanos(QUANTUM - 1));
    machine.wake(threads[1]);
    machine.run_to(Nanos(QUANTUM));
    assert_eq!(quanta(&mut machine, &threads, 7), "babab".to_owned() + "ab");
}

/// A VP with short requests is served sooner, and gets no more.
#[test]
fn short_requests_are_served_sooner() {
    let (mut machine, threads) = bench(&[[1, 0], [1, 0], [1, MS]]);
    machine.wake(threads[0]);
    machine.wake(threads[1]);
    let mut longest = Nanos(0);
    for n in 0..50 {
        machine.run_to(Nanos(n * 97 * MS + 40 * MS));
        let before = machine.now;
        machine.wake(threads[2]);
        while machine.running[0] != Some(threads[2]) {
            machine.run_to(machine.now + Nanos(MS / 10));
        }
        longest = longest.max(machine.now - before);
        machine.run_to(machine.now + Nanos(MS));
        machine.block(threads[2]);
    }
    assert!(longest <= Nanos(QUANTUM), "{longest}");
    machine.wake(threads[2]);
    let before: Vec<f64> = threads.iter().map(|&thread| machine.ran_ms(thread)).collect();
    machine.run_to(machine.now + Nanos(3_000 * MS));
    let had = |n: usize| machine.ran_ms(threads[n]) - before[n];
    assert!((985.0..=1_015.0).contains(&had(2)), "{}", had(2));
}

/// A VP that is ahead of its share when it blocks is still ahead when it wakes up a moment later.
#[test]
fn a_moment_of_sleep_gains_nothing() {
    let (mut machine, threads) = bench(&[[1, 0], [1, 0]]);
    threads.iter().for_each(|&thread| machine.wake(thread));
    for _ in 0..200 {
        if machine.running[0] == Some(threads[0]) {
            machine.run_to(machine.now + Nanos(QUANTUM - MS / 10));
            machine.block(threads[0]);
            machine.run_to(machine.now + Nanos(MS / 10));
            machine.wake(threads[0]);
        } else {
            machine.run_to(machine.now + Nanos(MS));
        }
    }
    let had = [0, 1].map(|thread| machine.ran_ms(threads[thread]));
    assert!(had[0] <= had[1] + 10.0, "{had:?}");
}

/// A VP that leaves when it is ahead of its share counts until the virtual time has caught up: meanwhile the virtual
/// time advances as slowly as before, so that a third VP, which comes now, goes before the one that left and came
/// back.
#[test]
fn a_vp_that_leaves_ahead_counts_until_the_virtual_time_catches_up() {
    let (mut machine, threads) = bench(&[[1, 0], [1, 0], [1, 0]]);
    machine.wake(threads[0]);
    machine.wake(threads[1]);
    machine.run_to(Nanos(10 * MS));
    // The first has run: its next request is eligible at the virtual time 10 ms. The virtual time is 5 ms now, and
    // 7.5 ms at 15 ms.
    assert_eq!(machine.running[0], Some(threads[1]));
    machine.block(threads[0]);
    machine.run_to(Nanos(15 * MS));
    machine.wake(threads[0]);
    machine.wake(threads[2]);
    machine.run_to(Nanos(20 * MS));
    assert_eq!(machine.running[0], Some(threads[2]));
}

/// Four VPs become eligible in one quantum. The last of them in the queue has a short request, and so the earliest
/// deadline: it runs.
#[test]
fn several_become_eligible_at_once() {
    let (mut machine, threads) = bench(&[[1, 0], [1, 0], [1, 0], [1, MS], [1, 0]]);
    threads[..4].iter().for_each(|&thread| machine.wake(thread));
    // Each of the first three has run once, the fourth in between; the virtual time is 9.75 ms.
    machine.run_to(Nanos(39 * MS));
    machine.wake(threads[4]);
    // The fifth runs from 40 ms on, with the only eligible request. The others' requests become eligible at virtual
    // time 10 ms, which is reached before 50 ms.
    machine.run_to(Nanos(45 * MS));
    assert_eq!(machine.running[0], Some(threads[4]));
    machine.run_to(Nanos(50 * MS + 1));
    assert_eq!(machine.running[0], Some(threads[3]));
}

/// If all runnable VPs are ahead of their shares, the virtual time jumps, also past the debt of a sleeper. That debt
/// is then paid: when it wakes up, the VP goes on at the virtual time, and is not owed the time that was jumped over.
#[test]
fn a_sleeper_is_not_owed_time_that_was_jumped_over() {
    let (mut machine, threads) = bench(&[[1, 100 * MS], [1, 0], [1, 0], [1, 500 * MS]]);
    let [a, b, c, never] = threads[..] else { unreachable!() };
    machine.wake(a);
    machine.wake(never);
    machine.run_to(Nanos(100 * MS - 1));
    machine.block(never);
    machine.wake(b);
    // The virtual time is 55 ms; the next request of the first is eligible at 100 ms, the second's at 60 ms.
    machine.run_to(Nanos(108 * MS));
    machine.block(b);
    assert_eq!(machine.running[0], Some(a));
    machine.run_to(Nanos(117 * MS));
    machine.wake(b);
    machine.wake(c);
    machine.run_to(Nanos(118 * MS));
    assert_eq!(quanta(&mut machine, &threads, 2), "bc");
}

/// In one quantum the virtual time passes two sleepers, and then a VP with a short request: this VP does not wait for
/// another quantum.
#[test]
fn a_vp_that_becomes_eligible_behind_several_sleepers_runs_at_once() {
    let (mut machine, threads) = bench(&[[1, 5 * MS / 2], [1, 0], [1, 0], [1, 500 * MS]]);
    let [short, first, second, long] = threads[..] else { unreachable!() };
    threads.iter().for_each(|&thread| machine.wake(thread));
    // The short request is used up; the next one is eligible at 2.5 ms. Two VPs sleep, with debts up to 2 ms.
    for (sleeper, at) in [(first, 4_500_000), (second, 6_500_000)] {
        machine.run_to(Nanos(at));
        assert_eq!(machine.running[0], Some(sleeper));
        machine.block(sleeper);
    }
    assert_eq!(machine.running[0], Some(long));
    machine.run_to(Nanos(16_500_001));
    assert_eq!(machine.running[0], Some(short));
}

/// Sleepers hold up the virtual time for a moment, just when all runnable VPs are ahead of their shares. It jumps to
/// the first of their eligible times, and no further.
#[test]
fn the_virtual_time_moves_on_no_further_than_to_the_first_request() {
    let (mut machine, threads) = bench(&[[1, 50 * MS], [1, 500 * MS], [1, 28 * MS], [1, 0], [1, 0]]);
    let [long, never, middle, first, second] = threads[..] else { unreachable!() };
    machine.wake(long);
    machine.wake(never);
    machine.run_to(Nanos(49 * MS));
    machine.wake(middle);
    machine.run_to(Nanos(77 * MS));
    assert_eq!(machine.running[0], Some(middle));
    machine.wake(first);
    machine.wake(second);
    for (sleeper, at) in [(first, 79), (second, 80)] {
        machine.run_to(Nanos(at * MS));
        assert_eq!(machine.running[0], Some(sleeper));
        machine.block(sleeper);
    }
    // The requests of the first and the third are eligible at 50 ms and 52.5 ms; the third has the earlier deadline.
    machine.run_to(Nanos(89 * MS));
    assert_eq!(machine.running[0], Some(never));
    machine.block(never);
    machine.run_to(Nanos(89 * MS + 1));
    assert_eq!(machine.running[0], Some(long));
}

/// A share that changes while the VP runs counts from then on; earlier CPU time keeps its value.
#[test]
fn a_share_may_change_while_the_vp_runs() {
    let (mut machine, threads) = bench(&[[1, 0], [1, 0]]);
    threads.iter().for_each(|&thread| machine.wake(thread));
    machine.run_to(Nanos(105 * MS));
    machine.core.set_param(threads[0], 0, 3, machine.now).unwrap();
    machine.settled();
    let before = [0, 1].map(|thread| machine.ran_ms(threads[thread]));
    machine.run_to(Nanos(1_305 * MS));
    let had = [0, 1].map(|thread| machine.ran_ms(threads[thread]) - before[thread]);
    assert!((880.0..=920.0).contains(&had[0]), "{had:?}");
}

/// When the share of a VP with a debt changes, the VP has to wait for the same CPU time as before, not for the same
/// virtual time.
#[test]
fn a_debt_stays_the_same_when_the_share_changes() {
    let (mut machine, threads) = bench(&[[1, 0], [1, 500 * MS]]);
    threads.iter().for_each(|&thread| machine.wake(thread));
    assert_eq!(quanta(&mut machine, &threads, 1), "a");
    // Its debt is 5 ms: 0.05 ms of virtual time, which passes in the next quantum.
    machine.core.set_param(threads[0], 0, 100, machine.now).unwrap();
    machine.settled();
    assert_eq!(quanta(&mut machine, &threads, 12), "baaaaaaaaaaa");
}

/// A VP that leaves for good with a debt counts until it would have paid: otherwise others would be late for ever.
#[test]
fn a_vp_that_leaves_for_good_does_not_leave_its_debt_to_others() {
    let (mut machine, threads) = bench(&[[2, 700 * MS], [1, 500 * MS], [1, 0]]);
    threads.iter().for_each(|&thread| machine.wake(thread));
    machine.run_to(Nanos(600 * MS));
    machine.core.detach(threads[0], machine.now).unwrap();
    machine.settled();
    let (mut longest, mut since) = (Nanos(0), machine.now);
    while machine.now < Nanos(9_000 * MS) {
        if machine.running[0] == Some(threads[2]) {
            since = machine.now;
        }
        longest = longest.max(machine.now - since);
        machine.run_to(machine.now + Nanos(MS));
    }
    // Its promise is PSBE 1/4 20ms.
    assert!(longest <= Nanos(80 * MS), "{longest}");
}

/// Each request would need a decision at its end.
#[test]
fn requests_that_are_too_short_are_refused() {
    let mut machine = Machine::new(1, None);
    let root = machine.root("eevdf", &[QUANTUM]);
    let thread = machine.thread(root, &[1, 10_000]);
    let too_short = Params::from_slice(&[1, 9_999]);
    assert_eq!(machine.core.attach(root, None, too_short), Err(CoreError::Param));
    assert_eq!(machine.core.move_to(thread, root, too_short, machine.now), Err(CoreError::Param));
}
