//! What the policies `bss-i` and `pshed` decide: schedules that were worked out by hand, a character a millisecond.
//! Both make the same decisions.

use crate::support::{ByHand, MS, policy_of, timeline};
use hls_core::{Calls, CoreError, CoreScheduler, CoreVp, Params};
use hls_scenario::Machine;
use hls_units::Nanos;

const POLICIES: [&str; 2] = ["bss-i", "pshed"];
const HALF: u64 = 500_000;

/// A machine of one CPU; its root makes slower processors. Children that report no deadline have one every 10 ms.
fn bench(policy: &str) -> (Machine, CoreScheduler) {
    let mut machine = Machine::new(1, None);
    let root = machine.root(policy, &[10 * MS]);
    (machine, root)
}

fn wake(machine: &mut Machine, threads: &[CoreVp]) {
    threads.iter().for_each(|&thread| machine.wake(thread));
}

/// Reservations, budget and period each, on a processor of this rate.
fn reservations(machine: &mut Machine, parent: CoreScheduler, rate: u64, pairs: &[[u64; 2]]) -> Vec<CoreVp> {
    let below = machine.below(parent, &[rate], "reservation", &[]);
    pairs.iter().map(|pair| machine.thread(below, &pair.map(|time| time * MS))).collect()
}

/// Tells the scheduler above a thread that its job is due in this time.
fn tell(machine: &mut Machine, thread: CoreVp, length: u64) {
    let now = machine.now;
    machine.core.tell(thread, 0, Params::from_slice(&[length * MS]), now).expect("it is in range");
    machine.run_to(machine.now);
}

#[test]
fn a_child_that_reports_no_deadline_has_its_rate_of_each_period() {
    for policy in POLICIES {
        let (mut machine, root) = bench(policy);
        let threads = [300_000, 600_000].map(|rate| machine.thread(root, &[rate]));
        wake(&mut machine, &threads);
        assert_eq!(timeline(&mut machine, &threads, 30), "aaabbbbbb.".repeat(3));
    }
}

/// `a` and `b` are on one processor of half the speed, and take all of it: 4 in every 10 and 12 in every 20 of its time
/// are 2 and 6 of the CPU's. When `a` is done the processor is due at 20, like the one of `c`, which has waited for
/// longer.
#[test]
fn the_deadline_of_a_processor_is_its_schedulers_earliest() {
    for policy in POLICIES {
        let (mut machine, root) = bench(policy);
        let mut threads = reservations(&mut machine, root, HALF, &[[4, 10], [12, 20]]);
        threads.extend(reservations(&mut machine, root, HALF, &[[20, 20]]));
        wake(&mut machine, &threads);
        let first = "aa".to_owned() + &"c".repeat(10) + &"b".repeat(6) + "aa";
        assert_eq!(timeline(&mut machine, &threads, 20), first);
        machine.run_to(Nanos(200 * MS));
        assert_eq!([0, 1, 2].map(|nth| machine.ran_ms(threads[nth])), [40.0, 60.0, 100.0]);
    }
}

/// `b` is due at 100 and runs ahead while no other thread is runnable. The CPU time that it has had at 20 takes
/// nothing from `a`, which wakes up then and is due at 30. With one budget in place of the list, `a` would have
/// nothing.
#[test]
fn work_that_came_early_takes_nothing_from_what_is_due_before() {
    for policy in POLICIES {
        let (mut machine, root) = bench(policy);
        let mut threads = reservations(&mut machine, root, HALF, &[[10, 10], [60, 100]]);
        threads.push(machine.thread(root, &[HALF]));
        machine.wake(threads[1]);
        assert_eq!(timeline(&mut machine, &threads, 20), "b".repeat(20));
        machine.wake(threads[0]);
        machine.wake(threads[2]);
        assert_eq!(timeline(&mut machine, &threads, 10), "aaaaaccccc");
    }
}

/// At 8, 2 of the period are left, for which the rate gives a budget of 1.
#[test]
fn sleep_saves_nothing_up() {
    for policy in POLICIES {
        let (mut machine, root) = bench(policy);
        let threads = [machine.thread(root, &[HALF])];
        machine.wake(threads[0]);
        assert_eq!(timeline(&mut machine, &threads, 1), "a");
        machine.block(threads[0]);
        assert_eq!(timeline(&mut machine, &threads, 7), ".......");
        machine.wake(threads[0]);
        assert_eq!(timeline(&mut machine, &threads, 12), "a.aaaaa.....");
    }
}

#[test]
fn a_thread_tells_its_deadline_by_a_message() {
    for policy in POLICIES {
        let (mut machine, root) = bench(policy);
        let threads = [machine.thread(root, &[250_000]), machine.thread(root, &[HALF])];
        tell(&mut machine, threads[0], 8);
        wake(&mut machine, &threads);
        // Two by 8, and then a quarter of 10, because no deadline is reported any more.
        assert_eq!(timeline(&mut machine, &threads, 10), "aabbbbb.aa");
        // `b`, which was due at 20, gets two by 14, before the rest of `a`.
        tell(&mut machine, threads[1], 4);
        assert_eq!(timeline(&mut machine, &threads, 4), "bba.");
    }
}

#[test]
fn processors_in_a_processor_are_slower_in_turn() {
    for policy in POLICIES {
        let (mut machine, root) = bench(policy);
        let inner = machine.below(root, &[HALF], policy, &[10 * MS]);
        let mut threads = reservations(&mut machine, inner, HALF, &[[8, 10]]);
        threads.extend(reservations(&mut machine, inner, HALF, &[[20, 20]]));
        threads.push(machine.thread(root, &[HALF]));
        wake(&mut machine, &threads);
        machine.run_to(Nanos(200 * MS));
        assert_eq!([0, 1, 2].map(|nth| machine.ran_ms(threads[nth])), [40.0, 50.0, 100.0]);
    }
}

/// Twelve deadlines at once: more than a server has room for. Its sibling still gets its rate of each period.
#[test]
fn a_full_list_costs_nobody_else() {
    for policy in POLICIES {
        let (mut machine, root) = bench(policy);
        let many: Vec<[u64; 2]> = (0..12).map(|n| [n / 4 + 1, 31 + 3 * n]).collect();
        let mut threads = reservations(&mut machine, root, HALF, &many);
        let beside = machine.thread(root, &[HALF]);
        threads.push(beside);
        for step in 0..400 {
            let thread = threads[step * 7 % 12];
            machine.wake(thread);
            machine.run_to(machine.now + Nanos(MS / 2));
            machine.wake(beside);
            if step % 3 == 0 {
                machine.block(thread);
            }
        }
        let (begun, had) = (machine.now, machine.ran_ms(beside));
        machine.run_to(begun + Nanos(200 * MS));
        assert!(machine.ran_ms(beside) - had >= 95.0, "{}", machine.ran_ms(beside) - had);
    }
}

#[test]
fn a_rate_that_changes_keeps_what_was_used() {
    for policy in POLICIES {
        let (mut machine, root) = bench(policy);
        let threads = [machine.thread(root, &[HALF])];
        machine.wake(threads[0]);
        assert_eq!(timeline(&mut machine, &threads, 5), "aaaaa");
        machine.core.set_param(threads[0], 0, 900_000, machine.now).expect("it is in range");
        machine.settled();
        assert_eq!(timeline(&mut machine, &threads, 15), ".....aaaaaaaaa.");
    }
}

/// When a processor's rate becomes half a millionth, a microsecond of it is less than a nanosecond of the CPU: the
/// thread that waits for it has no budget from its next period on.
#[test]
fn a_budget_below_a_processor_may_become_nothing() {
    for policy in POLICIES {
        let (mut machine, root) = bench(policy);
        let middle = machine.below(root, &[HALF], "fixed-priority", &[10 * MS]);
        let below = machine.below(middle, &[1], "reservation", &[]);
        let threads = [[2 * MS, 8 * MS], [MS / 1_000, 10 * MS]].map(|pair| machine.thread(below, &pair));
        wake(&mut machine, &threads);
        machine.run_to(machine.now);
        let params = Params::from_slice(&[10 * MS]);
        machine.core.replace(middle, policy_of(policy).id, params, machine.now).expect("it takes one child");
        machine.settled();
        machine.run_to(Nanos(100 * MS));
        assert_eq!(machine.ran_ms(threads[1]), 0.0);
    }
}

/// If a slice ends late, the next periods pay for the overrun.
#[test]
fn an_overrun_is_paid() {
    for policy in POLICIES {
        let (mut machine, root) = bench(policy);
        let threads = [machine.thread(root, &[200_000])];
        machine.wake(threads[0]);
        machine.now = Nanos(3 * MS);
        machine.core.expire(0, machine.now);
        machine.settled();
        assert_eq!(timeline(&mut machine, &threads, 27), ".......a.........aa.......".to_owned() + ".");
    }
}

/// At 10 the timer is late: the deadline of `b` has passed while it waited. When `b` is granted, it has its next
/// deadline, and gets 3 by then.
#[test]
fn a_granted_vp_has_a_deadline_in_the_future() {
    for policy in POLICIES {
        let (mut machine, root) = bench(policy);
        let threads = [500_000, 300_000].map(|rate| machine.thread(root, &[rate]));
        wake(&mut machine, &threads);
        assert_eq!(timeline(&mut machine, &threads, 4), "aaaa");
        machine.now = Nanos(10 * MS);
        machine.core.release(threads[0], machine.now);
        assert_eq!(machine.core.schedule(0, machine.now), Some(threads[1]));
        assert_eq!(machine.core.expires_at(0), Nanos(13 * MS));
    }
}

#[test]
fn bad_rates_and_a_child_too_many_are_refused() {
    for policy in POLICIES {
        let (mut machine, root) = bench(policy);
        for rate in [0, 1_000_001] {
            let refused = machine.core.attach(root, None, Params::from_slice(&[rate]));
            assert_eq!(refused, Err(CoreError::Param), "{rate}");
        }
        let six = [(); 6].map(|()| machine.thread(root, &[100_000]));
        let seventh = machine.core.attach(root, None, Params::from_slice(&[100_000]));
        assert_eq!(seventh, Err(CoreError::Children));
        machine.core.detach(six[2], machine.now).expect("it is there");
        machine.settled();
        machine.thread(root, &[100_000]);
    }
}

/// Threads with reservations on two slower processors, and one beside them, sleep and wake up at random.
#[test]
fn both_decide_the_same() {
    let runs = POLICIES.map(|policy| {
        let (mut machine, root) = bench(policy);
        let mut threads = reservations(&mut machine, root, 400_000, &[[4, 10], [3, 7], [2, 13]]);
        threads.extend(reservations(&mut machine, root, 300_000, &[[5, 9], [11, 40]]));
        threads.push(machine.thread(root, &[300_000]));
        let (mut state, mut who_ran) = (1u64, String::new());
        for _ in 0..2_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let thread = threads[(state >> 33) as usize % threads.len()];
            match state >> 62 {
                0 => machine.block(thread),
                _ => machine.wake(thread),
            }
            who_ran += &timeline(&mut machine, &threads, 1);
        }
        who_ran
    });
    assert_eq!(runs[0], runs[1]);
    assert!("abcdef".chars().all(|thread| runs[0].contains(thread)), "{}", runs[0]);
}
