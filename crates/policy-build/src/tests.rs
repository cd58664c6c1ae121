//! Tests that need no compiler: the words of C, names, files, and recorded messages of compilers.

use crate::compiler::diagnostics;
use crate::contract;
use crate::tokens::{Kind, rename, tokens};
use crate::{Diagnostic, Error, PolicyFile, Severity, Template};
use proptest::prelude::*;
use std::fs;
use std::path::Path;

/// A policy as short as possible.
fn policy(path: &str, more: &str) -> PolicyFile {
    let stem =
        Path::new(path).file_stem().and_then(|stem| stem.to_str()).expect("the tests' names are ASCII");
    let name = stem.replace('_', "-");
    let text = format!("{more}\nstatic const struct hls_policy {stem}_policy = {{ .name = \"{name}\" }};\n");
    PolicyFile::new(Path::new(path), text.into_bytes()).expect("it has all that is looked at")
}

/// The only message of a file that is refused.
fn refused(path: &str, bytes: &[u8]) -> Diagnostic {
    match PolicyFile::new(Path::new(path), bytes.into()) {
        Err(Error::Refused(found)) if found.len() == 1 => found[0].clone(),
        other => panic!("{path}: {other:?}"),
    }
}

#[test]
fn files_are_refused_with_their_place() {
    for name in ["Turns.c", "turns.h", "turns", "2nd.c", "a__b.c", "_a.c", "a_.c", "a-b.c", ".c", "ä.c"] {
        let found = refused(name, b"");
        assert!(found.message.contains("named"), "{name}: {found}");
    }
    let long = format!("{}.c", "x".repeat(41));
    assert!(refused(&long, b"").message.contains("40 letters"));
    assert_eq!(
        refused("d/a.c", b"\n\n\xff").to_string(),
        "d/a.c:3: error: found a byte that is not UTF-8, expected a text"
    );
    assert_eq!(refused("a.c", b"x\n\0").line, Some(2));
    assert!(refused("a.c", &vec![b' '; (1 << 20) + 1]).message.contains("1048576 bytes"));
    assert_eq!(
        refused("a.c", b"// struct hls_policy a_policy = { .name = \"a\" };").to_string(),
        "a.c: error: found no policy, expected `static const struct hls_policy a_policy = {`"
    );
    let found = refused("a_b.c", b"\nstruct hls_policy a_b_policy = { .what = \"w\" };");
    assert_eq!(
        found.to_string(),
        "a_b.c:2: error: found no name in `a_b_policy`, expected `.name = \"a-b\"`"
    );
    let found = refused("a_b.c", b"struct hls_policy a_b_policy = {\n.name = \"c\" };");
    assert_eq!(found.to_string(), "a_b.c:2: error: found the name \"c\", expected \"a-b\" in a_b.c");
    let missing = PolicyFile::read(Path::new("tests/none.c")).expect_err("it is not there");
    assert!(missing.to_string().starts_with("tests/none.c: error: cannot be read: "), "{missing}");
}

#[test]
fn another_name_changes_identifiers_only() {
    let more = "/* turns_x */ #define TURNS_MAX 3 // TURNS\nint turns, turns_2, turnstile, re_turns, TURNSTILE;\n\
                char *c = \"turns_\\\"turns\", d = 'turns'; int i = 0xTURNS, j = 1.turns;\n#error don't turns\n";
    let renamed = policy("turns.c", more).renamed("my-turns-2").expect("it is a name");
    let expected = "/* turns_x */ #define MY_TURNS_2_MAX 3 // TURNS\n\
                    int my_turns_2, my_turns_2_2, turnstile, re_turns, TURNSTILE;\n\
                    char *c = \"turns_\\\"turns\", d = 'turns'; int i = 0xTURNS, j = 1.turns;\n#error don't turns\n\n\
                    static const struct hls_policy my_turns_2_policy = { .name = \"my-turns-2\" };\n";
    assert_eq!(renamed.text(), expected);
    assert_eq!((renamed.name(), renamed.identifier()), ("my-turns-2".into(), "my_turns_2"));
    assert_eq!(renamed.in_its_own_words("'my_turns_2_grant' undeclared"), "'turns_grant' undeclared");
    for name in ["", "My", "my_turns", "-my", "my-", "2", "ä", &"x".repeat(41)] {
        assert!(policy("turns.c", "").renamed(name).is_err(), "{name:?}");
    }
}

#[test]
fn a_template_takes_its_name_and_no_other() {
    for name in ["asked-times", "asked_times"] {
        let Template { files: [(path, text), (hierarchy, _)] } = Template::new(name).expect("it is a name");
        assert_eq!((path.to_str(), hierarchy.to_str()), (Some("asked_times.c"), Some("asked_times.kdl")));
        assert!(text.contains(".name = \"asked-times\"") && text.contains("ASKED_TIMES_QUANTUM"));
        assert!(!text.to_lowercase().contains("weighted"), "{text}");
    }
    for name in ["", "Asked", "round-robin", "policy", "hls", "a b", "../a"] {
        assert!(Template::new(name).is_err(), "{name:?}");
    }
}

/// Recorded messages of compilers (`.said`) about four policies: one is renamed, and two have names that begin alike.
#[test]
fn messages_are_told_by_the_line_of_the_author() {
    let two = policy("d/two.c", "int two_grant;").renamed("new").expect("it is a name");
    let policies = [policy("d/one.c", ""), two, policy("d/ask.c", ""), policy("d/ask_times.c", "")];
    let policies: Vec<_> = (64..).zip(policies).collect();
    let folder =
        fs::read_dir("tests/messages").expect("it is there").map(|entry| entry.expect("listed").path());
    let cases: Vec<_> = folder.filter(|path| path.extension().is_some_and(|end| end == "said")).collect();
    assert!(cases.len() > 10, "{cases:?}");
    for case in cases {
        let said = fs::read_to_string(&case).expect("it was listed");
        let found: String = diagnostics(&said, &policies).iter().map(|found| format!("{found}\n")).collect();
        hls_golden::assert_golden(&case.with_extension("told"), &found);
    }
}

#[test]
fn the_contract_is_there_without_the_repository() {
    let included: Vec<_> = contract().map(|(path, text)| (path, text.contains("#ifndef HLS_"))).collect();
    assert!(included.len() == 7 && included.iter().all(|(_, is_header)| *is_header), "{included:?}");
    for path in ["core/port/native.c", "core/port/bpf.flags", "bpf/engine.bpf.c", "policies/registry.h"] {
        assert!(!crate::sources::text(path).is_empty(), "{path}");
    }
}

#[test]
fn the_worst_comes_last() {
    assert!(Severity::Note < Severity::Warning && Severity::Warning < Severity::Error);
}

/// Pieces of C, and of what only looks like it.
fn c() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-z_]{1,9}",
        Just("turns".into()),
        Just("turns_grant".into()),
        Just("TURNS_MAX".into()),
        "\"(turns|[^\"\\\\\n]|\\\\.){0,6}\"",
        "/\\*(turns|[^*]){0,6}\\*/",
        "//turns[^\\\\\n]{0,6}\n",
        "[-0-9{}().;#'\"\\\\/* \n]{1,3}",
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.join(" "))
}

proptest! {
    #[test]
    fn any_text_is_read_whole(text in "\\PC*|(?s).*") {
        let mut end = 0;
        for (_, range) in tokens(&text) {
            prop_assert_eq!(range.start, end);
            prop_assert!(range.end > end);
            end = range.end;
        }
        prop_assert_eq!(end, text.len());
    }

    #[test]
    fn a_name_may_be_taken_back(text in c(), to in "[a-z]{1,9}(_[0-9]{1,2})?") {
        prop_assume!(to != "turns" && !text.to_lowercase().contains(&to));
        let renamed = rename(&text, "turns", &to);
        prop_assert_eq!(renamed.lines().count(), text.lines().count());
        prop_assert_eq!(rename(&renamed, &to, "turns"), text.as_str());
        let rest = |text: &str| {
            let rest = tokens(text).filter(|(kind, _)| *kind != Kind::Word).map(|(_, range)| text[range].to_owned());
            rest.collect::<Vec<_>>()
        };
        prop_assert_eq!(rest(&renamed), rest(&text));
        let word = |word: &str| word == "turns" || word.starts_with("turns_") || word.starts_with("TURNS_");
        prop_assert!(tokens(&renamed).all(|(kind, range)| kind != Kind::Word || !word(&renamed[range])));
    }

    #[test]
    fn any_output_is_read(
        text in "\\PC*",
        lines in prop::collection::vec(
            "(In file included from |    from |/usr/bin/ld: )?(loaded/one.c|core/a.h|x)\
             :[0-9]{0,22}(:[0-9]{1,3})?:? ?(error|note)?: .*",
            0..9,
        ),
    ) {
        let policies = [(64, policy("one.c", ""))];
        for output in [text, lines.join("\n"), lines.join("\nprocessed \n; x @ ")] {
            diagnostics(&output, &policies);
            crate::verifier_error(&output, &policies);
        }
    }
}
