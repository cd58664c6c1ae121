//! Rialto/NT: a time table over harmonic periods (M. B. Jones, J. Regehr, "CPU Reservations and Time Constraints:
//! Implementation Experience on Windows NT", USENIX Windows NT Symposium 1999; HLS section 5.1).
//!
//! Each period divides the next longer one, and an amount may be split over several slots. The table is filled from the
//! shortest period on: the slots that are placed so far repeat within the next period, so that the next child finds its
//! slots, at the same offsets of each of its periods, if and only if the sum of x/y is at most 1. A window as long as a
//! child's period sees all of the child's slots, while the table stays as it is.
//!
//! The table changes when children come and go, which happens while others run (threads arrive). A child that comes
//! goes behind the children of its period, and moves the slots of longer periods to later places of these. A child that
//! goes leaves its slots behind until all periods end (`policies/rialto_nt.c`). So within a period of y, which begins
//! at a multiple of y, slots only move to later places: at no point of the period has a child had less than the table
//! in force gives it up to there, so in all it has x. This is RESBS x,y. No slots of the shortest period ever move to
//! later places, nor do they when children go: from the end of all periods on, they lie where they lay, or before that,
//! so a window over that end sees no less than x. Such a child has RESCS x,y. So has every child in the paper, where
//! tables do not change.
//!
//! On another supply nothing is known: an amount may be split over any number of slots, also by siblings that have
//! gone, and a short slot may hold none of the supply.

use super::claims::{claims, load, spelled_out};
use super::{Entry, Instance, Limits, Provided};
use crate::derivation::Rule;
use crate::guarantee::Guarantee;
use crate::rational::{Rational, time_exact};
use num_traits::One;

pub(super) const ENTRY: Entry = Entry {
    policy: "rialto-nt",
    source: "Jones and Regehr, USENIX Windows NT Symposium 1999",
    accepts: "ALL of one CPU; periods of which each divides the next, utilisation at most 1, 32 children at most",
    provides: "RESCS budget,period to the children of the shortest period, RESBS to the others",
    limits: Limits::Nothing,
    provide,
};

const RULE: Rule = Rule {
    name: "Rialto/NT, harmonic time table",
    source: "Jones and Regehr 1999: sum x/y <= 1, slots may be split",
};

/// The most children that the policy takes.
const MAX_CHILDREN: usize = 32;

fn provide(instance: &Instance) -> Provided {
    if let Err((needed, found)) = instance.whole_cpu() {
        return instance.nothing_because(RULE, needed, found);
    }
    let claims = match claims(instance, RULE) {
        Ok(claims) => claims,
        Err(provided) => return provided,
    };
    if claims.len() > MAX_CHILDREN {
        let found = format!("{} children", claims.len());
        return instance.nothing_because(RULE, format!("{MAX_CHILDREN} children at most"), found);
    }
    let mut periods: Vec<&Rational> = claims.iter().map(|claim| &claim.period).collect();
    periods.sort();
    if let Some(pair) = periods.windows(2).find(|pair| !(pair[1] / pair[0]).is_integer()) {
        let found = format!("{} and {}", time_exact(pair[0]), time_exact(pair[1]));
        return instance.nothing_because(RULE, "periods of which each divides the next", found);
    }
    let load = load(&claims);
    let sum = spelled_out(&claims, &load);
    if !load.at_most(&Rational::one()) {
        return instance.nothing_because(RULE, "a utilisation of at most 100%", format!("{sum} > 100%"));
    }
    let formula = format!("{sum} <= 100%, harmonic periods");
    let shortest = periods.first().map(|period| (*period).clone());
    let labels = claims.into_iter().map(|claim| {
        let guarantee = if shortest.as_ref() == Some(&claim.period) {
            Guarantee::rescs(claim.budget, claim.period)
        } else {
            Guarantee::resbs(claim.budget, claim.period)
        };
        instance.label(guarantee, RULE, &formula)
    });
    Provided { labels: labels.collect(), complaints: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::super::tests::claimed;

    #[test]
    fn no_more_children_are_accepted_than_the_policy_takes() {
        let claims = |children: usize| vec![(1, 100); children];
        assert!(claimed("rialto-nt", "ALL", &claims(32)).iter().all(|label| label == "RESCS 1ns 100ns"));
        assert_eq!(claimed("rialto-nt", "ALL", &claims(33)), vec!["NULL"; 0]);
    }
}
