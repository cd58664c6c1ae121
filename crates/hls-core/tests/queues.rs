//! The queues of the policies, compared with arrays that are searched from end to end: `queues.c` does the same
//! random operations on both. `HLS_SEEDS=1000` runs a long campaign.
//!
//! Relies on the compiler of the core.

use std::path::Path;
use std::process::Command;

#[test]
fn queues_have_the_order_of_arrays() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (source, program) =
        (Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/queues.c"), folder.join("queues"));
    let status = Command::new("cc")
        .args(["-std=gnu11", "-O2", "-fno-strict-aliasing", "-Wall", "-Wextra", "-Werror", "-o"])
        .args([&program, &source])
        .status();
    assert!(status.is_ok_and(|status| status.success()), "{} cannot be compiled", source.display());
    let seeds = std::env::var("HLS_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(16);
    for seed in 0..seeds {
        let output = Command::new(&program).arg(u64::to_string(&seed)).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    }
}
