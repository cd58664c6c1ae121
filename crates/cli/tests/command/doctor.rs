//! `hls doctor` on this machine, whatever machine it is: text, JSON and exit code agree. What the doctor says of other
//! machines is tested beside its rules, in `hls-kernel-engine`.

use super::outcome::{Outcome, assert_refused, hls};

#[test]
fn this_machine_has_an_answer() {
    let Outcome { code, stdout, stderr } = hls(&["doctor"]);
    assert_eq!(stderr, "");
    let json: serde_json::Value = serde_json::from_str(&hls(&["doctor", "--json"]).stdout).unwrap();
    let can_run = json["can_run"].as_bool().unwrap();
    assert_eq!(code, Some(if can_run { 0 } else { 1 }), "{stdout}");
    let last = stdout.lines().last().unwrap();
    assert_eq!(last.starts_with("this kernel can run hierarchies: "), can_run, "{last}");
    let findings = json["findings"].as_array().unwrap();
    assert!(findings.len() >= 5, "{json}");
    for finding in findings {
        assert!(stdout.contains(finding["what"].as_str().unwrap()), "{finding}");
        assert!(["good", "warning", "blocks"].contains(&finding["verdict"].as_str().unwrap()), "{finding}");
        assert!(finding["verdict"] == "good" || finding["advice"].is_string(), "{finding}");
    }
    assert!(stdout.lines().all(|line| line.chars().count() <= 80), "{stdout}");
}

#[test]
fn the_doctor_takes_no_file() {
    assert_refused(&["doctor", "figure1.kdl"], &["unexpected argument 'figure1.kdl'"]);
}
