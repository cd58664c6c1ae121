//! When one guarantee implies another: the paper's Table 2 with its parameters, and what follows from comparing
//! supplies.
//!
//! Three facts carry everything. A continuous soft reservation x, y is exactly the statement sbf(y) >= x. PSBE s, d is
//! exactly the statement s * t - sbf(t) <= d for all t, and for each type here the supremum is s * blackout when s is
//! at most the rate (the first flat of sbf is its worst). A basic reservation follows from sbf(y) >= x too, and from
//! another basic one also through the phases that the two grids can have. Hard guarantees follow from hard ones
//! alone. Relies on `supply.rs`. Never accepts what it cannot show: a refusal may be wrong, an acceptance not.

use crate::derivation::{Derivation, Rule};
use crate::guarantee::{Continuity, Fault, Guarantee, Kind};
use crate::rational::{Rational, positive_part, quotient, time_ceil, time_floor, whole};
use crate::together::Sum;
use num_traits::{One, Signed, ToPrimitive, Zero};
use std::fmt;
use std::sync::Arc;

/// The most relative phases that [`best_basic_amount`] compares; beyond that many it answers with sbf.
const MAX_PHASES: u64 = 4_096;

const TABLE: &str = "HLS, Table 2";
const GIVEN: Rule = Rule { name: "given", source: "premise" };
const IDENTITY: Rule = Rule { name: "identity or weakening", source: TABLE };
const TRIVIAL: Rule = Rule { name: "anything to NULL", source: TABLE };
const FROM_ALL: Rule = Rule { name: "ALL to anything", source: TABLE };
const TO_BASIC: Rule = Rule { name: "continuous to basic", source: TABLE };
const SOFTEN: Rule = Rule { name: "hard to soft", source: TABLE };
const T1: Rule = Rule { name: "T1, basic to continuous", source: "HLS, Theorem 1" };
const T3: Rule = Rule { name: "T3, continuous to PSBE", source: "HLS, Theorem 3" };
const T4: Rule = Rule { name: "T4, basic to PSBE", source: "HLS, Theorem 4" };
const T5: Rule = Rule { name: "T5, reservation to PS", source: "HLS, Theorem 5" };
const T6: Rule = Rule { name: "T6, PSBE to reservation", source: "HLS, Theorem 6" };
const TO_PS: Rule = Rule { name: "share to PS", source: TABLE };
const SUPPLY: Rule = Rule { name: "supply in one period", source: "sbf(w) in every window of length w" };
const PHASES: Rule =
    Rule { name: "best hidden phase", source: "basic to basic, over the phases of the two grids" };
const MULTIPLE: Rule = Rule { name: "k periods in one", source: "x,y to kx,ky, hard or soft" };
const BOUNDED: Rule = Rule { name: "supply to PSBE", source: "delta = sup(s*t - sbf(t))" };
const GROUP: Rule = Rule { name: "the same on every VP", source: "MPR P,x,m is m times RESBS x/m,P in step" };
const GROUP_LINE: Rule =
    Rule { name: "supply above every corner", source: "s >= x/(mP) and s*(2P - x/m) - delta >= x/m" };
const ANY_REQUEST: Rule = Rule { name: "windows to requests", source: "a request begins a window" };

/// Why a guarantee does not imply another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The reason, with numbers and, where one is known, a need that would be met.
    pub reason: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for Refusal {}

/// The strongest guarantee of a kind that follows from `have` by one rule with no parameter to choose, and the rule.
/// `None` where Table 2 says no, or where the answer depends on a period that the receiver must name (ALL or PSBE to a
/// reservation): [`implies`] takes one.
pub fn rewrite(have: &Guarantee, want: Kind) -> Option<(Guarantee, Rule)> {
    if have.kind() == want {
        return Some((have.clone(), IDENTITY));
    }
    match want {
        Kind::Null => Some((Guarantee::Null, TRIVIAL)),
        // A guarantee about several VPs says nothing of one VP, nor one about single requests of windows.
        Kind::Mpr | Kind::Job => None,
        _ if matches!(have.kind(), Kind::Mpr | Kind::Job) => None,
        Kind::Resu => {
            (*have == Guarantee::All).then(|| (Guarantee::Resu { rate: Rational::one() }, FROM_ALL))
        }
        Kind::Ps if *have == Guarantee::Null => None,
        Kind::Ps => Some((Guarantee::Ps { share: have.rate() }, to_ps(have))),
        Kind::Psbe => {
            let share = have.rate();
            let delta = &share * have.blackout()?;
            Some((Guarantee::Psbe { share, delta }, to_psbe(have)))
        }
        Kind::Reservation(continuity, hard) => reservation_rewrite(have, continuity, hard),
        Kind::Edp => {
            let Guarantee::Reservation { .. } = have else {
                return None;
            };
            let periodic = have.periodic()?;
            let (period, amount, deadline) = (periodic.period, periodic.amount, periodic.deadline);
            Some((Guarantee::Edp { period, amount, deadline }, IDENTITY))
        }
        Kind::All => have.is_whole_cpu().then_some((Guarantee::All, SUPPLY)),
    }
}

fn reservation_rewrite(have: &Guarantee, continuity: Continuity, hard: bool) -> Option<(Guarantee, Rule)> {
    let periodic = have.periodic()?;
    let from_continuous = matches!(have, Guarantee::Reservation { continuity: Continuity::Continuous, .. });
    if hard {
        let allowed = have.is_hard() && from_continuous && continuity == Continuity::Basic;
        return allowed.then(|| (Guarantee::resbh(periodic.amount, periodic.period), TO_BASIC));
    }
    match continuity {
        Continuity::Basic => {
            let rule = match () {
                () if from_continuous => TO_BASIC,
                () if have.is_hard() => SOFTEN,
                () => IDENTITY,
            };
            Some((Guarantee::resbs(periodic.amount, periodic.period), rule))
        }
        Continuity::Continuous if from_continuous => Some((have.softened(), SOFTEN)),
        Continuity::Continuous => {
            let period = periodic.period + periodic.deadline - &periodic.amount;
            Some((Guarantee::rescs(periodic.amount, period), to_reservation(have, continuity)))
        }
    }
}

/// Whether the guarantee that is held implies the one that is needed, with the derivation or the reason why not.
///
/// A soft guarantee never satisfies a hard need. RESU satisfies no need but RESU, PS and NULL: what RESU gives depends
/// on notifications, which a thread does not send.
pub fn implies(have: &Guarantee, need: &Guarantee) -> Result<Derivation, Refusal> {
    implies_on(have, 1, need)
}

/// Whether a guarantee that `count` VPs have at once implies the one that is needed, which may be about all of the VPs.
pub(crate) fn implies_on(have: &Guarantee, count: u16, need: &Guarantee) -> Result<Derivation, Refusal> {
    let (rule, formula) = step_on(have, count, need).map_err(|reason| Refusal { reason })?;
    let given = Derivation {
        subject: String::new(),
        rule: GIVEN,
        premises: Vec::new(),
        formula: String::new(),
        conclusion: have.clone(),
    };
    Ok(Derivation {
        subject: String::new(),
        rule,
        premises: vec![Arc::new(given)],
        formula,
        conclusion: need.clone(),
    })
}

/// How many elementary steps it takes at most to tell whether one guarantee implies another: one for each supply of
/// [`best_basic_amount`].
pub(crate) fn steps_to_compare(have: &Guarantee, need: &Guarantee) -> usize {
    /// There are four stretches between corners at most, and a supply at both ends of each.
    const SUPPLIES_A_PHASE: u64 = 8;
    let (Some(held), Some(need)) = (have.periodic(), need.periodic()) else { return 1 };
    if have.sbf(&need.deadline) >= need.amount {
        return 1;
    }
    let phases = phases(&held.period, &need.period).unwrap_or(1);
    usize::try_from(1 + phases * SUPPLIES_A_PHASE).unwrap_or(usize::MAX)
}

/// At how many offsets a grid of one period meets a grid of the other; `None` where they are too many to be compared.
fn phases(period: &Rational, other: &Rational) -> Option<u64> {
    quotient(other, period).denom().to_u64().filter(|count| *count <= MAX_PHASES)
}

/// Whether a sum of guarantees implies a need: where it is one guarantee, as that one does; else by the sum of the
/// supplies, or by the sum of the bounds. `held` says why the sum holds.
pub(crate) fn sum_implies(sum: &Sum, need: &Guarantee, held: &Arc<Derivation>) -> Option<Derivation> {
    if let [alone] = sum.0.as_slice() {
        return implies(alone, need).ok();
    }
    let derived = |rule, formula| Derivation {
        subject: String::new(),
        rule,
        premises: vec![held.clone()],
        formula,
        conclusion: need.clone(),
    };
    let (window, amount) = match need {
        Guarantee::Reservation { hard: false, amount, period, .. } => (period, amount),
        Guarantee::Edp { amount, deadline, .. } => (deadline, amount),
        Guarantee::Job { amount, response, .. } => (response, amount),
        _ => {
            let (share, delta) = sum.bounded()?;
            let (rule, formula) = step(&Guarantee::Psbe { share, delta }, need).ok()?;
            return Some(derived(rule, formula));
        }
    };
    let supply = sum.sbf(window);
    let formula = format!("sbf({}) = {} >= {}", time_ceil(window), time_floor(&supply), time_floor(amount));
    (supply >= *amount).then(|| derived(SUPPLY, formula))
}

/// The rule that leads from `have`, on `count` VPs at once, to `need`.
fn step_on(have: &Guarantee, count: u16, need: &Guarantee) -> Result<(Rule, String), String> {
    match (have, need) {
        (Guarantee::Mpr { period, amount, cpus: held }, Guarantee::Mpr { cpus, .. }) if held <= cpus => {
            let each = Guarantee::resbs(amount / whole(u64::from(*held)), period.clone());
            group(&each, *held, need)
        }
        (Guarantee::Mpr { .. }, Guarantee::Null) => step(have, need),
        (Guarantee::Mpr { .. }, _) => Err(format!(
            "{} is of several VPs together, and says nothing of fewer",
            have.rounded_for_people()
        )),
        (_, Guarantee::Mpr { cpus, .. }) => group(have, count.min(*cpus), need),
        _ => step(have, need),
    }
}

/// MPR from what each of `count` VPs has, which are no more than the CPUs of the need. CPU time on fewer CPUs at once
/// is worth no less, so each VP has to receive its part of the amount: as RESBS, or in every window. The line s*t -
/// delta lies above all of the supply of RESBS x,P if it does above its first corner, (2P - x, x), and rises as fast.
fn group(have: &Guarantee, count: u16, need: &Guarantee) -> Result<(Rule, String), String> {
    let Guarantee::Mpr { period, amount, .. } = need else { return step(have, need) };
    checked(need)?;
    if count == 0 || *have == Guarantee::Null {
        return Err("nothing is promised".into());
    }
    let part = quotient(amount, &whole(u64::from(count)));
    let each = Guarantee::resbs(part.clone(), period.clone());
    let vps = if count == 1 { "one VP".to_owned() } else { format!("each of {count} VPs") };
    if part > *period {
        let (part, period) = (time_floor(&part), time_ceil(period));
        return Err(format!("{part} in every {period} would be needed on {vps}, more than a CPU has"));
    }
    let shown = each.rounded_for_people();
    let reason = match step(have, &each) {
        Ok((_, formula)) => return Ok((GROUP, format!("{shown} on {vps}: {formula}"))),
        Err(reason) => reason,
    };
    let corner = period * whole(2) - &part;
    let line = have.blackout().map(|blackout| have.rate() * (&corner - blackout));
    if have.rate() >= quotient(&part, period) && line.is_some_and(|line| line >= part) {
        let formula = format!("{} in every {} of {vps}", time_floor(&part), time_ceil(&corner));
        return Ok((GROUP_LINE, formula));
    }
    Err(format!("{shown} is needed on {vps}: {reason}"))
}

fn checked(need: &Guarantee) -> Result<(), String> {
    let said = |fault: Fault| {
        format!("{need} is no guarantee: parameter {} should be {}", fault.parameter + 1, fault.expected)
    };
    need.check().map_err(said)
}

/// The rule that leads from `have` to `need`, both of one VP, and its formula, or the reason why there is none.
fn step(have: &Guarantee, need: &Guarantee) -> Result<(Rule, String), String> {
    checked(need)?;
    if have == need {
        return Ok((IDENTITY, "the same".into()));
    }
    match need {
        Guarantee::Null => Ok((TRIVIAL, String::new())),
        _ if have.kind() == Kind::Job && need.kind() != Kind::Job => Err(format!(
            "{} is about single requests, and says nothing of windows",
            have.rounded_for_people()
        )),
        Guarantee::All => whole_cpu(have),
        Guarantee::Resu { rate } => match have {
            Guarantee::Resu { rate: held } => at_least("rate", held, rate).map(|formula| (IDENTITY, formula)),
            _ => whole_cpu(have),
        },
        Guarantee::Ps { share } => {
            at_least("share", &have.rate(), share).map(|formula| (to_ps(have), formula))
        }
        Guarantee::Psbe { share, delta } => bounded(have, share, delta),
        Guarantee::Reservation { hard: true, .. } if !have.is_whole_cpu() => hard(have, need),
        Guarantee::Reservation { hard: true, amount, period, .. } => {
            if amount == period {
                Ok((FROM_ALL, "x = y".into()))
            } else {
                Err(format!("{have} sets no limit; a hard need is met by a hard guarantee only"))
            }
        }
        Guarantee::Reservation { continuity: Continuity::Continuous, amount, period, .. } => {
            in_every_window(have, amount, period)
        }
        Guarantee::Reservation { continuity: Continuity::Basic, amount, period, .. } => {
            basic(have, amount, period)
        }
        Guarantee::Edp { period, amount, deadline } => explicit_deadline(have, period, amount, deadline),
        Guarantee::Mpr { .. } => group(have, 1, need),
        Guarantee::Job { amount, period, response } => request(have, amount, period, response),
    }
}

/// JOB from what holds in every window, or from JOB: a request that comes in its turn by the need does so by what is
/// held if the need's amount is no greater and its period no shorter.
fn request(
    have: &Guarantee,
    amount: &Rational,
    period: &Rational,
    response: &Rational,
) -> Result<(Rule, String), String> {
    let Guarantee::Job { amount: held, period: every, response: within } = have else {
        return in_every_window(have, amount, response).map(|(_, formula)| (ANY_REQUEST, formula));
    };
    if amount > held {
        return Err(format!("{} is certain, and {} is needed", time_floor(held), time_ceil(amount)));
    }
    if period < every {
        let (every, period) = (time_ceil(every), time_floor(period));
        return Err(format!("a request must come {every} after the one before, and it comes after {period}"));
    }
    let (waits, may) = (within - held, response - amount);
    if waits > may {
        let (waits, may) = (time_ceil(&waits), time_floor(&may));
        return Err(format!("a request may wait for {waits}, and {may} is the most allowed"));
    }
    Ok((IDENTITY, format!("it waits for {} <= {}", time_ceil(&waits), time_floor(&may))))
}

fn whole_cpu(have: &Guarantee) -> Result<(Rule, String), String> {
    match have {
        Guarantee::All => Ok((FROM_ALL, "the whole CPU".into())),
        _ if have.is_whole_cpu() => Ok((SUPPLY, "sbf(t) = t: the whole CPU".into())),
        _ => Err(format!("{} is less than a whole CPU", have.rounded_for_people())),
    }
}

fn at_least(what: &str, held: &Rational, needed: &Rational) -> Result<String, String> {
    if held >= needed {
        Ok(format!("{what} {held} >= {needed}"))
    } else {
        Err(format!("a {what} of {held} is less than {needed}"))
    }
}

/// PSBE by the first flat of sbf: sup(s*t - sbf(t)) = s * blackout for every s up to the rate.
fn bounded(have: &Guarantee, share: &Rational, delta: &Rational) -> Result<(Rule, String), String> {
    let blackout = have
        .blackout()
        .ok_or_else(|| format!("{} promises nothing in any finite window", have.rounded_for_people()))?;
    at_least("share", &have.rate(), share)?;
    let least = share * &blackout;
    if least > *delta {
        let (least, delta) = (time_ceil(&least), time_ceil(delta));
        return Err(format!(
            "nothing need be received for {}, so the error can reach {least}; {delta} is the most allowed",
            time_ceil(&blackout)
        ));
    }
    let formula = format!(
        "delta = s * blackout = {share} * {} = {} <= {}",
        time_ceil(&blackout),
        time_ceil(&least),
        time_ceil(delta)
    );
    Ok((to_psbe(have), formula))
}

/// RESCS x, y is the statement sbf(y) >= x.
fn in_every_window(have: &Guarantee, amount: &Rational, period: &Rational) -> Result<(Rule, String), String> {
    let supply = have.sbf(period);
    if supply >= *amount {
        let formula =
            format!("sbf({}) = {} >= {}", time_ceil(period), time_floor(&supply), time_floor(amount));
        return Ok((to_reservation(have, Continuity::Continuous), formula));
    }
    Err(short_supply(have, amount, period, &supply))
}

/// The reason of a refusal, with the window that does hold the amount: a basic reservation x, y promises x only in
/// every 2y - x.
fn short_supply(have: &Guarantee, amount: &Rational, period: &Rational, supply: &Rational) -> String {
    let mut reason = format!(
        "{} promises {} in every window of {}, and {} is needed",
        have.rounded_for_people(),
        time_floor(supply),
        time_ceil(period),
        time_floor(amount)
    );
    if let Some(periodic) = have.periodic()
        && *amount <= periodic.amount
    {
        let window = &periodic.period + &periodic.deadline - &periodic.amount * whole(2) + amount;
        reason.push_str(&format!("; it promises {} in every {}", time_floor(amount), time_ceil(&window)));
    }
    reason
}

fn basic(have: &Guarantee, amount: &Rational, period: &Rational) -> Result<(Rule, String), String> {
    if let Ok(found) = in_every_window(have, amount, period) {
        let rule =
            if found.0 == T1 || found.0 == SUPPLY { SUPPLY } else { to_reservation(have, Continuity::Basic) };
        return Ok((rule, found.1));
    }
    let Some(held) = have.periodic() else {
        return Err(short_supply(have, amount, period, &have.sbf(period)));
    };
    let best = best_basic_amount(&held.amount, &held.period, period);
    if best < *amount {
        let reason = short_supply(have, amount, period, &have.sbf(period));
        // In a pause twice as long any grid has a period, wherever it lies.
        let is_best =
            phases(&held.period, period).is_some() || &held.period - &held.amount >= whole(2) * period;
        return Err(match is_best {
            true => format!("{reason}; {} is the best for any phase of the grid", time_floor(&best)),
            false => format!("{reason}; whether a phase of the grid has more was given up"),
        });
    }
    let formula = format!(
        "{} in {} for the best phase, >= {}",
        time_floor(&best),
        time_ceil(period),
        time_floor(amount)
    );
    let same_grid = *period == held.period;
    let rule = match () {
        () if same_grid && *amount == held.amount && have.is_hard() => SOFTEN,
        () if same_grid => IDENTITY,
        () if quotient(period, &held.period).is_integer() => MULTIPLE,
        () => PHASES,
    };
    Ok((rule, formula))
}

fn explicit_deadline(
    have: &Guarantee,
    period: &Rational,
    amount: &Rational,
    deadline: &Rational,
) -> Result<(Rule, String), String> {
    if let Some(held) = have.periodic()
        && held.is_on_a_grid
        && held.period == *period
    {
        // On the held grid: `held.amount` by `held.deadline`, so at least that less the difference by an earlier one.
        let by_deadline = &held.amount - positive_part(&held.deadline - deadline);
        if by_deadline >= *amount {
            let formula = format!("{} within {}", time_floor(&by_deadline), time_ceil(deadline));
            return Ok((IDENTITY, formula));
        }
    }
    if deadline == period { basic(have, amount, period) } else { in_every_window(have, amount, deadline) }
}

/// Hard needs are met by the same reservation, by k of its periods as one, and a basic need by a continuous
/// reservation. A greater x does not meet one, since the need's x is an upper limit, too.
fn hard(have: &Guarantee, need: &Guarantee) -> Result<(Rule, String), String> {
    let (
        Guarantee::Reservation { continuity: held_grid, hard: true, amount: held, period: every },
        Guarantee::Reservation { continuity: grid, amount, period, .. },
    ) = (have, need)
    else {
        return Err(format!(
            "{} sets no limit; a hard need is met by a hard guarantee only",
            have.rounded_for_people()
        ));
    };
    if *held_grid == Continuity::Basic && *grid == Continuity::Continuous {
        return Err("no basic reservation is a continuous hard one unless x = y (HLS, Theorem 2)".into());
    }
    let times = quotient(period, every);
    if !times.is_integer() || held * &times != *amount {
        return Err(format!(
            "{need} is not a whole multiple of {have}; a hard reservation implies only kx,ky, since other numbers \
             would set another limit"
        ));
    }
    let rule = match () {
        () if !times.is_one() => MULTIPLE,
        () if held_grid == grid => IDENTITY,
        () => TO_BASIC,
    };
    Ok((rule, format!("k = {times}")))
}

fn to_ps(have: &Guarantee) -> Rule {
    match have {
        Guarantee::All => FROM_ALL,
        Guarantee::Reservation { .. } | Guarantee::Edp { .. } => T5,
        Guarantee::Ps { .. } => IDENTITY,
        _ => TO_PS,
    }
}

fn to_psbe(have: &Guarantee) -> Rule {
    match have {
        Guarantee::All => FROM_ALL,
        Guarantee::Psbe { .. } => IDENTITY,
        Guarantee::Reservation { continuity: Continuity::Basic, .. } => T4,
        Guarantee::Reservation { continuity: Continuity::Continuous, .. } => T3,
        _ => BOUNDED,
    }
}

fn to_reservation(have: &Guarantee, want: Continuity) -> Rule {
    match have {
        Guarantee::All => FROM_ALL,
        Guarantee::Psbe { .. } => T6,
        Guarantee::Reservation { continuity: Continuity::Basic, .. } if want == Continuity::Continuous => T1,
        Guarantee::Reservation { continuity: Continuity::Continuous, .. } if want == Continuity::Basic => {
            TO_BASIC
        }
        _ => SUPPLY,
    }
}

/// The most that RESBS `amount`, `period` promises in every period of the best-placed grid of length `target`: the best
/// x' of RESBS x', `target`. All in nanoseconds. Above 4096 relative phases the answer is sbf, which holds for any
/// phase.
///
/// With target / period = p / q in lowest terms, the starts of the new grid meet the old one at q offsets, period / q
/// apart. The supply as a function of the offset is piecewise linear with slopes -1, 0 and 1, so the best common
/// shift is found between its corners.
pub fn best_basic_amount(amount: &Rational, period: &Rational, target: &Rational) -> Rational {
    let held = Guarantee::resbs(amount.clone(), period.clone());
    let fallback = held.sbf(target);
    if held.check().is_err() || !target.is_positive() {
        return Rational::zero();
    }
    let Some(offsets) = phases(period, target) else {
        return fallback;
    };
    let step = period / whole(offsets);
    let rest = target - (target / period).floor() * period;
    let idle = period - amount;
    let mut corners: Vec<Rational> = [Rational::zero(), amount.clone(), -rest.clone(), &idle - &rest]
        .iter()
        .map(|corner| corner - (corner / &step).floor() * &step)
        .collect();
    corners.push(step.clone());
    corners.sort();
    corners.dedup();
    let supply_at = |offset: &Rational| supply_at_offset(amount, period, target, offset);
    let best_between = |from: &Rational, to: &Rational| {
        let width = to - from;
        // The least of the rising lines at `from`, of the falling at `to`, of the flat anywhere.
        let (mut rising, mut falling, mut flat) = (None, None, None);
        for index in 0..offsets {
            let shift = &step * whole(index);
            let (left, right) = (supply_at(&(from + &shift)), supply_at(&(to + &shift)));
            let (least, value) = match left.cmp(&right) {
                std::cmp::Ordering::Less => (&mut rising, left),
                std::cmp::Ordering::Greater => (&mut falling, right),
                std::cmp::Ordering::Equal => (&mut flat, left),
            };
            if least.as_ref().is_none_or(|least| value < *least) {
                *least = Some(value);
            }
        }
        let meeting = match (&rising, &falling) {
            (Some(up), Some(down)) => Some((up + down + &width) / whole(2)),
            _ => None,
        };
        [rising.map(|up| up + &width), falling.map(|down| down + &width), flat, meeting]
            .into_iter()
            .flatten()
            .min()
    };
    corners
        .windows(2)
        .filter_map(|pair| best_between(&pair[0], &pair[1]))
        .max()
        .unwrap_or(fallback.clone())
        .max(fallback)
}

/// The least supply of RESBS `amount`, `period` in a window of length `target` that starts `offset` after a start of a
/// period: at either end the adversary puts the amount outside of the window as far as it can.
fn supply_at_offset(amount: &Rational, period: &Rational, target: &Rational, offset: &Rational) -> Rational {
    let offset = offset - (offset / period).floor() * period;
    let idle = period - amount;
    let within = |length: Rational| positive_part(length - &idle);
    let first = period - &offset;
    if *target <= first {
        return within(target.clone());
    }
    let after = target - &first;
    let periods = (&after / period).floor();
    let rest = after - &periods * period;
    within(first) + periods * amount + within(rest)
}
