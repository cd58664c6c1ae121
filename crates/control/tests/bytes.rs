//! Any bytes get one answer in the protocol's form and leave a sound hierarchy.

use crate::support::{ALICE, ALICES, BOBS, Native, VIDEO, manager};
use hls_control::{Manager, Peer, answer};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use std::sync::Mutex;

fn hold(manager: &Mutex<Manager<Native>>, who: Peer, message: &[u8]) -> Result<(), TestCaseError> {
    let answer = answer(manager, who, message);
    if let Some(message) = answer.message {
        prop_assert_eq!(message.iter().filter(|byte| **byte == 0).count(), 1);
        let reply: Value = serde_json::from_slice(&message[..message.len() - 1]).unwrap();
        prop_assert!(reply["parameters"].is_object(), "{}", reply);
    }
    Ok(())
}

/// Texts that mean something, and others.
fn text() -> impl Strategy<Value = String> {
    const KNOWN: &[&str] = &[
        "FP",
        "RES",
        "ALICE",
        "rest",
        "A",
        "B",
        "reservation",
        "proportional-share",
        "round-robin",
        "join",
        "limit",
        "user-level",
        "RESBH 1ms 30ms",
        "RESBH 40ms 30ms",
        "RESCS 1ms 30ms",
        "PSBE 1/4 10ms",
        "ALL",
        "1ms",
        "5ms",
        "3",
        "0",
        "",
        "99999999999999999999",
        "1h",
        "budget",
        "share",
    ];
    prop_oneof![8 => proptest::sample::select(KNOWN).prop_map(str::to_owned), 1 => any::<String>()]
}

fn value() -> impl Strategy<Value = Value> {
    const THREADS: &[u32] = &[VIDEO, ALICES[0], ALICES[1], BOBS, 4711];
    const NAMES: &[&str] =
        &["budget", "period", "share", "quantum", "priority", "guarantee", "warp", "slot", "x"];
    let parameters = proptest::collection::btree_map(proptest::sample::select(NAMES), text(), 0..3);
    prop_oneof![
        6 => text().prop_map(Value::from),
        6 => proptest::sample::select(THREADS).prop_map(Value::from),
        4 => parameters.prop_map(|parameters| json!(parameters)),
        1 => any::<i64>().prop_map(Value::from),
        1 => Just(Value::Null),
        1 => Just(json!([{}])),
    ]
}

/// A call that is nearly right.
fn call() -> impl Strategy<Value = Value> {
    const METHODS: &[&str] = &[
        "Create", "Destroy", "Move", "Reserve", "Release", "Message", "Status", "Promote", "Pages", "Demote",
        "Grant", "Revoke", "Other",
    ];
    let names = [
        "policy",
        "name",
        "below",
        "parameters",
        "thread",
        "to",
        "guarantee",
        "parameter",
        "value",
        "agent",
        "urgency",
        "slot",
    ];
    let method = proptest::sample::select(METHODS);
    (method, proptest::collection::vec(value(), names.len()), 0..8usize).prop_map(
        move |(method, values, odd)| {
            let wanted: &[&str] = match method {
                "Create" => &["policy", "name", "below", "parameters"],
                "Destroy" => &["name"],
                "Move" => &["thread", "to", "parameters"],
                "Reserve" => &["thread", "guarantee", "below"],
                "Release" => &["thread"],
                "Promote" => &["name", "below", "agent", "parameters"],
                "Pages" | "Demote" => &["name"],
                "Grant" => &["name", "thread", "urgency", "slot"],
                "Revoke" => &["thread"],
                "Message" => &["thread", "parameter", "value"],
                _ => &[],
            };
            let mut parameters: Map<String, Value> = names
                .into_iter()
                .zip(values)
                .filter(|(name, _)| wanted.contains(name))
                .map(|(name, value)| (name.into(), value))
                .collect();
            if odd == 0 {
                parameters.insert("more".into(), json!(1));
            }
            json!({ "method": format!("hls.Control.{method}"), "parameters": parameters })
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_answered(message in proptest::collection::vec(any::<u8>(), 0..200)) {
        hold(&Mutex::new(manager()), Peer::ROOT, &message)?;
    }

    /// One byte of a call is replaced.
    #[test]
    fn spoilt_calls_are_answered(call in call(), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut message = call.to_string().into_bytes();
        let at = at.index(message.len());
        message[at] = byte;
        hold(&Mutex::new(manager()), Peer::ROOT, &message)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// The engine checks the core's invariants after each call.
    #[test]
    fn any_calls_leave_a_sound_hierarchy(calls in proptest::collection::vec((call(), any::<bool>()), 1..40)) {
        let manager = Mutex::new(manager());
        for (call, is_root) in calls {
            hold(&manager, if is_root { Peer::ROOT } else { ALICE }, call.to_string().as_bytes())?;
        }
        let status = manager.into_inner().unwrap().status().unwrap();
        prop_assert!(status.threads.iter().all(|thread| !thread.scheduler.is_empty()));
    }
}
