//! The numbers that the schedulers of a core have in the result, and how the user-level ones among them have chosen.

use hls_core::{CoreScheduler, View, pages};
use hls_monitor::event::ObservedScheduler;
use hls_monitor::result::Decided;
use std::collections::HashMap;

/// The number that each scheduler of the core has in the result.
#[derive(Clone, Debug, Default)]
pub struct ObservedSchedulers(HashMap<CoreScheduler, ObservedScheduler>);

impl ObservedSchedulers {
    /// The file's schedulers, numbered in its order.
    pub(crate) fn of(schedulers: &[CoreScheduler]) -> ObservedSchedulers {
        ObservedSchedulers(schedulers.iter().copied().zip((0..).map(ObservedScheduler)).collect())
    }

    /// The number of a scheduler of the core.
    pub fn get(&self, scheduler: CoreScheduler) -> Option<ObservedScheduler> {
        self.0.get(&scheduler).copied()
    }

    /// All schedulers of the core that have a number, in no order.
    pub fn all(&self) -> impl Iterator<Item = (CoreScheduler, ObservedScheduler)> {
        self.0.iter().map(|(in_core, observed)| (*in_core, *observed))
    }

    /// The scheduler of the core that has this number.
    pub fn in_core(&self, scheduler: ObservedScheduler) -> Option<CoreScheduler> {
        self.0.iter().find(|(_, observed)| **observed == scheduler).map(|(in_core, _)| *in_core)
    }

    /// How the choices of user-level schedulers were made so far, in the order of their numbers.
    pub(crate) fn decided(&self, view: &View) -> Vec<(ObservedScheduler, Decided)> {
        let of = |(&in_core, &observed): (&CoreScheduler, &ObservedScheduler)| {
            let pages::Decided { followed, stale, by_urgency, by_agent, agent_ran } =
                view.decided(in_core)?;
            Some((observed, Decided { followed, stale, by_urgency, by_agent, agent_ran }))
        };
        let mut all: Vec<_> = self.0.iter().filter_map(of).collect();
        all.sort_by_key(|(observed, _)| *observed);
        all
    }

    /// Adds a new scheduler of the core.
    pub fn add(&mut self, scheduler: CoreScheduler, observed: ObservedScheduler) {
        self.0.insert(scheduler, observed);
    }

    /// Removes a scheduler of the core. Returns its number.
    pub fn remove(&mut self, scheduler: CoreScheduler) -> Option<ObservedScheduler> {
        self.0.remove(&scheduler)
    }
}
