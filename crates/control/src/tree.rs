//! The hierarchy as the manager knows it: names and numbers of its schedulers, their owners, and the guarantees on its
//! edges. A value: a request works on a copy, which becomes the hierarchy when the engine has made the change.
//!
//! Relies on the calculus' numbers for schedulers and edges. The tree contains only the threads that a request has
//! placed; other threads are in places of the file, or in the default scheduler without a promise.

use crate::engine::{DisabledPolicies, Promisee, Thread};
use crate::error::Error;
use crate::loaded::{LoadedPolicy, policy_of};
use crate::params::shown;
use hls_calculus::{Admission, Child, Edge, Graph, GraphEdge, Guarantee, Mode};
use hls_core::pages::{number_child, number_of_scheduler};
use hls_core::{CoreScheduler, CoreVp, ParamInfo, Params, PolicyInfo};
use hls_engine::{ShareScale, ThreadKey};
use hls_hierarchy::Policies;
use hls_units::Nanos;
use std::collections::{BTreeMap, BTreeSet};

/// The parameter that has a value for a child as a whole, not for each of its VPs.
const SHARE: &str = "share";

/// A hierarchy that an engine has built: what a [`Manager`](crate::Manager) starts from.
#[derive(Clone, Debug)]
pub struct Layout {
    /// The hierarchy for the calculus, one edge for each instance of a thread.
    pub graph: Graph,
    /// The core's number of each scheduler of the graph.
    pub schedulers: Vec<CoreScheduler>,
    /// The core's VPs of each edge of the graph to a scheduler; none for threads.
    pub vps: Vec<Vec<CoreVp>>,
    /// The user that may change what is below each scheduler of the graph, if the file names one.
    pub owners: Vec<Option<u32>>,
    /// The scheduler of the graph for threads that neither the file nor a request placed.
    pub default: usize,
    /// The scheduler of the graph that has the threads of `hls` itself, if there is one.
    pub service: Option<usize>,
    /// The schedulers of the graph that were added for the threads of `hls`: requests do not reach them.
    pub added: Vec<usize>,
    /// By how much timers let a thread overrun its budget: smaller budgets are refused.
    pub overrun: Nanos,
    /// The policies that were loaded for it.
    pub loaded: Vec<LoadedPolicy>,
    /// Where the engine's side puts policies that were disabled.
    pub disabled_policies: DisabledPolicies,
}

/// The hierarchy, with the numbers that it has in the calculus and in the core.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    pub(crate) admission: Admission,
    /// The schedulers by the calculus' number; `None`: one that was destroyed.
    pub(crate) schedulers: Vec<Option<Scheduler>>,
    /// Places for threads that the file promises, filled or not, by edge.
    pub(crate) slots: BTreeMap<GraphEdge, Slot>,
    /// Threads that a request placed, by their numbers in the system.
    pub(crate) leases: BTreeMap<u32, Lease>,
    /// Places that count though nothing is there any more.
    pub(crate) resting: BTreeMap<GraphEdge, Resting>,
    /// When these places were last looked at, by the engine's time.
    pub(crate) rests_seen_at: Nanos,
    pub(crate) default: usize,
    pub(crate) service: Option<usize>,
    pub(crate) added: Vec<usize>,
    pub(crate) overrun: Nanos,
    pub(crate) cpus: u16,
    pub(crate) mode: Mode,
}

#[derive(Clone, Debug)]
pub(crate) struct Scheduler {
    pub(crate) name: String,
    pub(crate) policy: &'static PolicyInfo,
    pub(crate) params: Vec<(String, u64)>,
    /// The core's number.
    pub(crate) id: CoreScheduler,
    pub(crate) owner: Option<u32>,
    /// The user that created it; `None`: the file has it.
    pub(crate) creator: Option<u32>,
    /// Whether it is destroyed when no thread is left below it.
    pub(crate) is_promoted: bool,
    pub(crate) above: Vec<Above>,
    /// How the shares of its children become shares of their VPs.
    pub(crate) scale: ShareScale,
    /// Its policy that was disabled, if one was.
    pub(crate) lost: Option<Lost>,
}

impl Scheduler {
    /// Whether the shares of a child can be divided over `width` VPs, where the policy has shares.
    pub(crate) fn may_divide_shares(&self, width: u16) -> bool {
        self.scale.suits(width) || self.policy.vp_params.iter().all(|info| info.name != SHARE)
    }
}

/// The policy that a scheduler had until the policy was disabled.
#[derive(Clone, Debug)]
pub(crate) struct Lost {
    pub(crate) policy: &'static str,
    pub(crate) params: Vec<(String, u64)>,
    /// What the policy did.
    pub(crate) violation: String,
}

/// An edge from a parent.
#[derive(Clone, Debug)]
pub(crate) struct Above {
    pub(crate) edge: GraphEdge,
    /// `None`: the machine.
    pub(crate) parent: Option<usize>,
    pub(crate) vps: Vec<CoreVp>,
    /// The parameters of each of these VPs in the core.
    pub(crate) params: Params,
}

/// A place for a thread.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    pub(crate) scheduler: usize,
    pub(crate) params: Vec<u64>,
    pub(crate) need: Option<Guarantee>,
}

/// A thread that a request has placed, and its place.
#[derive(Clone, Debug)]
pub(crate) struct Lease {
    pub(crate) key: ThreadKey,
    pub(crate) edge: GraphEdge,
    pub(crate) slot: Slot,
    /// The user that placed it last.
    pub(crate) placer: u32,
}

/// A place that rests (`resting`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Resting {
    /// The scheduler above it.
    pub(crate) scheduler: usize,
    /// The user that placed or created what was there; `None`: the file had it.
    pub(crate) placer: Option<u32>,
    /// It rests until then, by the engine's time.
    pub(crate) until: Nanos,
}

impl Tree {
    /// Why no request may destroy the scheduler; `None`: a request may.
    pub(crate) fn why_it_stays(&self, number: usize, scheduler: &Scheduler) -> Option<&'static str> {
        if number == self.default {
            Some("the default scheduler")
        } else if self.service == Some(number) {
            Some("the scheduler of hls itself")
        } else {
            scheduler.above.iter().any(|above| above.parent.is_none()).then_some("the root")
        }
    }

    /// The tree of a hierarchy that an engine has built.
    pub(crate) fn new(layout: Layout, policies: &Policies, mode: Mode) -> Result<Tree, Error> {
        let Layout { graph, schedulers, vps, owners, default, service, added, overrun, .. } = layout;
        let counts = [schedulers.len(), owners.len()];
        let fits = counts.iter().all(|count| *count == graph.schedulers.len());
        if !fits || vps.len() != graph.edges.len() || default >= graph.schedulers.len() {
            let reason =
                "found a layout whose lists do not fit its graph, expected an entry for each of its parts";
            return Err(Error::Failed(reason.into()));
        }
        let mut tree = Tree {
            admission: admission(&graph, mode)?,
            schedulers: Vec::new(),
            slots: BTreeMap::new(),
            leases: BTreeMap::new(),
            resting: BTreeMap::new(),
            rests_seen_at: Nanos::ZERO,
            default,
            service,
            added,
            overrun,
            cpus: graph.cpus,
            mode,
        };
        for (at, (id, owner)) in schedulers.into_iter().zip(owners).enumerate() {
            tree.schedulers.push(Some(scheduler(&graph, at, policies, id, owner)?));
        }
        for (at, (edge, vps)) in graph.edges.iter().zip(vps).enumerate() {
            tree.enter(at, edge, vps);
        }
        Ok(tree)
    }

    /// Enters an edge of the file.
    fn enter(&mut self, at: usize, edge: &Edge, vps: Vec<CoreVp>) {
        let values = edge.parent.map_or_else(Vec::new, |parent| self.values(parent, &edge.params));
        match (&edge.child, edge.parent) {
            (Child::Thread(_), Some(scheduler)) => {
                let slot = Slot { scheduler, params: values, need: edge.requested.clone() };
                self.slots.insert(GraphEdge(at), slot);
            }
            (Child::Thread(_), None) => {}
            (Child::Scheduler(child), parent) => {
                let number = number_of_scheduler(*child);
                let params = parent.map_or_else(Params::default, |parent| {
                    self.core_params(parent, &values, edge.width, number)
                });
                let above = Above { edge: GraphEdge(at), parent, vps, params };
                self.schedulers[*child]
                    .as_mut()
                    .into_iter()
                    .for_each(|child| child.above.push(above.clone()));
            }
        }
    }

    /// The values of a VP below `parent` in the policy's order.
    fn values(&self, parent: usize, params: &[(String, u64)]) -> Vec<u64> {
        let infos = self.scheduler(parent).map_or(&[][..], |parent| &parent.policy.vp_params);
        let value =
            |info: &ParamInfo| params.iter().find(|(name, _)| name == info.name).map(|(_, value)| *value);
        infos.iter().map(|info| value(info).or(info.default).unwrap_or(info.min)).collect()
    }

    /// The scheduler of a number.
    pub(crate) fn scheduler(&self, at: usize) -> Option<&Scheduler> {
        self.schedulers.get(at)?.as_ref()
    }

    /// Numbers and schedulers.
    pub(crate) fn all(&self) -> impl Iterator<Item = (usize, &Scheduler)> {
        self.schedulers.iter().enumerate().filter_map(|(at, scheduler)| Some((at, scheduler.as_ref()?)))
    }

    /// The schedulers' numbers, parents before children.
    pub(crate) fn parents_first(&self) -> Vec<usize> {
        let (mut order, mut ordered) = (Vec::new(), vec![false; self.schedulers.len()]);
        let mut rest: Vec<usize> = self.all().map(|(at, _)| at).collect();
        while !rest.is_empty() {
            let is_ready = |at: &usize| {
                let above = self.scheduler(*at).map_or(&[][..], |scheduler| &scheduler.above);
                above.iter().all(|above| above.parent.is_none_or(|parent| ordered[parent]))
            };
            let (ready, wait): (Vec<usize>, Vec<usize>) = rest.into_iter().partition(is_ready);
            if ready.is_empty() {
                break;
            }
            ready.iter().for_each(|at| ordered[*at] = true);
            order.extend(ready);
            rest = wait;
        }
        order
    }

    /// The scheduler of a name.
    pub(crate) fn find(&self, name: &str) -> Result<(usize, &Scheduler), Error> {
        self.all().find(|(_, scheduler)| scheduler.name == name).ok_or_else(|| {
            let names: Vec<String> =
                self.all().take(12).map(|(_, scheduler)| format!("`{}`", scheduler.name)).collect();
            let more = if self.all().count() > names.len() { " ..." } else { "" };
            Error::NotFound(format!(
                "found no scheduler `{name}`, expected one of {}{more}",
                names.join(", ")
            ))
        })
    }

    /// The number of the scheduler that the core knows as `id`.
    pub(crate) fn of_core(&self, id: CoreScheduler) -> Option<usize> {
        self.all().find(|(_, scheduler)| scheduler.id == id).map(|(at, _)| at)
    }

    /// Whether `scheduler` is `other`, or is below it at any depth.
    pub(crate) fn is_at_or_below(&self, scheduler: usize, other: usize) -> bool {
        let (mut open, mut seen) = (vec![scheduler], BTreeSet::from([scheduler]));
        while let Some(at) = open.pop() {
            if at == other {
                return true;
            }
            let above = self.scheduler(at).map_or(&[][..], |scheduler| &scheduler.above);
            open.extend(above.iter().filter_map(|above| above.parent.filter(|it| seen.insert(*it))));
        }
        false
    }

    /// Whether every path from a scheduler up to the machine has a scheduler that the user owns: then the user may
    /// change what is below the scheduler.
    pub(crate) fn is_below_of(&self, scheduler: usize, uid: u32) -> bool {
        let (mut open, mut seen) = (vec![scheduler], BTreeSet::from([scheduler]));
        while let Some(at) = open.pop() {
            let Some(scheduler) = self.scheduler(at) else { return false };
            if scheduler.owner == Some(uid) {
                continue;
            }
            if scheduler.above.is_empty() || scheduler.above.iter().any(|above| above.parent.is_none()) {
                return false;
            }
            open.extend(
                scheduler.above.iter().filter_map(|above| above.parent.filter(|it| seen.insert(*it))),
            );
        }
        true
    }

    /// The names of the children that a scheduler is known to have.
    pub(crate) fn children(&self, of: usize) -> Vec<String> {
        let is_above = |scheduler: &Scheduler| scheduler.above.iter().any(|above| above.parent == Some(of));
        let schedulers = self.all().filter(|(_, scheduler)| is_above(scheduler));
        let slots = self.slots.values().filter(|slot| slot.scheduler == of);
        let leases = self.leases.iter().filter(|(_, lease)| lease.slot.scheduler == of);
        let names = schedulers.map(|(_, scheduler)| format!("`{}`", scheduler.name));
        let places = slots.map(|_| "a thread of the file".to_owned());
        names.chain(places).chain(leases.map(|(tid, _)| format!("thread {tid}"))).collect()
    }

    /// The sum of the shares of a scheduler's children; 0 where its policy has none.
    pub(crate) fn shares_below(&self, scheduler: usize) -> u64 {
        let share = |edge: &Edge| edge.params.iter().find(|(name, _)| name == SHARE).map(|(_, share)| *share);
        self.admission.below(scheduler).filter_map(share).fold(0, u64::saturating_add)
    }

    /// How many CPUs a scheduler may have at once.
    pub(crate) fn held(&self, scheduler: &Scheduler) -> u16 {
        let vps: usize = scheduler.above.iter().map(|above| above.vps.len()).sum();
        u16::try_from(vps).unwrap_or(u16::MAX).clamp(1, self.cpus.max(1))
    }

    /// The edge of a thread below a scheduler.
    pub(crate) fn thread_edge(&self, thread: &Thread, slot: &Slot) -> Edge {
        Edge {
            parent: Some(slot.scheduler),
            child: Child::Thread(format!("{}-{}", thread.comm, thread.key.tid)),
            params: self
                .scheduler(slot.scheduler)
                .map_or_else(Vec::new, |above| named(&above.policy.vp_params, &slot.params)),
            requested: slot.need.clone(),
            width: 1,
            pinned: thread.pinned,
        }
    }

    /// The core's parameters of each of the `width` VPs of a child of `parent`. `number` identifies the child to the
    /// parent's process, if the parent's policy is a process.
    pub(crate) fn core_params(&self, parent: usize, values: &[u64], width: u16, number: u64) -> Params {
        let mut params = Params::from_slice(values);
        let Some(parent) = self.scheduler(parent) else { return params };
        if let Some(share) = parent.policy.vp_params.iter().position(|info| info.name == SHARE) {
            params.0[share] = parent.scale.of_a_vp(params.0[share], width);
        }
        number_child(parent.policy, &mut params, number);
        params
    }

    /// What an edge promises to each of its VPs, in real time, and to how many of them.
    pub(crate) fn promised(&self, edge: GraphEdge) -> (Guarantee, usize) {
        let label = self.admission.label(edge.0);
        label.map_or((Guarantee::Null, 0), |label| (label.absolute(), usize::from(label.count)))
    }

    /// All possible promisees, each with the edge that has its promise as label, and the number of VPs of that edge.
    pub(crate) fn promisees(&self) -> BTreeMap<Promisee, (GraphEdge, usize)> {
        let above = self.all().flat_map(|(_, scheduler)| &scheduler.above);
        let of_schedulers = above.flat_map(|Above { edge, vps, .. }| {
            vps.iter().map(|vp| (Promisee::Scheduler(*vp), (*edge, vps.len())))
        });
        let of_threads = self.leases.values().map(|lease| (Promisee::Thread(lease.key), (lease.edge, 1)));
        let of_places = self.slots.keys().map(|slot| (Promisee::Place(*slot), (*slot, 1)));
        of_schedulers.chain(of_threads).chain(of_places).collect()
    }

    /// What each of the VPs of an edge is promised, in real time. A guarantee that covers only some of the VPs, not
    /// always the same ones, is promised to none.
    pub(crate) fn promised_to_each(&self, (edge, vps): (GraphEdge, usize)) -> Guarantee {
        let (guarantee, count) = self.promised(edge);
        if count < vps { Guarantee::Null } else { guarantee }
    }

    /// Whether an edge of this tree promises the same as an edge of another tree.
    pub(crate) fn promises_as(&self, edge: GraphEdge, other: &Tree, of_other: GraphEdge) -> bool {
        let labels = self.admission.label(edge.0).zip(other.admission.label(of_other.0));
        labels.is_some_and(|(label, other)| {
            (label.count, &label.guarantee, &label.scale) == (other.count, &other.guarantee, &other.scale)
        })
    }

    /// A scheduler's parameters as a file has them.
    pub(crate) fn shown_params(&self, scheduler: &Scheduler) -> BTreeMap<String, String> {
        let info = |name: &str| scheduler.policy.scheduler_params.iter().find(|info| info.name == name);
        let params = scheduler.params.iter().filter_map(|(name, value)| Some((info(name)?, *value)));
        params.map(|(info, value)| (info.name.to_owned(), shown(info, value))).collect()
    }
}

/// Values with the names of their parameters.
pub(crate) fn named(infos: &[ParamInfo], values: &[u64]) -> Vec<(String, u64)> {
    infos.iter().zip(values).map(|(info, value)| (info.name.to_owned(), *value)).collect()
}

fn admission(graph: &Graph, mode: Mode) -> Result<Admission, Error> {
    Admission::new(graph.clone(), mode).map_err(|problems| {
        let lines: Vec<String> = problems.into_iter().map(|problem| problem.message).collect();
        Error::Failed(lines.join("\n"))
    })
}

/// A scheduler of the file; the edges above it come later.
fn scheduler(
    graph: &Graph,
    at: usize,
    policies: &Policies,
    id: CoreScheduler,
    owner: Option<u32>,
) -> Result<Scheduler, Error> {
    let hls_calculus::Scheduler { name, policy, params, .. } = &graph.schedulers[at];
    let info = policy_of(policies, policy.name())?.info;
    let shares = graph.edges.iter().filter(|edge| edge.parent == Some(at)).filter_map(|edge| {
        let (_, share) = edge.params.iter().find(|(name, _)| name == SHARE)?;
        Some((*share, edge.width))
    });
    let above = graph.edges.iter().filter(|edge| edge.child == Child::Scheduler(at));
    let held = above.map(|edge| edge.width).fold(0, u16::saturating_add).clamp(1, graph.cpus.max(1));
    let scale = share_scale(info, shares, held);
    let (name, params) = (name.clone(), params.clone());
    Ok(Scheduler {
        name,
        policy: info,
        params,
        id,
        owner,
        creator: None,
        is_promoted: false,
        above: Vec::new(),
        scale,
        lost: None,
    })
}

/// How the shares of children below a policy become shares of their VPs.
pub(crate) fn share_scale(
    policy: &PolicyInfo,
    children: impl Iterator<Item = (u64, u16)> + Clone,
    held: u16,
) -> ShareScale {
    let share = policy.vp_params.iter().find(|info| info.name == SHARE);
    ShareScale::new(children, held, share.map_or(u64::MAX, |info| info.max))
}
