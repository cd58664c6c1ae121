//! A picture of some interval of a run, as SVG: what ran, what waited for the CPU, and what came too late.
//!
//! One lane for each CPU, with the thread that runs there, then one for each scheduler and thread of the hierarchy. A
//! scheduler or thread that comes by a request, or is moved, has a lane at the new place, below the others there, if it
//! does anything in the interval. Relies on being given all records from the start of the run, since the records before
//! the interval tell which VPs are ready in it. Memory and file are bounded by the lanes and the pixels, not by the
//! records: what is too small to be seen apart is merged. Never uses a float: lengths are tenths of a pixel.

mod draw;
mod lane;
mod node;

use crate::hierarchy::nodes;
use hls_monitor::event::{ObservedScheduler, ObservedVp, Record, What};
use hls_monitor::result::{Child, Topology};
use hls_units::Nanos;
use lane::{Kind, Lane};
use node::NodeLane;
use std::collections::BTreeMap;
use std::io::{self, Write};

/// No picture has more lanes for schedulers and threads.
const MAX_NODES: usize = 120;
/// Stands for a VP without a lane.
const NO_NODE: usize = usize::MAX;

/// What is known of a VP.
#[derive(Clone, Copy, Debug)]
struct Vp {
    /// Index into [`Timeline::nodes`], or [`NO_NODE`].
    node: usize,
    /// For a thread: index into [`Timeline::threads`].
    thread: Option<usize>,
    wants: bool,
    /// Why it may not run though it is ready: [`Kind::Throttled`] or [`Kind::Held`].
    barred: Option<Kind>,
    running_on: Option<u16>,
}

impl Vp {
    const UNKNOWN: Vp = Vp { node: NO_NODE, thread: None, wants: false, barred: None, running_on: None };
}

/// The lane of a CPU.
#[derive(Clone, Debug)]
struct CpuLane {
    lane: Lane,
    /// The thread that runs, and since when.
    thread: Option<(ObservedVp, Nanos)>,
    /// The VPs that run here: the thread's VP and the VPs above it.
    vps: Vec<ObservedVp>,
}

/// Collects what is to be drawn.
#[derive(Clone, Debug)]
pub struct Timeline {
    from: Nanos,
    to: Nanos,
    vps: Vec<Vp>,
    cpus: Vec<CpuLane>,
    /// Parents before children.
    nodes: Vec<NodeLane>,
    /// The lane of each scheduler that has one.
    schedulers: BTreeMap<ObservedScheduler, usize>,
    /// The names of the threads, in the order in which they came.
    threads: Vec<String>,
    /// How many nodes have no lane.
    left_out: usize,
}

impl Timeline {
    /// A picture of `from` to `to`; it shows at least one nanosecond.
    pub fn new(topology: &Topology, from: Nanos, to: Nanos) -> Timeline {
        let to = to.max(Nanos(from.0.saturating_add(1)));
        let cpu = CpuLane { lane: Lane::new(from, to), thread: None, vps: Vec::new() };
        let mut timeline = Timeline {
            from,
            to,
            vps: vec![Vp::UNKNOWN; topology.vps.len()],
            cpus: vec![cpu; usize::from(topology.cpus)],
            nodes: Vec::new(),
            schedulers: BTreeMap::new(),
            threads: Vec::new(),
            left_out: 0,
        };
        for (vp, info) in topology.vps.iter().enumerate().filter(|(_, info)| info.child == Child::Thread) {
            timeline.vps[vp].thread = Some(timeline.threads.len());
            timeline.threads.push(info.name.as_str().to_owned());
        }
        let mut nodes = nodes(topology);
        timeline.left_out = nodes.len().saturating_sub(MAX_NODES);
        nodes.truncate(MAX_NODES);
        for (number, node) in nodes.into_iter().enumerate() {
            node.edge.vps.iter().for_each(|&vp| timeline.vps[vp.index()].node = number);
            if let Child::Scheduler(scheduler) = node.edge.child {
                timeline.schedulers.insert(scheduler, number);
            }
            let thread = node.edge.vps.first().and_then(|vp| timeline.vps[vp.index()].thread);
            let lane = Lane::new(from, to);
            timeline.nodes.push(NodeLane::of_file(topology, node, thread, lane));
        }
        timeline
    }

    /// A VP has come, by a request, and may have the number of a VP that has left.
    pub fn join(&mut self, topology: &Topology, vp: ObservedVp, at: Nanos) {
        self.leave(vp, at);
        if self.vps.len() <= vp.index() {
            self.vps.resize(vp.index() + 1, Vp::UNKNOWN);
        }
        self.vps[vp.index()] = Vp::UNKNOWN;
        if at < self.to && topology.vps.get(vp.index()).is_some_and(|info| info.child == Child::Thread) {
            self.vps[vp.index()].thread = Some(self.threads.len());
            self.threads.push(topology.child_name(vp).to_owned());
        }
        self.place(topology, vp, at);
    }

    /// The VP of a thread is below another scheduler from now on.
    pub fn move_below(&mut self, topology: &Topology, vp: ObservedVp, at: Nanos) {
        self.leave(vp, at);
        self.place(topology, vp, at);
    }

    /// The child of the VP that has this number no longer has its lane.
    fn leave(&mut self, vp: ObservedVp, at: Nanos) {
        let Some(state) = self.vps.get_mut(vp.index()) else { return };
        if let Some(node) = self.nodes.get_mut(std::mem::replace(&mut state.node, NO_NODE)) {
            node.vps.retain(|of_node| *of_node != vp);
            if node.vps.is_empty() {
                node.change(None, at);
            }
        }
    }

    /// Gives a VP its lane, below the lane of the scheduler above it; a scheduler may have one already.
    fn place(&mut self, topology: &Topology, vp: ObservedVp, at: Nanos) {
        let Some(info) = topology.vps.get(vp.index()).filter(|_| at < self.to) else { return };
        let above = info.parent.and_then(|above| self.schedulers.get(&above).copied());
        let known = match info.child {
            Child::Scheduler(scheduler) => {
                Some(*self.schedulers.entry(scheduler).or_insert(self.nodes.len()))
            }
            _ => None,
        };
        let node = known.unwrap_or(self.nodes.len());
        if node == self.nodes.len() {
            let depth = above.map_or(0, |above| self.nodes[above].depth + 1);
            let thread = self.vps[vp.index()].thread;
            let lane = Lane::new(self.from, self.to);
            self.nodes.push(NodeLane::new(topology.child_name(vp), (above, depth), thread, lane));
        }
        self.nodes[node].vps.push(vp);
        self.vps[vp.index()].node = node;
        self.update(vp, at);
    }

    /// A scheduler is gone: the next one of this number is a new scheduler.
    pub fn remove_scheduler(&mut self, scheduler: ObservedScheduler) {
        self.schedulers.remove(&scheduler);
    }

    /// Notes what a VP that came by a request, or was moved, is promised from now on; the last of several promises is
    /// shown.
    pub fn promise(&mut self, vp: ObservedVp, guarantee: &str) {
        let node = self.vps.get(vp.index()).and_then(|state| self.nodes.get_mut(state.node));
        if let Some(node) = node.filter(|node| !node.is_of_file && !guarantee.is_empty()) {
            node.guarantee = guarantee.to_owned();
        }
    }

    /// Takes the next record, in time order from the start of the run.
    pub fn record(&mut self, record: &Record) {
        let Record { at, vp, cpu, what } = *record;
        match what {
            What::Stolen { length } => return self.steal(cpu, at, length),
            // What any VP does until the next record of it is not known, and not drawn.
            What::Lost => return (0..self.vps.len()).for_each(|vp| self.stop(ObservedVp::at(vp), false, at)),
            _ => {}
        }
        let Some(state) = self.vps.get_mut(vp.index()) else {
            return;
        };
        match what {
            What::Request => state.wants = true,
            What::Grant => return self.grant(vp, cpu, at),
            What::Revoke => return self.stop(vp, true, at),
            What::Release | What::Leave => return self.stop(vp, false, at),
            What::Throttle => state.barred = Some(Kind::Throttled),
            What::Hold { .. } => state.barred = Some(Kind::Held),
            What::Replenish { .. } => state.barred = state.barred.filter(|why| *why == Kind::Held),
            What::JobRelease { .. } | What::Miss { .. } => return self.mark(vp, what, at),
            What::Arrive
            | What::JobDone { .. }
            | What::JobOpen { .. }
            | What::Pay { .. }
            | What::Stolen { .. }
            | What::Lost
            | What::Offline
            | What::Online
            | What::PolicyDisabled { .. } => return,
        }
        self.update(vp, at);
    }

    /// Ends the collection at `end`, where it is before the end of the interval, and writes the picture.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn write(mut self, out: &mut impl Write, end: Nanos) -> io::Result<()> {
        for cpu in &mut self.cpus {
            if let Some((vp, since)) = cpu.thread {
                cpu.lane.push(since, end, Kind::of_thread(self.vps[vp.index()].thread));
            }
        }
        self.nodes.iter_mut().for_each(|node| node.change(None, end));
        self.nodes = node::in_order(self.nodes);
        self.left_out += self.nodes.len().saturating_sub(MAX_NODES);
        self.nodes.truncate(MAX_NODES);
        draw::write_svg(out, &self)
    }

    fn grant(&mut self, vp: ObservedVp, cpu: u16, at: Nanos) {
        let Some(state) = self.vps.get_mut(vp.index()) else {
            return;
        };
        state.wants = true;
        // Only this tells that a child of a user-level scheduler is no longer held.
        state.barred = None;
        state.running_on = Some(cpu);
        if let Some(lane) = self.cpus.get_mut(usize::from(cpu)) {
            lane.vps.push(vp);
            if state.thread.is_some() {
                lane.thread = Some((vp, at));
            }
        }
        self.update(vp, at);
    }

    /// The VP no longer runs, if it did; `wants`: it would like to.
    fn stop(&mut self, vp: ObservedVp, wants: bool, at: Nanos) {
        let Some(state) = self.vps.get_mut(vp.index()) else {
            return;
        };
        state.wants = wants;
        state.barred = state.barred.filter(|_| wants);
        let thread = state.thread;
        let cpu = state.running_on.take();
        if let Some(lane) = cpu.and_then(|cpu| self.cpus.get_mut(usize::from(cpu))) {
            lane.vps.retain(|&running| running != vp);
            if let Some((_, since)) = lane.thread.take_if(|(thread, _)| *thread == vp) {
                lane.lane.push(since, at, Kind::of_thread(thread));
            }
        }
        self.update(vp, at);
    }

    /// Cuts the stolen time out of whatever runs on that CPU.
    fn steal(&mut self, cpu: u16, at: Nanos, length: Nanos) {
        let Some(lane) = self.cpus.get_mut(usize::from(cpu)) else {
            return;
        };
        let begin = at.saturating_sub(length);
        if let Some((vp, since)) = &mut lane.thread {
            lane.lane.push(*since, begin, Kind::of_thread(self.vps[vp.index()].thread));
            *since = at;
        }
        lane.lane.push(begin, at, Kind::Stolen);
        for &vp in &lane.vps {
            let Some(node) = self.nodes.get_mut(self.vps[vp.index()].node) else {
                continue;
            };
            let is_running = |vp: &&ObservedVp| self.vps[vp.index()].running_on.is_some();
            // A node with several CPUs still runs on the others.
            if node.vps.iter().filter(is_running).count() == 1 {
                node.change(Some(Kind::Stolen), begin);
                node.change(Some(Kind::Running), at);
            }
        }
    }

    /// Puts an arrow or a cross on the lane of a thread.
    fn mark(&mut self, vp: ObservedVp, what: What, at: Nanos) {
        let node = self.vps.get(vp.index()).and_then(|state| self.nodes.get_mut(state.node));
        let Some(node) = node else { return };
        match what {
            What::JobRelease { deadline } => {
                node.lane.push_mark(&mut node.releases, at);
                node.lane.push_mark(&mut node.deadlines, deadline);
            }
            _ => node.lane.push_mark(&mut node.misses, at),
        }
    }

    /// Brings the lane of a VP's child up to date.
    fn update(&mut self, vp: ObservedVp, at: Nanos) {
        let node = self.vps.get(vp.index()).and_then(|state| self.nodes.get_mut(state.node));
        let Some(node) = node else { return };
        let state = |&vp: &ObservedVp| match self.vps[vp.index()] {
            Vp { running_on: Some(_), .. } => Some(Kind::Running),
            Vp { wants: false, .. } => None,
            Vp { barred, .. } => barred.or(Some(Kind::Ready)),
        };
        let states = node.vps.iter().filter_map(state);
        let strongest = states.max_by_key(|state| match state {
            Kind::Running => 2,
            Kind::Ready => 1,
            _ => 0,
        });
        node.change(strongest, at);
    }
}
