//! Suspending threads by a scheduler at any distance above them, on the native core.

use crate::support::{ALICE, ALICES, BOB, BOBS, Native, VIDEO, manager, refused, texts};
use hls_control::{Manager, Peer, RunningEngine};
use hls_core::VpState;

const ROOT: Peer = Peer::ROOT;

/// A hierarchy in which Alice has promoted a thread, and granted another thread to that scheduler.
fn promoted() -> Manager<Native> {
    let mut manager = manager();
    manager.promote(ALICE, "U", "ALICE", ALICES[0], &texts(&[])).unwrap();
    manager.grant(ALICE, "U", ALICES[1], &texts(&[])).unwrap();
    manager.engine().wake(ALICES[1]);
    manager
}

/// Whether a thread is runnable, according to the core.
fn wants(manager: &mut Manager<Native>, tid: u32) -> bool {
    let native = manager.engine();
    let vp = native.thread(tid).unwrap().expect("it lives").key.vp;
    native.core.vp(vp).expect("it lives").state != VpState::Waiting
}

/// The scheduler that has suspended a thread.
fn by(manager: &mut Manager<Native>, tid: u32) -> Option<String> {
    let threads = manager.status().unwrap().threads;
    threads.into_iter().find(|thread| thread.thread == tid).expect("it lives").suspended_by
}

#[test]
fn a_scheduler_holds_back_a_thread_at_any_depth() {
    let mut manager = promoted();
    assert!(wants(&mut manager, ALICES[1]));
    assert_eq!(manager.suspend(ROOT, ALICES[1], Some("RES")).unwrap(), "RES");
    assert!(!wants(&mut manager, ALICES[1]));
    assert_eq!(by(&mut manager, ALICES[1]).as_deref(), Some("RES"));
    manager.revoke(ALICE, ALICES[1]).unwrap();
    assert!(!wants(&mut manager, ALICES[1]), "it stays suspended wherever its user moves it");
    refused(&mut manager, "found `RES`, which is not below", |it| it.resume(ALICE, ALICES[1]));
    refused(&mut manager, "suspended by `RES`", |it| it.suspend(ALICE, ALICES[1], None));
    assert_eq!(manager.resume(ROOT, ALICES[1]).unwrap(), "RES");
    assert!(wants(&mut manager, ALICES[1]));
    assert_eq!(by(&mut manager, ALICES[1]), None);
}

#[test]
fn a_user_suspends_below_its_own_schedulers() {
    let mut manager = promoted();
    manager.move_thread(ROOT, BOBS, "U", &texts(&[])).unwrap();
    assert_eq!(manager.suspend(ALICE, BOBS, None).unwrap(), "U", "by the scheduler above it");
    refused(&mut manager, "not below a scheduler of user 1001", |it| it.resume(BOB, BOBS));
    manager.resume(ALICE, BOBS).unwrap();
    refused(&mut manager, "found no suspended thread 200", |it| it.resume(ALICE, BOBS));
    refused(&mut manager, "found no thread 4711", |it| it.suspend(ALICE, 4711, None));
    refused(&mut manager, "found no scheduler `X`", |it| it.suspend(ALICE, BOBS, Some("X")));
    refused(&mut manager, "found `RES`, which is not below", |it| it.suspend(ALICE, BOBS, Some("RES")));
    refused(&mut manager, "below another scheduler than `U`", |it| it.suspend(ALICE, VIDEO, Some("U")));
    refused(&mut manager, "found `rest`, which is not below", |it| it.suspend(ALICE, ALICES[2], None));
}

#[test]
fn a_thread_goes_on_when_its_holder_has_gone() {
    let mut manager = promoted();
    manager.suspend(ALICE, ALICES[1], None).unwrap();
    manager.demote(ALICE, "U").unwrap();
    assert_eq!(by(&mut manager, ALICES[1]), None);
    assert!(wants(&mut manager, ALICES[1]));
}

#[test]
fn a_number_that_another_thread_has_is_not_suspended() {
    let mut manager = promoted();
    manager.suspend(ALICE, ALICES[1], None).unwrap();
    manager.engine().exit(ALICES[1]);
    manager.engine().spawn(ALICES[1], Some(ALICE.uid), None);
    assert_eq!(by(&mut manager, ALICES[1]), None);
    refused(&mut manager, "found no suspended thread", |it| it.resume(ALICE, ALICES[1]));
}
