//! A run that ends in the middle of a request: whichever question of the request comes after the end, the answer is
//! that the run has ended, and never that something does not exist, is taken, or was done.
//!
//! Relies on the engine of the tests to know no thread any more from a given question on.

use super::support::{ALICE, ALICES, BOBS, Native, manager, texts, with_server};
use hls_client::interface::{Failure, Move, Policies, Promote, Status};
use hls_client::{Client, ClientError, Texts};
use hls_control::{Manager, Peer, answer};
use serde_json::{Value, json};
use std::sync::Mutex;

const ROOT: Peer = Peer::ROOT;
/// A thread in the default scheduler.
const FREE: u32 = 300;
/// More questions than any request asks the engine.
const MOST: usize = 100;

/// A hierarchy with everything that `sweep` handles before a request: threads with promises, a promoted scheduler, a
/// promoted scheduler after the end of its last thread, a suspended thread, and a thread suspended by a scheduler that
/// is gone.
fn busy() -> Manager<Native> {
    let mut manager = manager();
    manager.engine().spawn(FREE, Some(ALICE.uid), None);
    let [agent, child, held] = ALICES;
    let share = texts(&[("share", "1")]);
    manager.promote(ROOT, "U", "ALICE", agent, &share).unwrap();
    manager.grant(ROOT, "U", child, &texts(&[])).unwrap();
    manager.suspend(ROOT, child, None).unwrap();
    for name in ["GOES", "EMPTY"] {
        manager.create(ROOT, "round-robin", name, "ALICE", &share).unwrap();
    }
    manager.move_thread(ROOT, held, "GOES", &texts(&[])).unwrap();
    manager.suspend(ROOT, held, None).unwrap();
    manager.move_thread(ROOT, held, "ALICE", &share).unwrap();
    manager.destroy(ROOT, "GOES").unwrap();
    manager.promote(ROOT, "ABANDONED", "ALICE", BOBS, &share).unwrap();
    manager.engine().exit(BOBS);
    manager
}

/// Every method that asks the engine, with valid parameters.
fn requests() -> Vec<(&'static str, Value)> {
    let [_, child, held] = ALICES;
    let share = json!({ "share": "2" });
    vec![
        ("Status", json!({})),
        ("Create", json!({ "policy": "round-robin", "name": "N", "below": "ALICE", "parameters": share })),
        ("Destroy", json!({ "name": "EMPTY" })),
        ("Move", json!({ "thread": FREE, "to": "ALICE", "parameters": share })),
        ("Reserve", json!({ "thread": FREE, "guarantee": "RESBH 1ms 50ms" })),
        ("Release", json!({ "thread": held })),
        ("Message", json!({ "thread": held, "parameter": "share", "value": "3" })),
        ("Messenger", json!({})),
        ("Promote", json!({ "name": "N", "below": "ALICE", "agent": FREE, "parameters": share })),
        ("Pages", json!({ "name": "U" })),
        ("Demote", json!({ "name": "U" })),
        ("Grant", json!({ "name": "U", "thread": FREE })),
        ("Revoke", json!({ "thread": child })),
        ("Suspend", json!({ "thread": FREE, "by": "FP" })),
        ("Resume", json!({ "thread": child })),
    ]
}

/// The error of the answer; `None`: it was done.
fn error_of(manager: Manager<Native>, method: &str, parameters: &Value) -> Option<String> {
    let call = json!({ "method": format!("hls.Control.{method}"), "parameters": parameters });
    let message = answer(&Mutex::new(manager), ROOT, call.to_string().as_bytes()).message.unwrap();
    let reply: Value = serde_json::from_slice(message.strip_suffix(&[0]).unwrap()).unwrap();
    reply.get("error").map(|error| error.as_str().unwrap().to_owned())
}

#[test]
fn whenever_a_run_ends_its_answer_is_that_it_has_ended() {
    for (method, parameters) in requests() {
        let after = |questions| {
            let mut manager = busy();
            manager.engine().ends_after = Some(questions);
            error_of(manager, method, &parameters)
        };
        let until = (0..MOST).find(|questions| match after(*questions) {
            None => true,
            Some(error) => {
                assert_eq!(error, "hls.Control.Ended", "{method} after {questions} questions");
                false
            }
        });
        assert!(until.is_some_and(|questions| questions > 0), "{method} asks the engine, but not for ever");
    }
}

/// Without a request, nothing is considered gone because the run has ended.
#[test]
fn nobody_loses_a_promise_because_the_run_ends() {
    let mut manager = busy();
    let before = manager.engine().promises.clone();
    manager.engine().ends_after = Some(0);
    manager.tidy().unwrap_err();
    assert_eq!(manager.engine().promises, before);
    manager.engine().ends_after = None;
    let names: Vec<String> =
        manager.status().unwrap().schedulers.into_iter().map(|scheduler| scheduler.name).collect();
    assert!(names.contains(&"U".to_owned()) && !names.contains(&"ABANDONED".to_owned()), "{names:?}");
}

/// The client gets an error of its own for this, whatever it asks, and can go on asking.
#[test]
fn a_client_can_tell_the_end_from_a_wrong_request() {
    let mut manager = manager();
    manager.engine().ends_after = Some(0);
    with_server(manager, |path| {
        let mut hls = Client::connect_to(path).unwrap();
        let ended = |outcome: Result<(), ClientError>| {
            let error = outcome.unwrap_err();
            assert!(matches!(error, ClientError::Failure(Failure::Ended { .. })), "{error:?}");
            assert_eq!(error.to_string(), "the run has ended");
        };
        ended(hls.call(&Status {}).map(drop));
        let parameters = Texts::new();
        ended(hls.call(&Move { thread: 4711, to: "ALICE".into(), parameters: parameters.clone() }).map(drop));
        let promote = Promote { name: "U".into(), below: "ALICE".into(), agent: ALICES[0], parameters };
        ended(hls.call(&promote).map(drop));
        // Questions that do not need the engine are answered as before.
        assert!(!hls.call(&Policies {}).unwrap().policies.is_empty());
    });
}
