//! The orders in which the engine and the process of a user-level scheduler read and write words: each fault is found
//! when its order is put back, and none in the orders of today.

use hls_small_worlds::decision::{Decision, Orders};
use hls_small_worlds::{Bounds, Explored, Memory, explore};

/// All sequences of up to `length` events on `cpus` CPUs.
fn explored(cpus: usize, orders: Orders, length: usize) -> Explored {
    let mut decision = Decision::new(cpus, orders).unwrap();
    let starts = decision.starts().unwrap();
    explore(&mut decision, &mut Memory::default(), &starts, Bounds { length, twin_of: 16 })
}

/// What was found, with the sequence that leads there; nothing: an empty text.
fn found(explored: &Explored) -> String {
    let violation = explored.violation.as_ref();
    violation.map_or_else(String::new, |it| format!("{}\n{}", it.steps.join("\n"), it.what))
}

#[track_caller]
fn assert_found(orders: Orders, what: &str) {
    let found = found(&explored(1, orders, 3));
    assert!(found.contains(what), "expected `{what}`, found:\n{found}");
}

#[test]
fn no_stale_decision_is_followed_and_no_question_is_lost() {
    for (cpus, length) in [(1, 4), (2, 3)] {
        let explored = explored(cpus, Orders::TODAY, length);
        println!("{cpus} CPUs: {} states, {} steps", explored.states, explored.steps);
        assert_eq!(found(&explored), "");
        assert!(explored.twins > 0, "no two keys were compared");
    }
}

/// An agent that finds `events` raised before the event is in the ring misses it.
#[test]
fn an_event_that_is_counted_before_it_is_written_is_found() {
    let orders = Orders { events_come_last: false, ..Orders::TODAY };
    assert_found(orders, "is not in the ring");
}

/// An agent that looks at the children before it looks at the number of events decides on old news under a new number.
#[test]
fn a_decision_under_a_number_that_was_read_too_late_is_found() {
    let orders = Orders { agent_reads_events_first: false, ..Orders::TODAY };
    assert_found(orders, "a stale decision was followed");
}

/// An agent that answers what it has not read parks with a question.
#[test]
fn an_answer_to_what_was_not_read_is_found() {
    let orders = Orders { answers_what_it_read: false, ..Orders::TODAY };
    assert_found(orders, "the agent is parked, was asked about event");
}
