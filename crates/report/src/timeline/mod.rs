//! A picture of some interval of a run, as SVG: who ran, who waited for the CPU, and what came too late.
//!
//! One lane for each CPU, with the thread that runs there, then one for each scheduler and thread of the hierarchy.
//! Relies on being given all records from the start of the run, since what was before the interval tells who is ready
//! in it. Memory and file are bounded by the lanes and the pixels, not by the records: what is too small to be seen
//! apart is merged. Never uses a float: lengths are tenths of a pixel.

mod draw;
mod lane;

use crate::hierarchy::{Edge, nodes};
use hls_monitor::event::{ObservedVp, Record, What};
use hls_monitor::result::{Child, Topology, VpInfo};
use hls_units::Nanos;
use lane::{Kind, Lane};
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
    /// For a thread: how many threads are before it in the file.
    thread: Option<usize>,
    wants: bool,
    is_throttled: bool,
    running_on: Option<u16>,
}

/// The lane of a CPU.
#[derive(Clone, Debug)]
struct CpuLane {
    lane: Lane,
    /// The thread that runs, and since when.
    thread: Option<(ObservedVp, Nanos)>,
    /// The VPs that run here: the thread's and those above.
    vps: Vec<ObservedVp>,
}

/// The lane of a scheduler or thread.
#[derive(Clone, Debug)]
struct NodeLane {
    /// The edge to it, with the VPs from all its parents.
    edge: Edge,
    lane: Lane,
    /// What it does, if it does not wait, and since when.
    state: Option<Kind>,
    since: Nanos,
    releases: Vec<Nanos>,
    deadlines: Vec<Nanos>,
    misses: Vec<Nanos>,
}

/// Collects what is to be drawn.
#[derive(Clone, Debug)]
pub struct Timeline<'t> {
    topology: &'t Topology,
    from: Nanos,
    to: Nanos,
    vps: Vec<Vp>,
    cpus: Vec<CpuLane>,
    nodes: Vec<NodeLane>,
    /// How many nodes have no lane.
    left_out: usize,
}

impl<'t> Timeline<'t> {
    /// A picture of `from` to `to`; it shows at least one nanosecond.
    pub fn new(topology: &'t Topology, from: Nanos, to: Nanos) -> Timeline<'t> {
        let to = to.max(Nanos(from.0.saturating_add(1)));
        let lane = Lane::new(from, to);
        let mut threads = 0..;
        let vp = |info: &VpInfo| Vp {
            node: NO_NODE,
            thread: if info.child == Child::Thread { threads.next() } else { None },
            wants: false,
            is_throttled: false,
            running_on: None,
        };
        let mut vps: Vec<Vp> = topology.vps.iter().map(vp).collect();
        let mut nodes = nodes(topology);
        let left_out = nodes.len().saturating_sub(MAX_NODES);
        nodes.truncate(MAX_NODES);
        for (number, node) in nodes.iter().enumerate() {
            node.edge.vps.iter().for_each(|&vp| vps[vp.index()].node = number);
        }
        let nodes = nodes.into_iter().map(|node| NodeLane::new(node.edge, lane.clone())).collect();
        let cpu = CpuLane { lane, thread: None, vps: Vec::new() };
        Timeline { topology, from, to, vps, cpus: vec![cpu; usize::from(topology.cpus)], nodes, left_out }
    }

    /// Takes the next record, in time order from the start of the run.
    pub fn record(&mut self, record: &Record) {
        let Record { at, vp, cpu, what } = *record;
        if let What::Stolen { length } = what {
            return self.steal(cpu, at, length);
        }
        let Some(state) = self.vps.get_mut(vp.index()) else {
            return;
        };
        match what {
            What::Request => state.wants = true,
            What::Grant => return self.grant(vp, cpu, at),
            What::Revoke => return self.stop(vp, true, at),
            What::Release | What::Leave => return self.stop(vp, false, at),
            What::Throttle => state.is_throttled = true,
            What::Replenish { .. } => state.is_throttled = false,
            What::JobRelease { .. } | What::Miss { .. } => return self.mark(vp, what, at),
            What::Arrive
            | What::JobDone { .. }
            | What::Stolen { .. }
            | What::Offline
            | What::Online
            | What::PolicyDisabled { .. } => return,
        }
        self.update(vp, at);
    }

    /// Ends the collection at `end`, where it is before the end of the interval, and writes the picture.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write(mut self, out: &mut impl Write, end: Nanos) -> io::Result<()> {
        for cpu in &mut self.cpus {
            if let Some((vp, since)) = cpu.thread {
                cpu.lane.push(since, end, Kind::Thread(vp));
            }
        }
        self.nodes.iter_mut().for_each(|node| node.change(None, end));
        draw::write_svg(out, &self)
    }

    fn grant(&mut self, vp: ObservedVp, cpu: u16, at: Nanos) {
        let Some(state) = self.vps.get_mut(vp.index()) else {
            return;
        };
        state.wants = true;
        // Nothing else tells that a child of a user-level scheduler is held no more.
        state.is_throttled = false;
        state.running_on = Some(cpu);
        if let Some(lane) = self.cpus.get_mut(usize::from(cpu)) {
            lane.vps.push(vp);
            if state.thread.is_some() {
                lane.thread = Some((vp, at));
            }
        }
        self.update(vp, at);
    }

    /// The VP runs no more, if it did; `wants`: it would like to.
    fn stop(&mut self, vp: ObservedVp, wants: bool, at: Nanos) {
        let Some(state) = self.vps.get_mut(vp.index()) else {
            return;
        };
        state.wants = wants;
        let cpu = state.running_on.take();
        if let Some(lane) = cpu.and_then(|cpu| self.cpus.get_mut(usize::from(cpu))) {
            lane.vps.retain(|&running| running != vp);
            if let Some((_, since)) = lane.thread.take_if(|(thread, _)| *thread == vp) {
                lane.lane.push(since, at, Kind::Thread(vp));
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
            lane.lane.push(*since, begin, Kind::Thread(*vp));
            *since = at;
        }
        lane.lane.push(begin, at, Kind::Stolen);
        for &vp in &lane.vps {
            let Some(node) = self.nodes.get_mut(self.vps[vp.index()].node) else {
                continue;
            };
            let is_running = |vp: &&ObservedVp| self.vps[vp.index()].running_on.is_some();
            // A node with several CPUs still runs on the others.
            if node.edge.vps.iter().filter(is_running).count() == 1 {
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
            Vp { is_throttled: true, .. } => Some(Kind::Throttled),
            Vp { .. } => Some(Kind::Ready),
        };
        let states = node.edge.vps.iter().filter_map(state);
        let strongest = states.max_by_key(|state| match state {
            Kind::Running => 2,
            Kind::Ready => 1,
            _ => 0,
        });
        node.change(strongest, at);
    }
}

impl NodeLane {
    fn new(edge: Edge, lane: Lane) -> NodeLane {
        NodeLane {
            edge,
            lane,
            state: None,
            since: Nanos::ZERO,
            releases: Vec::new(),
            deadlines: Vec::new(),
            misses: Vec::new(),
        }
    }

    /// From `at` on, the node does something else.
    fn change(&mut self, state: Option<Kind>, at: Nanos) {
        if state != self.state {
            if let Some(before) = self.state {
                self.lane.push(self.since, at, before);
            }
            (self.state, self.since) = (state, at);
        }
    }
}
