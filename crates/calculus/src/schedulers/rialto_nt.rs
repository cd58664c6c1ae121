//! Rialto/NT: a time table over harmonic periods (M. B. Jones, J. Regehr, "CPU Reservations and Time Constraints:
//! Implementation Experience on Windows NT", USENIX Windows NT Symposium 1999; HLS section 5.1).
//!
//! Each period divides the next longer one, and an amount may be split over several slots. The table is filled from the
//! shortest period on: the slots that are placed so far repeat within the next period, so that the next child finds its
//! slots, at the same offsets of each of its periods, if and only if the sum of x/y is at most 1. A window as long as a
//! child's period sees all of the child's slots: RESCS x,y. On RESU the amount is received within the slots, hence
//! within each period: RESBS.

use super::claims::{claims_on_processor, load, spelled_out};
use super::{Entry, Instance, Limits, Provided};
use crate::derivation::Rule;
use crate::description::{BUDGET, Description, PERIOD};
use crate::guarantee::Guarantee;
use crate::rational::{Rational, time_exact};
use num_traits::One;

pub(super) const ENTRY: Entry = Entry {
    policy: "rialto-nt",
    source: "Jones and Regehr, USENIX Windows NT Symposium 1999",
    accepts: "ALL or RESU; periods of which each divides the next, utilisation at most 1",
    provides: "RESCS budget,period to every child; below RESU RESBS",
    joins: false,
    limits: Limits::Nothing,
    description: Some(Description {
        doc: "a time table for periods of which each divides the next",
        scheduler_params: &[],
        vp_params: &[BUDGET, PERIOD],
    }),
    provide,
};

const RULE: Rule = Rule {
    name: "Rialto/NT, harmonic time table",
    source: "Jones and Regehr 1999: sum x/y <= 1, slots may be split",
};

fn provide(instance: &Instance) -> Provided {
    let (held, claims) = match claims_on_processor(instance, RULE) {
        Ok(both) => both,
        Err(provided) => return provided,
    };
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
    let labels = claims.into_iter().map(|claim| {
        let guarantee = match held.guarantee {
            Guarantee::Resu { .. } => Guarantee::resbs(claim.budget, claim.period),
            _ => Guarantee::rescs(claim.budget, claim.period),
        };
        instance.paced(held, guarantee, RULE, &formula)
    });
    Provided { labels: labels.collect(), complaints: Vec::new() }
}
