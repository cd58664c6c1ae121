//! The least reservations that suffice for the tasks of a hierarchy's threads, and the hierarchy with these
//! reservations in place of its own.
//!
//! Relies on the calculus to find them. They are a proposal: the changed hierarchy is analysed anew.

use crate::derived::Derived;
use crate::tasks::ThreadTasks;
use hls_calculus::tasks::{Fit, Miss, least_utilisation, reserved_response};
use hls_calculus::{Continuity, Guarantee, Rational, ceil_nanos, floor_nanos};
use hls_hierarchy::model::{Child, ModelEdge};
use hls_plan::Plan;
use hls_units::Nanos;

/// Another budget and period for a thread below a reservation scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReservationChange {
    /// The name of the thread.
    pub name: String,
    /// Index into the hierarchy's edges.
    pub edge: ModelEdge,
    /// CPU time a period, rounded up.
    pub budget: Nanos,
    /// The period, rounded down.
    pub period: Nanos,
}

impl ReservationChange {
    /// The guarantee that the thread is to ask for.
    pub fn guarantee(&self) -> Guarantee {
        let [amount, period] = [self.budget, self.period].map(|time| Rational::from_integer(time.0.into()));
        Guarantee::resbh(amount, period)
    }
}

impl ThreadTasks<'_> {
    /// The period that the file gives the thread: the period of the reservation that it asks for, or else the parameter
    /// of that name in its scheduler's policy.
    pub fn period(&self, plan: &Plan) -> Option<Nanos> {
        let edge = &plan.hierarchy.edge(self.edge);
        if let Some(Guarantee::Reservation { period, .. }) = &edge.requested {
            return Some(floor_nanos(period));
        }
        let policy = plan.hierarchy.schedulers[edge.parent?].policy;
        let at = policy.vp_params.iter().position(|param| param.name == "period")?;
        edge.params.get(at).map(|period| Nanos(*period)).filter(|period| *period != Nanos::ZERO)
    }

    /// The soft reservation with the least share of a CPU among those that have one of these periods and suffice for
    /// the thread's tasks.
    ///
    /// # Errors
    /// Why none suffices.
    pub fn fit(&self, continuity: Continuity, periods: &[Nanos]) -> Result<Option<Fit>, Miss> {
        let periods = periods.iter().map(|period| Rational::from_integer(period.0.into()));
        least_utilisation(&self.set, continuity, periods)
    }

    /// The change that gives the thread a least reservation; `None` where it is not below a reservation scheduler. If
    /// the thread has only one task and a budget of what one job takes suffices, that budget is used.
    pub fn change(&self, plan: &Plan, fit: &Fit) -> Option<ReservationChange> {
        let edge = &plan.hierarchy.edge(self.edge);
        let parent = &plan.hierarchy.schedulers[edge.parent?];
        let Child::Thread(thread) = edge.child else { return None };
        let own = match &self.set.tasks[..] {
            [task] => reserved_response(task, &task.run, &fit.period)
                .filter(|response| *response <= task.deadline)
                .map(|_| task.run.clone()),
            _ => None,
        };
        let budget = own.into_iter().chain([fit.amount.clone()]).min()?;
        let least = parent.policy.vp_params.iter().find(|param| param.name == "budget")?.min;
        (parent.policy.name == "reservation").then(|| ReservationChange {
            name: plan.hierarchy.threads[thread].name.clone(),
            edge: self.edge,
            budget: ceil_nanos(&budget).max(Nanos(least)),
            period: floor_nanos(&fit.period),
        })
    }
}

impl Derived {
    /// The hierarchy with other reservations for some of its threads, analysed anew by the same rules.
    pub fn changed(&self, changes: &[ReservationChange]) -> Derived {
        let mut input = self.input.clone();
        for change in changes {
            for (edge, origin) in input.graph.edges.iter_mut().zip(&input.origins) {
                if origin.edge != change.edge {
                    continue;
                }
                edge.requested = Some(change.guarantee());
                for (name, value) in &mut edge.params {
                    match name.as_str() {
                        "budget" => *value = change.budget.0,
                        "period" => *value = change.period.0,
                        _ => {}
                    }
                }
            }
        }
        Derived::of(input, self.rules)
    }
}
