//! `hls run`: what it prints on which stream, that a seed repeats a run, and that reports stay short.

use super::outcome::{Outcome, figure_1, hls};
use std::fs;
use std::path::Path;
use std::process::Stdio;

#[test]
fn figure_1_keeps_its_promises_and_says_so() {
    let Outcome { code, stdout, stderr } = hls(&["run", &figure_1(), "--for", "10s"]);
    assert_eq!((code, &stderr[..]), (Some(0), ""), "{stderr}");
    let last = stdout.lines().last().unwrap();
    assert!(last.starts_with("run: kept: ") && last.contains("none broken"), "{last}");
}

#[test]
fn a_run_that_fails_the_check_runs_all_the_same() {
    let Outcome { code, stdout, stderr } = hls(&["run", "utilisation.kdl", "--for", "100ms"]);
    assert_eq!(code, Some(1));
    assert!(stderr.starts_with("utilisation.kdl:2:1: error: scheduler `R`: found "), "{stderr}");
    assert!(
        stderr.ends_with("note: the check fails, as said above; the run shows what comes of it\n"),
        "{stderr}"
    );
    assert!(stdout.contains(
        "
check: NOT KEPT: none of the 2 guarantees that are asked for can be given
"
    ));
    assert!(stdout.lines().last().unwrap().starts_with("run: kept: "), "{stdout}");
}

/// The promises are kept: a switch is charged to the VP that is granted, so only the jobs have less of what was
/// promised.
#[test]
fn jobs_that_take_longer_than_the_check_says_break_a_promise() {
    let file = |machine: &str| {
        format!(
            "machine {machine}\nreservation \"R\" {{
                thread \"a\" guarantee=\"RESBH 5ms 11ms\" {{ periodic run=\"5ms\" every=\"11ms\" }}
                thread \"b\" guarantee=\"RESBH 5ms 11ms\" {{ periodic run=\"5ms\" every=\"11ms\" }}
            }}"
        )
    };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("late.kdl");
    let cases = [
        ("cpus=1", Some(0), ""),
        (
            "cpus=1 switch-cost=\"100us\"",
            Some(1),
            "note: guarantees are derived for switches that cost nothing; here they took ",
        ),
        (
            "cpus=1 tick=\"100Hz\"",
            Some(1),
            "note: guarantees are derived for precise timers; this machine has ticks of 100 Hz\n",
        ),
    ];
    for (machine, code, note) in cases {
        fs::write(&path, file(machine)).unwrap();
        let outcome = hls(&["run", path.to_str().unwrap(), "--for", "1s"]);
        assert_eq!(outcome.code, code, "{machine}: {}", outcome.stdout);
        assert!(outcome.stderr.starts_with(note), "{machine}: {}", outcome.stderr);
        let last = outcome.stdout.lines().last().unwrap();
        let is_late = last.contains("2 tasks took longer than their bounds (a, b)");
        assert_eq!(is_late, code == Some(1), "{machine}: {last}");
        assert_eq!(last.starts_with("run: BROKEN: "), code == Some(1), "{machine}: {last}");
    }
}

/// The CPUs that a workload names count like CPUs that the file names, also where a phase names them: the check refuses
/// what the threads would not get, and the run does not call it promised.
#[test]
fn the_cpus_of_a_workload_are_known_to_the_check() {
    let directory = tempfile::tempdir().unwrap();
    let [file, bound, workload] =
        ["free.kdl", "bound.kdl", "cpus.json"].map(|name| directory.path().join(name).display().to_string());
    let hierarchy = |affinity: &str| {
        format!(
            "machine cpus=4\nreservation \"R\" {{
                thread \"left\" guarantee=\"RESBH 4ms 7ms\" {affinity}
                thread \"right\" guarantee=\"RESBH 3ms 7ms\"
            }}\n"
        )
    };
    fs::write(&file, hierarchy("")).unwrap();
    fs::write(&bound, hierarchy("affinity=\"2-3\"")).unwrap();
    let tree = |text: &str| text.split("\n\n").next().unwrap().to_owned();
    let of_file = hls(&["check", &bound]);
    assert_eq!(of_file.code, Some(1), "{}", of_file.stderr);
    let run = |json: &str| {
        fs::write(&workload, json).unwrap();
        hls(&["run", &file, "--workload", &workload, "--for", "1s"])
    };
    let of_task = r#"{ "tasks": { "left": { "cpus": [2, 3], "loop": -1, "run": 9000 } } }"#;
    let of_phase = r#"{ "tasks": { "left": { "phases": {
        "free": { "run": 9000 }, "bound": { "cpus": [2, 3], "run": 100 } } } } }"#;
    for json in [of_task, of_phase] {
        let Outcome { code, stdout, stderr } = run(json);
        assert_eq!((code, tree(&stdout)), (Some(1), tree(&of_file.stdout)), "{json}");
        assert!(
            stderr.contains("found left, which may not, expected children that may use every CPU"),
            "{stderr}"
        );
    }
    let of_all = r#"{ "tasks": { "left": { "cpus": [0, 1, 2, 3], "loop": -1, "run": 9000 } } }"#;
    let Outcome { code, stdout, stderr } = run(of_all);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.contains("RESBH 4ms 7ms") && !stdout.contains("NULL"), "{stdout}");
}

/// From 100 ms on the two threads of a lower priority starve, each for a job of its own.
#[test]
fn what_waits_at_the_end_is_in_the_report() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("starved.kdl");
    let text = "machine cpus=1\nfixed-priority \"F\" {
        thread \"hog\" priority=2 arrive=\"100ms\" { cpu-bound; }
        thread \"timer\" priority=1 { periodic run=\"2ms\" every=\"10ms\"; }
        thread \"tasks\" priority=0 {
            tasks by=\"edf\" { task \"t\" run=\"1ms\" every=\"50ms\"; task \"u\" run=\"1ms\" every=\"1s\" }
        }
    }";
    fs::write(&path, text).unwrap();
    let args = ["run", path.to_str().unwrap(), "--for", "4s"];
    let Outcome { stdout, stderr, .. } = hls(&args);
    let row = |name: &str| {
        let is_it = |line: &&str| line.split_whitespace().next() == Some(name);
        stdout.lines().find(is_it).unwrap_or_else(|| panic!("{stdout}{stderr}")).to_owned()
    };
    assert_eq!(row("timer").matches("≥3.90s").count(), 2, "wake latency and response: {stdout}");
    assert!(row("t").contains("≥3.90s") && row("u").contains("≥3.00s"), "{stdout}");
    assert_eq!(row("tasks").matches("≥3.90s").count(), 2, "{stdout}");
    assert!(!row("hog").contains('≥'), "it never ends a job: {stdout}");
    let json: serde_json::Value =
        serde_json::from_str(&hls(&[&args[..], &["--json"]].concat()).stdout).unwrap();
    let latency = |name: &str| {
        let threads = json["threads"].as_array().unwrap();
        threads.iter().find(|thread| thread["name"] == name).unwrap()["wake_latency"].clone()
    };
    assert_eq!(
        (&latency("timer")["worst_ns"], &latency("timer")["count"]),
        (&3_900_000_000_u64.into(), &10.into())
    );
    assert_eq!(latency("timer")["worst_is_open"], true);
    assert!(latency("hog")["worst_is_open"].is_null());
}

/// rt-app keeps a task without threads for `fork`: the hierarchy has no thread for it.
#[test]
fn a_task_without_threads_needs_no_thread_of_the_hierarchy() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    fs::write(path("f.kdl"), "machine cpus=1\nround-robin \"R\" { thread \"main\"; }").unwrap();
    let run = |instances: u32| {
        let json = format!(
            r#"{{ "tasks" : {{ "forked" : {{ "instance" : {instances}, "run" : 5000 }},
                "main" : {{ "run" : 1000, "sleep" : 3000 }} }}, "global" : {{ "duration" : 1 }} }}"#
        );
        fs::write(path("w.json"), json).unwrap();
        hls(&["run", &path("f.kdl"), "--workload", &path("w.json")])
    };
    let Outcome { code, stdout, stderr } = run(0);
    assert_eq!((code, &stderr[..]), (Some(0), ""));
    assert!(stdout.contains("25.0%") && !stdout.contains("forked"), "{stdout}");
    let Outcome { code, stderr, .. } = run(1);
    assert_eq!(code, Some(2));
    assert!(stderr.contains("task `forked`: found no thread of that name"), "{stderr}");
}

#[test]
fn json_stands_alone_on_standard_output() {
    for (file, code) in [(&figure_1()[..], 0), ("utilisation.kdl", 1), ("collision.kdl", 0)] {
        let outcome = hls(&["run", file, "--for", "100ms", "--json"]);
        assert_eq!(outcome.code, Some(code), "{file}");
        let json: serde_json::Value = serde_json::from_str(&outcome.stdout).unwrap();
        assert_eq!(json["length_ns"], 100_000_000, "{file}");
        assert_eq!(outcome.stderr.is_empty(), file == figure_1(), "{file}");
    }
}

/// Everything that a run of Figure 1 writes to files and prints.
fn everything(directory: &Path, seed: &str) -> Vec<Vec<u8>> {
    let path = |name: &str| directory.join(name).to_str().unwrap().to_owned();
    let (trace, timeline, timehist) = (path("trace"), path("timeline"), path("timehist"));
    let files = ["--trace", &trace, "--timeline", &timeline, "--timehist", &timehist];
    let outcome = hls(&[&["run", &figure_1(), "--json", "--for", "1s", "--seed", seed][..], &files].concat());
    assert_eq!(outcome.code, Some(0), "{}", outcome.stderr);
    let mut all = vec![outcome.stdout.replace(&format!("\"seed\": {seed}"), "").into_bytes()];
    all.extend([trace, timeline, timehist].map(|path| fs::read(path).unwrap()));
    all
}

#[test]
fn a_seed_decides_every_byte() {
    let directory = tempfile::tempdir().unwrap();
    let [first, again, other] = ["7", "7", "8"].map(|seed| everything(directory.path(), seed));
    for (kind, (first, (again, other))) in first.iter().zip(again.iter().zip(&other)).enumerate() {
        assert!(first == again, "output {kind} differs for one seed");
        assert!(first != other, "output {kind} is the same for two seeds");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    for (args, code) in [
        (&["policies"][..], 0),
        (&["check", &figure_1(), "--explain", "PS"], 0),
        (&["check", "utilisation.kdl"], 1),
        (&["check", "times.kdl"], 2),
        (&["run", &figure_1(), "--for", "1s", "--json"], 0),
    ] {
        let mut child =
            super::outcome::command(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop((child.stdout.take(), child.stderr.take()));
        assert_eq!(child.wait().unwrap().code(), Some(code), "{args:?}");
    }
}

#[test]
fn a_large_hierarchy_has_a_short_report() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("large.kdl");
    let path = path.to_str().unwrap();
    let named: String =
        (0..3_000).map(|n| format!("thread \"t{n}x\" guarantee=\"RESBS 1ms 9ms\"\n")).collect();
    for threads in ["thread \"t\" instances=65534\n", &named] {
        fs::write(path, format!("round-robin \"R\" {{\n{threads}}}\n")).unwrap();
        for args in [&["check", path][..], &["run", path, "--for", "1ms"]] {
            let Outcome { stdout, stderr, .. } = hls(args);
            assert!(stdout.lines().count() < 150 && stderr.lines().count() < 1_010, "{args:?}: {stdout}");
        }
    }
}

/// No process runs in simulated time, so none decides there.
#[test]
fn a_command_that_decides_is_refused_in_the_simulator() {
    let Outcome { code, stdout, stderr } = hls(&["run", "user-level.kdl", "--for", "100ms"]);
    assert_eq!((code, stdout.as_str()), (Some(2), ""));
    assert!(stderr.contains("user-level.kdl:4:42: error: scheduler `open`: found a command"), "{stderr}");
    assert!(stderr.contains("user-level.kdl:8:82: error: scheduler `sealed`: found a command"), "{stderr}");
    assert!(!stderr.contains("note: "), "nobody makes up what an agent does: {stderr}");
}
