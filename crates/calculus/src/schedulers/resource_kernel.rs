//! The resource kernel: reserves by rate monotonic priorities (S. Oikawa, R. Rajkumar, "Portable RK", RTAS 1999; HLS
//! section 5.1).
//!
//! A reserve's budget is renewed at fixed instants, and what is not used stays there until the next instant: a child
//! that sleeps and wakes finds the rest of its budget (a deferrable server). So a reserve can use its budget at the end
//! of one period and again at the start of the next, and in a window of length t takes up to ceil((t + T - C)/T)*C from
//! the reserves below it; the plain response time analysis, with ceil(t/T)*C, is unsound here. With the least R = C_i +
//! sum over hp of ceil((R + T_j - C_j)/T_j)*C_j at most T_i, a reserve that wants the CPU from any instant has its
//! budget, or all that is left of it, within R. Budgets are hard, so a reserve that is refused takes no more than the
//! budget with which the others were analysed, and only that reserve is refused. Soft reserves have what nobody else
//! wants too, below all budgets. Of equal periods the first is above.
//!
//! Below RESU, or any supply, CPU time comes later than on a whole CPU, at worst at the end of the period. There the
//! least R is not used: R = T_i must do, that is, C_i + sum over hp at T_i is at most the supply in T_i.

use super::claims::{Claim, claims};
use super::{Complaint, Entry, Instance, Limits, Provided, Refused};
use crate::derivation::Rule;
use crate::description::{BUDGET, Description, PERIOD, SOFT};
use crate::guarantee::Guarantee;
use crate::label::Label;
use crate::rational::{floor_nanos, time_ceil, whole};
use crate::work::INTEGERS_A_STEP;
use hls_units::Nanos;
use num_traits::One;

pub(super) const ENTRY: Entry = Entry {
    policy: "resource-kernel",
    source: "Oikawa and Rajkumar, RTAS 1999, with deferrable reserves",
    accepts: "ALL of one CPU, RESU, or any supply",
    provides: "RESBH budget,period to every child that is reached in time; RESBS to those with soft=1",
    joins: false,
    limits: Limits::Nothing,
    description: Some(Description {
        doc: "reserves, hard or soft, by rate monotonic priorities",
        scheduler_params: &[],
        vp_params: &[BUDGET, PERIOD, SOFT],
    }),
    provide,
};

const RULE: Rule = Rule {
    name: "resource kernel",
    source: "response time among deferrable servers: R = C + sum of ceil((R+T-C)/T)*C over shorter periods",
};

/// The most terms of sums that are worked out for response times; beyond that many only R = T is tried.
const MAX_TERMS: usize = 100_000_000;

/// A budget C every T, in nanoseconds.
type Reserve = (u128, u128);

fn provide(instance: &Instance) -> Provided {
    const NEEDED: &str = "ALL of one CPU, RESU, or another supply";
    let held = match instance.single_vp() {
        Ok(held) => held,
        Err(found) => return instance.nothing_because(RULE, NEEDED, found),
    };
    if matches!(held.guarantee, Guarantee::Null | Guarantee::Ps { .. }) {
        return instance.nothing_because(RULE, NEEDED, held.absolute().rounded_for_people());
    }
    let claims = match claims(instance, RULE) {
        Ok(claims) => claims,
        Err(provided) => return provided,
    };
    let reserves: Vec<Reserve> = claims.iter().map(Claim::nanos).collect();
    let mut order: Vec<usize> = (0..reserves.len()).collect();
    order.sort_by_key(|child| reserves[*child].1);
    let sorted: Vec<Reserve> = order.iter().map(|child| reserves[*child]).collect();
    let mut verdicts = vec![Ok(String::new()); reserves.len()];
    let mut terms = 0;
    for (rank, child) in order.into_iter().enumerate() {
        verdicts[child] = in_time(held, sorted[rank], &sorted[..rank], &mut terms);
    }
    instance.work.take((terms + sorted.len() * sorted.len()) / INTEGERS_A_STEP);
    let mut provided = Provided { labels: Vec::new(), complaints: Vec::new() };
    for (child, (claim, verdict)) in claims.into_iter().zip(verdicts).enumerate() {
        let soft = instance.child_param(child, "soft").is_some_and(|soft| soft.is_one());
        let guarantee = if soft { claim.guarantee().softened() } else { claim.guarantee() };
        match verdict {
            Ok(formula) => provided.labels.push(instance.paced(held, guarantee, RULE, formula)),
            Err((needed, found)) => {
                provided.labels.push(instance.null(RULE, format!("needs {needed}, but there is {found}")));
                provided.complaints.push(Complaint { child: Some(child), needed, found });
            }
        }
    }
    provided
}

/// Whether a reserve has its budget in time below these reserves: the formula, or what is needed and what there is.
fn in_time(held: &Label, own: Reserve, higher: &[Reserve], terms: &mut usize) -> Result<String, Refused> {
    let (budget, period) = own;
    let above = higher.len();
    if held.guarantee == Guarantee::All
        && let Some(response) = response(own, higher, terms)
    {
        return Ok(format!("R = {} <= {}, below {above} reserves", time(response), time(period)));
    }
    let wanted = budget + interference(period, higher);
    let (supply, shown) = match &held.guarantee {
        Guarantee::All | Guarantee::Resu { .. } => (period, String::new()),
        _ => {
            let guarantee = held.absolute();
            let supply = floor_nanos(&guarantee.sbf(&whole(nanos(period).0)));
            (u128::from(supply.0), format!(" of {}", guarantee.rounded_for_people()))
        }
    };
    let text =
        format!("{} in {}{shown}, with what {above} reserves above it may take", time(supply), time(period));
    if wanted <= supply {
        Ok(format!("{} <= {text}", time(wanted)))
    } else {
        Err((format!("{} in a period", time(wanted)), text))
    }
}

/// The least R with C + interference(R) <= R, if it is at most T and found in time.
fn response((budget, period): Reserve, higher: &[Reserve], terms: &mut usize) -> Option<u128> {
    let mut response = budget;
    while response <= period && *terms < MAX_TERMS {
        *terms += 1 + higher.len();
        let wanted = budget + interference(response, higher);
        if wanted == response {
            return Some(response);
        }
        response = wanted;
    }
    None
}

/// The most that these reserves take in a window: each has a full budget at the end of one period and at the start of
/// the next.
fn interference(window: u128, reserves: &[Reserve]) -> u128 {
    reserves.iter().map(|(budget, period)| (window + period - budget).div_ceil(*period) * budget).sum()
}

fn nanos(time: u128) -> Nanos {
    u64::try_from(time).map_or(Nanos::MAX, Nanos)
}

fn time(time: u128) -> String {
    time_ceil(&whole(nanos(time).0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_among_deferrable_reserves() {
        let response = |own, higher: &[Reserve]| response(own, higher, &mut 0);
        assert_eq!(response((1, 4), &[]), Some(1));
        // Plain response time analysis says 2: but the budget above may come at the end of a period and at the next
        // start.
        assert_eq!(response((1, 5), &[(1, 4)]), Some(3));
        // 3 + ceil((9+3)/4) + ceil((9+4)/5) = 9, which is more than any R below; 7 with plain analysis.
        assert_eq!(response((3, 9), &[(1, 4), (1, 5)]), Some(9));
        assert_eq!(response((4, 9), &[(1, 4), (1, 5)]), None);
        // 52 + 2*52 = 156; and 36 + 2*52 = 140.
        assert_eq!(response((52, 140), &[(52, 100)]), None);
        assert_eq!(response((36, 140), &[(52, 100)]), Some(140));
        assert_eq!(response((37, 140), &[(52, 100)]), None);
    }
}
