//! The corners of supply functions: each corner is listed, exactly, and nothing else.

use hls_calculus::{Corner, Guarantee, Rational};
use num_bigint::BigInt;

fn int(n: u64) -> Rational {
    Rational::from_integer(BigInt::from(n))
}

fn guarantee(text: &str) -> Guarantee {
    Guarantee::parse(text).unwrap()
}

/// Corners in whole nanoseconds.
fn numbers(corners: &[Corner]) -> Vec<(u64, u64)> {
    let whole = |value: &Rational| value.to_integer().try_into().unwrap();
    corners.iter().map(|(window, supply)| (whole(window), whole(supply))).collect()
}

/// A supply function.
type Curve<'a> = &'a dyn Fn(&Rational) -> Rational;

/// Every type, with amounts from a hundredth to the whole of the period.
fn all_sorts() -> Vec<Guarantee> {
    let mut all: Vec<Guarantee> =
        ["ALL", "NULL", "PS 1/3", "RESU 1/2", "PSBE 1/3 7ns", "PSBE 1 0ns", "PSBE 2/3 10/3ns"]
            .map(guarantee)
            .to_vec();
    for (amount, period) in
        [("1ns", "100ns"), ("3ns", "8ns"), ("10/3ns", "7ns"), ("7ns", "8ns"), ("8ns", "8ns")]
    {
        all.extend(
            ["RESBH", "RESBS", "RESCH", "RESCS"].map(|kind| guarantee(&format!("{kind} {amount} {period}"))),
        );
    }
    all.extend(["EDP 11ns 2ns 5ns", "EDP 9ns 4ns 4ns", "EDP 9ns 4ns 9ns"].map(guarantee));
    all
}

#[test]
fn the_corners_of_known_functions() {
    let sbf = |text: &str, up_to| numbers(&guarantee(text).sbf_corners(&int(up_to)));
    let ubf = |text: &str, up_to| numbers(&guarantee(text).ubf_corners(&int(up_to)));
    assert_eq!(sbf("RESBS 3ns 8ns", 22), [(0, 0), (10, 0), (13, 3), (18, 3), (21, 6), (22, 6)]);
    assert_eq!(sbf("RESCS 3ns 8ns", 16), [(0, 0), (5, 0), (8, 3), (13, 3), (16, 6)]);
    assert_eq!(sbf("EDP 11ns 2ns 5ns", 25), [(0, 0), (12, 0), (14, 2), (23, 2), (25, 4)]);
    assert_eq!(sbf("PSBE 1/2 5ns", 30), [(0, 0), (10, 0), (30, 10)]);
    assert_eq!(sbf("ALL", 30), [(0, 0), (30, 30)]);
    assert_eq!(sbf("RESBS 8ns 8ns", 30), [(0, 0), (30, 30)]);
    assert_eq!(sbf("NULL", 30), [(0, 0), (30, 0)]);
    assert_eq!(ubf("RESBH 3ns 8ns", 16), [(0, 0), (6, 6), (11, 6), (14, 9), (16, 9)]);
    assert_eq!(ubf("RESCH 3ns 8ns", 12), [(0, 0), (3, 3), (8, 3), (11, 6), (12, 6)]);
    assert_eq!(ubf("RESBS 3ns 8ns", 12), [(0, 0), (12, 12)]);
}

#[test]
fn straight_lines_between_corners_are_the_function() {
    let end = Rational::new(BigInt::from(201), BigInt::from(7));
    let steps = int(600);
    for guarantee in all_sorts() {
        let curves: [(Vec<Corner>, Curve); 2] = [
            (guarantee.sbf_corners(&end), &|window| guarantee.sbf(window)),
            (guarantee.ubf_corners(&end), &|window| guarantee.ubf(window)),
        ];
        for (corners, curve) in curves {
            assert_eq!(corners.last().unwrap().0, end, "{guarantee}");
            for pair in corners.windows(2) {
                let ((x0, y0), (x1, y1)) = (&pair[0], &pair[1]);
                assert!(x0 < x1, "{guarantee}");
                for step in 0..=600 {
                    let part = int(step) / &steps;
                    let (window, line) = (x0 + (x1 - x0) * &part, y0 + (y1 - y0) * &part);
                    assert_eq!(curve(&window), line, "{guarantee} at {window}");
                }
            }
            for triple in corners.windows(3) {
                let slope = |from: &Corner, to: &Corner| (&to.1 - &from.1) / (&to.0 - &from.0);
                assert_ne!(slope(&triple[0], &triple[1]), slope(&triple[1], &triple[2]), "{guarantee}");
            }
        }
    }
}

#[test]
fn an_endless_list_ends_and_nonsense_has_no_corners() {
    let short = guarantee("RESBH 1ns 2ns");
    let year = int(365 * 24 * 3600 * 1_000_000_000);
    for corners in [short.sbf_corners(&year), short.ubf_corners(&year)] {
        assert!((1_990..=2_001).contains(&corners.len()), "{}", corners.len());
        assert!(corners.last().unwrap().0 < year);
    }
    let broken = [(0, 0), (5, 0), (0, 5), (9, 5)];
    for (amount, period) in broken {
        let broken = Guarantee::resbh(int(amount), int(period));
        for corners in [broken.sbf_corners(&int(30)), broken.ubf_corners(&int(30))] {
            assert!(corners.windows(2).all(|pair| pair[0].0 < pair[1].0), "{broken}");
        }
    }
    assert_eq!(numbers(&short.sbf_corners(&int(0))), [(0, 0)]);
    assert_eq!(numbers(&short.sbf_corners(&-int(3))), [(0, 0)]);
}
