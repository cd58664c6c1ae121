//! What a VP takes at most, sleeping and waking as it likes: the basis of leftovers (`--global`).
//!
//! A leftover is what a fixed-priority scheduler certainly has for a child when the children that may run before it are
//! limited. It needs to look below the siblings, which breaks the paper's locality, so it is an option. Limits are
//! those that policies enforce, whatever was promised; what a thread says that it will do is no limit. Relies on
//! nothing but the graph. Never claims less than a VP can take.
//!
//! A server with a budget x in every period y uses no more than U*t + 2x(1-U) in any window t, U = x/y. When a wake-up
//! at w ends a period early, before its deadline d, the wake-up rule says that more than (d-w)*U of the budget was
//! left: the server has used at most U times the length of that period. In a whole period it uses at most U times the
//! length of the period; in each of the two periods at the ends of the window it uses at most x, which takes at least
//! as much of the window's time. For a continuous request this is the line through the corners of ubf (RESBH x,y):
//! nothing is lost in the long run.
//!
//! A window that begins when the servers of a scheduler request nothing has half of that burst, x(1-U), if they keep
//! the wake-up rule: each has no budget left, or by its next wake-up no more than U times the rest of its period, or
//! begins a new one. That is what counts for a child of lower fixed priority than these servers. Let the child wait in
//! a window from a to b, and let i be the last instant up to a at which no server above the child requested anything.
//! From i to a the servers above had all that was supplied. So from a to b the child has what is supplied from i to b,
//! less what the servers above take from i to b, a window that begins idle: PSBE s,delta held leaves PSBE s-U, delta +
//! sum x_i*(1-U_i). (For servers that lose their budget while they sleep, sum x_i*(1-U) would do, U being the sum of
//! all U_i. Here it would not: servers of (2,5) and (1,2) may be 9/10 ahead of their rates, and that sum is 3/10.) A
//! sibling of the child's own priority may run while the servers above wait, so beside one the argument does not hold.

use crate::cap::Cap;
use crate::graph::{Child, Edge, Graph, Links, Policy, Scheduler};
use crate::rational::whole;
use crate::schedulers::{self, Limits};
use num_traits::Zero;

/// The cap of every edge, in the order of [`Graph::edges`]; `None` for an edge that nothing limits.
pub(crate) fn caps(graph: &Graph, links: &Links) -> Vec<Option<Cap>> {
    let mut caps: Vec<Option<Cap>> = graph.edges.iter().map(|edge| enforced(graph, edge)).collect();
    let schedulers_below = |scheduler: usize| {
        links.below[scheduler].iter().filter(|edge| matches!(graph.edges[**edge].child, Child::Scheduler(_)))
    };
    // Children first. Schedulers on a cycle never get their turn; their edges keep what is enforced.
    let mut waiting: Vec<usize> = (0..graph.schedulers.len()).map(|s| schedulers_below(s).count()).collect();
    let mut ready: Vec<usize> = (0..waiting.len()).filter(|scheduler| waiting[*scheduler] == 0).collect();
    while let Some(scheduler) = ready.pop() {
        let content: Option<Vec<Cap>> =
            links.below[scheduler].iter().map(|edge| caps[*edge].clone()).collect();
        // Nothing limits the threads that may come.
        let content = content.filter(|_| !graph.open.contains(&scheduler));
        // A scheduler of another policy may request nothing while those below it want a CPU.
        let is_idle_with_its_servers = limits(&graph.schedulers[scheduler]) == Limits::PaidBudget;
        let content = content.map(Cap::sum);
        let content = if is_idle_with_its_servers { content } else { content.map(Cap::never_known_idle) };
        for &edge in &links.above[scheduler] {
            caps[edge] = match caps[edge].take() {
                // A VP without budget requests nothing, though servers below it may have budget.
                Some(enforced) => stricter(Some(enforced), content.clone().map(Cap::never_known_idle)),
                None => content.clone(),
            };
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

/// One of two caps that both hold: the cap with the lesser rate says more in the long run.
fn stricter(one: Option<Cap>, other: Option<Cap>) -> Option<Cap> {
    match (one, other) {
        (Some(one), Some(other)) => {
            let is_less = (&other.rate, &other.burst) < (&one.rate, &one.burst);
            Some(if is_less { other } else { one })
        }
        (one, other) => one.or(other),
    }
}

/// The cap that the parent's policy enforces: a budget in every period for each of the edge's VPs.
fn enforced(graph: &Graph, edge: &Edge) -> Option<Cap> {
    let limits = limits(graph.schedulers.get(edge.parent?)?);
    if limits == Limits::Nothing {
        return None;
    }
    let param = |name| edge.params.iter().find(|(key, _)| key == name).map(|(_, value)| whole(*value));
    let (budget, period) = (param("budget")?, param("period")?);
    if period.is_zero() || budget > period {
        return None;
    }
    let each = match limits {
        Limits::PaidBudget => Cap::of_paid_budget(&budget, &period),
        _ => Cap::of_budget(&budget, &period),
    };
    Some(each.times(&whole(u64::from(edge.width.max(1)))))
}

/// What a scheduler limits. What a loaded policy says of itself is no limit.
fn limits(scheduler: &Scheduler) -> Limits {
    match &scheduler.policy {
        Policy::Named(policy) => schedulers::find(policy).map_or(Limits::Nothing, |entry| entry.limits),
        Policy::Declared(_) => Limits::Nothing,
    }
}
