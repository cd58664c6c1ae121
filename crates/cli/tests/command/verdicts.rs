//! Verdicts of `hls check` and `hls fit` that are easily wrong: what they call possible must be possible, and what was
//! not found out is no "no".

use super::outcome::{Outcome, hls};

/// The outcome of a command on a file of this text.
fn on(command: &str, text: &str) -> Outcome {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("file.kdl");
    std::fs::write(&path, text).unwrap();
    hls(&[command, path.to_str().unwrap()])
}

/// A share is split among the VPs of a scheduler, and what idle VPs leave goes to all: a user with few threads has less
/// than another one with the same share and many threads. So nothing is promised, and a request is refused.
#[test]
fn shares_of_several_vps_are_no_promise() {
    let file = |asked: &str| {
        format!(
            "machine cpus=2\nproportional-share \"root\" quantum=\"3ms\" {{
                round-robin \"one\" share=100 {asked} {{ thread \"a\" {{ cpu-bound; }}; }}
                round-robin \"seven\" share=100 {{ thread \"b\" instances=7 {{ cpu-bound; }}; }}
            }}\n"
        )
    };
    let Outcome { code, stdout, stderr } = on("check", &file(""));
    assert_eq!(code, Some(0), "{stderr}");
    for name in ["one", "seven"] {
        let line = stdout.lines().find(|line| line.contains(&format!(" {name} "))).unwrap();
        assert!(line.contains(" NULL"), "{stdout}");
    }
    let Outcome { code, stderr, .. } = on("check", &file("guarantee=\"PSBE 1/2 10ms\""));
    assert_eq!(code, Some(1), "{stderr}");
}

/// Six CPUs; a scheduler that hangs below a join asks for three of them.
#[test]
fn cpus_that_a_join_cannot_hand_on_are_refused() {
    let file = |asked: &str| {
        format!(
            "machine cpus=6\nfixed-priority \"top\" {{
                reservation \"sure\" priority=2 {{
                    join \"J\" width=4 guarantee=\"{asked}\" budget=\"15ms\" period=\"20ms\"
                }}
                round-robin \"rest\" priority=1 {{ join \"J\" width=4; thread \"hog\" instances=9; }}
            }}
            round-robin \"pool\" parent=\"J\" {{ thread \"worker\" instances=8; }}\n"
        )
    };
    let Outcome { code, stdout, stderr } = on("check", &file("MPR 20ms 60ms 4"));
    assert_eq!(code, Some(1), "{stdout}");
    assert!(stdout.contains("RESBH 15ms 20ms, but needs MPR 20ms 60ms 4 (on 4 CPUs)"), "{stdout}");
    assert!(stderr.contains("only 1 of 4 VPs can have a CPU at once"), "{stderr}");
    let Outcome { code, stderr, .. } = on("check", &file("RESBH 15ms 20ms"));
    assert_eq!(code, Some(0), "{stderr}");
}

/// The fast task has 15,000 windows before the deadline of the slow one: 60 % and a little suffice. For tasks that want
/// all of a CPU, and have no common period, it is not known, and no message says that nothing suffices.
#[test]
fn a_fit_is_found_or_it_is_said_that_it_was_not() {
    let file = |fast: &str, slow: &str| {
        format!(
            "machine cpus=1\nreservation \"R\" {{ thread \"t\" guarantee=\"RESBH 1ms 1ms\" {{
                tasks by=\"priority\" {{ task \"fast\" {fast}; task \"slow\" {slow}; }}
            }} }}\n"
        )
    };
    let Outcome { code, stdout, .. } =
        on("fit", &file("run=\"100us\" every=\"1ms\"", "run=\"7500ms\" every=\"15s\""));
    assert_eq!(code, Some(0), "{stdout}");
    assert!(stdout.contains("RESBS 600.0"), "{stdout}");
    let Outcome { code, stdout, .. } = on(
        "fit",
        &file(
            "run=\"499999ns\" every=\"999998ns\" deadline=\"1s\"",
            "run=\"999983ns\" every=\"1999966ns\" deadline=\"1h\"",
        ),
    );
    assert_eq!(code, Some(1), "{stdout}");
    assert!(stdout.contains("whether a reservation suffices for `t` was not found out"), "{stdout}");
    assert!(
        stdout.contains("NOT KEPT: whether everything that is asked for can be given was not found out"),
        "{stdout}"
    );
    assert!(!stdout.contains("no reservation suffices") && !stdout.contains("none"), "{stdout}");
}

/// A limit gives what it lets through at once; and what is wanted beyond it waits for ever, which the check says once,
/// for the lowest limit that is too little.
#[test]
fn a_limit_gives_its_budget_at_once_and_no_more() {
    let file = |run: &str, budget: &str| {
        format!(
            "machine cpus=1\nfixed-priority \"top\" {{
                limit \"outer\" priority=2 {{
                    round-robin \"cell\" budget=\"{budget}\" period=\"90ms\" {{
                        thread \"one\" {{ periodic run=\"{run}\" every=\"50ms\"; }}
                        thread \"two\" {{ periodic run=\"10ms\" every=\"50ms\"; }}
                    }}
                }}
                thread \"other\" priority=1
            }}\n"
        )
    };
    for command in ["check", "run"] {
        let Outcome { code, stderr, .. } = on(command, &file("20ms", "45ms"));
        assert_eq!(code, Some(0), "{stderr}");
        assert!(stderr.contains(
            "warning: scheduler `cell`: found tasks that take 60.0% of a CPU in the long run, expected at most 50.0%"
        ), "{stderr}");
        assert_eq!(stderr.matches("warning").count(), 1, "{stderr}");
    }
    assert_eq!(on("check", &file("15ms", "45ms")).stderr, "");
    let alone = |run: &str, every: &str| {
        format!(
            "machine cpus=1\nlimit \"quota\" {{
                thread \"one\" guarantee=\"RESBH 25ms 50ms\" {{ periodic run=\"{run}\" every=\"{every}\"; }}
            }}\n"
        )
    };
    let Outcome { stdout, stderr, .. } = on("check", &alone("25ms", "50ms"));
    assert!(stdout.contains("  50ms  25ms    25ms  in time") && stderr.is_empty(), "{stdout}{stderr}");
    // Two jobs may fall into one period.
    let Outcome { stdout, .. } = on("check", &alone("25ms", "49ms"));
    assert!(stdout.contains("NOT CERTAIN"), "{stdout}");
}
