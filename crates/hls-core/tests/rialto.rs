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

/// A machine whose root has threads with these budgets and periods, in ms, asleep.
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

    /// Who runs in each of the next ms: `a`, `b`, ...
    fn each_ms(&mut self, count: u64) -> String {
        (0..count)
            .map(|_| {
                self.machine.run_to(self.machine.now + Nanos(1));
                let running = self.machine.running[0];
                self.machine.run_to(self.machine.now + Nanos(MS - 1));
                let who = self.threads.iter().position(|&thread| running == Some(thread));
                who.map_or('.', |who| char::from(b'a' + who as u8))
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

/// 3 ms in every 8 ms, wherever these begin, beside a hog, for as long as the thread wants the CPU.
#[test]
fn the_continuous_reservation_of_the_papers_figure() {
    let mut bench = bench(&[[3, 8], [1, 8]]);
    bench.wake_all();
    let who = bench.each_ms(80);
    assert_eq!(&who[..8], "aaabaaaa");
    for window in who.as_bytes().windows(8) {
        assert!(window.iter().filter(|who| **who == b'a').count() >= 3, "{who}");
        assert!(window.iter().filter(|who| **who == b'b').count() >= 1, "{who}");
    }
    // What nobody's slot needs is for both.
    assert!(who.matches('b').count() > 20, "{who}");
}

/// The six activities of the paper's scheduling graph, as they come there: each has one slot in each of its periods.
/// For the last but one all slots are placed anew.
///
/// From its source: the graph of six activities.
#[test]
fn the_table_of_the_paper() {
    let claims = [[4, 20], [3, 10], [2, 40], [1, 20], [1, 10], [5, 40]];
    let mut bench = bench(&claims);
    bench.wake_all();
    let who = bench.each_ms(200);
    let slots = "bbbeaaaad.bbbecc....bbbeaaaad.bbbefffff.";
    assert!(slots.chars().cycle().zip(who.chars()).all(|(slot, who)| slot == '.' || slot == who), "{who}");
    for ([amount, period], letter) in claims.into_iter().zip('a'..) {
        for window in who.as_bytes().windows(period as usize) {
            let had = window.iter().filter(|who| char::from(**who) == letter).count();
            assert!(had >= amount as usize, "{letter}: {who}");
        }
    }
}

/// A slot stays where it is while its owner sleeps, and goes to others meanwhile; who wakes up in it has the rest.
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

/// Free time goes round in turns, which slots interrupt; a slot costs its owner no turn.
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

/// A slot must differ from each other one modulo the gcd of the periods.
#[test]
fn who_has_no_slot_is_refused() {
    let mut bench = bench(&[[2, 10]]);
    assert_eq!(bench.add([4, 15]), Err(CoreError::Children));
    bench.add([3, 15]).unwrap();
    assert_eq!(bench.add([11, 10]), Err(CoreError::Param));
    bench.wake_all();
    let who = bench.each_ms(60);
    assert_eq!(&who[..5], "aabbb");
    for (at, letter, amount, period) in [(0, b'a', 2, 10), (2, b'b', 3, 15)] {
        for begin in (at..60).step_by(period) {
            assert!(who.as_bytes()[begin..begin + amount].iter().all(|who| *who == letter), "{who}");
        }
    }
}

/// A full table whose last child comes too early: all slots are placed anew if nobody wants the CPU, short periods
/// first. While somebody does, nobody's slot moves.
#[test]
fn slots_move_only_while_nobody_wants_them() {
    // As they come, the third one has no slot: the first two leave one ms of each 4.
    let claims = [[1, 8], [2, 8], [2, 4]];
    let mut idle = bench(&claims[..2]);
    assert_eq!(idle.add(claims[2]), Ok(()));
    idle.wake_all();
    let who = idle.each_ms(16);
    assert_eq!((&who[..7], &who[8..15]), ("ccbbcca", "ccbbcca"));

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

/// Another budget while the thread runs: the slot stays where it was if it can; a refusal leaves all as it was.
#[test]
fn a_budget_may_change_while_the_vp_runs() {
    let mut bench = bench(&[[2, 10], [3, 10]]);
    bench.wake_all();
    bench.to(11);
    let (first, second, now) = (bench.threads[0], bench.threads[1], bench.machine.now);
    assert_eq!(bench.machine.core.message(first, 0, 8 * MS, now), Err(CoreError::Children));
    bench.machine.core.message(second, 0, 4 * MS, now).unwrap();
    bench.machine.core.message(first, 0, MS, now).unwrap();
    bench.machine.settled();
    bench.to(20);
    for _ in 0..5 {
        let who = bench.each_ms(10);
        assert_eq!((&who[..1], &who[2..6]), ("a", "bbbb"));
    }
}

/// A constraint in time that is nobody's: it has that before all turns, and its work is done by the deadline.
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

/// Of two constraints, the one with the earlier deadline first; a third one, for which nothing is left, is refused, and
/// the others are as they were.
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

/// A constraint may begin later; its time is reserved from the answer on.
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

/// Who needs more than its estimate gets that in turn, and `end` gives up what was not needed.
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

/// Whoever asks ends its turn, whatever the answer: who asks again and again has no more than others.
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

/// Who sleeps asks anew for what is left when it wakes up: if that does not fit any more, it has turns only, and what
/// was promised to others is kept.
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

/// A new slot takes time that an accepted constraint relies on: it has to wait.
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

/// Fields out of range, deadlines before the start, more constraints than there are places, and one in place of
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
    // In place of the one of before, whose time is free for it; a refusal leaves that.
    assert_eq!(bench.begin(3, 0, 94, 100), Err(CoreError::Busy));
    assert_eq!(bench.begin(3, 0, 93, 100), Ok(0));
    bench.machine.block(bench.threads[8]);
    let (vp, now) = (bench.threads[8], bench.machine.now);
    assert_eq!(bench.machine.core.tell(vp, 2, Params::default(), now), Err(CoreError::Unknown));
}

/// A timer that is late takes of the slot what it is late by, and no more: the next one is where it belongs.
#[test]
fn a_late_timer_moves_no_slot() {
    let mut bench = bench(&[[2, 10], [3, 10]]);
    bench.machine.wake(bench.threads[0]);
    bench.to(1);
    bench.machine.wake(bench.threads[1]);
    bench.to(10);
    // Time that others have of the CPU is none of the slot's, either.
    bench.machine.core.steal(0, Nanos(MS));
    bench.to(20);
    assert_eq!(bench.each_ms(5), "aabbb");
}

/// On two CPUs the owner of a slot has one of them, and the others their turns.
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
