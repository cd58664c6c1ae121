//! What a guarantee says of each request: from a wake-up of a VP to its next sleep (see [`hls_monitor::requests`]).
//!
//! Every number is rounded against the promise, so that nothing is held against a scheduler that it did not promise.

use hls_calculus::{Analysis, Guarantee, Label, Rational, ceil_nanos, floor_nanos};
use hls_hierarchy::analysis::Input;
use hls_hierarchy::model::{Child, Hierarchy, ModelEdge};
use hls_monitor::event::ObservedVp;
use hls_monitor::requests::{Accounted, Job, Periodic, RequestRule, RequestTest, Share, Wakes};
use hls_plan::Plan;
use hls_units::Nanos;
use std::collections::HashMap;

/// The test of requests for a guarantee, if no more is known of it; `None` if it says nothing about a single request.
/// What a `machine` does not give has been taken into account.
pub(crate) fn request_test(guarantee: &Guarantee, machine: &Guarantee) -> Option<RequestTest> {
    Some(RequestTest { rule: rule(guarantee)?, accounted: accounted(machine) })
}

fn rule(guarantee: &Guarantee) -> Option<RequestRule> {
    match guarantee {
        Guarantee::All => share(&Rational::from_integer(1.into()), Nanos::ZERO),
        Guarantee::Psbe { share: of_cpu, delta } => share(of_cpu, ceil_nanos(delta)),
        Guarantee::Reservation { .. } | Guarantee::Edp { .. } => {
            let promised = guarantee.periodic()?;
            periodic(&promised.amount, &promised.period, &promised.deadline)
        }
        Guarantee::Job { amount, period, response } => {
            let (amount, period, response) = (floor_nanos(amount), ceil_nanos(period), ceil_nanos(response));
            (amount > Nanos::ZERO).then_some(RequestRule::Job(Job { amount, period, response }))
        }
        // MPR is a need of a group, and on no label.
        Guarantee::Resu { .. } | Guarantee::Ps { .. } | Guarantee::Null | Guarantee::Mpr { .. } => None,
    }
}

/// A share of one CPU; a share with large numbers is rounded down to `PARTS`.
fn share(share: &Rational, error: Nanos) -> Option<RequestRule> {
    const PARTS: u64 = 1 << 40;
    let exact = u64::try_from(share.numer()).ok().zip(u64::try_from(share.denom()).ok());
    let rounded = || {
        let parts = (share * Rational::from_integer(PARTS.into())).floor().to_integer();
        u64::try_from(parts).ok().map(|parts| (parts, PARTS))
    };
    let (numerator, denominator) = exact.filter(|(_, parts)| *parts <= PARTS).or_else(rounded)?;
    (numerator > 0).then_some(RequestRule::Share(Share { numerator, denominator, error }))
}

/// The amount may first be due only when the amount before came as early as can be and its own comes as late as can be.
fn periodic(amount: &Rational, period: &Rational, deadline: &Rational) -> Option<RequestRule> {
    let (amount, period, deadline) = (floor_nanos(amount), ceil_nanos(period), ceil_nanos(deadline));
    let first = period.saturating_add(deadline).saturating_sub(amount);
    (amount > Nanos::ZERO).then_some(RequestRule::Periodic(Periodic {
        amount,
        period,
        wakes: Wakes::Anew(first),
    }))
}

/// A line above all that the machine may not give.
fn accounted(machine: &Guarantee) -> Accounted {
    let lost = Rational::from_integer(1.into()) - machine.rate();
    let second = Rational::from_integer(Nanos::from_secs(1).0.into());
    let burst = machine.blackout().map_or(Nanos::MAX, |blackout| ceil_nanos(&(machine.rate() * blackout)));
    Accounted { burst, per_second: ceil_nanos(&(lost * second)) }
}

/// The VPs that policy `reservation` schedules, with what is due when they wake up.
pub(crate) fn reservations(analysis: &Analysis, input: &Input, plan: &Plan) -> HashMap<ObservedVp, Wakes> {
    let hierarchy = &plan.hierarchy;
    let wakes = |edge: ModelEdge, instance: u32| {
        let parent = hierarchy.edge(edge).parent?;
        let label = &analysis.labels[input.graph_edge_of(edge, instance)?];
        let is_reserved = hierarchy.schedulers[parent].policy.name == "reservation"
            && label.guarantee.is_hard()
            && label.absolute() == label.guarantee;
        is_reserved.then(|| Wakes::Reservation {
            are_rests_due: has_whole_cpus(label),
            resumes: is_behind_a_join(hierarchy, hierarchy.edge(edge).child),
        })
    };
    let of_schedulers = plan.edges.iter().flat_map(|edge| {
        let wakes = wakes(edge.edge, 0);
        edge.vps.iter().filter_map(move |vp| Some((*vp, wakes?)))
    });
    let of_threads =
        plan.threads().filter_map(|thread| Some((thread.vp, wakes(thread.edge, thread.instance)?)));
    of_schedulers.chain(of_threads).collect()
}

/// Whether the reservation scheduler that gives the label has ALL of its CPUs: then even what is left of a budget at a
/// wake-up comes in time; else only whole budgets do (see the calculus' `reservation`).
fn has_whole_cpus(label: &Label) -> bool {
    label.derivation.premises.iter().all(|held| held.conclusion == Guarantee::All)
}

/// Whether a scheduler with several parents is there or below, so that its child may run by another parent.
fn is_behind_a_join(hierarchy: &Hierarchy, child: Child) -> bool {
    let Child::Scheduler(scheduler) = child else { return false };
    let above = hierarchy.edges.iter().filter(|edge| edge.child == child).count();
    let mut below = hierarchy.edges.iter().filter(|edge| edge.parent == Some(scheduler));
    above > 1 || below.any(|edge| is_behind_a_join(hierarchy, edge.child))
}
