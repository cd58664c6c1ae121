//! What clients send to a running hierarchy: one input is a sequence of requests and of what happens between them.
//!
//! Each line is one of these, by its first letter:
//! ```text
//!  r{"method":...}   a request of root, as its client sends it, without the NUL
//!  a{"method":...}   one of Alice: she owns a scheduler
//!  b{"method":...}   one of Bob: he owns nothing
//!  +                 ten milliseconds pass
//!  -100              thread 100 ends
//!  !3                the engine fails in the third call from now
//! ```
//! All other lines are requests of root. Relies on the mock hierarchy of the tests of `crates/control`, which checks
//! the core's invariants after every call. Policies are not compiled: a request to load one is refused there.

#[path = "../../control/tests/support/mod.rs"]
mod support;

use hls_control::{Manager, Peer, answer};
use hls_units::Nanos;
use serde_json::Value;
use std::sync::Mutex;
use support::{ALICE, BOB, Native, manager};

/// Lines of an input that count.
const LINES: usize = 40;
/// A part of the error of a request during which the system failed, and which could not be undone.
const DONE_SOME: &str = "before this, the request moved";
/// Requests that may be about policies: for each the service rests twice.
const ABOUT_POLICIES: usize = 2;

pub(crate) fn run(bytes: &[u8]) {
    let mut manager = manager();
    manager.engine().compiles = false;
    let manager = Mutex::new(manager);
    let mut about_policies = 0;
    for line in bytes.split(|byte| *byte == b'\n').take(LINES) {
        about_policies += usize::from(line.windows(3).any(|word| word == b"oad"));
        if about_policies > ABOUT_POLICIES {
            break;
        }
        take(&manager, line);
    }
}

fn take(manager: &Mutex<Manager<Native>>, line: &[u8]) {
    let Some((first, rest)) = line.split_first() else { return };
    match first {
        b'r' => request(manager, Peer::ROOT, rest),
        b'a' => request(manager, ALICE, rest),
        b'b' => request(manager, BOB, rest),
        b'+' => with(manager, |engine| engine.pass(Nanos::from_millis(10))),
        b'-' => with(manager, |engine| match number(rest) {
            Some(tid) if engine.has(tid) => engine.exit(tid),
            _ => {}
        }),
        b'!' => with(manager, |engine| engine.fails_after = number(rest).map(|calls| calls as usize)),
        _ => request(manager, Peer::ROOT, line),
    }
}

fn number(digits: &[u8]) -> Option<u32> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn with(manager: &Mutex<Manager<Native>>, change: impl FnOnce(&mut Native)) {
    change(manager.lock().expect("no request has panicked").engine());
}

/// Makes a request: it is answered in the protocol's form, and a refusal changes nothing.
fn request(manager: &Mutex<Manager<Native>>, who: Peer, message: &[u8]) {
    let before = hierarchy(manager);
    let answer = answer(manager, who, message);
    let after = hierarchy(manager);
    let Some(message) = answer.message else { return };
    assert_eq!(message.iter().filter(|byte| **byte == 0).count(), 1, "one NUL, at the end");
    let reply: Value = serde_json::from_slice(&message[..message.len() - 1]).expect("JSON");
    assert!(reply["parameters"].is_object(), "{reply}");
    if let Some(error) = reply.get("error") {
        let has_done_some = reply["parameters"]["reason"].as_str().is_some_and(|it| it.contains(DONE_SOME));
        assert!(before == after || has_done_some, "{error} has changed something: {before} is now {after}");
    }
}

/// The schedulers and threads of the hierarchy, where each is, and what each is promised.
fn hierarchy(manager: &Mutex<Manager<Native>>) -> Value {
    let status = manager.lock().expect("no request has panicked").status().expect("the run goes on");
    let status = serde_json::to_value(&status).expect("texts and numbers");
    without_times(status)
}

/// A value without what changes as time passes.
fn without_times(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let stays = |name: &str| !name.ends_with("_ns");
            fields
                .into_iter()
                .filter(|(name, _)| stays(name))
                .map(|(name, it)| (name, without_times(it)))
                .collect()
        }
        Value::Array(values) => values.into_iter().map(without_times).collect(),
        other => other,
    }
}
