//! What the policy `grub` decides: schedules that were worked out by hand, a character a millisecond, and the paper's
//! claim for random jobs.

use crate::support::{ByHand, MS, timeline};
use hls_core::{Calls, CoreError, CoreScheduler, CoreVp, Params};
use hls_scenario::Machine;
use hls_units::Nanos;
use oorandom::Rand32;

const HARD: u64 = 0;
const SOFT: u64 = 1;
const WHOLE: u64 = 1_000_000;

/// A machine with a root that gives servers this part of a CPU: each has its budget, period and kind, and is asleep.
fn bench(cpus: u16, rate_ppm: u64, servers: &[[u64; 3]]) -> (Machine, Vec<CoreVp>) {
    let mut machine = Machine::new(cpus, None);
    let root = machine.root("grub", &[rate_ppm]);
    let threads = (servers.iter())
        .map(|&[budget, period, kind]| machine.thread(root, &[budget * MS, period * MS, kind]))
        .collect();
    (machine, threads)
}

fn wake(machine: &mut Machine, threads: &[CoreVp]) {
    threads.iter().for_each(|&thread| machine.wake(thread));
}

/// Alone, a server of 3/10 gets the whole CPU, as its budget falls at 3/10 of the speed of time; two get half of it
/// each.
#[test]
fn active_servers_have_what_inactive_ones_do_not_use() {
    let (mut machine, threads) = bench(1, WHOLE, &[[3, 10, HARD]; 2]);
    machine.wake(threads[0]);
    assert_eq!(timeline(&mut machine, &threads, 20), "a".repeat(20));
    machine.wake(threads[1]);
    assert_eq!(timeline(&mut machine, &threads, 20), "bbbbbaaaaa".repeat(2));
}

/// When all of the bandwidth is active, budgets fall as fast as time passes.
#[test]
fn where_all_are_active_they_have_their_budgets() {
    let (mut machine, threads) = bench(1, WHOLE, &[[2, 5, HARD], [6, 10, HARD]]);
    wake(&mut machine, &threads);
    assert_eq!(timeline(&mut machine, &threads, 20), "aabbbbbbaa".repeat(2));
}

/// `b`, which had 1 of 5 at the pace of 4/5, has used its bandwidth up to 1.6, and is active until then: `a` has used
/// 0.48 of its 6 at that time, and then goes on at the pace of 3/10. `c` comes at 4, when `a` has 4.8 left, for which
/// it needs 8 at the pace of 6/10.
#[test]
fn a_server_that_sleeps_is_active_until_its_virtual_time() {
    let (mut machine, threads) = bench(1, WHOLE, &[[6, 20, HARD], [5, 10, HARD], [9, 30, HARD]]);
    machine.wake(threads[1]);
    machine.wake(threads[0]);
    assert_eq!(timeline(&mut machine, &threads, 1), "b");
    machine.block(threads[1]);
    assert_eq!(timeline(&mut machine, &threads, 3), "aaa");
    machine.wake(threads[2]);
    assert_eq!(timeline(&mut machine, &threads, 10), "aaaaaaaacc");
}

/// In cbs `a` would have put its deadline off to 210 ms, and then would have waited for long: here it has used only
/// its own bandwidth.
#[test]
fn a_server_that_ran_ahead_on_reclaimed_bandwidth_does_not_wait() {
    let (mut machine, threads) = bench(1, WHOLE, &[[2, 10, SOFT], [2, 10, SOFT]]);
    machine.wake(threads[0]);
    assert_eq!(timeline(&mut machine, &threads, 40), "a".repeat(40));
    machine.wake(threads[1]);
    assert_eq!(timeline(&mut machine, &threads, 20), "bbbbbaaaaa".repeat(2));
}

/// `a` has had 3 of its 5 at 3, and so has used its bandwidth up to 6. If it comes back at 4 and is soft, it is due
/// at 16, behind `b`, due at 12, and `c`, which comes, too, and is due at 15; if it is hard it goes on, due at 10,
/// with 2. If it comes at 7 it is due at 17, before `c`. Next to nothing is reclaimed.
#[test]
fn a_server_that_wakes_up_goes_on_from_its_virtual_time() {
    let woken = |kind: u64, wake_up: u64| {
        let (mut machine, threads) = bench(1, 1, &[[5, 10, kind], [4, 12, HARD], [1, 11, HARD]]);
        wake(&mut machine, &threads[..2]);
        machine.run_to(Nanos(3 * MS));
        machine.block(threads[0]);
        machine.run_to(Nanos(wake_up * MS));
        machine.wake(threads[0]);
        machine.wake(threads[2]);
        timeline(&mut machine, &threads, 6)
    };
    assert_eq!(woken(SOFT, 4), "bbbcaa");
    assert_eq!(woken(HARD, 4), "aabbbc");
    assert_eq!(woken(SOFT, 7), "aaaaac");
    assert_eq!(woken(HARD, 7), "aaaaac");
}

/// At 2 `a` has used its bandwidth up to 4, and has 3 left, due at 10. But as the CPU is idle at 3, it has a whole
/// budget when it comes then.
#[test]
fn when_nobody_wants_the_cpu_all_begin_anew() {
    let (mut machine, threads) = bench(1, WHOLE, &[[5, 10, HARD], [6, 12, HARD]]);
    wake(&mut machine, &threads);
    machine.run_to(Nanos(2 * MS));
    machine.block(threads[0]);
    machine.run_to(Nanos(3 * MS));
    machine.block(threads[1]);
    wake(&mut machine, &threads);
    assert_eq!(timeline(&mut machine, &threads, 10), "aaaaabbbbb");
}

/// An interrupt from 2 to 4 ms, in which `b` wakes up: `a` is charged up to then at the pace of 1/4, and is given back
/// what the interrupt had of that. Of its budget 4.5 ms are left, for 6 ms at the pace of 3/4.
#[test]
fn what_was_charged_for_an_interrupt_is_given_back() {
    let (mut machine, threads) = bench(1, WHOLE, &[[5, 20, HARD], [5, 10, HARD]]);
    machine.wake(threads[0]);
    machine.run_to(Nanos(2 * MS));
    machine.now = Nanos(3 * MS);
    machine.core.request(threads[1], machine.now);
    machine.now = Nanos(4 * MS);
    machine.core.steal(0, Nanos(2 * MS), machine.now);
    machine.settled();
    machine.run_to(Nanos(20 * MS));
    assert_eq!(machine.ran_ms(threads[0]), 8.0);
}

/// With half a CPU for the servers, the budget of a server of 7 in every 20 falls at the pace of 7/20 + 1 - 1/2.
#[test]
fn where_less_than_a_cpu_is_there_budgets_fall_faster() {
    let (mut machine, threads) = bench(1, 500_000, &[[7, 20, HARD], [2, 20, HARD]]);
    machine.wake(threads[0]);
    machine.run_to(Nanos(20 * MS));
    assert_eq!(machine.ran_ms(threads[0]), 8.235294);
    let (mut machine, threads) = bench(1, 300_000, &[[7, 20, HARD]]);
    machine.wake(threads[0]);
    assert_eq!(timeline(&mut machine, &threads, 20), "aaaaaaa.............");
}

/// Why there is a rate: below a reservation of half a CPU, with the paper's pace, `a` gets the whole reservation from
/// 20 to 40, where it is due, and `b`, which comes at 21 and is due at 41, has 1 of its 4 by then. The utilisation is
/// no more than 2/5.
#[test]
fn on_less_than_a_cpu_the_papers_pace_would_harm_siblings() {
    let had_in_time = |rate_ppm: u64| {
        let mut machine = Machine::new(1, None);
        let root = machine.root("reservation", &[]);
        let grub = machine.below(root, &[5 * MS, 10 * MS], "grub", &[rate_ppm]);
        let [a, b] = [(); 2].map(|()| machine.thread(grub, &[4 * MS, 20 * MS, HARD]));
        machine.wake(a);
        machine.run_to(Nanos(21 * MS));
        machine.wake(b);
        machine.run_to(Nanos(41 * MS));
        machine.ran_ms(b)
    };
    assert_eq!(had_in_time(WHOLE), 1.0);
    assert!(had_in_time(WHOLE / 2) >= 4.0);
}

#[test]
fn on_several_cpus_nothing_is_reclaimed() {
    let (mut machine, threads) = bench(2, WHOLE, &[[5, 10, HARD]; 3]);
    machine.wake(threads[0]);
    machine.run_to(Nanos(10 * MS));
    assert_eq!(machine.ran_ms(threads[0]), 5.0);
    machine.wake(threads[1]);
    machine.wake(threads[2]);
    machine.run_to(Nanos(110 * MS));
    threads.iter().skip(1).for_each(|&thread| assert_eq!(machine.ran_ms(thread), 50.0));
}

/// If a slice ends late, a hard server pays for it, and a soft one puts its deadline off accordingly.
#[test]
fn an_overrun_is_paid() {
    let late = |kind| {
        let (mut machine, threads) = bench(1, 200_000, &[[2, 10, kind]]);
        machine.wake(threads[0]);
        machine.now = Nanos(5 * MS);
        machine.core.expire(0, machine.now);
        machine.settled();
        timeline(&mut machine, &threads, 27)
    };
    // An overrun of 3: this costs the budget at 10, and half of the budget at 20.
    assert_eq!(late(HARD), ".".repeat(15) + "a" + ".........aa");
    assert_eq!(late(SOFT), "a".repeat(27));
}

#[test]
fn bad_parameters_are_refused() {
    let (mut machine, threads) = bench(1, WHOLE, &[[2, 10, HARD]]);
    let root = CoreScheduler(1);
    for params in [[11 * MS, 10 * MS, 0], [MS / 2_000, 10 * MS, 0], [MS, 10 * MS, 2]] {
        let refused = machine.core.move_to(threads[0], root, Params::from_slice(&params), machine.now);
        assert_eq!(refused, Err(CoreError::Param), "{params:?}");
    }
    // The new bandwidth counts.
    machine.wake(threads[0]);
    let greater = Params::from_slice(&[5 * MS, 10 * MS, HARD]);
    machine.core.move_to(threads[0], root, greater, machine.now).expect("it is in range");
    machine.settled();
    assert_eq!(timeline(&mut machine, &threads, 20), "a".repeat(20));
}

/// A server's jobs: the remaining work of each job that has come, and the time at which a CPU of the server's speed
/// would have done it.
#[derive(Default)]
struct Jobs {
    pending: Vec<(u64, u64)>,
    done_elsewhere_at: u64,
}

/// The paper's claim: if a dedicated CPU with the server's bandwidth as its speed finishes a job at F, the job is
/// done before F + P here. The few nanoseconds are for the core's rounding.
///
/// From its source: the claim that a job is at most a period later than alone.
#[test]
fn jobs_are_done_at_most_a_period_later_than_on_a_cpu_of_their_own() {
    const ROUNDED: u64 = 100;
    let mut random = Rand32::new(20);
    let mut below = move |most: u64| u64::from(random.rand_range(0..most as u32));
    for case in 0..200 {
        let servers = [[2, 8], [3, 9], [5, 12]].map(|[budget, period]| {
            let less = 1 + below(4);
            [(budget * MS / less).max(MS / 10), period * MS]
        });
        let mut machine = Machine::new(1, None);
        let root = machine.root("grub", &[WHOLE]);
        let threads = servers.map(|[budget, period]| machine.thread(root, &[budget, period, SOFT]));
        let mut jobs = [(); 3].map(|()| Jobs::default());
        let mut next = [(); 3].map(|()| below(10_000) * 1_000);
        let mut charged = [0; 3];
        while machine.now < Nanos(300 * MS) {
            let now = machine.now.0;
            for server in 0..3 {
                let [budget, period] = servers[server];
                if next[server] > now {
                    continue;
                }
                let length = (1 + below(6_000)) * 1_000;
                let begins_at = jobs[server].done_elsewhere_at.max(now);
                jobs[server].done_elsewhere_at = begins_at + (length * period).div_ceil(budget);
                let latest = jobs[server].done_elsewhere_at + period + ROUNDED;
                let is_asleep = jobs[server].pending.is_empty();
                jobs[server].pending.push((length, latest));
                next[server] = now + below(2 * length / 1_000 * period / budget) * 1_000 + 1_000;
                if is_asleep {
                    machine.wake(threads[server]);
                }
            }
            let running = threads.iter().position(|&thread| machine.running[0] == Some(thread));
            let done_at = running.map_or(u64::MAX, |server| now + jobs[server].pending[0].0);
            let decides_at = machine.core.expires_at(0).min(machine.core.timer_at()).0;
            let until = next.into_iter().min().unwrap_or(u64::MAX).min(done_at).min(decides_at.max(now + 1));
            machine.run_to(Nanos(until));
            for server in 0..3 {
                let ran = machine.core.ran(threads[server], machine.now).0;
                let used = ran - std::mem::replace(&mut charged[server], ran);
                let Some((left, latest)) = jobs[server].pending.first_mut() else { continue };
                *left -= used;
                assert!(until <= *latest, "case {case}: server {server} of {servers:?} at {until}");
                if *left == 0 {
                    jobs[server].pending.remove(0);
                    if jobs[server].pending.is_empty() {
                        machine.block(threads[server]);
                    }
                }
            }
        }
    }
}
