//! Policies that are written with `include/hls_scheduler.h` schedule as their papers say: schedules that were worked
//! out by hand, a character a millisecond, with an agent that needs no time for a turn unless a test says so.

use crate::support::agent::{self, Program, World, compile};
use crate::support::{ByHand, MS};
use hls_core::CoreVp;
use hls_scenario::Machine;
use hls_units::Nanos;
use oorandom::Rand32;
use std::path::Path;
use std::process::Command;

const FP_RR: &str = "examples/user-level/fp_rr.c";
const EDF: &str = "examples/user-level/edf.c";
const DEFERRABLE_SERVER: &str = "examples/user-level/deferrable_server.c";
const BVT: &str = "examples/user-level/bvt.c";

/// A world with threads in the slots from 1 on, asleep.
fn world(source: &str, settings: &str, threads: u64) -> (World, Vec<CoreVp>) {
    let mut world = World::new(Program::open(&compile(source), settings), 1);
    let threads = (1..=threads).map(|slot| world.thread(slot)).collect();
    (world, threads)
}

#[test]
fn fp_rr_takes_equals_in_turn_and_lets_the_greater_priority_preempt() {
    let (mut world, threads) = world(FP_RR, "1=3,3ms 2=3,3ms 3=1,2ms 4=5", 4);
    for thread in &threads[..3] {
        world.wake(*thread);
    }
    assert_eq!(world.timeline(&threads, 7), "aaabbba");
    world.wake(threads[3]);
    assert_eq!(world.timeline(&threads, 2), "dd");
    world.block(threads[3]);
    // `a` goes on with the 2 ms that its slice has left.
    assert_eq!(world.timeline(&threads, 6), "aabbba");
    world.block(threads[0]);
    world.block(threads[1]);
    assert_eq!(world.timeline(&threads, 3), "ccc");
}

/// A thread that yields goes behind threads of equal priority, not behind threads of lower priority.
#[test]
fn fp_rr_puts_a_thread_that_yields_behind_its_equals() {
    let (mut world, threads) = world(FP_RR, "1=3 2=3 3=1", 3);
    threads.iter().for_each(|thread| world.wake(*thread));
    assert_eq!(world.timeline(&threads, 2), "aa");
    world.yield_now(threads[0]);
    assert_eq!(world.timeline(&threads, 2), "bb");
    world.block(threads[1]);
    world.yield_now(threads[0]);
    assert_eq!(world.timeline(&threads, 2), "aa");
}

/// An agent that is out of its allowance leaves the threads to urgencies, which are the priorities.
#[test]
fn fp_rr_keeps_priorities_while_the_agent_has_no_allowance() {
    let (mut world, threads) = world(FP_RR, "1=1 2=2", 2);
    let turns = world.turns;
    world.turn_takes = Nanos(30 * MS);
    world.wake(threads[0]);
    assert_eq!(world.timeline(&threads, 2), ".a", "the agent has 1 ms in 10");
    world.wake(threads[1]);
    assert_eq!(world.timeline(&threads, 3), "bbb");
    world.block(threads[1]);
    assert_eq!(world.timeline(&threads, 3), "aaa");
    assert_eq!(world.turns, turns + 1, "one, which goes on");
}

/// Two tasks, 3 ms in 6 and 4 ms in 8, which fill a CPU; by fixed priorities the second misses its first deadline.
#[test]
fn edf_keeps_all_deadlines_of_a_full_cpu() {
    let (mut world, threads) = world(EDF, "1=6ms 2=8ms", 2);
    let tasks = [(3, 6), (4, 8)];
    let mut left = [0; 2];
    let mut schedule = String::new();
    for now in 0..240 {
        for (task, (amount, period)) in tasks.iter().enumerate() {
            if now % period == 0 {
                assert_eq!(left[task], 0, "task {task} is late at {now} ms");
                left[task] = *amount;
                world.wake(threads[task]);
            }
        }
        let runs = world.timeline(&threads, 1);
        schedule += &runs;
        let task = usize::from(runs == "b");
        left[task] -= 1;
        if left[task] == 0 {
            world.block(threads[task]);
        }
    }
    assert!(schedule.starts_with("aaabbbbaaabbbbaaabaaabbb"), "{schedule}");
    assert!(!schedule.contains('.'), "{schedule}");
}

/// The example of textbooks, with the schedule of the policy `deferrable-server` in deferrable_server.rs: 1 in 4 and
/// 2 in 6, a server of 2 in 5 between them, and requests of 2 at 2, 1 at 8, 2 at 12 and 1 at 19.
#[test]
fn deferrable_servers_serve_at_once_and_keep_to_their_budgets() {
    let (mut world, threads) = world(DEFERRABLE_SERVER, "1=1ms,4ms,3 2=2ms,6ms,1 3=2ms,5ms,2", 3);
    world.wake(threads[0]);
    world.wake(threads[1]);
    let (mut runs, mut pending) = (String::new(), 0);
    for now in 0..22 {
        for (_, amount) in [(2, 2), (8, 1), (12, 2), (19, 1)].iter().filter(|(at, _)| *at == now) {
            pending += amount;
            world.wake(threads[2]);
        }
        runs += &world.timeline(&threads, 1);
        if runs.ends_with('c') {
            pending -= 1;
            if pending == 0 {
                world.block(threads[2]);
            }
        }
    }
    assert_eq!(runs, "abccabbbac..accbabbcab");
}

/// A late timer lets a server overrun: its next budget pays for it.
#[test]
fn deferrable_servers_carry_their_debts() {
    let (mut world, threads) = world(DEFERRABLE_SERVER, "1=2ms,10ms,1", 1);
    world.wake(threads[0]);
    world.machine.now = Nanos(3 * MS);
    world.machine.core.expire(0, world.machine.now);
    world.settle();
    world.block(threads[0]);
    world.wake(threads[0]);
    assert_eq!(world.timeline(&threads, 27), ".......a.........aa........");
}

/// A server gets its budget in a period and no more, whenever the agent comes to serve it.
#[test]
fn deferrable_servers_keep_to_their_budgets_with_a_slow_agent() {
    let (mut world, threads) = world(DEFERRABLE_SERVER, "1=2ms,10ms,2 2=10ms,10ms,1", 2);
    world.turn_takes = Nanos(100_000);
    threads.iter().for_each(|thread| world.wake(*thread));
    let mut least = Nanos::MAX;
    for period in 1..100 {
        let before = world.machine.core.ran(threads[0], world.machine.now);
        world.run_to(Nanos(10 * MS * period));
        least = least.min(world.machine.core.ran(threads[0], world.machine.now) - before);
    }
    let all = world.machine.core.ran(threads[0], world.machine.now);
    assert!(all <= Nanos(2 * MS * 99), "{all} in 99 periods of 10 ms");
    assert!(least >= Nanos(2 * MS - 200_000), "{least} in one of them");
}

/// The schedules of the policy `bvt` in bvt.rs: two even threads; a thread with twice the share; a thread that wakes
/// up, or has slept, and has saved nothing; a warped thread.
#[test]
fn bvt_schedules_as_the_policy_of_this_name() {
    let even = "0=3ms";
    let (mut world, threads) = world(BVT, even, 2);
    threads.iter().for_each(|thread| world.wake(*thread));
    assert_eq!(world.timeline(&threads, 15), "aaabbbbbbaaaaaa");

    let (mut world, threads) = self::world(BVT, "0=4ms 1=2", 2);
    threads.iter().for_each(|thread| world.wake(*thread));
    assert_eq!(world.timeline(&threads, 24), "aaaabbbbbbaaaaaaaaaaaabb");

    let (mut world, threads) = self::world(BVT, "0=2ms", 2);
    world.wake(threads[0]);
    assert_eq!(world.timeline(&threads, 6), "aaaaaa");
    world.wake(threads[1]);
    assert_eq!(world.timeline(&threads, 8), "aabbbbaa");

    let (mut world, threads) = self::world(BVT, "0=2ms", 2);
    threads.iter().for_each(|thread| world.wake(*thread));
    assert_eq!(world.timeline(&threads, 2), "aa");
    world.block(threads[1]);
    assert_eq!(world.timeline(&threads, 4), "aaaa");
    world.wake(threads[1]);
    assert_eq!(world.timeline(&threads, 10), "aabbbbaaaa");

    let (mut world, threads) = self::world(BVT, "0=2ms 2=1,6ms", 2);
    world.wake(threads[0]);
    assert_eq!(world.timeline(&threads, 4), "aaaa");
    world.wake(threads[1]);
    assert_eq!(world.timeline(&threads, 16), "bbbbbbbbaaaabbbb");
}

/// In random scripts each thread gets the CPU time that the policy `bvt` gives it, up to a few allowances: among
/// equals a different one may go first.
#[test]
fn bvt_shares_as_the_policy_of_this_name() {
    let object = compile(BVT);
    for seed in 0..50 {
        let mut random = Rand32::new(seed);
        let shares: Vec<u64> = (0..4).map(|_| u64::from(random.rand_range(1..5))).collect();
        let warps: Vec<u64> = (0..4).map(|_| u64::from(random.rand_range(0..3)) * 8).collect();
        let setting = |i: usize| format!("{}={},{}ms ", i + 1, shares[i], warps[i]);
        let mut world = World::new(Program::open(&object, &(0..4).map(setting).collect::<String>()), 1);
        let threads: Vec<CoreVp> = (1..5).map(|slot| world.thread(slot)).collect();
        let mut machine = Machine::new(1, None);
        let root = machine.root("bvt", &[5 * MS]);
        let thread =
            |machine: &mut Machine, i: usize| machine.thread(root, &[shares[i], warps[i] * MS, 0, 0]);
        let others: Vec<CoreVp> = (0..4).map(|i| thread(&mut machine, i)).collect();
        for _ in 0..200 {
            let one = random.rand_range(0..4) as usize;
            match random.rand_range(0..3) {
                0 => (world.wake(threads[one]), machine.wake(others[one])),
                1 => (world.block(threads[one]), machine.block(others[one])),
                _ => {
                    let end = machine.now + Nanos(u64::from(random.rand_range(0..9_000_000)));
                    (world.run_to(end), machine.run_to(end))
                }
            };
            for (one, other) in threads.iter().zip(&others) {
                let ran = |machine: &Machine, vp| machine.core.ran(vp, machine.now).0;
                let apart = ran(&world.machine, *one).abs_diff(ran(&machine, *other));
                assert!(apart <= 20 * MS, "seed {seed}, at {}: {apart} ns apart", machine.now);
            }
        }
    }
}

/// On two CPUs the two earliest deadlines run, whichever threads come and go.
#[test]
fn edf_runs_the_earliest_deadlines_on_two_cpus() {
    let object = compile(EDF);
    let mut world = World::with_cpus(2, Program::open(&object, "1=40ms 2=30ms 3=20ms 4=10ms"), 1);
    let threads: Vec<CoreVp> = (1..5).map(|slot| world.thread(slot)).collect();
    let mut seen = Vec::new();
    for thread in &threads {
        world.wake(*thread);
        seen.push(world.running(&threads));
    }
    for thread in threads.iter().rev() {
        world.block(*thread);
        seen.push(world.running(&threads));
    }
    assert_eq!(seen, ["a", "ab", "bc", "cd", "bc", "ab", "a", ""]);
}

/// No two threads are in a policy at once, an agent that cannot get the lock postpones its turn, and a thread that
/// was helped gets its own urgency back: `user_level/lock.c` tries that with real threads.
#[test]
fn the_lock_is_for_one_thread_at_a_time() {
    succeeds("lock");
}

#[test]
fn a_scheduler_may_have_colons_in_its_name() {
    succeeds("open");
}

/// Compiles the program `user_level/NAME.c`, and runs it.
fn succeeds(name: &str) {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    agent::cc(&["-pthread"], &format!("crates/hls-core/tests/user_level/{name}.c"), &program);
    let output = Command::new(program).output().expect("it was compiled above");
    assert!(output.status.success(), "{}: {}", output.status, String::from_utf8_lossy(&output.stdout));
}
