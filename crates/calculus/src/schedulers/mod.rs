//! One analysis a policy: what a scheduler accepts, what it provides in turn, and its admission test (HLS section 5.1
//! and Table 1). To add one: a file, and a line in [`REGISTRY`].
//!
//! Relies on local knowledge only: what the scheduler holds and the edges that it provides. Never claims what it cannot
//! show for the number of CPUs at hand: NULL with the reason instead.

mod fixed_priority;
mod join;
mod limit;
mod proportional_share;
mod reservation;
mod round_robin;
mod time_sharing;

use crate::caps::Cap;
use crate::derivation::{Derivation, Rule};
use crate::graph::Edge;
use crate::guarantee::Guarantee;
use crate::label::Label;
use crate::local::Mode;
use crate::rational::{Rational, whole};
use std::sync::Arc;

/// The analysis of a policy.
pub struct Entry {
    /// The policy's name, as in the core's registry.
    pub policy: &'static str,
    /// Paper and section.
    pub source: &'static str,
    /// What it accepts, for people.
    pub accepts: &'static str,
    /// What it provides, for people.
    pub provides: &'static str,
    /// Whether an instance may have several parents.
    pub joins: bool,
    /// Whether no VP ever gets more than its `budget` in a `period`, whatever was promised.
    pub limits: bool,
    pub(crate) provide: fn(&Instance) -> Provided,
}

/// Every policy that can be analysed.
pub static REGISTRY: &[Entry] = &[
    fixed_priority::ENTRY,
    time_sharing::ENTRY,
    proportional_share::ENTRY,
    reservation::ENTRY,
    join::ENTRY,
    limit::ENTRY,
    round_robin::ENTRY,
];

/// The analysis of a policy, by its name.
pub fn find(policy: &str) -> Option<&'static Entry> {
    REGISTRY.iter().find(|entry| entry.policy == policy)
}

/// The names of all policies that can be analysed.
pub(crate) fn names() -> String {
    REGISTRY.iter().map(|entry| entry.policy).collect::<Vec<_>>().join(", ")
}

const A_CPU_EACH: Rule =
    Rule { name: "a CPU each", source: "no more VPs below than whole CPUs above: nobody waits" };
pub(crate) const UNKNOWN: Rule = Rule { name: "no analysis", source: "HLS, Table 1" };

/// A VP (or `width` of them) that a scheduler receives.
#[derive(Clone, Copy)]
pub(crate) struct Slot<'a> {
    pub(crate) label: &'a Label,
    pub(crate) width: u16,
}

/// A scheduler and its surroundings: all that an analysis may look at.
pub(crate) struct Instance<'a> {
    pub(crate) params: &'a [(String, u64)],
    /// What it holds: one slot, but for joins.
    pub(crate) held: Vec<Slot<'a>>,
    pub(crate) children: Vec<&'a Edge>,
    /// The children's names.
    pub(crate) names: Vec<&'a str>,
    pub(crate) cpus: u16,
    pub(crate) mode: Mode,
    /// What each child takes at most, where looking below it is allowed and it is limited.
    pub(crate) caps: Vec<Option<Cap>>,
}

/// What a scheduler provides: a label for each child, in order.
pub(crate) struct Provided {
    pub(crate) labels: Vec<Label>,
    pub(crate) complaints: Vec<Complaint>,
}

/// What a scheduler cannot do, about one child or (`None`) about itself.
pub(crate) struct Complaint {
    pub(crate) child: Option<usize>,
    pub(crate) needed: String,
    pub(crate) found: String,
}

impl<'a> Instance<'a> {
    /// The derivations of all that is held.
    pub(crate) fn premises(&self) -> Vec<Arc<Derivation>> {
        self.held.iter().map(|slot| slot.label.derivation.clone()).collect()
    }

    /// A label that follows by a rule from all that is held.
    pub(crate) fn label(&self, guarantee: Guarantee, rule: Rule, formula: impl Into<String>) -> Label {
        Label::new(guarantee, 1, rule, self.premises(), formula.into())
    }

    /// NULL for one child.
    pub(crate) fn null(&self, rule: Rule, reason: impl Into<String>) -> Label {
        self.label(Guarantee::Null, rule, reason)
    }

    /// NULL for every child, which is all that the policy promises here.
    pub(crate) fn nothing(&self, rule: Rule, reason: impl Into<String>) -> Provided {
        let label = self.null(rule, reason);
        Provided { labels: vec![label; self.children.len()], complaints: Vec::new() }
    }

    /// NULL for every child, and a complaint: the policy would promise more if it had what it needs.
    pub(crate) fn nothing_because(
        &self,
        rule: Rule,
        needed: impl Into<String>,
        found: impl Into<String>,
    ) -> Provided {
        let (needed, found) = (needed.into(), found.into());
        let mut provided = self.nothing(rule, format!("needs {needed}, but there is {found}"));
        provided.complaints.push(Complaint { child: None, needed, found });
        provided
    }

    /// ALL for every child, where whole CPUs are held and children can use no more of them: the core requests a VP for
    /// each child that wants a CPU, so nobody waits for a sibling. A VP that may use only some CPUs may have to.
    pub(crate) fn a_cpu_each(&self) -> Option<Provided> {
        let [Slot { label, .. }] = self.held.as_slice() else { return None };
        let wanted: u64 = self.children.iter().map(|edge| u64::from(edge.width.max(1))).sum();
        let unpinned = self.cpus == 1 || !self.children.iter().any(|edge| edge.pinned);
        let enough = label.guarantee == Guarantee::All && wanted <= u64::from(label.count);
        let all = |edge: &&Edge| {
            let formula = format!("{wanted} VPs of children, {} CPUs", label.count);
            Label::new(Guarantee::All, edge.width.max(1), A_CPU_EACH, self.premises(), formula)
        };
        (enough && unpinned)
            .then(|| Provided { labels: self.children.iter().map(all).collect(), complaints: Vec::new() })
    }

    /// What is held, where it is one VP that serves one VP a child: the case that the papers analyse. Otherwise why
    /// not.
    pub(crate) fn single_vp(&self) -> Result<&'a Label, String> {
        let [slot] = self.held.as_slice() else {
            return Err(format!("{} VPs of different parents", self.held.len()));
        };
        if slot.width > 1 {
            return Err(format!("{} VPs, and the analysis holds for one", slot.width));
        }
        match self.children.iter().position(|edge| edge.width > 1) {
            Some(child) => {
                Err(format!("a child, {}, of {} VPs", self.names[child], self.children[child].width))
            }
            None => Ok(slot.label),
        }
    }

    /// A parameter of the instance.
    pub(crate) fn param(&self, name: &str) -> Option<Rational> {
        value(self.params, name)
    }

    /// A parameter of a child's VP.
    pub(crate) fn child_param(&self, child: usize, name: &str) -> Option<Rational> {
        value(&self.children[child].params, name)
    }
}

fn value(params: &[(String, u64)], name: &str) -> Option<Rational> {
    params.iter().find(|(key, _)| key == name).map(|(_, value)| whole(*value))
}

#[cfg(test)]
mod tests {
    //! What no policy that runs today can be given in a whole hierarchy: RESU and PS.
    use super::*;
    use crate::graph::Child;

    /// The labels, in real time, that a policy gives two children alike when it holds `held`.
    fn provided(policy: &str, held: &str, params: &[(&str, u64)], child: &[(&str, u64)]) -> Vec<String> {
        let owned = |list: &[(&str, u64)]| -> Vec<(String, u64)> {
            list.iter().map(|(name, value)| ((*name).into(), *value)).collect()
        };
        let edge = Edge {
            parent: None,
            child: Child::Thread("t".into()),
            params: owned(child),
            requested: None,
            width: 1,
            pinned: false,
        };
        let rule = Rule { name: "test", source: "test" };
        let label = Label::new(Guarantee::parse(held).unwrap(), 1, rule, Vec::new(), String::new());
        let instance = Instance {
            params: &owned(params),
            held: vec![Slot { label: &label, width: 1 }],
            children: vec![&edge, &edge],
            names: vec!["t", "t"],
            cpus: 1,
            mode: Mode::Tight,
            caps: vec![None, None],
        };
        let provided = (find(policy).unwrap().provide)(&instance);
        provided.labels.iter().map(|label| label.absolute().to_string()).collect()
    }

    #[test]
    fn reservations_below_a_slower_processor_count_in_its_time() {
        let claim = [("budget", 10), ("period", 20)];
        let too_much = [("budget", 11), ("period", 20)];
        assert_eq!(provided("reservation", "RESU 1/2", &[], &claim), ["RESBH 5ns 20ns"; 2]);
        assert_eq!(provided("reservation", "RESU 1/2", &[], &too_much), ["NULL"; 2]);
        assert_eq!(provided("reservation", "PS 1/2", &[], &claim), ["NULL"; 2]);
    }

    #[test]
    fn shares_of_slower_processors_and_of_shares() {
        let (quantum, share) = ([("quantum", 8)], [("share", 1)]);
        // PSBE 1/2, 2*8*(1-1/2) = 8, then 8/2 + 8.
        assert_eq!(provided("proportional-share", "RESU 1/2", &quantum, &share), ["PSBE 1/4 12ns"; 2]);
        assert_eq!(provided("proportional-share", "PS 1/2", &quantum, &share), ["PS 1/4"; 2]);
        assert_eq!(provided("proportional-share", "NULL", &quantum, &share), ["NULL"; 2]);
        assert_eq!(provided("proportional-share", "ALL", &[("quantum", 0)], &share), ["NULL"; 2]);
    }

    #[test]
    fn policies_are_registered_once() {
        for entry in REGISTRY {
            let same = REGISTRY.iter().filter(|other| other.policy == entry.policy);
            assert_eq!(same.count(), 1, "{}", entry.policy);
        }
    }
}
