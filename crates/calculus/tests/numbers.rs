//! Supplies and rewrites with known numbers: the tables that the specification of the calculus lists.

use hls_calculus::{Continuity, Guarantee, Kind, Rational, implies, rewrite};
use num_bigint::BigInt;

fn int(n: u64) -> Rational {
    Rational::from_integer(BigInt::from(n))
}

fn g(text: &str) -> Guarantee {
    Guarantee::parse(text).unwrap()
}

#[test]
fn supply_tables() {
    let supplies = |guarantee: &Guarantee, windows: &[u64]| -> Vec<Rational> {
        windows.iter().map(|window| guarantee.sbf(&int(*window))).collect()
    };
    let ints = |values: &[u64]| -> Vec<Rational> { values.iter().map(|value| int(*value)).collect() };
    let every: Vec<u64> = (0..=15).collect();
    assert_eq!(
        supplies(&g("RESBS 3ns 5ns"), &every),
        ints(&[0, 0, 0, 0, 0, 1, 2, 3, 3, 3, 4, 5, 6, 6, 6, 7])
    );
    assert_eq!(supplies(&g("RESBS 3ns 8ns"), &[10, 11, 13, 16, 21]), ints(&[0, 1, 3, 3, 6]));
    assert_eq!(supplies(&g("EDP 11ns 2ns 5ns"), &[12, 13, 14, 23, 24, 25]), ints(&[0, 1, 2, 2, 3, 4]));
    assert_eq!(supplies(&g("RESBS 10ms 33ms"), &[46_000_000, 56_000_000]), ints(&[0, 10_000_000]));
}

#[test]
fn rewrites_with_their_parameters() {
    let reached = |have: &str, kind| rewrite(&g(have), kind).map(|(guarantee, _)| guarantee);
    let rescs = Kind::Reservation(Continuity::Continuous, false);
    let resch = Kind::Reservation(Continuity::Continuous, true);
    let resbh = Kind::Reservation(Continuity::Basic, true);
    assert_eq!(reached("RESBS 3ns 8ns", rescs), Some(g("RESCS 3ns 13ns")), "T1");
    assert_eq!(reached("RESBH 3ns 8ns", resch), None, "T2");
    assert_eq!(reached("RESCS 3ns 8ns", Kind::Psbe), Some(g("PSBE 3/8 15/8ns")), "T3");
    assert_eq!(reached("RESBS 3ns 8ns", Kind::Psbe), Some(g("PSBE 3/8 15/4ns")), "T4");
    assert_eq!(reached("RESBH 3ns 8ns", Kind::Ps), Some(g("PS 3/8")), "T5");
    assert_eq!(reached("RESCH 3ns 8ns", resbh), Some(g("RESBH 3ns 8ns")));
    assert_eq!(reached("RESBS 3ns 8ns", resbh), None);
    assert_eq!(reached("NULL", Kind::Ps), None);
    assert_eq!(reached("PS 1/2", Kind::Psbe), None);
    assert_eq!(reached("RESU 1/2", Kind::Ps), Some(g("PS 1/2")));
    assert_eq!(reached("EDP 11ns 2ns 5ns", rescs), Some(g("RESCS 2ns 14ns")));
    // RESU 1/4 with deadlines that are 8 ns apart.
    assert_eq!(reached("RESBS 2ns 8ns", Kind::Psbe), Some(g("PSBE 1/4 3ns")));
}

#[test]
fn needs_that_are_met_and_needs_that_are_not() {
    for (have, need, met) in [
        ("RESBH 10ms 33ms", "RESBS 10ms 33ms", true),
        ("RESBH 10ms 33ms", "RESBH 10ms 33ms", true),
        ("RESBH 10ms 33ms", "RESBH 9ms 33ms", false),
        ("RESBH 10ms 33ms", "RESBH 20ms 66ms", true),
        ("RESBH 10ms 33ms", "RESCS 10ms 33ms", false),
        ("RESBH 10ms 33ms", "RESCS 10ms 56ms", true),
        ("RESBS 10ms 22ms", "RESCS 10ms 33ms", false),
        ("RESBS 10ms 21ms", "RESCS 10ms 33ms", true),
        ("RESBS 10ms 33ms", "RESBH 10ms 33ms", false),
        ("ALL", "RESBH 10ms 33ms", false),
        ("ALL", "RESBH 33ms 33ms", true),
        ("RESBS 10ms 10ms", "ALL", true),
        ("RESBH 10ms 33ms", "PSBE 10/33 460/33ms", true),
        ("RESBH 10ms 33ms", "PSBE 10/33 459/33ms", false),
        ("RESBH 10ms 33ms", "PSBE 1/3 1s", false),
        ("PSBE 3/8 15/4ns", "RESCS 9/8ns 13ns", true),
        ("PSBE 3/8 15/4ns", "RESCS 3ns 13ns", false),
        ("PSBE 1/2 5ms", "RESBS 5ms 20ms", true),
        ("PSBE 1/2 5ms", "PS 1/2", true),
        ("PS 1/2", "PSBE 1/2 5s", false),
        ("RESU 1/2", "RESBS 1ms 10ms", false),
        ("RESU 1/2", "RESU 1/3", true),
        ("RESBS 3ns 8ns", "RESBS 6ns 20ns", true),
        ("RESBS 3ns 8ns", "RESBS 3ns 9ns", false),
        ("RESCS 1ns 2ns", "EDP 2ns 1ns 1ns", false),
        ("EDP 11ns 2ns 5ns", "EDP 11ns 2ns 6ns", true),
        ("EDP 11ns 2ns 5ns", "EDP 11ns 1ns 4ns", true),
        ("EDP 11ns 2ns 5ns", "EDP 11ns 2ns 4ns", false),
        ("EDP 11ns 2ns 5ns", "RESBS 2ns 11ns", true),
        ("NULL", "PS 1/1000", false),
        ("NULL", "NULL", true),
    ] {
        let result = implies(&g(have), &g(need));
        assert_eq!(result.is_ok(), met, "{have} to {need}: {result:?}");
    }
}

#[test]
fn a_refusal_says_which_window_would_do() {
    let refusal = implies(&g("RESBH 10ms 33ms"), &g("RESCS 10ms 33ms")).unwrap_err();
    assert!(refusal.reason.contains("10ms in every 56ms"), "{refusal}");
}

#[test]
fn broken_invariants_promise_nothing_and_do_not_panic() {
    let broken = [
        Guarantee::resbh(int(1), int(0)),
        Guarantee::resbh(int(9), int(3)),
        Guarantee::Psbe { share: int(0), delta: int(1) },
        Guarantee::Edp { period: int(0), amount: int(0), deadline: int(0) },
        Guarantee::Resu { rate: int(0) },
    ];
    for have in &broken {
        for need in broken.iter().chain([
            &Guarantee::All,
            &g("RESCS 1ns 2ns"),
            &g("RESBS 1ns 3ns"),
            &g("PSBE 1/2 1ns"),
        ]) {
            let _ =
                (implies(have, need), have.ubf(&int(5)), have.sbf(&int(5)), have.windows(), have.to_string());
        }
        assert!(have.check().is_err());
    }
    assert!(implies(&g("ALL"), &broken[0]).is_err());
}
