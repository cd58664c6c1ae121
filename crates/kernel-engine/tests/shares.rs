//! The shares that weights make (`bpf/shares.h`), compiled natively, against the exact products.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The nearest share to `base` times the weight of nice 0 (1024 of 1024) and the weights of cgroups (each of 100).
fn exact(base: u128, weights: &[u128]) -> u128 {
    let whole = 100_u128.pow(weights.len() as u32);
    let product = weights.iter().fold(base, |product, weight| product * weight);
    ((2 * product + whole) / (2 * whole)).clamp(1, 131_072)
}

/// The result of `bpf/shares.h` for each line: see `shares/main.c`.
fn shares(lines: &str) -> Vec<u128> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = tempfile::tempdir().unwrap();
    let (program, input) = (folder.path().join("shares"), folder.path().join("input"));
    let mut gcc = Command::new("gcc");
    gcc.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-fsanitize=undefined", "-I"]);
    gcc.arg(here.join("../..")).arg(here.join("tests/shares/main.c")).arg("-o").arg(&program);
    assert!(gcc.status().unwrap().success());
    fs::write(&input, lines).unwrap();
    let output = Command::new(program).stdin(fs::File::open(input).unwrap()).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().lines().map(|line| line.parse().unwrap()).collect()
}

#[test]
fn nice_values_have_the_weights_of_the_fair_class() {
    assert_eq!(shares("1024 0\n1024 5\n1024 15\n1024 19\n1024 -5\n"), [1024, 336, 36, 15, 3125]);
    assert_eq!(shares("1 19\n131072 -20\n"), [1, 131_072], "within what proportional share takes");
}

#[test]
fn each_cgroup_multiplies_the_share() {
    let rows: [(u128, &[u128]); 11] = [
        (1024, &[]),
        (1024, &[100]),
        (1024, &[300]),
        (1024, &[50, 300]),
        (1000, &[33, 33, 33]),
        (1024, &[1]),
        (1024, &[1, 1]),
        (1024, &[10_000]),
        (1024, &[1, 10_000]),
        (131_072, &[10_000, 10_000, 1, 1]),
        (3, &[10_000, 10_000]),
    ];
    let mut lines = String::new();
    rows.iter().for_each(|(base, weights)| {
        let weights: Vec<String> = weights.iter().map(ToString::to_string).collect();
        writeln!(lines, "{base} 0 {}", weights.join(" ")).unwrap();
    });
    let expected: Vec<u128> = rows.iter().map(|(base, weights)| exact(*base, weights)).collect();
    assert_eq!(shares(&lines), expected);
    let deepest = |weight: &str| format!("131072 -20 {}\n", [weight; 16].join(" "));
    assert_eq!(shares(&(deepest("10000") + &deepest("1"))), [131_072, 1], "nothing overflows");
}
