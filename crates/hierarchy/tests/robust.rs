//! No file makes the reader panic, exhaust the stack or take for ever; limits are refused by name.

use crate::common;
use hls_hierarchy::model::Hierarchy;
use hls_hierarchy::{Cpus, Diagnostic, MAX_DIAGNOSTICS, MAX_FILE_BYTES, Severity, Source, read_with};
use proptest::prelude::*;
use std::path::Path;
use std::sync::LazyLock;

fn read(text: &str) -> Result<(Hierarchy, Vec<Diagnostic>), Vec<Diagnostic>> {
    read_with(&common::policies(text.as_bytes()), Cpus::UnlessStated(1), text.as_bytes())
}

/// Asserts that the line of an error holds `wanted`.
#[track_caller]
fn assert_refused(text: &str, wanted: &str) {
    let errors = read(text).expect_err("it is read without an error");
    let source = Source::new("f", text.as_bytes());
    let lines: Vec<String> = errors.iter().take(20).map(|error| source.line(error)).collect();
    assert!(lines.iter().any(|line| line.contains(wanted)), "no `{wanted}` in {lines:#?}");
}

#[test]
fn a_megabyte_of_nesting_is_one_error() {
    for piece in ["a {", "a {\n", "round-robin { /- ", "a /-{"] {
        let text = piece.repeat((1 << 20) / piece.len());
        let errors = read(&text).unwrap_err();
        let deep = errors.iter().filter(|error| error.found == "braces inside more than 64 others");
        assert_eq!(deep.count(), 1, "{piece:?}");
    }
}

#[test]
fn long_runs_of_any_piece_end() {
    for piece in [
        "}", "{", "/*", "*/", "(", ")\n", "\"", "#\"\n", "\"\"\"\n", "#", "/-", "\\", "=", "a=\n",
        "\u{feff}", "a{}", "\\\"", "a;",
    ] {
        let errors = read(&piece.repeat((1 << 18) / piece.len())).unwrap_err();
        assert!((1..=MAX_DIAGNOSTICS + 1).contains(&errors.len()), "{piece:?}");
    }
}

#[test]
fn nested_comments_take_no_exponential_time() {
    let text = format!("round-robin {} {}", "/- a /-{ b /-{ c /-{ ".repeat(15), "}".repeat(45));
    assert!(read(&text).is_ok());
}

#[test]
fn files_have_a_greatest_size() {
    let text = format!("round-robin // {}", " ".repeat(MAX_FILE_BYTES));
    assert_refused(&text, "expected at most 16777216");
    assert!(read(&text[..MAX_FILE_BYTES]).is_ok());
}

#[test]
fn words_have_a_greatest_length() {
    let named = |length: usize| format!("round-robin \"{}\"", "x".repeat(length));
    assert!(read(&named(1022)).is_ok());
    assert_refused(&named(1023), "expected at most 1024");
}

#[test]
fn hierarchies_have_a_greatest_depth() {
    let chain = |depth: usize| -> String {
        (0..depth).map(|level| format!("round-robin \"{level}\" {{")).collect::<String>()
            + "thread \"t\""
            + &"}".repeat(depth)
    };
    assert!(read(&chain(32)).is_ok());
    assert_refused(&chain(33), "scheduler `32`: found level 33 of the hierarchy, expected at most 32");
    let by_name: String =
        (1..2000).map(|at| format!("round-robin \"{at}\" parent=\"{}\"\n", at - 1)).collect();
    assert_refused(&format!("round-robin \"0\"\n{by_name}"), "expected at most 32 levels");
}

#[test]
fn hierarchies_have_a_greatest_size() {
    let flat = |count: usize| -> String {
        (1..count)
            .map(|at| format!("round-robin \"{at}\" parent=\"R\" {{ thread \"t{at}\" }}\n"))
            .collect::<String>()
            + "round-robin \"R\""
    };
    assert!(read(&flat(4095)).is_ok());
    assert_refused(&flat(4096), "found 4096 schedulers, expected at most 4095");
    assert!(read("round-robin { thread \"t\" instances=65536 }").is_ok());
    assert_refused("round-robin { thread \"t\" instances=65537 }", "found 65537 virtual processors below it");
    let five = (0..5).map(|at| format!("round-robin \"{at}\" {{ thread \"t{at}\" instances=65536 }}\n"));
    assert_refused(
        &format!("round-robin {{\n{}}}", five.collect::<String>()),
        "virtual processors up to here",
    );
}

#[test]
fn a_file_with_65536_threads_is_read() {
    let threads: String = (0..65_536).map(|at| format!("thread \"t{at}\" share={}\n", at + 1)).collect();
    let (hierarchy, warnings) = read(&format!("proportional-share {{\n{threads}}}")).unwrap();
    assert_eq!((hierarchy.threads.len(), hierarchy.edges.len(), warnings.len()), (65_536, 65_537, 0));
}

#[test]
fn places_are_exact_inside_strings() {
    let text = "round-robin {\n  thread \"t\" { bursty run=\"1ms..5 parsecs\" sleep=\"1ms\" }\n}";
    let errors = read(text).unwrap_err();
    assert_eq!(&text[errors[0].span.clone()], "5 parsecs");
}

/// The caller finds out whether there is such a user, process or cgroup, and says where it was named.
#[test]
fn what_only_a_machine_knows_has_its_place() {
    let text = "time-sharing owner=\"nobody\" {\n  thread \"a\" pid=7\n  thread \"b\" command=\"true\"\n}";
    let (hierarchy, _) = read(text).unwrap();
    let owner = hierarchy.schedulers[0].owner.as_ref().unwrap();
    assert_eq!(&text[owner.span.clone()], "\"nobody\"");
    let threads = hierarchy.threads.iter().map(|thread| &text[thread.who.as_ref().unwrap().span.clone()]);
    assert_eq!(threads.collect::<Vec<_>>(), ["7", "\"true\""]);
}

#[test]
fn reports_print_with_their_source() {
    let text = "round-robin \"a\" {\n    thread \"a\"\n}\n";
    let errors = read(text).unwrap_err();
    let report = Source::new("f.kdl", text.as_bytes()).report(&errors[0]);
    let mut printed = String::new();
    miette::NarratableReportHandler::new().render_report(&mut printed, &report).unwrap();
    for wanted in
        ["the name `a`", "f.kdl", "line 2, columns 5 to 14", "expected a name that no other", "the first"]
    {
        assert!(printed.contains(wanted), "no {wanted:?} in\n{printed}");
    }
}

/// The good and the bad fixtures.
fn corpus() -> &'static [Vec<u8>] {
    static CORPUS: LazyLock<Vec<Vec<u8>>> = LazyLock::new(|| {
        let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
        let files =
            ["ok", "err"].into_iter().flat_map(|folder| std::fs::read_dir(tests.join(folder)).unwrap());
        let mut files: Vec<_> = files.map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files
            .iter()
            .filter(|file| file.extension().is_some_and(|e| e == "kdl"))
            .map(|file| std::fs::read(file).unwrap())
            .collect()
    });
    &CORPUS
}

/// Pieces that matter to the grammar.
const PIECES: [&str; 28] = [
    "{",
    "}",
    "\"",
    "=",
    "\n",
    ";",
    "/-",
    "/*",
    "*/",
    "//",
    "\\",
    "#",
    "\"\"\"",
    "#\"",
    "-1",
    "1.5",
    " parent=\"FP\"",
    " width=3",
    " guarantee=\"RESBH 1ms 2ms\"",
    " default=#true",
    " service=#true",
    " comm=\"a*\"",
    " cgroup=\"/\"",
    "join \"J\"",
    "thread",
    "é",
    "..",
    "99999999999999999999",
];

/// A change to a file: cut some bytes out at a place and put a piece in.
fn edit() -> impl Strategy<Value = (prop::sample::Index, usize, Vec<u8>)> {
    let piece = prop_oneof![
        4 => prop::sample::select(&PIECES[..]).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 0..4),
    ];
    (any::<prop::sample::Index>(), 0_usize..30, piece)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_mutation_panics(
        file in any::<prop::sample::Index>(),
        edits in prop::collection::vec(edit(), 1..5),
        end in prop::option::weighted(0.3, any::<prop::sample::Index>()),
    ) {
        let mut bytes = file.get(corpus()).clone();
        for (place, cut, piece) in edits {
            let start = place.index(bytes.len() + 1);
            bytes.splice(start..(start + cut).min(bytes.len()), piece);
        }
        if let Some(end) = end {
            bytes.truncate(end.index(bytes.len() + 1));
        }
        check_answer(&bytes)?;
    }
}

/// What advice quotes from a file is shown without the file's line ends.
#[test]
fn advice_is_on_one_line() {
    let file = r#"time-sharing "rest" default=#true { thread "a" cgroup="/sys/fs/cgroup/x\ny"; }"#;
    let errors = read_with(&common::policies(b""), Cpus::UnlessStated(1), file.as_bytes()).unwrap_err();
    assert!(errors.iter().any(|error| error.help.is_some()), "{errors:?}");
    check_answer(file.as_bytes()).unwrap();
}

/// Whatever the file: errors and warnings have places in it; a hierarchy keeps what the model promises.
fn check_answer(bytes: &[u8]) -> Result<(), TestCaseError> {
    let source = Source::new("f", bytes);
    let answer = read_with(&common::policies(bytes), Cpus::UnlessStated(1), bytes);
    let diagnostics = match &answer {
        Ok((_, warnings)) => warnings,
        Err(errors) => errors,
    };
    for diagnostic in diagnostics {
        prop_assert!(diagnostic.span.start <= diagnostic.span.end && diagnostic.span.end <= bytes.len());
        if let Ok(text) = std::str::from_utf8(bytes) {
            prop_assert!(text.get(diagnostic.span.clone()).is_some(), "{diagnostic:?} cuts a character");
        }
        prop_assert!(source.line(diagnostic).lines().count() == 1, "{diagnostic:?} takes several lines");
    }
    prop_assert_eq!(answer.is_err(), diagnostics.iter().any(|d| d.severity == Severity::Error));
    if let Ok((hierarchy, _)) = &answer {
        check_model(hierarchy)?;
    }
    Ok(())
}

fn check_model(hierarchy: &Hierarchy) -> Result<(), TestCaseError> {
    prop_assert_eq!(hierarchy.edges.iter().filter(|edge| edge.parent.is_none()).count(), 1);
    prop_assert!(hierarchy.edges[0].parent.is_none());
    prop_assert!(hierarchy.schedulers.iter().filter(|scheduler| scheduler.is_default).count() <= 1);
    prop_assert!(hierarchy.schedulers.iter().filter(|scheduler| scheduler.is_service).count() <= 1);
    for scheduler in &hierarchy.schedulers {
        prop_assert_eq!(scheduler.params.len(), scheduler.policy.scheduler_params.len());
    }
    for edge in &hierarchy.edges {
        prop_assert!((1..=hierarchy.machine.cpus).contains(&edge.width));
        let params = edge.parent.map_or(0, |parent| hierarchy.schedulers[parent].policy.vp_params.len());
        prop_assert_eq!(edge.params.len(), params);
        if let (Some(parent), hls_hierarchy::model::Child::Scheduler(child)) = (edge.parent, edge.child) {
            prop_assert!(parent < child, "a scheduler comes after its parents");
        }
    }
    Ok(())
}
