//! User-level schedulers: promote, demote, grant and revoke on the native core, and over the socket.

use crate::support::{
    ALICE, ALICES, BOB, BOBS, FILE, KERNEL_PAGE, Native, PATIENCE, USER_PAGE, VIDEO, at, manager, manager_of,
    place, refused, still, texts, with_server,
};
use hls_client::interface::{self, Demote, DemoteReply, Failure, Grant, Promote, Revoke, Status};
use hls_client::{Client, ClientError, Pages};
use hls_control::{Error, Manager, Peer, Socket, client_of, serve};
use hls_core::PolicyInfo;
use hls_core::pages::KernelPage;
use hls_units::Nanos;
use std::os::fd::OwnedFd;
use std::os::linux::fs::MetadataExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, mpsc};
use std::time::Duration;

const ROOT: Peer = Peer::ROOT;
const AGENT: u32 = ALICES[0];
const FIRST: u32 = ALICES[1];
const SECOND: u32 = ALICES[2];
/// The first of many more threads of Alice's.
const CROWD: u32 = 1000;

/// A hierarchy in which Alice has promoted her first thread.
fn promoted() -> Manager<Native> {
    let mut manager = manager();
    manager.promote(ALICE, "U", "ALICE", AGENT, &texts(&[])).unwrap();
    manager
}

fn policy() -> &'static PolicyInfo {
    hls_core::policies().iter().find(|policy| policy.name == "user-level").expect("it is built in")
}

/// The page that the core writes for the scheduler that got its pages last.
fn page(manager: &mut Manager<Native>) -> KernelPage {
    let native = manager.engine();
    let scheduler = *native.pages_of.last().expect("pages that were made");
    *native.core.kernel_page(scheduler).expect("a scheduler with pages")
}

/// The children by slots.
fn children(manager: &mut Manager<Native>) -> Vec<(usize, u64)> {
    let slots = page(manager).slot.into_iter().map(|slot| slot.child).enumerate();
    slots.filter(|(_, child)| *child != 0).collect()
}

fn names(manager: &mut Manager<Native>) -> Vec<String> {
    manager.status().unwrap().schedulers.into_iter().map(|scheduler| scheduler.name).collect()
}

/// Which of the files that stand for pages this is.
fn is(page: &OwnedFd, file: &str) -> bool {
    let page = std::fs::File::from(page.try_clone().unwrap());
    page.metadata().unwrap().st_rdev() == std::fs::metadata(file).unwrap().st_rdev()
}

#[test]
fn a_thread_becomes_the_agent_of_a_new_scheduler() {
    let mut manager = manager();
    let own = texts(&[("allowance", "2ms"), ("share", "3")]);
    let promoted = manager.promote(ALICE, "U", "ALICE", AGENT, &own).unwrap();
    assert_eq!((&promoted.granted.scheduler[..], promoted.width), ("U", 1));
    let Pages { kernel, user } = promoted.pages;
    assert!(is(&kernel, KERNEL_PAGE) && is(&user, USER_PAGE));
    assert_eq!(place(&mut manager, AGENT).0, "U");
    assert_eq!(children(&mut manager), [(0, AGENT.into())]);
    let status = manager.status().unwrap();
    let scheduler = status.schedulers.iter().find(|scheduler| scheduler.name == "U").unwrap();
    assert_eq!((&scheduler.policy[..], &scheduler.parameters["allowance"][..]), ("user-level", "2ms"));
    assert_eq!(
        scheduler.decided.as_ref().map(|decided| decided.by_agent),
        Some(1),
        "the agent wants the CPU"
    );
}

#[test]
fn threads_are_granted_and_revoked() {
    let mut manager = promoted();
    manager.grant(ALICE, "U", FIRST, &texts(&[("urgency", "5"), ("slot", "3")])).unwrap();
    manager.grant(ALICE, "U", SECOND, &texts(&[])).unwrap();
    let three = [(0, AGENT.into()), (1, SECOND.into()), (3, FIRST.into())];
    assert_eq!(children(&mut manager), three);
    // Another urgency, in the same slot.
    manager.message(ALICE, FIRST, "urgency", "6").unwrap();
    manager.grant(ALICE, "U", SECOND, &texts(&[("urgency", "7")])).unwrap();
    assert_eq!(children(&mut manager), three);
    assert_eq!(manager.revoke(ALICE, FIRST).unwrap().scheduler, "ALICE");
    assert_eq!(children(&mut manager), three[..2]);
    // A thread is in one place; a plain move identifies the child, too.
    manager.move_thread(ALICE, SECOND, "ALICE", &texts(&[])).unwrap();
    manager.move_thread(ALICE, SECOND, "U", &texts(&[("slot", "9")])).unwrap();
    assert_eq!(children(&mut manager), [(0, AGENT.into()), (9, SECOND.into())]);
    // A child number that the request gives is kept.
    manager.move_thread(ALICE, SECOND, "U", &texts(&[("child", "77")])).unwrap();
    assert_eq!(children(&mut manager)[1].1, 77);
}

#[test]
fn each_wrong_use_has_its_error() {
    let mut manager = promoted();
    manager.grant(ALICE, "U", FIRST, &texts(&[("slot", "3")])).unwrap();
    let none = texts(&[]);
    let slot = |slot: &str| texts(&[("slot", slot)]);
    let promote = |name: &'static str, below: &'static str, agent: u32| {
        move |it: &mut Manager<Native>| it.promote(ALICE, name, below, agent, &texts(&[]))
    };
    refused(&mut manager, "found no scheduler `X`", promote("V", "X", SECOND));
    refused(&mut manager, "found a scheduler `U` already", promote("U", "ALICE", SECOND));
    refused(&mut manager, "found no thread 4711", promote("V", "ALICE", 4711));
    refused(&mut manager, "found thread 200 of user 1001", promote("V", "ALICE", BOBS));
    refused(&mut manager, "`RES`, which is not below a scheduler of user 1000", promote("V", "RES", SECOND));
    let error =
        |it: &mut Manager<Native>| it.promote(ALICE, "V", "ALICE", SECOND, &texts(&[("allowance", "1ns")]));
    refused(&mut manager, "parameter `allowance`: found 1ns, expected 10us to 10s", error);

    refused(&mut manager, "`ALICE`, whose policy is proportional-share", |it| it.pages(ALICE, "ALICE"));
    refused(&mut manager, "found no scheduler `X`", |it| it.pages(ALICE, "X"));
    refused(&mut manager, "not below a scheduler of user 1001", |it| it.pages(BOB, "U"));

    refused(&mut manager, "whose policy is proportional-share", |it| it.demote(ROOT, "ALICE"));
    refused(&mut manager, "found no scheduler `X`", |it| it.demote(ROOT, "X"));
    refused(&mut manager, "not below a scheduler of user 1001", |it| it.demote(BOB, "U"));

    refused(&mut manager, "policy is proportional-share", |it| it.grant(ALICE, "ALICE", SECOND, &none));
    refused(&mut manager, "found slot 0 of `U` taken", |it| it.grant(ALICE, "U", SECOND, &slot("0")));
    refused(&mut manager, "found slot 3 of `U` taken", |it| it.grant(ALICE, "U", SECOND, &slot("3")));
    refused(&mut manager, "found 65, expected 0 to 64", |it| it.grant(ALICE, "U", SECOND, &slot("65")));
    refused(&mut manager, "found thread 200 of user 1001", |it| it.grant(ALICE, "U", BOBS, &none));
    refused(&mut manager, "found no thread 4711", |it| it.grant(ALICE, "U", 4711, &none));
    refused(&mut manager, "not below a scheduler of user 1001", |it| it.grant(BOB, "U", BOBS, &none));
    refused(&mut manager, "found slot 3 of `U` taken", |it| it.move_thread(ROOT, BOBS, "U", &slot("3")));
    let child = texts(&[("slot", "3"), ("quantum", "1ms")]);
    refused(&mut manager, "slot 3 of `U` taken", |it| it.create(ROOT, "round-robin", "V", "U", &child));

    let from_default = "thread 102: found `rest`, whose policy is time-sharing";
    refused(&mut manager, from_default, |it| it.revoke(ALICE, SECOND));
    refused(&mut manager, "found thread 101 of user 1000", |it| it.revoke(BOB, FIRST));
    refused(&mut manager, "found no thread 4711", |it| it.revoke(ALICE, 4711));
}

#[test]
fn a_scheduler_has_63_slots_beside_the_agent_s() {
    let mut manager = promoted();
    for tid in 1_001..=1_063 {
        manager.engine().spawn(tid, Some(ALICE.uid), None);
        manager.grant(ALICE, "U", tid, &texts(&[])).unwrap();
    }
    refused(&mut manager, "no slot of `U` free", |it| it.grant(ALICE, "U", FIRST, &texts(&[])));
    manager.revoke(ALICE, 1_007).unwrap();
    manager.grant(ALICE, "U", FIRST, &texts(&[])).unwrap();
    assert_eq!(page(&mut manager).slot[7].child, u64::from(FIRST));
    // One more thread, when only the agent's slot is free: that slot is never given automatically.
    manager.revoke(ALICE, AGENT).unwrap();
    refused(&mut manager, "no slot of `U` free", |it| it.grant(ALICE, "U", SECOND, &texts(&[])));
    manager.grant(ALICE, "U", SECOND, &texts(&[("slot", "0")])).unwrap();
}

/// A thread of another user that has got the number of a thread below the scheduler stays where it is.
#[test]
fn what_is_demoted_takes_no_stranger_along() {
    let mut manager = promoted();
    manager.grant(ALICE, "U", FIRST, &texts(&[])).unwrap();
    let elsewhere = place(&mut manager, BOBS).0;
    manager.engine().reused = Some(FIRST);
    assert_eq!(manager.demote(ALICE, "U").unwrap().moved, 1, "the agent");
    assert_ne!(place(&mut manager, FIRST).0, "ALICE");
    assert_eq!(place(&mut manager, FIRST).0, elsewhere);
}

#[test]
fn what_is_demoted_goes_with_all_below_it() {
    let mut manager = promoted();
    manager.grant(ALICE, "U", FIRST, &texts(&[])).unwrap();
    manager.promote(ALICE, "V", "U", SECOND, &texts(&[])).unwrap();
    manager.create(ALICE, "round-robin", "W", "V", &texts(&[("quantum", "1ms")])).unwrap();
    manager.move_thread(ROOT, BOBS, "W", &texts(&[])).unwrap();
    let demoted = manager.demote(ALICE, "U").unwrap();
    let destroyed = ["W", "V", "U"].map(str::to_owned).to_vec();
    assert_eq!(demoted, DemoteReply { moved: 4, destroyed });
    for tid in [AGENT, FIRST, SECOND, BOBS] {
        assert_eq!(place(&mut manager, tid).0, "ALICE");
    }
    let made = manager.engine().pages_of.clone();
    assert!(made.into_iter().all(|scheduler| manager.engine().core.kernel_page(scheduler).is_none()));
    assert_eq!(names(&mut manager), ["FP", "RES", "rest", "ALICE"]);
    manager.promote(ALICE, "U", "ALICE", AGENT, &texts(&[])).expect("the name is free again");
}

/// A scheduler that needs a budget of its children accepts no child without that parameter.
#[test]
fn threads_go_to_the_default_scheduler_where_the_one_above_takes_none() {
    let mut manager = manager();
    let own = texts(&[("guarantee", "RESBH 4ms 20ms")]);
    manager.promote(ROOT, "U", "RES", AGENT, &own).unwrap();
    manager.grant(ROOT, "U", FIRST, &texts(&[])).unwrap();
    manager.grant(ROOT, "U", SECOND, &texts(&[])).unwrap();
    assert_eq!(manager.revoke(ROOT, FIRST).unwrap().scheduler, "rest");
    assert_eq!(manager.demote(ROOT, "U").unwrap().moved, 2);
    for tid in ALICES {
        assert_eq!(place(&mut manager, tid), at("rest", "NULL"));
    }
    manager.engine().pass(Nanos::from_millis(20));
    manager.reserve(ROOT, BOBS, "RESBH 8ms 20ms", None).expect("what was given back can be given again");
}

/// Alice may take her thread out of her own scheduler, but may not put it into a scheduler of others.
#[test]
fn a_thread_is_revoked_to_where_its_user_may_put_it() {
    let file = FILE.replace("proportional-share \"ALICE\"", "user-level \"ALICE\"");
    let file = file.replace(" quantum=\"1ms\"", "").replace("thread \"first\" share=1", "thread \"first\"");
    let mut manager = manager_of(&file);
    manager.grant(ALICE, "ALICE", AGENT, &texts(&[("slot", "0")])).unwrap();
    assert_eq!(manager.revoke(ALICE, AGENT).unwrap().scheduler, "rest");
    refused(&mut manager, "`RES`, which is not below", |it| it.demote(ALICE, "ALICE"));
    // A scheduler of the file stays even without threads, and its process may come and go.
    manager.pages(ALICE, "ALICE").unwrap();
    manager.demote(ROOT, "ALICE").unwrap();
    assert_eq!(manager.engine().closed.len(), 1, "the place of the file is gone");
}

#[test]
fn only_root_ends_what_the_file_promises_below() {
    let file =
        FILE.replace("thread \"first\" share=1", "user-level \"MINE\" share=1 { thread \"first\" slot=5; }");
    let mut manager = manager_of(&file);
    refused(&mut manager, "found places of the hierarchy file", |it| it.demote(ALICE, "MINE"));
    assert_eq!(manager.demote(ROOT, "MINE").unwrap().destroyed, ["MINE"]);
}

#[test]
fn the_process_of_a_scheduler_may_be_another_one() {
    let mut manager = promoted();
    manager.grant(ALICE, "U", FIRST, &texts(&[("slot", "3")])).unwrap();
    manager.engine().exit(AGENT);
    let (width, Pages { kernel, user }) = manager.pages(ALICE, "U").unwrap();
    assert_eq!((width, is(&kernel, KERNEL_PAGE), is(&user, USER_PAGE)), (1, true, true));
    assert_eq!(children(&mut manager), [(3, FIRST.into())], "the fresh pages list the children");
    manager.grant(ALICE, "U", SECOND, &texts(&[("slot", "0")])).unwrap();
    assert_eq!(children(&mut manager), [(0, SECOND.into()), (3, FIRST.into())]);
}

#[test]
fn a_scheduler_goes_with_its_last_thread() {
    let mut manager = promoted();
    manager.promote(ALICE, "V", "U", FIRST, &texts(&[])).unwrap();
    manager.create(ALICE, "round-robin", "W", "V", &texts(&[("quantum", "1ms")])).unwrap();
    manager.create(ALICE, "user-level", "X", "ALICE", &texts(&[])).unwrap();
    manager.grant(ALICE, "V", SECOND, &texts(&[])).unwrap();
    manager.engine().exit(AGENT);
    manager.engine().exit(FIRST);
    assert_eq!(place(&mut manager, SECOND).0, "V", "without an agent, urgencies decide");
    assert!(names(&mut manager).contains(&"U".to_owned()), "a thread is below it");
    manager.release(ALICE, SECOND).unwrap();
    let left = ["FP", "RES", "rest", "ALICE", "X"];
    assert_eq!(names(&mut manager), left, "what was created stays, unless it is below");
    manager.promote(ALICE, "U", "ALICE", SECOND, &texts(&[])).unwrap();
    manager.engine().exit(SECOND);
    manager.tidy().unwrap();
    let scheduler = *manager.engine().pages_of.last().unwrap();
    assert_eq!(manager.engine().core.kernel_page(scheduler), None);
    assert_eq!(names(&mut manager), left);
}

#[test]
fn a_scheduler_below_another_knows_it_by_a_number_of_its_own() {
    let mut manager = manager();
    manager.promote(ALICE, "V", "ALICE", FIRST, &texts(&[])).unwrap();
    manager.promote(ALICE, "U", "ALICE", AGENT, &texts(&[])).unwrap();
    manager.create(ALICE, "round-robin", "A", "U", &texts(&[("quantum", "1ms")])).unwrap();
    let named = texts(&[("quantum", "1ms"), ("child", "9"), ("slot", "9")]);
    manager.create(ALICE, "round-robin", "B", "U", &named).unwrap();
    let [agent, first, second] = children(&mut manager)[..] else { panic!("three children") };
    assert_eq!((agent, second), ((0, AGENT.into()), (9, 9)));
    assert!(first.0 == 1 && first.1 > u32::MAX.into(), "no thread has this number: {first:?}");
}

/// A hierarchy in which Alice has promoted her first thread, with this many more threads below schedulers of hers below
/// it.
fn crowded(threads: u32) -> Manager<Native> {
    let mut manager = promoted();
    manager.create(ALICE, "round-robin", "A", "U", &texts(&[("quantum", "1ms")])).unwrap();
    manager.create(ALICE, "round-robin", "B", "A", &texts(&[("quantum", "1ms")])).unwrap();
    for tid in CROWD..CROWD + threads {
        manager.engine().spawn(tid, Some(ALICE.uid), None);
        manager.move_thread(ALICE, tid, if tid % 2 == 0 { "A" } else { "B" }, &texts(&[])).unwrap();
    }
    manager
}

/// All threads together change what each is promised once, and no other thread is looked at.
#[test]
fn a_demotion_of_many_threads_is_one_change() {
    let mut manager = crowded(100);
    let (promised, listed) = (manager.engine().promised, manager.engine().listed);
    let demoted = manager.demote(ALICE, "U").unwrap();
    assert_eq!((demoted.moved, &demoted.destroyed[..]), (101, &["B", "A", "U"].map(str::to_owned)[..]));
    assert_eq!(manager.engine().listed, listed);
    let promised = manager.engine().promised - promised;
    assert!(promised < 400, "{promised} promises to 101 threads");
    assert_eq!(place(&mut manager, CROWD + 99).0, "ALICE");
}

/// A request that comes when the first of many threads has moved is answered before the last one. On a busy machine it
/// may come too late for that, but not each time.
#[test]
fn other_requests_come_between_the_parts_of_a_demotion() {
    let is_answered_between = || {
        let (moving, has_moved) = mpsc::channel();
        let mut manager = crowded(200);
        manager.engine().moving = Some(moving);
        let manager = Mutex::new(manager);
        let demote = Demote { name: "U".into() };
        std::thread::scope(|scope| {
            let demotion = scope.spawn(|| client_of(&manager, ALICE).call(&demote).unwrap());
            has_moved.recv_timeout(PATIENCE).unwrap();
            let is_there = names(&mut manager.lock().unwrap()).contains(&"U".to_owned());
            assert_eq!(demotion.join().unwrap().moved, 201);
            is_there
        })
    };
    assert!((0..10).any(|_| is_answered_between()), "a demotion gives up the lock");
}

/// Where the scheduler above does not accept all threads, some go there, and the rest to the default scheduler.
#[test]
fn a_demotion_of_too_many_threads_places_some() {
    let mut manager = crowded(10);
    // Beside it there is room for the agent and five more threads with one share each.
    manager.move_thread(ALICE, FIRST, "ALICE", &texts(&[("guarantee", "PSBE 1/20 100ms")])).unwrap();
    let demoted = manager.demote(ALICE, "U").unwrap();
    assert_eq!(demoted.moved, 11);
    let threads = [AGENT].into_iter().chain(CROWD..CROWD + 10);
    let above: Vec<u32> = threads.filter(|tid| place(&mut manager, *tid).0 == "ALICE").collect();
    assert!((1..11).contains(&above.len()), "{above:?}");
    assert_ne!(place(&mut manager, FIRST), at("ALICE", "NULL"));
}

/// No thread is looked for where there is none.
#[test]
fn an_abandoned_scheduler_goes_without_a_look_at_all_threads() {
    let mut manager = crowded(0);
    manager.engine().exit(AGENT);
    let listed = manager.engine().listed;
    manager.tidy().unwrap();
    assert_eq!(manager.engine().listed, listed);
    assert!(!names(&mut manager).iter().any(|name| ["U", "A", "B"].contains(&&name[..])));
}

/// The engine fails at each step in turn: nothing is left of the request.
#[test]
fn a_promotion_that_fails_leaves_nothing() {
    let mut manager = manager();
    let before = still(&mut manager);
    let mut steps = 0;
    loop {
        manager.engine().fails_after = Some(steps);
        match manager.promote(ALICE, "U", "ALICE", AGENT, &texts(&[])) {
            Ok(_) => break,
            Err(error) => assert!(error.to_string().contains("a failure that a test asked for"), "{error}"),
        }
        assert_eq!(still(&mut manager), before, "after {steps} steps");
        steps += 1;
    }
    assert_eq!(steps, 4, "create, attach, pages, agent");
}

/// The engine fails at each step in turn: the error says what the request has done by then, and the next request does
/// the rest.
#[test]
fn a_demotion_that_fails_says_what_it_has_done() {
    let fails = |steps| {
        let mut manager = manager();
        manager.promote(ALICE, "U", "ALICE", AGENT, &texts(&[])).unwrap();
        manager.engine().fails_after = Some(steps);
        let error = manager.demote(ALICE, "U").map(drop).map_err(|error| error.to_string());
        manager.tidy().unwrap();
        (error.err(), names(&mut manager).contains(&"U".to_owned()))
    };
    let failure = "found a failure that a test asked for";
    let moved = format!("{failure}; before this, the request moved 1 thread");
    assert_eq!(fails(0), (Some(failure.to_owned()), true), "to move the agent");
    assert_eq!(fails(1), (Some(moved.clone()), false), "to detach the scheduler");
    assert_eq!(fails(2), (Some(moved), false), "to destroy it");
    assert_eq!(fails(3), (None, false));
}

/// The same if the second of two threads cannot be moved, and if a place of the file was closed before.
#[test]
fn a_demotion_that_fails_says_all_that_it_has_done() {
    let file = FILE.replace(
        "thread \"first\" share=1",
        "user-level \"MINE\" share=1 { thread \"first\" slot=5; thread \"second\" slot=6; }",
    );
    let fails = |steps| {
        let mut manager = manager_of(&file);
        for tid in [FIRST, SECOND] {
            manager.move_thread(ROOT, tid, "MINE", &texts(&[])).unwrap();
        }
        manager.engine().fails_after = Some(steps);
        manager.demote(ROOT, "MINE").unwrap_err().to_string()
    };
    let after =
        |done: &str| format!("found a failure that a test asked for; before this, the request {done}");
    assert_eq!(fails(1), after("closed 1 place of the hierarchy file"));
    let closed = "closed 2 places of the hierarchy file";
    assert_eq!(fails(2), after(closed));
    assert_eq!(fails(3), after(&format!("{closed} and moved 1 thread")));
    assert_eq!(fails(4), after(&format!("{closed} and moved 2 threads")));
}

/// A thread that becomes the agent of ever deeper schedulers reaches a limit; when it ends, all of them are
/// destroyed.
#[test]
fn a_thread_that_promotes_itself_without_end_is_refused() {
    let mut manager = manager();
    let before = names(&mut manager);
    let mut above = "ALICE".to_owned();
    for number in 0..16 {
        let name = format!("U{number}");
        manager.promote(ALICE, &name, &above, AGENT, &texts(&[])).unwrap();
        above = name;
    }
    let found = "found 16 schedulers of user 1000 whose policy is a process";
    refused(&mut manager, found, |it| it.promote(ALICE, "U", &above, AGENT, &texts(&[])));
    manager.engine().exit(AGENT);
    manager.tidy().unwrap();
    assert_eq!(names(&mut manager), before);
    // Root reaches the limit of a hierarchy's depth.
    let mut above = "ALICE".to_owned();
    let error = (0..).find_map(|number| {
        let name = format!("U{number}");
        let promoted = manager.promote(ROOT, &name, &above, FIRST, &texts(&[]));
        above = name;
        promoted.err()
    });
    let error = error.expect("an end").to_string();
    assert!(error.contains("deep") || error.contains("levels"), "{error}");
    assert_eq!(manager.demote(ROOT, "U0").unwrap().moved, 1);
    assert_eq!(names(&mut manager), before);
}

/// The number of schedulers created and destroyed is such that leaks would use up all numbers, VPs and pages.
#[test]
fn promotions_in_a_loop_leave_nothing() {
    let mut manager = manager();
    manager.engine().passes = Nanos::from_millis(1_000);
    let before = still(&mut manager);
    for round in 0..400 {
        manager.promote(ALICE, "U", "ALICE", AGENT, &texts(&[])).unwrap();
        manager.grant(ALICE, "U", FIRST, &texts(&[("slot", "3")])).unwrap();
        assert_eq!(children(&mut manager), [(0, AGENT.into()), (3, FIRST.into())], "round {round}");
        manager.demote(ALICE, "U").unwrap();
        for tid in [AGENT, FIRST] {
            manager.release(ALICE, tid).unwrap();
        }
    }
    assert_eq!(still(&mut manager), before);
}

#[test]
fn a_user_leaves_pages_for_others() {
    let mut manager = manager();
    let none = texts(&[]);
    for number in 0..16 {
        manager.create(ALICE, "user-level", &format!("U{number}"), "ALICE", &none).unwrap();
    }
    let found = "found 16 schedulers of user 1000 whose policy is a process";
    refused(&mut manager, found, |it| it.promote(ALICE, "U", "ALICE", AGENT, &none));
    for number in 16..64 {
        manager.create(ROOT, "user-level", &format!("U{number}"), "ALICE", &none).unwrap();
    }
    let Error::InUse(error) = manager.create(ROOT, "user-level", "U64", "ALICE", &none).unwrap_err() else {
        panic!("another error")
    };
    assert!(error.contains("found 64 schedulers"), "{error}");
}

#[test]
fn a_client_promotes_and_is_given_the_pages() {
    let mut manager = manager();
    manager.engine().left_out = Some(policy().id);
    let mut manager = with_server(manager, |path| {
        let mut hls = Client::connect_to(path).unwrap();
        if std::fs::metadata("/proc/self").unwrap().st_uid() != 0 {
            println!("skipped: only root may change every scheduler");
            return;
        }
        let name = "U".to_owned();
        let parameters = texts(&[("share", "2")]);
        let promote = Promote { name: name.clone(), below: "ALICE".into(), agent: AGENT, parameters };
        let (promoted, pages) = hls.call_for_pages(&promote).unwrap();
        assert_eq!((&promoted.scheduler[..], promoted.width), ("U", 1));
        assert!(is(&pages.kernel, KERNEL_PAGE) && is(&pages.user, USER_PAGE));
        let fresh = interface::Pages { name: name.clone() };
        let (reply, pages) = hls.call_for_pages(&fresh).unwrap();
        assert!(reply.width == 1 && is(&pages.kernel, KERNEL_PAGE) && is(&pages.user, USER_PAGE));
        let grant = |thread, urgency, slot| Grant { name: name.clone(), thread, urgency, slot };
        assert_eq!(hls.call(&grant(FIRST, Some(3), Some(2))).unwrap().scheduler, "U");
        assert_eq!(hls.call(&grant(SECOND, None, None)).unwrap().scheduler, "U");
        let taken = hls.call(&grant(BOBS, None, Some(2)));
        let Err(ClientError::Failure(Failure::InUse { reason })) = taken else { panic!("{taken:?}") };
        assert!(reason.contains("found slot 2 of `U` taken"), "{reason}");
        assert_eq!(hls.call(&Revoke { thread: SECOND }).unwrap().scheduler, "ALICE");
        let destroyed = vec![name.clone()];
        assert_eq!(hls.call(&Demote { name: name.clone() }).unwrap(), DemoteReply { moved: 2, destroyed });
        let gone = hls.call_for_pages(&fresh);
        assert!(matches!(gone, Err(ClientError::Failure(Failure::NotFound { .. }))), "{gone:?}");
        // In this process, too.
        hls.call(&Status {}).unwrap();
    });
    assert!(names(&mut manager).len() == 4);
}

/// The server looks for schedulers without threads by itself.
#[test]
fn an_abandoned_scheduler_goes_without_a_request() {
    let mut manager = promoted();
    manager.engine().exit(AGENT);
    let scheduler = *manager.engine().pages_of.last().unwrap();
    assert!(manager.engine().core.kernel_page(scheduler).is_some());
    let folder = tempfile::tempdir().unwrap();
    let socket = Socket::bind(&folder.path().join("control.sock")).unwrap();
    let (manager, stop) = (Mutex::new(manager), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| serve(&socket, &manager, &stop).unwrap());
        while manager.lock().unwrap().engine().core.kernel_page(scheduler).is_some() {
            std::thread::sleep(Duration::from_millis(10));
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert!(place(&mut manager.into_inner().unwrap(), VIDEO).0 == "RES");
}
