//! Policies are loaded, replaced and unloaded in a running hierarchy: it is done, or refused and nothing has changed.

use crate::support::{ALICE, ALICES, BOBS, Native, manager, texts};
use hls_control::{Error, Manager, Peer, PolicySource, Promisee, RunningEngine};
use hls_units::Nanos;

const ROOT: Peer = Peer::ROOT;

/// The sample policy, or another build of it.
fn source(name: &str, change: impl FnOnce(String) -> String) -> PolicySource {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/policies/asked_times.c").into();
    let text = change(std::fs::read_to_string(&path).unwrap());
    PolicySource { number: 0, name: name.into(), path, text }
}

/// The template's policy, which promises every child a twentieth, and chooses no child after `good_for` seconds.
fn turns(good_for: u64) -> PolicySource {
    let path: std::path::PathBuf =
        concat!(env!("CARGO_MANIFEST_DIR"), "/../policy-build/template/weighted_turns.c").into();
    let choice = "fifo_first_usable(h, &turns->queue, cpu)";
    let text = std::fs::read_to_string(&path).unwrap();
    let text = text
        .replace(".state_version", ".accepts = \"RESBH\", .provides = \"sbf(200ms, 1 / 20)\", .state_version")
        .replace(choice, &format!("h->now_ns < HLS_S({good_for}) ? {choice} : 0"));
    PolicySource { number: 0, name: "weighted-turns".into(), path, text }
}

/// A hierarchy in which the policy of `T`, above two threads, has been disabled.
fn after_disabling() -> Manager<Native> {
    let mut manager = manager();
    manager.load(ROOT, turns(2), false).unwrap();
    let below = texts(&[("guarantee", "RESBH 4ms 20ms"), ("quantum", "1ms")]);
    manager.create(ROOT, "weighted-turns", "T", "RES", &below).unwrap();
    for thread in [ALICES[0], BOBS] {
        let granted = manager.move_thread(ROOT, thread, "T", &texts(&[("weight", "3")])).unwrap();
        assert_eq!(granted.guarantee.to_string(), "PSBE 1/20 10ms");
    }
    while manager.engine().disabled == 0 {
        manager.engine().pass(Nanos::from_millis(7));
    }
    // This is known without any request in between.
    let fallback = manager.policies().into_iter().find(|policy| policy.name == "round-robin").unwrap();
    assert_eq!(fallback.schedulers, ["T"]);
    manager
}

fn promise_to(manager: &mut Manager<Native>, thread: u32) -> (String, String) {
    let status = manager.status().unwrap();
    let of_status = status.threads.iter().find(|it| it.thread == thread).unwrap().guarantee.clone();
    let key = manager.engine().thread(thread).unwrap().unwrap().key;
    (of_status, manager.engine().promises[&Promisee::Thread(key)].clone())
}

/// The scheduler `T`: its policy, its quantum, and its policy that was disabled.
fn of_t(manager: &mut Manager<Native>) -> (String, String, Option<String>) {
    let status = manager.status().unwrap();
    let t = status.schedulers.into_iter().find(|scheduler| scheduler.name == "T").unwrap();
    (t.policy, t.parameters["quantum"].clone(), t.disabled_policy)
}

#[test]
fn below_a_policy_that_is_disabled_round_robin_promises_what_it_can() {
    let mut manager = after_disabling();
    // PSBE 1/5 6.4ms from RESBH 4ms 20ms, to two of 10 ms a turn.
    let turns = ("PSBE 1/10 8.2ms".to_owned(), "PSBE 1/10 8.2ms".to_owned());
    assert_eq!(promise_to(&mut manager, ALICES[0]), turns);
    assert_eq!(promise_to(&mut manager, BOBS), turns);
    let (policy, quantum, disabled_policy) = of_t(&mut manager);
    assert_eq!((policy.as_str(), quantum.as_str()), ("round-robin", "10ms"));
    let violation = "weighted-turns: its grant hook chose no VP while a ready child could use the CPU";
    assert_eq!(disabled_policy.as_deref(), Some(violation));
    // Nothing else has changed, and free CPU time elsewhere can still be granted.
    let of_res = |manager: &mut Manager<Native>, name: &str| {
        let status = manager.status().unwrap();
        let found = status.schedulers.into_iter().find(|scheduler| scheduler.name == name).unwrap();
        found.processors[0].guarantee.clone()
    };
    assert_eq!(of_res(&mut manager, "T"), "RESBH 4ms 20ms");
    assert_eq!(of_res(&mut manager, "ALICE"), "RESBH 10ms 20ms");
    manager.reserve(ROOT, ALICES[1], "RESBH 1ms 20ms", Some("RES")).unwrap();
    manager.unload(ROOT, "weighted-turns", false).unwrap();
    assert_eq!(loaded(&mut manager), []);
    manager.release(ROOT, ALICES[0]).unwrap();
    manager.release(ROOT, BOBS).unwrap();
    manager.destroy(ROOT, "T").unwrap();
}

#[test]
fn a_mended_policy_is_given_back() {
    let mut manager = after_disabling();
    let report = manager.load(ROOT, turns(1_000), true).unwrap();
    assert_eq!((report.kept, report.given, report.without), (vec![], vec!["T".to_owned()], vec![]));
    assert_eq!(of_t(&mut manager), ("weighted-turns".into(), "1ms".into(), None));
    let promised = ("PSBE 1/20 10ms".to_owned(), "PSBE 1/20 10ms".to_owned());
    assert_eq!(promise_to(&mut manager, ALICES[0]), promised);
    assert_eq!(promise_to(&mut manager, BOBS), promised);
    refused(&mut manager, "in use by `T`", |manager| manager.unload(ROOT, "weighted-turns", false));

    // A policy that is no longer loaded can be given back, too.
    let mut manager = after_disabling();
    manager.unload(ROOT, "weighted-turns", false).unwrap();
    assert_eq!(manager.load(ROOT, turns(1_000), true).unwrap().given, ["T"]);

    // A build with parameters that do not fit is loaded, but not given back to its scheduler.
    let mut manager = after_disabling();
    let mut other = turns(1_000);
    other.text = other.text.replace("HLS_MS(10), HLS_US(100)", "HLS_MS(10), HLS_MS(2)");
    let report = manager.load(ROOT, other, true).unwrap();
    let reason = "`T`: parameter `quantum`: found 1ms, expected 2ms to 1s".to_owned();
    assert_eq!((report.given, report.without), (vec![], vec![reason]));
    assert_eq!(of_t(&mut manager).0, "round-robin");
}

/// The reply names the schedulers that cannot have the policy. The end of the run is not such a case.
#[test]
fn a_policy_is_not_withheld_because_the_run_ends() {
    const MANY: usize = 1_000;
    let load = |questions| {
        let mut manager = after_disabling();
        manager.engine().ends_after = Some(questions);
        let loaded = manager.load(ROOT, turns(1_000), true);
        (loaded, manager.engine().ends_after.unwrap())
    };
    let (loaded, left) = load(MANY);
    assert_eq!(loaded.unwrap().given, ["T"]);
    // The last question gives the policy back.
    let (loaded, _) = load(MANY - left - 1);
    assert!(matches!(loaded, Err(Error::Ended)), "{loaded:?}");
}

fn sample() -> PolicySource {
    source("asked-times", |text| text)
}

fn loaded(manager: &mut Manager<Native>) -> Vec<(String, Vec<String>)> {
    let policies = manager.policies().into_iter().filter(|policy| policy.file.is_some());
    policies.map(|policy| (policy.name, policy.schedulers)).collect()
}

#[track_caller]
fn refused<T: std::fmt::Debug>(
    manager: &mut Manager<Native>,
    reason: &str,
    request: impl FnOnce(&mut Manager<Native>) -> Result<T, Error>,
) {
    let before = (loaded(manager), manager.status().unwrap());
    let error = request(manager).expect_err("a refusal").to_string();
    assert!(error.contains(reason), "{error}");
    assert_eq!((loaded(manager), manager.status().unwrap()), before, "{error}");
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
    assert_eq!(loaded(&mut manager), [("asked-times".into(), vec!["A".into()])]);
    refused(&mut manager, "in use by `A`", |manager| manager.unload(ROOT, "asked-times", false));
    manager.release(ROOT, ALICES[0]).unwrap();
    manager.destroy(ROOT, "A").unwrap();
    manager.unload(ROOT, "asked-times", false).unwrap();
    assert_eq!(loaded(&mut manager), []);
    refused(&mut manager, "no policy `asked-times`", |manager| manager.unload(ROOT, "asked-times", false));
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
    assert_eq!(loaded(&mut manager), users);
}

#[test]
fn a_policy_is_replaced_where_its_schedulers_can_go_on() {
    let mut manager = manager();
    let none = "found no policy `asked-times` that was loaded, expected one that was loaded: none was";
    refused(&mut manager, none, |manager| manager.load(ROOT, sample(), true));
    manager.load(ROOT, sample(), false).unwrap();
    refused(&mut manager, "`asked-times-2` that was loaded, expected asked-times", |manager| {
        manager.load(ROOT, source("asked-times-2", |text| text), true)
    });
    manager.create(ROOT, "asked-times", "A", "RES", &texts(&[("guarantee", "RESBH 1ms 100ms")])).unwrap();
    manager.move_thread(ROOT, ALICES[0], "A", &texts(&[])).unwrap();
    refused(&mut manager, "found a policy `asked-times` already", |manager| {
        manager.load(ROOT, sample(), false)
    });
    let other = |text: String| text.replace("runs each thread at the time", "runs a thread at the time");
    let report = manager.load(ROOT, source("asked-times", other), true).unwrap();
    assert_eq!(report.kept, ["A"]);
    let is_other = |policy: &hls_client::interface::Policy| policy.what.starts_with("runs a thread");
    assert!(manager.policies().iter().any(is_other));
}

#[test]
fn a_policy_is_replaced_by_one_that_begins_anew_with_the_same_children() {
    let mut manager = manager();
    manager.load(ROOT, sample(), false).unwrap();
    let below = texts(&[("guarantee", "RESBH 1ms 100ms"), ("slot", "3ms")]);
    manager.create(ROOT, "asked-times", "A", "RES", &below).unwrap();
    manager.move_thread(ROOT, ALICES[0], "A", &texts(&[])).unwrap();
    let other = |what: &str| {
        let with = format!(".strict = true, {what}");
        source("asked-times", move |text| text.replace(".strict = true", &with))
    };
    // Its place cannot give what the new policy needs, or the new policy could not have the child: the old policy
    // stays.
    refused(&mut manager, "there is RESBH 1ms 100ms", |manager| {
        manager.load(ROOT, other(".state_version = 2, .accepts = \"ALL\""), true)
    });
    refused(&mut manager, "most_children differs", |manager| {
        manager.load(ROOT, other(".state_version = 2, .most_children = 9"), true)
    });
    let report = manager.load(ROOT, other(".state_version = 2"), true).unwrap();
    assert_eq!((report.kept, report.given, report.without), (vec![], vec!["A".to_owned()], vec![]));
    let status = manager.status().unwrap();
    let a = status.schedulers.iter().find(|scheduler| scheduler.name == "A").unwrap();
    assert_eq!((a.policy.as_str(), a.parameters["slot"].as_str()), ("asked-times", "3ms"));
    assert_eq!(a.disabled_policy, None);
    assert_eq!(status.threads.iter().find(|it| it.thread == ALICES[0]).unwrap().scheduler, "A");
}

#[test]
fn what_cannot_be_loaded_is_refused() {
    let mut manager = manager();
    refused(&mut manager, "expected root", |manager| manager.load(ALICE, sample(), false));
    refused(&mut manager, "which is built in", |manager| {
        manager.load(ROOT, source("round-robin", |text| text), false)
    });
    refused(&mut manager, "asked_times.c:", |manager| {
        manager.load(ROOT, source("asked-times", |text| text.replace("fifo_push", "no_such")), false)
    });
    refused(&mut manager, "asked_times.c", |manager| {
        manager.load(ROOT, source("asked-times", |_| "int main;".into()), false)
    });
    manager.engine().fails_after = Some(0);
    refused(&mut manager, "a test asked for", |manager| manager.load(ROOT, sample(), false));
}

#[test]
fn schedulers_are_emptied_and_go_before_their_policy_does() {
    let mut manager = manager();
    manager.load(ROOT, sample(), false).unwrap();
    manager.create(ROOT, "asked-times", "A", "RES", &texts(&[("guarantee", "RESBH 1ms 100ms")])).unwrap();
    manager.create(ROOT, "round-robin", "below", "A", &texts(&[])).unwrap();
    manager.move_thread(ROOT, ALICES[0], "A", &texts(&[])).unwrap();
    manager.move_thread(ROOT, ALICES[1], "below", &texts(&[])).unwrap();
    refused(&mut manager, "in use by `A`", |manager| manager.unload(ROOT, "asked-times", false));
    let report = manager.unload(ROOT, "asked-times", true).unwrap();
    assert_eq!((report.moved, report.destroyed), (2, vec!["below".to_owned(), "A".to_owned()]));
    assert_eq!(loaded(&mut manager), []);
    let status = manager.status().unwrap();
    assert!(status.threads.iter().filter(|it| ALICES.contains(&it.thread)).all(|it| it.scheduler == "rest"));
    // Its part of the reservations is free for others again.
    manager.reserve(ROOT, BOBS, "RESBH 35ms 100ms", Some("RES")).unwrap();
    manager.create(ROOT, "round-robin", "A", "RES", &texts(&[("guarantee", "RESBH 1ms 100ms")])).unwrap();
}

/// The engine fails at each step in turn; at the last one the engine without the policy cannot take over.
#[test]
fn an_unload_that_fails_says_what_it_has_evacuated() {
    let fails = |steps| {
        let mut manager = manager();
        manager.load(ROOT, sample(), false).unwrap();
        manager.create(ROOT, "asked-times", "A", "RES", &texts(&[("guarantee", "RESBH 1ms 100ms")])).unwrap();
        manager.move_thread(ROOT, ALICES[0], "A", &texts(&[])).unwrap();
        manager.engine().fails_after = Some(steps);
        manager.unload(ROOT, "asked-times", true).map(drop).map_err(|error| error.to_string())
    };
    let errors: Vec<String> = (0..).map_while(|steps| fails(steps).err()).collect();
    let [.., last] = &errors[..] else { panic!("no step failed") };
    let said =
        "found a failure that a test asked for; before this, the request moved 1 thread and destroyed `A`";
    assert_eq!(last, said, "{errors:?}");
}

/// A user-level scheduler is destroyed, and its pages' number freed, when the policy of the scheduler above it is
/// unloaded; when that policy is replaced, it stays.
#[test]
fn schedulers_of_processes_are_below_policies_that_come_and_go() {
    let mut manager = manager();
    manager.load(ROOT, sample(), false).unwrap();
    manager.create(ROOT, "asked-times", "A", "RES", &texts(&[("guarantee", "RESBH 1ms 100ms")])).unwrap();
    manager.promote(ROOT, "U", "A", ALICES[0], &texts(&[])).unwrap();
    manager.grant(ROOT, "U", ALICES[1], &texts(&[("slot", "3")])).unwrap();
    let scheduler = *manager.engine().pages_of.last().unwrap();
    let slots = |manager: &mut Manager<Native>| {
        let page = manager.engine().core.kernel_page(scheduler)?;
        Some([0, 3].map(|slot| page.slot[slot].child))
    };
    let both = Some([ALICES[0], ALICES[1]].map(u64::from));
    let other = |what: &str| {
        let with = format!(".strict = true, {what}");
        source("asked-times", move |text| text.replace(".strict = true", &with))
    };
    let report = manager.load(ROOT, other(".state_version = 2"), true).unwrap();
    assert_eq!((report.kept, report.given, report.without), (vec![], vec!["A".to_owned()], vec![]));
    assert_eq!(slots(&mut manager), both);
    refused(&mut manager, "in use by `A`", |manager| manager.unload(ROOT, "asked-times", false));
    let report = manager.unload(ROOT, "asked-times", true).unwrap();
    assert_eq!((report.moved, report.destroyed), (2, vec!["U".to_owned(), "A".to_owned()]));
    assert_eq!(slots(&mut manager), None);
    let status = manager.status().unwrap();
    assert!(status.threads.iter().filter(|it| ALICES.contains(&it.thread)).all(|it| it.scheduler == "rest"));
}
