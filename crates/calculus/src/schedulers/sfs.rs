//! Surplus fair scheduling (A. Chandra, M. Adler, P. Goyal, P. Shenoy, "Surplus Fair Scheduling: A Proportional-Share
//! CPU Scheduling Algorithm for Symmetric Multiprocessors", OSDI 2000; HLS section 5.1).
//!
//! On p CPUs nobody can use more than one of them: a weight above 1/p of the sum is cut to that, the largest first,
//! the others sharing what is left. The share of a child is then p*w/sum of the CPU that it can use. When siblings
//! sleep, the shares so found of the others only grow. The error is not bounded, so this is PS: it says nothing of
//! any finite window, and holds in the long run.
//!
//! On several CPUs each must be ALL: slower processors do not keep step with each other. On one it is SFQ.

use super::description::{Description, SHARE};
use super::{Entry, Instance, Limits, Provided, Refused};
use crate::derivation::Rule;
use crate::guarantee::{Guarantee, Kind};
use crate::rational::{Rational, whole};
use crate::rewrite::rewrite;
use num_traits::{One, Zero};
use std::cmp::Reverse;

pub(super) const ENTRY: Entry = Entry {
    policy: "sfs",
    source: "Chandra et al., OSDI 2000",
    accepts: "ALL of several CPUs; on one CPU PS s and whatever implies it",
    provides: "PS share to every child, of the CPUs together and at most 1",
    joins: false,
    limits: Limits::Nothing,
    description: Some(Description {
        doc: "shares of several CPUs, the least surplus first",
        scheduler_params: &[],
        vp_params: &[SHARE],
    }),
    provide,
};

const RULE: Rule = Rule { name: "SFS", source: ENTRY.source };

fn provide(instance: &Instance) -> Provided {
    let Some(weights) = instance.weights() else {
        return instance.nothing_because(RULE, "a share above 0 for every child", "one without");
    };
    match processors(instance) {
        Err((needed, found)) => instance.nothing_because(RULE, needed, found),
        Ok(None) => instance.nothing(RULE, "shares of nothing that is promised"),
        Ok(Some((cpus, share))) => {
            let labels = readjusted(&weights, cpus).into_iter().map(|part| {
                let formula = format!("{part} after readjustment to {cpus} CPUs, of {share}");
                instance.label(Guarantee::Ps { share: part * &share }, RULE, formula)
            });
            Provided { labels: labels.collect(), complaints: Vec::new() }
        }
    }
}

/// How many CPUs there are, and the share of each; `None` where nothing is promised.
fn processors(instance: &Instance) -> Result<Option<(u16, Rational)>, Refused> {
    if let [slot] = instance.held.as_slice()
        && slot.width > 1
    {
        if slot.label.guarantee != Guarantee::All {
            return Err(("ALL on every CPU".into(), slot.label.absolute().rounded_for_people()));
        }
        if let Some(child) = instance.children.iter().position(|edge| edge.width > 1 || edge.pinned) {
            let needed = "children of one VP each that may use every CPU".into();
            return Err((needed, format!("{}, which is not", instance.names[child])));
        }
        return Ok(Some((slot.label.count, Rational::one())));
    }
    let held = instance.single_vp().map_err(|found| ("one VP a child".to_owned(), found))?.absolute();
    Ok(match rewrite(&held, Kind::Ps) {
        Some((Guarantee::Ps { share }, _)) => Some((1, share)),
        _ => None,
    })
}

/// The share of one CPU for each weight (Chandra et al., section 2.1): whoever is due more than one CPU gets one, the
/// greatest first; the rest share what is left.
fn readjusted(weights: &[Rational], cpus: u16) -> Vec<Rational> {
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by_key(|child| Reverse(&weights[*child]));
    let (mut cpus, mut sum) = (whole(u64::from(cpus)), weights.iter().sum::<Rational>());
    let mut shares = vec![Rational::zero(); weights.len()];
    for child in order {
        let weight = &weights[child];
        if weight * &cpus >= sum {
            shares[child] = Rational::one();
            cpus -= Rational::one();
            sum -= weight;
        } else {
            shares[child] = weight * &cpus / &sum;
        }
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_gets_more_than_a_cpu() {
        let shares = |weights: &[u64], cpus| -> Vec<String> {
            let weights: Vec<Rational> = weights.iter().map(|weight| whole(*weight)).collect();
            readjusted(&weights, cpus).iter().map(Rational::to_string).collect()
        };
        // 1 : 10 on two CPUs is the paper's infeasible example; 1 : 1 : 10 leaves one CPU to the first two.
        assert_eq!(shares(&[1, 10], 2), ["1", "1"]);
        assert_eq!(shares(&[1, 1, 10], 2), ["1/2", "1/2", "1"]);
        assert_eq!(shares(&[1, 1, 2], 2), ["1/2", "1/2", "1"]);
        assert_eq!(shares(&[2, 3, 3], 2), ["1/2", "3/4", "3/4"]);
        assert_eq!(shares(&[1, 3], 1), ["1/4", "3/4"]);
        assert_eq!(shares(&[1], 4), ["1"]);
        assert_eq!(shares(&[], 4), [""; 0]);
    }
}
