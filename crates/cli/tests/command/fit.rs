//! `hls fit` and the tasks of `hls check`: reservations that suffice, tasks for which none does, and arguments that are
//! refused.

use super::outcome::{Outcome, assert_refused, figure_1, hls};

/// The specification's numbers: (7,50), (9,75) every 10 ms need 39/14 under EDF and 7/2 under rate monotonic.
#[test]
fn the_least_reservations_are_printed_as_the_file_would_have_them() {
    let Outcome { code, stdout, stderr } = hls(&["fit", "tasks.kdl"]);
    assert_eq!((code, &stderr[..]), (Some(0), ""), "{stdout}");
    for line in [
        "    thread \"edf\" guarantee=\"RESBH 2.785715ms 10ms\"",
        "    thread \"rm\" guarantee=\"RESBH 3.5ms 10ms\"",
    ] {
        assert!(stdout.lines().any(|printed| printed == line), "{stdout}");
    }
    assert!(stdout.ends_with("all tasks are in time\n"), "{stdout}");
    let one = hls(&["fit", "tasks.kdl", "--thread", "rm", "--period", "1ms..20ms"]);
    assert!(one.code == Some(0) && !one.stdout.contains("edf"), "{one:?}");
}

/// `hls fit` also takes a period that the file gives as a parameter.
#[test]
fn the_period_may_be_a_parameter() {
    let Outcome { code, stdout, stderr } = hls(&["fit", "period-as-parameter.kdl"]);
    assert_eq!((code, &stderr[..]), (Some(0), ""), "{stdout}");
    assert!(stdout.contains("RESCS 1ms 10ms"), "{stdout}");
}

#[test]
fn what_is_fitted_is_for_an_ideal_machine_where_the_file_s_is_none() {
    let Outcome { code, stdout, .. } = hls(&["fit", "costs.kdl"]);
    assert_eq!(code, Some(0), "{stdout}");
    let [.., note, verdict] = &stdout.lines().collect::<Vec<&str>>()[..] else { panic!("{stdout}") };
    assert!(
        note.starts_with("note: all bounds are for an ideal machine, where timers go off at once"),
        "{note}"
    );
    assert!(verdict.starts_with("kept on an ideal machine: with these each guarantee"), "{verdict}");
}

#[test]
fn one_task_needs_no_more_than_it_takes() {
    let Outcome { stdout, .. } = hls(&["fit", &figure_1()]);
    assert!(stdout.contains("\n    thread \"video player\" guarantee=\"RESBH 5ms 33ms\"\n"), "{stdout}");
}

#[test]
fn what_no_reservation_carries_is_named() {
    let Outcome { code, stdout, .. } = hls(&["fit", "tasks-late.kdl", "--thread", "late"]);
    assert_eq!(code, Some(1), "{stdout}");
    assert!(
        stdout.contains(
            "no reservation suffices for `late`, task `long`: up to 11ms may be wanted within 10ms"
        ),
        "{stdout}"
    );
}

#[test]
fn what_cannot_be_fitted_is_refused() {
    assert_refused(&["fit", "tasks.kdl", "--thread", "nobody"], &["found `nobody`", "`edf`, `rm`"]);
    assert_refused(&["fit", "instances.kdl"], &["found no thread whose tasks could be fitted"]);
    assert_refused(&["fit", "tasks.kdl", "--period", "0s"], &["found `0s`", "FROM..TO"]);
    assert_refused(&["fit", "tasks.kdl", "--period", "1us..1s"], &["at most 1000"]);
    assert_refused(&["fit", "no-period.kdl"], &["gives no reservation's period", "--period"]);
    let with_period = hls(&["fit", "no-period.kdl", "--period", "5ms"]);
    assert_eq!(with_period.code, Some(1), "nothing is promised to it: {with_period:?}");
}

/// The worked example: a thread that is to be done sooner goes before the others, with the debt that the paper leaves
/// out.
#[test]
fn warps_for_threads_that_ask_for_jobs_below_bvt() {
    let Outcome { code, stdout, stderr } = hls(&["fit", "jobs.kdl"]);
    assert_eq!((code, &stderr[..]), (Some(0), ""), "{stdout}");
    for line in [
        "  ctl         2  2ms  20ms    2ms    2ms  16.667ms 64.40477ms          41.072ms",
        "  mpeg        1  9ms  33ms 11.5ms 11.5ms   6.667ms  35.2381ms          28.572ms",
        "    thread \"ctl\" warp=\"12.880954ms\" warp-limit=\"2.5ms\" unwarp=\"12ms\"",
        "    thread \"mpeg\" warp=\"12.333335ms\" warp-limit=\"10ms\" unwarp=\"19ms\"",
    ] {
        assert!(stdout.lines().any(|printed| printed == line), "{line} in\n{stdout}");
    }
    assert!(stdout.contains("window: 252ms of virtual time, 20ms in all"), "{stdout}");
    assert!(stdout.ends_with("all tasks are in time\n"), "{stdout}");
}

#[test]
fn what_no_warp_gives_is_named_with_the_condition_that_fails() {
    let Outcome { code, stdout, .. } = hls(&["fit", "jobs-late.kdl"]);
    assert_eq!(code, Some(1), "{stdout}");
    let reason = "no warp suffices for `mpeg`: an `unwarp` of 18.572ms or more is needed, so that its limit keeps \
                  it within its part, 7/20 of the CPU; it is 18ms\n";
    assert!(stdout.contains(reason), "{stdout}");
    assert!(
        stdout.ends_with("NOT KEPT: not everything that is asked for can be given with these\n"),
        "{stdout}"
    );
    let unknown = hls(&["fit", "jobs.kdl", "--thread", "gcc"]);
    assert_eq!(unknown.code, Some(2), "{unknown:?}");
}
