//! What a VP takes at most, sleeping and waking as it likes: the ground of leftovers (`--global`).
//!
//! A leftover is what a fixed-priority scheduler certainly has for a child when the children that may run before it are
//! limited: sbf(t) - sum (U_i * t + b_i). It needs to look below the siblings, which breaks the paper's locality, so it
//! is an option. Limits are those that policies enforce, whatever was promised; what a thread says that it will do is
//! no limit. Relies on nothing but the graph. Never claims less than a VP can take.
//!
//! A budget x a period y of a policy with the wake-up rule is no more than U*t + 2x(1-U) in any window t, U = x/y. A
//! period that a wake-up ends early was left with more than (d-t)*U of its budget, so it has used at most U times its
//! length; whole periods use U times theirs; the two at the ends of the window use at most x each, and as much time.
//! For a continuous request this is the line through the corners of ubf (RESBH x,y): nothing is lost in the long run.

use crate::graph::{Child, Edge, Graph, Links, Policy};
use crate::rational::{Rational, whole};
use crate::schedulers;
use num_traits::{One, Zero};

/// At most `rate * t + burst` in every window of length t, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cap {
    pub(crate) rate: Rational,
    pub(crate) burst: Rational,
}

impl Cap {
    fn nothing() -> Cap {
        Cap { rate: Rational::zero(), burst: Rational::zero() }
    }

    /// That of a budget x in every period y.
    fn of_budget(budget: &Rational, period: &Rational) -> Cap {
        let rate = budget / period;
        let burst = whole(2) * budget * (Rational::one() - &rate);
        Cap { rate, burst }
    }

    /// That of all together.
    pub(crate) fn sum(caps: impl IntoIterator<Item = Cap>) -> Cap {
        caps.into_iter()
            .fold(Cap::nothing(), |sum, cap| Cap { rate: sum.rate + cap.rate, burst: sum.burst + cap.burst })
    }
}

/// The cap of every edge, in the order of [`Graph::edges`]; `None` where there is none.
pub(crate) fn caps(graph: &Graph, links: &Links) -> Vec<Option<Cap>> {
    let mut caps: Vec<Option<Cap>> = graph.edges.iter().map(|edge| enforced(graph, edge)).collect();
    let schedulers_below = |scheduler: usize| {
        links.below[scheduler].iter().filter(|edge| matches!(graph.edges[**edge].child, Child::Scheduler(_)))
    };
    // Children first. Those on a cycle never come, and keep what is enforced.
    let mut waiting: Vec<usize> = (0..graph.schedulers.len()).map(|s| schedulers_below(s).count()).collect();
    let mut ready: Vec<usize> = (0..waiting.len()).filter(|scheduler| waiting[*scheduler] == 0).collect();
    while let Some(scheduler) = ready.pop() {
        let content: Option<Vec<Cap>> =
            links.below[scheduler].iter().map(|edge| caps[*edge].clone()).collect();
        let content = content.map(Cap::sum);
        for &edge in &links.above[scheduler] {
            caps[edge] = stricter(caps[edge].take(), content.clone());
            if let Some(waiting_above) = graph.edges[edge].parent.and_then(|parent| waiting.get_mut(parent)) {
                *waiting_above -= 1;
                if *waiting_above == 0 {
                    ready.extend(graph.edges[edge].parent);
                }
            }
        }
    }
    caps
}

/// Both hold; the one of the lesser rate says more in the long run.
fn stricter(one: Option<Cap>, other: Option<Cap>) -> Option<Cap> {
    match (one, other) {
        (Some(one), Some(other)) => {
            let is_less = (&other.rate, &other.burst) < (&one.rate, &one.burst);
            Some(if is_less { other } else { one })
        }
        (one, other) => one.or(other),
    }
}

/// What the parent's policy lets through: a budget a period for each of the edge's VPs.
fn enforced(graph: &Graph, edge: &Edge) -> Option<Cap> {
    let Policy::Named(policy) = &graph.schedulers.get(edge.parent?)?.policy else { return None };
    if !schedulers::find(policy)?.limits {
        return None;
    }
    let param = |name| edge.params.iter().find(|(key, _)| key == name).map(|(_, value)| whole(*value));
    let (budget, period) = (param("budget")?, param("period")?);
    if period.is_zero() || budget > period {
        return None;
    }
    let (each, width) = (Cap::of_budget(&budget, &period), whole(u64::from(edge.width.max(1))));
    Some(Cap { rate: each.rate * &width, burst: each.burst * width })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a server of `x` a `y` used in each slot, when it wants and is granted the CPU as the bits of a random
    /// number say: budget, deadline and the wake-up rule of `policies/reservation.c`.
    fn used(x: u64, y: u64, random: &mut u64) -> Vec<u64> {
        let (mut budget, mut deadline, mut awake) = (0, 0, false);
        let slot = |now: u64| {
            *random ^= *random << 13;
            *random ^= *random >> 7;
            *random ^= *random << 17;
            let wants = if awake { !random.is_multiple_of(5) } else { random.is_multiple_of(3) };
            if wants && (!awake && (deadline <= now || budget * y > (deadline - now) * x)) {
                (budget, deadline) = (x, now + y);
            } else if wants && deadline <= now {
                (budget, deadline) = (x, deadline + y);
            }
            awake = wants;
            let runs = u64::from(wants && budget > 0 && (*random >> 32).is_multiple_of(2));
            budget -= runs;
            runs
        };
        (0..300).map(slot).collect()
    }

    #[test]
    fn a_server_that_sleeps_and_wakes_stays_below_its_cap() {
        let (mut random, mut attained) = (0x5eed_u64, 0);
        for case in 0..2_000 {
            let y = 1 + case % 11;
            let x = 1 + case / 11 % y;
            let used = used(x, y, &mut random);
            let cap = Cap::of_budget(&whole(x), &whole(y));
            let caps: Vec<Rational> = (0..=300).map(|t| &cap.rate * whole(t) + &cap.burst).collect();
            let most: Vec<u64> = caps.iter().map(|cap| cap.to_integer().try_into().unwrap()).collect();
            for from in 0..used.len() {
                let mut sum = 0;
                for (length, slot) in (1..).zip(&used[from..]) {
                    sum += slot;
                    assert!(sum <= most[length], "{sum} in {length} of {x} a {y}");
                    attained += u64::from(x < y && sum == 2 * x && caps[length] == whole(sum));
                }
            }
        }
        assert!(attained > 10, "a cap that nobody reaches is too large: {attained}");
    }
}
