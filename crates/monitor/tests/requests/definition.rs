//! The test of requests against its definition, slot by slot: what a promise implies from a wake-up on, and what there
//! was. Relies on the public monitor only.

use crate::slots::{Asleep, Ready, Runs, Server, Stolen, Unit, judged, monitor, play, reservation, sbf};
use hls_monitor::requests::{Accounted, Periodic, RequestRule, Share, Wakes};
use hls_monitor::result::{RequestsResult, Verdict};
use hls_monitor::windows::{Breach, Missed};
use hls_units::Nanos;
use proptest::prelude::*;
use proptest::sample::select;

/// The stretches without sleep: where each begins, and its units.
pub fn requests(units: &[Unit]) -> Vec<(usize, &[Unit])> {
    let mut found = Vec::new();
    let mut from = 0;
    while from < units.len() {
        let length = units[from..].iter().take_while(|unit| **unit != Asleep).count();
        if length > 0 {
            found.push((from, &units[from..from + length]));
        }
        from += length + 1;
    }
    found
}

pub fn service(units: &[Unit]) -> u64 {
    units.iter().filter(|unit| **unit == Runs).count() as u64
}

fn anew(amount: u64, period: u64, deadline: u64) -> RequestRule {
    let [amount, period, first] = [amount, period, period + deadline - amount].map(Nanos);
    RequestRule::Periodic(Periodic { amount, period, wakes: Wakes::Anew(first) })
}

fn share(numerator: u64, denominator: u64, error: u64) -> RequestRule {
    RequestRule::Share(Share { numerator, denominator, error: Nanos(error) })
}

/// For each request of a reservation, what it had left at the wake-up, and for how long.
fn left_at_wake_ups(units: &[Unit], amount: u64, period: u64) -> Vec<(u64, u64)> {
    let mut server = Server { amount, period, budget: 0, end: 0 };
    let mut left = Vec::new();
    for (from, request) in requests(units) {
        server.wake(from as u64);
        left.push((server.budget, server.end - from as u64));
        for (now, unit) in (from as u64..).zip(request) {
            server.pass(now, *unit == Runs);
        }
    }
    left
}

pub fn any_units() -> impl Strategy<Value = Vec<Unit>> {
    let stretch = (select(vec![Asleep, Ready, Runs, Runs, Runs]), 1usize..7);
    prop::collection::vec(stretch, 0..24)
        .prop_map(|all| all.iter().flat_map(|&(unit, n)| std::iter::repeat_n(unit, n)).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn a_share_is_held_against_every_window_of_every_request(
        units in any_units(), numerator in 1u64..5, more in 0u64..4, error in 0u64..6,
    ) {
        let denominator = numerator + more;
        let mut lacks = 0;
        for (_, request) in requests(&units) {
            for from in 0..request.len() {
                for to in from..=request.len() {
                    let due = (to - from) as u64 * numerator;
                    let got = (service(&request[from..to]) + error) * denominator;
                    lacks = lacks.max(due.saturating_sub(got).div_ceil(denominator));
                }
            }
        }
        let found = judged(&units, share(numerator, denominator, error));
        prop_assert_eq!(found.missing > Nanos::ZERO, lacks > 0, "{:?} {:?}", found, units);
        prop_assert!(found.missing <= Nanos(lacks), "{:?} {}", found, lacks);
    }

    #[test]
    fn what_is_due_from_the_wake_up_is_missed_and_only_what_some_window_misses(
        units in any_units(), amount in 1u64..5, early in 0u64..4, late in 0u64..4,
    ) {
        let (deadline, period) = (amount + early, amount + early + late);
        let lacks = |request: &[Unit]| {
            let is_short = |to: &usize| service(&request[..*to]) < sbf(period, amount, deadline, *to as u64);
            (0..=request.len()).any(|to| is_short(&to))
        };
        let found = judged(&units, anew(amount, period, deadline));
        let is_broken = found.missing > Nanos::ZERO;
        let all = requests(&units);
        if all.iter().any(|(_, request)| lacks(request)) {
            prop_assert!(is_broken, "{:?} {:?}", found, units);
        }
        let from_anywhere = |request: &[Unit]| (0..request.len()).any(|from| lacks(&request[from..]));
        if is_broken {
            prop_assert!(all.iter().any(|(_, request)| from_anywhere(request)), "{:?} {:?}", found, units);
        }
    }

    #[test]
    fn a_reservation_is_due_what_it_had_left_and_then_an_amount_in_every_period(
        units in any_units(), amount in 1u64..5, more in 0u64..7,
    ) {
        let period = amount + more;
        let continuous = |u: u64| sbf(period, amount, amount, u);
        let mut is_late = false;
        let left = left_at_wake_ups(&units, amount, period);
        for ((_, request), &(c, r)) in requests(&units).iter().zip(&left) {
            for to in 0..=request.len() {
                let u = to as u64;
                let due = if u <= r { u.saturating_sub(r - c).min(c) } else { c + continuous(u - r) };
                is_late |= service(&request[..to]) < due;
            }
        }
        let found = judged(&units, reservation(amount, period, true, false));
        // A VP that runs ahead of a hard reservation is owed as much again a period later, which L does not say.
        let is_hard = requests(&units).iter().zip(&left).all(|((_, request), &(c, r))| {
            (0..=request.len()).all(|to| {
                let periods = (to as u64).saturating_sub(r).div_ceil(period.max(1));
                service(&request[..to]) <= c + periods * amount
            })
        });
        if is_late || is_hard {
            prop_assert_eq!(found.missing > Nanos::ZERO, is_late, "{:?} {:?} {:?}", found, left, units);
        }
        // A test that knows less about a reservation demands no more. (How much is missing may be more: its periods
        // begin elsewhere, and what a period lacks is lost with it.)
        let [unsure, resuming] = [(false, false), (false, true)].map(|(are_rests_due, resumes)| {
            judged(&units, reservation(amount, period, are_rests_due, resumes))
        });
        if is_hard {
            let is_broken = |found: &RequestsResult| found.missing > Nanos::ZERO;
            let broken = [&resuming, &unsure, &found].map(is_broken);
            prop_assert!(broken.is_sorted(), "{:?} {:?} {:?} {:?}", resuming, unsure, found, units);
        }
    }
}

fn verdict(units: &[Unit], rule: RequestRule) -> Verdict {
    judged(units, rule).verdict()
}

/// `n` times the same.
pub fn times(n: usize, unit: Unit) -> Vec<Unit> {
    vec![unit; n]
}

#[test]
fn a_request_is_tested_up_to_what_it_got() {
    let rule = anew(3, 10, 10);
    // 3 in 17 is certain, the first 1 in 15.
    let found = judged(&[times(14, Ready), times(1, Runs), times(9, Asleep), times(2, Runs)].concat(), rule);
    assert_eq!((found.requests, found.tested, found.margin), (2, 2, Some(Nanos(0))));
    assert_eq!(found.verdict(), Verdict::Kept);
    let found = judged(&[times(15, Ready), times(1, Runs)].concat(), rule);
    assert_eq!((found.missing, found.worst_at), (Nanos(1), Nanos(0)));
    assert_eq!(found.verdict(), Verdict::Short);
    // A VP that gives up before anything is due has tested nothing.
    assert_eq!(verdict(&[times(14, Ready), times(9, Asleep)].concat(), rule), Verdict::Untested);
    assert_eq!(verdict(&times(15, Ready), rule), Verdict::Short);
    assert_eq!(verdict(&[], rule), Verdict::Untested);
}

#[test]
fn the_margin_is_the_least_time_before_something_is_due() {
    let units = [times(4, Ready), times(1, Runs), times(2, Ready), times(2, Runs), times(2, Asleep)].concat();
    // 3 in 10: the first is due by 8, the second, which came at 8, by 9.
    assert_eq!(judged(&units, reservation(3, 10, true, false)).margin, Some(Nanos(1)));
    // Half of the time less 5: after a wait of 4 it lags by 2, after all by 3.5 at most; 1.5 are 3 units of time.
    let units = [times(4, Ready), times(1, Runs), times(4, Ready), times(1, Runs)].concat();
    assert_eq!(judged(&units, share(1, 2, 5)).margin, Some(Nanos(3)));
}

/// What is left at a wake-up keeps its end, or a new period begins: the wake-up rule at its border.
#[test]
fn the_wake_up_rule_decides_what_is_due() {
    // 2 of 4 used by 2; asleep until 6 of 10: (10-6)*4/10 = 1.6 < 2, so a new period begins; at 5 it does not.
    let slept = |until: usize| [times(2, Runs), times(until - 2, Asleep)].concat();
    for (wakes_at, first_too_late) in [(5, 4), (6, 7)] {
        for (wait, is_broken) in [(first_too_late - 1, false), (first_too_late, true)] {
            let units = [slept(wakes_at), times(wait, Ready), times(1, Runs)].concat();
            let found = judged(&units, reservation(4, 10, true, false));
            assert_eq!(found.verdict().is_broken(), is_broken, "{wakes_at} {wait} {found:?}");
        }
    }
    // Where rests need not come, the next whole budget is the first that must: 4 by 20.
    for (wait, is_broken) in [(11, false), (12, true)] {
        let units = [slept(5), times(wait, Ready), times(1, Runs)].concat();
        let found = judged(&units, reservation(4, 10, false, false));
        assert_eq!(found.verdict().is_broken(), is_broken, "{wait} {found:?}");
    }
    // The tie is not judged where the end of the budget may have been late.
    let units = [slept(5), times(5, Ready), times(1, Runs)].concat();
    let found = play(&units, &mut monitor(reservation(4, 10, true, false), Accounted::default(), 1));
    assert_eq!(found.missing, Nanos::ZERO);
}

#[test]
fn after_lost_records_only_what_holds_for_all_is_due() {
    let rule = reservation(4, 10, true, false);
    let after = |sleep: u64, wait: u64| {
        let mut monitor = monitor(rule, Accounted::default(), 0);
        monitor.request(Nanos(0));
        monitor.lose_track(Nanos(0), Nanos(20));
        monitor.advance(Nanos(30));
        monitor.grant(Nanos(30));
        monitor.release(Nanos(31));
        monitor.request(Nanos(31 + sleep));
        monitor.grant(Nanos(31 + sleep + wait));
        monitor.finish(Nanos(31 + sleep + wait + 1));
        monitor.requests().expect("requests are judged").missing
    };
    // Asleep for 3: its period ends 7 later at the latest, and then it is owed 4 within 10.
    assert_eq!((after(3, 13), after(3, 14)), (Nanos(0), Nanos(1)));
    // Asleep for a period: 4 within 10.
    assert_eq!((after(10, 6), after(10, 7)), (Nanos(0), Nanos(1)));
}

#[test]
fn a_later_thread_of_a_vp_does_not_have_what_the_last_one_left() {
    let mut monitor = monitor(reservation(4, 10, true, false), Accounted::default(), 0);
    monitor.grant(Nanos(0));
    monitor.leave(Nanos(3));
    monitor.request(Nanos(5));
    monitor.grant(Nanos(18));
    monitor.finish(Nanos(19));
    assert_eq!(monitor.requests().map(|found| found.missing), Some(Nanos(0)));
}

#[test]
fn stolen_time_counts_unless_the_promise_takes_it_into_account() {
    let units = [times(4, Stolen), times(6, Runs)].concat();
    let of = |accounted| play(&units, &mut monitor(share(1, 1, 1), accounted, 0));
    assert_eq!(of(Accounted::default()).verdict(), Verdict::Stolen);
    let all = of(Accounted { burst: Nanos(4), per_second: Nanos(0) });
    assert_eq!((all.verdict(), all.missing), (Verdict::Short, Nanos(3)));
    let half = of(Accounted { burst: Nanos(0), per_second: Nanos(500_000_000) });
    assert_eq!((half.verdict(), half.missing, half.stolen), (Verdict::Short, Nanos(1), Nanos(2)));
}

#[test]
fn the_slack_is_for_each_wait() {
    let units = [times(2, Ready), times(3, Runs), times(2, Ready), times(3, Runs)].concat();
    let of = |slack| play(&units, &mut monitor(share(1, 1, 0), Accounted::default(), slack)).verdict();
    assert_eq!([of(0), of(1), of(2)], [Verdict::Short, Verdict::Short, Verdict::Late]);
}

#[test]
fn a_breach_says_which_request_lacks_how_much() {
    let mut monitor = monitor(anew(3, 10, 3), Accounted::default(), 0);
    monitor.request(Nanos(100));
    monitor.grant(Nanos(101));
    monitor.revoke(Nanos(102));
    monitor.advance(Nanos(107));
    assert_eq!(monitor.take_breaches(), []);
    monitor.advance(Nanos(109));
    monitor.advance(Nanos(135));
    let what = Missed::InRequest { missing: Nanos(1) };
    let breach = Breach { from: Nanos(100), to: Nanos(109), got: Nanos(1), stolen: Nanos(0), what };
    assert_eq!((monitor.take_breaches(), monitor.short_until()), (vec![breach], Nanos(130)));
    assert_eq!((monitor.counts().short, monitor.requests().map(|found| found.missing)), (1, Some(Nanos(3))));
}

/// A request over more periods than could be counted one by one.
#[test]
fn long_requests_take_no_longer() {
    let year = 365 * 24 * 3_600_000_000_000;
    for rule in [anew(1, 2, 2), reservation(1, 2, true, false), share(1, 2, 1)] {
        let mut monitor = monitor(rule, Accounted::default(), 0);
        monitor.grant(Nanos(0));
        monitor.revoke(Nanos(year));
        assert_eq!(monitor.requests().map(|found| found.missing), Some(Nanos(0)), "{rule:?}");
        monitor.advance(Nanos(2 * year));
        monitor.release(Nanos(u64::MAX));
        assert!(monitor.requests().is_some_and(|found| found.missing > Nanos::ZERO), "{rule:?}");
    }
}

/// A VP that had all of the CPU for ten periods is promised as much as ever in the next ones.
#[test]
fn what_came_ahead_of_time_counts_for_one_period() {
    for (wait, is_broken) in [(24, false), (25, true)] {
        let found = judged(&[times(100, Runs), times(wait, Ready)].concat(), anew(3, 10, 10));
        assert_eq!(found.verdict().is_broken(), is_broken, "{wait} {found:?}");
    }
}
