//! What the policy `rialto` decides: slots that stay where they are (the continuous reservation of figure 2 of the HLS
//! paper, 3 ms of 8), and time constraints that are answered before they begin (Jones, Rosu and Rosu, SOSP 1997).

use crate::support::{ByHand, MS};
use hls_core::{Calls, CoreError, CoreScheduler, CoreVp, Params};
use hls_scenario::Machine;
use hls_units::Nanos;

const BEGIN: u32 = 0;
const END: u32 = 1;

struct Bench {
    machine: Machine,
    root: CoreScheduler,
    threads: Vec<CoreVp>,
}

/// A machine with threads below its root, all asleep, with these budgets and periods, in ms.
fn bench(claims: &[[u64; 2]]) -> Bench {
    let mut machine = Machine::new(1, None);
    let root = machine.root("rialto", &[10 * MS]);
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

    fn to(&mut self, ms: u64) {
        self.machine.run_to(Nanos(ms * MS));
    }

    /// Which thread runs in each of the next ms: `a`, `b`, ...
    fn each_ms(&mut self, count: u64) -> String {
        (0..count)
            .map(|_| {
                self.machine.run_to(self.machine.now + Nanos(1));
                let running = self.machine.running[0];
                self.machine.run_to(self.machine.now + Nanos(MS - 1));
                let nth = self.threads.iter().position(|&thread| running == Some(thread));
                nth.map_or('.', |nth| char::from(b'a' + nth as u8))
            })
            .collect()
    }

    /// Begins a constraint: from `start` on `estimate` by `deadline`, all in ms from now on.
    fn begin(&mut self, thread: usize, start: u64, estimate: u64, deadline: u64) -> Result<u32, CoreError> {
        let payload = Params::from_slice(&[start * MS, estimate * MS, deadline * MS]);
        let answer = self.machine.core.tell(self.threads[thread], BEGIN, payload, self.machine.now);
        self.machine.settled();
        answer
    }

    fn end(&mut self, thread: usize) {
        let now = self.machine.now;
        self.machine.core.tell(self.threads[thread], END, Params::default(), now).unwrap();
        self.machine.settled();
    }

    fn ran(&self, thread: usize) -> f64 {
        self.machine.ran_ms(self.threads[thread])
    }
}

/// 3 ms in any 8 ms, beside a hog, as long as the thread is runnable.
#[test]
fn the_continuous_reservation_of_the_papers_figure() {
    let mut bench = bench(&[[3, 8], [1, 8]]);
    bench.wake_all();
    let ran = bench.each_ms(80);
    assert_eq!(&ran[..8], "aaabaaaa");
    for window in ran.as_bytes().windows(8) {
        assert!(window.iter().filter(|one| **one == b'a').count() >= 3, "{ran}");
        assert!(window.iter().filter(|one| **one == b'b').count() >= 1, "{ran}");
    }
    // Time outside the slots is for both.
    assert!(ran.matches('b').count() > 20, "{ran}");
}

/// The six activities of the paper's scheduling graph, in its order: each has one slot in each of its periods. For
/// the last but one all slots are placed anew.
///
/// From its source: the graph of six activities.
#[test]
fn the_table_of_the_paper() {
    let claims = [[4, 20], [3, 10], [2, 40], [1, 20], [1, 10], [5, 40]];
    let mut bench = bench(&claims);
    bench.wake_all();
    let ran = bench.each_ms(200);
    let slots = "bbbeaaaad.bbbecc....bbbeaaaad.bbbefffff.";
    assert!(slots.chars().cycle().zip(ran.chars()).all(|(slot, one)| slot == '.' || slot == one), "{ran}");
    for ([amount, period], letter) in claims.into_iter().zip('a'..) {
        for window in ran.as_bytes().windows(period as usize) {
            let had = window.iter().filter(|one| char::from(**one) == letter).count();
            assert!(had >= amount as usize, "{letter}: {ran}");
        }
    }
}

/// A slot stays where it is while its owner sleeps, and other threads use it meanwhile; an owner that wakes up in it
/// gets the rest.
#[test]
fn slots_do_not_move() {
    let mut bench = bench(&[[2, 10], [3, 10]]);
    bench.wake_all();
    assert_eq!(bench.each_ms(5), "aabbb");
    bench.machine.block(bench.threads[1]);
    bench.to(10);
    assert_eq!(bench.each_ms(3), "aaa");
    bench.machine.wake(bench.threads[1]);
    assert_eq!(bench.each_ms(2), "bb");
    bench.machine.block(bench.threads[0]);
    bench.to(20);
    assert_eq!(bench.each_ms(10), "bbbbbbbbbb");
}

/// Threads take turns in the free time; slots interrupt turns, and a slot costs its owner no turn.
#[test]
fn free_time_goes_round() {
    let mut bench = bench(&[[10, 100], [10, 100], [10, 100]]);
    bench.wake_all();
    assert_eq!(bench.each_ms(100).len(), 100);
    bench.to(3_000);
    for thread in 0..3 {
        assert!((990.0..=1_010.0).contains(&bench.ran(thread)), "{}", bench.ran(thread));
    }
}

/// Two slots must not overlap modulo the gcd of their periods.
#[test]
fn a_child_without_a_slot_is_refused() {
    let mut bench = bench(&[[2, 10]]);
    assert_eq!(bench.add([4, 15]), Err(CoreError::Children));
    bench.add([3, 15]).unwrap();
    assert_eq!(bench.add([11, 10]), Err(CoreError::Param));
    bench.wake_all();
    let ran = bench.each_ms(60);
    assert_eq!(&ran[..5], "aabbb");
    for (at, letter, amount, period) in [(0, b'a', 2, 10), (2, b'b', 3, 15)] {
        for begin in (at..60).step_by(period) {
            assert!(ran.as_bytes()[begin..begin + amount].iter().all(|one| *one == letter), "{ran}");
        }
    }
}

/// A full table, in which the last child would not fit in order of arrival: all slots are placed anew, short periods
/// first, if no child is runnable. While one is, no slot moves.
#[test]
fn slots_move_only_while_nobody_wants_them() {
    // In order of arrival there is no slot for the third: the first two leave one ms of each 4.
    let claims = [[1, 8], [2, 8], [2, 4]];
    let mut idle = bench(&claims[..2]);
    assert_eq!(idle.add(claims[2]), Ok(()));
    idle.wake_all();
    let ran = idle.each_ms(16);
    assert_eq!((&ran[..7], &ran[8..15]), ("ccbbcca", "ccbbcca"));

    let mut busy = bench(&claims[..2]);
    busy.wake_all();
    busy.to(1);
    assert_eq!(busy.add(claims[2]), Err(CoreError::Children));
    assert_eq!(busy.each_ms(2), "bb");
    busy.machine.block(busy.threads[0]);
    assert_eq!(busy.add(claims[2]), Err(CoreError::Children));
    busy.machine.block(busy.threads[1]);
    assert_eq!(busy.add(claims[2]), Ok(()));
}

/// A new budget while the thread runs: the slot stays where it was if possible; a refusal changes nothing.
#[test]
fn a_budget_may_change_while_the_vp_runs() {
    let mut bench = bench(&[[2, 10], [3, 10]]);
    bench.wake_all();
    bench.to(11);
    let (first, second, now) = (bench.threads[0], bench.threads[1], bench.machine.now);
    assert_eq!(bench.machine.core.set_param(first, 0, 8 * MS, now), Err(CoreError::Children));
    bench.machine.core.set_param(second, 0, 4 * MS, now).unwrap();
    bench.machine.core.set_param(first, 0, MS, now).unwrap();
    bench.machine.settled();
    bench.to(20);
    for _ in 0..5 {
        let ran = bench.each_ms(10);
        assert_eq!((&ran[..1], &ran[2..6]), ("a", "bbbb"));
    }
}

/// A constraint in free time: it comes before all turns, and its work is done by the deadline.
#[test]
fn a_constraint_has_free_time_before_turns() {
    let mut bench = bench(&[[2, 10], [1, 10]]);
    bench.wake_all();
    bench.to(3);
    // From 5 to 10 all is free, and 10 to 15 without the slots of 3 ms are 2 more: 7.
    assert_eq!(bench.begin(1, 2, 9, 12), Err(CoreError::Busy));
    // One ms of these 8 is in its own slot.
    assert_eq!(bench.begin(1, 2, 8, 12), Ok(0));
    bench.to(5);
    let before = bench.ran(1);
    assert_eq!(bench.each_ms(10), "bbbbbaabbb");
    assert_eq!(bench.ran(1) - before, 8.0);
}

/// The constraint with the earlier deadline comes first; a third one, for which no time is left, is refused, and the
/// other two are not affected.
#[test]
fn constraints_are_kept_by_deadline() {
    let mut bench = bench(&[[2, 10], [1, 10], [1, 10]]);
    bench.wake_all();
    bench.to(4);
    assert_eq!(bench.begin(1, 0, 5, 16), Ok(0));
    assert_eq!(bench.begin(2, 0, 3, 7), Ok(0));
    // Of the 8 ms up to 12, 2 are its own slot, and 3 are promised.
    assert_eq!(bench.begin(0, 0, 6, 8), Err(CoreError::Busy));
    assert_eq!(&bench.each_ms(12)[..11], "cccbbbaabcb");
}

/// A constraint may begin later; its time is reserved as soon as it is accepted.
#[test]
fn a_constraint_in_the_future_is_reserved() {
    let mut bench = bench(&[[1, 10], [1, 10]]);
    bench.wake_all();
    bench.to(2);
    assert_eq!(bench.begin(0, 50, 6, 58), Ok(0));
    assert_eq!(bench.begin(1, 51, 3, 56), Err(CoreError::Busy));
    assert_eq!(bench.begin(1, 51, 2, 58), Ok(0));
    bench.to(52);
    assert_eq!(bench.each_ms(8), "aaaaaabb");
}

/// A thread that needs more than its estimate gets the rest in turns, and `end` gives up unused time.
#[test]
fn an_estimate_is_no_more_than_it_says() {
    let mut bench = bench(&[[1, 100], [1, 100]]);
    bench.wake_all();
    bench.to(5);
    assert_eq!(bench.begin(0, 0, 30, 60), Ok(0));
    let before = [bench.ran(0), bench.ran(1)];
    bench.to(35);
    assert_eq!([bench.ran(0) - before[0], bench.ran(1) - before[1]], [30.0, 0.0]);
    bench.to(75);
    assert_eq!([bench.ran(0) - before[0], bench.ran(1) - before[1]], [50.0, 20.0]);
    assert_eq!(bench.begin(0, 0, 20, 24), Ok(0));
    assert_eq!(bench.begin(1, 0, 10, 24), Err(CoreError::Busy));
    bench.end(0);
    assert_eq!(bench.begin(1, 0, 10, 24), Ok(0));
    assert_eq!(bench.each_ms(10), "bbbbbbbbbb");
}

/// A request ends the thread's turn, whatever the answer: a thread that asks repeatedly gets no more than others.
#[test]
fn asking_gains_no_turn() {
    for asks in [true, false] {
        let mut bench = bench(&[[1, 1_000], [1, 1_000]]);
        bench.wake_all();
        for ms in 1..2_000 {
            bench.to(ms);
            if bench.machine.running[0] == Some(bench.threads[0]) {
                let answer =
                    if asks { bench.begin(0, 0, 100, 10) } else { bench.begin(0, 900_000, 1, 1_000_000) };
                assert_eq!(answer, if asks { Err(CoreError::Busy) } else { Ok(0) });
            }
        }
        assert!(bench.ran(0) <= 1_010.0, "{}", bench.ran(0));
    }
}

/// A thread that has slept asks anew for the rest of its constraint when it wakes up: if that no longer fits, it gets
/// only turns, and promises to others are kept.
#[test]
fn sleep_harms_no_other_constraint() {
    for (sleep, is_kept) in [(2, true), (7, false)] {
        let mut bench = bench(&[[1, 100], [1, 100]]);
        bench.wake_all();
        bench.to(10);
        assert_eq!(bench.begin(0, 0, 5, 20), Ok(0));
        assert_eq!(bench.begin(1, 10, 10, 21), Ok(0));
        bench.machine.block(bench.threads[0]);
        bench.to(10 + sleep);
        bench.machine.wake(bench.threads[0]);
        let before = bench.ran(0);
        bench.to(20);
        assert_eq!(bench.ran(0) - before >= 5.0, is_kept, "{sleep}");
        let before = bench.ran(1);
        bench.to(31);
        assert!(bench.ran(1) - before >= 10.0, "{sleep}: {}", bench.ran(1) - before);
    }
}

/// A new slot that would take time from an accepted constraint has to wait.
#[test]
fn a_new_slot_does_not_break_a_constraint() {
    let mut bench = bench(&[[2, 10], [1, 10]]);
    bench.wake_all();
    bench.to(3);
    assert_eq!(bench.begin(1, 2, 8, 12), Ok(0));
    assert_eq!(bench.add([1, 10]), Err(CoreError::Busy));
    bench.end(1);
    assert_eq!(bench.add([1, 10]), Ok(()));
}

/// Fields out of range, deadlines before the start, more constraints than places, and a constraint that replaces
/// another.
#[test]
fn constraints_that_make_no_sense_are_refused() {
    let mut bench = bench(&[[1, 1_000]; 10]);
    bench.wake_all();
    bench.to(11);
    assert_eq!(bench.begin(0, 5, 1, 5), Err(CoreError::Param));
    assert_eq!(bench.begin(0, 0, 0, 5), Err(CoreError::Param));
    assert_eq!(bench.begin(0, 0, 6, 5), Err(CoreError::Busy));
    for thread in 0..8 {
        assert_eq!(bench.begin(thread, 0, 1, 100), Ok(0));
    }
    assert_eq!(bench.begin(8, 0, 1, 100), Err(CoreError::Busy));
    // It replaces the earlier constraint and may use that one's time; a refusal leaves the earlier one as it was.
    assert_eq!(bench.begin(3, 0, 94, 100), Err(CoreError::Busy));
    assert_eq!(bench.begin(3, 0, 93, 100), Ok(0));
    bench.machine.block(bench.threads[8]);
    let (vp, now) = (bench.threads[8], bench.machine.now);
    assert_eq!(bench.machine.core.tell(vp, 2, Params::default(), now), Err(CoreError::Unknown));
}

/// A late timer shortens the slot by its lateness, and no more: the next slot is where it belongs.
#[test]
fn a_late_timer_moves_no_slot() {
    let mut bench = bench(&[[2, 10], [3, 10]]);
    bench.machine.wake(bench.threads[0]);
    bench.to(1);
    bench.machine.wake(bench.threads[1]);
    bench.to(10);
    // Stolen time does not move a slot, either.
    bench.machine.core.steal(0, Nanos(MS), bench.machine.now);
    bench.to(20);
    assert_eq!(bench.each_ms(5), "aabbb");
}

/// On two CPUs the owner of a slot has one CPU, and the others take turns.
#[test]
fn on_two_cpus_the_slot_is_one_cpu() {
    let mut machine = Machine::new(2, None);
    let root = machine.root("rialto", &[10 * MS]);
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
