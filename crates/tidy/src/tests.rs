//! Each rule on a text that breaks it, beside the nearest text that does not.

use std::path::PathBuf;

use crate::Tree;

/// What is found in `files` together, each finding as `path:line: what`.
fn findings<const N: usize>(files: [(&str, &str); N]) -> Vec<String> {
    let mut tree = Tree::default();
    for (path, text) in files {
        tree.insert(path.into(), text.into());
    }
    tree.findings().iter().map(ToString::to_string).collect()
}

/// `bad` has one finding, with a text that begins with `expected`; `good` has none.
#[track_caller]
fn refuses(path: &str, bad: &str, expected: &str, good: &str) {
    let found = findings([(path, bad)]);
    assert!(
        matches!(&found[..], [one] if one.starts_with(expected)),
        "expected {expected:?}, found {found:#?}"
    );
    assert_eq!(findings([(path, good)]), [""; 0]);
}

const LICENCE: &str = "/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */\n/* What it is. */\n";

#[test]
fn rust_opens_with_what_it_is() {
    refuses("build.rs", "fn main() {}\n", "build.rs:1: expected `//!`", "//! Builds.\nfn main() {}\n");
}

#[test]
fn c_opens_with_its_licence_and_what_it_is() {
    let bare = "/* What it is. */\nint a;\n";
    refuses("core/a.c", bare, "core/a.c:1: expected `/* SPDX-License-Identifier: BSD-2", LICENCE);
    refuses("core/a.h", &LICENCE.replace("BSD-2-Clause OR ", ""), "core/a.h:1: expected `/* SPDX", LICENCE);
    refuses(
        "core/a.c",
        &LICENCE.replace("/* What", "int a; /* What"),
        "core/a.c:2: expected a comment",
        LICENCE,
    );
}

#[test]
fn nothing_is_left_for_later() {
    for mark in ["TODO", "FIXME", "XXX"] {
        let bad = format!("first\n# {mark}: later\n");
        refuses("Makefile", &bad, "Makefile:2: found a mark for later", "mktemp /tmp/hls.XXXXXX\n");
    }
}

#[test]
fn lines_fit_on_a_screen() {
    let (fits, too_long) = ("é".repeat(120), "é".repeat(121));
    for path in ["a.md", "examples/a.kdl"] {
        refuses(path, &too_long, &format!("{path}:1: found 121 columns, expected 120"), &fits);
    }
    refuses("a.md", &format!("|\n{too_long}"), "a.md:2: found 121 columns", &format!("| {too_long} |\n"));
    let tabs = |text: &str| format!("{LICENCE}\t{text}\n");
    refuses("core/a.c", &tabs(&"x".repeat(113)), "core/a.c:3: found 121 columns", &tabs(&"x".repeat(112)));
}

#[test]
fn files_have_one_subject() {
    let good = format!("//! Numbers.\n{}", "use a::b;\n".repeat(799));
    refuses(
        "a.rs",
        &format!("{good}use a::b;\n"),
        "a.rs:801: found 801 lines in a file, expected 800",
        &good,
    );
}

#[test]
fn rust_functions_have_one_thought() {
    let signature =
        "    pub(crate) const fn f(\n        a: u8,\n    ) -> u8\n    where\n        u8: Copy,\n    {\n";
    let method =
        |lines| format!("//! A.\nimpl A {{\n{signature}{}    }}\n}}\n", "        g();\n".repeat(lines));
    refuses("a.rs", &method(74), "a.rs:3: found a function of 81 lines, expected 80", &method(73));
}

#[test]
fn declarations_have_no_length() {
    let text = format!(
        "//! A.\ntrait A {{\n    fn f(&self);\n    fn g() {{}}\n{}}}\n",
        "    const A: u8;\n".repeat(90)
    );
    assert_eq!(findings([("a.rs", text.as_str())]), [""; 0]);
}

#[test]
fn c_functions_have_one_thought() {
    let function = |lines| format!("{LICENCE}int f(void)\n{{\n{}}}\n", "\tg();\n".repeat(lines));
    refuses("core/a.c", &function(79), "core/a.c:4: found a function of 81 lines", &function(78));
}

#[test]
fn unsafe_stays_in_the_bindings() {
    let block = "//! A.\nfn f() {\n    unsafe { g() }\n}\n";
    let safe = "//! A.\n// How unsafe this is.\nfn f() {}\n";
    refuses("crates/sim/src/a.rs", block, "crates/sim/src/a.rs:3: found unsafe", safe);
    refuses(
        "crates/sim/src/a.rs",
        "//! A.\n#![allow(unsafe_code)]\n",
        "crates/sim/src/a.rs:2: found unsafe",
        safe,
    );
    assert_eq!(findings([("crates/hls-core/src/a.rs", block)]), [""; 0]);
    assert_eq!(findings([("crates/kernel-engine/src/a.rs", block)]), [""; 0]);
}

#[test]
fn no_path_is_one_machines() {
    let elsewhere = "https://example.org/home/a and tests/home/b and ~/home/c, /tmp/d, /dev/null\n";
    for folder in ["srv", "root", "home", "data"] {
        let bad = format!("cd /{folder}/somebody\n");
        refuses(
            "scripts/a",
            &bad,
            &format!("scripts/a:1: found /{folder}/, a path of one machine"),
            elsewhere,
        );
    }
}

#[test]
fn every_policy_is_registered() {
    let registry = format!("{LICENCE}\tP(5, join, JOIN, __VA_ARGS__)\n");
    let found =
        findings([("policies/registry.h", &registry), ("policies/join.c", LICENCE), ("core/a.c", LICENCE)]);
    assert_eq!(found, [""; 0]);
    for other in [registry.replace("P(5", "Q(5"), registry.replace("join", "joins")] {
        let found = findings([("policies/registry.h", &other), ("policies/join.c", LICENCE)]);
        let told = "policies/join.c:1: found no line for this policy in policies/registry.h, \
                    expected P(number, name, ...)";
        assert_eq!(found, [told]);
    }
}

#[test]
fn links_lead_somewhere() {
    let bad = "text\n[a](../no/where.md#a)";
    let good =
        "[a](guide.md#b \"title\") [b](#b) [c](https://example.org/) [d](./guide.md)\n```\n[e](none)\n```\n";
    refuses("docs/guide.md", bad, "docs/guide.md:2: found a link to ../no/where.md, expected a file", good);
    refuses("guide.md", "[a](../guide.md)", "guide.md:1: found a link to ../guide.md", "[a](guide.md)");
    refuses("guide.md", "[a](/guide.md)", "guide.md:1: found a link to /guide.md", "no link");
}

#[test]
fn no_file_of_tests_is_forgotten() {
    let found = |main: &str, path: &str| {
        findings([("crates/a/tests/main.rs", main), (path, "//! Tests.\n"), ("crates/a/tests/b.c", LICENCE)])
    };
    for path in ["crates/a/tests/b.rs", "crates/a/tests/b/mod.rs"] {
        assert_eq!(found("//! All.\n\nmod b;\n", path), [""; 0]);
        let expected = format!("{path}:1: expected `mod b;` in crates/a/tests/main.rs");
        assert_eq!(found("//! All.\n\nmod bc;\n", path), [expected]);
    }
    // A file in a folder of another module, and a crate with files that are binaries.
    assert_eq!(found("//! All.\n", "crates/a/tests/b/c.rs"), [""; 0]);
    assert_eq!(findings([("crates/a/tests/b.rs", "//! Tests.\n")]), [""; 0]);
}

#[test]
fn what_is_broken_on_purpose_is_there() {
    let code = "//! Sum.\na + b\nc + c\n";
    let found_in = |path, list| findings([(path, list), ("sum.rs", code)]);
    let found = |list| found_in("scripts/mutants.txt", list);
    assert_eq!(found("# a list\nless\tsum.rs\ta + b\ta\n"), [""; 0]);
    let of_engine = |list| found_in("scripts/engine-mutants.txt", list).len();
    assert_eq!(of_engine("less\tsum.rs\ta + b\ta\tgate_one_cpu\tnice\n"), 0);
    assert_eq!(of_engine("less\tsum.rs\ta - b\ta\tgate_one_cpu\tnice\n"), 1);
    assert_eq!(of_engine("no test\tsum.rs\ta + b\ta\n"), 1);
    for bad in
        ["less\tsum.rs\ta - b\ta\n", "twice\tsum.rs\tc\tb\n", "no file\tno.rs\ta\tb\n", "too few\tsum.rs\n"]
    {
        assert_eq!(
            found(bad),
            ["scripts/mutants.txt:1: expected a text that is in its file just once"],
            "{bad}"
        );
    }
}

#[test]
fn what_is_no_text_is_left_alone() {
    let mut tree = Tree::default();
    tree.insert(PathBuf::from("a.rs"), b"\xff".to_vec());
    tree.insert(PathBuf::from("b.rs"), b"\0".to_vec());
    assert_eq!(tree.findings(), []);
}

const UNITS: &str =
    "publish.workspace = true\n\n[package.metadata.hls]\nlayer = \"ground\"\n\n[dependencies]\n";

/// A crate of the layer `plan`, which needs the others that are given.
fn plan_with(dependencies: &str) -> String {
    format!(
        "[package.metadata.hls]\nlayer = \"plan\"\nmay = [\"clocks\"]\n\n[dependencies]\n{dependencies}\n[lints]\n"
    )
}

#[test]
fn crates_say_their_layer() {
    refuses(
        "crates/units/Cargo.toml",
        "[dependencies]\n",
        "crates/units/Cargo.toml:1: found \"\", expected `layer` in [package.metadata.hls], one of ground, parts",
        UNITS,
    );
    let unknown = UNITS.replace("ground\"\n", "ground\"\nmay = [\"fly\"]\n");
    refuses("crates/units/Cargo.toml", &unknown, "crates/units/Cargo.toml:1: found `fly` in `may`", UNITS);
}

#[test]
fn crates_need_lower_layers_alone() {
    let (plan, units) = ("crates/plan/Cargo.toml", "crates/units/Cargo.toml");
    let above = format!("{UNITS}hls-plan.workspace = true\n");
    let found = findings([(plan, &plan_with("")), (units, &above)]);
    let expected = format!(
        "{units}:1: found plan, of the layer `plan`, expected crates of the layer `ground` and below"
    );
    assert_eq!(found, [expected]);
    let below = plan_with("hls-units = { path = \"x\" }\nserde = \"1\"\n");
    assert_eq!(findings([(plan, &below), (units, UNITS)]), [""; 0]);
    // What only tests need is no layer's.
    let tests = format!("{UNITS}[dev-dependencies]\nhls-plan.workspace = true\n");
    assert_eq!(findings([(plan, &plan_with("")), (units, &tests)]), [""; 0]);
}

#[test]
fn crates_touch_what_they_say_alone() {
    let plan = plan_with("");
    let with =
        |text: &str| findings([("crates/plan/Cargo.toml", plan.as_str()), ("crates/plan/src/a.rs", text)]);
    let file = with("//! a\nfn a() {\n    std::fs::read(\"a\").ok();\n}\n");
    assert!(
        file[0].starts_with("crates/plan/src/a.rs:3: found `std::fs::read(\"a\").ok();`, expected `files`")
    );
    assert_eq!(with("//! a\nfn a() {\n    Command::new(\"a\");\n}\n").len(), 1);
    assert_eq!(with("//! a\nfn a() {\n    Instant::now();\n}\n"), [""; 0]);
    assert_eq!(
        with("//! a\n// std::fs::read\nfn a() -> &'static str {\n    \"std::fs::read\"\n}\n"),
        [""; 0]
    );
    assert_eq!(with("//! a\n#[cfg(test)]\nmod tests {\n    use std::fs;\n}\n"), [""; 0]);
}

#[test]
fn files_use_each_other_one_way() {
    let plan = plan_with("");
    let files = |a: &str, b: &str, root: &str| {
        findings([
            ("crates/plan/Cargo.toml", plan.as_str()),
            ("crates/plan/src/lib.rs", &format!("//! root\n{root}")),
            ("crates/plan/src/a.rs", &format!("//! a\n{a}")),
            ("crates/plan/src/b/mod.rs", &format!("//! b\n{b}")),
        ])
    };
    let circle =
        "crates/plan/Cargo.toml:1: found files that use each other in a circle, plan: a b, expected none";
    assert_eq!(files("use crate::b::{B, c::C};\n", "", ""), [""; 0]);
    assert_eq!(files("use crate::b::{B, c::C};\n", "fn b(a: &crate::a::A) {}\n", ""), [circle]);
    assert_eq!(files("use super::b::B;\n", "use crate::{\n    a::A,\n};\n", ""), [circle]);
    // By way of what the root shows of another file.
    assert_eq!(files("use crate::B;\n", "use crate::a::A;\n", "pub use b::B;\n"), [circle]);
    // The root uses its parts, and they what it defines.
    assert_eq!(files("use crate::Root;\n", "", "use a::A;\npub struct Root;\n"), [""; 0]);
}

#[test]
fn what_has_tests_does_not_say_that_it_has_none() {
    let manifest = "[package.metadata.hls]\nlayer = \"commands\"\n";
    let test = "//! Tests.\n#[test]\nfn one() {}\n";
    for (path, header) in [
        ("crates/a/src/lib.rs", "[lib]"),
        ("crates/a/src/deep/mod.rs", "[lib]"),
        ("crates/a/src/main.rs", "[[bin]]\nname = \"a\"\npath = \"src/main.rs\""),
        ("crates/a/src/bin/b.rs", "[[bin]]\nname = \"b\""),
        ("crates/a/src/bin/b/part.rs", "[[bin]]\nname = \"b\""),
    ] {
        let with = |line: &str| format!("{manifest}\n{header}\n{line}");
        let found = findings([(path, test), ("crates/a/Cargo.toml", &with("test = false\n"))]);
        assert_eq!(found, [format!("{path}:2: found a test that crates/a/Cargo.toml leaves out")]);
        assert_eq!(findings([(path, test), ("crates/a/Cargo.toml", &with(""))]), [""; 0]);
    }
}
