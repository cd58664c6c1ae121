//! Reservations: EDF over hard budgets, with the wake-up rule (HLS section 5.1; Abeni and Buttazzo, RTSS 1998).
//!
//! Every child is promised RESBH budget,period if the set of children is admitted, and no child is promised anything if
//! the set is refused, for under EDF an overload may hit any child. The test depends on what is held:
//! - ALL, or RESU r in its own time: the utilisation is at most 1.
//! - m CPUs with ALL: at most m VPs, or U <= m - (m-1)*u_max (Goossens, Funk and Baruah, Real-Time Systems 2003). A
//!   child of several VPs is as many servers, each with the budget and the period of the edge.
//! - any other supply, one child: sbf(y) >= x, since the parent is requested from every start of a period.
//! - any other supply, several children: U*t <= sbf(t) for every t >= the least y-x. The periodic demand bound
//!   floor(t/y)*x is too small here: a child that wakes with c <= (d-t)*x/y left keeps its deadline d, and such
//!   remainders make the demand in a window of length t as large as t*x/y. A child can only miss what it was promised
//!   through a deadline at least y-x away.
//!
//! The tests use the exact supply, which below a join may be a sum.
//!
//! Why global EDF keeps the promises of servers that sleep and wake: what a server runs between two sleeps is a job,
//! released when it wakes or a period begins, due at the end of the period. By the wake-up rule the jobs of a server
//! that are released and due within any window of length t add up to t*x/y at most, so they would all be in time on a
//! CPU of their own of speed x/y. The bound is by Funk, Goossens and Baruah (RTSS 2001): any set of jobs that is
//! feasible on CPUs of speeds u_1, u_2, ... meets its deadlines under EDF on m whole CPUs if sum u <= m - (m-1)*max u.
//! The bound needs neither periods nor knowledge of a job before its release.
//!
//! A VP that resumes (see `policies/reservation.c`) has its old budget c less the time since it let its CPU go. That
//! breaks the wake-up rule, and harms no other VP. Compare the run with a second run of the same jobs in which the VP
//! kept its CPU, and used the most that it can have used on it. In the second run all jobs are in time, and at any time
//! no job has more left in the first run than in the second: a job that runs in the second run alone waits in the first
//! for m jobs that come before it, and these are not done in the second either. Below anything but ALL the scheduler
//! would have to request the CPU itself anew, so only the labels below ALL resume.

use super::claims::{Claim, carried, claims, load, spelled_out};
use super::{Entry, Instance, Limits, Provided, Refused};
use crate::derivation::Rule;
use crate::guarantee::Guarantee;
use crate::label::Label;
use crate::rational::{Rational, percent_ceil, time_ceil, time_floor, whole};
use crate::together::Supply;
use crate::work::Work;
use num_traits::{One, Zero};

pub(super) const ENTRY: Entry = Entry {
    policy: "reservation",
    source: "HLS, section 5.1",
    accepts: "ALL (of one CPU or several), RESU, or any supply that carries the demand",
    provides: "RESBH budget,period to every child",
    limits: Limits::PaidBudget,
    provide,
};

const REFUSED: Rule = Rule { name: "reservation, refused", source: ENTRY.source };
const EDF: Rule = Rule { name: "reservation, utilisation", source: "HLS, section 5.1: EDF, sum x/y <= 1" };
const GLOBAL: Rule =
    Rule { name: "reservation, global EDF", source: "Goossens, Funk and Baruah 2003: U <= m - (m-1)*u_max" };
const OWN_CPU: Rule = Rule { name: "reservation, a CPU each", source: "global EDF of no more VPs than CPUs" };
const ALONE: Rule = Rule { name: "reservation, one child", source: "sbf(y) >= x" };
const SUPPLY: Rule =
    Rule { name: "reservation on a supply", source: "EDF demand of waking servers: U*t <= sbf(t)" };

/// Why a set is admitted: the rule and the formula; or what was needed and what there is.
type Verdict = Result<(Rule, String), Refused>;

/// The labels of the children; also for other servers with deadlines, which demand as much.
pub(super) fn provide(instance: &Instance) -> Provided {
    provide_longer(instance, &Rational::zero())
}

/// The same, where each budget takes as much of the others as a budget that is longer by `more`.
pub(super) fn provide_longer(instance: &Instance, more: &Rational) -> Provided {
    if instance.children.is_empty() {
        return instance.nothing(REFUSED, "no children");
    }
    let [slot] = instance.held.as_slice() else {
        return instance.nothing_because(REFUSED, "ALL, RESU or another supply", "nothing");
    };
    let claims = match claims(instance, REFUSED) {
        Ok(claims) => claims,
        Err(provided) => return provided,
    };
    let longer: Vec<Claim> = claims.iter().map(|claim| claim.longer(more)).collect();
    let verdict = if slot.width > 1 {
        on_several(instance, slot.label, &longer)
    } else {
        instance
            .single_vp()
            .map_err(|found| ("one VP a child".into(), found))
            .and_then(|held| on_one(held, &longer, instance.work))
    };
    match verdict {
        Err((needed, found)) => instance.nothing_because(REFUSED, needed, found),
        Ok((rule, formula)) => Provided {
            labels: claims
                .into_iter()
                .map(|claim| admitted(instance, slot.label, claim, rule, &formula))
                .collect(),
            complaints: Vec::new(),
        },
    }
}

fn admitted(instance: &Instance, held: &Label, claim: Claim, rule: Rule, formula: &str) -> Label {
    let count = claim.vps;
    let mut label = instance.paced(held, claim.guarantee(), rule, formula);
    label.floor_to_nanos();
    Label { count, resumes: held.guarantee == Guarantee::All, ..label }
}

fn on_one(held: &Label, claims: &[Claim], work: &Work) -> Verdict {
    let guarantee = held.absolute();
    match &held.guarantee {
        Guarantee::All | Guarantee::Resu { .. } => utilisation_test(claims),
        Guarantee::Null | Guarantee::Ps { .. } => {
            Err(("ALL, RESU or another supply".into(), guarantee.rounded_for_people()))
        }
        _ => supply_test(&held.supply(), claims, work),
    }
}

fn utilisation_test(claims: &[Claim]) -> Verdict {
    let load = load(claims);
    let sum = spelled_out(claims, &load);
    if load.at_most(&Rational::one()) {
        Ok((EDF, format!("{sum} <= 100%")))
    } else {
        Err(("a utilisation of at most 100%".into(), format!("{sum} > 100%")))
    }
}

fn supply_test(held: &Supply, claims: &[Claim], work: &Work) -> Verdict {
    if let [claim] = claims {
        let supply = held.sbf(&claim.period);
        let text = format!("sbf({}) = {} of {held}", time_ceil(&claim.period), time_floor(&supply));
        return if supply >= claim.budget {
            Ok((ALONE, format!("{text} >= {}", time_floor(&claim.budget))))
        } else {
            Err((format!("{} in every {}", time_floor(&claim.budget), time_ceil(&claim.period)), text))
        };
    }
    let load = load(claims);
    let start = claims.iter().map(|claim| &claim.period - &claim.budget).min().unwrap_or_else(Rational::zero);
    carried(held, &load, &spelled_out(claims, &load), &start, work).map(|formula| (SUPPLY, formula))
}

fn on_several(instance: &Instance, held: &Label, claims: &[Claim]) -> Verdict {
    let cpus = held.count;
    if held.guarantee != Guarantee::All {
        return Err(("ALL on every CPU".into(), held.absolute().rounded_for_people()));
    }
    if let Some(child) = instance.children.iter().position(|edge| edge.pinned) {
        let needed = "children that may use every CPU (global EDF)".into();
        return Err((needed, format!("{}, which may not", instance.names[child])));
    }
    let vps: u64 = claims.iter().map(|claim| u64::from(claim.vps)).sum();
    if vps <= u64::from(cpus) {
        return Ok((OWN_CPU, format!("{vps} VPs, {cpus} CPUs")));
    }
    let heaviest = claims.iter().map(Claim::utilisation).max().unwrap_or_else(Rational::zero);
    let processors = whole(u64::from(cpus));
    let bound = &processors - (&processors - Rational::one()) * &heaviest;
    let text = format!("{cpus} - ({cpus}-1) * {heaviest} = {}", percent_ceil(&bound));
    let load = load(claims);
    let sum = spelled_out(claims, &load);
    if load.at_most(&bound) {
        Ok((GLOBAL, format!("{sum} <= {text}")))
    } else {
        Err((format!("a utilisation of at most {text}"), sum))
    }
}
