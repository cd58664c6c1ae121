//! Limit: a budget in every period for one child, so that a soft guarantee becomes a hard one (HLS section 5.1).
//!
//! The paper turns RESBS x,y into RESBH x,y. That needs the parent's hidden phase, which the limit scheduler does not
//! know. On a grid of its own, with a budget X in every period Y, every period holds min(X, sbf(Y)): the parent is
//! requested from the start of the period, or from the wake-up, until the budget is used. So RESBS x,y gives RESBH
//! [2x-y]+,y or RESBH x,2y-x.
//!
//! RESU r held: the ends of the periods are the notified instants, so that every period holds r*Y, whatever its phase.

use super::{Entry, Instance, Limits, Provided};
use crate::derivation::Rule;
use crate::guarantee::Guarantee;
use crate::rational::{Rational, time_ceil, time_floor};
use num_traits::Signed;

pub(super) const ENTRY: Entry = Entry {
    policy: "limit",
    source: "HLS, section 5.1, without the parent's hidden phase",
    accepts: "anything with a supply: ALL, reservations, EDP, PSBE; RESU",
    provides: "RESBH budget,period where sbf(period) >= budget; else RESBS sbf(period),period",
    limits: Limits::Budget,
    provide,
};

const RULE: Rule = Rule { name: "limit", source: ENTRY.source };
const SLOWER: Rule = Rule { name: "limit on RESU", source: "notified every Y: RESBS r*Y, Y" };

fn provide(instance: &Instance) -> Provided {
    if instance.children.len() > 1 {
        return instance.nothing_because(RULE, "one child", format!("{} children", instance.children.len()));
    }
    if instance.children.is_empty() {
        return instance.nothing(RULE, "no child");
    }
    let held = match instance.single_vp() {
        Ok(label) => label,
        Err(found) => return instance.nothing(RULE, found),
    };
    let (Some(budget), Some(period)) = (instance.child_param(0, "budget"), instance.child_param(0, "period"))
    else {
        return instance.nothing_because(RULE, "a budget and a period", "no value for them");
    };
    if let Err(fault) = Guarantee::resbh(budget.clone(), period.clone()).check() {
        let numbers = format!("a budget of {} every {}", time_floor(&budget), time_ceil(&period));
        return instance.nothing_because(RULE, fault.expected, numbers);
    }
    let label = if let Guarantee::Resu { .. } = held.guarantee {
        let told = Guarantee::resbh(budget, period);
        let mut label = instance.paced(held, told, SLOWER, "each period's end is notified");
        label.floor_to_nanos();
        label
    } else {
        let supply = held.supply().sbf(&period);
        let (guarantee, formula) = limited(budget, period, supply);
        instance.label(guarantee, RULE, formula)
    };
    Provided { labels: vec![label], complaints: Vec::new() }
}

fn limited(budget: Rational, period: Rational, supply: Rational) -> (Guarantee, String) {
    let found = format!("sbf({}) = {}", time_ceil(&period), time_floor(&supply));
    if supply >= budget {
        let formula = format!("{found} >= the budget, {}", time_floor(&budget));
        (Guarantee::resbh(budget, period), formula)
    } else if supply.is_positive() {
        let formula = format!(
            "{found} < the budget, {}: at least {}, but not at most",
            time_floor(&budget),
            time_floor(&supply)
        );
        (Guarantee::resbs(supply, period), formula)
    } else {
        (Guarantee::Null, format!("{found}: only the limit is left"))
    }
}
