//! Promises about single requests (JOB) against their definition, slot by slot: which requests come in their turn, and
//! when each of these gets its CPU time.

use crate::definition::{any_units, requests, service, times};
use crate::slots::{Asleep, Ready, Runs, Stolen, Unit, judged, monitor, play};
use hls_monitor::requests::{Accounted, Job, RequestRule};
use hls_monitor::result::Verdict;
use hls_units::Nanos;
use proptest::prelude::*;

fn job(amount: u64, period: u64, response: u64) -> RequestRule {
    let [amount, period, response] = [amount, period, response].map(Nanos);
    RequestRule::Job(Job { amount, period, response })
}

/// Whether each request came in its turn.
fn turns(units: &[Unit], amount: u64, period: u64) -> Vec<bool> {
    let mut turn = 0;
    let mut turns = Vec::new();
    for (from, request) in requests(units) {
        let (from, had) = (from as u64, service(request));
        let in_turn = from >= turn;
        turns.push(in_turn);
        match had {
            0 => {}
            had if in_turn && had <= amount => turn = from + period,
            had => turn = turn.max(from + request.len() as u64) + had.div_ceil(amount) * period,
        }
    }
    turns
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn requests_in_their_turn_are_tested_up_to_the_amount(
        units in any_units(), amount in 1u64..4, wait in 0u64..5, more in 0u64..6,
    ) {
        let (response, period) = (amount + wait, amount + wait + more);
        let mut is_late = false;
        for ((_, request), in_turn) in requests(&units).iter().zip(turns(&units, amount, period)) {
            for to in 0..=request.len() {
                let due = (to as u64).saturating_sub(wait).min(amount);
                is_late |= in_turn && service(&request[..to]) < due;
            }
        }
        let found = judged(&units, job(amount, period, response));
        prop_assert_eq!(found.missing > Nanos::ZERO, is_late, "{:?} {:?}", found, units);
        prop_assert!(found.missing <= Nanos(amount), "{:?}", found);
        let in_turn = requests(&units).iter().zip(turns(&units, amount, period))
            .filter(|((_, request), in_turn)| *in_turn && service(request) > 0).count();
        prop_assert!(is_late || found.tested == in_turn as u64, "{:?} {:?}", found, units);
    }
}

#[test]
fn each_request_in_its_turn_is_counted() {
    let request = |wait: usize, run: usize, sleep: usize| {
        [times(wait, Ready), times(run, Runs), times(sleep, Asleep)].concat()
    };
    let of = |all: &[Vec<Unit>]| judged(&all.concat(), job(2, 10, 5));
    // Two in time, 10 apart.
    let found = of(&[request(3, 2, 5), request(1, 2, 7)]);
    assert_eq!((found.requests, found.tested, found.margin), (2, 2, Some(Nanos(0))));
    assert_eq!(found.verdict(), Verdict::Kept);
    // The second has 2 within 6, in its turn or 9 after the first.
    let found = of(&[request(3, 2, 5), request(4, 2, 4)]);
    assert_eq!((found.verdict(), found.missing, found.worst_at), (Verdict::Short, Nanos(1), Nanos(10)));
    let found = of(&[request(3, 2, 4), request(4, 2, 4)]);
    assert_eq!((found.verdict(), found.tested), (Verdict::Kept, 1));
    // After one too soon the next turn is 10 after its end.
    let too_soon = [request(0, 1, 8), request(0, 1, 9), request(9, 2, 9)];
    assert_eq!((of(&too_soon).verdict(), of(&too_soon).tested), (Verdict::Kept, 1));
    let in_turn = [request(0, 1, 8), request(0, 1, 10), request(9, 2, 9)];
    assert_eq!(of(&in_turn).verdict(), Verdict::Short);
    // One of 5 is tested for the first 2, and counts as three.
    let long = |sleep| [request(3, 5, sleep), request(9, 2, 9)];
    assert_eq!((of(&long(29)).verdict(), of(&long(30)).verdict()), (Verdict::Kept, Verdict::Short));
    assert_eq!(of(&[request(4, 5, 9)]).verdict(), Verdict::Short);
}

#[test]
fn what_is_stolen_excuses_a_request() {
    let units = [times(3, Ready), times(2, Stolen), times(2, Runs)].concat();
    let of = |slack| play(&units, &mut monitor(job(2, 10, 5), Accounted::default(), slack)).verdict();
    assert_eq!((of(0), of(3)), (Verdict::Stolen, Verdict::Stolen));
    let late = [times(4, Ready), times(2, Runs)].concat();
    let of = |slack| play(&late, &mut monitor(job(2, 10, 5), Accounted::default(), slack)).verdict();
    assert_eq!((of(0), of(1)), (Verdict::Short, Verdict::Late));
}

#[test]
fn what_is_not_known_counts_as_had() {
    let late_after = |sleep: u64| {
        let mut monitor = monitor(job(2, 10, 5), Accounted::default(), 0);
        monitor.request(Nanos(0));
        monitor.lose_track(Nanos(0), Nanos(4));
        monitor.release(Nanos(6));
        monitor.request(Nanos(6 + sleep));
        monitor.grant(Nanos(6 + sleep + 9));
        monitor.finish(Nanos(6 + sleep + 10));
        monitor.requests().expect("requests are judged").missing > Nanos(0)
    };
    // The first four may have been CPU time, two turns from 4 on; the next two as well, one more.
    assert_eq!((late_after(27), late_after(28)), (false, true));
}
