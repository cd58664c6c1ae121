//! The turns of agents: what the threads in slot 0 of user-level schedulers do.

use crate::agent::{Agent, Seen, Then};
use crate::engine::Simulation;
use crate::seat::tid;
use hls_core::pages::{UserWord, number_child};
use hls_core::{CoreError, CoreScheduler, Params};
use hls_engine::vp_params;
use hls_hierarchy::model::Edge;
use hls_monitor::event::ObservedVp;

impl Simulation {
    /// Has another agent run the policy of the scheduler above this thread from its next turn on. The thread is an
    /// agent by its program.
    ///
    /// # Panics
    /// If the thread's program is not an agent's.
    pub fn set_agent(&mut self, thread: ObservedVp, agent: Box<dyn Agent>) {
        let number = self.thread_of[thread.index()];
        self.agents.get_mut(&number).expect("the thread is an agent").agent = agent;
    }

    /// The place of a thread with this VP by its edge of the hierarchy: the scheduler, and the parameters there.
    pub(crate) fn planned_place(
        &self,
        edge: &Edge,
        vp: ObservedVp,
    ) -> Result<(CoreScheduler, Params), CoreError> {
        let (hierarchy, parent) = (&self.plan.hierarchy, edge.parent.ok_or(CoreError::NotFound)?);
        let mut params = vp_params(hierarchy, edge);
        number_child(hierarchy.schedulers[parent].policy, &mut params, tid(vp));
        Ok((self.built.schedulers[parent], params))
    }

    /// The scheduler above a thread.
    fn above(&self, thread: u32) -> CoreScheduler {
        self.built.core.parent(self.core_vps[thread as usize])
    }

    /// The agent of this thread reads the pages, and makes up its mind. Where its scheduler has no pages any more, it
    /// sleeps for ever.
    pub(crate) fn look(&mut self, thread: u32) {
        let scheduler = self.above(thread);
        let core = &self.built.core;
        let Some(seat) = self.agents.get_mut(&thread) else { return };
        let (Some(kernel), Some(before)) = (core.kernel_page(scheduler), core.user_page(scheduler)) else {
            seat.turn = Some((Vec::new(), Then::Sleep));
            return;
        };
        let seen = Seen { kernel, now: self.now };
        let mut user = *before;
        let then = seat.agent.turn(&seen, &mut user);
        let changed =
            before.words().zip(user.words()).enumerate().filter(|(_, (before, after))| before != after);
        let words = changed.map(|(place, (_, after))| (UserWord::At(place), after)).collect();
        seat.turn = Some((words, then));
    }

    /// The turn of the agent of this thread is over. Returns whether the thread's next step is due at once.
    pub(crate) fn act_as_agent(&mut self, thread: u32) -> bool {
        let scheduler = self.above(thread);
        let turn = self.agents.get_mut(&thread).and_then(|seat| seat.turn.take());
        let (words, then) = turn.unwrap_or((Vec::new(), Then::Sleep));
        for (word, value) in words {
            // Refused where the pages went meanwhile.
            let _refused = self.built.core.write_page(scheduler, word, value);
        }
        match then {
            Then::GoOn => return true,
            Then::Park => {
                self.scheduling_events += 1;
                self.built.core.yield_now(self.core_vps[thread as usize], self.now);
            }
            Then::Sleep => self.block(thread),
        }
        false
    }
}
