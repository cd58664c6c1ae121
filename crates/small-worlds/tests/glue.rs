//! The faults of the engine's glue, each found when its order is put back; and none in the orders in which none is
//! known.

use hls_small_worlds::glue::{Glue, Insert, Orders};
use hls_small_worlds::{Bounds, Explored, Memory, explore};

/// Which starts to explore the glue from.
#[derive(Clone, Copy)]
enum From {
    /// Two threads run, and maybe a third one waits.
    Alive,
    /// A thread has ended, and waits to be forgotten.
    Dead,
}

fn explored(mut glue: Glue, length: usize, from: From) -> Explored {
    let starts = glue.starts().unwrap();
    let starts = match from {
        From::Alive => &starts[..2],
        From::Dead => &starts[2..],
    };
    explore(&mut glue, &mut Memory::default(), starts, Bounds { length, twin_of: 16 })
}

fn with(orders: Orders) -> Glue {
    Glue::new(orders).unwrap()
}

/// What was found, with the sequence that leads there; nothing: an empty text.
fn found(explored: &Explored) -> String {
    let violation = explored.violation.as_ref();
    violation.map_or_else(String::new, |it| format!("{}\n{}", it.steps.join("\n"), it.what))
}

#[track_caller]
fn assert_found(explored: &Explored, what: &str) {
    let found = found(explored);
    assert!(found.contains(what), "expected `{what}`, found:\n{found}");
}

#[test]
fn the_lost_thread_is_found_when_the_old_order_is_put_back() {
    let orders = Orders { exit_drops_first: false, ..Orders::TODAY };
    assert_found(
        &explored(with(orders), 2, From::Dead),
        "VP 4 is that of thread 3, and leads to thread None",
    );
    assert_found(
        &explored(with(orders).without_maps().without_hotplug(), 3, From::Dead),
        "is lost: it is granted CPU",
    );
}

/// A look at the affinity before the insert does not help: the affinity may change between the two.
#[test]
fn an_insert_for_a_cpu_that_the_thread_may_not_use_is_found() {
    for insert in [Insert::BehindLock, Insert::BehindLockChecked] {
        let orders = Orders { insert, ..Orders::TODAY };
        assert_found(
            &explored(with(orders), 2, From::Alive),
            "which it may not use: the kernel ends the run",
        );
    }
}

#[test]
fn an_unlock_that_undoes_a_seal_is_found() {
    let orders = Orders { unlock_keeps_seal: false, ..Orders::TODAY };
    assert_found(&explored(with(orders).with_dumps(), 2, From::Alive), "an unlock has undone the seal");
}

/// What the engine leaves open for a moment.
#[test]
fn a_granted_thread_may_wait_in_the_queue_of_another_cpu() {
    let late = || with(Orders::TODAY).without_delays();
    assert_found(&explored(late().without_hotplug(), 2, From::Alive), "and Running for the core");
    assert_found(&explored(late(), 1, From::Alive), "is Global, and");
}

#[test]
fn nothing_is_found_in_the_orders_of_the_engine() {
    for (glue, length, from) in [
        (with(Orders::TODAY), 2, From::Alive),
        (with(Orders::TODAY), 2, From::Dead),
        (with(Orders::TODAY).with_dumps().without_hotplug(), 2, From::Dead),
    ] {
        let explored = explored(glue, length, from);
        assert_eq!(found(&explored), "");
        assert!(explored.twins > 0, "no two keys were compared");
    }
}
