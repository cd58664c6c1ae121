//! Stride scheduling (C. A. Waldspurger, W. E. Weihl, "Stride Scheduling", MIT 1995; HLS section 5.1).
//!
//! The child with the least pass runs for a quantum, and its pass grows by used/share. While no child sleeps, passes
//! are the start tags of SFQ. As published a child that sleeps keeps the distance of its pass from the global one, and
//! takes up again at that distance: several children that are owed time can wake up at once, after the others have
//! shared out the time that the sleepers left, and no bound has been shown for what the others then miss. So this is
//! stride with SFQ's rule for waking: a child goes on at its own pass or at the running child's pass (the greatest so
//! far, if none runs), whichever is the greater. No child is owed time for its sleep, passes are start tags throughout,
//! and SFQ's bounds hold.

use super::{Entry, Instance, Limits, Provided, proportional_share};
use crate::derivation::Rule;

pub(super) const ENTRY: Entry = Entry {
    policy: "stride",
    source: "Waldspurger and Weihl 1995, waking as in SFQ",
    accepts: proportional_share::ENTRY.accepts,
    provides: proportional_share::ENTRY.provides,
    limits: Limits::Nothing,
    provide,
};

const RULE: Rule = Rule { name: "stride, passes as SFQ's start tags", source: ENTRY.source };

fn provide(instance: &Instance) -> Provided {
    proportional_share::provide(instance).by(RULE)
}
