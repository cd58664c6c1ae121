//! Reservations below BVT in a running hierarchy: requests for JOB and for shares are granted only if all promises
//! still hold, and best-effort threads beside them take nothing from the promises (Duda and Cheriton, SOSP 1999,
//! section 6).

use crate::support::{ALICES, BOBS, Native, manager_of, texts};
use hls_control::{Error, Manager, Peer};

const ROOT: Peer = Peer::ROOT;

/// A controller, in a place that these tests fill, and a player; their warps leave room for more. Also a part of the
/// CPU for best effort, and the rest.
const FILE: &str = r#"
fixed-priority "FP" {
    bvt "RE" priority=2 allowance="1ms" {
        thread "video" share=20 guarantee="JOB 2ms 20ms 3ms" warp="20ms" warp-limit="2.5ms" unwarp="12ms"
        thread "mpeg" share=35 guarantee="JOB 9ms 33ms 14ms" warp="16ms" warp-limit="10ms" unwarp="19ms"
        proportional-share "BE" share=45 { thread "gcc" }
    }
    time-sharing "rest" priority=0 { thread "other" }
}
"#;

/// A thread that asks for 0.5 ms within 1 ms every 25 ms, with this share and warp.
fn radio(share: &str, warp: &str) -> [(&'static str, String); 5] {
    [
        ("share", share.into()),
        ("guarantee", "JOB 500us 25ms 1ms".into()),
        ("warp", warp.into()),
        ("warp-limit", "500us".into()),
        ("unwarp", "20ms".into()),
    ]
}

fn moved(
    manager: &mut Manager<Native>,
    tid: u32,
    to: &str,
    with: &[(&str, String)],
) -> Result<String, Error> {
    let with: Vec<(&str, &str)> = with.iter().map(|(name, value)| (*name, value.as_str())).collect();
    manager.move_thread(ROOT, tid, to, &texts(&with)).map(|granted| granted.guarantee.to_string())
}

#[track_caller]
fn refused(manager: &mut Manager<Native>, tid: u32, to: &str, with: &[(&str, String)], reason: &str) {
    let before = manager.engine().promises.clone();
    let error = moved(manager, tid, to, with).expect_err("a refusal");
    assert!(error.to_string().contains(reason), "{error}");
    assert_eq!(manager.engine().promises, before, "{error}");
}

fn share(share: u64) -> [(&'static str, String); 1] {
    [("share", share.to_string())]
}

#[test]
fn a_job_is_granted_only_if_all_keep_theirs() {
    let mut manager = manager_of(FILE);
    // The request's own condition fails, and the refusal names it; with a large enough warp it is granted.
    refused(&mut manager, BOBS, "RE", &radio("3", "100us"), "to stay ahead of children that are not warped");
    let mut often = radio("3", "5ms");
    often[1].1 = "JOB 500us 15ms 1ms".into();
    refused(&mut manager, BOBS, "RE", &often, "more than its part");
    // With a share of 1 its limit does not keep it within its part: the player would pay for its warp.
    refused(&mut manager, BOBS, "RE", &radio("1", "10ms"), "mpeg: needs JOB 9ms 33ms 14ms");
    assert_eq!(moved(&mut manager, BOBS, "RE", &radio("3", "5ms")).unwrap(), "JOB 500us 25ms 500us");
    // Threads with equal parameters wait for each other: a third would wait for 1 ms, and delay the controller by 1.5
    // ms.
    assert_eq!(moved(&mut manager, ALICES[0], "RE", &radio("3", "5ms")).unwrap(), "JOB 500us 25ms 1ms");
    refused(&mut manager, ALICES[1], "RE", &radio("3", "5ms"), "needs JOB");
    manager.release(ROOT, BOBS).unwrap();
    assert_eq!(moved(&mut manager, ALICES[1], "RE", &radio("3", "5ms")).unwrap(), "JOB 500us 25ms 1ms");
}

#[test]
fn best_effort_takes_nothing_from_the_promises() {
    let mut manager = manager_of(FILE);
    // Below a scheduler with its own part there may be any number of threads with any shares, but no JOB.
    for (tid, weight) in ALICES.into_iter().zip([1, 1_000, 100_000]) {
        moved(&mut manager, tid, "BE", &share(weight)).unwrap();
    }
    refused(&mut manager, BOBS, "BE", &[("guarantee", "JOB 1ms 99ms 99ms".into())], "needs");
    // Beside the reserved threads, only shares that their promises allow: a share is relative to the sum of all
    // shares.
    moved(&mut manager, BOBS, "RE", &share(1)).unwrap();
    refused(&mut manager, ALICES[0], "RE", &share(200), "needs JOB");
    refused(&mut manager, ALICES[0], "RE", &[("share", "1".into()), ("warp", "60s".into())], "needs JOB");
    // A share may be asked for as well.
    let asks = |delta: &str| [("share", "5".into()), ("guarantee", format!("PSBE 1/25 {delta}"))];
    refused(&mut manager, ALICES[1], "RE", &asks("1ms"), "needs PSBE 1/25 1ms");
    assert!(moved(&mut manager, ALICES[1], "RE", &asks("4ms")).unwrap().starts_with("PSBE"));
}
