//! Proportional share: start-time fair queuing with warp (HLS section 5.1; Goyal, Guo and Vin, OSDI 1996).
//!
//! With weights r_f (fractions of the sum over all registered children), T children, a quantum q and PSBE s,d held:
//! paper mode gives PSBE s*r_f, r_f*T*q/s + r_f*d/s + q, which is sound but inflated by 1/s; tight mode gives
//! delta_f = r_f*d + q*(1 + r_f*(T-2)). PS s held: PS s*r_f.
//!
//! A warp w_n lets child n be ahead of its turn by L_n = w_n/r_n of virtual time. Before f goes on, a sibling that
//! wakes up at the least start tag can catch up with the lead that f has over that tag, at most L_f - L_min, and then
//! take its own over f, L_n - L_f. So r_f * sum over the others of r_n*(L_n - L_min) is added to delta_f. (HLS and
//! the usual r_n*[w_n - w_f]+ leave out that f may be ahead itself.)
//!
//! On several CPUs a child of one VP cannot use a share of more than one, and its tags fall further and further behind
//! its siblings' tags; so on several CPUs nothing is claimed, unless each child has a CPU to itself.

use super::{Entry, Instance, Limits, Provided};
use crate::derivation::{Derivation, Rule};
use crate::guarantee::{Guarantee, Kind};
use crate::label::Label;
use crate::rational::{Rational, time_ceil, whole};
use crate::rewrite::rewrite;
use crate::rules::Mode;
use num_traits::{One, Signed, Zero};
use std::sync::Arc;

pub(super) const ENTRY: Entry = Entry {
    policy: "proportional-share",
    source: "HLS, section 5.1",
    accepts: "PSBE s and whatever implies it; PS s",
    provides: "PSBE s*r, delta to every child, r being its part of all shares; under PS only PS s*r; ALL where there \
               are CPUs enough",
    limits: Limits::Nothing,
    provide,
};

const PAPER: Rule = Rule { name: "SFQ, the paper's bound", source: "HLS, section 5.1 (Goyal et al.)" };
const TIGHT: Rule = Rule { name: "SFQ, tight bound", source: "Goyal et al. with the supply taken as it is" };
const SHARE: Rule = Rule { name: "SFQ, PS to PS", source: ENTRY.source };

/// A child's weight as a fraction of the sum of all, and how far ahead its warp lets it be, in nanoseconds of virtual
/// time.
struct Claim {
    weight: Rational,
    lead: Rational,
}

/// What all children of one scheduler have in common.
struct Queue {
    /// T, the number of registered children.
    children: Rational,
    quantum: Rational,
    /// The parent's PSBE.
    share: Rational,
    delta: Rational,
    /// L_min, the least lead of all children.
    least_lead: Rational,
    /// The sum of r_n*(L_n - L_min) over all children.
    ahead: Rational,
    /// How the parent's PSBE follows from the guarantee that the scheduler holds.
    premise: Arc<Derivation>,
}

impl Queue {
    /// `held` is the parent's guarantee as PSBE share, delta.
    fn new(
        claims: &[Claim],
        quantum: Rational,
        (share, delta): (Rational, Rational),
        held: Arc<Derivation>,
    ) -> Queue {
        let least_lead = claims.iter().map(|claim| &claim.lead).min().cloned().unwrap_or_else(Rational::zero);
        let ahead = claims.iter().map(|claim| &claim.weight * (&claim.lead - &least_lead)).sum();
        let children = whole(claims.len() as u64);
        Queue { children, quantum, share, delta, least_lead, ahead, premise: held }
    }

    /// r_f * sum over the others of r_n*(L_n - L_min), in nanoseconds.
    fn overtaken(&self, claim: &Claim) -> Rational {
        let own = &claim.weight * (&claim.lead - &self.least_lead);
        (&self.ahead - own) * &claim.weight
    }
}

/// The labels of the children; also for SFQ, which has no warps, and for stride.
pub(super) fn provide(instance: &Instance) -> Provided {
    let held = match instance.single_vp() {
        Ok(label) => label.absolute(),
        Err(found) => return instance.a_cpu_each().unwrap_or_else(|| instance.nothing(SHARE, found)),
    };
    let Some(claims) = claims(instance) else {
        return instance.nothing_because(SHARE, "a share above 0 for every child", "one without");
    };
    let quantum = instance.param("quantum").filter(Rational::is_positive);
    let Some(quantum) = quantum else {
        return instance.nothing_because(SHARE, "a quantum above 0", "none");
    };
    let labels = match (rewrite(&held, Kind::Psbe), held) {
        (Some((Guarantee::Psbe { share, delta }, rule)), _) => {
            let premise =
                as_psbe(instance, Guarantee::Psbe { share: share.clone(), delta: delta.clone() }, rule);
            let queue = Queue::new(&claims, quantum, (share, delta), premise);
            claims.iter().map(|claim| bounded(instance.mode, &queue, claim)).collect()
        }
        (_, Guarantee::Ps { share }) => {
            let weights = claims.into_iter().map(|claim| claim.weight);
            return instance.shares_in_the_long_run(&share, weights, SHARE);
        }
        _ => return instance.nothing(SHARE, "shares of nothing that is promised"),
    };
    Provided { labels, complaints: Vec::new() }
}

fn claims(instance: &Instance) -> Option<Vec<Claim>> {
    let claim = |(child, weight): (usize, Rational)| {
        let warp = instance.child_param(child, "warp").unwrap_or_else(Rational::zero);
        Claim { lead: warp / &weight, weight }
    };
    Some(instance.weights()?.into_iter().enumerate().map(claim).collect())
}

/// The derivation of PSBE from what is held, which is the premise itself where PSBE is held.
pub(super) fn as_psbe(instance: &Instance, psbe: Guarantee, rule: Rule) -> Arc<Derivation> {
    match instance.premises().pop() {
        Some(held) if held.conclusion == psbe => held,
        _ => instance.label(psbe, rule, "").derivation,
    }
}

fn bounded(mode: Mode, queue: &Queue, claim: &Claim) -> Label {
    let Queue { children: count, quantum, share, delta, .. } = queue;
    let weight = &claim.weight;
    let q = time_ceil(quantum);
    let d = time_ceil(delta);
    let (rule, error, formula) = match mode {
        Mode::Paper => {
            let error = weight * count * quantum / share + weight * delta / share + quantum;
            (
                PAPER,
                error,
                format!(
                    "r*T*q/s + r*delta/s + q = {weight}*{count}*{q}/{share} + {weight}*{d}/{share} + {q}"
                ),
            )
        }
        Mode::Tight => {
            let error = weight * delta + quantum * (Rational::one() + weight * (count - whole(2)));
            (
                TIGHT,
                error,
                format!("r*delta + q*(1 + r*(T-2)) = {weight}*{d} + {q}*(1 + {weight}*({count}-2))"),
            )
        }
    };
    let overtaken = queue.overtaken(claim);
    let total = error + &overtaken;
    let warped =
        if overtaken.is_zero() { String::new() } else { format!(" + warp {}", time_ceil(&overtaken)) };
    let formula = format!("share {share}*{weight}; delta = {formula}{warped} = {}", time_ceil(&total));
    let guarantee = Guarantee::Psbe { share: share * weight, delta: total };
    Label::new(guarantee, 1, rule, vec![queue.premise.clone()], formula)
}
