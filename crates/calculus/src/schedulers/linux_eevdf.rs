//! Linux's fair class since 6.6: EEVDF with weights by nice, and with lag that survives sleep.
//!
//! Nothing is promised, not even a share in the long run. The proof of Stoica et al. needs a virtual time that never
//! goes back (see `eevdf.rs`). Here V is a mean, and goes back when a child comes with a lag that it kept; that costs
//! the others as much as they had too much before, but the children that pay need not be the ones that had it. Say a
//! child of weight e never sleeps. Another one, of weight w, waits until it has a lag of l beside children of a great
//! weight W, and sleeps: that forgives the others w*l; the child of weight e gets a part e/W of it. When the W sleep,
//! too, the other one wakes up, and is paid by the child of weight e alone, which waits for l*w*(e + w)/e. So it has
//! e*l*(1 + w/W) in a time of l*(W + w + e) + l*w*(e + w)/e. For e = 1, w = 30 and W = 100 that is a sixth of its
//! share, e/(e + w + W).

use super::{Entry, Instance, Limits, Provided};
use crate::derivation::Rule;

pub(super) const ENTRY: Entry = Entry {
    policy: "linux-eevdf",
    source: "Linux 6.12, kernel/sched/fair.c",
    accepts: "anything",
    provides: "NULL to every child; ALL where there is a CPU for each",
    limits: Limits::Nothing,
    provide,
};

const RULE: Rule = Rule { name: "Linux's EEVDF", source: ENTRY.source };

fn provide(instance: &Instance) -> Provided {
    let reason = "what many children owe may be paid by the few that are there, so nothing is promised";
    instance.a_cpu_each().unwrap_or_else(|| instance.nothing(RULE, reason))
}

#[cfg(test)]
mod tests {
    use super::super::tests::labels;

    #[test]
    fn shares_are_not_promised() {
        let usual: &[(&str, u64)] = &[("priority", 20)];
        assert_eq!(labels("linux-eevdf", "ALL", &[("slice", 3)], &[usual, usual]), ["NULL", "NULL"]);
        assert_eq!(labels("linux-eevdf", "ALL", &[("slice", 3)], &[usual]), ["ALL"]);
    }
}
