//! Every operation, granted and refused, on the native core: the request is carried out, or nothing has changed.

use crate::support::{
    ALICE, ALICES, BOB, BOBS, FILE, Native, VIDEO, at, manager, manager_of, place, refused, still, texts,
};
use hls_calculus::GraphEdge;
use hls_control::{Error, Manager, Peer, Promisee};
use hls_core::{CoreScheduler, Params};
use hls_units::Nanos;

const ROOT: Peer = Peer::ROOT;

#[test]
fn the_file_is_there() {
    let mut manager = manager();
    let status = manager.status().unwrap();
    let names: Vec<&str> = status.schedulers.iter().map(|scheduler| scheduler.name.as_str()).collect();
    assert_eq!(names, ["FP", "RES", "rest", "ALICE"], "parents first");
    let alice = &status.schedulers[3];
    assert_eq!((alice.owner, alice.default), (Some(ALICE.uid), false));
    assert_eq!(alice.parameters, texts(&[("quantum", "1ms")]));
    assert_eq!(alice.processors[0].parent.as_deref(), Some("RES"));
    assert_eq!(alice.processors[0].guarantee, "RESBH 10ms 20ms");
    assert_eq!(place(&mut manager, VIDEO), at("RES", "RESBH 5ms 50ms"));
    assert_eq!(place(&mut manager, ALICES[0]), at("rest", "NULL"));
}

#[test]
fn a_reservation_begins_and_ends() {
    let mut manager = manager();
    let granted = manager.reserve(ROOT, BOBS, "RESBH 3ms 30ms", None).unwrap();
    assert_eq!((&granted.scheduler[..], granted.guarantee.to_string()), ("RES", "RESBH 3ms 30ms".into()));
    assert_eq!(place(&mut manager, BOBS), at("RES", "RESBH 3ms 30ms"));
    // The new reservation replaces the first: both together would not fit.
    manager.reserve(ROOT, BOBS, "RESBH 10ms 30ms", Some("RES")).unwrap();
    assert_eq!(place(&mut manager, BOBS), at("RES", "RESBH 10ms 30ms"));
    manager.release(ROOT, BOBS).unwrap();
    assert_eq!(place(&mut manager, BOBS), at("rest", "NULL"));
    manager.release(ROOT, BOBS).unwrap();
    manager.engine().pass(Nanos::from_millis(30));
    manager.reserve(ROOT, ALICES[0], "RESBS 12ms 30ms", None).unwrap();
}

/// A thread that leaves may have had its whole budget of the present period: the place counts until that is over. Where
/// the thread stays below the scheduler, that scheduler goes on with the thread, and nothing is left behind.
#[test]
fn a_place_counts_until_its_period_is_over() {
    let mut manager = manager();
    let reserve = |it: &mut Manager<Native>| it.reserve(ROOT, ALICES[0], "RESBH 12ms 30ms", None);
    manager.reserve(ROOT, BOBS, "RESBH 5ms 50ms", None).unwrap();
    manager.reserve(ROOT, BOBS, "RESBH 12ms 30ms", None).unwrap();
    manager.release(ROOT, BOBS).unwrap();
    let error = refused(&mut manager, "140% > 100%", reserve);
    assert!(error.to_string().contains("; 1 place that was left still counts, for "), "{error}");
    manager.engine().pass(Nanos::from_millis(29));
    refused(&mut manager, "1 place that was left still counts, for 9", reserve);
    manager.engine().pass(Nanos::from_millis(1));
    reserve(&mut manager).unwrap();
}

#[test]
fn a_reservation_that_does_not_fit_is_refused_with_what_would() {
    let mut manager = manager();
    let error = refused(&mut manager, "110% > 100%", |it| it.reserve(ROOT, BOBS, "RESBH 50ms 100ms", None));
    let Error::Refused(refusal) = error else { panic!("{error:?}") };
    assert_eq!(refusal.mend().as_deref(), Some("RESBH 40ms 100ms"));
    manager.reserve(ROOT, BOBS, &refusal.mend().unwrap(), None).unwrap();
}

#[test]
fn what_is_no_reservation_is_refused() {
    let mut manager = manager();
    refused(&mut manager, "expected", |it| it.reserve(ROOT, BOBS, "RESBH 5ms", None));
    refused(&mut manager, "expected", |it| it.reserve(ROOT, BOBS, "RESBH 9ms 5ms", None));
    refused(&mut manager, "by itself", |it| it.reserve(ROOT, BOBS, "PSBE 1/4 10ms", None));
    refused(&mut manager, "1us to 3600s", |it| it.reserve(ROOT, BOBS, "RESBH 10ns 20ns", None));
    refused(&mut manager, "thread 4711", |it| it.reserve(ROOT, 4711, "RESBH 1ms 30ms", None));
    refused(&mut manager, "no scheduler `X`", |it| it.reserve(ROOT, BOBS, "RESBH 1ms 30ms", Some("X")));
    refused(&mut manager, "needs", |it| it.reserve(ROOT, BOBS, "RESBH 1ms 30ms", Some("rest")));
}

#[test]
fn a_thread_moves_and_takes_part() {
    let mut manager = manager();
    let granted = manager.move_thread(ROOT, ALICES[0], "ALICE", &texts(&[("share", "3")])).unwrap();
    assert_eq!(granted.scheduler, "ALICE");
    assert_ne!(place(&mut manager, ALICES[0]).1, "NULL");
    // Its sibling would take away what it was promised.
    let half = texts(&[("guarantee", "PSBE 1/10 30ms")]);
    manager.move_thread(ROOT, ALICES[1], "ALICE", &half).unwrap();
    let large = texts(&[("share", "1000")]);
    refused(&mut manager, "needs PSBE", |it| it.move_thread(ROOT, ALICES[2], "ALICE", &large));
    manager.move_thread(ROOT, ALICES[2], "rest", &texts(&[("priority", "9")])).unwrap();
    assert_eq!(place(&mut manager, ALICES[2]), at("rest", "NULL"));
}

/// A limit for each user other than root. What root places is root's.
#[test]
fn a_user_places_a_limited_number_of_threads() {
    const MOST: u32 = 1024;
    let mut manager = manager();
    let (first, none) = (1000, texts(&[]));
    manager.create(ALICE, "round-robin", "RR", "ALICE", &none).unwrap();
    for tid in first..=first + MOST {
        manager.engine().spawn(tid, Some(ALICE.uid), None);
    }
    (first..first + MOST).for_each(|tid| drop(manager.move_thread(ALICE, tid, "RR", &none).unwrap()));
    let found = "found 1024 threads that user 1000 has placed";
    refused(&mut manager, found, |it| it.move_thread(ALICE, first + MOST, "RR", &none));
    manager.move_thread(ROOT, first + MOST, "RR", &none).unwrap();
    manager.move_thread(ALICE, first, "RR", &none).unwrap();
    // The threads end: others have room.
    (first..first + MOST).for_each(|tid| manager.engine().exit(tid));
    manager.sweep().unwrap();
    manager.engine().pass(Nanos::from_millis(60_000));
    manager.move_thread(ALICE, ALICES[0], "RR", &none).unwrap();
}

/// A response time that takes millions of terms to find: a user's request is refused; root's is
/// decided.
#[test]
fn what_is_too_hard_to_check_is_refused() {
    let file = r#"
        fixed-priority "FP" {
            deferrable-server "ALICE" priority=2
            time-sharing "rest" priority=0 { thread "video" }
        }
    "#;
    let mut manager = manager_of(file);
    let most = texts(&[("budget", "999999ns"), ("period", "1ms"), ("priority", "2")]);
    manager.move_thread(ALICE, ALICES[0], "ALICE", &most).unwrap();
    let hard = texts(&[("budget", "3ms"), ("period", "3600s"), ("priority", "1")]);
    let found =
        "too hard to check: ALICE: needs a check of at most 20000 steps, but there is one that takes more";
    let error = refused(&mut manager, found, |it| it.move_thread(ALICE, ALICES[1], "ALICE", &hard));
    let Error::Refused(refusal) = error else { panic!("{error:?}") };
    assert_eq!(refusal.mend(), None, "the search for one is as hard");
    manager.move_thread(ROOT, ALICES[1], "ALICE", &hard).unwrap();
}

/// A reservation that each of two schedulers refuses after 10,000 steps and more: both together are too hard.
#[test]
fn all_schedulers_that_are_asked_count_together() {
    let file = r#"
        machine cpus=2
        fixed-priority "FP" {
            resource-kernel "ALICE" priority=2 width=1
            resource-kernel "MORE" priority=1 width=1
            time-sharing "rest" priority=0
        }
    "#;
    let (native, layout) = Native::new(file, &[("ALICE", ALICE.uid), ("MORE", ALICE.uid)]);
    let mut manager = Manager::new(native, layout, hls_calculus::Mode::Tight).unwrap();
    ALICES.into_iter().for_each(|tid| manager.engine().spawn(tid, Some(ALICE.uid), None));
    for (tid, below) in ALICES.into_iter().zip(["ALICE", "MORE"]) {
        manager.reserve(ALICE, tid, "RESBH 999999ns 1ms", Some(below)).unwrap();
    }
    let late = "RESBH 1ms 800s";
    for below in ["ALICE", "MORE"] {
        refused(&mut manager, "in a period", |it| it.reserve(ALICE, ALICES[2], late, Some(below)));
    }
    refused(&mut manager, "too hard to check: MORE", |it| it.reserve(ALICE, ALICES[2], late, None));
    refused(&mut manager, "in a period", |it| it.reserve(ROOT, ALICES[2], late, None));
}

/// Hundreds of reservations below a join of root's, and more of a user's: a request of either is checked.
#[test]
fn large_hierarchies_are_not_too_hard_to_check() {
    let threads = |first: u32, count: u32, guarantee: &str| -> String {
        let thread = |tid: u32| format!("thread \"t{tid}\" guarantee=\"{guarantee}\"\n");
        (first..first + count).map(thread).collect()
    };
    let file = format!(
        r#"
        fixed-priority "FP" {{
            reservation "RES" priority=2 {{
                thread "video" guarantee="RESBH 5ms 50ms"
                {}
                join "J" guarantee="RESBH 10ms 20ms"
                join "K" guarantee="RESBH 7ms 70ms"
            }}
            join "J" priority=1
            time-sharing "rest" priority=0
        }}
        reservation "ALICE" parent="J" {{ {} }}
        reservation "BELOW" parent="K" {{ {} }}
        "#,
        threads(0, 200, "RESBH 1ms 1s"),
        threads(200, 200, "RESBH 1ms 1s"),
        threads(400, 50, "RESBH 1ms 1s"),
    );
    let mut manager = manager_of(&file);
    manager.reserve(ROOT, BOBS, "RESBH 1ms 1001ms", Some("RES")).unwrap();
    manager.reserve(ROOT, BOBS, "RESBH 1ms 1003ms", Some("BELOW")).unwrap();
    manager.reserve(ALICE, ALICES[0], "RESBH 1ms 1003ms", Some("ALICE")).unwrap();
}

#[test]
fn bad_parameters_are_refused() {
    let mut manager = manager();
    let mut bad = |reason: &str, to: &str, with: &[(&str, &str)]| {
        let texts = texts(with);
        refused(&mut manager, reason, |it| it.move_thread(ROOT, BOBS, to, &texts));
    };
    bad("no `budget`", "RES", &[]);
    bad("a time with a unit", "RES", &[("budget", "5"), ("period", "30ms")]);
    bad("whole number", "ALICE", &[("share", "+3")]);
    bad("expected 1 to 131072", "ALICE", &[("share", "0")]);
    bad("parameter `shares`", "ALICE", &[("shares", "3")]);
    bad("as the guarantee has it", "RES", &[("guarantee", "RESBH 1ms 30ms"), ("budget", "2ms")]);
    bad("found no scheduler", "NOWHERE", &[]);
}

#[test]
fn a_scheduler_is_created_used_and_destroyed() {
    let mut manager = manager();
    let own = texts(&[("guarantee", "RESBH 4ms 20ms"), ("quantum", "2ms")]);
    let granted = manager.create(ROOT, "proportional-share", "NEW", "RES", &own).unwrap();
    assert_eq!(granted.guarantee.to_string(), "RESBH 4ms 20ms");
    manager.move_thread(ROOT, BOBS, "NEW", &texts(&[])).unwrap();
    refused(&mut manager, "thread 200 below `NEW`", |it| it.destroy(ROOT, "NEW"));
    refused(&mut manager, "already", |it| it.create(ROOT, "round-robin", "NEW", "RES", &own));
    manager.create(ROOT, "round-robin", "RR", "NEW", &texts(&[("share", "2")])).unwrap();
    manager.release(ROOT, BOBS).unwrap();
    refused(&mut manager, "`RR` below `NEW`", |it| it.destroy(ROOT, "NEW"));
    manager.destroy(ROOT, "RR").unwrap();
    let before = still(&mut manager);
    manager.create(ROOT, "reservation", "RR", "NEW", &texts(&[])).unwrap();
    manager.destroy(ROOT, "RR").unwrap();
    assert_eq!(still(&mut manager), before);
    manager.destroy(ROOT, "NEW").unwrap();
    refused(&mut manager, "still counts, for", |it| it.reserve(ROOT, BOBS, "RESBH 8ms 20ms", None));
    manager.engine().pass(Nanos::from_millis(20));
    manager.reserve(ROOT, BOBS, "RESBH 8ms 20ms", None).expect("what was given back can be given again");
}

#[test]
fn what_cannot_be_created_or_destroyed_is_refused() {
    let mut manager = manager();
    let (none, large) = (texts(&[]), texts(&[("guarantee", "RESBH 19ms 20ms")]));
    refused(&mut manager, "155% > 100%", |it| it.create(ROOT, "round-robin", "RR", "RES", &large));
    refused(&mut manager, "policy `fair`", |it| it.create(ROOT, "fair", "L", "FP", &none));
    refused(&mut manager, "no `priority`", |it| it.create(ROOT, "round-robin", "RR", "FP", &none));
    refused(&mut manager, "the name \"\"", |it| it.create(ROOT, "round-robin", "", "rest", &none));
    refused(&mut manager, "hidden characters", |it| {
        it.create(ROOT, "round-robin", "\u{1b}[2J", "rest", &none)
    });
    refused(&mut manager, "the root", |it| it.destroy(ROOT, "FP"));
    refused(&mut manager, "the default", |it| it.destroy(ROOT, "rest"));
    refused(&mut manager, "a thread of the file", |it| it.destroy(ROOT, "ALICE"));
    refused(&mut manager, "no scheduler", |it| it.destroy(ROOT, "X"));
}

/// Otherwise a thread could get more than twice its budget each time.
#[test]
fn a_budget_that_the_machine_cannot_enforce_is_refused() {
    let mut manager = manager();
    let small = texts(&[("guarantee", "RESBH 29us 20ms")]);
    let reason = "parameter `budget`: found 29us, expected 30us at least";
    refused(&mut manager, reason, |it| it.create(ROOT, "round-robin", "RR", "RES", &small));
    refused(&mut manager, reason, |it| it.reserve(ROOT, BOBS, "RESBH 29us 20ms", None));
    refused(&mut manager, reason, |it| it.move_thread(ROOT, BOBS, "RES", &small));
    manager.reserve(ROOT, BOBS, "RESBH 30us 20ms", None).unwrap();
    refused(&mut manager, reason, |it| it.message(ROOT, BOBS, "budget", "29us"));
}

#[test]
fn a_message_changes_one_parameter() {
    let mut manager = manager();
    manager.reserve(ROOT, BOBS, "RESBH 3ms 30ms", None).unwrap();
    let granted = manager.message(ROOT, BOBS, "budget", "6ms").unwrap();
    assert_eq!(granted.guarantee.to_string(), "RESBH 6ms 30ms");
    refused(&mut manager, "> 100%", |it| it.message(ROOT, BOBS, "budget", "25ms"));
    refused(&mut manager, "expected", |it| it.message(ROOT, BOBS, "budget", "31ms"));
    refused(&mut manager, "parameter `share`", |it| it.message(ROOT, BOBS, "share", "2"));
    refused(&mut manager, "with a unit", |it| it.message(ROOT, BOBS, "budget", "6"));
    // The default scheduler promises nothing, so the calculus is not asked.
    manager.message(ROOT, ALICES[0], "priority", "3").unwrap();
    assert_eq!(place(&mut manager, ALICES[0]), at("rest", "NULL"));
}

/// A thread that stays below its scheduler goes on with its old period first: a new promise begins when that period has
/// passed. A thread that comes from elsewhere begins anew.
#[test]
fn a_promise_that_replaces_another_begins_after_it() {
    let mut manager = manager();
    let begins_after = |manager: &mut Manager<Native>, tid: u32| {
        let of_thread = |who: &Promisee| matches!(who, Promisee::Thread(thread) if thread.tid == tid);
        let all = &manager.engine().begins_after;
        all.iter().find(|(who, _)| of_thread(who)).map(|(_, after)| after.to_string())
    };
    manager.reserve(ROOT, BOBS, "RESBH 1ms 100ms", None).unwrap();
    assert_eq!(begins_after(&mut manager, BOBS).as_deref(), Some("0s"));
    manager.reserve(ROOT, BOBS, "RESBH 1ms 20ms", None).unwrap();
    assert_eq!(begins_after(&mut manager, BOBS).as_deref(), Some("100ms"));
    manager.message(ROOT, BOBS, "budget", "2ms").unwrap();
    assert_eq!(begins_after(&mut manager, BOBS).as_deref(), Some("20ms"));
    manager.release(ROOT, BOBS).unwrap();
    manager.reserve(ROOT, BOBS, "RESBH 1ms 20ms", None).unwrap();
    assert_eq!(begins_after(&mut manager, BOBS).as_deref(), Some("0s"));
    // The file's promise to the place that the thread had.
    manager.message(ROOT, VIDEO, "budget", "10ms").unwrap();
    assert_eq!(begins_after(&mut manager, VIDEO).as_deref(), Some("50ms"));
}

#[test]
fn the_place_of_a_file_stays_promised() {
    let mut manager = manager();
    manager.message(ROOT, VIDEO, "budget", "10ms").unwrap();
    assert_eq!(place(&mut manager, VIDEO), at("RES", "RESBH 10ms 50ms"));
    manager.release(ROOT, VIDEO).unwrap();
    // The place takes 10%, Alice 50%.
    manager.engine().pass(Nanos::from_millis(50));
    refused(&mut manager, "> 100%", |it| it.reserve(ROOT, VIDEO, "RESBH 41ms 100ms", None));
    manager.reserve(ROOT, VIDEO, "RESBH 40ms 100ms", None).unwrap();
}

#[test]
fn a_thread_that_ends_gives_back_what_it_had() {
    let mut manager = manager();
    manager.reserve(ROOT, BOBS, "RESBH 12ms 30ms", None).unwrap();
    refused(&mut manager, "> 100%", |it| it.reserve(ROOT, ALICES[0], "RESBH 3ms 30ms", None));
    manager.engine().exit(BOBS);
    // Its number goes to another thread.
    manager.engine().spawn(BOBS, Some(ALICE.uid), None);
    refused(&mut manager, "still counts, for", |it| it.reserve(ROOT, ALICES[0], "RESBH 3ms 30ms", None));
    manager.engine().pass(Nanos::from_millis(30));
    manager.reserve(ROOT, ALICES[0], "RESBH 3ms 30ms", None).unwrap();
    assert_eq!(place(&mut manager, BOBS), at("rest", "NULL"));
}

#[test]
fn a_user_manages_what_is_below_its_scheduler() {
    let mut manager = manager();
    let quantum = texts(&[("share", "2")]);
    manager.create(ALICE, "reservation", "mine", "ALICE", &quantum).unwrap();
    let granted = manager.reserve(ALICE, ALICES[0], "RESBH 1ms 100ms", None).unwrap();
    assert_eq!(granted.scheduler, "mine", "not RES, which is not hers");
    refused(&mut manager, "mine: needs", |it| it.reserve(ALICE, ALICES[1], "RESBH 60ms 100ms", None));
    manager.message(ALICE, ALICES[0], "budget", "2ms").unwrap();
    manager.move_thread(ALICE, ALICES[1], "ALICE", &quantum).unwrap();
    manager.release(ALICE, ALICES[0]).unwrap();
    manager.release(ALICE, ALICES[1]).unwrap();
    manager.destroy(ALICE, "mine").unwrap();
}

#[test]
fn a_user_manages_nothing_else() {
    let mut manager = manager();
    let none = texts(&[]);
    let high = texts(&[("priority", "9")]);
    let m = &mut manager;
    let mut denied = |request: &mut dyn FnMut(&mut Manager<Native>) -> Result<(), Error>| {
        let error = refused(m, "expected", request);
        assert!(matches!(error, Error::Denied(_)), "{error:?}");
    };
    denied(&mut |it| it.create(ALICE, "round-robin", "X", "FP", &high).map(drop));
    denied(&mut |it| it.create(BOB, "round-robin", "X", "ALICE", &none).map(drop));
    denied(&mut |it| it.destroy(ALICE, "ALICE"));
    denied(&mut |it| it.move_thread(ALICE, BOBS, "ALICE", &none).map(drop));
    denied(&mut |it| it.move_thread(BOB, BOBS, "ALICE", &none).map(drop));
    denied(&mut |it| it.move_thread(BOB, BOBS, "rest", &high).map(drop));
    denied(&mut |it| it.message(BOB, BOBS, "priority", "9").map(drop));
    denied(&mut |it| it.reserve(BOB, ALICES[0], "RESBH 1ms 30ms", None).map(drop));
    denied(&mut |it| it.reserve(BOB, BOBS, "RESBH 1ms 30ms", Some("RES")).map(drop));
    // The file has put this thread there, and Bob may not take it away.
    denied(&mut |it| it.release(BOB, VIDEO));
    denied(&mut |it| it.reserve(BOB, BOBS, "RESBH 1ms 30ms", None).map(drop));
    m.engine().spawn(300, None, None);
    refused(m, "of several users", |it| it.move_thread(ALICE, 300, "ALICE", &none));
}

#[test]
fn a_user_has_a_limited_number_of_schedulers() {
    let mut manager = manager();
    let create = |it: &mut Manager<Native>, n: u32| {
        it.create(ALICE, "round-robin", &format!("RR{n}"), "ALICE", &texts(&[]))
    };
    (0..64).for_each(|n| drop(create(&mut manager, n).unwrap()));
    refused(&mut manager, "at most 64", |it| create(it, 64));
    manager.destroy(ALICE, "RR7").unwrap();
    create(&mut manager, 64).unwrap();
}

/// The engine fails at its first call, at its second, and so on: each time everything is undone.
#[test]
fn what_the_engine_fails_at_is_undone() {
    let two = format!("machine cpus=2\n{FILE}").replace("reservation \"RES\"", "reservation \"RES\" width=1");
    let mut manager = manager_of(&two);
    let none = texts(&[]);
    let mut failures = 0;
    let mut attempt = |request: &dyn Fn(&mut Manager<Native>) -> Result<(), Error>| {
        for calls in 0.. {
            let before = still(&mut manager);
            manager.engine().fails_after = Some(calls);
            let result = request(&mut manager);
            if manager.engine().fails_after.take().is_some() {
                return result.unwrap();
            }
            assert!(result.unwrap_err().to_string().ends_with("a test asked for"));
            assert_eq!(still(&mut manager), before, "{calls} calls");
            failures += 1;
        }
    };
    attempt(&|it| it.create(ROOT, "time-sharing", "TS", "rest", &none).map(drop));
    attempt(&|it| it.move_thread(ROOT, BOBS, "TS", &none).map(drop));
    attempt(&|it| it.message(ROOT, BOBS, "priority", "1").map(drop));
    attempt(&|it| it.release(ROOT, BOBS));
    attempt(&|it| it.destroy(ROOT, "TS"));
    assert_eq!(failures, 3 + 1 + 1 + 1 + 3, "two VPs below `rest`, one a CPU");
}

#[test]
fn the_monitor_gets_every_promise_that_changes() {
    let mut manager = manager();
    assert_eq!(manager.engine().promises.len(), 0, "it knows the file");
    let granted = manager.move_thread(ROOT, ALICES[0], "ALICE", &texts(&[("share", "1")])).unwrap();
    let promise = |it: &mut Manager<Native>, tid: u32| {
        let key = hls_control::RunningEngine::thread(it.engine(), tid).unwrap().expect("a living thread").key;
        it.engine().promises.get(&Promisee::Thread(key)).cloned()
    };
    let first = Some(granted.guarantee.rounded_for_people());
    assert_eq!(promise(&mut manager, ALICES[0]), first);
    let place = |it: &mut Manager<Native>| {
        let places = it.engine().promises.iter().filter(|(to, _)| matches!(to, Promisee::Place(_)));
        places.map(|(_, promise)| promise.clone()).collect::<Vec<_>>()
    };
    let of_place = place(&mut manager);
    assert_eq!(of_place.len(), 1, "the place of `first` has a sibling, the place of `video` has none");
    manager.move_thread(ROOT, ALICES[1], "ALICE", &texts(&[("share", "2")])).unwrap();
    assert_ne!(promise(&mut manager, ALICES[0]), first, "a sibling takes a part of it");
    assert_ne!(place(&mut manager), of_place);
    // The same promise again is a new one; the sibling's promise goes on.
    manager.engine().promised = 0;
    manager.move_thread(ROOT, ALICES[1], "ALICE", &texts(&[("share", "2")])).unwrap();
    assert_eq!(manager.engine().promised, 1);
    manager.release(ROOT, ALICES[0]).unwrap();
    assert_eq!(promise(&mut manager, ALICES[0]), None);
    manager.engine().exit(ALICES[1]);
    manager.sweep().unwrap();
    let left = manager.engine().promises.keys().filter(|to| matches!(to, Promisee::Thread(_))).count();
    assert_eq!((left, promise_of_schedulers(&mut manager)), (0, vec![]));
    // A scheduler's promise ends with its VP.
    let own = texts(&[("guarantee", "RESBH 4ms 20ms")]);
    manager.create(ROOT, "proportional-share", "NEW", "RES", &own).unwrap();
    assert_eq!(promise_of_schedulers(&mut manager), ["RESBH 4ms 20ms"]);
    manager.destroy(ROOT, "NEW").unwrap();
    assert_eq!(promise_of_schedulers(&mut manager), [""; 0]);
}

fn promise_of_schedulers(manager: &mut Manager<Native>) -> Vec<String> {
    let promises = manager.engine().promises.iter();
    let of_schedulers = promises.filter(|(to, _)| matches!(to, Promisee::Scheduler(_)));
    of_schedulers.map(|(_, promise)| promise.clone()).collect()
}

/// A share is for a child as a whole: each VP of a child with several VPs has a part of it.
#[test]
fn shares_of_wide_children_are_parted() {
    let file = FILE.replace("fixed-priority", "machine cpus=2\nfixed-priority");
    let mut manager = manager_of(&file);
    manager.create(ROOT, "proportional-share", "PS", "FP", &texts(&[("priority", "1")])).unwrap();
    let wide = manager.create(ROOT, "round-robin", "RR", "PS", &texts(&[("share", "3")]));
    wide.unwrap();
    let status = manager.status().unwrap();
    let of = |name: &str| status.schedulers.iter().find(|it| it.name == name).unwrap().processors.len();
    assert_eq!((of("PS"), of("RR")), (2, 2));
}

/// As in a file: as many VPs as its place has, or fewer if the request says so.
#[test]
fn a_scheduler_has_as_many_vps_as_it_is_to_have() {
    let mut manager = manager_of(&FILE.replace("fixed-priority", "machine cpus=3\nfixed-priority"));
    let of = |manager: &mut Manager<Native>, name: &str| {
        let status = manager.status().unwrap();
        status.schedulers.iter().find(|it| it.name == name).unwrap().processors.len()
    };
    let create = |it: &mut Manager<Native>, name: &str, below: &str, own: (&str, &str), width: &str| {
        it.create(ROOT, "proportional-share", name, below, &texts(&[own, ("width", width)]))
    };
    for width in [1, 2, 3] {
        let (name, width) = (format!("PS{width}"), width.to_string());
        create(&mut manager, &name, "FP", ("priority", "1"), &width).unwrap();
        assert_eq!(of(&mut manager, &name).to_string(), width);
    }
    for width in ["0", "4", "+1", "x"] {
        let reason = format!("parameter `width`: found {width}, expected 1 to 3");
        refused(&mut manager, &reason, |it| create(it, "X", "FP", ("priority", "0"), width));
    }
    refused(&mut manager, "found 2, expected 1 to 1", |it| create(it, "X", "PS1", ("share", "1"), "2"));
    // A share of 1 cannot be halved here, as the scale counts in thirds.
    refused(&mut manager, "found 2, expected one that divides the shares below `PS3`", |it| {
        create(it, "X", "PS3", ("share", "1"), "2")
    });
    create(&mut manager, "X", "PS3", ("share", "1"), "3").unwrap();
    refused(&mut manager, "parameter `width`", |it| {
        it.move_thread(ROOT, BOBS, "X", &texts(&[("width", "1")]))
    });
}

#[test]
fn a_pinned_thread_is_promised_nothing_on_several_cpus() {
    let file = format!("machine cpus=2\n{FILE}");
    let mut manager = manager_of(&file);
    manager.engine().pin(BOBS);
    refused(&mut manager, "every CPU", |it| it.reserve(ROOT, BOBS, "RESBH 1ms 30ms", None));
}

/// The CPU time of hls's own threads comes before the file and is not part of what the file promises: nothing else
/// may be promised there, and no thread there may leave.
#[test]
fn requests_do_not_reach_what_hls_has_added_for_itself() {
    let file = r#"
fixed-priority "all" {
    reservation "RES" priority=1 {
        thread "video" guarantee="RESBH 10ms 33ms"
        reservation "for-hls" guarantee="RESBH 5ms 20ms" {
            round-robin "hls" guarantee="RESBH 1ms 100ms" { thread "own" }
        }
    }
    time-sharing "rest" priority=0 { thread "other" }
}
"#;
    const OWN: u32 = 300;
    let mut manager = manager_of(file);
    // The core numbers schedulers in the order of the file.
    let below_hls = (GraphEdge(3), CoreScheduler(4), Params::default());
    manager.engine().spawn(OWN, Some(ROOT.uid), Some(below_hls));
    assert_eq!(place(&mut manager, OWN).0, "hls");
    let what = "which hls has added for its own threads";
    refused(&mut manager, what, |it| it.reserve(ROOT, BOBS, "RESBH 15ms 20ms", Some("for-hls")));
    refused(&mut manager, what, |it| it.move_thread(ROOT, BOBS, "hls", &texts(&[])));
    refused(&mut manager, what, |it| {
        it.create(ROOT, "round-robin", "X", "for-hls", &texts(&[("guarantee", "RESBH 1ms 50ms")]))
    });
    refused(&mut manager, what, |it| it.move_thread(ROOT, OWN, "rest", &texts(&[])));
    refused(&mut manager, what, |it| it.reserve(ROOT, OWN, "RESBH 1ms 20ms", None));
    refused(&mut manager, what, |it| it.release(ROOT, OWN));
    refused(&mut manager, what, |it| it.suspend(ROOT, OWN, None));
    refused(&mut manager, "130.4% > 100%", |it| it.reserve(ROOT, BOBS, "RESBH 15ms 20ms", None));
    let granted = manager.reserve(ROOT, BOBS, "RESBH 10ms 33ms", None).unwrap();
    assert_eq!(granted.scheduler, "RES");
}

/// Otherwise any user could exempt its threads from the rules of the file.
#[test]
fn a_thread_that_nobody_has_placed_is_released_without_a_change() {
    let mut manager = manager();
    manager.engine().spawn(300, Some(BOB.uid), None);
    manager.engine().fails_after = Some(0);
    manager.release(BOB, 300).unwrap();
    assert_eq!(manager.engine().fails_after, Some(0), "the engine was not called");
}
