//! The faults of the engine's glue, each found when its order is put back; and none in the orders in which none is
//! known.

use hls_small_worlds::glue::worlds::WORLDS;
use hls_small_worlds::glue::{Back, Event, Glue, Insert, Noted, Orders, Start};
use hls_small_worlds::{Bounds, Explored, Memory, explore};

const TODAY: Orders = Orders::TODAY;

fn explored(mut glue: Glue, length: usize, start: Start) -> Explored {
    let starts = with(TODAY).starts().unwrap();
    let start = start as usize;
    explore(&mut glue, &mut Memory::default(), &starts[start..=start], Bounds { length, twin_of: 16 })
}

fn with(orders: Orders) -> Glue {
    Glue::new(orders).unwrap()
}

/// What was found, with the sequence that leads there; nothing: an empty text.
fn found(explored: &Explored) -> String {
    let violation = explored.violation.as_ref();
    violation.map_or_else(String::new, |it| format!("{}\n{}", it.steps.join("\n"), it.what))
}

/// In these orders `what` is found by a sequence of these events; in the engine's orders nothing is.
#[track_caller]
fn assert_found(orders: Orders, events: fn(&Event) -> bool, length: usize, start: Start, what: &str) {
    assert_found_in(|orders| with(orders).with_only(events), orders, length, start, what);
}

#[track_caller]
fn assert_found_in(glue: impl Fn(Orders) -> Glue, orders: Orders, length: usize, start: Start, what: &str) {
    let is_found = found(&explored(glue(orders), length, start));
    assert!(is_found.contains(what), "expected `{what}`, found:\n{is_found}");
    assert_eq!(found(&explored(glue(TODAY), length, start)), "", "found in the orders of the engine");
}

fn exits_and_forks(event: &Event) -> bool {
    matches!(event, Event::Exit(..) | Event::Fork(..) | Event::Block(_))
}

fn of_affinity(event: &Event) -> bool {
    matches!(event, Event::Affine(..) | Event::Call(..))
}

fn of_classes(event: &Event) -> bool {
    matches!(event, Event::ChangeClass(..) | Event::Block(_) | Event::StopAway(_, _, false))
}

fn of_cpus(event: &Event) -> bool {
    matches!(event, Event::Leave(_) | Event::Return(_) | Event::Block(_) | Event::Wake(..))
}

fn of_kills(event: &Event) -> bool {
    matches!(event, Event::Kill(..) | Event::Exit(..) | Event::Fork(..))
}

/// Thread 2 is killed, or starves, and is changed.
fn of_moments(event: &Event) -> bool {
    let is_about = matches!(event, Event::Kill(0, 2) | Event::Starve(0, 2) | Event::Affine(0, 2, _));
    is_about || matches!(event, Event::Holds(0, 2)) || matches!(event, Event::Block(_) | Event::MomentEnds(_))
}

#[test]
fn the_lost_thread_is_found_when_the_old_order_is_put_back() {
    let orders = Orders { exit_drops_first: false, ..TODAY };
    let what = "VP 4 belongs to thread 3, but leads to thread None";
    assert_found(orders, exits_and_forks, 2, Start::Dead, what);
    let without_maps = |orders| with(orders).without_maps().with_only(exits_and_forks);
    assert_found_in(without_maps, orders, 3, Start::Dead, "is lost: it is granted CPU");
}

/// A look at the affinity before the insert does not help: the affinity may change between the two.
#[test]
fn an_insert_for_a_cpu_that_the_thread_may_not_use_is_found() {
    let events = |event: &Event| matches!(event, Event::Affine(0, ..) | Event::Call(1, _));
    for insert in [Insert::BehindLock, Insert::BehindLockChecked] {
        let what = "which it may not use: the kernel ends the run";
        assert_found(Orders { insert, ..TODAY }, events, 2, Start::Two, what);
    }
}

#[test]
fn an_unlock_that_undoes_a_seal_is_found() {
    let events = |event: &Event| matches!(event, Event::Dump(_) | Event::Call(..));
    let orders = Orders { unlock_keeps_seal: false, ..TODAY };
    assert_found(orders, events, 2, Start::Two, "an unlock has undone the seal");
}

#[test]
fn errands_that_are_done_in_spite_of_a_seal_are_found() {
    let orders = Orders { errands_heed_seal: false, ..TODAY };
    let events = |event: &Event| matches!(event, Event::Dump(_));
    assert_found(orders, events, 1, Start::Noted, "the lock is sealed, and CPU 0 does its section");
}

/// The CPU goes off before its timer has gone off.
#[test]
fn an_errand_with_a_lost_timer_is_dropped_when_nobody_looks_for_it() {
    let orders = Orders { looks_for_what_was_left: false, ..TODAY };
    assert_found(orders, of_cpus, 1, Start::Noted, "what was left to a timer is lost");
}

#[test]
fn an_errand_that_meets_the_next_thread_with_the_vp_is_found() {
    let orders = Orders { exit_waits_for_errands: false, ..TODAY };
    let what = "an errand meets another thread";
    assert_found(orders, exits_and_forks, 2, Start::NotedDead, what);
}

/// A thread that is back before its errand is done: it must not be lost, nor keep its CPU while it sleeps.
#[test]
fn an_errand_about_a_thread_that_is_back_is_found() {
    let lost = "is lost: it wants a CPU, and the core does not know that";
    assert_found(Orders { back: Back::Never, ..TODAY }, of_classes, 2, Start::Three, lost);
    let asleep = "is Asleep, and Running for the core";
    assert_found(Orders { back: Back::Enable, ..TODAY }, of_classes, 3, Start::Two, asleep);
}

/// Where a VP is in the list of errands already, another link makes the list a ring.
#[test]
fn a_list_of_errands_without_end_is_found() {
    let orders = Orders { links_once: false, ..TODAY };
    let what = "steps follow each other without end";
    assert_found(orders, of_classes, 1, Start::Noted, what);
}

/// A thread that may not migrate has no CPU, and its affinity has changed.
#[test]
fn an_errand_that_has_a_bound_thread_inserted_elsewhere_is_found() {
    let events = |event: &Event| matches!(event, Event::Bind(1) | Event::Affine(0, 1, 1) | Event::Call(..));
    let orders = Orders { spares_queued: false, ..TODAY };
    assert_found(orders, events, 3, Start::Two, "which it may not use: the kernel ends the run");
}

#[test]
fn a_thread_that_is_back_on_its_cpu_without_a_grant_is_found() {
    let what = "decisions are due on the CPUs 0b1, and nobody takes them";
    assert_found(Orders { enable_kicks: false, ..TODAY }, of_classes, 2, Start::Two, what);
}

/// The core hears of CPUs in another order than they came and went.
#[test]
fn cpus_that_are_told_in_a_wrong_order_are_found() {
    let last = "a CPU came or went that the hierarchy does not have";
    assert_found(Orders { noted: Noted::InOrder, ..TODAY }, of_cpus, 2, Start::Off, last);
    let lost = "is offline for the kernel, or for the core, but not for both";
    assert_found(Orders { noted: Noted::TakenFirst, ..TODAY }, of_cpus, 2, Start::Two, lost);
}

#[test]
fn an_interrupt_of_a_cpu_that_is_off_is_found() {
    let orders = Orders { knows_noted: false, ..TODAY };
    assert_found(orders, of_cpus, 3, Start::Two, "sends itself an interrupt, which never arrives");
}

#[test]
fn a_thread_on_a_cpu_of_which_the_core_knows_too_late_is_found() {
    let orders = Orders { return_kicks: false, ..TODAY };
    assert_found(orders, of_cpus, 2, Start::Noted, "is Current(0), and Running for the core (CPU 1)");
}

/// The killer of a process has found a thread that goes, and another one comes.
#[test]
fn a_kill_that_meets_the_next_thread_with_the_vp_is_found() {
    let orders = Orders { kill_checks_thread: false, ..TODAY };
    assert_found(orders, of_kills, 3, Start::Dead, "a thread that nobody has killed is let end");
}

/// A thread that was killed waits for the CPU to which it was bound before; or has lost the CPU in its moment.
#[test]
fn a_thread_that_was_killed_and_waits_is_found() {
    let what = "was killed, and waits for a CPU";
    let orders = Orders { urgent_follow_affinity: false, ..TODAY };
    assert_found(orders, of_moments, 2, Start::Three, what);
    let orders = Orders { enqueue_hurries: false, ..TODAY };
    assert_found(orders, of_moments, 2, Start::Three, what);
}

/// A thread that holds a lock of the kernel's has lost the CPU in its moment, or waits for the CPU to which it was
/// bound before.
#[test]
fn a_holder_that_waits_is_found() {
    let what = "holds a lock, and waits for a CPU";
    let but_kills = |event: &Event| of_moments(event) && !matches!(event, Event::Kill(..));
    for orders in
        [Orders { enqueue_hurries: false, ..TODAY }, Orders { urgent_follow_affinity: false, ..TODAY }]
    {
        assert_found(orders, but_kills, 2, Start::Three, what);
    }
}

/// The core could give a CPU to a thread that already has one for a moment.
#[test]
fn a_thread_that_waits_on_in_its_moment_is_found() {
    let orders = Orders { moment_ends_wait: false, ..TODAY };
    assert_found(orders, of_moments, 2, Start::Three, "is Current(0), and Running for the core (CPU 1)");
}

/// A thread that may not leave a CPU waits, and the CPU goes.
#[test]
fn a_stranded_thread_is_found() {
    let events = |event: &Event| matches!(event, Event::Bind(1) | Event::Call(0, _) | Event::Leave(1));
    let orders = Orders { rescues_stranded: false, ..TODAY };
    assert_found(orders, events, 3, Start::Three, "is stranded");
}

#[test]
fn a_take_over_that_forgets_what_timers_are_to_do_is_found() {
    let orders = Orders { take_over_keeps_timers: false, ..TODAY };
    let events = |event: &Event| matches!(event, Event::TakeOver(_));
    assert_found(orders, events, 1, Start::Noted, "something is left to do, and no timer is to do it");
}

/// What the engine leaves open for a moment.
#[test]
fn a_granted_thread_may_wait_in_the_queue_of_another_cpu() {
    let late = |events| with(TODAY).without_delays().with_only(events);
    let is_found = found(&explored(late(of_affinity), 2, Start::Two));
    assert!(is_found.contains("and Running for the core"), "found: {is_found}");
    let is_found = found(&explored(late(of_cpus), 1, Start::Two));
    assert!(is_found.contains("is Global, and"), "found: {is_found}");
}

#[test]
fn nothing_is_found_in_the_orders_of_the_engine() {
    for world in &WORLDS {
        let mut glue = with(TODAY).in_world(world);
        let starts = glue.starts().unwrap();
        let bounds = Bounds { length: world.longer_by.max(1), twin_of: 16 };
        let explored = explore(&mut glue, &mut Memory::default(), &starts, bounds);
        assert_eq!(found(&explored), "", "{}", world.name);
        assert!(explored.twins > 0, "no two keys were compared");
    }
    for start in [Start::Two, Start::Dead, Start::Off] {
        let explored = explored(with(TODAY).in_world(&WORLDS[0]), 2, start);
        assert_eq!(found(&explored), "", "{start:?}");
        assert!(explored.twins > 0, "no two keys were compared");
    }
}
