//! A run that ends in the middle of a request: whichever question of the request comes after the end, the answer is
//! that the run has ended, and never that something does not exist, is taken, or was done.
//!
//! Relies on the engine of the tests to know no thread any more from a given question on.

use super::support::{ALICE, ALICES, BOBS, Native, manager, texts, with_server};
use hls_client::interface::{Failure, Move, Policies, Promote, Status};
use hls_client::{Client, ClientError, DEFINITION, Texts};
use hls_control::{Manager, Peer, answer};
use serde_json::{Value, json};
use std::sync::Mutex;
use zlink_idl::{Interface, Method, Type};

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

/// Methods that do not ask the engine, or do so only after much other work. Their tests are in policies.rs and
/// server.rs.
const ELSEWHERE: [&str; 4] = ["Load", "Policies", "Unload", "Watch"];

/// What a parameter of this name may be; which of these is valid depends on the method.
fn values(parameter: &str) -> Vec<Value> {
    let [_, child, held] = ALICES;
    match parameter {
        "thread" => vec![json!(FREE), json!(child), json!(held)],
        "agent" => vec![json!(FREE)],
        "name" => vec![json!("N"), json!("U"), json!("EMPTY")],
        "below" | "to" => vec![json!("ALICE")],
        "by" => vec![json!("FP")],
        "policy" => vec![json!("round-robin")],
        "guarantee" => vec![json!("RESBH 1ms 50ms")],
        "parameters" => vec![json!({ "share": "2" })],
        "parameter" => vec![json!("share")],
        "value" => vec![json!("3")],
        "urgency" | "slot" => vec![],
        other => panic!("no value for the parameter `{other}` of a request"),
    }
}

/// All ways to give a method parameters that have these values. Optional parameters may be absent.
fn all_parameters(method: &Method) -> Vec<Value> {
    let mut all = vec![json!({})];
    for input in method.inputs() {
        let (name, is_optional) = (input.name().as_str(), matches!(input.ty(), Type::Optional(_)));
        let with = |value: Value| {
            all.iter().cloned().map(move |mut parameters| {
                parameters[name] = value.clone();
                parameters
            })
        };
        let given: Vec<Value> = values(name).into_iter().flat_map(with).collect();
        all = if is_optional { [all, given].concat() } else { given };
    }
    all
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
    let interface = Interface::try_from(DEFINITION).unwrap();
    let methods: Vec<&Method> =
        interface.methods().filter(|method| !ELSEWHERE.contains(&method.name().as_str())).collect();
    assert_eq!(
        methods.len() + ELSEWHERE.len(),
        interface.methods().count(),
        "ELSEWHERE names a method that the interface does not have"
    );
    for method in methods {
        let name = method.name().as_str();
        let valid = |parameters: &Value| error_of(busy(), name, parameters).is_none();
        let requests: Vec<Value> = all_parameters(method).into_iter().filter(valid).collect();
        assert!(!requests.is_empty(), "{name}: no request of this test is valid");
        requests.iter().for_each(|parameters| it_may_end_whenever(name, parameters));
    }
}

/// Has the run end before each question that the request asks the engine.
fn it_may_end_whenever(method: &str, parameters: &Value) {
    let after = |questions| {
        let mut manager = busy();
        manager.engine().ends_after = Some(questions);
        error_of(manager, method, parameters)
    };
    let until = (0..MOST).find(|questions| match after(*questions) {
        None => true,
        Some(error) => {
            assert_eq!(error, "hls.Control.Ended", "{method} {parameters} after {questions} questions");
            false
        }
    });
    assert!(
        until.is_some_and(|questions| questions > 0),
        "{method} {parameters} asks the engine, but not for ever"
    );
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
