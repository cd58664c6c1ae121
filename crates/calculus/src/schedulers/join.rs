//! Join: runs its child whenever any parent grants a CPU (HLS section 5.1).
//!
//! The paper lets the child take any one of the parents' guarantees, softened. All of them hold at once. On one CPU the
//! grants are disjoint as well, so the supplies add up, provided that the join goes on requesting from every parent.
//! The label shows the sum as PSBE sum s, sum d, and carries the exact sum beside it.
//!
//! On several CPUs two parents, or one by two VPs, may grant a CPU at the same time. The join declines the later
//! grant, and requests it again when it loses the first. To most schedulers that is a sleep: proportional share may
//! then serve all others first, and be declined again at its next grant, without end. So a parent's guarantee counts
//! only if it resumes after a declined grant: ALL, or a reservation on whole CPUs, which goes on with what was left of
//! the budget, less the time since the grant was declined, in which the child ran elsewhere.

use super::{Entry, HeldVps, Instance, Limits, Provided};
use crate::derivation::Rule;
use crate::guarantee::Guarantee;
use crate::label::Label;
use crate::rational::time_ceil;
use crate::together::{Sum, Supply};

pub(super) const ENTRY: Entry = Entry {
    policy: "join",
    source: "HLS, section 5.1, strengthened",
    accepts: "anything, from several parents",
    provides: "every parent's guarantee, softened (on several CPUs: if it resumes); on one CPU also their sum",
    limits: Limits::Nothing,
    provide,
};

const ONE: Rule = Rule { name: "join, softened", source: "HLS, section 5.1" };
const SUM: Rule = Rule { name: "join, sum", source: "one CPU: grants are disjoint, supplies add up" };

fn provide(instance: &Instance) -> Provided {
    if instance.children.len() > 1 {
        return instance.nothing_because(ONE, "one child", format!("{} children", instance.children.len()));
    }
    if instance.children.iter().any(|edge| edge.width > 1) {
        return instance.nothing(ONE, "a join has one VP below it");
    }
    let labels = if instance.children.is_empty() { Vec::new() } else { vec![joined(instance)] };
    Provided { labels, complaints: Vec::new() }
}

fn joined(instance: &Instance) -> Label {
    let vps: u32 = instance.held.iter().map(|slot| u32::from(slot.width)).sum();
    let may_decline = instance.cpus > 1 && vps > 1;
    let counts = |slot: &&HeldVps| !may_decline || slot.label.resumes;
    let held: Vec<Supply> =
        instance.held.iter().filter(counts).map(|slot| slot.label.supply().softened()).collect();
    let each = Supply::best(held.iter().cloned());
    let promising = held.iter().filter(|supply| supply.bounded().is_some()).count();
    if instance.cpus == 1 && promising > 1 {
        instance.work.take(held.iter().map(|supply| supply.sums().len() * held.len()).sum());
        let together = Supply::sum(&held);
        if let Some((guarantee, formula)) = added_up(&together) {
            let label = instance.label(guarantee, SUM, formula);
            return Label { beside: Supply::best([together, each]), ..label };
        }
    }
    let mut alone = each.sums().iter().filter_map(|sum| match sum.0.as_slice() {
        [alone] => Some(alone.clone()),
        _ => None,
    });
    match alone.next() {
        None if held.len() < instance.held.len() => instance
            .null(ONE, "a parent whose grant is declined, while the child runs elsewhere, may begin anew"),
        None => instance.null(ONE, "no parent promises anything"),
        Some(strongest) => {
            let label = instance.label(strongest, ONE, "the strongest parent's, without its upper limit");
            Label { beside: each, ..label }
        }
    }
}

/// The strongest of the sums as one guarantee, and how its numbers come about.
fn added_up(together: &Supply) -> Option<(Guarantee, String)> {
    let sum = together.sums().first()?;
    let (share, delta) = sum.bounded()?;
    let terms: Vec<Sum> = sum.0.iter().map(|part| Sum(vec![part.clone()])).collect();
    let bounds: Vec<_> = terms.iter().filter_map(Sum::bounded).collect();
    let list = |terms: Vec<String>| terms.join(" + ");
    let formula = format!(
        "{sum}: s = {} = {share}; delta = {} = {}",
        list(bounds.iter().map(|(share, _)| share.to_string()).collect()),
        list(bounds.iter().map(|(_, delta)| time_ceil(delta)).collect()),
        time_ceil(&delta)
    );
    Some((Guarantee::Psbe { share, delta }, formula))
}
