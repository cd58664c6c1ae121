//! The texts of the reports against what a person found good.

use crate::support;
use hls_monitor::demand::{Exceeded, Excess, Expected};
use hls_monitor::event::{ObservedScheduler, ObservedVp, Record, What};
use hls_monitor::result::{
    AttachTimes, Cause, Child, Counts, Decided, GuaranteeResult, Percentiles, RequestsResult, ResponseBound,
    RunResult, SchedulerInfo, SchedulerResult, TaskResult, ThreadResult, Topology, VpInfo, WindowResult,
};
use hls_report::timehist::TimeHist;
use hls_report::{json, table, timeline, tree};
use hls_units::Nanos;
use std::path::Path;
use std::sync::Arc;

/// Compares what `write` writes with `tests/golden/NAME`.
fn check(name: &str, write: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> String {
    let mut bytes = Vec::new();
    write(&mut bytes).unwrap();
    let found = String::from_utf8(bytes).unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    hls_golden::assert_golden(&path, &found);
    found
}

fn longest_line(text: &str) -> usize {
    text.lines().map(|line| line.chars().count()).max().unwrap_or(0)
}

/// One scheduler on two CPUs with `count` threads; the last one missed a deadline.
fn many_threads(count: u32) -> RunResult {
    let vp = |name: String, parent, child, guarantee: &str| VpInfo {
        name: name.into(),
        parent,
        child,
        guarantee: guarantee.into(),
        ..VpInfo::default()
    };
    let root = || vp("RR".into(), None, Child::Scheduler(ObservedScheduler(0)), "ALL");
    let mut vps = vec![VpInfo::default(), root(), root()];
    vps.extend(
        (1..=count).map(|n| vp(format!("worker-{n}"), Some(ObservedScheduler(0)), Child::Thread, "NULL")),
    );
    let thread =
        |n| ThreadResult { vp: ObservedVp(n + 2), misses: u64::from(n == count), ..ThreadResult::default() };
    RunResult {
        topology: Arc::new(Topology {
            cpus: 2,
            schedulers: vec![SchedulerInfo { name: "RR".into(), policy: "round-robin".into() }],
            vps,
        }),
        engine: "sim".into(),
        length: Nanos::from_secs(1),
        threads: (1..=count).map(thread).collect(),
        schedulers: vec![SchedulerResult { grants: 1_234_567, ..SchedulerResult::default() }],
        ..RunResult::default()
    }
}

#[test]
fn tree_of_figure_1() {
    check("figure1.tree", |out| tree::write_tree(out, &support::topology(), None));
}

#[test]
fn tree_of_many_threads() {
    check("many.tree", |out| tree::write_tree(out, &many_threads(1_000).topology, None));
}

#[test]
fn tables_of_figure_1() {
    let text = check("figure1.table", |out| table::write_tables(out, &support::result(1_000)));
    assert!(longest_line(&text) <= 118, "{} columns", longest_line(&text));
}

#[test]
fn tables_of_many_threads() {
    let text = check("many.table", |out| table::write_tables(out, &many_threads(1_000)));
    assert!(text.contains("worker-1000"), "the one that missed its deadline is shown");
}

#[test]
fn the_verdict_is_one_line() {
    let verdict = |run: &RunResult| {
        let mut bytes = Vec::new();
        table::write_verdict(&mut bytes, run).unwrap();
        String::from_utf8(bytes).unwrap()
    };
    let mut run = support::result(1_000);
    assert_eq!(verdict(&run), "BROKEN: 1 of 4 promises tested (word processor); 2 deadlines missed\n");
    run.guarantees.retain(|guarantee| guarantee.is_kept());
    run.threads.clear();
    assert_eq!(verdict(&run), "kept: 3 promises tested, none broken\n");
    run.guarantees.truncate(1);
    run.guarantees[0].windows.remove(0);
    assert_eq!(verdict(&run), "kept: 1 promise tested, none broken\n", "by its requests");
    run.guarantees[0].requests = Some(RequestsResult { requests: 9, ..RequestsResult::default() });
    let untested =
        "kept: 0 promises tested, none broken; 1 not tested (no CPU time was wanted, or due yet)\n";
    assert_eq!(verdict(&run), untested);
}

/// A scheduler with a process as its policy, as a table and as JSON.
#[test]
fn choices_of_a_process() {
    let mut run = many_threads(1);
    run.threads.clear();
    let decided = Decided {
        followed: 1_234,
        stale: 5,
        by_urgency: 1_234_567,
        by_agent: 89,
        agent_ran: Nanos::from_micros(267),
    };
    run.schedulers[0].decided = Some(decided);
    check("choices.table", |out| table::write_tables(out, &run));
    let text = check("choices.json", |out| json::write_json(out, &run));
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["schedulers"][0]["decided"]["followed"], 1_234);
}

/// Tasks with bounds: kept, excused, exceeded, not known; for a thread that serves several tasks, and for one with only
/// one.
#[test]
fn table_of_response_times_and_their_bounds() {
    let [us, ms] = [Nanos::from_micros, Nanos::from_millis];
    let task = |name: &str, worst, bound: Option<u64>| TaskResult {
        name: name.into(),
        jobs: 40,
        misses: 0,
        worst_is_open: false,
        worst,
        bound: bound.map(|bound| ResponseBound { bound: ms(bound), excused: us(100) }),
    };
    let mut run = many_threads(3);
    run.threads[0].tasks =
        vec![task("sense", us(7_999), Some(8)), task("steer", us(8_100), Some(8)), task("plan", ms(9), None)];
    run.threads[1].tasks = vec![task("mix", us(8_101), Some(8))];
    run.threads[2].bound = Some(ResponseBound { bound: ms(33), excused: Nanos::ZERO });
    run.threads[2].response = Percentiles { count: 3, worst: ms(34), ..Percentiles::default() };
    run.schedulers.clear();
    check("bounds.table", |out| {
        table::write_threads_alone(out, &run)?;
        table::write_verdict(out, &run)
    });
    assert!(!run.is_kept());
    run.threads[1].tasks.clear();
    run.threads[2].bound = None;
    assert!(run.is_kept());
}

/// Threads that wanted more than their file says, as lines and as JSON.
#[test]
fn threads_that_wanted_more_than_their_file_says() {
    let [us, ms] = [Nanos::from_micros, Nanos::from_millis];
    let mut run = many_threads(3);
    let mut exceeded = |thread: usize, at, by| {
        let expected = Expected { vp: run.threads[thread].vp, run: ms(2), every: ms(6), jitter: us(500) };
        run.exceeded.push(Exceeded { expected, at, by });
    };
    exceeded(0, us(1_234_567), Excess::Long(us(2_500)));
    exceeded(2, ms(12), Excess::Soon(ms(5)));
    run.schedulers.clear();
    check("exceeded.table", |out| table::write_threads_alone(out, &run));
    check("exceeded.json", |out| json::write_json(out, &run));
    assert!(run.is_kept());
}

#[test]
fn a_broken_promise_is_shown_with_all_digits() {
    let mut run = support::result(1_000);
    let window = &mut run.guarantees[2].windows[0];
    (window.promised, window.least) = (Nanos(16_000_123), Some(Nanos(65_000_456)));
    let table = |run: &RunResult| {
        let mut bytes = Vec::new();
        table::write_tables(&mut bytes, run).unwrap();
        String::from_utf8(bytes).unwrap()
    };
    let kept = table(&run);
    assert!(kept.contains(" 16ms ") && kept.contains(" 65ms "), "{kept}");
    let window = &mut run.guarantees[2].windows[0];
    (window.least, window.missing) = (Some(Nanos(16_000_122)), Nanos(1));
    let broken = table(&run);
    assert!(broken.contains("16.000123ms") && broken.contains("16.000122ms"), "{broken}");
}

#[test]
fn tree_of_many_threads_with_names_of_their_own() {
    let mut topology = (*many_threads(1_000).topology).clone();
    for (number, vp) in topology.vps.iter_mut().enumerate().skip(3) {
        vp.name = format!("t{number}x").into();
    }
    let mut bytes = Vec::new();
    tree::write_tree(&mut bytes, &topology, None).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    assert_eq!(text.lines().count(), 43, "{text}");
    assert!(text.ends_with("   └─ t43x … t1002x  960 threads  …\n"), "{text}");
}

#[test]
fn tables_fit_when_all_numbers_are_wide() {
    let mut run = support::result(1_000);
    for thread in &mut run.threads {
        thread.activations = 99_999;
        thread.misses = 9_999_999;
        thread.preemptions = u64::MAX / 1_000_000_000_000;
        thread.response = thread.wake_latency;
        thread.response.worst = Nanos(12_345_678);
    }
    let mut bytes = Vec::new();
    table::write_tables(&mut bytes, &run).unwrap();
    assert!(longest_line(&String::from_utf8(bytes).unwrap()) <= 118);
}

#[test]
fn timehist_of_figure_1() {
    let topology = support::topology();
    check("figure1.timehist", |out| {
        let mut list = TimeHist::new(out, &topology)?;
        support::records(100).iter().try_for_each(|record| list.record(record))?;
        list.finish(Nanos::from_millis(100)).map(|_| ())
    });
}

#[test]
fn json_of_figure_1() {
    let text = check("figure1.json", |out| json::write_json(out, &support::result(1_000)));
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["threads"][0]["name"], "video player");
    assert_eq!(value["length_ns"], 1_000_000_000);
}

/// A run in the kernel reports what the kernel took; no other run does.
#[test]
fn json_has_the_times_of_attaching() {
    let json = |run: &RunResult| {
        let mut bytes = Vec::new();
        json::write_json(&mut bytes, run).unwrap();
        serde_json::from_slice::<serde_json::Value>(&bytes).unwrap()
    };
    let mut run = support::result(1_000);
    assert!(json(&run).get("load_ns").is_none());
    run.attach_times = Some(AttachTimes { load: Nanos(3), attach: Nanos(2), detach: Nanos(1) });
    let value = json(&run);
    assert_eq!(["load_ns", "attach_ns", "detach_ns"].map(|name| value[name].as_u64()), [3, 2, 1].map(Some));
}

#[test]
fn timeline_of_figure_1() {
    let topology = support::topology();
    let mut picture = timeline::Timeline::new(&topology, Nanos::ZERO, Nanos::from_millis(200));
    support::records(220).iter().for_each(|record| picture.record(record));
    check("figure1.svg", |out| picture.write(out, Nanos::from_millis(220)));
}

/// A thread that came by a request is drawn below its parent, if it does anything in the interval.
#[test]
fn timeline_of_guests() {
    let at = Nanos::from_millis;
    let mut picture = timeline::Timeline::new(&support::topology(), at(4), at(8));
    // The first visitors have gone before the interval, the last come after it.
    for (ms, scheduler, thread) in [(1, "A", "4711 hog"), (5, "B", "4712 hog"), (8, "C", "4713 hog")] {
        let (topology, vps) = support::topology_with_guests(scheduler, thread);
        vps.iter().for_each(|vp| picture.join(&topology, *vp, at(ms)));
        picture.promise(vps[0], "RESBS 1ms 5ms");
        support::visit(ms, vps).iter().for_each(|record| picture.record(record));
        picture.remove_scheduler(ObservedScheduler(4));
    }
    let mut bytes = Vec::new();
    picture.write(&mut bytes, at(10)).unwrap();
    let svg = String::from_utf8(bytes).unwrap();
    let lines = svg
        .lines()
        .filter(|line| line.contains(r#"class="thread""#) || line.contains(r#"class="scheduler""#));
    let names: Vec<&str> = lines.filter_map(|line| line.split('>').nth(1)?.split('<').next()).collect();
    let of_file = ["CPU 0", "FP", "RES", "video player", "J", "PS", "word processor", "voice recognition"];
    assert_eq!(names, [&of_file[..], &["B", "4712 hog"]].concat());
    assert_eq!(svg.matches("RESBS 1ms 5ms").count(), 1);
}

/// A thread that is held or parked does not look like one that is out of budget.
#[test]
fn timeline_of_a_parked_thread() {
    let at = Nanos::from_millis;
    let drawn = |what| {
        let (topology, [_, thread]) = support::topology_with_guests("S", "agent");
        let mut picture = timeline::Timeline::new(&topology, at(0), at(10));
        for (ms, what) in [(1, What::Request), (2, what)] {
            picture.record(&Record { at: at(ms), vp: thread, cpu: 0, what });
        }
        let mut bytes = Vec::new();
        picture.write(&mut bytes, at(10)).unwrap();
        String::from_utf8(bytes).unwrap()
    };
    let looks = |svg: String| {
        [r#"stroke-dasharray="2 2" d="#, r#"<path fill="url(#hatch)""#, "parked, held"]
            .map(|look| svg.matches(look).count())
    };
    assert_eq!(looks(drawn(What::Hold { is_agent: true })), [1, 0, 1]);
    assert_eq!(looks(drawn(What::Throttle)), [0, 1, 0]);
}

/// Two CPUs that change their threads every 3 microseconds at first, and less often later.
#[test]
fn timeline_of_quick_changes_stays_small() {
    let topology = many_threads(200).topology;
    let mut picture = timeline::Timeline::new(&topology, Nanos::ZERO, Nanos::from_millis(200));
    let mut at = 0;
    for turn in 0..30_000u32 {
        for cpu in 0..2 {
            let vp: ObservedVp = ObservedVp(3 + 2 * (turn % 100) + u32::from(cpu));
            for (time, what) in [(at, What::Request), (at + 100, What::Grant), (at + 2_900, What::Release)] {
                picture.record(&Record { at: Nanos(time), vp, cpu, what });
            }
        }
        at += 3_000 + u64::from(turn / 20) * 60;
    }
    let mut bytes = Vec::new();
    picture.write(&mut bytes, Nanos(at)).unwrap();
    assert!(bytes.len() < 1_000_000, "{} bytes", bytes.len());
    assert!(String::from_utf8(bytes).unwrap().contains("… and 81 more schedulers and threads"));
}

/// One promise for each verdict, as a run in the kernel may have them.
#[test]
fn table_of_every_verdict() {
    let [us, ms] = [Nanos::from_micros, Nanos::from_millis];
    let window = WindowResult {
        window: ms(66),
        promised: ms(5),
        least: Some(ms(5)),
        allowed: Some(ms(15)),
        most: ms(10),
        slack: us(100),
        ..WindowResult::default()
    };
    let short = WindowResult { least: Some(us(4_300)), ..window.clone() };
    let windows = [
        WindowResult { stolen: us(850), ..short.clone() },
        WindowResult { stolen: us(650), missing: us(50), ..short.clone() },
        WindowResult { most: us(15_099), ..window.clone() },
        WindowResult { stolen: us(100), missing: us(600), ..short },
        WindowResult { most: us(15_101), ..window.clone() },
        WindowResult { least: None, ..window.clone() },
        window,
    ];
    let kept = RequestsResult { requests: 304, tested: 303, margin: Some(us(17_999)), ..Default::default() };
    let slack = us(100);
    let late = RequestsResult { margin: Some(Nanos::ZERO), slack, ..kept };
    let requests = [
        Some(kept),
        Some(RequestsResult { missing: us(50), ..late }),
        Some(RequestsResult { stolen: us(850), ..late }),
        Some(RequestsResult { missing: us(600), worst_at: us(12_345), ..late }),
        Some(RequestsResult { requests: 1, tested: 0, margin: None, ..kept }),
        Some(RequestsResult { requests: 0, tested: 0, margin: None, ..kept }),
        None,
    ];
    let mut run = many_threads(7);
    let topology = run.topology.clone();
    let of =
        |(vp, (window, requests)): (ObservedVp, (&WindowResult, Option<RequestsResult>))| GuaranteeResult {
            vp,
            by: topology.vps[vp.index()].parent,
            guarantee: "RESBH 5ms 33ms".into(),
            from: Nanos::ZERO,
            to: Nanos::from_secs(1),
            windows: vec![window.clone()],
            requests,
            counts: Counts::default(),
            cause: (vp == ObservedVp(6)).then_some(Cause::Above(ObservedVp(1))),
        };
    run.threads.clear();
    run.schedulers.clear();
    run.engine = "kernel".into();
    run.unlisted = 2;
    run.guarantees = (3..).map(ObservedVp).zip(windows.iter().zip(requests)).map(of).collect();
    check("verdicts.table", |out| {
        table::write_tables(out, &run)?;
        table::write_verdict(out, &run)
    });
}
