//! Budgets that a machine cannot enforce. The timer that ends a budget goes off late; an engine measures how late when
//! it is attached. A VP with a smaller budget would have more than twice as much each time, and nothing in the periods
//! that pay its debt (`core/budget.h`): such a budget is refused.
//!
//! Relies on the policies' naming their parameter `budget`. Measures nothing.

use crate::advice::edge_name;
use hls_core::{PolicyInfo, Unit};
use hls_hierarchy::Diagnostic;
use hls_hierarchy::model::Hierarchy;
use hls_units::Nanos;

/// What policies call the CPU time that a VP gets in a period.
const BUDGET: &str = "budget";

/// The budget among the parameters of a VP below this policy, in the order of the policy's list, if it is smaller than
/// what a timer of the machine lets a VP overrun; `None`: it is not smaller, or the policy has no budgets.
pub fn unenforceable_budget(policy: &PolicyInfo, params: &[u64], overrun: Nanos) -> Option<Nanos> {
    let is_budget = |info: &hls_core::ParamInfo| info.name == BUDGET && info.unit == Unit::Time;
    let at = policy.vp_params.iter().position(is_budget)?;
    params.get(at).map(|budget| Nanos(*budget)).filter(|budget| *budget < overrun)
}

/// The budgets of a hierarchy that are smaller than what a timer of the machine lets a VP overrun, each as an error at
/// its place in the file, with both figures.
pub fn unenforceable_budgets(hierarchy: &Hierarchy, overrun: Nanos) -> Vec<Diagnostic> {
    let refusal = |edge: &hls_hierarchy::model::Edge| {
        // A user cannot mend what the file does not have.
        if edge.parent == hierarchy.stealing {
            return None;
        }
        let policy = hierarchy.schedulers[edge.parent?].policy;
        let budget = unenforceable_budget(policy, &edge.params, overrun)?;
        let message = format!("the budget of {}", edge_name(hierarchy, edge));
        Some(Diagnostic::error(edge.span.clone(), message, budget.to_string(), at_least(overrun)))
    };
    hierarchy.edges.iter().filter_map(refusal).collect()
}

/// What is expected of a budget, in words.
pub fn at_least(overrun: Nanos) -> String {
    format!("{overrun} at least: the timers of this machine let a thread overrun it by that much")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"machine cpus=1
fixed-priority "FP" {
    reservation "RES" priority=2 {
        thread "small" guarantee="RESBH 20us 500us"
        thread "large" guarantee="RESBH 1ms 10ms"
        join "J" guarantee="RESBH 30us 1ms"
    }
    limit "LIM" priority=1 { thread "capped" budget="15us" period="1ms"; }
    join "J" priority=0
}
round-robin "RR" parent="J" { thread "rest"; }
"#;

    fn refused(overrun: u64) -> Vec<(usize, String)> {
        let hierarchy = hls_hierarchy::read(FILE.as_bytes()).unwrap().0;
        let line = |offset: usize| FILE[..offset].lines().count();
        let all = unenforceable_budgets(&hierarchy, Nanos(overrun)).into_iter();
        all.map(|found| (line(found.span.start), format!("{}: found {}", found.message, found.found)))
            .collect()
    }

    #[test]
    fn budgets_below_the_overrun_are_refused_at_their_place() {
        let said = |line, text: &str| (line, text.to_owned());
        assert_eq!(
            refused(30_001),
            [
                said(4, "the budget of `small`: found 20us"),
                said(6, "the budget of `J` below `RES`: found 30us"),
                said(8, "the budget of `capped`: found 15us"),
            ]
        );
        assert_eq!(refused(20_000), [said(8, "the budget of `capped`: found 15us")]);
    }

    #[test]
    fn a_budget_of_the_overrun_can_be_enforced() {
        assert_eq!(refused(15_000), []);
        assert_eq!(refused(0), []);
    }

    #[test]
    fn the_error_has_the_figure() {
        let hierarchy = hls_hierarchy::read(FILE.as_bytes()).unwrap().0;
        let found = unenforceable_budgets(&hierarchy, Nanos(16_000));
        let expected = "16us at least: the timers of this machine let a thread overrun it by that much";
        assert_eq!(found.iter().map(|found| found.expected.as_str()).collect::<Vec<_>>(), [expected]);
    }

    #[test]
    fn a_policy_without_budgets_refuses_none() {
        let policy = |name| hls_core::policies().iter().find(|policy| policy.name == name).unwrap();
        assert_eq!(unenforceable_budget(policy("proportional-share"), &[1, 0], Nanos(1_000_000)), None);
        let res = policy("reservation");
        assert_eq!(unenforceable_budget(res, &[20_000, 500_000], Nanos(20_001)), Some(Nanos(20_000)));
    }
}
