//! Scripts: changes at given times of a simulated run. A change is made, or it is refused and the run goes on.

use super::outcome::{Outcome, assert_refused, hls};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn example(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name).display().to_string()
}

fn script(folder: &Path, text: &str) -> String {
    let path: PathBuf = folder.join("changes.script");
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

/// The example: a policy is loaded, used and unloaded, and the reservations keep their promises meanwhile.
#[test]
fn a_policy_comes_and_goes_in_the_midst_of_a_run() {
    let (file, changes) = (example("asked-times.kdl"), example("asked-times.script"));
    let args = ["run", &file, "--script", &changes, "--for", "6s", "--paranoid", "--json"];
    let Outcome { code, stdout, stderr } = hls(&args);
    assert_eq!(code, Some(0), "{stderr}");
    assert_eq!(
        stderr,
        "\
1s: loaded `asked-times`
1s: created `A` below `FP`, which promises it NULL
1s: thread drummer is below `A`, which promises it NULL
1.5s: thread pianist is below `A`, which promises it NULL
5s: thread drummer is below the default scheduler, which promises it NULL
5s: thread pianist is below the default scheduler, which promises it NULL
5s: destroyed `A`
5s: unloaded `asked-times`
"
    );
    let run: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    let promises = run["guarantees"].as_array().unwrap();
    let of_res: Vec<_> = promises.iter().filter(|promise| promise["by"] == "RES").collect();
    let whole_run = |promise: &&serde_json::Value| (promise["from_ns"].as_u64(), promise["to_ns"].as_u64());
    assert_eq!(of_res.len(), 3);
    assert!(of_res.iter().all(|promise| promise["kept"] == true), "{of_res:?}");
    assert!(of_res.iter().all(|promise| whole_run(promise) == (Some(0), Some(6_000_000_000))), "{of_res:?}");
    let verdicts = |promise: &serde_json::Value| promise["windows"].to_string();
    assert!(of_res.iter().any(|promise| verdicts(promise).contains("\"verdict\":\"kept\"")), "{of_res:?}");
    // Below A the drummer waits for a millisecond at most, and for what is reserved. Where no wake-up raises a thread,
    // and there is no A, it waits for many milliseconds.
    let folder = tempfile::tempdir().unwrap();
    let without_raises = folder.path().join("fixed.kdl");
    let text = std::fs::read_to_string(&file).unwrap().replace("default=#true", "default=#true wake-boost=0");
    std::fs::write(&without_raises, text).unwrap();
    let fixed = hls(&["run", &without_raises.display().to_string(), "--for", "6s", "--json"]);
    assert_eq!((fixed.code, fixed.stderr.as_str()), (Some(0), ""));
    let fixed: serde_json::Value = serde_json::from_str(&fixed.stdout).unwrap();
    let drummer = |run: &serde_json::Value| {
        let threads = run["threads"].as_array().unwrap().clone();
        threads.into_iter().find(|thread| thread["name"] == "drummer").unwrap()
    };
    let median = |run| drummer(run)["wake_latency"]["p50_ns"].as_u64().unwrap();
    assert!(median(&run) < median(&fixed), "{} {}", median(&run), median(&fixed));
    assert_eq!(hls(&args).stdout, stdout, "the same bytes again");
}

#[test]
fn what_is_refused_is_reported_and_the_run_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let changes = script(
        folder.path(),
        "\
# Too much, and then what would be granted.
100ms ctl reserve drummer \"RESBH 9ms 10ms\"
200ms ctl move drummer --to RES 'guarantee=RESBH 1ms 20ms'
300ms ctl message drummer budget=2ms # twice as much
400ms ctl destroy RES
500ms ctl create asked-times A --below FP
",
    );
    let file = example("asked-times.kdl");
    let Outcome { code, stdout, stderr } =
        hls(&["run", &file, "--script", &changes, "--for", "1s", "--json"]);
    assert_eq!(code, Some(1), "{stderr}");
    let lines: Vec<&str> = stderr.lines().collect();
    for (line, said) in [
        (0, "changes.script:2: at 100ms: refused: RES: needs a utilisation of at most 100%"),
        (1, "would be granted"),
        (2, "200ms: thread drummer is below `RES`, which promises it RESBH 1ms 20ms"),
        (3, "300ms: thread drummer is below `RES`, which promises it RESBH 2ms 20ms"),
        (4, "changes.script:5: at 400ms: found a thread of the file and 3 more below `RES`"),
        (5, "changes.script:6: at 500ms: found the policy `asked-times`"),
        (6, "3 of the script's changes were refused"),
    ] {
        assert!(lines[line].contains(said), "{stderr}");
    }
    let run: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    let promises = run["guarantees"].as_array().unwrap().iter();
    let drummer: Vec<_> = promises.filter(|promise| promise["to"] == "drummer").collect();
    let stretch = |promise: &&serde_json::Value| {
        (promise["from_ns"].as_u64().unwrap(), promise["to_ns"].as_u64().unwrap())
    };
    let stretches: Vec<_> = drummer.iter().map(stretch).collect();
    // The new promise begins when the old period has passed.
    assert_eq!(stretches, [(200_000_000, 300_000_000), (320_000_000, 1_000_000_000)]);
    assert!(drummer.iter().all(|promise| promise["by"] == "RES" && promise["kept"] == true), "{drummer:?}");
}

/// A thread that is suspended has no CPU time meanwhile, and nothing that it was promised breaks.
#[test]
fn a_thread_is_suspended_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let changes = script(folder.path(), "200ms ctl suspend encoder --by FP\n700ms ctl resume encoder\n");
    let args =
        ["run", &example("asked-times.kdl"), "--script", &changes, "--for", "1s", "--paranoid", "--json"];
    let Outcome { code, stdout, stderr } = hls(&args);
    assert_eq!(code, Some(0), "{stderr}");
    let said =
        "200ms: thread encoder is suspended by `FP`\n700ms: thread encoder is no longer suspended by `FP`\n";
    assert_eq!(stderr, said);
    let run: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    let threads = run["threads"].as_array().unwrap().clone();
    let encoder = threads.into_iter().find(|thread| thread["name"] == "encoder").unwrap();
    // It has 8 ms in each 50 ms, for a second less the 500 ms.
    let ran = encoder["ran_ns"].as_u64().unwrap();
    assert!((72_000_000..=88_000_000).contains(&ran), "{ran}");
}

#[test]
fn what_is_wrong_with_a_script_is_said_before_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let wrong = script(
        folder.path(),
        "\
1s ctl release nobody
2s ctl frobnicate
x ctl status
3s run figure1.kdl
20s ctl status
1s ctl move \"drummer
1s load no_such_file.c
1s
1s ctl
1s ctl status --help
1s ctl promote U --below FP -- ./my-sched
",
    );
    let file = example("asked-times.kdl");
    assert_refused(
        &["run", &file, "--script", &wrong],
        &[
            "changes.script:1: error: found the thread `nobody`",
            "changes.script:2: error: unrecognized subcommand 'frobnicate'",
            "changes.script:3: error: found `x`, expected a time",
            "changes.script:4: error: found `run figure1.kdl`, expected `ctl`, `load` or `unload`",
            "changes.script:5: error: found a change at 20s, expected none after the end of the run, 10s",
            "changes.script:6: error: found a quote that is not closed",
            "changes.script:7: error: ",
            "changes.script:8: error: found no change behind the time",
            "changes.script:9: error: found `ctl`, expected a change",
            "changes.script:10: error: found `ctl status --help`, expected a change",
            "changes.script:11: error: found `ctl promote`, expected another change",
        ],
    );
    let good = script(folder.path(), "1s ctl status");
    assert_refused(&["run", &file, "--script", "none"], &["cannot read none"]);
    assert_refused(&["run", &file, "--script", &good, "--global"], &["--global"]);
    assert_refused(
        &["run", "utilisation.kdl", "--script", &good],
        &["found a hierarchy that fails its check"],
    );
}

/// From 2 s on a policy no longer chooses a thread. A message says so at once, what the policy promised ends, all other
/// promises are kept, and a mended version of the policy takes its place again.
#[test]
fn a_policy_is_disabled_and_given_back() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let template = Path::new(env!("CARGO_MANIFEST_DIR")).join("../policy-build/template/weighted_turns.c");
    let choice = "fifo_first_usable(h, &turns->queue, cpu)";
    let good = std::fs::read_to_string(template).unwrap().replace(
        ".state_version",
        ".accepts = \"RESBH\", .provides = \"sbf(100ms, 1 / 10)\", .state_version",
    );
    let bad = good.replace(choice, &format!("h->now_ns < HLS_S(2) ? {choice} : 0"));
    std::fs::create_dir(path("mended")).unwrap();
    std::fs::write(path("mended/weighted_turns.c"), good).unwrap();
    std::fs::write(path("weighted_turns.c"), bad).unwrap();
    std::fs::write(
        path("turns.kdl"),
        r#"
load "weighted_turns.c"
machine cpus=1
fixed-priority "FP" {
    reservation "RES" priority=2 {
        thread "video" guarantee="RESBH 5ms 20ms" { cpu-bound; }
        weighted-turns "A" guarantee="RESBH 10ms 20ms" quantum="1ms" {
            thread "heavy" weight=3 { cpu-bound; }
            thread "light" { cpu-bound; }
        }
    }
    time-sharing "rest" priority=0 default=#true { thread "build" { cpu-bound; } }
}"#,
    )
    .unwrap();
    let file = path("turns.kdl").display().to_string();
    let trace = path("trace").display().to_string();
    let line = "2.005s: DISABLED: weighted-turns of A, since its grant hook chose no VP while a ready child could \
                use the CPU; round-robin is in its place";

    // A run without a script says the same as a run with one.
    let Outcome { code, stdout, stderr } =
        hls(&["run", &file, "--for", "3s", "--trace", &trace, "--paranoid"]);
    assert_eq!((code, stderr.trim_end()), (Some(0), line));
    assert!(stdout.contains(&format!("\n\n  {line}\n")), "{stdout}");
    let trace = std::fs::read(&trace).unwrap();
    assert!(trace.windows(15).any(|bytes| bytes == b"policy disabled"));

    let changes = script(
        folder.path(),
        "\
2.5s ctl status
3s load --replace mended/weighted_turns.c
4s unload weighted-turns
",
    );
    let args = ["run", &file, "--script", &changes, "--for", "5s", "--json", "--paranoid"];
    let Outcome { code, stdout, stderr } = hls(&args);
    assert_eq!(code, Some(1), "{stderr}");
    for said in [
        line,
        "round-robin     RESBH 10ms 20ms",
        "\nA has round-robin in the place of a disabled policy, weighted-turns: its grant hook chose no VP",
        "\n3s: loaded `weighted-turns`\n`A` has it, as if it were new\n",
        "at 4s: found the policy `weighted-turns` in use by `A`",
    ] {
        assert!(stderr.contains(said), "expected {said} in {stderr}");
    }
    let run: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(run["disabled_policies"][0]["scheduler"], "A");
    assert_eq!(run["disabled_policies"][0]["at_ns"], 2_005_000_000_u64);
    assert_eq!((&run["kept"], &run["disabled_policies"][1]), (&true.into(), &serde_json::Value::Null));
    let stretches = |to: &str| -> Vec<(u64, u64)> {
        let promises = run["guarantees"].as_array().unwrap().iter().filter(|promise| promise["to"] == to);
        promises.map(|it| (it["from_ns"].as_u64().unwrap(), it["to_ns"].as_u64().unwrap())).collect()
    };
    let [taken, given, end] = [2_005_000_000, 3_000_000_000, 5_000_000_000];
    // While round robin is the fallback, it makes a promise, too.
    assert_eq!(stretches("heavy"), [(0, taken), (taken, given), (given, end)]);
    assert_eq!(stretches("video"), [(0, end)]);
}

/// A build with another state version takes over children that have parameters. The fallback, which schedules the
/// children in between, has no such parameters; and an instance of a policy that says what it accepts is created and
/// destroyed.
#[test]
fn another_state_version_takes_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let template = Path::new(env!("CARGO_MANIFEST_DIR")).join("../policy-build/template/weighted_turns.c");
    let text = std::fs::read_to_string(template).unwrap();
    let text = text.replace("    .state_version = 1,", "    .accepts = \"ALL\",\n    .state_version = 1,");
    std::fs::write(path("weighted_turns.c"), &text).unwrap();
    std::fs::create_dir(path("next")).unwrap();
    let next = text.replace(".state_version = 1,", ".state_version = 2,");
    std::fs::write(path("next/weighted_turns.c"), next).unwrap();
    let hierarchy = r#"
machine cpus=1
fixed-priority "FP" {
    time-sharing "rest" priority=0 default=#true { thread "build" instances=2 { cpu-bound; }; }
}"#;
    std::fs::write(path("base.kdl"), hierarchy).unwrap();
    let changes = script(
        folder.path(),
        "\
1s load weighted_turns.c
1s ctl create weighted-turns A --below FP priority=1
1s ctl move build-0 --to A weight=3
2s load --replace next/weighted_turns.c
3s ctl release build-0
3s ctl destroy A
3s unload weighted-turns
",
    );
    let file = path("base.kdl").display().to_string();
    let args = ["run", &file, "--script", &changes, "--for", "4s", "--paranoid"];
    let Outcome { code, stderr, .. } = hls(&args);
    assert_eq!(code, Some(0), "{stderr}");
    let said = "\n2s: loaded `weighted-turns`\n`A` has it, as if it were new\n";
    assert!(stderr.contains(said), "{stderr}");
}

/// Unloading a policy that is used moves the threads below its schedulers, among them a thread that comes only later,
/// and destroys all schedulers there.
#[test]
fn a_policy_in_use_is_evacuated() {
    let folder = tempfile::tempdir().unwrap();
    let template = Path::new(env!("CARGO_MANIFEST_DIR")).join("../policy-build/template/weighted_turns.c");
    std::fs::copy(template, folder.path().join("weighted_turns.c")).unwrap();
    let file = folder.path().join("turns.kdl").display().to_string();
    let hierarchy = r#"
load "weighted_turns.c"
machine cpus=1
fixed-priority "FP" {
    reservation "RES" priority=2 {
        thread "video" guarantee="RESBH 5ms 20ms" { cpu-bound; }
        weighted-turns "A" guarantee="RESBH 10ms 20ms" {
            thread "heavy" weight=3 { cpu-bound; }
            thread "late" arrive="3s" { cpu-bound; }
            round-robin "B" { thread "deep" instances=2 { cpu-bound; }; }
        }
    }
    time-sharing "rest" priority=0 default=#true { thread "build" { cpu-bound; }; }
}"#;
    std::fs::write(&file, hierarchy).unwrap();
    let changes = script(
        folder.path(),
        "\
2s unload weighted-turns --evacuate
2020ms ctl create round-robin C --below RES 'guarantee=RESBH 10ms 20ms' # with the core's numbers of those that went
2020ms ctl create round-robin D --below C
",
    );
    let args = ["run", &file, "--script", &changes, "--for", "4s", "--json", "--paranoid"];
    let Outcome { code, stdout, stderr } = hls(&args);
    assert_eq!(code, Some(0), "{stderr}");
    let said = "2s: 3 threads are below the default scheduler now\ndestroyed `B`\ndestroyed `A`\nunloaded";
    assert!(stderr.starts_with(said), "{stderr}");
    let run: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    let threads = run["threads"].as_array().unwrap();
    for thread in threads.iter().filter(|thread| thread["name"] != "video") {
        assert!(thread["scheduler"] == "rest" && thread["ran_ns"].as_u64().unwrap() > 0, "{thread}");
    }
    let schedulers = run["schedulers"].as_array().unwrap();
    let ran = |name| schedulers.iter().find(|it| it["name"] == name).unwrap()["ran_ns"].as_u64();
    assert_eq!((ran("C"), ran("D"), ran("A")), (Some(0), Some(0), Some(1_000_000_000)));

    // The threads move to the default scheduler, which itself cannot be destroyed.
    let rest = r#"time-sharing "rest" priority=0 default=#true { thread "build" { cpu-bound; }; }"#;
    let below = r#"weighted-turns "W" priority=0 { time-sharing "rest" default=#true; }"#;
    std::fs::write(&file, hierarchy.replace(rest, below)).unwrap();
    let changes = script(folder.path(), "2s unload weighted-turns --evacuate");
    let Outcome { code, stderr, .. } = hls(&["run", &file, "--script", &changes, "--for", "3s"]);
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("found the default scheduler, `rest`, among those to be destroyed"), "{stderr}");
}

/// A policy may declare a promise that it does not keep: the calculus trusts the declaration, and the monitor finds the
/// broken promise.
#[test]
fn a_declared_promise_that_is_not_kept_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let policy = Path::new(env!("CARGO_MANIFEST_DIR")).join("../policy-build/tests/gallery/breaks_word.c");
    std::fs::copy(policy, folder.path().join("breaks_word.c")).unwrap();
    let file = folder.path().join("word.kdl").display().to_string();
    let hierarchy = r#"
load "breaks_word.c"
machine cpus=1
fixed-priority "FP" {
    reservation "RES" priority=1 {
        thread "video" guarantee="RESBH 5ms 20ms" { cpu-bound; }
        breaks-word "W" guarantee="RESBH 10ms 20ms" {
            thread "first" budget="5ms" period="50ms" { cpu-bound; }
            thread "second" budget="10ms" period="100ms" { cpu-bound; }
        }
    }
    time-sharing "rest" priority=0 default=#true { thread "build" { cpu-bound; }; }
}"#;
    std::fs::write(&file, hierarchy).unwrap();
    let Outcome { code, stdout, .. } = hls(&["check", &file]);
    assert_eq!(code, Some(0), "{stdout}");
    assert!(stdout.contains("second  thread          RESBS 10ms 100ms"), "{stdout}");
    let Outcome { code, stdout, .. } = hls(&["run", &file, "--for", "1s"]);
    assert_eq!(code, Some(1), "{stdout}");
    assert!(stdout.ends_with("run: BROKEN: 1 of 6 promises tested (second)\n"), "{stdout}");
}

/// The promises of a run with a script, all of which are kept.
#[track_caller]
fn kept_promises(hierarchy: &str, changes: &str, length: &str) -> Vec<serde_json::Value> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("replaced.kdl").display().to_string();
    std::fs::write(&file, hierarchy).unwrap();
    let changes = script(folder.path(), changes);
    let Outcome { code, stdout, stderr } =
        hls(&["run", &file, "--script", &changes, "--for", length, "--json"]);
    assert_eq!(code, Some(0), "{stderr}");
    let run: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    run["guarantees"].as_array().unwrap().clone()
}

/// A reservation with a period of 100 ms that has had its budget gets one with 2 ms: the scheduler ends the old period
/// first, and the new promise begins after it.
#[test]
fn a_reservation_that_replaces_another_is_promised_from_its_end_on() {
    let hierarchy = r#"machine cpus=1
fixed-priority "FP" {
    reservation "RES" priority=1
    time-sharing "rest" priority=0 default=#true {
        thread "film" { cpu-bound; }
        thread "build" { cpu-bound; }
    }
}"#;
    let changes = "10ms ctl reserve film \"RESBH 1ms 100ms\"\n20ms ctl reserve film \"RESBH 1ms 2ms\"\n";
    let promises = kept_promises(hierarchy, changes, "1s");
    let times: Vec<_> = promises.iter().filter_map(|it| it["from_ns"].as_u64()).collect();
    assert!(times.contains(&120_000_000), "{promises:?}");
}

/// A thread with a hundredth of the shares, which had a quantum, gets half of them: the scheduler has it pay first for
/// what it was ahead of the hundredth.
#[test]
fn a_share_that_replaces_a_small_one_is_promised_later() {
    let hierarchy = r#"machine cpus=1
fixed-priority "FP" {
    proportional-share "PS" priority=1 quantum="10ms" {
        thread "encoder" share=99 { cpu-bound; }
    }
    time-sharing "rest" priority=0 default=#true {
        thread "film" { cpu-bound; }
    }
}"#;
    let changes = "10ms ctl move film --to PS share=1\n35ms ctl message film share=99\n";
    let promises = kept_promises(hierarchy, changes, "10s");
    let film: Vec<_> =
        promises.iter().filter(|it| it["to"] == "film").filter_map(|it| it["from_ns"].as_u64()).collect();
    assert!(film.len() == 2 && film[1] > 1_000_000_000, "{film:?}");
}

/// Threads come one after the other to a scheduler that has no CPU time left over, each with a whole budget: the place
/// of each counts for a period more. Otherwise three budgets would come within 30 ms, and a promise would break.
#[test]
fn threads_that_come_and_go_take_nothing_from_the_promised() {
    let hierarchy = r#"machine cpus=1
fixed-priority "FP" {
    reservation "RES" priority=1 {
        thread "film" guarantee="RESBH 20ms 40ms" { cpu-bound; }
    }
    time-sharing "rest" priority=0 default=#true {
        thread "one" { cpu-bound; }
        thread "two" { cpu-bound; }
    }
}"#;
    let changes = "1ms ctl reserve one \"RESBH 10ms 20ms\"
11ms ctl release one
11ms ctl reserve two \"RESBH 10ms 20ms\"
30ms ctl reserve two \"RESBH 10ms 20ms\"
31ms ctl reserve two \"RESBH 10ms 20ms\"
";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("come-and-go.kdl").display().to_string();
    std::fs::write(&file, hierarchy).unwrap();
    let changes = script(folder.path(), changes);
    let Outcome { stdout, stderr, .. } = hls(&["run", &file, "--script", &changes, "--for", "1s"]);
    for refused in
        ["3: at 11ms: refused: RES: ", "4: at 30ms: refused: RES: ", "still counts, for 1ms at most"]
    {
        assert!(stderr.contains(refused), "{stderr}");
    }
    assert!(stderr.contains("31ms: thread two is below `RES`"), "{stderr}");
    assert!(stdout.contains("run: kept: 5 promises tested, none broken"), "{stdout}");
}

/// The scripts that the fuzzer keeps (`crates/fuzz`): each is carried out or refused, and none breaks the core.
#[test]
fn the_scripts_of_the_corpus_are_carried_out_or_refused() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz");
    let file = fuzz.join("script.kdl").display().to_string();
    let unpacked = tempfile::tempdir().unwrap();
    let mut tar = std::process::Command::new("tar");
    let archive = fuzz.join("corpus/script.tar.gz");
    assert!(tar.arg("-xzf").arg(archive).arg("-C").arg(unpacked.path()).status().unwrap().success());
    let scripts = std::fs::read_dir(unpacked.path()).unwrap();
    let mut codes = BTreeSet::new();
    for script in scripts {
        let script = script.unwrap().path().display().to_string();
        let Outcome { code, stderr, .. } =
            hls(&["run", &file, "--for", "20ms", "--paranoid", "--script", &script]);
        assert!(code.is_some_and(|code| code <= 2), "{script}: {code:?} {stderr}");
        codes.insert(code);
    }
    assert_eq!(codes, BTreeSet::from([Some(0), Some(1), Some(2)]), "what scripts can come to is all there");
}
