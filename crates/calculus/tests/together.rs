//! Sums of guarantees against brute force: supplies at every quarter of a nanosecond, and windows and shortfalls, which
//! may lie between two quarters.

use hls_calculus::{Guarantee, Rational, Shortfall, Sum, Supply};
use num_bigint::BigInt;
use num_traits::Zero;
use proptest::prelude::*;

fn ratio(n: u64, d: u64) -> Rational {
    Rational::new(BigInt::from(n), BigInt::from(d))
}

/// Parts of at most a third of a CPU each, with numbers of nanoseconds.
fn part() -> impl Strategy<Value = Guarantee> {
    let periodic = (1u64..5, 0u64..6, 0u64..20).prop_map(|(amount, later, slack)| {
        let period = 3 * amount + slack;
        let deadline = (amount + later).min(period);
        format!("EDP {period}ns {amount}ns {deadline}ns")
    });
    let bounded = (4u64..9, 0u64..9).prop_map(|(part, delta)| format!("PSBE 1/{part} {delta}ns"));
    prop_oneof![periodic, bounded].prop_map(|text| Guarantee::parse(&text).unwrap())
}

fn sum() -> impl Strategy<Value = Sum> {
    prop::collection::vec(part(), 1..4).prop_map(Sum)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_window_holds_the_amount_and_no_shorter_one_does(sum in sum(), quarters in 1u64..80) {
        let amount = ratio(quarters, 4);
        let window = sum.window_for(&amount).expect("every part promises something");
        prop_assert!(sum.sbf(&window) >= amount, "{} {} {}", sum, amount, window);
        for shorter in [ratio(1, 1000), ratio(1, 4), ratio(3, 1)] {
            prop_assert!(sum.sbf(&(&window - shorter)) < amount, "{} {} {}", sum, amount, window);
        }
    }

    #[test]
    fn a_shortfall_is_one_and_none_is_none(
        sum in sum(), percent in 1u64..110, offset in 0u64..12, start in 0u64..40,
    ) {
        let (slope, offset, start) = (sum.rate() * ratio(percent, 100), ratio(offset, 4), ratio(start, 4));
        let found = sum.shortfall(&slope, &offset, &start);
        if let Some(Shortfall { window, wanted, supply }) = &found && percent < 100 {
            prop_assert!(wanted > supply && *window >= start);
            prop_assert_eq!(supply, &sum.sbf(window));
        }
        let short = (0..1200).map(|quarter| &start + ratio(quarter, 4)).find(|t| &slope * t + &offset > sum.sbf(t));
        prop_assert!(short.is_none() || found.is_some(), "{} falls short at {:?}", sum, short);
        prop_assert!(percent < 100 || found.is_some());
    }

    #[test]
    fn a_supply_is_the_best_of_its_sums(parts in prop::collection::vec(part(), 1..4), t in 0u64..200) {
        let t = ratio(t, 4);
        let each: Vec<Supply> = parts.iter().cloned().map(Supply::from).collect();
        let best = parts.iter().map(|part| part.sbf(&t)).max().unwrap();
        let added: Rational = parts.iter().map(|part| part.sbf(&t)).sum();
        prop_assert_eq!(Supply::best(each.clone()).sbf(&t), best);
        prop_assert_eq!(Supply::sum(&each).sbf(&t), added);
    }
}

#[test]
fn an_empty_sum_promises_nothing() {
    let nothing = Supply::default();
    assert!(Supply::from(Guarantee::Null).is_nothing() && Supply::sum(&[]).is_nothing());
    assert_eq!(Supply::sum(&[nothing.clone(), Guarantee::All.into()]), Guarantee::All.into());
    assert_eq!(nothing.window_for(&ratio(1, 1)), None);
    assert!(nothing.shortfall(&ratio(1, 2), &Rational::zero(), &Rational::zero()).is_some());
    assert_eq!(nothing.to_string(), "NULL");
}

#[test]
fn a_straight_supply_carries_its_own_rate() {
    let (all, none) = (Supply::from(Guarantee::All), Rational::zero());
    assert_eq!(all.shortfall(&ratio(1, 1), &none, &none), None);
    assert!(all.shortfall(&ratio(1, 1), &ratio(1, 4), &none).is_some());
    assert!(
        Supply::from(Guarantee::parse("RESCS 1ms 2ms").unwrap())
            .shortfall(&ratio(1, 2), &none, &none)
            .is_some()
    );
}
