//! Earliest eligible virtual deadline first (I. Stoica et al., "A Proportional Share Resource Allocation Algorithm for
//! Real-Time, Time-Shared Systems", RTSS 1996; HLS section 5.1).
//!
//! The lag of a child, what it should have had less what it has had, stays between -r and max(r, q), where q is the
//! quantum and r the length of the child's own requests (theorem 1 of the paper). In a window the lag can go from one
//! of these to the other, so that delta is r + max(r, q); the paper's delta = q, for requests of a quantum, holds only
//! for windows that begin with no lag. The bound is shown for a whole CPU only.
//!
//! Children that sleep and wake: virtual time V advances by one over the sum of the shares of the children that count.
//! A child that has had too much when it blocks counts until V has caught up with it, and on waking a request begins at
//! V or at the end of what the child has used, whichever is later; time that the child is owed when it blocks is lost
//! to it. When all children that want the CPU have had too much, V moves on to where the first of them is eligible. So
//! in any stretch of virtual time v the requests of a child of share w that begin and end in it come to w*v at most, as
//! the proof of Stoica et al. needs, and V never advances more slowly than with all children counting.

use super::{Entry, Instance, Limits, Provided};
use crate::derivation::Rule;
use crate::guarantee::Guarantee;
use crate::rational::{Rational, time_ceil, whole};
use num_traits::Signed;

pub(super) const ENTRY: Entry = Entry {
    policy: "eevdf",
    source: "Stoica et al., RTSS 1996",
    accepts: "ALL, of one CPU",
    provides: "PSBE s, r + max(r, quantum) to every child, s being its part of all shares, r the length of its \
               requests",
    joins: false,
    limits: Limits::Nothing,
    provide,
};

const RULE: Rule =
    Rule { name: "EEVDF", source: "Stoica et al., RTSS 1996: the lag stays within one quantum" };

/// The core refuses shorter ones, in nanoseconds.
const LEAST_REQUEST: u64 = 10_000;

fn provide(instance: &Instance) -> Provided {
    let held = match instance.single_vp() {
        Ok(label) => label.absolute(),
        Err(found) => return instance.nothing_because(RULE, "ALL, of one CPU", found),
    };
    if !held.is_whole_cpu() {
        return instance.nothing_because(RULE, "ALL, of one CPU", held.rounded_for_people());
    }
    let Some(weights) = instance.weights() else {
        return instance.nothing_because(RULE, "a share above 0 for every child", "one without");
    };
    let Some(quantum) = instance.param("quantum").filter(Rational::is_positive) else {
        return instance.nothing_because(RULE, "a quantum above 0", "none");
    };
    let own = |child| instance.child_param(child, "request").filter(Rational::is_positive);
    let least = whole(LEAST_REQUEST);
    if let Some(short) = (0..weights.len()).filter_map(own).find(|request| *request < least) {
        let needed = format!("requests of {} at least, or 0, which is a quantum", time_ceil(&least));
        return instance.nothing_because(RULE, needed, time_ceil(&short));
    }
    let labels = weights.into_iter().enumerate().map(|(child, share)| {
        let request = own(child).unwrap_or_else(|| quantum.clone());
        let delta = &request + (&request).max(&quantum);
        let (shown, sum) = (time_ceil(&request), time_ceil(&delta));
        let formula =
            format!("delta = r + max(r, q) = {shown} + max({shown}, {}) = {sum}", time_ceil(&quantum));
        instance.label(Guarantee::Psbe { share, delta }, RULE, formula)
    });
    Provided { labels: labels.collect(), complaints: Vec::new() }
}
