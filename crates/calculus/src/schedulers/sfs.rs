//! Surplus fair scheduling (A. Chandra, M. Adler, P. Goyal, P. Shenoy, "Surplus Fair Scheduling: A Proportional-Share
//! CPU Scheduling Algorithm for Symmetric Multiprocessors", OSDI 2000; HLS section 5.1).
//!
//! On one CPU this is SFQ, but the paper states no bound of the error: PS. On p CPUs a weight above 1/p of the sum of
//! all weights is cut to 1/p of it, and the share of a child is p times its weight over the sum, while all children
//! always want a CPU. Where siblings sleep a child may get less than its share, even in the long run: of three children
//! of equal weight on two CPUs, two wake up together just before the third has used up its quantum, and sleep again
//! when they have had one quantum each. While the two sleep the third cannot have more than one CPU, and while they are
//! awake it waits: it has a half of a CPU, not two thirds. SFQ's bound needs tags that stay within a distance of each
//! other, and a waking child that preempts; SFS has neither: a child that ran ahead while the others slept waits
//! without limit. So on several CPUs nothing is promised, unless there is a CPU for each child.

use super::{Entry, Instance, Limits, Provided};
use crate::derivation::Rule;
use crate::guarantee::{Guarantee, Kind};
use crate::rewrite::rewrite;

pub(super) const ENTRY: Entry = Entry {
    policy: "sfs",
    source: "Chandra et al., OSDI 2000",
    accepts: "PS s and whatever implies it, of one CPU; ALL of a CPU for each child",
    provides: "on one CPU PS s*r to every child, r being its part of all shares; ALL where there is a CPU for each",
    limits: Limits::Nothing,
    provide,
};

const RULE: Rule = Rule { name: "SFS", source: ENTRY.source };

fn provide(instance: &Instance) -> Provided {
    let held = match instance.single_vp() {
        Ok(label) => label.absolute(),
        Err(found) => {
            let reason =
                format!("{found}; a child loses part of its share of CPUs if its siblings sleep in step");
            return instance.a_cpu_each().unwrap_or_else(|| instance.nothing(RULE, reason));
        }
    };
    let Some(weights) = instance.weights() else {
        return instance.nothing_because(RULE, "a share above 0 for every child", "one without");
    };
    let Some((Guarantee::Ps { share }, _)) = rewrite(&held, Kind::Ps) else {
        return instance.nothing(RULE, "shares of nothing that is promised");
    };
    instance.shares_in_the_long_run(&share, weights, RULE)
}
