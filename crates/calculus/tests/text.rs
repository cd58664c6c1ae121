//! Guarantees as text: what is read, what is refused and where, and that what is written is read back.

use hls_calculus::{Continuity, Guarantee, Rational};
use hls_units::Nanos;
use num_bigint::BigInt;
use proptest::prelude::*;

fn ratio(n: u64, d: u64) -> Rational {
    Rational::new(BigInt::from(n), BigInt::from(d))
}

fn ms(n: u64) -> Rational {
    ratio(n * 1_000_000, 1)
}

#[test]
fn reads_every_type() {
    for (text, guarantee) in [
        ("ALL", Guarantee::All),
        (" NULL ", Guarantee::Null),
        ("RESBH 10ms 33ms", Guarantee::resbh(ms(10), ms(33))),
        ("RESBS 10ms, 33ms", Guarantee::resbs(ms(10), ms(33))),
        ("RESCS 10/3ms 5ms", Guarantee::rescs(ratio(10_000_000, 3), ms(5))),
        ("PSBE 1/10 22ms", Guarantee::Psbe { share: ratio(1, 10), delta: ms(22) }),
        ("PSBE 1 0ms", Guarantee::Psbe { share: ratio(1, 1), delta: ms(0) }),
        ("PS 0.4", Guarantee::Ps { share: ratio(2, 5) }),
        ("PS 40%", Guarantee::Ps { share: ratio(2, 5) }),
        ("RESU 1/2", Guarantee::Resu { rate: ratio(1, 2) }),
        ("EDP 11ms 2ms 5ms", Guarantee::Edp { period: ms(11), amount: ms(2), deadline: ms(5) }),
        ("MPR 10ms 30ms 4", Guarantee::Mpr { period: ms(10), amount: ms(30), cpus: 4 }),
        ("JOB 2ms 20ms 3ms", Guarantee::Job { amount: ms(2), period: ms(20), response: ms(3) }),
    ] {
        assert_eq!(Guarantee::parse(text), Ok(guarantee), "{text}");
    }
}

#[test]
fn refuses_at_the_place_of_the_offender() {
    for (text, offender) in [
        ("", ""),
        ("  ", "  "),
        ("RESB 1ms 2ms", "RESB"),
        ("resbh 1ms 2ms", "resbh"),
        ("RESBH 10 33ms", "10"),
        ("RESBH 10ms 33", "33"),
        ("RESBH 40ms 33ms", "40ms"),
        ("RESBH 0ms 33ms", "0ms"),
        ("RESBH 1ms 0s", "0s"),
        ("RESBH 1ms", ""),
        ("RESBH 1ms 2ms 3ms", "3ms"),
        ("RESBH 1ms,, 2ms", ","),
        ("RESBH 1ms,", ""),
        ("RESBH, 1ms 2ms", ","),
        ("RESBH 1parsec 2ms", "1parsec"),
        ("RESBH -1ms 2ms", "-1ms"),
        ("PS 1.1", "1.1"),
        ("PS 110%", "110%"),
        ("PS 0", "0"),
        ("PS 1/0", "1/0"),
        ("PS 1//2", "1//2"),
        ("PSBE 1/2 3", "3"),
        ("PSBE 2 3ms", "2"),
        ("PSBE 1/2 -3ms", "-3ms"),
        ("PS -1", "-1"),
        ("RESU 0", "0"),
        (
            "RESU 340282366920938463463374607431768211457/340282366920938463463374607431768211456",
            "340282366920938463463374607431768211457/340282366920938463463374607431768211456",
        ),
        ("EDP 0ms 1ms 2ms", "0ms"),
        ("EDP 11ms 0ms 5ms", "0ms"),
        ("EDP 11ms 6ms 5ms", "6ms"),
        ("EDP 11ms 2ms 12ms", "12ms"),
        ("MPR 10ms 41ms 4", "41ms"),
        ("MPR 10ms 0ms 4", "0ms"),
        ("MPR 10ms 5ms 0", "0"),
        ("MPR 10ms 5ms 1.5", "1.5"),
        ("MPR 10ms 5ms 65536", "65536"),
        ("MPR 10ms 5ms", ""),
        ("ALL 1", "1"),
        ("é", "é"),
    ] {
        let error = Guarantee::parse(text).expect_err(text);
        assert_eq!(text.get(error.offset..error.offset + error.len), Some(offender), "{text}: {error}");
        assert!(!error.found.is_empty() && !error.expected.is_empty());
    }
    assert!(Guarantee::parse(&format!("PS 0.{}", "1".repeat(1_000_000))).is_err());
}

#[test]
fn people_see_rounding_against_them() {
    let third = Guarantee::rescs(ratio(10_000_000, 3), ratio(20_000_000, 3));
    assert_eq!(third.to_string(), "RESCS 10/3ms 20/3ms");
    assert_eq!(third.rounded_for_people(), "RESCS 3.333ms 6.667ms");
    let share = Guarantee::Psbe { share: ratio(1, 3), delta: ratio(1, 3) };
    assert_eq!(share.rounded_for_people(), "PSBE 1/3 1ns");
    assert_eq!(Guarantee::Ps { share: ratio(1_000, 3_001) }.rounded_for_people(), "PS 0.333222");
    assert_eq!(Guarantee::Ps { share: ratio(1, 1_000_001) }.rounded_for_people(), "PS 1/1000001");
}

#[test]
fn rounds_supply_against_the_receiver() {
    let share = Guarantee::Psbe { share: ratio(1, 3), delta: ms(0) };
    assert_eq!(share.sbf_floor_nanos(Nanos(10)), Nanos(3));
    let hard = Guarantee::Reservation {
        continuity: Continuity::Continuous,
        hard: true,
        amount: ratio(7, 2),
        period: ratio(8, 1),
    };
    assert_eq!(hard.ubf_ceil_nanos(Nanos(6)), Nanos(4));
    assert_eq!(hard.sbf_floor_nanos(Nanos::MAX), Nanos(8_070_450_532_247_928_831));
}

fn guarantees() -> impl Strategy<Value = Guarantee> {
    let number = || (1u64.., 1u64..).prop_map(|(n, d)| ratio(n, d));
    let share = || (1u64.., 0u64..).prop_map(|(n, more)| ratio(n, 1) / (ratio(n, 1) + ratio(more, 1)));
    let reservation =
        (any::<bool>(), any::<bool>(), number(), share()).prop_map(|(basic, hard, period, share)| {
            let continuity = if basic { Continuity::Basic } else { Continuity::Continuous };
            Guarantee::Reservation { continuity, hard, amount: &period * share, period }
        });
    prop_oneof![
        Just(Guarantee::All),
        Just(Guarantee::Null),
        share().prop_map(|share| Guarantee::Ps { share }),
        share().prop_map(|rate| Guarantee::Resu { rate }),
        (share(), number()).prop_map(|(share, delta)| Guarantee::Psbe { share, delta }),
        reservation,
        (number(), share(), share()).prop_map(|(period, first, second)| {
            let deadline = &period * first;
            Guarantee::Edp { amount: &deadline * second, period, deadline }
        }),
        (number(), share(), share()).prop_map(|(period, first, second)| {
            let response = &period * first;
            Guarantee::Job { amount: &response * second, period, response }
        }),
        (number(), share(), 1u16..).prop_map(|(period, part, cpus)| {
            Guarantee::Mpr { amount: &period * part * ratio(cpus.into(), 1), period, cpus }
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_written_is_read_back(guarantee in guarantees()) {
        prop_assert_eq!(Guarantee::parse(&guarantee.to_string()), Ok(guarantee.clone()));
    }

    #[test]
    fn any_text_is_read_or_refused_within_it(
        text in "\\PC{0,40}|(RES[BC][HS]|PSBE|EDP|MPR|JOB|PS|RESU) [0-9./,%a-z ]{0,20}",
    ) {
        if let Err(error) = Guarantee::parse(&text) {
            prop_assert!(text.get(error.offset..error.offset + error.len).is_some());
        }
    }

    #[test]
    fn windows_to_monitor_are_few_and_promise_something(guarantee in guarantees()) {
        let windows = guarantee.windows();
        prop_assert!(windows.len() <= 5 && windows.is_sorted());
        for window in windows {
            prop_assert!(guarantee.sbf_floor_nanos(window) <= guarantee.ubf_ceil_nanos(window));
        }
    }
}
