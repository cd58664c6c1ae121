//! Borrowed virtual time (K. J. Duda, D. R. Cheriton, SOSP 1999), as the core has it: with warps that messages turn on
//! and off, and with limits of warps.
//!
//! The paper gives no bound that holds: its "context switch allowance plus one unit" is exceeded from the first round
//! on. These hold in every window in which the child wants the CPU. r_n is the child's weight as a fraction of the sum
//! over all T registered children, w_n its warp, L_n and U_n its limit and its unwarp time, C the allowance, and PSBE
//! s,d is held:
//!
//! - Without warps this is SFQ with C for its quantum: PSBE s*r_f, r_f*d + B, with B = C*(1 + r_f*(T-2)).
//! - A sibling that warps goes ahead of its turn by w_n at most, of which the child pays r_f. If the child's own warp
//!   ends while others want the CPU, it pays (1-r_f)*w_f. So r_f*(sum of the others' w_n) + (1-r_f)*w_f is added.
//! - Where a whole CPU is held, siblings G need not be bounded by their warps if their limits let them run warped for
//!   no more than their part of the time (L_n/(L_n+U_n) <= r_n). A while after such a sibling last ran unwarped it has
//!   had r_n of the time since and L_n*(1-r_n) beyond that, so the delta is (B + own + r_f*(sum of w_n of siblings not
//!   in G + sum of L_n*(1-r_n) of siblings in G)) / (1 - sum of r_n in G). The G with the least delta counts.
//!
//! - A sibling that wakes up from a sleep against its will begins at most the `stall-credit` G of its CPU time behind
//!   the scheduler's virtual time, and gets that much more. So r_f*(T-1)*G is added to B; a second such sleep in the
//!   same window adds nothing, for its virtual time never goes back.
//!
//! - With a `unit`, a child is charged a whole unit for any part of one. Siblings that wake up may preempt it again and
//!   again just after it has begun: then it gets next to nothing of its share, and nothing is promised.
//!
//! - Virtual time is counted in parts of 1/256 ns of CPU time for a unit of share, and a VP that wakes up begins at one
//!   of them: it may be ahead by one part. For all children together that is the sum of their shares / 256 ns, which is
//!   added to B.
//!
//! - A child that is itself a BVT scheduler may be warped by as much as its own children are, or from a threshold on by
//!   all of its own warp. Either way w_n, its own warp, is the most by which it is warped, and its warp may go off.
//!
//! All were compared with every schedule of small sets, sleeping and warping at the worst times.
//!
//! On m whole CPUs, with K > m children of the same share, without warps, credits and units: PSBE m/(K+m-1),
//! (K-1)*(2C+2M)/(K+m-1), where M is the `migration` as CPU time of such a child. Proof: of two children, one that runs
//! is stopped once it is C+M ahead of one that is READY, and gains nothing on one that runs, too; a child that wakes up
//! begins at the least of all or later. So no child is further ahead of the least than C+M, and a sibling that runs
//! while f waits, from the least on until it is C+M ahead of f, has at most what f has had, and 2C+2M. While f waits,
//! siblings have all m CPUs: m*(t-x) <= (K-1)*(x+2C+2M) for the x that f has in t. With unequal shares there is no
//! bound, for a child that runs does gain on a sibling of a greater share. Virtual times have to be exact: else
//! children that wake up in turns, each a part of 1/256 ns too early, would hold back the least. The core counts m
//! times the share, since a child may have up to m VPs: so that product has to divide 256.
//!
//! A thread that asks for JOB, where a whole CPU is held, has it beside its share if `warps/` shows it.

use super::proportional_share::as_psbe;
use super::{Entry, HeldVps, Instance, Limits, Provided, proportional_share};
use crate::derivation::Rule;
use crate::graph::{Child, Edge};
use crate::guarantee::{Guarantee, Kind};
use crate::label::Label;
use crate::rational::{Rational, time_ceil, whole};
use crate::rewrite::rewrite;
use crate::together::Supply;
use crate::warps::{Conditions, GRANULES_A_NANOSECOND, InTime, Warper, Warpers};
use num_traits::{One, Signed, Zero};

pub(super) const ENTRY: Entry = Entry {
    policy: "bvt",
    source: "Duda and Cheriton, SOSP 1999",
    accepts: proportional_share::ENTRY.accepts,
    provides: "PSBE s*r, delta to every child, r being its part of all shares; under PS only PS s*r; of m CPUs PSBE \
               m/(K+m-1), delta to each of K threads of equal shares; ALL where there are CPUs enough",
    limits: Limits::Nothing,
    provide,
};

const WARPS: Rule = Rule { name: "BVT, by warps", source: "SFQ's bound, and what a warp borrows" };
const WARP_LIMITS: Rule =
    Rule { name: "BVT, by limits of warps", source: "what a sibling gets since it last ran unwarped" };
const REQUESTS: Rule = Rule { name: "BVT, requests of a warped child", source: "stays ahead, with its debt" };
const SHARE: Rule = Rule { name: "BVT, PS to PS", source: ENTRY.source };
const EVEN: Rule = Rule { name: "BVT, equal shares of CPUs", source: "no child gets far ahead of the least" };

/// A child's weight as a fraction of the sum of all; its warp and limits in nanoseconds.
struct Claim {
    weight: Rational,
    warp: Rational,
    limit: Rational,
    unwarp: Rational,
}

impl Claim {
    /// L*(1-r): what it may get beyond its part, by its limits; `None` where they let it run warped for more than its
    /// part.
    fn beyond(&self) -> Option<Rational> {
        let rest = Rational::one() - &self.weight;
        let is_bound = self.limit.is_positive() && &self.limit * &rest <= &self.weight * &self.unwarp;
        is_bound.then(|| &self.limit * rest)
    }
}

/// Labels of the children.
fn provide(instance: &Instance) -> Provided {
    let held = match instance.single_vp() {
        Ok(label) => label.absolute(),
        Err(found) => return instance.a_cpu_each().unwrap_or_else(|| on_several_cpus(instance, found)),
    };
    let Some(claims) = claims(instance) else {
        return instance.nothing_because(SHARE, "a share above 0 for every child", "one without");
    };
    let Some(allowance) = instance.param("allowance").filter(Rational::is_positive) else {
        return instance.nothing_because(SHARE, "an allowance above 0", "none");
    };
    if claims.len() > 1 && instance.param("unit").is_some_and(|unit| unit.is_positive()) {
        return instance.nothing_because(
            SHARE,
            "no `unit`, for a child that is preempted just after it began is charged a whole one",
            "a `unit` above 0",
        );
    }
    let psbe = rewrite(&held, Kind::Psbe);
    let all = All::new(instance, &held, &claims);
    let bound = |child| bounded(instance, psbe.as_ref(), &all, &allowance, child);
    let warpers = warpers(instance, &claims, &allowance);
    let asks = |edge: &&Edge| matches!(edge.requested, Some(Guarantee::Job { .. }));
    let conditions = instance.children.iter().any(asks).then(|| Conditions::new(&warpers));
    let labels = match (&psbe, &held) {
        (Some(_), _) => {
            let labels = (0..claims.len()).map(bound);
            labels
                .enumerate()
                .map(|(child, label)| asked(instance, &held, conditions.as_ref(), child, label))
                .collect()
        }
        (None, Guarantee::Ps { share }) => {
            let weights = claims.iter().map(|claim| claim.weight.clone());
            return instance.shares_in_the_long_run(share, weights, SHARE);
        }
        _ => return instance.nothing(SHARE, "shares of nothing that is promised"),
    };
    Provided { labels, complaints: Vec::new() }
}

/// The labels of threads that have equal shares of several whole CPUs. Other children have NULL, because of what was
/// `found`.
fn on_several_cpus(instance: &Instance, found: String) -> Provided {
    let Some((cpus, counted)) = even(instance) else { return instance.nothing(SHARE, found) };
    let of = |name| instance.param(name).unwrap_or_else(Rational::zero);
    let (allowance, migration) = (of("allowance"), of("migration") * counted);
    let siblings = whole(instance.children.len() as u64) - Rational::one();
    let turns = &siblings + &cpus;
    let delta = whole(2) * &siblings * (&allowance + &migration) / &turns;
    let formula = format!(
        "share m/(K+m-1) = {cpus}/{turns}; delta = (K-1)*2*(C+M)/(K+m-1) = {siblings}*2*({} + {})/{turns} = {}",
        time_ceil(&allowance),
        time_ceil(&migration),
        time_ceil(&delta)
    );
    let label = instance.label(Guarantee::Psbe { share: cpus / turns, delta }, EVEN, formula);
    Provided { labels: vec![label; instance.children.len()], complaints: Vec::new() }
}

/// How many whole CPUs the scheduler holds, and with which share the core counts each child; `None` where the children
/// differ, may get ahead of their turn, or cannot use each CPU.
fn even(instance: &Instance) -> Option<(Rational, Rational)> {
    let [HeldVps { label, width }] = instance.held.as_slice() else { return None };
    let is_whole = label.guarantee == Guarantee::All && label.count == *width;
    let is_none = |name| instance.param(name).is_none_or(|value| value.is_zero());
    let claims = claims(instance)?;
    let cpus = whole(u64::from(*width));
    let counted = instance.shares()?.pop()? * &cpus;
    let is_even = |claim: &Claim| claim.weight == claims[0].weight && claim.warp.is_zero();
    let is_exact = (whole(GRANULES_A_NANOSECOND) / &counted).is_integer();
    let is_free = |edge: &&Edge| matches!(edge.child, Child::Thread(_)) && edge.width <= 1 && !edge.pinned;
    let holds = is_whole
        && is_exact
        && claims.iter().all(is_even)
        && instance.children.iter().all(is_free)
        && instance.param("allowance").is_some_and(|allowance| allowance.is_positive())
        && ["stall-credit", "unit"].into_iter().all(is_none);
    holds.then_some((cpus, counted))
}

fn claims(instance: &Instance) -> Option<Vec<Claim>> {
    let claim = |(child, weight): (usize, Rational)| {
        let of = |name| instance.child_param(child, name).unwrap_or_else(Rational::zero);
        Claim { weight, warp: of("warp"), limit: of("warp-limit"), unwarp: of("unwarp") }
    };
    Some(instance.weights()?.into_iter().enumerate().map(claim).collect())
}

fn warpers(instance: &Instance, claims: &[Claim], allowance: &Rational) -> Warpers {
    let warper = |((claim, share), name): ((&Claim, Rational), &&str)| Warper {
        name: (*name).to_owned(),
        share,
        warp: claim.warp.clone(),
        limit: claim.limit.clone(),
        unwarp: claim.unwarp.clone(),
    };
    let shares = instance.shares().unwrap_or_default();
    let each = claims.iter().zip(shares).zip(&instance.names).map(warper).collect();
    Warpers { allowance: allowance.clone(), each }
}

/// The label of a child that has this share: JOB beside it, where the child asks for JOB and can have it.
fn asked(
    instance: &Instance,
    held: &Guarantee,
    conditions: Option<&Conditions>,
    child: usize,
    share: Label,
) -> Label {
    let edge = instance.children[child];
    let (Some(Guarantee::Job { amount, period, .. }), Some(conditions)) = (&edge.requested, conditions)
    else {
        return share;
    };
    instance.work.take(1 + instance.children.len());
    let refused = match (held, &edge.child) {
        _ if instance.param("stall-credit").is_some_and(|credit| credit.is_positive()) => {
            "JOB is shown without a `stall-credit` only: it puts siblings ahead of a warped child".to_owned()
        }
        _ if instance.cpus > 1 && instance.param("migration").is_some_and(|cost| cost.is_positive()) => {
            "JOB is shown on one CPU, or without a `migration`, which puts off a child that ran elsewhere"
                .to_owned()
        }
        (Guarantee::All, Child::Thread(_)) => {
            match conditions.in_time(child, (amount, period), instance.work) {
                Ok(InTime { response, formula }) => {
                    let (amount, period) = (amount.clone(), period.clone());
                    let job = Guarantee::Job { amount, period, response };
                    let beside = Supply::from(share.guarantee.clone());
                    let premises = vec![share.derivation.clone()];
                    return Label { beside, ..Label::new(job, 1, REQUESTS, premises, formula) };
                }
                Err(reason) => reason,
            }
        }
        (Guarantee::All, Child::Scheduler(_)) => "only threads have JOB".to_owned(),
        _ => format!("JOB is shown below a whole CPU only, and this is {}", held.rounded_for_people()),
    };
    Label { refused: Some(refused), ..share }
}

/// What is the same for all children: worked out once, so that many children do not take long.
struct All<'c> {
    claims: &'c [Claim],
    /// The sum of the warps.
    warps: Rational,
    /// The sum of the shares in the finest part of virtual time, in nanoseconds.
    granules: Rational,
    /// Each child that its limits keep within its part, and how much less these limits add to delta than its warp does.
    /// The children that save most for their weight come first. `None` where limits do not count.
    gains: Option<Vec<(usize, Rational)>>,
}

impl<'c> All<'c> {
    fn new(instance: &Instance, held: &Guarantee, claims: &'c [Claim]) -> All<'c> {
        let gain = |(n, claim): (usize, &Claim)| Some((n, &claim.warp - claim.beyond()?));
        let mut gains: Vec<(usize, Rational)> = claims.iter().enumerate().filter_map(gain).collect();
        gains.sort_by(|(one, gain), (other, more)| {
            (more * &claims[*one].weight).cmp(&(gain * &claims[*other].weight))
        });
        All {
            claims,
            warps: claims.iter().map(|claim| &claim.warp).sum(),
            granules: instance.shares().into_iter().flatten().sum::<Rational>()
                / whole(GRANULES_A_NANOSECOND),
            gains: (*held == Guarantee::All).then_some(gains),
        }
    }
}

/// The better of the two bounds for a child.
fn bounded(
    instance: &Instance,
    psbe: Option<&(Guarantee, Rule)>,
    all: &All,
    allowance: &Rational,
    child: usize,
) -> Label {
    let Some((Guarantee::Psbe { share, delta }, rule)) = psbe else {
        return instance.null(WARPS, "no share is held");
    };
    let own = &all.claims[child];
    let weight = &own.weight;
    let siblings = whole(all.claims.len() as u64) - Rational::one();
    let credits = weight * &siblings * instance.param("stall-credit").unwrap_or_else(Rational::zero);
    let turns =
        &all.granules + &credits + allowance * (Rational::one() + weight * (siblings - Rational::one()));
    let returned = (Rational::one() - weight) * &own.warp;
    let borrowed = &all.warps - &own.warp;
    let base = &turns + &returned;
    let by_warps = weight * delta + &base + weight * &borrowed;
    let by_limits = least_by_limits(instance, (&base, borrowed), all, child);
    let premise = as_psbe(instance, Guarantee::Psbe { share: share.clone(), delta: delta.clone() }, *rule);
    let (rule, delta, formula) = match by_limits.filter(|by_limits| *by_limits < by_warps) {
        Some(by_limits) => {
            let formula = format!(
                "share {share}*{weight}; delta by the limits of siblings that stay within their part = {}",
                time_ceil(&by_limits)
            );
            (WARP_LIMITS, by_limits, formula)
        }
        None => {
            let formula = format!(
                "share {share}*{weight}; delta = r*delta + C*(1 + r*(T-2)){} (rounded) + (1-r)*warp + r*warps = {} + \
                 {} + {} + {} = {}",
                if credits.is_zero() { "" } else { " + r*(T-1)*G" },
                time_ceil(&(weight * delta)),
                time_ceil(&turns),
                time_ceil(&returned),
                time_ceil(&(weight * (&all.warps - &own.warp))),
                time_ceil(&by_warps)
            );
            (WARPS, by_warps, formula)
        }
    };
    Label::new(Guarantee::Psbe { share: share * weight, delta }, 1, rule, vec![premise], formula)
}

/// Tries sets G of siblings that stay within their parts. Returns the least delta, if the empty set has a greater one.
/// Siblings that save more for their weight are better in G. So the best sets take siblings in the order of
/// [`All::gains`], and once a sibling makes the delta no less, none behind it does. `added`: the sum of the siblings'
/// warps.
fn least_by_limits(
    instance: &Instance,
    (base, mut added): (&Rational, Rational),
    all: &All,
    child: usize,
) -> Option<Rational> {
    let weight = &all.claims[child].weight;
    let (mut rest, mut least) = (Rational::one(), base + weight * &added);
    let (mut is_less, mut tried) = (false, 0);
    for (n, gain) in all.gains.iter().flatten().filter(|(n, _)| *n != child) {
        added -= gain;
        rest -= &all.claims[*n].weight;
        tried += 1;
        let delta = (base + weight * &added) / &rest;
        if delta >= least {
            break;
        }
        (least, is_less) = (delta, true);
    }
    // The bound by warps counts as two steps, since its numbers are long, and each sibling that was tried as one.
    instance.work.take(2 + tried);
    is_less.then_some(least)
}

#[cfg(test)]
mod tests {
    use crate::schedulers::tests::{labels, provide};

    type Child<'a> = &'a [(&'a str, u64)];

    fn promised(held: &str, allowance: u64, children: &[[u64; 4]]) -> Vec<String> {
        configured(held, &[("allowance", allowance)], children)
    }

    fn configured(held: &str, params: &[(&str, u64)], children: &[[u64; 4]]) -> Vec<String> {
        let named = |[share, warp, limit, unwarp]: [u64; 4]| {
            [("share", share), ("warp", warp), ("warp-limit", limit), ("unwarp", unwarp)]
        };
        let children: Vec<_> = children.iter().map(|&child| named(child)).collect();
        let children: Vec<Child<'_>> = children.iter().map(|child| &child[..]).collect();
        labels("bvt", held, params, &children)
    }

    #[test]
    fn without_warps_it_is_sfq() {
        let even = [1, 0, 0, 0];
        assert_eq!(promised("ALL", 2, &[even, even, even])[0], "PSBE 1/3 2.057/768us"); // 8/3 + 3/256 ns
        let bound = promised("RESBS 10ns 20ns", 10, &[even, [4, 0, 0, 0]]);
        assert_eq!(bound, ["PSBE 1/10 3.077/256us", "PSBE 2/5 4.613/256us"]); // 12 and 18, and 5/256
        assert_eq!(promised("PS 1/2", 10, &[even, even])[0], "PS 1/4");
        assert_eq!(promised("NULL", 10, &[even, even])[0], "NULL");
    }

    #[test]
    fn siblings_that_warp_are_paid_for() {
        let bound = promised("ALL", 3, &[[1, 0, 0, 0], [1, 8, 0, 0], [1, 8, 0, 0]]);
        assert_eq!(bound[0], "PSBE 1/3 7.177/768us"); // 3*(1 + 1/3) + 16/3 + 3/256
        assert_eq!(bound[1], "PSBE 1/3 3.075/256us"); // 4 + 2/3*8 + 1/3*8 + 3/256
    }

    #[test]
    fn siblings_that_stall_are_paid_for() {
        let params = [("allowance", 3), ("stall-credit", 6)];
        let bound = configured("ALL", &params, &[[1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]]);
        assert_eq!(bound[0], "PSBE 1/3 2.051/256us"); // 3*(1 + 1/3) + 1/3*2*6 + 3/256
    }

    #[test]
    fn nothing_is_promised_where_units_are_charged() {
        let params = [("allowance", 3), ("unit", 1)];
        assert_eq!(configured("ALL", &params, &[[1, 0, 0, 0], [1, 0, 0, 0]]), ["NULL", "NULL"]);
        assert_eq!(configured("ALL", &params, &[[1, 0, 0, 0]]), ["PSBE 1 1/256ns"]);
    }

    #[test]
    fn limits_bound_siblings_that_stay_within_their_part() {
        // 1:1:1, C 1, one with L 2 and U 4: (4/3 + 4/9 + 3/256) * 3/2. With U 3 its warp of 20 decides:
        // 4/3 + 20/3 + 3/256.
        let limited = |unwarp| promised("ALL", 1, &[[1, 0, 0, 0], [1, 0, 0, 0], [1, 20, 2, unwarp]]);
        assert_eq!(limited(4)[0], "PSBE 1/3 4.123/1536us");
        assert_eq!(limited(3)[0], "PSBE 1/3 2.051/256us");
        // Below a reservation only warps are counted.
        let below = promised("RESBS 10ns 20ns", 1, &[[1, 0, 0, 0], [1, 20, 2, 4]]);
        assert_eq!(below[0], "PSBE 1/4 2.049/128us"); // 5 + 1 + 10 + 2/256
    }

    fn on_cpus(cpus: u16, params: &[(&str, u64)], children: &[&[(&str, u64)]]) -> Vec<String> {
        let provided = provide("bvt", ("ALL", cpus), params, children);
        provided.labels.iter().map(|label| label.guarantee.to_string()).collect()
    }

    #[test]
    fn equal_shares_of_several_cpus_are_bounded() {
        let one: Child<'_> = &[("share", 1)];
        assert_eq!(on_cpus(2, &[("allowance", 2)], &[one; 3]), ["PSBE 1/2 2ns"; 3]);
        assert_eq!(on_cpus(2, &[("allowance", 2)], &[one; 4]), ["PSBE 2/5 12/5ns"; 4]);
        assert_eq!(on_cpus(4, &[("allowance", 2)], &[one; 5]), ["PSBE 1/2 2ns"; 5]);
        assert_eq!(on_cpus(2, &[("allowance", 2)], &[one; 2]), ["ALL"; 2]);
        // The penalty counts for a share of 1, and the core has 8: 3*2*(2+8)/5.
        let params = [("allowance", 2), ("migration", 1)];
        let four: Child<'_> = &[("share", 4)];
        assert_eq!(on_cpus(2, &params, &[four; 4]), ["PSBE 2/5 12ns"; 4]);
    }

    #[test]
    fn shares_of_several_cpus_are_bounded_only_if_no_child_gets_ahead() {
        let [one, two, three]: [Child<'_>; 3] = [&[("share", 1)], &[("share", 2)], &[("share", 3)]];
        let nothing = ["NULL"; 3];
        assert_eq!(on_cpus(2, &[("allowance", 2)], &[one, one, two]), nothing);
        assert_eq!(on_cpus(2, &[("allowance", 2)], &[three; 3]), nothing);
        assert_eq!(on_cpus(3, &[("allowance", 2)], &[one; 4]), ["NULL"; 4]);
        assert_eq!(on_cpus(2, &[("allowance", 2)], &[one, one, &[("share", 1), ("warp", 1)]]), nothing);
        for option in ["stall-credit", "unit"] {
            assert_eq!(on_cpus(2, &[("allowance", 2), (option, 1)], &[one; 3]), nothing);
        }
    }
}
