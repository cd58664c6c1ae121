//! Policies that are loaded, replaced and unloaded while the hierarchy is there: done, or refused and nothing changed.

mod support;

use hls_control::{Error, Manager, Peer, PolicySource};
use support::{ALICE, ALICES, Native, manager, texts};

const ROOT: Peer = Peer::ROOT;

/// The sample policy, or another build of it.
fn source(name: &str, change: impl FnOnce(String) -> String) -> PolicySource {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/policies/asked_times.c").into();
    let text = change(std::fs::read_to_string(&path).unwrap());
    PolicySource { number: 0, name: name.into(), path, text }
}

fn sample() -> PolicySource {
    source("asked-times", |text| text)
}

fn loaded(manager: &Manager<Native>) -> Vec<(String, Vec<String>)> {
    let policies = manager.policies().into_iter().filter(|policy| policy.file.is_some());
    policies.map(|policy| (policy.name, policy.schedulers)).collect()
}

#[track_caller]
fn refused<T: std::fmt::Debug>(
    manager: &mut Manager<Native>,
    reason: &str,
    request: impl FnOnce(&mut Manager<Native>) -> Result<T, Error>,
) {
    let before = (loaded(manager), manager.status());
    let error = request(manager).expect_err("a refusal").to_string();
    assert!(error.contains(reason), "{error}");
    assert_eq!((loaded(manager), manager.status()), before, "{error}");
}

#[test]
fn a_policy_comes_is_used_and_goes() {
    let mut manager = manager();
    refused(&mut manager, "found the policy `asked-times`", |manager| {
        manager.create(ROOT, "asked-times", "A", "RES", &texts(&[]))
    });
    let report = manager.load(ROOT, sample(), false).unwrap();
    assert_eq!((report.policy.as_str(), report.kept), ("asked-times", vec![]));
    let below = texts(&[("guarantee", "RESBH 1ms 100ms"), ("slot", "1ms")]);
    manager.create(ROOT, "asked-times", "A", "RES", &below).unwrap();
    manager.move_thread(ROOT, ALICES[0], "A", &texts(&[])).unwrap();
    assert_eq!(loaded(&manager), [("asked-times".into(), vec!["A".into()])]);
    refused(&mut manager, "in use by `A`", |manager| manager.unload(ROOT, "asked-times"));
    manager.release(ROOT, ALICES[0]).unwrap();
    manager.destroy(ROOT, "A").unwrap();
    manager.unload(ROOT, "asked-times").unwrap();
    assert_eq!(loaded(&manager), []);
    refused(&mut manager, "no policy `asked-times`", |manager| manager.unload(ROOT, "asked-times"));
}

#[test]
fn several_versions_stand_beside_each_other() {
    let mut manager = manager();
    manager.load(ROOT, sample(), false).unwrap();
    manager.load(ROOT, source("asked-times-2", |text| text), false).unwrap();
    let below = texts(&[("guarantee", "RESBH 1ms 100ms")]);
    manager.create(ROOT, "asked-times", "A", "RES", &below).unwrap();
    manager.create(ROOT, "asked-times-2", "B", "RES", &below).unwrap();
    let users = [("asked-times".into(), vec!["A".into()]), ("asked-times-2".into(), vec!["B".into()])];
    assert_eq!(loaded(&manager), users);
}

#[test]
fn a_policy_is_replaced_where_its_schedulers_can_go_on() {
    let mut manager = manager();
    manager.load(ROOT, sample(), false).unwrap();
    manager.create(ROOT, "asked-times", "A", "RES", &texts(&[("guarantee", "RESBH 1ms 100ms")])).unwrap();
    manager.move_thread(ROOT, ALICES[0], "A", &texts(&[])).unwrap();
    refused(&mut manager, "found a policy `asked-times` already", |manager| {
        manager.load(ROOT, sample(), false)
    });
    let other = |text: String| text.replace("runs each thread at the time", "runs a thread at the time");
    let report = manager.load(ROOT, source("asked-times", other), true).unwrap();
    assert_eq!(report.kept, ["A"]);
    let is_other = |policy: &hls_control::PolicyStatus| policy.what.starts_with("runs a thread");
    assert!(manager.policies().iter().any(is_other));
    let version = |text: String| text.replace(".strict = true", ".strict = true, .state_version = 2");
    refused(&mut manager, "state_version differs", |manager| {
        manager.load(ROOT, source("asked-times", version), true)
    });
}

#[test]
fn what_cannot_be_is_refused() {
    let mut manager = manager();
    refused(&mut manager, "expected root", |manager| manager.load(ALICE, sample(), false));
    refused(&mut manager, "which is built in", |manager| {
        manager.load(ROOT, source("round-robin", |text| text), false)
    });
    refused(&mut manager, "asked_times.c:", |manager| {
        manager.load(ROOT, source("asked-times", |text| text.replace("list_push_tail", "no_such")), false)
    });
    refused(&mut manager, "asked_times.c", |manager| {
        manager.load(ROOT, source("asked-times", |_| "int main;".into()), false)
    });
    manager.engine().fails_after = Some(0);
    refused(&mut manager, "a test asked for", |manager| manager.load(ROOT, sample(), false));
}
