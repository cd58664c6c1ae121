//! What the policy `rialto-nt` decides: a table that is filled from the shortest period on, with amounts that may be
//! split (Jones and Regehr, USENIX Windows NT Symposium 1999).

use crate::support::{ByHand, MS, timeline};
use hls_core::{Calls, CoreError, CoreScheduler, CoreVp, Params};
use hls_scenario::Machine;
use hls_units::Nanos;

struct Bench {
    machine: Machine,
    root: CoreScheduler,
    threads: Vec<CoreVp>,
}

/// A machine with threads below its root, all asleep, with these budgets and periods, in ms.
fn bench(claims: &[[u64; 2]]) -> Bench {
    let mut machine = Machine::new(1, None);
    let root = machine.root("rialto-nt", &[10 * MS]);
    let mut bench = Bench { machine, root, threads: Vec::new() };
    claims.iter().for_each(|&claim| bench.add(claim).unwrap());
    bench
}

impl Bench {
    fn add(&mut self, [budget, period]: [u64; 2]) -> Result<(), CoreError> {
        let params = Params::from_slice(&[budget * MS, period * MS]);
        let thread = self.machine.core.attach(self.root, None, params)?;
        self.threads.push(thread);
        Ok(())
    }

    fn wake_all(&mut self) {
        self.threads.clone().into_iter().for_each(|thread| self.machine.wake(thread));
    }

    fn each_ms(&mut self, count: u64) -> String {
        // The running thread is read after the change of slots at each ms.
        self.machine.run_to(self.machine.now + Nanos(1));
        let ran = timeline(&mut self.machine, &self.threads, count - 1);
        let last = self.threads.iter().position(|&thread| self.machine.running[0] == Some(thread));
        self.machine.run_to(self.machine.now + Nanos(MS - 1));
        ran + &last.map_or(".".to_owned(), |nth| char::from(b'a' + nth as u8).to_string())
    }
}

/// A full table: 2 of 4, 2 of 8 in the rest, and 4 of 16 in two pieces. Each child has its amount in every window of
/// the length of its period.
#[test]
fn amounts_are_split_over_what_is_free() {
    let mut bench = bench(&[[4, 16], [2, 4], [2, 8]]);
    bench.wake_all();
    let ran = bench.each_ms(64);
    assert_eq!(&ran[..16], "bbccbbaabbccbbaa");
    for (letter, amount, period) in [(b'a', 4, 16), (b'b', 2, 4), (b'c', 2, 8)] {
        for window in ran.as_bytes().windows(period) {
            assert!(window.iter().filter(|one| **one == letter).count() >= amount, "{ran}");
        }
    }
}

/// A slot that begins just when another VP comes still goes to its owner.
#[test]
fn a_vp_that_comes_when_a_slot_begins_does_not_take_it() {
    let mut bench = bench(&[[1, 4], [1, 8], [1, 8]]);
    bench.machine.wake(bench.threads[1]);
    bench.machine.run_to(Nanos(7 * MS));
    bench.machine.wake(bench.threads[0]);
    assert_eq!(bench.machine.running[0], Some(bench.threads[1]));
    bench.machine.run_to(Nanos(8 * MS - 1));
    // Before the timer is called.
    bench.machine.now = Nanos(8 * MS);
    bench.machine.wake(bench.threads[2]);
    assert_eq!(bench.each_ms(2), "ab");
}

/// Other threads use the slots of a sleeper; the slots stay where they are.
#[test]
fn slots_do_not_move() {
    let mut bench = bench(&[[1, 4], [3, 8]]);
    bench.wake_all();
    assert_eq!(bench.each_ms(5), "abbba");
    bench.machine.block(bench.threads[0]);
    bench.machine.run_to(Nanos(16 * MS));
    bench.machine.wake(bench.threads[0]);
    let ran = bench.each_ms(24);
    for window in ran.as_bytes().windows(8) {
        assert!(window.iter().filter(|one| **one == b'b').count() >= 3, "{ran}");
    }
    assert_eq!((&ran[..4], &ran[8..12]), ("abbb", "abbb"));
}

/// Periods that do not divide each other, and a utilisation above 1, are refused; exactly 1 is not, in any order.
#[test]
fn harmonic_periods_up_to_the_whole_cpu() {
    let mut bench = bench(&[[1, 10]]);
    assert_eq!(bench.add([1, 15]), Err(CoreError::Children));
    assert_eq!(bench.add([1, 4]), Err(CoreError::Children));
    assert_eq!(bench.add([6, 5]), Err(CoreError::Param));
    assert_eq!(bench.add([4, 5]), Ok(()));
    assert_eq!(bench.add([3, 20]), Err(CoreError::Children));
    assert_eq!(bench.add([2, 20]), Ok(()));
    assert_eq!(bench.add([1, 1_000_000]), Err(CoreError::Children));
}

/// A new child moves the slots of longer periods, which still have their amounts in each of their periods.
#[test]
fn a_new_child_moves_slots_to_later_places() {
    for arrival in [0, 1, 2, 4, 7] {
        let mut bench = bench(&[[3, 10]]);
        let shorter = [2, 5];
        bench.wake_all();
        let mut ran = if arrival == 0 { String::new() } else { bench.each_ms(arrival) };
        assert_eq!(bench.add(shorter), Ok(()));
        bench.machine.wake(bench.threads[1]);
        ran += &bench.each_ms(40 - arrival);
        for period in ran.as_bytes().chunks(10) {
            assert!(period.iter().filter(|one| **one == b'a').count() >= 3, "{arrival}: {ran}");
        }
        assert_eq!(&ran[10..20], "bbaaabbaba".replace("aba", &ran[17..20]), "{arrival}");
        for window in ran.as_bytes()[arrival as usize..].windows(5) {
            assert!(window.iter().filter(|one| **one == b'b').count() >= 2, "{arrival}: {ran}");
        }
    }
}

/// The slots of a child that leaves stay until all periods end, also the periods of children that came meanwhile;
/// afterwards no slot is later than before, and no window has less.
#[test]
fn the_slots_of_a_child_that_leaves_stay_for_a_while() {
    for (period, from) in [(10, 20), (40, 40)] {
        let mut bench = bench(&[[2, 5], [3, 10]]);
        bench.wake_all();
        bench.machine.run_to(Nanos(10 * MS));
        assert_eq!(&bench.each_ms(2), "aa");
        bench.machine.core.detach(bench.threads[0], bench.machine.now).unwrap();
        bench.machine.settled();
        bench.threads[0] = bench.machine.thread(bench.root, &[2 * MS, period * MS]);
        bench.machine.wake(bench.threads[0]);
        let ran = "..".to_owned() + &bench.each_ms(58);
        // In the old table `b` has 2 to 5 of each ten, in the new one 0 to 3.
        for (at, begin) in (0..60).step_by(10).zip((10..70).step_by(10)).take(5) {
            let slot = at + if begin < from { 2 } else { 0 };
            assert_eq!(&ran[slot..slot + 3], "bbb", "{begin}: {ran}");
        }
        for window in ran.as_bytes()[2..].windows(10) {
            assert!(window.iter().filter(|one| **one == b'b').count() >= 3, "{ran}");
        }
    }
}

/// New parameters while a thread runs: accepted if there is room beside the old slots; a refusal changes nothing.
#[test]
fn parameters_may_change_while_the_vp_runs() {
    let mut bench = bench(&[[1, 5], [3, 10]]);
    bench.wake_all();
    bench.machine.run_to(Nanos(11 * MS));
    let (first, second, now) = (bench.threads[0], bench.threads[1], bench.machine.now);
    assert_eq!(bench.machine.core.set_param(second, 0, 9 * MS, now), Err(CoreError::Children));
    assert_eq!(bench.machine.core.set_param(first, 0, 4 * MS, now), Err(CoreError::Children));
    bench.machine.core.set_param(second, 0, 4 * MS, now).unwrap();
    bench.machine.settled();
    bench.machine.run_to(Nanos(20 * MS));
    let ran = bench.each_ms(10);
    assert_eq!((&ran[..4], &ran[5..7]), ("abbb", "ab"), "{ran}");
}

/// Stolen time is lost for the slot in which it falls, and moves no slot.
#[test]
fn late_time_moves_no_slot() {
    let mut bench = bench(&[[2, 10], [3, 10]]);
    bench.wake_all();
    bench.machine.run_to(Nanos(10 * MS));
    bench.machine.core.steal(0, Nanos(MS), bench.machine.now);
    bench.machine.run_to(Nanos(20 * MS));
    assert_eq!(bench.each_ms(5), "aabbb");
}

/// On two CPUs the owner of a slot has one CPU.
#[test]
fn on_two_cpus_the_slot_is_one_cpu() {
    let mut machine = Machine::new(2, None);
    let root = machine.root("rialto-nt", &[10 * MS]);
    let threads: Vec<CoreVp> = (0..3).map(|_| machine.thread(root, &[3 * MS, 10 * MS])).collect();
    threads.iter().for_each(|&thread| machine.wake(thread));
    for period in 0..10 {
        for (n, &thread) in threads.iter().enumerate() {
            machine.run_to(Nanos((10 * period + 3 * n as u64) * MS + 1));
            let before = machine.ran_ms(thread);
            machine.run_to(machine.now + Nanos(3 * MS - 2));
            assert!(machine.ran_ms(thread) - before > 2.999, "{period} {n}");
        }
    }
}
