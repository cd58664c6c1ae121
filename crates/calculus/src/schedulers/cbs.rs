//! Constant bandwidth servers, hard and soft (L. Abeni, G. Buttazzo, "Integrating Multimedia Applications in Hard
//! Real-Time Systems", RTSS 1998; HLS section 5.1).
//!
//! In the publication a server that has used its budget gets a new one at once, with a later deadline: a greedy child
//! runs ahead while others sleep, and then has nothing for as long. By any deadline d that it is given it has all of
//! its budgets up to d, so it has its bandwidth since it woke up, less a budget; but no window is certain to have any.
//! That is PS x/y, for children with soft=1. The others sleep until the deadline, which renews budget and deadline.
//!
//! And in the publication a server (x in every y) that wakes up at w, before its deadline d, with more budget c than
//! (d-w)*x/y begins a new period at once: the lower bound holds, but children that sleep and wake then have up to 2x +
//! (t-2x)*x/y in a window of length t, more than RESBH allows. So a hard one's c is cut to (d-w)*x/y. That is no less
//! than RESBH promises, since d-w is at most y.
//!
//! Servers of both kinds demand what the reservation scheduler's servers do, so the analysis of that scheduler holds: a
//! soft one's next budget comes earlier, but is due no earlier.

use super::{Entry, Instance, Limits, Provided, reservation};
use crate::derivation::Rule;
use crate::guarantee::Guarantee;
use num_traits::One;
use std::sync::Arc;

pub(super) const ENTRY: Entry = Entry {
    policy: "cbs",
    source: "Abeni and Buttazzo, RTSS 1998; hard budgets are cut on waking",
    accepts: "ALL (of one CPU or several), RESU, or any supply that carries the demand",
    provides: "RESBH budget,period to every child; PS budget/period to those with soft=1",
    limits: Limits::Nothing,
    provide,
};

const RULE: Rule = Rule { name: "CBS", source: ENTRY.source };

fn provide(instance: &Instance) -> Provided {
    let mut provided = reservation::provide(instance).by(RULE);
    for (child, label) in provided.labels.iter_mut().enumerate() {
        let is_soft = instance.child_param(child, "soft").is_some_and(|soft| soft.is_one());
        if let Guarantee::Reservation { amount, period, .. } = &label.guarantee
            && is_soft
        {
            label.guarantee = Guarantee::Ps { share: amount / period };
            Arc::make_mut(&mut label.derivation).conclusion = label.guarantee.clone();
        }
    }
    provided
}
