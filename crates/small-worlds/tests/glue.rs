//! The faults of the engine's glue, each found when its order is put back; and none in the orders in which none is
//! known.

use hls_small_worlds::glue::{Affinity, Glue, Orders};
use hls_small_worlds::{Bounds, Explored, Memory, explore};

/// Explores the glue from all starts, or only where a thread has ended and waits to be forgotten.
fn explored(mut glue: Glue, length: usize, is_one_dead: bool) -> Explored {
    let starts = match is_one_dead {
        true => vec![glue.start_with_a_dead_thread().unwrap()],
        false => glue.starts().unwrap(),
    };
    explore(&mut glue, &mut Memory::default(), &starts, Bounds { length, twin_of: 16 })
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
    let orders = Orders { exit_drops_first: false, ..Orders::MENDED };
    assert_found(&explored(with(orders), 2, true), "VP 4 is that of thread 3, and leads to thread None");
    assert_found(&explored(with(orders).without_maps(), 3, true), "is lost: it is granted CPU");
}

#[test]
fn events_of_one_vp_in_a_wrong_order_are_found_when_the_old_order_is_put_back() {
    let orders = Orders { exit_tells_first: false, ..Orders::MENDED };
    assert_found(&explored(with(orders), 2, true), "user space hears of VP");
}

/// A look at the affinity before the insert does not help: the affinity may change between the two.
#[test]
fn an_insert_for_a_cpu_that_the_thread_may_not_use_is_found() {
    for affinity in [Affinity::Unchecked, Affinity::BeforeInsert] {
        let orders = Orders { affinity, ..Orders::MENDED };
        assert_found(&explored(with(orders), 2, false), "which it may not use: the kernel ends the run");
    }
}

#[test]
fn an_unlock_that_undoes_a_seal_is_found() {
    let orders = Orders { unlock_keeps_seal: false, ..Orders::MENDED };
    assert_found(&explored(with(orders).with_dumps(), 2, false), "an unlock has undone the seal");
}

/// What the engine of today leaves open, and is not yet mended in any order that the model has.
#[test]
fn a_granted_thread_may_wait_in_the_queue_of_another_cpu() {
    let explored = explored(with(Orders::MENDED).without_delays(), 2, false);
    assert_found(&explored, "and Running for the core");
}

#[test]
fn nothing_is_found_in_the_mended_orders() {
    for (glue, length, is_one_dead) in [
        (with(Orders::MENDED), 2, false),
        (with(Orders::MENDED), 2, true),
        (with(Orders::MENDED).with_dumps(), 2, true),
    ] {
        let explored = explored(glue, length, is_one_dead);
        assert_eq!(found(&explored), "");
        assert!(explored.twins > 0, "no two keys were compared");
    }
}

/// When the engine is mended, its orders in `Orders::TODAY` change, and there is less to be found here.
#[test]
fn todays_engine_has_the_faults_that_are_open() {
    for (name, orders) in Orders::open() {
        let glue = if orders.unlock_keeps_seal { with(orders) } else { with(orders).with_dumps() };
        assert_ne!(found(&explored(glue, 2, false)), "", "{name}");
    }
}
