//! What a real machine needs of a hierarchy, where the file does not say it: a scheduler for the threads that nobody
//! placed, and one for the threads of `hls` itself.
//!
//! ```text
//!           all (fixed priority)
//!         2 /       1 |       0 \
//!     for-hls      the root     rest        the default, unless the file has one
//!         |  1 ms      :        /
//!         | in 20      :       /
//!         +---- hls-or-rest --+            a join: hls runs as any thread that nobody placed, too
//!                    |
//!                   hls (proportional share)
//! ```
//! So whatever the hierarchy does, `hls` has its reservation, and while others want the CPU it has hardly more.

use crate::model::{Child, Edge, Hierarchy, Scheduler, Span, params_of_the_unplaced};
use hls_core::{ParamInfo, PolicyInfo};
use hls_units::Nanos;

/// The turn of a thread in a default scheduler that the file does not name. A thread that wakes up waits for one turn
/// of each runnable thread before it: at 1 ms, a dozen turns fit between two pictures of a screen. A switch takes some
/// microseconds, so shorter turns would cost more than half a per cent.
pub const DEFAULT_QUANTUM: Nanos = Nanos(1_000_000);

/// What the threads of `hls` have together in every [`SERVICE_PERIOD`], if the file names no scheduler for them: enough
/// to follow some ten thousand switches a second and to answer requests.
pub const SERVICE_BUDGET: Nanos = Nanos(1_000_000);

/// The period of [`SERVICE_BUDGET`].
pub const SERVICE_PERIOD: Nanos = Nanos(20_000_000);

/// The priorities of what is below the top scheduler.
enum Level {
    Rest,
    Root,
    Service,
}

impl Hierarchy {
    /// The hierarchy with a default scheduler. If the file has none, one of proportional share is added below all that
    /// the file has: it runs when nothing there is runnable, and takes nothing from any guarantee. Its threads have
    /// turns of [`DEFAULT_QUANTUM`].
    pub fn with_default(self) -> Hierarchy {
        if self.default_scheduler().is_some() {
            return self;
        }
        let mut completion = Completion::below_a_top(self);
        completion.add_default();
        completion.hierarchy
    }

    /// The hierarchy with all that a real machine needs: a default scheduler, as above, and one for the threads of
    /// `hls`. If the file has none, these have [`SERVICE_BUDGET`] in every [`SERVICE_PERIOD`], ahead of all that the
    /// file has and counted as stolen time, and what the default scheduler gives them beyond that.
    pub fn for_a_machine(self) -> Hierarchy {
        if self.service_scheduler().is_some() {
            return self.with_default();
        }
        let mut completion = Completion::below_a_top(self);
        if completion.hierarchy.default_scheduler().is_none() {
            completion.add_default();
        }
        completion.add_service();
        completion.hierarchy
    }
}

/// A hierarchy to which schedulers are added: its root is below a new one of fixed priority.
struct Completion {
    hierarchy: Hierarchy,
    /// Where the file's root stands: what is added has no place of its own in the file.
    span: Span,
}

const TOP: usize = 0;

impl Completion {
    fn below_a_top(mut hierarchy: Hierarchy) -> Completion {
        for edge in &mut hierarchy.edges {
            edge.parent = edge.parent.map(|parent| parent + 1);
            if let Child::Scheduler(child) = &mut edge.child {
                *child += 1;
            }
        }
        let span = hierarchy.schedulers[0].span.clone();
        let mut completion = Completion { hierarchy, span };
        let top = completion.scheduler("fixed-priority", "all", &[]);
        let Hierarchy { schedulers, edges, .. } = &mut completion.hierarchy;
        schedulers.insert(TOP, top);
        let machine = Edge { child: Child::Scheduler(TOP), ..edges[0].clone() };
        edges[0] = Edge { parent: Some(TOP), params: vec![Level::Root as u64], ..edges[0].clone() };
        edges.insert(0, Edge { requested: None, ..machine });
        completion
    }

    fn add_default(&mut self) {
        let rest = self.scheduler("proportional-share", "rest", &[("quantum", DEFAULT_QUANTUM)]);
        let rest = self.add(Scheduler { is_default: true, is_added: false, ..rest });
        let width = self.hierarchy.edges[0].width;
        self.hang(TOP, rest, vec![Level::Rest as u64], width);
    }

    fn add_service(&mut self) {
        let reserved = self.scheduler("reservation", "for-hls", &[]);
        let reserved = self.add(reserved);
        self.hierarchy.stealing = Some(reserved);
        let join = self.scheduler("join", "hls-or-rest", &[]);
        let join = self.add(join);
        // A thread that wakes up, perhaps with a request from root, has its turn before one that computes for long.
        let service = self.scheduler("proportional-share", "hls", &[("quantum", DEFAULT_QUANTUM)]);
        let service = self.add(Scheduler { is_service: true, ..service });
        let default = self.hierarchy.default_scheduler().expect("the default was added before");
        let policy_of = |scheduler: usize| self.hierarchy.schedulers[scheduler].policy;
        let (budget, of_rest) = (
            values(&policy_of(reserved).vp_params, &[("budget", SERVICE_BUDGET), ("period", SERVICE_PERIOD)]),
            params_of_the_unplaced(policy_of(default)),
        );
        self.hang(TOP, reserved, vec![Level::Service as u64], 1);
        self.hang(reserved, join, budget, 1);
        self.hang(default, join, of_rest, 1);
        self.hang(join, service, Vec::new(), 1);
    }

    /// A scheduler of this policy with these parameters, and presets for the rest. It has this name, unless that is
    /// taken.
    fn scheduler(&self, policy: &str, name: &str, params: &[(&str, Nanos)]) -> Scheduler {
        let policy: Option<&'static PolicyInfo> =
            hls_core::policies().iter().find(|known| known.name == policy);
        let policy = policy.expect("the core has the policy");
        Scheduler {
            name: self.unused_name(name),
            policy,
            declared: None,
            params: values(&policy.scheduler_params, params),
            owner: None,
            is_default: false,
            is_service: false,
            is_added: true,
            span: self.span.clone(),
        }
    }

    /// Adds a scheduler behind the others; its index.
    fn add(&mut self, scheduler: Scheduler) -> usize {
        self.hierarchy.schedulers.push(scheduler);
        self.hierarchy.schedulers.len() - 1
    }

    /// Hangs a scheduler below another one.
    fn hang(&mut self, parent: usize, child: usize, params: Vec<u64>, width: u16) {
        let (child, span) = (Child::Scheduler(child), self.span.clone());
        let edge = Edge { parent: Some(parent), child, params, width, requested: None, span };
        self.hierarchy.edges.push(edge);
    }

    /// The name itself, or with a number behind it if a scheduler or a thread has it.
    fn unused_name(&self, name: &str) -> String {
        let Hierarchy { schedulers, threads, .. } = &self.hierarchy;
        let is_taken = |name: &String| {
            schedulers.iter().any(|scheduler| scheduler.name == *name)
                || threads.iter().any(|thread| thread.name == *name)
        };
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        let mut all = std::iter::once(name.to_owned()).chain(numbered);
        all.find(|name| !is_taken(name)).expect("there are more numbers than names")
    }
}

/// The values of `params`: those that are given by name, and presets.
fn values(params: &[ParamInfo], given: &[(&str, Nanos)]) -> Vec<u64> {
    let value = |param: &ParamInfo| {
        let given = given.iter().find(|(name, _)| *name == param.name);
        given.map_or(param.default.unwrap_or(0), |(_, value)| value.0)
    };
    params.iter().map(value).collect()
}
