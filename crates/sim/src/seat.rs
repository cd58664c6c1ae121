//! The seats of agents: which agent the thread in slot 0 of a user-level scheduler is, and the turn that it is in.

use crate::agent::{Agent, Then};
use crate::agents::{self, Urgencies};
use hls_core::pages::{UserWord, number_of_scheduler};
use hls_core::{AgentProgram, ProgramAgent};
use hls_hierarchy::model::{Child, Hierarchy, ModelEdge};
use hls_monitor::event::ObservedVp;
use hls_plan::{Plan, PlannedThreads};
use hls_workload::program;
use oorandom::Rand32;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The programs of agents that a hierarchy names, by their paths there.
pub type Programs = BTreeMap<String, Arc<AgentProgram>>;

/// An agent, and the turn that it is in.
pub(crate) struct Seat {
    pub(crate) agent: Box<dyn Agent>,
    /// What is written when the turn is over, and what comes then.
    pub(crate) turn: Option<(Vec<(UserWord, u64)>, Then)>,
}

/// The agent belongs to a program that was not opened.
pub(crate) struct NotOpened;

impl Seat {
    /// The seat of a thread of this group, with this number; `None`: it is no agent.
    pub(crate) fn of(
        plan: &Plan,
        group: &PlannedThreads,
        number: u32,
        (seed, programs): (u64, &Programs),
    ) -> Result<Option<Seat>, NotOpened> {
        let Some(kind) = group.program.as_agent() else { return Ok(None) };
        let random = Rand32::new_inc(seed, (1 << 41) + u64::from(number));
        let agent = match kind {
            program::Agent::Object(path) => programs.get(path).map(of_program),
            _ => agents::of_kind(kind, urgencies(plan, group.edge), random),
        };
        agent.map(|agent| Some(Seat { agent, turn: None })).ok_or(NotOpened)
    }
}

fn of_program(program: &Arc<AgentProgram>) -> Box<dyn Agent> {
    Box::new(ProgramAgent::new(program.clone()))
}

/// The urgencies that the hierarchy states for the siblings of an edge, by their numbers in the kernel page.
fn urgencies(plan: &Plan, edge: ModelEdge) -> Urgencies {
    let hierarchy = &plan.hierarchy;
    let parent = hierarchy.edge(edge).parent;
    let siblings = hierarchy.edges.iter().enumerate().filter(|(_, sibling)| sibling.parent == parent);
    let numbered = siblings.flat_map(|(at, sibling)| {
        let urgency = param(hierarchy, parent, &sibling.params, "urgency");
        let stated = Some(param(hierarchy, parent, &sibling.params, "child")).filter(|number| *number != 0);
        let numbers: Vec<u64> = match (stated, sibling.child) {
            (Some(number), _) => vec![number],
            (None, Child::Scheduler(child)) => vec![number_of_scheduler(child)],
            (None, Child::Thread(_)) => numbers_of_threads(plan, ModelEdge(at)),
        };
        numbers.into_iter().map(move |number| (number, urgency))
    });
    numbered.collect()
}

/// What stands for the TIDs of the threads of an edge.
fn numbers_of_threads(plan: &Plan, edge: ModelEdge) -> Vec<u64> {
    let groups = plan.groups.iter().filter(|group| group.edge == edge);
    groups.flat_map(PlannedThreads::vps).map(tid).collect()
}

/// The number by which a process knows a thread here.
pub(crate) fn tid(vp: ObservedVp) -> u64 {
    vp.0.into()
}

/// A parameter of a child, by its name; 0: there is none.
fn param(hierarchy: &Hierarchy, parent: Option<usize>, values: &[u64], name: &str) -> u64 {
    let policy = parent.map(|parent| hierarchy.schedulers[parent].policy);
    let at = policy.and_then(|policy| policy.vp_params.iter().position(|param| param.name == name));
    at.and_then(|at| values.get(at)).copied().unwrap_or(0)
}
