//! What the policy `windows-2000` decides: schedules that were worked out by hand, a character a unit, which is a third
//! of a tick.

use crate::support::{ByHand, MS};
use hls_core::{Calls, CoreVp};
use hls_scenario::Machine;
use hls_units::Nanos;

const UNIT: u64 = 10 * MS;
const TICK: u64 = 3 * UNIT;
/// In units, as on workstations.
const QUANTUM: u64 = 6;
const STARVE_AFTER: u64 = 980 * MS;

/// A machine with threads below its root, all awake, with these base levels and boosts.
fn bench(threads: &[[u64; 2]]) -> (Machine, Vec<CoreVp>) {
    let mut machine = Machine::new(1, None);
    let root = machine.root("windows-2000", &[TICK, QUANTUM, STARVE_AFTER]);
    let threads = threads.iter().map(|params| machine.thread(root, params)).collect::<Vec<_>>();
    threads.iter().for_each(|&thread| machine.wake(thread));
    (machine, threads)
}

/// Which thread runs in each of the next units: `a`, `b`, `c`, or none.
fn units(machine: &mut Machine, threads: &[CoreVp], units: u64) -> String {
    let nth = |machine: &Machine| threads.iter().position(|&thread| machine.running[0] == Some(thread));
    (0..units)
        .map(|_| {
            let runs = nth(machine).map_or('.', |nth| ['a', 'b', 'c', 'd'][nth]);
            machine.run_to(machine.now + Nanos(UNIT));
            runs
        })
        .collect()
}

/// Blocks a thread for `length` units, and returns which threads ran meanwhile.
fn sleep(machine: &mut Machine, threads: &[CoreVp], thread: usize, length: u64) -> String {
    machine.block(threads[thread]);
    let runs = units(machine, threads, length);
    machine.wake(threads[thread]);
    runs
}

#[test]
fn a_level_has_turns() {
    let (mut machine, threads) = bench(&[[8, 0], [8, 0], [7, 0]]);
    assert_eq!(units(&mut machine, &threads, 36), "aaaaaabbbbbb".repeat(3));
}

/// The chapter's figure of boost and decay: the thread is raised at the end of its wait, loses a level with each
/// quantum, is preempted by a higher thread, and takes turns again at the base level.
///
/// From its source: the figure of boost and decay.
#[test]
fn a_boost_decays_by_a_level_each_quantum() {
    let (mut machine, threads) = bench(&[[8, 2], [8, 0], [10, 0]]);
    machine.block(threads[2]);
    assert_eq!(units(&mut machine, &threads, 1), "a");
    assert_eq!(sleep(&mut machine, &threads, 0, 2), "bb");
    // Level 10 for the remaining 4 units of 6: one was used, one the wait took.
    assert_eq!(units(&mut machine, &threads, 5), "aaaaa");
    // Level 9, and 5 units left, which a thread of level 10 interrupts.
    machine.wake(threads[2]);
    assert_eq!(units(&mut machine, &threads, 2), "cc");
    machine.block(threads[2]);
    // Then level 8, behind the other thread, which has 4 units left.
    assert_eq!(units(&mut machine, &threads, 21), "aaaaabbbbaaaaaabbbbbb");
}

/// No boost goes above 15; from 16 on there is no boost, and starving threads do not get in between.
#[test]
fn boosts_end_at_15() {
    let (mut machine, threads) = bench(&[[14, 8], [15, 0], [16, 8]]);
    assert_eq!(units(&mut machine, &threads, 300), "c".repeat(300));
    assert_eq!(sleep(&mut machine, &threads, 2, 1), "b");
    machine.block(threads[2]);
    assert_eq!(sleep(&mut machine, &threads, 1, 7), "aaaaaaa");
    // Raised to 15 and no further, the first thread has one turn beside the other.
    assert_eq!(sleep(&mut machine, &threads, 0, 1), "b");
    assert_eq!(units(&mut machine, &threads, 24), "bbbbbaaaaaabbbbbbbbbbbbb");
}

/// A thread that starves for 98 units gets two quanta at level 15, and is then at its base level again.
#[test]
fn nobody_starves_for_ever() {
    let (mut machine, threads) = bench(&[[9, 0], [3, 0]]);
    let round = format!("{}{}", "a".repeat(98), "b".repeat(12));
    assert_eq!(units(&mut machine, &threads, 330), round.repeat(3));
    // A wait in between takes a unit, and leaves the rest at level 15.
    assert_eq!(units(&mut machine, &threads, 100), format!("{}bb", "a".repeat(98)));
    assert_eq!(sleep(&mut machine, &threads, 1, 3), "aaa");
    assert_eq!(units(&mut machine, &threads, 10), "bbbbbbbbba");
}

/// A wait takes a unit of the quantum; if less is left, the wait ends the quantum. From level 14 on, the quantum is
/// whole after a wait.
#[test]
fn a_wait_takes_a_unit() {
    let (mut machine, threads) = bench(&[[8, 1], [8, 0]]);
    let mut runs = String::new();
    for _ in 0..3 {
        runs += &units(&mut machine, &threads, 1);
        runs += &sleep(&mut machine, &threads, 0, 1);
    }
    // Three units used and three taken: the boost is gone, and the other thread has 3 units left.
    assert_eq!(runs + &units(&mut machine, &threads, 12), "ababab".to_owned() + "bbbaaaaaabbb");
    let (mut machine, threads) = bench(&[[14, 1], [14, 0]]);
    for _ in 0..3 {
        assert_eq!(units(&mut machine, &threads, 1), "a");
        assert_eq!(sleep(&mut machine, &threads, 0, 1), "b");
    }
    assert_eq!(units(&mut machine, &threads, 7), "aaaaaab");
}

/// The part of a CPU that a thread with this boost gets beside a hog if it waits for a moment before the end of each
/// quantum.
fn share_of_a_cheat(boost: u64) -> f64 {
    let (mut machine, threads) = bench(&[[8, boost], [8, 0]]);
    let end = Nanos(100_000 * MS);
    while machine.now < end {
        let done = machine.core.ran(threads[0], machine.now) + Nanos(4 * UNIT);
        while machine.core.ran(threads[0], machine.now) < done && machine.now < end {
            let least = done - machine.core.ran(threads[0], machine.now);
            machine.run_to(machine.now + least);
        }
        machine.block(threads[0]);
        machine.run_to(machine.now + Nanos(MS / 1000));
        machine.wake(threads[0]);
    }
    machine.core.ran(threads[0], machine.now).0 as f64 / machine.now.0 as f64
}

/// As published: with a boost of two, short waits win the whole CPU. The other thread gets only the moments of the
/// waits, and does not starve by the rule, because it runs in them.
#[test]
fn short_waits_win_by_a_boost_of_two() {
    for (boost, least, most) in [(0, 0.25, 0.5), (1, 0.4, 0.5), (2, 0.999, 1.0), (6, 0.999, 1.0)] {
        let share = share_of_a_cheat(boost);
        assert!((least..most).contains(&share), "a boost of {boost}: {share}");
    }
}

/// The kernel takes a thread out of its queue and puts it back, or a parameter changes: this is not the end of a
/// wait.
#[test]
fn a_thread_that_did_not_wait_is_not_raised() {
    let (mut machine, threads) = bench(&[[8, 8], [8, 8]]);
    assert_eq!(units(&mut machine, &threads, 1), "a");
    machine.block(threads[1]);
    machine.wake(threads[1]);
    assert_eq!(machine.running[0], Some(threads[0]));
    for thread in [1, 0] {
        machine.core.set_param(threads[thread], 1, 7, machine.now).unwrap();
        machine.settled();
        assert_eq!(machine.running[0], Some(threads[0]));
    }
    assert_eq!(units(&mut machine, &threads, 11), "aaaaabbbbbb");
}

/// When its base level changes, a thread that runs goes on at the new level, with the rest of its quantum.
#[test]
fn a_base_level_changes() {
    let (mut machine, threads) = bench(&[[8, 0], [8, 0]]);
    assert_eq!(units(&mut machine, &threads, 2), "aa");
    let set = |machine: &mut Machine, param, value| {
        let answer = machine.core.set_param(threads[0], param, value, machine.now);
        machine.settled();
        answer.is_ok()
    };
    assert!(set(&mut machine, 0, 7));
    assert_eq!(units(&mut machine, &threads, 1), "b");
    assert!(set(&mut machine, 0, 8));
    machine.block(threads[1]);
    assert_eq!(units(&mut machine, &threads, 3), "aaa");
    machine.wake(threads[1]);
    assert_eq!(units(&mut machine, &threads, 5), "abbbb");
    assert!(!set(&mut machine, 0, 0) && !set(&mut machine, 0, 32) && !set(&mut machine, 1, 16));
}
