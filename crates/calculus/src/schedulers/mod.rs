//! One analysis a policy: what a scheduler accepts, what it provides in turn, and its admission test (HLS section 5.1
//! and Table 1). To add one: a file here, named after the policy, with a constant `ENTRY`. The build finds it:
//! `build.rs` writes the `mod` line of each such file and the table of their entries, in the order of their names. The
//! tests of the policy are in its file, too, and use the functions of `tests.rs`. Policies with the same analysis share
//! a module that is no policy: `claims`, `responses`, `slower`.
//!
//! Relies on local knowledge only: what the scheduler holds and the edges that it provides. Never claims what it
//! cannot show for the number of CPUs at hand: NULL with the reason instead.

include!(concat!(env!("OUT_DIR"), "/analyses.rs"));

mod claims;
mod declared;
mod responses;
mod slower;

pub use crate::declaration::{Declared, DeclaredError, Signature};
pub use crate::description::{Param, Unit};

use crate::cap::Cap;
use crate::derivation::{Derivation, Rule, refusal};
use crate::graph::{Edge, Policy};
use crate::guarantee::Guarantee;
use crate::label::{Label, speed_floor};
use crate::rational::{Rational, whole};
use crate::rules::Mode;
use crate::work::Work;
use num_traits::{Signed, Zero};
use std::sync::Arc;

/// The analysis of a policy.
#[derive(Debug)]
pub struct Entry {
    /// The policy's name, as in the core's registry.
    pub policy: &'static str,
    /// Paper and section.
    pub source: &'static str,
    /// What the policy accepts, for people.
    pub accepts: &'static str,
    /// What the policy provides, for people.
    pub provides: &'static str,
    /// The most that a VP ever gets, whatever was promised.
    pub limits: Limits,
    pub(crate) provide: fn(&Instance) -> Provided,
}

/// What a policy lets its VPs have at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limits {
    /// Nothing is limited.
    Nothing,
    /// A VP has its `budget` at most in each `period`.
    Budget,
    /// A VP has its `budget` at most in each `period`, and pays for sleep: when it wakes up, the budget that is left is
    /// no more than the rest of the period is worth, or a new period begins (the wake-up rule).
    PaidBudget,
}

impl Entry {
    /// The labels of an instance's children.
    pub(crate) fn provided(&self, instance: &Instance) -> Provided {
        if instance.held.len() > 1 && !instance.joins {
            let found = format!("{} parents", instance.held.len());
            return instance.nothing_because(UNKNOWN, "one parent (only a join takes several)", found);
        }
        (self.provide)(instance)
    }
}

/// The labels of an instance's children, by the analysis of its policy or by what its policy declares. A policy that
/// tells no deadlines has of RESU what [`Label::untold`] says.
pub(crate) fn provide(policy: &Policy, instance: &Instance) -> Provided {
    let has_resu = |slot: &HeldVps| matches!(slot.label.guarantee, Guarantee::Resu { .. });
    if instance.tells_deadlines || !instance.held.iter().any(has_resu) {
        return provide_by(policy, instance);
    }
    let labels: Vec<Label> = instance.held.iter().map(|slot| slot.label.untold(instance.joins)).collect();
    let held = (instance.held.iter().zip(&labels)).map(|(slot, label)| HeldVps { label, ..*slot }).collect();
    let mut provided = provide_by(policy, &Instance { held, ..instance.clone() });
    for (slot, label) in instance.held.iter().zip(&labels) {
        let (told, untold) =
            (slot.label.absolute().rounded_for_people(), label.guarantee.rounded_for_people());
        let explained = format!("{untold} (of {told}, since the policy tells no deadlines)");
        provided.complaints.iter_mut().for_each(|it| it.found = it.found.replacen(&untold, &explained, 1));
    }
    provided
}

fn provide_by(policy: &Policy, instance: &Instance) -> Provided {
    match policy {
        Policy::Declared(declared) => declared.provide(instance),
        Policy::Named(name) => match find(name) {
            Some(entry) => entry.provided(instance),
            None => instance.nothing_because(
                UNKNOWN,
                format!("a policy with an analysis ({})", names()),
                format!("policy `{name}`"),
            ),
        },
    }
}

/// The analysis of a policy, by its name.
pub fn find(policy: &str) -> Option<&'static Entry> {
    REGISTRY.iter().find(|entry| entry.policy == policy)
}

/// The names of all policies that can be analysed.
fn names() -> String {
    REGISTRY.iter().map(|entry| entry.policy).collect::<Vec<_>>().join(", ")
}

const A_CPU_EACH: Rule =
    Rule { name: "a CPU each", source: "no more VPs below than whole CPUs above: nobody waits" };
const UNKNOWN: Rule = Rule { name: "no analysis", source: "HLS, Table 1" };

/// A VP of a parent (or `width` of them) that a scheduler holds, with its label.
#[derive(Clone, Copy)]
pub(crate) struct HeldVps<'a> {
    pub(crate) label: &'a Label,
    pub(crate) width: u16,
}

/// A scheduler with what it holds and what it schedules: all that an analysis may look at.
#[derive(Clone)]
pub(crate) struct Instance<'a> {
    pub(crate) params: &'a [(String, u64)],
    /// As in [`crate::Scheduler`].
    pub(crate) joins: bool,
    /// As in [`crate::Scheduler`].
    pub(crate) tells_deadlines: bool,
    /// What the scheduler holds of each parent; only joins have several.
    pub(crate) held: Vec<HeldVps<'a>>,
    pub(crate) children: Vec<&'a Edge>,
    /// The children's names.
    pub(crate) names: Vec<&'a str>,
    pub(crate) cpus: u16,
    pub(crate) mode: Mode,
    /// What each child takes at most; `None` where nothing limits the child, and where looking below it is not allowed.
    pub(crate) caps: Vec<Option<Cap>>,
    /// How many elementary steps the analysis may still take.
    pub(crate) work: &'a Work,
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

impl Provided {
    /// The labels with another rule, for a policy that uses the analysis of another policy. Whether guarantees resume
    /// under the policy that uses the analysis is not known.
    fn by(mut self, rule: Rule) -> Provided {
        for label in &mut self.labels {
            Arc::make_mut(&mut label.derivation).rule = rule;
            label.resumes &= label.guarantee == Guarantee::All;
        }
        self
    }
}

/// What is needed, and what there is instead, both for people.
pub(crate) type Refused = (String, String);

impl<'a> Instance<'a> {
    /// The derivations of the labels that are held.
    pub(crate) fn premises(&self) -> Vec<Arc<Derivation>> {
        self.held.iter().map(|slot| slot.label.derivation.clone()).collect()
    }

    /// A label that follows by a rule from the labels that are held.
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
        let mut provided = self.nothing(rule, refusal(&needed, &found));
        provided.complaints.push(Complaint { child: None, needed, found });
        provided
    }

    /// ALL for every child, where whole CPUs are held and the children have no more VPs than these: the core requests a
    /// VP for each child that wants a CPU, so no child waits for a sibling. A child that may use only some CPUs may
    /// wait.
    pub(crate) fn a_cpu_each(&self) -> Option<Provided> {
        let [HeldVps { label, .. }] = self.held.as_slice() else { return None };
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

    /// The label that is held, where one VP is held and each child has one VP, which is the case that the papers
    /// analyse. Otherwise what there is instead.
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

    /// The label that is held, where it is one processor, a whole one or a slower one of which the policy tells: ALL or
    /// RESU.
    pub(crate) fn processor(&self) -> Result<&'a Label, Refused> {
        const NEEDED: &str = "ALL or RESU on one CPU";
        let held = self.single_vp().map_err(|found| (NEEDED.to_owned(), found))?;
        match held.guarantee {
            Guarantee::All | Guarantee::Resu { .. } => Ok(held),
            _ => Err((NEEDED.to_owned(), held.absolute().rounded_for_people())),
        }
    }

    /// Whether one whole CPU is held.
    pub(crate) fn whole_cpu(&self) -> Result<(), Refused> {
        const NEEDED: &str = "ALL, of one CPU";
        let held = self.single_vp().map_err(|found| (NEEDED.to_owned(), found))?;
        let found = || (NEEDED.to_owned(), held.absolute().rounded_for_people());
        if held.guarantee == Guarantee::All { Ok(()) } else { Err(found()) }
    }

    /// A label with its amounts in the time of the processor that is held. Below RESU this is the slower processor;
    /// the label has its speed as scale (HLS section 5.1).
    pub(crate) fn paced(
        &self,
        held: &Label,
        guarantee: Guarantee,
        rule: Rule,
        formula: impl Into<String>,
    ) -> Label {
        let Guarantee::Resu { rate } = &held.guarantee else {
            return self.label(guarantee, rule, formula);
        };
        let scale = speed_floor(&held.scale, rate);
        if scale.is_zero() {
            return self.null(rule, "a processor slower than a millionth of a CPU");
        }
        let formula = format!("{}, in the time of a processor of speed {scale}", formula.into());
        Label { scale, ..self.label(guarantee, rule, formula) }
    }

    /// PS for every child: of the share that is held, in proportion to the weights.
    pub(crate) fn shares_in_the_long_run(
        &self,
        share: &Rational,
        weights: impl IntoIterator<Item = Rational>,
        rule: Rule,
    ) -> Provided {
        let labels = weights.into_iter().map(|weight| {
            let formula = format!("s * r = {share} * {weight}");
            self.label(Guarantee::Ps { share: share * weight }, rule, formula)
        });
        Provided { labels: labels.collect(), complaints: Vec::new() }
    }

    /// Each child's share as a fraction of the sum over all children, whether they want the CPU or not; `None` where a
    /// share is not above zero.
    pub(crate) fn weights(&self) -> Option<Vec<Rational>> {
        let shares = self.shares()?;
        let total: Rational = shares.iter().sum();
        Some(shares.into_iter().map(|share| share / &total).collect())
    }

    /// Each child's share; `None` where one is not above zero.
    pub(crate) fn shares(&self) -> Option<Vec<Rational>> {
        let share = |child| self.child_param(child, "share").filter(Rational::is_positive);
        (0..self.children.len()).map(share).collect()
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
mod tests;
