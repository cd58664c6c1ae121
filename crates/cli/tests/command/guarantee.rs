//! `hls guarantee`: what it says of each type of guarantee, which guarantees imply which, and what it refuses.

use super::outcome::{Outcome, assert_refused, hls};
use hls_calculus::Kind;
use std::fs;

const EVERY_TYPE: [&str; 12] = [
    "ALL",
    "RESBH 10ms 33ms",
    "RESBS 10ms 33ms",
    "RESCH 10ms 33ms",
    "RESCS 10ms 33ms",
    "PSBE 2/5 18ms",
    "RESU 1/2",
    "PS 1/4",
    "NULL",
    "EDP 33ms 10ms 20ms",
    "MPR 10ms 12ms 2",
    "JOB 2ms 20ms 3ms",
];

fn described(guarantee: &str) -> String {
    let Outcome { code, stdout, stderr } = hls(&["guarantee", guarantee]);
    assert_eq!((code, &stderr[..]), (Some(0), ""), "{guarantee}");
    stdout
}

#[test]
fn every_type_is_described() {
    let names = EVERY_TYPE.map(|guarantee| guarantee.split(' ').next().expect("a name"));
    for kind in Kind::EVERY {
        assert!(names.contains(&kind.name()), "no {} among those that are tried", kind.name());
    }
    for guarantee in EVERY_TYPE {
        let text = described(guarantee);
        assert!(
            text.starts_with(&format!("{guarantee}\n\n  ")) && text.contains("In the long run: "),
            "{text}"
        );
    }
}

#[test]
fn ten_in_every_thirty_three_is_misread_and_the_page_says_how() {
    let text = described("RESBH 10ms 33ms");
    for words in [
        "    33ms          0s        20ms  one period\n",
        "    46ms          0s        23ms  nothing is certain up to here\n",
        "    56ms        10ms        30ms  the first that has the whole amount for certain\n",
        "RESCS 10ms 56ms               T1, basic to continuous [HLS, Theorem 1]\n",
    ] {
        assert!(text.contains(words), "{words} in\n{text}");
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    assert!(words.join(" ").contains("It follows from RESBS 10ms 21.5ms, which"), "{text}");
    assert!(!described("RESCS 10ms 33ms").contains("is not met"));
}

#[test]
fn a_need_is_implied_or_it_is_said_why_not() {
    for (have, need, code, words) in [
        ("RESBH 10ms 33ms", "RESCS 10ms 33ms", 1, "it promises 10ms in every 56ms"),
        ("RESBH 10ms 33ms", "RESCS 10ms 56ms", 0, "by T1, basic to continuous"),
        ("RESBS 10ms 21.5ms", "RESCS 10ms 33ms", 0, "sbf(33ms) = 10ms >= 10ms"),
        ("RESBS 10ms 22ms", "RESCS 10ms 33ms", 1, "NO: "),
        ("PS 1/2", "RESBS 1ns 1h", 1, "NO: "),
        ("NULL", "NULL", 0, "yes: "),
    ] {
        let outcome = hls(&["guarantee", have, "--need", need]);
        assert_eq!((outcome.code, &outcome.stderr[..]), (Some(code), ""), "{have}, {need}");
        assert!(outcome.stdout.contains(words), "{have}, {need}: {}", outcome.stdout);
    }
}

#[test]
fn bad_guarantees_have_a_place() {
    for (bad, place, words) in [
        ("", "1:1", "found nothing, expected a guarantee: ALL, RESU, "),
        ("RESXX 1ms 2ms", "1:1", "found `RESXX`, expected a guarantee: ALL"),
        ("RESBH 40ms 33ms", "1:7", "expected an amount of at most the period, 33ms"),
        ("RESBH 0ms 33ms", "1:7", "expected an amount above zero"),
        ("RESBH 10ms 0ms", "1:12", "expected a period above zero"),
        ("RESBH 10 33ms", "1:7", "found the bare number `10`, expected a time with a unit"),
        ("RESBH 10ms", "1:11", "found the end, expected a period"),
        ("RESBH 10ms 33ms 4ms", "1:17", "expected nothing after the 2 parameters of RESBH"),
        ("PSBE 110% 1ms", "1:6", "expected a share above 0 and at most 1"),
        ("PS 1/0", "1:4", "expected a share"),
        ("EDP 10ms 5ms 20ms", "1:14", "expected a deadline of at most the period"),
        ("RESBH\n10ms\n33", "3:1", "found the bare number `33`"),
        ("\u{1b}[2J", "1:1", "found ` [2J`"),
        (&"9".repeat(5_000), "1:1", "expected a guarantee"),
        (&format!("PS 1/{}", "9".repeat(1_001)), "1:4", "expected a share"),
    ] {
        assert_refused(&["guarantee", bad], &[&format!("GUARANTEE:{place}: error: the guarantee: "), words]);
        let need = ["guarantee", "ALL", "--need", bad];
        assert_refused(&need, &[&format!("--need:{place}: error: the guarantee: "), words]);
    }
}

#[test]
fn huge_and_tiny_numbers_are_exact_or_refused() {
    let huge = "9".repeat(900);
    assert!(described(&format!("RESBH 1ns {huge}h")).contains("ten periods"));
    assert!(described(&format!("PSBE 1/{huge} 1/{huge}ns")).contains("In the long run"));
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("picture.svg");
    let path = path.to_str().unwrap();
    for (extreme, what) in [
        (format!("RESBH 1ns {huge}h"), "found windows too long"),
        (format!("PSBE 1/{huge} 1h"), "found windows too long"),
        (format!("RESCS 1/{huge}ns 1ns"), "found windows too short"),
    ] {
        assert_refused(
            &["guarantee", &extreme, "--svg", path],
            &["--svg: ", what, "expected a picture of 1us to "],
        );
    }
    assert_eq!(directory.path().read_dir().unwrap().count(), 0);
}

#[test]
fn a_picture_is_written_and_a_second_one_is_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("picture.svg");
    for guarantee in EVERY_TYPE {
        let draw = |need: &[&str]| {
            let outcome = hls(&[&["guarantee", guarantee, "--svg", path.to_str().unwrap()], need].concat());
            assert!(outcome.stdout.ends_with("(open it in a browser)\n"), "{}", outcome.stderr);
            fs::read_to_string(&path).unwrap()
        };
        let picture = draw(&[]);
        assert!(picture.starts_with("<svg") && picture.contains(guarantee), "{picture}");
        assert_eq!(picture, draw(&[]));
        assert!(draw(&["--need", "RESCS 10ms 33ms"]).contains("needed: RESCS 10ms 33ms"));
    }
}
