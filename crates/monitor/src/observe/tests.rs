//! Streams of records, and what the observer makes of them.

use super::*;
use crate::result::{Cause, Counts, GuaranteeResult};
use crate::windows::Window;

/// Scheduler 0 with VPs 1 and 2 of a machine with two CPUs, and the threads 3 and 4.
fn topology() -> Topology {
    let vp = |name: &str, parent, child| VpInfo { name: name.into(), parent, child, ..VpInfo::default() };
    let root = |name| vp(name, None, Child::Scheduler(ObservedScheduler(0)));
    let thread = |name| vp(name, Some(ObservedScheduler(0)), Child::Thread);
    Topology {
        cpus: 2,
        schedulers: vec![SchedulerInfo { name: "root".into(), policy: "round-robin".into() }],
        vps: vec![VpInfo::default(), root("root"), root("root"), thread("a"), thread("b")],
    }
}

/// Observes `(at, vp, cpu, what)` until 100.
fn observe(promises: Vec<Promise>, records: &[(u64, u32, u16, What)]) -> RunResult {
    let mut observer = Observer::new(topology(), promises);
    note(&mut observer, records);
    observer.finish(Nanos(100))
}

/// Has the observer take records `(at, vp, cpu, what)` into account.
fn note(observer: &mut Observer, records: &[(u64, u32, u16, What)]) {
    for &(at, vp, cpu, what) in records {
        observer.observe(&Record { at: Nanos(at), vp: ObservedVp(vp), cpu, what });
    }
}

/// An observer of this promise; the time of thread 4 counts as stolen, as the time of `hls` does, if it `steals`.
fn beside_hls(steals: bool, promise: Promise) -> Observer {
    let mut topology = topology();
    topology.vps[4].steals = steals;
    Observer::new(topology, vec![promise])
}

#[test]
fn an_empty_run_is_idle() {
    let result = observe(vec![], &[]);
    assert_eq!((result.idle, result.stolen, result.length), (Nanos(200), Nanos(0), Nanos(100)));
    assert_eq!((result.threads.len(), result.schedulers.len()), (2, 1));
}

/// Thread 3 waits for 5, then from 40 on; thread 4 gives up after 30, and its only job was released at 20.
#[test]
fn what_is_open_at_the_end_lasted_at_least_as_long() {
    let result = observe(
        vec![],
        &[
            (10, 3, 0, What::Request),
            (15, 3, 0, What::Grant),
            (20, 3, 0, What::Release),
            (20, 4, 0, What::Request),
            (40, 3, 0, What::Request),
            (50, 4, 0, What::Release),
            (100, 4, 0, What::JobOpen { age: Nanos(80) }),
        ],
    );
    let latency = |thread: &ThreadResult| {
        let found = thread.wake_latency;
        (found.count, found.p99, found.worst, found.worst_is_open)
    };
    assert_eq!(latency(&result.threads[0]), (1, Nanos(5), Nanos(60), true));
    assert_eq!(latency(&result.threads[1]), (0, Nanos(0), Nanos(30), true));
    let [of_3, of_4] = [0, 1].map(|thread| result.threads[thread].response);
    assert_eq!((of_3.worst, of_3.worst_is_open), (Nanos(0), false));
    assert_eq!((of_4.count, of_4.worst, of_4.worst_is_open), (0, Nanos(80), true));
    let below = &result.schedulers[0].below;
    assert_eq!((below.wake_latency.worst, below.response.worst), (Nanos(60), Nanos(80)));
}

/// An open wait is not reported if a finished one was longer.
#[test]
fn what_is_open_for_a_short_time_is_not_the_worst() {
    let result = observe(
        vec![],
        &[
            (10, 3, 0, What::Request),
            (30, 3, 0, What::Grant),
            (40, 3, 0, What::Release),
            (90, 3, 0, What::Request),
        ],
    );
    let found = result.threads[0].wake_latency;
    assert_eq!((found.worst, found.worst_is_open), (Nanos(20), false));
}

#[test]
fn counts_what_a_thread_lives_through() {
    let done = What::JobDone { response: Nanos(27) };
    let result = observe(
        vec![],
        &[
            (0, 1, 0, What::Grant),
            (10, 3, 0, What::Request),
            (15, 3, 0, What::Grant),
            (25, 3, 0, What::Revoke),
            (30, 3, 1, What::Grant),
            (37, 3, 0, done),
            (37, 3, 0, What::Miss { count: 2 }),
            (37, 3, 1, What::Release),
            (40, 1, 0, What::Revoke),
            (50, 3, 0, What::Request),
            (60, 3, 0, What::Release),
            (70, 3, 0, What::Request),
            (90, 3, 1, What::Grant),
        ],
    );
    let thread = &result.threads[0];
    assert_eq!((thread.vp, thread.ran, thread.activations), (ObservedVp(3), Nanos(10 + 7 + 10), 3));
    assert_eq!((thread.preemptions, thread.migrations, thread.misses), (1, 1, 2));
    let latency = thread.wake_latency;
    assert_eq!((latency.count, latency.p50, latency.worst), (2, Nanos(5), Nanos(20)));
    assert_eq!((thread.response.count, thread.response.worst), (1, Nanos(27)));
    assert_eq!(result.idle, Nanos(200 - 27));
    let scheduler = &result.schedulers[0];
    assert_eq!((scheduler.ran, scheduler.grants, scheduler.revokes), (Nanos(40), 1, 1));
}

/// A promise of `promised` in each window of `length`, of which declared sources may steal `accounted`.
fn promise(vp: u32, length: u64, promised: u64, accounted: u64) -> Promise {
    let (length, promised, accounted) = (Nanos(length), Nanos(promised), Nanos(accounted));
    let windows = vec![Window { length, promised, allowed: None, accounted }];
    Promise {
        vp: ObservedVp(vp),
        text: format!("{promised} in {length}"),
        windows,
        requests: None,
        pace: Pace::default(),
    }
}

#[test]
fn stolen_time_is_nobodys() {
    for accounted in [0, 20] {
        let stolen = What::Stolen { length: Nanos(5) };
        let result = observe(
            vec![promise(3, 20, 20, accounted), promise(4, 20, 20, accounted)],
            &[
                (0, 3, 0, What::Request),
                (0, 4, 0, What::Request),
                (0, 3, 0, What::Grant),
                (0, 4, 1, What::Grant),
                (30, 0, 0, stolen),
                (40, 3, 0, What::Release),
                (60, 0, 0, stolen),
            ],
        );
        assert_eq!((result.threads[0].ran, result.threads[1].ran), (Nanos(35), Nanos(100)));
        assert_eq!((result.stolen, result.idle), (Nanos(10), Nanos(200 - 35 - 100 - 10)));
        let [first, second] = &result.guarantees[..] else { panic!("two promises") };
        assert_eq!((first.vp, first.windows[0].least), (ObservedVp(3), Some(Nanos(15))));
        // What the promise takes into account is no excuse.
        assert_eq!((first.counts.short, first.counts.stolen), if accounted > 0 { (1, 0) } else { (0, 1) });
        assert_eq!(
            (second.vp, second.counts, second.windows[0].least),
            (ObservedVp(4), Counts::default(), Some(Nanos(20)))
        );
    }
}

/// A promise to the scheduler and one below it, both broken from 0 to 50; thread `b` is broken later, alone.
#[test]
fn what_broke_above_is_a_cause() {
    let records = [
        (0, 1, 0, What::Request),
        (0, 1, 0, What::Grant),
        (0, 1, 0, What::Revoke),
        (0, 3, 0, What::Request),
        (50, 1, 0, What::Grant),
        (50, 3, 0, What::Grant),
        (60, 3, 0, What::Release),
        (65, 4, 0, What::Request),
    ];
    let promises = || vec![promise(1, 20, 10, 0), promise(3, 20, 10, 0), promise(4, 20, 10, 0)];
    let result = observe(promises(), &records);
    let causes = result.guarantees.iter().map(|result| (result.counts.short, result.cause));
    assert_eq!(causes.collect::<Vec<_>>(), [(1, None), (1, Some(Cause::Above(ObservedVp(1)))), (1, None)]);

    let mut observer = Observer::new(topology(), promises());
    observer.observe(&Record { at: Nanos(0), vp: ObservedVp(3), cpu: 0, what: What::Request });
    observer.advance(Nanos(30));
    let broken = observer.take_breaches();
    assert_eq!(broken.iter().map(|b| (b.vp, b.cause)).collect::<Vec<_>>(), [(ObservedVp(3), None)]);
    assert_eq!((broken[0].breach.to, broken[0].breach.got), (Nanos(20), Nanos(0)), "the first of them");
    assert_eq!(observer.take_breaches(), []);
}

/// Before the gap a thread waits, the root waits, and a third VP steals. After it, it is not known whether they still
/// do.
#[test]
fn nothing_is_judged_over_lost_records_and_all_is_after_them() {
    let mut observer = beside_hls(true, promise(3, 20, 10, 0));
    let observe = |observer: &mut Observer, records: &[(u64, u32, What)]| {
        for &(at, vp, what) in records {
            observer.observe(&Record { at: Nanos(at), vp: ObservedVp(vp), cpu: 0, what });
        }
    };
    let before = [
        (0, 1, What::Request),
        (0, 3, What::Request),
        (0, 4, What::Grant),
        (5, 0, What::Stolen { length: Nanos(2) }),
    ];
    observe(&mut observer, &before);
    observe(&mut observer, &[(90, 0, What::Lost)]);
    observer.advance(Nanos(150));
    assert_eq!((observer.take_breaches(), observer.stolen()), (vec![], Nanos(2)));
    let standing = observer.standing(ObservedVp(3), Nanos(150));
    assert_eq!((standing.ran, standing.stolen), (Nanos(0), Nanos(5)), "what was known of it");
    observe(&mut observer, &[(200, 3, What::Request)]);
    observer.advance(Nanos(219));
    assert_eq!(observer.take_breaches(), []);
    observer.advance(Nanos(220));
    let breach = observer.take_breaches()[0].breach;
    assert_eq!((breach.from, breach.to, breach.stolen), (Nanos(200), Nanos(220), Nanos(0)));
}

/// Records are lost while a VP steals. The first record after the gap says that the VP has had the CPU since the gap.
#[test]
fn what_was_stolen_since_lost_records_breaks_no_promise() {
    for steals in [true, false] {
        let records = [
            (0, 4, What::Grant),
            (90, 0, What::Lost),
            (90, 3, What::Request),
            (107, 4, What::Revoke),
            (107, 3, What::Grant),
        ];
        let mut observer = beside_hls(steals, promise(3, 20, 10, 0));
        for (at, vp, what) in records {
            observer.observe(&Record { at: Nanos(at), vp: ObservedVp(vp), cpu: 0, what });
        }
        let counts = observer.finish(Nanos(150)).guarantees[0].counts;
        assert_eq!((counts.short == 0, counts.stolen == 1), (steals, steals), "{counts:?}");
    }
}

/// A CPU that does not come is the machine's fault, not the hierarchy's.
#[test]
fn the_root_waits_for_none_but_the_machine() {
    let promises = || vec![promise(1, 20, 20, 0), promise(3, 20, 20, 0)];
    let records = [
        (10, 1, 0, What::Request),
        (10, 3, 0, What::Request),
        (40, 0, 0, What::Stolen { length: Nanos(12) }),
        (50, 1, 0, What::Grant),
        (50, 3, 0, What::Grant),
    ];
    let result = observe(promises(), &records);
    assert_eq!(result.stolen, Nanos(40), "recorded or not");
    let counts = Counts { stolen: 1, ..Counts::default() };
    assert!(result.guarantees.iter().all(|result| result.counts == counts), "{:?}", result.guarantees);

    let mut observer = Observer::new(topology(), promises());
    note(&mut observer, &records[..2]);
    [40, 45, 60].into_iter().for_each(|at| observer.advance(Nanos(at)));
    assert_eq!(
        (observer.take_breaches(), observer.standing(ObservedVp(3), Nanos(60)).stolen),
        (vec![], Nanos(50))
    );
}

/// While `hls` has a CPU by its reservation, that CPU is stolen from all VPs that wait; what others take is not stolen.
/// To look at the promises as they were earlier changes nothing.
#[test]
fn what_a_stealing_vp_takes_is_no_fault_of_the_hierarchy() {
    for steals in [true, false] {
        let mut observer = beside_hls(steals, promise(3, 20, 20, 0));
        let records = [
            (10, 1, 0, What::Request),
            (10, 3, 0, What::Request),
            (30, 1, 0, What::Grant),
            (30, 4, 0, What::Request),
            (30, 4, 0, What::Grant),
            (40, 0, 0, What::Stolen { length: Nanos(2) }),
            (50, 4, 0, What::Release),
            (50, 3, 0, What::Grant),
        ];
        for (at, vp, cpu, what) in records {
            observer.observe(&Record { at: Nanos(at), vp: ObservedVp(vp), cpu, what });
            observer.advance(Nanos(5));
            observer.advance(Nanos(at.min(9)));
        }
        let result = observer.finish(Nanos(100));
        let counts = &result.guarantees[0].counts;
        assert_eq!((counts.short == 0, counts.stolen == 1), (steals, steals), "{counts:?}");
        assert_eq!(result.stolen, Nanos(22), "its own time is its scheduler's");
        assert_eq!(result.threads.iter().find(|thread| thread.vp == ObservedVp(4)).unwrap().ran, Nanos(18));
    }
}

/// A scheduler is charged for 5 that its threads had before, and so has 5 less: that breaks neither its promise nor its
/// thread's. Only its own waits count, and no more of them than it was charged for.
#[test]
fn what_a_scheduler_pays_is_no_fault_of_the_hierarchy() {
    let charged = [(5, false), (4, true), (0, true)].map(|(paid, breaks)| (true, paid, breaks));
    for (pays, paid, breaks) in charged.into_iter().chain([(false, 5, true)]) {
        let mut topology = topology();
        topology.schedulers.push(SchedulerInfo { name: "owned".into(), policy: "round-robin".into() });
        topology.vps[3] =
            VpInfo { child: Child::Scheduler(ObservedScheduler(1)), pays, ..topology.vps[3].clone() };
        topology.vps[4].parent = Some(ObservedScheduler(1));
        let mut observer = Observer::new(topology, vec![promise(3, 20, 10, 0), promise(4, 20, 10, 0)]);
        let records = [
            (5, 4, 0, What::Request),
            (5, 3, 0, What::Request),
            (10, 3, 0, What::Grant),
            (10, 3, 0, What::Pay { length: Nanos(paid) }),
            (10, 4, 0, What::Grant),
            (30, 4, 0, What::Revoke),
            (30, 3, 0, What::Revoke),
            (45, 3, 0, What::Grant),
            (45, 4, 0, What::Grant),
        ];
        for (at, vp, cpu, what) in records {
            observer.observe(&Record { at: Nanos(at), vp: ObservedVp(vp), cpu, what });
            observer.advance(Nanos(at));
        }
        for result in observer.finish(Nanos(100)).guarantees {
            assert_eq!(result.counts.short > 0, breaks, "{pays}, {paid}: {:?}", result.counts);
            assert_eq!(result.counts.stolen > 0, !breaks, "{pays}, {paid}: {:?}", result.counts);
        }
    }
}

/// A VP's wait ends while `hls` still has the CPU by its reservation: the VP's time is up, or it gets another CPU. What
/// `hls` has had of the CPU until then is stolen.
#[test]
fn what_is_being_stolen_when_a_wait_ends_is_no_fault_of_the_hierarchy() {
    for (steals, end) in [true, false]
        .into_iter()
        .flat_map(|steals| [(steals, What::Release), (steals, What::Leave), (steals, What::Grant)])
    {
        let mut observer = beside_hls(steals, promise(3, 20, 20, 0));
        let records = [
            (10, 1, 0, What::Request),
            (10, 1, 0, What::Grant),
            (10, 4, 0, What::Request),
            (10, 4, 0, What::Grant),
            (20, 3, 0, What::Request),
            (45, 3, 1, end),
            (60, 4, 0, What::Release),
        ];
        note(&mut observer, &records);
        let counts = observer.finish(Nanos(100)).guarantees[0].counts;
        assert_eq!((counts.short == 0, counts.stolen == 1), (steals, steals), "{end:?}: {counts:?}");
    }
}

/// Every VP that waits does so for the CPU that has gone; a VP that runs on the other one is not held up.
#[test]
fn the_time_of_a_cpu_that_has_gone_is_stolen() {
    let promises = || vec![promise(3, 20, 10, 0), promise(4, 20, 10, 0)];
    let records = |is_recorded| {
        let mut records = vec![
            (0, 3, 0, What::Request),
            (0, 3, 0, What::Grant),
            (0, 4, 1, What::Request),
            (0, 4, 1, What::Grant),
            (20, 0, 1, What::Offline),
            (20, 4, 1, What::Revoke),
            (60, 3, 0, What::Revoke),
            (60, 4, 0, What::Grant),
            (70, 0, 1, What::Online),
            (70, 3, 1, What::Grant),
        ];
        records.retain(|(_, _, _, what)| is_recorded || !matches!(what, What::Offline | What::Online));
        records
    };
    let counts = |result: &RunResult| result.guarantees.iter().map(|g| g.counts).collect::<Vec<_>>();
    let stolen = Counts { stolen: 1, ..Counts::default() };
    let short = Counts { short: 1, ..Counts::default() };
    let result = observe(promises(), &records(true));
    assert_eq!((result.stolen, result.idle), (Nanos(50), Nanos(0)));
    assert_eq!(counts(&result), [Counts::default(), stolen]);
    assert_eq!(counts(&observe(promises(), &records(false))), [Counts::default(), short]);

    // Recorded twice it counts once.
    let mut observer = Observer::new(topology(), promises());
    for &(at, vp, cpu, what) in
        &[(0, 4, 1, What::Request), (0, 0, 1, What::Offline), (5, 0, 1, What::Offline)]
    {
        observer.observe(&Record { at: Nanos(at), vp: ObservedVp(vp), cpu, what });
    }
    observer.advance(Nanos(40));
    observer.advance(Nanos(30));
    assert_eq!((observer.take_breaches(), observer.stolen()), (vec![], Nanos(40)));
}

#[test]
fn promises_come_and_go_while_the_run_goes_on() {
    let mut observer = Observer::new(topology(), vec![]);
    let observe = |observer: &mut Observer, at, vp, what| {
        observer.observe(&Record { at: Nanos(at), vp, cpu: 0, what });
    };
    observe(&mut observer, 0, ObservedVp(3), What::Request);
    observe(&mut observer, 5, ObservedVp(3), What::Grant);
    // It runs already, then waits for too long.
    observer.promise(promise(3, 20, 10, 0), Nanos(10));
    observe(&mut observer, 30, ObservedVp(3), What::Revoke);
    assert_eq!(observer.take_breaches(), []);
    observer.advance(Nanos(45));
    assert_eq!(observer.take_breaches().len(), 1);
    let standing = observer.standing(ObservedVp(3), Nanos(45));
    assert_eq!((standing.ran, standing.counts.broken()), (Nanos(20), 1), "since the promise began");
    observer.withdraw(ObservedVp(3), Nanos(45));
    observer.advance(Nanos(90));
    assert_eq!(
        observer.standing(ObservedVp(3), Nanos(90)),
        Standing { ran: Nanos(25), ..Standing::default() }
    );
    // It waits already.
    observer.promise(promise(3, 20, 10, 0), Nanos(90));
    let result = observer.finish(Nanos(100));
    let seen = |result: &GuaranteeResult| (result.from, result.to, result.windows[0].least, result.is_kept());
    let seen: Vec<_> = result.guarantees.iter().map(seen).collect();
    assert_eq!(seen, [(Nanos(10), Nanos(45), Some(Nanos(5)), false), (Nanos(90), Nanos(100), None, true)]);
}

#[test]
fn threads_that_join_are_seen_and_their_numbers_used_again() {
    let mut observer = Observer::new(topology(), vec![]);
    let guest = |name: &str| VpInfo {
        name: name.into(),
        parent: Some(ObservedScheduler(0)),
        child: Child::Thread,
        ..VpInfo::default()
    };
    let one = observer.add_vp(guest("one"));
    observer.observe(&Record { at: Nanos(0), vp: one, cpu: 0, what: What::Grant });
    assert_eq!(observer.standing(one, Nanos(7)).ran, Nanos(7));
    observer.observe(&Record { at: Nanos(7), vp: one, cpu: 0, what: What::Leave });
    observer.remove_vp(one, Nanos(7));
    let other = observer.add_vp(guest("other"));
    assert_eq!((one, other, observer.add_vp(guest("third"))), (ObservedVp(5), ObservedVp(5), ObservedVp(6)));
    observer.promise(promise(other.0, 20, 10, 0), Nanos(10));
    observer.remove_vp(other, Nanos(20));
    assert_eq!(observer.add_vp(guest("fourth")), ObservedVp(7), "a result speaks of 5");
    observer.remove_vp(ObservedVp(3), Nanos(20));
    let result = observer.finish(Nanos(100));
    let names: Vec<_> = result.threads.iter().map(|t| result.topology.child_name(t.vp)).collect();
    assert_eq!(names, ["a", "b", "other", "third", "fourth"]);
}

/// What a thread counts before it is moved stays where it was; its own row has all of it.
#[test]
fn a_thread_is_moved() {
    let mut observer = Observer::new(topology(), vec![promise(3, 20, 10, 0)]);
    let other =
        observer.create_scheduler(SchedulerInfo { name: "other".into(), policy: "round-robin".into() });
    let child = Child::Scheduler(other);
    observer.add_vp(VpInfo {
        name: "other".into(),
        parent: Some(ObservedScheduler(0)),
        child,
        ..VpInfo::default()
    });
    let record = |(at, what)| Record { at: Nanos(at), vp: ObservedVp(3), cpu: 0, what };
    let before = [(0, What::Request), (5, What::Grant), (10, What::Miss { count: 2 })];
    before.map(record).iter().for_each(|record| observer.observe(record));
    observer.move_below(ObservedVp(3), other, Nanos(10));
    let behind = [(20, What::Release), (30, What::Request), (37, What::Grant), (40, What::Miss { count: 1 })];
    behind.map(record).iter().for_each(|record| observer.observe(record));
    observer.promise(promise(3, 20, 10, 0), Nanos(40));
    let result = observer.finish(Nanos(100));
    let a = &result.threads[0];
    assert_eq!((a.ran, a.misses, a.activations, a.wake_latency.worst), (Nanos(78), 3, 2, Nanos(7)));
    assert_eq!(result.topology.parent_name(a.vp), Some("other"));
    let below: Vec<(u64, u64)> =
        result.schedulers.iter().map(|all| (all.below.misses, all.below.activations)).collect();
    assert_eq!(below, [(3, 2), (1, 1)]);
    let promised: Vec<_> = result.guarantees.iter().map(|of| (of.by, of.from, of.to)).collect();
    let [begin, moved, again, end] = [0, 10, 40, 100].map(Nanos);
    assert_eq!(promised, [(Some(ObservedScheduler(0)), begin, moved), (Some(other), again, end)]);
}

/// A scheduler is created, promised something, and destroyed; the next one may have its number only if no result names
/// the first.
#[test]
fn schedulers_come_and_go() {
    for is_promised in [false, true] {
        let mut observer = Observer::new(topology(), vec![]);
        let policy = || "round-robin".to_owned();
        let one = observer.create_scheduler(SchedulerInfo { name: "one".into(), policy: policy() });
        let child = Child::Scheduler(one);
        let vp = observer.add_vp(VpInfo {
            name: "one".into(),
            parent: Some(ObservedScheduler(0)),
            child,
            ..VpInfo::default()
        });
        observer.observe(&Record { at: Nanos(0), vp, cpu: 0, what: What::Grant });
        if is_promised {
            observer.promise(promise(vp.0, 20, 10, 0), Nanos(5));
        }
        assert_eq!(observer.clone().finish(Nanos(30)).schedulers[1].ran, Nanos(30));
        observer.destroy_scheduler(one);
        observer.observe(&Record { at: Nanos(30), vp, cpu: 0, what: What::Leave });
        assert_eq!(observer.clone().finish(Nanos(40)).schedulers.len(), 1);
        let other = observer.create_scheduler(SchedulerInfo { name: "other".into(), policy: policy() });
        assert_eq!((one, other), (ObservedScheduler(1), ObservedScheduler(1 + u32::from(is_promised))));
        let result = observer.finish(Nanos(40));
        assert_eq!(result.guarantees.len(), usize::from(is_promised));
        assert!(result.guarantees.iter().all(|result| result.to == Nanos(30)));
    }
}

#[test]
fn what_has_ended_takes_no_more_memory_than_it_may() {
    let mut observer = Observer::new(topology(), vec![]);
    (0..1_500).for_each(|at| observer.promise(promise(3, 20, 10, 0), Nanos(at)));
    let result = observer.finish(Nanos(10_000));
    assert_eq!((result.guarantees.len(), result.unlisted), (1_001, 499));
}

#[test]
fn what_the_topology_does_not_have_is_ignored() {
    let stolen = What::Stolen { length: Nanos(5) };
    let promise = promise(99, 20, 10, 0);
    let records =
        [(1, 77, 0, What::Grant), (2, 3, 9, What::Grant), (3, 0, 9, stolen), (4, 3, 9, What::Leave)];
    let result = observe(vec![promise], &records);
    assert_eq!((result.threads[0].ran, result.guarantees.len()), (Nanos(2), 1));
}

/// Threads, the root, what is promised something, what steals and what pays need their records; a scheduler below them
/// does not.
#[test]
fn schedulers_without_a_promise_need_no_records() {
    let mut topology = topology();
    let of_scheduler = |steals| VpInfo {
        parent: Some(ObservedScheduler(0)),
        child: Child::Scheduler(ObservedScheduler(1)),
        steals,
        ..VpInfo::default()
    };
    let pays = VpInfo { pays: true, ..of_scheduler(false) };
    topology.vps.extend([of_scheduler(false), of_scheduler(true), pays]);
    let needed =
        |observer: &Observer| (1..8).map(ObservedVp).filter(|vp| observer.needs_records_of(*vp)).collect();
    let mut observer = Observer::new(topology, Vec::new());
    let without: Vec<_> = needed(&observer);
    assert_eq!(without, [1, 2, 3, 4, 6, 7].map(ObservedVp));
    observer.promise(promise(5, 10, 1, 0), Nanos(0));
    let with: Vec<_> = needed(&observer);
    assert_eq!(with, [1, 2, 3, 4, 5, 6, 7].map(ObservedVp));
}

/// A promise that begins later: what its VP lacks until then breaks nothing, what it lacks afterwards does.
#[test]
fn a_promise_may_begin_later() {
    let records = [(0, What::Request), (30, What::Grant), (60, What::Revoke)];
    for (after, until, short) in [(0, 35, 1), (30, 35, 0), (30, 65, 0), (30, 85, 1), (80, 85, 0)] {
        let mut observer = Observer::new(topology(), vec![]);
        observer.promise_after(promise(3, 20, 10, 0), Nanos(0), Nanos(after));
        for (at, what) in records.into_iter().filter(|(at, _)| *at < until) {
            observer.observe(&Record { at: Nanos(at), vp: ObservedVp(3), cpu: 0, what });
        }
        let result = observer.finish(Nanos(until));
        let found: u64 = result.guarantees.iter().map(|result| result.counts.short).sum();
        assert_eq!(found, short, "after {after}, until {until}");
        let from = result.guarantees.first().map(|result| result.from);
        assert_eq!(from, (after < until).then_some(Nanos(after)), "after {after}, until {until}");
    }
}

/// Another promise to a VP begins no sooner than the one that it replaces was to begin, unless the VP has moved.
#[test]
fn a_promise_waits_for_what_an_earlier_one_waited_for() {
    for (is_moved, is_withdrawn, from) in [(false, false, 30), (false, true, 30), (true, false, 10)] {
        let mut observer = Observer::new(topology(), vec![]);
        observer.promise_after(promise(3, 20, 10, 0), Nanos(0), Nanos(30));
        if is_moved {
            observer.move_below(ObservedVp(3), ObservedScheduler(1), Nanos(10));
        }
        if is_withdrawn {
            observer.withdraw(ObservedVp(3), Nanos(5));
        }
        observer.promise(promise(3, 20, 10, 0), Nanos(10));
        let result = observer.finish(Nanos(50));
        let begun: Vec<_> = result.guarantees.iter().map(|result| result.from.0).collect();
        assert_eq!(begun, [from], "{is_moved}, {is_withdrawn}");
    }
}

/// A promise ends, or records are lost, while `hls` has the CPU by its own reservation, as it does when it answers the
/// request that ends the promise.
#[test]
fn what_is_being_stolen_when_a_promise_ends_is_no_fault_of_the_hierarchy() {
    for (steals, is_lost) in [(true, false), (false, false), (true, true), (false, true)] {
        let mut observer = beside_hls(steals, promise(3, 20, 20, 0));
        let records = [(10, 4, 0, What::Request), (10, 4, 0, What::Grant), (20, 3, 0, What::Request)];
        note(&mut observer, &records);
        if is_lost {
            // The record just before the gap, of a VP that does not matter.
            note(&mut observer, &[(45, 2, 1, What::Throttle), (50, 0, 0, What::Lost)]);
        } else {
            observer.withdraw(ObservedVp(3), Nanos(45));
        }
        let counts = observer.finish(Nanos(100)).guarantees[0].counts;
        assert_eq!((counts.short == 0, counts.stolen == 1), (steals, steals), "{is_lost}: {counts:?}");
    }
}
