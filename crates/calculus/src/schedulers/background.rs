//! Background service (Lehoczky, Sha and Strosnider, RTSS 1987): periodic tasks by rate monotonic priorities, and the
//! others when none of them wants the CPU.
//!
//! No child is limited, so this is fixed priority: the child with the shortest period, if no other has the same, has
//! what the scheduler has, and nothing is certain to be left for the others. Children without a period share the lowest
//! level.

use super::{Entry, Instance, Limits, Provided, fixed_priority};
use num_traits::Zero;

pub(super) const ENTRY: Entry = Entry {
    policy: "background",
    source: "Lehoczky, Sha and Strosnider, RTSS 1987",
    accepts: "anything",
    provides: "what it holds to the child with the shortest period; NULL to the others, or what limited siblings leave \
               over (--global)",
    limits: Limits::Nothing,
    provide,
};

fn provide(instance: &Instance) -> Provided {
    let priority = |child| {
        let period = instance.child_param(child, "period").filter(|period| !period.is_zero());
        period.map(|period| -period)
    };
    fixed_priority::provide_by(instance, &priority)
}

#[cfg(test)]
mod tests {
    use crate::schedulers::tests::labels;

    #[test]
    fn the_shortest_period_has_it_all() {
        let promised = |periods: &[u64]| {
            let params: Vec<_> = periods.iter().map(|period| [("period", *period)]).collect();
            let children: Vec<&[(&str, u64)]> = params.iter().map(|params| &params[..]).collect();
            labels("background", "RESBS 2ns 5ns", &[], &children)
        };
        assert_eq!(promised(&[20, 0, 10]), ["NULL", "NULL", "RESBS 2ns 5ns"]);
        assert_eq!(promised(&[10, 10]), ["NULL"; 2]);
        assert_eq!(promised(&[0]), ["RESBS 2ns 5ns"]);
        assert_eq!(promised(&[0, 0]), ["NULL"; 2]);
    }
}
