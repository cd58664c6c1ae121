//! Round robin: every child in turn, for a quantum q. HLS section 5.4 uses it to give away slack, and states no
//! guarantee for it. With n registered children there is one all the same.
//!
//! A child that asks for the CPU goes to the tail of the queue. Before it are the other n-1 children at most, each with
//! a turn of q at most: a child that blocks and asks again goes behind it, and a child that loses the parent's CPU in
//! the middle of a turn goes to the head with the rest of the turn. So in time that the parent gives, a child waits for
//! (n-1)*q at most, then has q, and so on: in a length z of such time it has C(z) = sbf of RESCS q,n*q, and in a window
//! t no less than C(sbf(t)). A child that yields gives up the rest of its own turn.
//!
//! - ALL held, sbf(t) = t: RESCS q,n*q.
//! - Another supply: C(z) >= (z - (n-1)*q)/n, so PSBE s,delta gives PSBE s/n,(delta + q*(n-1))/n. No guarantee says all
//!   of C(sbf(t)). What PSBE loses is held beside it, as a second guarantee: RESCS q,w for the least w with sbf(w) >=
//!   n*q.
//! - PS s gives PS s/n, by the same line.
//!
//! By the paper's bounds ([`Mode::Paper`]) none of this is promised. An only child has what the scheduler holds. On
//! several VPs several children have turns at once, and nothing is promised; but where there is a CPU for each child
//! there are no turns.

use super::{Entry, Instance, Limits, Provided};
use crate::derivation::Rule;
use crate::guarantee::Guarantee;
use crate::label::Label;
use crate::rational::{Rational, time_ceil, whole};
use crate::rules::Mode;
use crate::together::{Sum, Supply};
use num_traits::{One, Signed};

pub(super) const ENTRY: Entry = Entry {
    policy: "round-robin",
    source: "HLS, section 5.4",
    accepts: "anything",
    provides: "of n children RESCS quantum,n*quantum to every child below ALL; below PSBE s,delta PSBE \
               s/n,(delta + (n-1)*quantum)/n; PS s/n below PS s; ALL where there is a CPU for each",
    limits: Limits::Nothing,
    provide,
};

const RULE: Rule = Rule { name: "round robin", source: ENTRY.source };
const ALONE: Rule = Rule { name: "round robin, one child", source: "nobody else has a turn" };
const TURNS: Rule =
    Rule { name: "round robin, turns", source: "n-1 others of a quantum each, then one's own quantum" };

fn provide(instance: &Instance) -> Provided {
    if let Some(all) = instance.a_cpu_each() {
        return all;
    }
    if instance.mode == Mode::Paper {
        return instance.nothing(RULE, "the paper states no guarantee for turns");
    }
    let held = match instance.single_vp() {
        Ok(held) => held,
        Err(found) => return instance.nothing(RULE, found),
    };
    let Some(quantum) = instance.param("quantum").filter(Rational::is_positive) else {
        return instance.nothing_because(RULE, "a quantum above 0", "none");
    };
    let label = match instance.children.len() {
        0 | 1 => alone(instance, held),
        children => turns(instance, held, &quantum, &whole(children as u64)),
    };
    Provided { labels: vec![label; instance.children.len()], complaints: Vec::new() }
}

/// The label of an only child: what the scheduler holds.
fn alone(instance: &Instance, held: &Label) -> Label {
    let step = instance.label(held.guarantee.clone(), ALONE, "the only child");
    Label { resumes: step.resumes, derivation: step.derivation, ..held.clone() }
}

/// What each of n children has, n being two or more.
fn turns(instance: &Instance, held: &Label, quantum: &Rational, children: &Rational) -> Label {
    let others = quantum * (children - Rational::one());
    let round = quantum * children;
    let guarantee = held.absolute();
    if guarantee.is_whole_cpu() {
        let formula = format!("{children} turns of {}", time_ceil(quantum));
        return instance.label(Guarantee::rescs(quantum.clone(), round), TURNS, formula);
    }
    let supply = held.supply();
    let by_line = |(share, delta): (Rational, Rational)| Guarantee::Psbe {
        share: share / children,
        delta: (delta + &others) / children,
    };
    let Some((share, delta)) = supply.bounded() else {
        return match guarantee {
            Guarantee::Ps { share } => {
                let formula = format!("s / n = {share} / {children}");
                instance.label(Guarantee::Ps { share: share / children }, TURNS, formula)
            }
            _ => instance.null(RULE, "turns of nothing that is promised"),
        };
    };
    let formula = format!(
        "s / n = {share} / {children}; (delta + q*(n-1)) / n = ({} + {}*({children}-1)) / {children}",
        time_ceil(&delta),
        time_ceil(quantum)
    );
    let lines = supply.sums().iter().filter_map(Sum::bounded).map(by_line);
    let first_turn = supply.window_for_within(&round, instance.work);
    let first_turn = first_turn.map(|window| Guarantee::rescs(quantum.clone(), window));
    let beside = Supply::best(lines.chain(first_turn).map(Supply::from));
    Label { beside, ..instance.label(by_line((share, delta)), TURNS, formula) }
}
