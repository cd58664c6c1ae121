//! Fixed priority, preemptive (HLS section 5.1): any -> (any, NULL+). The top child has what the scheduler has; the
//! others get nothing for certain, since the top child may be CPU bound.
//!
//! Children that share a level wait for each other, so all of them get NULL. On several CPUs, each of them ALL, the
//! levels are served from the top while CPUs are left, each VP with a CPU of its own. Other guarantees on several VPs
//! are passed on to no child: a child that blocks gives VPs back, which need not be the VPs that its request brought.
//! The top child may be left with a VP that requests anew, over and over.
//!
//! With global rules the lower children of one VP are promised what is left over (see `caps.rs`).

use super::{Entry, HeldVps, Instance, Limits, Provided};
use crate::cap::Cap;
use crate::derivation::Rule;
use crate::guarantee::Guarantee;
use crate::label::Label;
use crate::rational::{Rational, time_ceil};
use num_traits::Signed;
use std::cmp::Reverse;
use std::collections::BTreeMap;

pub(super) const ENTRY: Entry = Entry {
    policy: "fixed-priority",
    source: "HLS, section 5.1",
    accepts: "anything",
    provides: "what it holds to the top child; NULL to the others, or what limited siblings leave over (--global)",
    limits: Limits::Nothing,
    provide,
};

const TOP: Rule = Rule { name: "fixed priority, top", source: ENTRY.source };
const LOWER: Rule = Rule { name: "fixed priority, not the top", source: ENTRY.source };
const LEFTOVER: Rule =
    Rule { name: "fixed priority, leftover", source: "sbf(t) less what limited siblings take at most" };
const SHARED: Rule =
    Rule { name: "fixed priority, shared level", source: "HLS, section 5.1: one VP a level" };

/// The children of each priority, from the top.
type Levels = BTreeMap<Reverse<Option<Rational>>, Vec<usize>>;

fn provide(instance: &Instance) -> Provided {
    provide_by(instance, &|child| instance.child_param(child, "priority"))
}

/// The labels where each child has this priority.
pub(super) fn provide_by(instance: &Instance, priority: &dyn Fn(usize) -> Option<Rational>) -> Provided {
    let [slot] = instance.held.as_slice() else {
        return instance.nothing(LOWER, "nothing is held");
    };
    let mut levels: Levels = BTreeMap::new();
    for child in 0..instance.children.len() {
        levels.entry(Reverse(priority(child))).or_default().push(child);
    }
    let mut labels: Vec<Option<Label>> = vec![None; instance.children.len()];
    // CPUs that no higher level can take.
    let mut left = slot.label.count;
    let mut above: Vec<usize> = Vec::new();
    for members in levels.values() {
        let wanted = members.iter().fold(0, |sum: u16, child| sum.saturating_add(width(instance, *child)));
        let all = slot.label.guarantee == Guarantee::All;
        if members.len() > 1 && !(all && wanted <= left) {
            let label = instance.null(SHARED, format!("{} share the level", list(instance, members)));
            members.iter().for_each(|child| labels[*child] = Some(label.clone()));
        } else {
            members
                .iter()
                .for_each(|child| labels[*child] = Some(granted(instance, slot, *child, left, &above)));
        }
        let pinned = members.iter().any(|child| instance.children[*child].pinned);
        left = if all && !pinned { left.saturating_sub(wanted) } else { 0 };
        above.extend(members);
    }
    for (level, members) in &levels {
        with_leftovers(instance, (&levels, level), members, &mut labels);
    }
    Provided { labels: labels.into_iter().flatten().collect(), complaints: Vec::new() }
}

/// Gives the members of a level that have NULL what is left over by their level and those above it, if all of these
/// are limited: only these can run while the child waits. A child alone on its level waits only for the children above,
/// which have had all that was supplied since they last were idle.
fn with_leftovers(
    instance: &Instance,
    (levels, level): (&Levels, &Reverse<Option<Rational>>),
    members: &[usize],
    labels: &mut [Option<Label>],
) {
    let Ok(held) = instance.single_vp() else { return };
    for &child in members {
        let is_null = labels[child].as_ref().is_none_or(|label| label.guarantee == Guarantee::Null);
        let others = levels.range(..=level).flat_map(|(_, members)| members).filter(|other| **other != child);
        let caps: Option<Vec<Cap>> = others.map(|other| instance.caps[*other].clone()).collect();
        if let (true, Some(caps), Some((share, delta))) = (is_null, caps, held.supply().bounded()) {
            let taken = Cap::sum(caps);
            let burst = if members.len() == 1 { taken.burst_from_idle } else { taken.burst };
            let left = leftover(instance, (share, delta), (taken.rate, burst));
            labels[child] = left.or(labels[child].take());
        }
    }
}

/// PSBE s - U, delta + b from PSBE s, delta held and at most U * t + b taken.
fn leftover(
    instance: &Instance,
    (share, delta): (Rational, Rational),
    (rate, burst): (Rational, Rational),
) -> Option<Label> {
    let (left, error) = (&share - &rate, &delta + &burst);
    let formula = format!(
        "s - U = {share} - {rate} = {left}; delta + b = {} + {} = {}",
        time_ceil(&delta),
        time_ceil(&burst),
        time_ceil(&error)
    );
    left.is_positive()
        .then(|| instance.label(Guarantee::Psbe { share: left, delta: error }, LEFTOVER, formula))
}

/// The label of a child that no sibling competes with while `left` CPUs are left by the children `above` it.
fn granted(instance: &Instance, slot: &HeldVps, child: usize, left: u16, above: &[usize]) -> Label {
    let count = width(instance, child).min(left);
    let held = &slot.label.guarantee;
    match count {
        0 if !above.is_empty() => instance.null(LOWER, why_nothing_is_left(instance, slot, above)),
        _ if *held != Guarantee::All && slot.width.max(width(instance, child)) > 1 => {
            let reason = format!(
                "{} among {} VPs cannot be told apart",
                held.rounded_for_people(),
                slot.width.max(width(instance, child))
            );
            instance.null(TOP, reason)
        }
        _ => {
            let formula = match count {
                0 => "nothing is held".to_owned(),
                1 => "nothing above it competes".to_owned(),
                _ => format!("nothing above it competes for {count} CPUs"),
            };
            let step = Label::new(held.clone(), count, TOP, instance.premises(), formula);
            let (count, resumes) = (step.count, step.resumes);
            Label { count, resumes, derivation: step.derivation, ..slot.label.clone() }
        }
    }
}

/// Why no CPU is certain to be left by these children, which are of higher priority: they can use all, or one of them
/// is bound to some of the machine's CPUs.
fn why_nothing_is_left(instance: &Instance, slot: &HeldVps, above: &[usize]) -> String {
    let wanted = above.iter().fold(0, |sum: u16, child| sum.saturating_add(width(instance, *child)));
    if slot.label.guarantee != Guarantee::All || wanted >= slot.label.count {
        return format!("{}, above it, may take all that there is", list(instance, above));
    }
    let bound: Vec<usize> = above.iter().copied().filter(|child| instance.children[*child].pinned).collect();
    let bound = list(instance, &bound);
    format!("{bound}, above it, may use only some of the {} CPUs: which are left is not known", instance.cpus)
}

fn width(instance: &Instance, child: usize) -> u16 {
    instance.children[child].width.max(1)
}

/// `a, b, c and 7 more`.
fn list(instance: &Instance, members: &[usize]) -> String {
    const MOST_NAMES: usize = 4;
    let names: Vec<&str> = members.iter().take(MOST_NAMES).map(|child| instance.names[*child]).collect();
    let more = members.len() - names.len();
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("{}{more}", names.join(", "))
}
