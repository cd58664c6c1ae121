//! The answers as plain data.

use hls_calculus::Rules;
use hls_facade::{Message, Options, Promised, Severity, check, simulate};
use hls_units::Nanos;

const TEXT: &str = r#"
fixed-priority "FP" {
    reservation "R" priority=1 { thread "film" guarantee="RESBH 10ms 33ms" { periodic run="8ms" every="33ms"; } }
    thread "rest" priority=0
}
"#;

/// A run of one second.
fn second() -> Options {
    Options { length: Some(Nanos::from_secs(1)), ..Options::default() }
}

#[test]
fn a_text_that_keeps_its_promises_is_kept() {
    let check = check(TEXT, &Options::default());
    assert_eq!((check.exit_code, check.cpus), (0, 1), "{check:?}");
    assert_eq!(check.verdict, "kept: the one guarantee that is asked for can be given");
    assert_eq!(check.messages, []);
    let film = Promised {
        to: "film".into(),
        policy: None,
        by: Some("R".into()),
        guarantee: "RESBH 10ms 33ms".into(),
        needs: None,
    };
    assert!(check.promises.contains(&film), "{:?}", check.promises);
    assert_eq!(check.promises[0].by, None);
    let [task] = &check.tasks[..] else { panic!("{:?}", check.tasks) };
    assert_eq!((&task.of[..], task.run_ns, task.every_ns), ("film", 8_000_000, 33_000_000));

    let run = simulate(TEXT, &second());
    let result = run.result.expect("it ran");
    assert_eq!(run.exit_code, 0, "{}", run.verdict);
    assert!(run.verdict.starts_with("kept: "), "{}", run.verdict);
    assert_eq!(result.length, Nanos::from_secs(1));
}

#[test]
fn a_guarantee_that_cannot_be_given_is_said_with_its_place() {
    let text = "fixed-priority {\n    thread \"a\" priority=1\n    thread \"b\" priority=0 guarantee=\"PS 1/2\"\n}\n";
    let check = check(text, &Options::default());
    assert_eq!(check.exit_code, 1);
    assert!(check.verdict.starts_with("NOT KEPT: "), "{}", check.verdict);
    let [Message { severity: Severity::Error, line: 3, bytes, .. }] = &check.messages[..] else {
        panic!("{:?}", check.messages)
    };
    assert_eq!(&text[bytes.0..bytes.1], "thread \"b\"");
    let needs: Vec<_> = check.promises.iter().filter_map(|promised| promised.needs.as_deref()).collect();
    assert_eq!(needs, ["PS 1/2"]);
    // The run shows what comes of it, and its verdict includes the check.
    let run = simulate(text, &second());
    assert_eq!((run.exit_code, run.result.is_some()), (1, true), "{}", run.verdict);
}

#[test]
fn a_text_that_is_wrong_has_all_its_errors_and_no_run() {
    let run = simulate("fixed-prority {\n    thread\n}\n", &second());
    assert_eq!((run.exit_code, run.check.exit_code), (2, 2));
    assert!(run.result.is_none() && run.check.promises.is_empty());
    let severities: Vec<_> = run.check.messages.iter().map(|message| message.severity).collect();
    assert!(severities.contains(&Severity::Error), "{severities:?}");
    let helps: Vec<_> = run.check.messages.iter().filter_map(|message| message.help.as_deref()).collect();
    assert!(helps.iter().any(|help| help.contains("fixed-priority")), "{helps:?}");
}

#[test]
fn a_workload_says_what_threads_do() {
    let workload = r#"{ "tasks": { "rest": { "run": 2000, "timer": { "ref": "t", "period": 10000 } } } }"#;
    let run = simulate(TEXT, &Options { workload: Some(workload.into()), ..second() });
    let result = run.result.unwrap_or_else(|| panic!("{:?}", run.check.messages));
    let rest = result.threads.iter().find(|thread| result.topology.child_name(thread.vp) == "rest");
    assert_eq!(rest.map(|rest| rest.work), Some(Nanos::from_millis(200)));

    let run = simulate(TEXT, &Options { workload: Some(workload.replace("rest", "nobody")), ..second() });
    assert_eq!(run.exit_code, 2);
    assert!(run.check.messages.iter().any(|message| message.text.contains("nobody")), "{run:?}");
}

#[test]
fn the_same_text_and_seed_give_the_same_bytes() {
    let text = TEXT.replace("periodic run=\"8ms\"", "periodic run=\"1ms..8ms\"");
    let json = |seed| {
        serde_json::to_string(&simulate(&text, &Options { seed, ..second() })).expect("it can be written")
    };
    assert_eq!(json(7), json(7));
    assert_ne!(json(7), json(8));
    assert!(json(7).contains("\"format\":1"));
}

#[test]
fn a_process_as_a_policy_is_refused_where_no_process_runs() {
    let text = "user-level \"S\" command=\"./my-sched\" { thread \"a\" slot=1; }\n";
    let run = simulate(text, &second());
    assert_eq!((run.exit_code, run.check.exit_code), (2, 0), "{run:?}");
    assert!(run.check.messages.iter().any(|message| message.text.contains("no process runs")), "{run:?}");
}

/// What a switch costs counts as CPU time of a thread: nobody is accused of wanting more than the text says.
#[test]
fn the_costs_of_the_machine_are_no_ones_demand() {
    for machine in ["", "machine switch-cost=\"1ms\"\n", "machine decision-cost=\"1ms\"\n"] {
        let text = format!(
            "{machine}fixed-priority \"FP\" {{
                thread \"high\" priority=1 {{ periodic run=\"2ms\" every=\"10ms\" }}
                thread \"low\" priority=0 {{ periodic run=\"1ms\" every=\"20ms\" }}
            }}"
        );
        let run = simulate(&text, &second());
        let result = run.result.unwrap_or_else(|| panic!("{:?}", run.check.messages));
        assert_eq!(result.exceeded, [], "{machine}");
    }
}

/// The threads of hls come below the scheduler that a file has for them: it promises nothing to its own threads.
#[test]
fn a_scheduler_for_the_threads_of_hls_promises_nothing() {
    for (service, exit_code) in [("", 0), (" service=#true", 1)] {
        let text = format!(
            "fixed-priority \"FP\" {{
                proportional-share \"S\" priority=1{service} {{ thread \"a\" share=1 guarantee=\"PS 1/2\"; }}
                thread \"low\" priority=0
            }}"
        );
        let check = check(&text, &Options::default());
        assert_eq!(check.exit_code, exit_code, "`{service}`: {}, {:?}", check.verdict, check.messages);
    }
}

/// Threads that are in no place of the text may come to the default scheduler: it leaves nothing for sure.
#[test]
fn an_empty_default_scheduler_may_take_all() {
    let options = Options { rules: Rules { global: true, ..Rules::default() }, ..Options::default() };
    for (default, exit_code) in [("", 0), (" default=#true", 1)] {
        let text = format!(
            "fixed-priority \"FP\" {{
                time-sharing \"rest\" priority=1{default} {{ }}
                thread \"low\" priority=0 guarantee=\"PS 1/2\"
            }}"
        );
        let check = check(&text, &options);
        assert_eq!(check.exit_code, exit_code, "`{default}`: {}, {:?}", check.verdict, check.messages);
    }
}
