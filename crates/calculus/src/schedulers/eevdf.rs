//! Earliest eligible virtual deadline first (I. Stoica et al., "A Proportional Share Resource Allocation Algorithm for
//! Real-Time, Time-Shared Systems", RTSS 1996; HLS section 5.1).
//!
//! The lag of a child is what it should have had less what it has had: w*(V - ve) for a child of share w that has used
//! its share up to the virtual time ve. It stays between -r and max(r, q), where q is the quantum and r the length of
//! the child's own requests (theorem 1 of the paper). In a window the lag can go from one of these to the other, so
//! that delta is r + max(r, q); the paper's delta = q, for requests of a quantum, holds only for windows that begin
//! with no lag. All of this counts CPU time that the scheduler has: V stands still while it has none, and a quantum
//! that is broken off only lets an earlier deadline go first. So of PSBE s,d a child of weight w has PSBE s*w, w*d +
//! delta.
//!
//! Children that sleep, wake, come and go. V advances by one over W, the sum of the shares that count. A child that has
//! had too much when it blocks counts until V has caught up with it, and on waking a request begins at V or at the end
//! of what the child has used, whichever is later; time that the child is owed when it blocks is lost to it. The debts
//! of children that have left for good are added up, and so are their shares, which count until V has advanced by the
//! sum of the debts over the sum of these shares. When all children that want the CPU have had too much, V moves on to
//! where the first of them is eligible: over the debts of children that sleep, which are paid then. The paper has V
//! jump back or forth when a child comes or goes; here it never goes back, but the proof is the paper's:
//!
//! - Lag at least -r: a request begins when ve <= V, and is over after r.
//! - Lag at most r up to a request's virtual deadline d = ve + r/w, by definition. Say that it is not served by then,
//!   and let a request with a later deadline have been chosen last at the instant t, at V = v. Then no eligible one
//!   with a deadline up to d was waiting, so all that is served from t on, except the quantum chosen at t, is requests
//!   that begin at v or later and have deadlines up to d. No two requests of a child, or of one that left, overlap in
//!   virtual time, and while V passes their time the child's share counts: they come to the integral of W from v to d
//!   at most. That is the CPU time given from t on, since V moves on without CPU time only where nothing is eligible,
//!   and here something was. So when V = d, no more than the length q of that quantum is unserved, all of which is
//!   served before anything else. In the time x that it takes V advances by x/W, and w*x/W <= x: the lag is at most q.
//! - V advances by at least one over the sum of all shares, including the shares of children that have left with debts.
//!   The shares of new children that come meanwhile are not included: until the debts are paid, by CPU time of one
//!   request each, the new promises may be late by as much.
//!
//! V is rounded down, twice here: CPU time of less than W units of 1/256 ns waits to advance V, and V itself is less
//! than one unit behind. The quantum chosen at t has begun a nanosecond at least before what waits for it comes. That
//! makes up for both where all shares come to less than 128; else delta is longer by W/128 ns.

use super::proportional_share::as_psbe;
use super::{Entry, Instance, Limits, Provided};
use crate::derivation::Rule;
use crate::guarantee::{Guarantee, Kind};
use crate::label::Label;
use crate::rational::{Rational, time_ceil, whole};
use crate::rewrite::rewrite;
use num_traits::Signed;

pub(super) const ENTRY: Entry = Entry {
    policy: "eevdf",
    source: "Stoica et al., RTSS 1996",
    accepts: "PSBE s and whatever implies it; PS s",
    provides: "PSBE s*w, w*delta + r + max(r, quantum) to every child, w being its part of all shares, r the length \
               of its requests; under PS only PS s*w",
    limits: Limits::Nothing,
    provide,
};

const RULE: Rule =
    Rule { name: "EEVDF", source: "Stoica et al., RTSS 1996: the lag stays within one quantum" };

/// The core refuses shorter ones, in nanoseconds.
const LEAST_REQUEST: u64 = 10_000;

/// This many units of share cost a nanosecond by rounding virtual time.
const UNITS: u64 = 128;

fn provide(instance: &Instance) -> Provided {
    let held = match instance.single_vp() {
        Ok(label) => label.absolute(),
        Err(found) => return instance.nothing_because(RULE, "one VP a child", found),
    };
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
    let labels = match (rewrite(&held, Kind::Psbe), held) {
        (Some((Guarantee::Psbe { share, delta }, rule)), held) => {
            let above = Guarantee::Psbe { share: share.clone(), delta: delta.clone() };
            let premise = as_psbe(instance, above, rule);
            let rounding = rounding(instance, &held);
            let bound = |(child, weight): (usize, Rational)| {
                let request = own(child).unwrap_or_else(|| quantum.clone());
                let (lag, shown) = lag(&request, &quantum, &rounding);
                let sum = &weight * &delta + lag;
                let formula = format!(
                    "share {share}*{weight}; w*delta + r + max(r, q) = {weight}*{} + {shown} = {}",
                    time_ceil(&delta),
                    time_ceil(&sum)
                );
                let guarantee = Guarantee::Psbe { share: &share * &weight, delta: sum };
                Label::new(guarantee, 1, RULE, vec![premise.clone()], formula)
            };
            weights.into_iter().enumerate().map(bound).collect()
        }
        (_, Guarantee::Ps { share }) => return instance.shares_in_the_long_run(&share, weights, RULE),
        _ => return instance.nothing(RULE, "shares of nothing that is promised"),
    };
    Provided { labels, complaints: Vec::new() }
}

/// By how much a child may be behind its share in a window, and how that comes about.
fn lag(request: &Rational, quantum: &Rational, rounding: &Rational) -> (Rational, String) {
    let (r, q) = (time_ceil(request), time_ceil(quantum));
    let rounded = if rounding.is_positive() { format!(" + {}", time_ceil(rounding)) } else { String::new() };
    (request + request.max(quantum) + rounding, format!("{r} + max({r}, {q}){rounded}"))
}

/// What rounding virtual time costs. Where the scheduler has less than a whole CPU, a quantum may begin anew at the
/// very instant at which something comes that waits for it.
fn rounding(instance: &Instance, held: &Guarantee) -> Rational {
    let total: Rational = instance.shares().into_iter().flatten().sum();
    let rounded = (total / whole(UNITS)).floor();
    if held.is_whole_cpu() { rounded } else { rounded + whole(1) }
}
