//! Join: runs its child whenever any parent grants a CPU (HLS section 5.1).
//!
//! The paper lets the child take any one of the parents' guarantees, softened. All of them hold at once. On one CPU the
//! grants are disjoint as well, so the supplies add up, provided that the join goes on requesting from every parent:
//! the sum of PSBE s,d is PSBE sum s, sum d. On several CPUs two grants may coincide. Then the join declines the second
//! and does not request from that parent until it loses the first, so what holds in windows of continuous request does
//! not hold for its child: a share loses its turn. Only ALL, and a reservation directly below ALL, are kept.

use super::{Entry, Instance, Provided, reservation};
use crate::compose::Label;
use crate::derivation::Rule;
use crate::guarantee::{Guarantee, Kind};
use crate::rational::{Rational, time_ceil};
use crate::rewrite::rewrite;
use num_traits::{One, Zero};

pub(super) const ENTRY: Entry = Entry {
    policy: "join",
    source: "HLS, section 5.1, strengthened",
    accepts: "anything, from several parents",
    provides: "every parent's guarantee, softened, and their sum; on several CPUs ALL and reservations below ALL",
    joins: true,
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
    let may_decline = instance.cpus > 1 && instance.held.len() > 1;
    let is_kept =
        |label: &Label| label.guarantee == Guarantee::All || reservation::is_kept_across_absence(label);
    let mut parts: Vec<Guarantee> = (instance.held.iter())
        .filter(|slot| !may_decline || is_kept(slot.label))
        .flat_map(|slot| {
            let beside = slot.label.beside.iter().map(|other| other.scaled(&slot.label.scale));
            std::iter::once(slot.label.absolute()).chain(beside)
        })
        .map(|guarantee| guarantee.softened())
        .filter(|guarantee| *guarantee != Guarantee::Null)
        .collect();
    parts.sort_by_key(strength);
    parts.dedup();
    let sum = if instance.cpus == 1 { sum(instance) } else { None };
    if let Some((guarantee, formula)) = sum {
        let mut label = instance.label(guarantee, SUM, formula);
        label.beside = parts;
        return label;
    }
    if parts.is_empty() {
        let reason = if may_decline {
            "no parent promises ALL, or has a reservation below ALL; others are lost while the child runs elsewhere"
        } else {
            "no parent promises anything"
        };
        return instance.null(ONE, reason);
    }
    let strongest = parts.remove(0);
    let mut label = instance.label(strongest, ONE, "the strongest parent's, without its upper limit");
    label.beside = parts;
    label
}

/// Strongest first: what promises something in finite time, then the greater rate, then the shorter blackout.
fn strength(guarantee: &Guarantee) -> (bool, std::cmp::Reverse<Rational>, Rational) {
    let blackout = guarantee.blackout();
    (blackout.is_none(), std::cmp::Reverse(guarantee.rate()), blackout.unwrap_or_else(Rational::zero))
}

/// The sum of all parents with a bounded error, where there are several.
fn sum(instance: &Instance) -> Option<(Guarantee, String)> {
    let bounded: Vec<(Rational, Rational)> = (instance.held.iter())
        .filter_map(|slot| match rewrite(&slot.label.absolute(), Kind::Psbe)?.0 {
            Guarantee::Psbe { share, delta } => Some((share, delta)),
            _ => None,
        })
        .collect();
    if bounded.len() < 2 {
        return None;
    }
    let share: Rational = bounded.iter().map(|(share, _)| share).sum();
    let delta: Rational = bounded.iter().map(|(_, delta)| delta).sum();
    // Labels that hold never add up to more than one CPU; parts of a malformed graph may.
    if share > Rational::one() {
        return None;
    }
    let terms = |index: fn(&(Rational, Rational)) -> String| {
        bounded.iter().map(index).collect::<Vec<_>>().join(" + ")
    };
    let formula = format!(
        "s = {} = {share}; delta = {} = {}",
        terms(|(share, _)| share.to_string()),
        terms(|(_, delta)| time_ceil(delta)),
        time_ceil(&delta)
    );
    Some((Guarantee::Psbe { share, delta }, formula))
}
