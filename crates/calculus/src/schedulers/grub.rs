//! Greedy reclamation of unused bandwidth (G. Lipari, S. Baruah, "Greedy Reclamation of Unused Bandwidth in
//! Constant-Bandwidth Servers", ECRTS 2000).
//!
//! A server's virtual time V says up to when it has used its bandwidth U = x/y. While it is active, and its V and its
//! deadlines lie between a and b, it uses U*(b-a) of its budgets at most; so in a window all servers together want as
//! much budget as the integral of the active bandwidth A over it. The server that runs uses up budget at the pace A. So
//! on a CPU that is there all the time, budget is used as fast as it is wanted, and no deadline is missed while the sum
//! of all U is at most 1. That is the paper's proof, and its claim: what takes e of a dedicated CPU of speed U, done
//! there at F, is done by F + y (`crates/hls-core/tests/grub.rs` tests that).
//!
//! The paper has a whole CPU. On another supply budget is wanted while others have the CPU, too, and the pace A is not
//! enough: then children have less than they were promised where siblings sleep. Let the scheduler have at least R*t in
//! any window of length t (from the length on that the analysis of reservations needs), and let the pace be A + 1 - R,
//! or 1 if that is less. In a window in which S >= R*t is supplied, the budget that is used is no less than S less the
//! integral of R - A where A < R, which is no less than the integral of A where the sum of all U passes the test of
//! reservations. R is `rate-ppm`. Interrupts that are declared make a CPU such a supply. An only child is promised
//! what it is promised in any case: its budget lasts no shorter than its time.
//!
//! A hard server (soft=0) has x, and what it reclaims, in each period: RESBS. When it wakes up before V it goes on,
//! with no more of its budget than the rest of the period is worth. One with soft=1 runs ahead, as in the paper, and
//! has its bandwidth since it woke up: PS. On several CPUs budgets are used as fast as time goes by, so the servers are
//! as in `cbs.rs`.

use super::claims::{carried, claims};
use super::{Entry, Instance, Limits, Provided, Refused, reservation};
use crate::derivation::Rule;
use crate::description::WHOLE_RATE;
use crate::guarantee::Guarantee;
use crate::rational::{Rational, percent_ceil, whole};
use num_traits::{One, Zero};
use std::sync::Arc;

pub(super) const ENTRY: Entry = Entry {
    policy: "grub",
    source: "Lipari and Baruah, ECRTS 2000; below less than a CPU, budgets fall faster",
    accepts: "ALL (of one CPU or several), or any supply that carries the demand and rate-ppm",
    provides: "RESBS budget,period to every child; PS budget/period to those with soft=1",
    limits: Limits::Nothing,
    provide,
};

const RULE: Rule = Rule { name: "GRUB", source: ENTRY.source };

fn provide(instance: &Instance) -> Provided {
    let mut provided = reservation::provide(instance).by(RULE);
    if !provided.complaints.is_empty() {
        return provided;
    }
    if let Err((needed, found)) = reclaims_no_more_than_is_there(instance) {
        return instance.nothing_because(RULE, needed, found);
    }
    for (child, label) in provided.labels.iter_mut().enumerate() {
        let is_soft = instance.child_param(child, "soft").is_some_and(|soft| soft.is_one());
        label.guarantee = match &label.guarantee {
            Guarantee::Reservation { amount, period, .. } if is_soft => {
                Guarantee::Ps { share: amount / period }
            }
            hard => hard.softened(),
        };
        Arc::make_mut(&mut label.derivation).conclusion = label.guarantee.clone();
    }
    provided
}

/// Where budgets may fall slower than time, on one VP, and something else than a whole CPU is held, that carries
/// `rate-ppm`.
fn reclaims_no_more_than_is_there(instance: &Instance) -> Result<(), Refused> {
    let (Ok(held), Ok(claims)) = (instance.single_vp(), claims(instance, RULE)) else { return Ok(()) };
    if held.guarantee == Guarantee::All || claims.len() == 1 {
        return Ok(());
    }
    let rate = instance.param("rate-ppm").map_or_else(Rational::one, |rate| rate / whole(WHOLE_RATE));
    let sum = format!("rate-ppm, {}", percent_ceil(&rate));
    let start = claims.iter().map(|claim| &claim.period - &claim.budget).min().unwrap_or_else(Rational::zero);
    carried(&held.supply(), &[rate].into_iter().collect(), &sum, &start, instance.work).map(drop)
}

#[cfg(test)]
mod tests {
    use crate::schedulers::tests::labels;

    const HARD: [(&str, u64); 2] = [("budget", 2), ("period", 10)];
    const SOFT: [(&str, u64); 3] = [("budget", 2), ("period", 10), ("soft", 1)];

    #[test]
    fn a_whole_cpu_needs_no_rate() {
        let promised = |held, params: &[(&str, u64)]| labels("grub", held, params, &[&HARD, &SOFT]);
        assert_eq!(promised("ALL", &[]), ["RESBS 2ns 10ns", "PS 1/5"]);
        assert_eq!(promised("ALL", &[("rate-ppm", 100_000)]), ["RESBS 2ns 10ns", "PS 1/5"]);
    }

    #[test]
    fn less_than_a_cpu_must_carry_the_rate() {
        let promised = |held, rate| labels("grub", held, &[("rate-ppm", rate)], &[&HARD, &SOFT]);
        // sbf(8) = 9/10*8 - 1 = 6.2, which is 77.5% of 8.
        assert_eq!(promised("PSBE 9/10 1ns", 775_000), ["RESBS 2ns 10ns", "PS 1/5"]);
        assert_eq!(promised("PSBE 9/10 1ns", 775_001), ["NULL"; 2]);
        assert_eq!(promised("PSBE 9/10 1ns", 1_000_000), ["NULL"; 2]);
        // Whatever the rate is, the servers need 40%.
        assert_eq!(promised("PSBE 9/10 1ns", 1), ["RESBS 2ns 10ns", "PS 1/5"]);
        assert_eq!(promised("PSBE 1/3 0ns", 1), ["NULL"; 2]);
        // An only child has what the supply has in a period.
        assert_eq!(labels("grub", "RESBS 3ns 5ns", &[], &[&HARD]), ["RESBS 2ns 10ns"]);
    }
}
