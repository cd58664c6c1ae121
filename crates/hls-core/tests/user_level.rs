//! What the policy `user-level` decides: schedules that were worked out by hand, a character a millisecond. The tests
//! act as the process: they write words into its page, and let its agent yield.

use crate::support::{ByHand, MS, timeline};
use hls_core::pages::{Decided, HELD, KernelPage, Knows, MOST_URGENT, PageEvent, UserWord, decision, slice};
use hls_core::{Calls, CoreError, CoreScheduler, CoreVp, Params};
use hls_scenario::Machine;
use hls_units::Nanos;

/// The value of the parameter `slot` of a child that may have any slot.
const ANY: u64 = 64;

/// A machine with a user-level scheduler as its root. In timelines `a` is the agent and `b`, `c`, ... are the children,
/// in slots 1, 2, ...
struct Bench {
    machine: Machine,
    scheduler: CoreScheduler,
    threads: Vec<CoreVp>,
}

impl Bench {
    /// Children of these urgencies, all awake; the agent sleeps, and has 2 ms in every 10.
    fn new(cpus: u16, sealed: bool, urgencies: &[u64]) -> Bench {
        let mut machine = Machine::new(cpus, None);
        let scheduler = machine.root("user-level", &[2 * MS, 10 * MS, sealed.into()]);
        let agent = machine.thread(scheduler, &[0, 0, 100]);
        let child = |(at, urgency): (u64, &u64)| machine.thread(scheduler, &[*urgency, ANY, 101 + at]);
        let children = (0..).zip(urgencies).map(child).collect::<Vec<_>>();
        let threads = [vec![agent], children].concat();
        let mut bench = Bench { machine, scheduler, threads };
        bench.threads[1..].iter().for_each(|&thread| bench.machine.wake(thread));
        bench
    }

    /// The same, with a parked agent that has handled all events up to now.
    fn with_agent(cpus: u16, sealed: bool, urgencies: &[u64]) -> Bench {
        let mut bench = Bench::new(cpus, sealed, urgencies);
        bench.machine.wake(bench.threads[0]);
        bench.answer();
        bench.park();
        bench
    }

    fn page(&self) -> KernelPage {
        *self.machine.core.kernel_page(self.scheduler).unwrap()
    }

    fn write(&mut self, word: UserWord, value: u64) {
        self.machine.core.write_page(self.scheduler, word, value).unwrap();
    }

    /// The agent has handled all events.
    fn answer(&mut self) {
        let events = self.page().events;
        self.write(UserWord::Answered, events);
    }

    /// The agent, which has a CPU, yields.
    fn park(&mut self) {
        self.yields(0);
    }

    fn yields(&mut self, thread: usize) {
        assert!(self.machine.running.contains(&Some(self.threads[thread])), "it runs");
        self.machine.core.yield_now(self.threads[thread], self.machine.now);
        self.machine.settled();
        self.machine.core.timers(self.machine.now);
        self.machine.settled();
    }

    /// Asks the agent about events of this kind, of all children.
    fn ask(&mut self, kind: PageEvent) {
        self.write(UserWord::Ask(kind), u64::MAX);
    }

    /// Makes a decision for a CPU that takes all events into account.
    fn decide(&mut self, cpu: usize, knows: Knows, slot: usize) {
        let events = self.page().events;
        self.write(UserWord::Next(cpu), decision(events, knows, slot));
    }

    fn wake(&mut self, thread: usize) {
        self.machine.wake(self.threads[thread]);
    }

    fn block(&mut self, thread: usize) {
        self.machine.block(self.threads[thread]);
    }

    fn pass(&mut self, ms: u64) {
        self.machine.run_to(self.machine.now + Nanos(ms * MS));
    }

    fn timeline(&mut self, ms: u64) -> String {
        timeline(&mut self.machine, &self.threads, ms)
    }

    /// Which thread runs on each CPU.
    fn running(&self) -> String {
        let nth = |vp: &Option<CoreVp>| self.threads.iter().position(|thread| Some(*thread) == *vp);
        let letter = |nth: Option<usize>| nth.map_or('.', |nth| char::from(b'a' + nth as u8));
        self.machine.running.iter().map(|vp| letter(nth(vp))).collect()
    }

    /// The kinds and the slots of all events.
    fn events(&self) -> Vec<(PageEvent, usize)> {
        let page = self.page();
        (1..=page.events).map(|number| page.event(number).unwrap()).collect()
    }

    fn decided(&self) -> [u64; 4] {
        let Decided { followed, stale, by_urgency, by_agent, .. } =
            self.machine.core.decided(self.scheduler).unwrap();
        [followed, stale, by_urgency, by_agent]
    }
}

#[test]
fn the_greatest_urgency_goes_first() {
    let mut bench = Bench::new(1, false, &[1, 5, 5]);
    assert_eq!(bench.timeline(3), "ccc", "of equals the first that came");
    bench.yields(2);
    assert_eq!(bench.timeline(3), "ddd");
    bench.block(3);
    bench.block(2);
    assert_eq!(bench.timeline(2), "bb");
    bench.wake(3);
    assert_eq!(bench.timeline(2), "dd", "a more urgent one preempts");
    bench.wake(2);
    assert_eq!(bench.timeline(2), "dd", "an equal one does not");
    bench.block(2);
    bench.block(3);
    assert_eq!(bench.timeline(1), "b");
}

/// The process reads which event happened to which child.
#[test]
fn events_are_written_into_the_page() {
    use PageEvent::{Block, New, Wakeup, Yield};
    let mut bench = Bench::new(1, false, &[1, 2]);
    let came = [(New, 1), (New, 2), (Wakeup, 1), (Wakeup, 2)];
    assert_eq!(bench.events(), came);
    bench.pass(3);
    bench.yields(2);
    bench.block(2);
    assert_eq!(bench.events(), [&came[..], &[(Yield, 2), (Block, 2)]].concat());
    let page = bench.page();
    assert_eq!((page.version, page.at_ns, page.wanting, page.asked), (1, 3 * MS, 0b10, 0));
    assert_eq!([0, 1, 2].map(|slot| page.slot[slot].child), [100, 101, 102]);
    assert_eq!([1, 2].map(|slot| page.slot[slot].ran_ns), [0, 3 * MS]);
    assert_eq!([0, 1, 2].map(|slot| page.slot[slot].event), [0, 3, 6]);
    for _ in 0..40 {
        bench.wake(2);
        bench.block(2);
    }
    let page = bench.page();
    assert_eq!(page.events, 86);
    assert_eq!((page.event(22), page.event(23), page.event(87)), (None, Some((Wakeup, 2)), None));
}

#[test]
fn the_process_may_state_other_urgencies() {
    let mut bench = Bench::with_agent(1, false, &[1, 5, 9]);
    bench.write(UserWord::Urgency(1), 7);
    bench.write(UserWord::Urgency(3), MOST_URGENT + 7);
    assert_eq!(bench.timeline(1), "d");
    bench.block(3);
    assert_eq!(bench.timeline(1), "c", "the new urgency of b has not been read yet");
    bench.write(UserWord::Touched, 1 << 1);
    bench.wake(3);
    bench.block(3);
    assert_eq!(bench.timeline(1), "b");
    bench.write(UserWord::Urgency(1), 0);
    bench.block(1);
    bench.wake(1);
    assert_eq!(bench.timeline(1), "c", "the page has no urgency of b any more");
}

#[test]
fn a_held_child_gets_no_cpu() {
    let mut bench = Bench::with_agent(1, false, &[1, 5]);
    bench.write(UserWord::Urgency(2), HELD);
    bench.write(UserWord::Touched, 1 << 2);
    bench.yields(2);
    assert_eq!(bench.timeline(2), "bb");
    bench.block(1);
    assert_eq!(bench.timeline(1), ".");
    bench.decide(0, Knows::All, 2);
    bench.wake(1);
    assert_eq!(bench.timeline(1), "b", "no decision lifts a hold");
    bench.write(UserWord::Urgency(2), 3);
    bench.write(UserWord::Touched, 1 << 2);
    bench.yields(1);
    assert_eq!(bench.timeline(1), "c");
}

/// A hold ends with the agent, and counts again when another agent takes over.
#[test]
fn a_hold_ends_with_the_agent() {
    let mut bench = Bench::with_agent(1, false, &[1, 5]);
    for slot in 1..3 {
        bench.write(UserWord::Urgency(slot), HELD);
    }
    bench.write(UserWord::Touched, 0b110);
    bench.yields(2);
    assert_eq!(bench.timeline(2), "..");
    bench.machine.core.detach(bench.threads[0], bench.machine.now).unwrap();
    bench.machine.settled();
    assert_eq!(bench.timeline(3), ".cc", "holds are looked at within a millisecond");
    bench.block(2);
    assert_eq!(bench.timeline(1), "b");
    bench.wake(2);
    bench.threads[0] = bench.machine.thread(bench.scheduler, &[0, 0, 100]);
    bench.wake(0);
    bench.answer();
    bench.park();
    assert_eq!(bench.timeline(3), "...");
}

/// Another CPU's decision holds a running child.
#[test]
fn a_hold_takes_a_cpu_away() {
    let mut bench = Bench::with_agent(2, false, &[1, 5, 3]);
    assert_eq!(bench.running(), "dc");
    bench.write(UserWord::Urgency(2), HELD);
    bench.write(UserWord::Touched, 1 << 2);
    bench.yields(3);
    assert_eq!(bench.running(), "db");
}

#[test]
fn a_decision_that_knows_the_last_event_is_followed() {
    let mut bench = Bench::with_agent(1, false, &[1, 5, 4]);
    bench.write(UserWord::Ask(PageEvent::Block), 1 << 2);
    bench.block(2);
    assert_eq!(bench.running(), "a", "it is asked");
    bench.answer();
    bench.decide(0, Knows::All, 1);
    bench.park();
    assert_eq!(bench.timeline(3), "bbb");
    assert_eq!(bench.decided()[..2], [1, 0]);
    bench.wake(2);
    assert_eq!(bench.timeline(1), "c", "something has happened, and the more urgent child preempts");
    bench.block(2);
    assert_eq!(bench.running(), "a");
    bench.answer();
    bench.park();
    assert_eq!(bench.timeline(1), "d", "the old decision does not know this event");
    assert_eq!(bench.decided()[..2], [1, 1], "and is counted once");
}

/// A child that was more urgent before a decision does not preempt the child that the decision names.
#[test]
fn the_child_that_a_decision_names_is_not_preempted() {
    let mut bench = Bench::with_agent(1, false, &[1, 5]);
    bench.ask(PageEvent::Yield);
    bench.yields(2);
    bench.answer();
    bench.decide(0, Knows::All, 1);
    bench.park();
    assert_eq!(bench.timeline(2), "bb");
    assert_eq!(bench.machine.core.kick(), 0);
    bench.decide(0, Knows::Child, 1);
    bench.yields(1);
    assert_eq!(bench.running(), "a");
    bench.answer();
    bench.decide(0, Knows::Child, 1);
    bench.park();
    bench.block(2);
    bench.wake(2);
    assert_eq!(bench.timeline(2), "bb", "a loose decision knows nothing of others");
}

#[test]
fn a_loose_decision_needs_to_know_the_child_only() {
    let mut bench = Bench::with_agent(1, false, &[1, 2, 5]);
    bench.decide(0, Knows::Child, 1);
    bench.yields(3);
    assert_eq!(bench.timeline(1), "b", "what d did does not matter");
    bench.yields(1);
    assert_eq!(bench.timeline(1), "d", "what b did does");
    let events = bench.page().events;
    bench.write(UserWord::Next(0), decision(events + 2, Knows::Child, 1));
    bench.yields(3);
    assert_eq!(bench.timeline(1), "d", "no decision knows a future event");
    assert_eq!(bench.decided()[..2], [1, 2]);
}

/// A thread that is about to block names the next thread, as cos_switch_thread() does.
#[test]
fn a_thread_decides_before_it_blocks() {
    let mut bench = Bench::with_agent(1, false, &[1, 5, 9]);
    let next = bench.page().events + 1;
    bench.write(UserWord::Next(0), decision(next, Knows::After(3), 1));
    bench.block(3);
    assert_eq!(bench.timeline(2), "bb");
    // An event of another thread comes first, with the number that the decision has.
    let next = bench.page().events + 1;
    bench.write(UserWord::Next(0), decision(next, Knows::After(1), 2));
    bench.wake(3);
    bench.block(1);
    assert_eq!(bench.timeline(2), "dd");
    bench.block(3);
    assert_eq!(bench.decided()[..2], [1, 1]);
    // The event comes with another number.
    bench.wake(1);
    bench.write(UserWord::Next(0), decision(bench.page().events + 2, Knows::After(2), 1));
    bench.yields(2);
    assert_eq!(bench.timeline(1), "c");
    assert_eq!(bench.decided()[..2], [1, 2]);
}

/// A thread that loses its CPU at the end of a slice has not blocked yet: its decision for that moment has no effect
/// yet.
#[test]
fn a_thread_that_has_not_blocked_yet_has_decided_nothing() {
    let mut bench = Bench::with_agent(1, false, &[1, 5]);
    bench.write(UserWord::Slice(2), slice(1, MS));
    bench.yields(2);
    bench.machine.run_to(Nanos(MS / 2));
    let next = bench.page().events + 1;
    bench.write(UserWord::Next(0), decision(next, Knows::After(2), 1));
    bench.pass(1);
    assert_eq!(bench.events().last(), Some(&(PageEvent::Slice, 2)));
    assert_eq!(bench.running(), "c");
    assert_eq!(bench.decided()[..2], [0, 1]);
}

#[test]
fn the_agent_is_asked_about_what_it_wants_to_know() {
    let mut bench = Bench::with_agent(1, false, &[1, 5]);
    bench.write(UserWord::Ask(PageEvent::Wakeup), 1 << 2);
    bench.block(2);
    assert_eq!(bench.timeline(1), "b", "not about this");
    bench.wake(2);
    assert_eq!(bench.running(), "a");
    assert_eq!(bench.page().asked, bench.page().events);
    bench.park();
    assert_eq!(bench.timeline(1), "a", "it has not answered");
    bench.answer();
    bench.park();
    assert_eq!(bench.timeline(2), "cc");
    bench.block(2);
    bench.block(1);
    bench.wake(2);
    assert_eq!(bench.running(), "a", "a wake-up on an idle CPU");
}

/// Events while the agent runs are answered before it parks; on one CPU these come from timers.
#[test]
fn the_agent_goes_on_if_something_has_happened() {
    let mut bench = Bench::with_agent(1, false, &[1]);
    bench.ask(PageEvent::Wakeup);
    bench.block(1);
    bench.wake(1);
    bench.answer();
    bench.block(1);
    bench.wake(1);
    bench.park();
    assert_eq!(bench.running(), "a");
    bench.answer();
    bench.park();
    assert_eq!(bench.running(), "b");
}

#[test]
fn the_agent_has_its_allowance_and_no_more() {
    let mut bench = Bench::new(1, false, &[1]);
    bench.wake(0);
    assert_eq!(bench.timeline(23), "aabbbbbbbbaabbbbbbbbaab");
    bench.block(0);
    bench.pass(5);
    bench.wake(0);
    assert_eq!(bench.timeline(6), "bbaabb", "sleep does not renew it");
    // Twice in a row: at the end of a period, and at the start of the next.
    bench.block(0);
    bench.pass(4);
    assert_eq!(bench.machine.now, Nanos(38 * MS));
    bench.block(1);
    bench.wake(1);
    bench.pass(10);
    bench.wake(0);
    assert_eq!(bench.timeline(6), "aaaabb");
}

/// An agent that yields endlessly pays for each turn.
#[test]
fn a_storm_costs_its_allowance() {
    let mut bench = Bench::with_agent(1, false, &[1]);
    bench.write(UserWord::WakeAt, 1);
    bench.ask(PageEvent::Yield);
    bench.yields(1);
    let mut turns = 1;
    while bench.running() == "a" && turns < 1_000 {
        bench.park();
        turns += 1;
    }
    assert_eq!(turns, 2 * MS / 5_000, "5 us a turn, the first included");
    assert_eq!(bench.machine.now, Nanos::ZERO);
    assert_eq!(bench.timeline(11), "bbbbbbbbbba");
}

/// The next allowance pays for an overrun by a late timer.
#[test]
fn the_agent_pays_its_debts() {
    let mut bench = Bench::new(1, true, &[1]);
    bench.wake(0);
    bench.machine.now = Nanos(3 * MS);
    bench.machine.core.expire(0, bench.machine.now);
    bench.machine.settled();
    assert_eq!(bench.timeline(19), "bbbbbbbabbbbbbbbbaa");
}

#[test]
fn the_agent_is_asked_when_it_wants() {
    let mut bench = Bench::with_agent(1, false, &[1]);
    bench.ask(PageEvent::Yield);
    bench.yields(1);
    bench.answer();
    bench.write(UserWord::WakeAt, 4 * MS);
    bench.park();
    assert_eq!(bench.timeline(5), "bbbba");
    assert_eq!(bench.events().last(), Some(&(PageEvent::Time, 0)));
    bench.answer();
    bench.write(UserWord::WakeAt, MOST_URGENT);
    bench.park();
    assert_eq!(bench.timeline(1), "b");
    assert_eq!(bench.machine.due(), Nanos::MAX, "that is never");
}

#[test]
fn a_slice_ends_with_an_event() {
    let mut bench = Bench::with_agent(1, false, &[1, 1]);
    bench.write(UserWord::Slice(1), slice(1, 2 * MS));
    bench.write(UserWord::Slice(2), slice(1, 1));
    bench.yields(1);
    bench.machine.run_to(Nanos(100_000));
    assert_eq!(bench.events().last(), Some(&(PageEvent::Slice, 2)), "no slice is shorter than 100 us");
    bench.write(UserWord::Slice(2), slice(2, MS));
    assert_eq!(bench.timeline(9), "bbcbbcbbc");
}

/// A child that loses its CPU within a slice goes on with the rest of the slice; with a new number it begins a whole
/// one.
#[test]
fn a_slice_is_had_in_parts() {
    let mut bench = Bench::new(1, false, &[1, 1, 5]);
    bench.block(3);
    bench.write(UserWord::Slice(1), slice(7, 4 * MS));
    bench.write(UserWord::Slice(2), slice(7, MS));
    bench.yields(1);
    assert_eq!(bench.timeline(4), "cbbb");
    bench.wake(3);
    assert_eq!(bench.timeline(1), "d");
    bench.block(3);
    assert_eq!(bench.timeline(3), "bcb");
    bench.wake(3);
    bench.write(UserWord::Slice(1), slice(8, 4 * MS));
    bench.block(3);
    assert_eq!(bench.timeline(6), "bbbbcb");
    // The same holds after a sleep.
    bench.block(1);
    bench.wake(1);
    assert_eq!(bench.timeline(5), "cbbbc");
}

#[test]
fn slots_are_given_and_taken() {
    let mut machine = Machine::new(1, None);
    let s = machine.root("user-level", &[]);
    let attach = |machine: &mut Machine, slot: u64| {
        machine.core.attach(s, None, Params::from_slice(&[0, slot, 1_000 + slot]))
    };
    let slots = |machine: &Machine| {
        let page = machine.core.kernel_page(s).unwrap();
        (0..64).filter(|slot| page.slot[*slot].child != 0).collect::<Vec<usize>>()
    };
    let third = attach(&mut machine, 3).unwrap();
    assert_eq!(attach(&mut machine, 3), Err(CoreError::Param), "taken");
    attach(&mut machine, ANY).unwrap();
    assert_eq!(slots(&machine), [1, 3]);
    machine.core.detach(third, machine.now).unwrap();
    assert_eq!(slots(&machine), [1]);
    let all: Vec<_> = (0..62).map(|_| attach(&mut machine, ANY).unwrap()).collect();
    assert_eq!(slots(&machine), (1..64).collect::<Vec<_>>());
    assert_eq!(attach(&mut machine, ANY), Err(CoreError::Children), "the last slot is the agent's");
    attach(&mut machine, 0).unwrap();
    assert_eq!(attach(&mut machine, ANY), Err(CoreError::Children));
    // A child that could have any slot keeps its slot when another parameter changes; a requested slot is given if it
    // is free.
    machine.core.detach(all[3], machine.now).unwrap();
    machine.core.set_param(all[9], 0, 5, machine.now).unwrap();
    assert_eq!(machine.core.set_param(all[9], 1, 9, machine.now), Err(CoreError::Param));
    machine.core.set_param(all[9], 1, 5, machine.now).unwrap();
    machine.settled();
    let page = machine.core.kernel_page(s).unwrap();
    assert_eq!((page.slot[5].child, page.slot[11].child), (1_064, 0));
}

/// In a sealed scheduler nothing that the process writes affects the children.
#[test]
fn a_sealed_scheduler_decides_by_the_hierarchy() {
    let mut bench = Bench::with_agent(1, true, &[1, 5]);
    bench.write(UserWord::Urgency(1), 9);
    bench.write(UserWord::Urgency(2), HELD);
    bench.write(UserWord::Touched, u64::MAX);
    bench.write(UserWord::Slice(2), slice(1, MS));
    bench.ask(PageEvent::Yield);
    bench.yields(2);
    assert_eq!(bench.running(), "a", "it is asked all the same");
    bench.answer();
    bench.decide(0, Knows::All, 1);
    bench.park();
    assert_eq!(bench.timeline(4), "cccc");
    assert_eq!(bench.decided()[..2], [0, 0]);
}

/// Whatever is in the page, the process harms only its own children.
#[test]
fn garbage_chooses_among_the_children() {
    for garbage in [u64::MAX, 0x1fff, 0x3fff, 0x7fff, 1 << 63, HELD - 1] {
        let mut machine = Machine::new(1, None);
        let root = machine.root("fixed-priority", &[]);
        let neighbour = machine.thread(root, &[2]);
        let s = machine.below(root, &[1], "user-level", &[]);
        let threads: Vec<CoreVp> = (0..4).map(|slot| machine.thread(s, &[1, slot, 0])).collect();
        machine.wake(neighbour);
        threads.iter().for_each(|&thread| machine.wake(thread));
        for place in 0..UserWord::COUNT {
            machine.core.write_page(s, UserWord::At(place), garbage).unwrap();
            assert_eq!(timeline(&mut machine, &[neighbour], 1), "a");
            machine.block(neighbour);
            for thread in &threads {
                machine.core.yield_now(*thread, machine.now);
                machine.settled();
            }
            machine.run_to(machine.now + Nanos(MS));
            machine.wake(neighbour);
        }
        assert_eq!(machine.core.write_page(s, UserWord::At(UserWord::COUNT), 0), Err(CoreError::Param));
    }
}

/// Each CPU has a decision of its own.
#[test]
fn several_cpus_have_decisions_of_their_own() {
    let mut bench = Bench::with_agent(2, false, &[1, 2, 5, 6]);
    assert_eq!(bench.running(), "de");
    bench.decide(0, Knows::Child, 1);
    bench.decide(1, Knows::Child, 2);
    bench.yields(3);
    bench.yields(4);
    assert_eq!(bench.running(), "bc");
    assert_eq!(bench.decided()[..2], [2, 0]);
    bench.pass(5);
    bench.wake(0);
    assert_eq!(bench.running(), "bc", "the parked agent is awake already");
    bench.ask(PageEvent::Block);
    bench.block(1);
    assert_eq!(bench.running(), "ac");
    bench.decide(0, Knows::Child, 4);
    bench.answer();
    bench.park();
    assert_eq!(bench.running(), "ec");
}

/// The agent may use only one CPU: it takes that one.
#[test]
fn the_agent_takes_a_cpu_that_it_can_use() {
    let mut bench = Bench::new(2, false, &[5, 5, 1]);
    bench.machine.core.set_affinity(bench.threads[0], 0b10, bench.machine.now).unwrap();
    assert_eq!(bench.running(), "bc");
    bench.wake(0);
    assert_eq!(bench.running(), "ba");
    bench.answer();
    bench.park();
    assert_eq!(bench.running(), "bc");
    bench.write(UserWord::Ask(PageEvent::Yield), 1 << 1);
    bench.yields(1);
    bench.pass(0);
    assert_eq!(bench.running(), "ba");
}

/// The page tells the agent for which CPUs it must decide.
#[test]
fn the_page_tells_the_cpus() {
    for cpus in [1, 3] {
        let bench = Bench::with_agent(cpus, false, &[1]);
        let page = bench.page();
        assert_eq!((page.cpus, page.width), ((1 << cpus) - 1, u64::from(cpus)));
    }
    let mut machine = Machine::new(2, None);
    let root = machine.root("fixed-priority", &[]);
    let scheduler = machine.below(root, &[1], "user-level", &[]);
    let agent = machine.thread(scheduler, &[0, 0, 100]);
    machine.wake(agent);
    let page = machine.core.kernel_page(scheduler).unwrap();
    assert_eq!((page.cpus, page.width), (3, 1), "it has one CPU at a time");
}

/// Writes of an agent that parks on one CPU take effect on the other CPUs, too: the child that its decision names for
/// another CPU gets that CPU at once, and so does a child that is now more urgent than the running one.
#[test]
fn decisions_and_urgencies_reach_other_cpus() {
    let mut bench = Bench::with_agent(2, false, &[5, 5, 1]);
    bench.machine.core.set_affinity(bench.threads[0], 0b01, bench.machine.now).unwrap();
    let asked = |bench: &mut Bench| {
        bench.block(0);
        bench.wake(0);
        assert!(bench.running().starts_with('a'), "{}", bench.running());
        bench.answer();
    };
    asked(&mut bench);
    bench.decide(0, Knows::Child, 1);
    bench.decide(1, Knows::Child, 3);
    bench.park();
    assert_eq!(bench.running(), "bd");
    let grants =
        |bench: &Bench| bench.threads.iter().map(|vp| bench.machine.core.grants_and_revokes(*vp).0).collect();
    let before: Vec<u32> = grants(&bench);
    asked(&mut bench);
    bench.park();
    let after: Vec<u32> = grants(&bench);
    assert_eq!((bench.running().as_str(), after[3]), ("bd", before[3]), "a named child keeps its CPU");
    asked(&mut bench);
    bench.write(UserWord::Next(1), 0);
    bench.write(UserWord::Urgency(3), 9);
    bench.write(UserWord::Touched, 1 << 3);
    bench.park();
    assert_eq!(bench.running(), "bd", "it is the most urgent now");
    asked(&mut bench);
    bench.write(UserWord::Urgency(3), 2);
    bench.write(UserWord::Touched, 1 << 3);
    bench.park();
    assert_eq!(bench.running(), "bc", "and the least urgent");
}

/// A thread ends while decisions name it, and another thread comes into its slot: the decisions do not count for the
/// new thread.
#[test]
fn a_decision_is_not_for_the_next_thread_in_the_slot() {
    for (knows, more) in [(Knows::All, 0), (Knows::Child, 0), (Knows::After(3), 1)] {
        let mut bench = Bench::with_agent(1, false, &[1, 5, 9]);
        let events = bench.page().events + more;
        bench.write(UserWord::Next(0), decision(events, knows, 1));
        bench.machine.core.detach(bench.threads[1], bench.machine.now).unwrap();
        bench.machine.settled();
        assert_eq!(bench.running(), "d");
        bench.threads[1] = bench.machine.thread(bench.scheduler, &[1, 1, 200]);
        bench.wake(1);
        bench.block(3);
        assert_eq!((bench.running().as_str(), bench.decided()[0]), ("c", 0), "{knows:?}");
        assert_eq!(bench.timeline(2), "cc");
    }
    // The thread ends while it has the CPU that a decision gave it.
    let mut bench = Bench::with_agent(1, false, &[1, 5, 9]);
    bench.decide(0, Knows::Child, 1);
    bench.yields(3);
    assert_eq!(bench.running(), "b");
    bench.machine.core.detach(bench.threads[1], bench.machine.now).unwrap();
    bench.machine.settled();
    assert_eq!(bench.running(), "d");
}

/// A scheduler is destroyed in the middle of its agent's turn, with a page full of decisions and holds: none of them
/// remains, neither for its threads nor for the next scheduler with these pages.
#[test]
fn what_was_decided_goes_with_the_scheduler() {
    let mut machine = Machine::new(1, None);
    let root = machine.root("fixed-priority", &[]);
    let made = |machine: &mut Machine| {
        let s = machine.scheduler("user-level", &[]);
        (s, machine.core.attach(root, Some(s), Params::from_slice(&[1])).unwrap())
    };
    let (s, place) = made(&mut machine);
    let threads: Vec<CoreVp> = (0..4).map(|slot| machine.thread(s, &[slot, slot, 0])).collect();
    threads.iter().for_each(|&thread| machine.wake(thread));
    let page = machine.core.pages(s);
    assert_eq!(timeline(&mut machine, &threads, 1), "a");
    let events = machine.core.kernel_page(s).unwrap().events;
    machine.core.write_page(s, UserWord::Next(0), decision(events, Knows::All, 1)).unwrap();
    machine.core.write_page(s, UserWord::Urgency(2), HELD).unwrap();
    machine.core.write_page(s, UserWord::Touched, u64::MAX).unwrap();
    machine.core.yield_now(threads[0], machine.now);
    for thread in &threads {
        machine.core.move_to(*thread, root, Params::from_slice(&[2]), machine.now).unwrap();
    }
    machine.core.detach(place, machine.now).unwrap();
    machine.core.destroy_scheduler(s).unwrap();
    machine.settled();
    assert_eq!(machine.core.write_page(s, UserWord::Next(0), u64::MAX), Err(CoreError::NotFound));
    for thread in &threads[..2] {
        machine.block(*thread);
    }
    assert_eq!(timeline(&mut machine, &threads, 1), "c", "it is no longer held");
    let (other, _) = made(&mut machine);
    assert_eq!(machine.core.pages(other), page);
    assert!(machine.core.user_page(other).unwrap().words().all(|word| word == 0));
    for (slot, thread) in (1..).zip(&threads[1..]) {
        machine.core.move_to(*thread, other, Params::from_slice(&[0, slot]), machine.now).unwrap();
    }
    machine.wake(threads[1]);
    assert_eq!(machine.core.decided(other).map(|decided| decided.followed), Some(0));
    assert_eq!(timeline(&mut machine, &threads, 1), "c", "the first of equals");
}

/// A CPU goes offline while the agent has it, and comes back: the agent goes on with another CPU, decisions for an
/// offline CPU wait until it is back, and the page shows the CPUs. A child that loses its CPU in this way gets an
/// event.
#[test]
fn cpus_go_and_come_back() {
    let mut bench = Bench::with_agent(2, false, &[1, 2, 5, 6]);
    bench.ask(PageEvent::Block);
    bench.block(4);
    assert_eq!(bench.running(), "da");
    bench.machine.offline(1).unwrap();
    bench.machine.settled();
    assert_eq!(bench.running(), "a.");
    bench.decide(0, Knows::Child, 1);
    bench.decide(1, Knows::Child, 2);
    bench.answer();
    bench.park();
    assert_eq!((bench.running().as_str(), bench.page().cpus), ("b.", 0b01));
    bench.pass(5);
    bench.machine.core.online(1, bench.machine.now).unwrap();
    bench.machine.settled();
    assert_eq!(bench.running(), "bc");
    bench.machine.offline(0).unwrap();
    bench.machine.settled();
    assert_eq!((bench.running().as_str(), bench.events().last()), (".c", Some(&(PageEvent::Offline, 1))));
    bench.machine.core.online(0, bench.machine.now).unwrap();
    bench.machine.settled();
    bench.ask(PageEvent::Offline);
    bench.machine.offline(1).unwrap();
    bench.machine.settled();
    assert_eq!((bench.running().as_str(), bench.events().last()), ("a.", Some(&(PageEvent::Offline, 2))));
}
