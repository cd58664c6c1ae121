//! Schedulers with a process as their policy (Parmer and West, ACM TECS 13(1s), 2013, with an allowance for the agent).
//!
//! What the process writes may be anything, so the children are promised nothing. Sealed, the scheduler takes urgencies
//! from the hierarchy alone, and the agent, the child in slot 0, is all that comes before them: at most the allowance A
//! in every period P of a grid, whenever the process likes, as a deferrable server has it. What it leaves is the supply
//! of fixed priority by urgency:
//! - ALL less the agent has P-A of each period of that grid: RESBS P-A, P.
//! - The agent has no more than U*t + 2A(1-U) of any window t, U = A/P (see `caps.rs`). The scheduler requests without
//!   a pause while a child wants the CPU, so of PSBE s,d held there is left PSBE s-U, d + 2A(1-U), and of PS s PS s-U.
//!
//! A late timer adds its overrun once, and the allowances that follow pay it (`core/budget.h`). The agent is promised
//! nothing: while it is parked it wants a CPU and has none. On several CPUs nothing is known. The proof is in
//! docs/internals/user-level.md.

use super::{Entry, HeldVps, Instance, Limits, Provided, fixed_priority};
use crate::derivation::Rule;
use crate::guarantee::Guarantee;
use crate::label::Label;
use crate::rational::{Rational, time_exact, whole};
use num_traits::{One, Zero};

pub(super) const ENTRY: Entry = Entry {
    policy: "user-level",
    source: "Parmer and West, ACM TECS 13(1s), 2013, with an allowance for the agent",
    accepts: "anything; sealed: ALL of one CPU, PS s, or any supply of a greater rate than the agent's",
    provides: "NULL; sealed, what fixed priority by urgency gives of what the agent leaves: of ALL RESBS P-A, P, of \
               PSBE s,d PSBE s - A/P, d + 2*A*(1 - A/P), A being the allowance in every P",
    limits: Limits::Nothing,
    provide,
};

const AGENT: Rule = Rule { name: "user-level, the agent", source: "parked while it has nothing to answer" };
const DECIDED: Rule = Rule { name: "user-level", source: "a process decides" };
const LEFT: Rule =
    Rule { name: "user-level, less the agent", source: "the agent has A at most in each period P of a grid" };

/// The slot of the agent.
const AGENTS_SLOT: u64 = 0;

fn provide(instance: &Instance) -> Provided {
    if instance.param("sealed").is_none_or(|sealed| sealed.is_zero()) {
        return instance.nothing(DECIDED, "the process may decide as it likes: sealed=0");
    }
    let held = match instance.single_vp() {
        Ok(held) => held,
        Err(found) => return instance.nothing_because(LEFT, "one VP", found),
    };
    match (0..instance.children.len()).find(|child| is_agent(instance, *child)) {
        None => by_urgency(instance),
        Some(agent) => beside_agent(instance, held, agent),
    }
}

fn by_urgency(instance: &Instance) -> Provided {
    fixed_priority::provide_by(instance, &|child| instance.child_param(child, "urgency"))
}

/// The labels where the child `agent` comes first.
fn beside_agent(instance: &Instance, held: &Label, agent: usize) -> Provided {
    let left = match less_agent(instance, held) {
        Ok(left) => left,
        Err(provided) => return provided,
    };
    let others: Vec<usize> = (0..instance.children.len()).filter(|child| *child != agent).collect();
    let below = Instance {
        held: vec![HeldVps { label: &left, width: 1 }],
        children: others.iter().map(|child| instance.children[*child]).collect(),
        names: others.iter().map(|child| instance.names[*child]).collect(),
        caps: others.iter().map(|child| instance.caps[*child].clone()).collect(),
        ..instance.clone()
    };
    let mut provided = by_urgency(&below);
    let parked = "it is asked when the scheduler likes, and has no more than the allowance";
    provided.labels.insert(agent, instance.null(AGENT, parked));
    provided
}

/// What the agent leaves of what is held.
fn less_agent(instance: &Instance, held: &Label) -> Result<Label, Provided> {
    let time = |name| instance.param(name).unwrap_or_else(Rational::zero);
    let (allowance, every) = (time("allowance"), time("every"));
    let taken = format!("{} every {}", time_exact(&allowance), time_exact(&every));
    let supply = held.supply();
    if supply.is_nothing() {
        return Err(instance.nothing(LEFT, "what is held promises nothing"));
    }
    if allowance >= &every * supply.rate() {
        let needed = format!("a supply of a greater rate than the agent's {taken}");
        return Err(instance.nothing_because(LEFT, needed, held.absolute().rounded_for_people()));
    }
    let left = if held.guarantee == Guarantee::All {
        Guarantee::resbs(&every - &allowance, every)
    } else {
        let rate = &allowance / &every;
        let burst = whole(2) * &allowance * (Rational::one() - &rate);
        match supply.bounded() {
            Some((share, delta)) => Guarantee::Psbe { share: share - rate, delta: delta + burst },
            None => Guarantee::Ps { share: supply.rate() - rate },
        }
    };
    Ok(instance.label(left, LEFT, format!("the agent has {taken} at most")))
}

/// Whether a child is the agent.
fn is_agent(instance: &Instance, child: usize) -> bool {
    instance.child_param(child, "slot").is_some_and(|slot| slot == whole(AGENTS_SLOT))
}

#[cfg(test)]
mod tests {
    use crate::schedulers::tests::{labels, provide};

    type Params<'a> = &'a [(&'a str, u64)];

    const SEALED: Params = &[("allowance", 1), ("every", 10), ("sealed", 1)];
    const AGENT: Params = &[("slot", 0)];
    const HIGH: Params = &[("urgency", 2), ("slot", 64)];
    const LOW: Params = &[("urgency", 1), ("slot", 64)];

    #[test]
    fn a_process_that_decides_promises_nothing() {
        let open = [("allowance", 1), ("every", 10), ("sealed", 0)];
        assert_eq!(labels("user-level", "ALL", &open, &[AGENT, HIGH]), ["NULL"; 2]);
    }

    #[test]
    fn the_most_urgent_has_what_the_agent_leaves() {
        let promised = |held| labels("user-level", held, SEALED, &[LOW, AGENT, HIGH]);
        assert_eq!(promised("ALL"), ["NULL", "NULL", "RESBS 9ns 10ns"]);
        // 2*1*(1 - 1/10) = 9/5; and the delta of RESBS 5,10 itself is 1/2 * 2*(10-5) = 5.
        assert_eq!(promised("PSBE 1/2 3ns"), ["NULL", "NULL", "PSBE 2/5 24/5ns"]);
        assert_eq!(promised("RESBS 5ns 10ns"), ["NULL", "NULL", "PSBE 2/5 34/5ns"]);
        assert_eq!(promised("PS 1/2"), ["NULL", "NULL", "PS 2/5"]);
        assert_eq!(promised("RESU 1/2"), ["NULL", "NULL", "PS 2/5"]);
        assert_eq!(promised("NULL"), ["NULL"; 3]);
        // Without an agent nothing comes before the children.
        assert_eq!(labels("user-level", "ALL", SEALED, &[LOW, HIGH]), ["NULL", "ALL"]);
        // Which of several equals goes first is not known.
        assert_eq!(labels("user-level", "ALL", SEALED, &[HIGH, AGENT, HIGH]), ["NULL"; 3]);
    }

    #[test]
    fn an_agent_that_may_take_all_leaves_nothing() {
        for held in ["RESBS 1ns 10ns", "PSBE 1/10 0ns", "PS 1/20"] {
            let provided = provide("user-level", (held, 1), SEALED, &[AGENT, HIGH]);
            assert_eq!(provided.complaints.len(), 1, "{held}");
        }
        let greedy = [("allowance", 10), ("every", 10), ("sealed", 1)];
        assert_eq!(labels("user-level", "ALL", &greedy, &[AGENT, HIGH]), ["NULL"; 2]);
        assert_eq!(provide("user-level", ("ALL", 2), SEALED, &[AGENT, HIGH]).complaints.len(), 1);
    }
}
