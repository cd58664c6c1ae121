//! How threads, and the process that they live in, come and go.

use crate::support::{ms, plan, rt_app, run_until, start, try_start};
use hls_monitor::event::What;
use hls_units::Nanos;
use hls_workload::program::Workload;
use std::fs;
use std::path::Path;
use std::time::Duration;

const TWO: &str = r#"round-robin "R" quantum="10ms" {
    thread "here"
    thread "a name longer than a comm" arrive="50ms" leave="1s"
}"#;

#[test]
fn threads_come_and_leave_when_the_file_says() {
    let has_left = |what: Option<&(Nanos, What)>| what.is_some_and(|(_, what)| *what == What::Leave);
    let run = run_until(TWO, &Workload::default(), |seen| {
        has_left(seen.events("a name longer than a comm").last())
    });
    let events = run.events("a name longer than a comm");
    let [(came, What::Arrive), .., (left, What::Leave)] = events[..] else { panic!("{events:?}") };
    assert!(came >= ms(50) && left == ms(1_000), "{came}, {left}");
    let end = run.end("a name longer than a comm");
    assert!(end.work <= left - came + ms(1), "{end:?}");
    assert!(run.events("here").iter().all(|(_, what)| *what != What::Leave));
}

#[test]
fn a_thread_that_arrives_later_has_a_tid_and_waits_to_be_admitted() {
    let plan = plan(TWO, &Workload::default());
    let mut process = start(&plan);
    let &[(here, tid)] = process.threads() else { panic!("{:?}", process.threads()) };
    let comm = |tid: u32| fs::read_to_string(format!("/proc/{}/task/{tid}/comm", process.pid())).unwrap();
    assert_eq!((here, &comm(tid)[..]), (plan.groups[0].first_vp, "here\n"));
    process.go(Nanos::from_secs(1_000));
    let [(vp, tid)] = process.arrivals(Nanos::from_secs(60)).unwrap()[..] else { panic!("one comes later") };
    assert!(process.elapsed() >= ms(50), "{}", process.elapsed());
    let comm = fs::read_to_string(format!("/proc/{}/task/{tid}/comm", process.pid())).unwrap();
    assert_eq!((vp, &comm[..]), (plan.groups[1].first_vp, "a name longer t\n"));
    std::thread::sleep(Duration::from_millis(20));
    let mut of_late = 0;
    process.events(&mut |record| of_late += u32::from(record.vp == vp));
    assert_eq!(of_late, 0, "it is not admitted");
    process.admit(vp);
    while of_late == 0 {
        process.events(&mut |record| of_late += u32::from(record.vp == vp));
    }
    process.finish(&mut |_| {}).unwrap();
}

#[test]
fn a_run_can_end_early_even_for_sleeping_threads() {
    let workload = rt_app(
        r#"{ "tasks" : {
            "a" : { "sleep" : 100000000 },
            "b" : { "run" : 100000000 },
            "c" : { "lock" : "m", "wait" : { "ref" : "x", "mutex" : "m" }, "unlock" : "m" },
            "d" : { "delay" : 100000000, "lock" : "m", "signal" : "x", "unlock" : "m", "sleep" : 1000 }
        } }"#,
    );
    let threads = r#"thread "a"; thread "b"; thread "c"; thread "d""#;
    let plan = plan(&format!(r#"round-robin "R" quantum="10ms" {{ {threads}; }}"#), &workload);
    let mut process = start(&plan);
    process.go(Nanos::from_secs(1_000));
    std::thread::sleep(Duration::from_millis(50));
    let outcome = process.finish(&mut |_| {}).unwrap();
    assert!(outcome.length >= ms(50) && outcome.length < Nanos::from_secs(1_000), "{}", outcome.length);
    assert_eq!(outcome.threads.len(), 3, "the fourth never came: {outcome:?}");
}

#[test]
fn a_process_that_is_dropped_leaves_nothing_behind() {
    let plan = plan(r#"round-robin "R" quantum="10ms" { thread "hog" instances=20; }"#, &Workload::default());
    let mut process = start(&plan);
    let pid = process.pid();
    assert_eq!(process.threads().len(), 20);
    process.go(Nanos::from_secs(1_000));
    drop(process);
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
}

#[test]
fn a_missing_cpu_is_reported_with_its_thread() {
    let missing = r#"machine cpus=64
        round-robin "R" quantum="10ms" { thread "ok"; thread "far" affinity="63"; }"#;
    let Err(error) = try_start(&plan(missing, &Workload::default())) else {
        return eprintln!("skipped: this machine has 64 CPUs");
    };
    assert!(error.to_string().starts_with("thread `far`: found a CPU that this machine"), "{error}");
}
