//! Reservations: EDF over hard budgets, with the wake-up rule (HLS section 5.1; Abeni and Buttazzo, RTSS 1998).
//!
//! Every child is promised RESBH budget,period if the set is admitted, and nobody anything if it is not, for under
//! EDF an overload may hit any child. The test depends on what is held:
//! - ALL, or RESU r in its own time: the utilisation is at most 1.
//! - m CPUs with ALL: at most m children, or U <= m - (m-1)*u_max (Goossens, Funk and Baruah, Real-Time Systems 2003).
//! - any other supply, one child: sbf(y) >= x, since the parent is requested from every start of a period.
//! - any other supply, several children: U*t <= sbf(t) for every t >= the least y-x. The periodic demand bound
//!   floor(t/y)*x is too small here: a child that wakes with c <= (d-t)*x/y left keeps its deadline d, and such
//!   remainders make the demand in a window of length t as large as t*x/y. A child can only miss what it was promised
//!   through a deadline at least y-x away.
//!
//! The tests use the exact supply, which below a join may be a sum.

use super::claims::{Claim, claims, load, spelled_out};
use super::{Entry, Instance, Provided, Refused};
use crate::derivation::Rule;
use crate::guarantee::Guarantee;
use crate::label::Label;
use crate::rational::{Rational, percent_ceil, time_ceil, time_floor, whole};
use crate::together::{Shortfall, Supply};
use num_traits::{One, Zero};

pub(super) const ENTRY: Entry = Entry {
    policy: "reservation",
    source: "HLS, section 5.1",
    accepts: "ALL (of one CPU or several), RESU, or any supply that carries the demand",
    provides: "RESBH budget,period to every child",
    joins: false,
    limits: true,
    description: None,
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

/// Whether a label is a reservation's that holds ALL: the only one, besides ALL, that is kept across times in which
/// the child of a join runs elsewhere and this VP does not request. The reservation then takes what was had elsewhere
/// off the budget and keeps the period; any other scheduler, or one between here and ALL, sees a new request, and may
/// make it wait anew each time.
pub(super) fn is_kept_across_absence(label: &Label) -> bool {
    [EDF, GLOBAL, OWN_CPU].contains(&label.derivation.rule) && label.scale.is_one()
}

/// Why a set is admitted: the rule and the formula; or what was needed and what there is.
type Verdict = Result<(Rule, String), Refused>;

/// Also that of CBS and TBS, which are such servers.
pub(super) fn provide(instance: &Instance) -> Provided {
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
    let verdict = if slot.width > 1 {
        on_several(instance, slot.label, &claims)
    } else {
        instance
            .single_vp()
            .map_err(|found| ("one VP a child".into(), found))
            .and_then(|held| on_one(held, &claims))
    };
    match verdict {
        Err((needed, found)) => instance.nothing_because(REFUSED, needed, found),
        Ok((rule, formula)) => Provided {
            labels: claims
                .into_iter()
                .map(|claim| instance.paced(slot.label, claim.guarantee(), rule, &formula))
                .collect(),
            complaints: Vec::new(),
        },
    }
}

fn on_one(held: &Label, claims: &[Claim]) -> Verdict {
    let guarantee = held.absolute();
    match &held.guarantee {
        Guarantee::All | Guarantee::Resu { .. } => utilisation_test(claims),
        Guarantee::Null | Guarantee::Ps { .. } => {
            Err(("ALL, RESU or another supply".into(), guarantee.rounded_for_people()))
        }
        _ => supply_test(&held.supply(), claims),
    }
}

fn utilisation_test(claims: &[Claim]) -> Verdict {
    let sum = spelled_out(claims);
    if load(claims).at_most(&Rational::one()) {
        Ok((EDF, format!("{sum} <= 100%")))
    } else {
        Err(("a utilisation of at most 100%".into(), format!("{sum} > 100%")))
    }
}

fn supply_test(held: &Supply, claims: &[Claim]) -> Verdict {
    if let [claim] = claims {
        let supply = held.sbf(&claim.period);
        let text = format!("sbf({}) = {} of {held}", time_ceil(&claim.period), time_floor(&supply));
        return if supply >= claim.budget {
            Ok((ALONE, format!("{text} >= {}", time_floor(&claim.budget))))
        } else {
            Err((format!("{} in every {}", time_floor(&claim.budget), time_ceil(&claim.period)), text))
        };
    }
    let demand = load(claims).value_ceil();
    let sum = spelled_out(claims);
    let has_pauses = held.bounded().is_none_or(|(_, delta)| !delta.is_zero());
    if demand > held.rate() || (demand == held.rate() && has_pauses) {
        let found = format!("{sum} of {} held", percent_ceil(&held.rate()));
        return Err((format!("a utilisation below the rate of {held}"), found));
    }
    let start = claims.iter().map(|claim| &claim.period - &claim.budget).min().unwrap_or_else(Rational::zero);
    if let Some(Shortfall { window, wanted, supply }) = held.shortfall(&demand, &Rational::zero(), &start) {
        let window = time_ceil(&window);
        let needed = format!("{} in a window of {window} ({sum})", time_ceil(&wanted));
        return Err((needed, format!("sbf({window}) = {} of {held}", time_floor(&supply))));
    }
    Ok((SUPPLY, format!("U = {sum}; U*t <= sbf(t) of {held} for every t >= {}", time_ceil(&start))))
}

fn on_several(instance: &Instance, held: &Label, claims: &[Claim]) -> Verdict {
    let cpus = held.count;
    if held.guarantee != Guarantee::All {
        return Err(("ALL on every CPU".into(), held.absolute().rounded_for_people()));
    }
    if let Some(child) = instance.children.iter().position(|edge| edge.width > 1 || edge.pinned) {
        let needed = "children of one VP each that may use every CPU (global EDF)".into();
        return Err((needed, format!("{}, which is not", instance.names[child])));
    }
    if claims.len() <= usize::from(cpus) {
        return Ok((OWN_CPU, format!("{} children, {cpus} CPUs", claims.len())));
    }
    let heaviest = claims.iter().map(Claim::utilisation).max().unwrap_or_else(Rational::zero);
    let processors = whole(u64::from(cpus));
    let bound = &processors - (&processors - Rational::one()) * &heaviest;
    let text = format!("{cpus} - ({cpus}-1) * {heaviest} = {}", percent_ceil(&bound));
    let sum = spelled_out(claims);
    if load(claims).at_most(&bound) {
        Ok((GLOBAL, format!("{sum} <= {text}")))
    } else {
        Err((format!("a utilisation of at most {text}"), sum))
    }
}
