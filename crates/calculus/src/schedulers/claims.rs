//! What every scheduler of reservations is asked for, a budget in every period for each child, and whether a supply
//! suffices for all these claims. Relies on the parameters `budget` and `period`.

use super::{Complaint, Instance, Provided, Refused};
use crate::derivation::Rule;
use crate::guarantee::Guarantee;
use crate::label::Label;
use crate::rational::{Rational, Total, percent_ceil, time_ceil, time_exact, time_floor, whole};
use crate::together::{Shortfall, Supply};
use crate::work::Work;
use num_traits::{ToPrimitive, Zero};

/// A child's VPs, and the budget and period of each, whole nanoseconds; `0 < budget <= period`.
pub(super) struct Claim {
    pub(super) vps: u16,
    pub(super) budget: Rational,
    pub(super) period: Rational,
}

impl Claim {
    pub(super) fn utilisation(&self) -> Rational {
        &self.budget / &self.period
    }

    /// The claim with a longer budget.
    pub(super) fn longer(&self, more: &Rational) -> Claim {
        Claim { vps: self.vps, budget: &self.budget + more, period: self.period.clone() }
    }

    /// The basic, hard reservation that is asked for on each VP.
    pub(super) fn guarantee(self) -> Guarantee {
        Guarantee::resbh(self.budget, self.period)
    }

    /// Budget and period as integers so wide that sums of thousands of claims do not overflow.
    pub(super) fn nanos(&self) -> (u128, u128) {
        let integer = |time: &Rational| time.to_integer().to_u128().unwrap_or(0);
        (integer(&self.budget), integer(&self.period))
    }
}

/// All children's claims; where one is no reservation, NULL for all by the rule `refused`, since nothing bounds what
/// that child takes.
pub(super) fn claims(instance: &Instance, refused: Rule) -> Result<Vec<Claim>, Provided> {
    let mut claims = Vec::new();
    let mut complaints = Vec::new();
    for child in 0..instance.children.len() {
        let zero = Rational::zero;
        let budget = instance.child_param(child, "budget").unwrap_or_else(zero);
        let period = instance.child_param(child, "period").unwrap_or_else(zero);
        if let Err(fault) = Guarantee::resbh(budget.clone(), period.clone()).check() {
            let found = format!("a budget of {} every {}", time_exact(&budget), time_exact(&period));
            complaints.push(Complaint { child: Some(child), needed: fault.expected, found });
        }
        claims.push(Claim { vps: instance.children[child].width.max(1), budget, period });
    }
    if complaints.is_empty() {
        return Ok(claims);
    }
    let nothing = instance.nothing(refused, "a sibling's budget and period are no reservation");
    Err(Provided { complaints, ..nothing })
}

/// What is held, ALL or another supply of one VP, and all children's claims; NULL for all by the rule `refused` where
/// nothing is held that promises something in windows.
pub(super) fn claims_on_supply<'a>(
    instance: &Instance<'a>,
    refused: Rule,
) -> Result<(&'a Label, Vec<Claim>), Provided> {
    const NEEDED: &str = "ALL of one CPU, or another supply";
    let held = instance.single_vp().map_err(|found| instance.nothing_because(refused, NEEDED, found))?;
    if held.supply().is_nothing() {
        let found = held.absolute().rounded_for_people();
        return Err(instance.nothing_because(refused, NEEDED, found));
    }
    Ok((held, claims(instance, refused)?))
}

/// What a slot of this length holds of a supply, in whole nanoseconds, and how that comes about.
pub(super) fn held_in_slot(supply: &Supply, length: &Rational) -> (Rational, String) {
    let amount = supply.sbf(length).floor();
    let formula = format!("sbf({}) = {} of {supply}", time_exact(length), time_exact(&amount));
    (amount, formula)
}

/// The sum of all utilisations.
pub(super) fn load(claims: &[Claim]) -> Total {
    claims.iter().map(|claim| claim.utilisation() * whole(u64::from(claim.vps))).collect()
}

/// The claims and their sum, for people: `10ms/20ms + 2*20ms/33ms = 172%`.
pub(super) fn spelled_out(claims: &[Claim], load: &Total) -> String {
    const MOST_TERMS: usize = 12;
    let terms: Vec<String> = (claims.iter().take(MOST_TERMS))
        .map(|Claim { vps, budget, period }| {
            let times = if *vps > 1 { format!("{vps}*") } else { String::new() };
            format!("{times}{}/{}", time_exact(budget), time_exact(period))
        })
        .collect();
    let more = if claims.len() > MOST_TERMS {
        format!(" + {} more", claims.len() - MOST_TERMS)
    } else {
        String::new()
    };
    format!("{}{more} = {}", terms.join(" + "), load.percent_ceil())
}

/// Whether a supply carries servers of this load, which `sum` spells out, that sleep and wake: U*t <= sbf(t) for every
/// t >= start, the least period less budget (see `reservation.rs`). The formula, or what is needed and what there is.
pub(super) fn carried(
    held: &Supply,
    load: &Total,
    sum: &str,
    start: &Rational,
    work: &Work,
) -> Result<String, Refused> {
    let demand = load.value_ceil();
    let has_pauses = held.bounded().is_none_or(|(_, delta)| !delta.is_zero());
    if demand > held.rate() || (demand == held.rate() && has_pauses) {
        let found = format!("{sum} of {} held", percent_ceil(&held.rate()));
        return Err((format!("a utilisation below the rate of {held}"), found));
    }
    let shortfall = held.shortfall_within(&demand, &Rational::zero(), start, work);
    if let Some(Shortfall { window, wanted, supply }) = shortfall {
        let (is_short, window) = (wanted > supply, time_ceil(&window));
        if !is_short {
            let needed = format!("a supply that can be compared with {sum} in fewer steps");
            return Err((
                needed,
                format!("{held}, which suffices up to a window of {window}: then it was given up"),
            ));
        }
        let needed = format!("{} in a window of {window} ({sum})", time_ceil(&wanted));
        return Err((needed, format!("sbf({window}) = {} of {held}", time_floor(&supply))));
    }
    Ok(format!("U = {sum}; U*t <= sbf(t) of {held} for every t >= {}", time_ceil(start)))
}
