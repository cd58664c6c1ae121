//! A trace for the Perfetto viewer (ui.perfetto.dev), in its protobuf format.
//!
//! A track for each CPU shows which thread runs there and what was stolen. A track for each scheduler and thread,
//! nested as the hierarchy is, shows when it runs, its releases, deadlines and misses, and when it is out of budget;
//! a counter for each VP with a budget shows what it was given, and those of each scheduler whose policy is a process
//! how it came to its choices. The switches are told once more as the kernel's own scheduling events, with VP numbers
//! for thread ids, so that the viewer's CPU and thread-state views work.
//!
//! Written as the records come, in bounded memory. A deadline is written when its job is released, ahead of its time;
//! readers of the format sort by time. Relies on records in time order.

mod wire;

use crate::hierarchy::{Node, nodes};
use hls_monitor::event::{ObservedScheduler, ObservedVp, Record, What};
use hls_monitor::result::{Child, Decided, Topology, VpInfo};
use hls_units::Nanos;
use std::collections::BTreeMap;
use std::io::{self, Write};
use wire::{Field, Message, counter, event, ftrace, packet, switch, trace, track, waking};

/// All packets come from one writer.
const SEQUENCE: u64 = 1;
/// Tracks that hold the others.
const CPUS: u64 = 1;
const HIERARCHY: u64 = 2;
/// What the kernel calls the priority of a common thread.
const PRIORITY: u64 = 120;
/// States that the kernel gives a thread when it leaves a CPU.
const RUNNABLE: u64 = 0;
const SLEEPING: u64 = 1;

/// The number of a track; numbers of different kinds of tracks are apart.
fn cpu_track(cpu: u16) -> u64 {
    (1 << 32) | u64::from(cpu)
}

fn node_track(node: usize) -> u64 {
    (2 << 32) | node as u64
}

fn budget_track(vp: ObservedVp) -> u64 {
    (3 << 32) | u64::from(vp.0)
}

fn choices_track(scheduler: ObservedScheduler, counter: usize) -> u64 {
    (4 << 32) | u64::from(scheduler.0) << 3 | counter as u64
}

/// What is known of a VP.
#[derive(Clone, Copy, Debug, Default)]
struct Vp {
    /// Its node, if it has one.
    node: Option<usize>,
    is_thread: bool,
    running_on: Option<u16>,
    has_counter: bool,
}

/// What is known of a CPU.
#[derive(Clone, Copy, Debug, Default)]
struct Cpu {
    /// The thread that runs.
    thread: Option<ObservedVp>,
    /// The thread that left last, when, and in which state of the kernel's; until it is known who follows.
    leaving: Option<(ObservedVp, Nanos, u64)>,
}

/// Writes the trace while records come in.
pub struct TraceWriter<'t, W> {
    out: W,
    topology: &'t Topology,
    nodes: Vec<Node>,
    /// By node, how many of its VPs run.
    running: Vec<u32>,
    vps: Vec<Vp>,
    cpus: Vec<Cpu>,
    /// The last values of the counters of choices.
    choices: BTreeMap<ObservedScheduler, [u64; 5]>,
}

impl<'t, W: Write> TraceWriter<'t, W> {
    /// Begins with the names of all tracks. Writes small pieces: `out` should be buffered.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn new(out: W, topology: &'t Topology) -> io::Result<Self> {
        let nodes = nodes(topology);
        let is_thread = |child| child == Child::Thread;
        let vp = |info: &VpInfo| Vp { is_thread: is_thread(info.child), ..Vp::default() };
        let mut vps: Vec<Vp> = topology.vps.iter().map(vp).collect();
        for (number, node) in nodes.iter().enumerate() {
            node.edge.vps.iter().for_each(|&vp| vps[vp.index()].node = Some(number));
        }
        let cpus = vec![Cpu::default(); usize::from(topology.cpus)];
        let running = vec![0; nodes.len()];
        let mut writer = TraceWriter { out, topology, running, nodes, vps, cpus, choices: BTreeMap::new() };
        writer.name_tracks()?;
        Ok(writer)
    }

    /// Takes the next record.
    ///
    /// # Errors
    /// Those of the output.
    pub fn record(&mut self, record: &Record) -> io::Result<()> {
        let Record { at, vp, cpu, what } = *record;
        match what {
            What::Stolen { length } => self.steal(cpu, at, length),
            _ if vp.index() >= self.vps.len() => Ok(()),
            What::Request => self.wake(vp, at),
            What::Grant => self.grant(vp, cpu, at),
            What::Revoke => self.stop(vp, at, RUNNABLE),
            What::Release | What::Leave => self.stop(vp, at, SLEEPING),
            What::Throttle => self.instant(vp, at, "out of budget"),
            What::Replenish { budget, .. } => self.replenish(vp, at, budget),
            What::JobRelease { deadline } => {
                self.instant(vp, at, "release")?;
                if deadline == Nanos::MAX { Ok(()) } else { self.instant(vp, deadline, "deadline") }
            }
            What::Miss { count: 1 } => self.instant(vp, at, "deadline missed"),
            What::Miss { count } => self.instant(vp, at, &format!("{count} deadlines missed")),
            What::PolicyDisabled { scheduler, violation } => self
                .vp_of(scheduler)
                .map_or(Ok(()), |vp| self.instant(vp, at, &format!("policy disabled: {violation}"))),
            What::Arrive | What::JobDone { .. } | What::Offline | What::Online => Ok(()),
        }
    }

    /// Takes how a scheduler of the topology whose policy is a process has come to its choices up to `at`.
    ///
    /// # Errors
    /// Those of the output.
    pub fn choices(&mut self, at: Nanos, scheduler: ObservedScheduler, decided: &Decided) -> io::Result<()> {
        let Some(vp) = self.vp_of(scheduler) else { return Ok(()) };
        let Decided { followed, stale, by_urgency, by_agent, agent_ran } = *decided;
        let counters = [
            ("decisions followed", counter::UNIT_COUNT, followed),
            ("decisions stale", counter::UNIT_COUNT, stale),
            ("choices by urgency", counter::UNIT_COUNT, by_urgency),
            ("its agent asked", counter::UNIT_COUNT, by_agent),
            ("CPU time of its agent", counter::UNIT_TIME_NS, agent_ran.0),
        ];
        let before = self.choices.insert(scheduler, counters.map(|(.., value)| value));
        for (number, (name, unit, value)) in counters.into_iter().enumerate() {
            let track_number = choices_track(scheduler, number);
            if before.is_none() {
                self.counter_track(track_number, vp, name, unit)?;
            }
            if before.is_none_or(|before| before[number] != value) {
                self.count(track_number, at, value)?;
            }
        }
        Ok(())
    }

    /// The first VP of a scheduler.
    fn vp_of(&self, scheduler: ObservedScheduler) -> Option<ObservedVp> {
        let is_its = |info: &VpInfo| info.child == Child::Scheduler(scheduler);
        self.topology.vps.iter().position(is_its).map(ObservedVp::at)
    }

    /// Ends what still runs at `end`, flushes, and gives the output back.
    ///
    /// # Errors
    /// Those of the output.
    pub fn finish(mut self, end: Nanos) -> io::Result<W> {
        for vp in 0..self.vps.len() {
            self.stop(ObservedVp::at(vp), end, RUNNABLE)?;
        }
        for cpu in 0..self.topology.cpus {
            self.switch(cpu, None, end)?;
        }
        self.out.flush()?;
        Ok(self.out)
    }

    /// Tells the names of the tracks and how they are nested.
    fn name_tracks(&mut self) -> io::Result<()> {
        self.track(CPUS, None, "CPUs", 0)?;
        for cpu in 0..self.topology.cpus {
            self.track(cpu_track(cpu), Some(CPUS), &format!("CPU {cpu}"), usize::from(cpu))?;
        }
        self.track(HIERARCHY, None, "hierarchy", 1)?;
        for number in 0..self.nodes.len() {
            let Node { edge, parent } = &self.nodes[number];
            let parent = parent.map_or(HIERARCHY, node_track);
            let name = edge.name(self.topology);
            let guarantee = edge.guarantee(self.topology);
            let name = if guarantee.is_empty() { name.to_owned() } else { format!("{name} ({guarantee})") };
            self.track(node_track(number), Some(parent), &name, number)?;
        }
        Ok(())
    }

    fn grant(&mut self, vp: ObservedVp, cpu: u16, at: Nanos) -> io::Result<()> {
        // A grant without a revoke is a fault of the engine, but must not unbalance the slices.
        self.stop(vp, at, RUNNABLE)?;
        let state = &mut self.vps[vp.index()];
        state.running_on = Some(cpu);
        let Vp { node, is_thread, .. } = *state;
        if let Some(node) = node {
            self.running[node] += 1;
            if self.running[node] == 1 {
                self.slice_begin(node_track(node), at, "runs")?;
            }
        }
        if !is_thread || usize::from(cpu) >= self.cpus.len() {
            return Ok(());
        }
        if let Some(before) = self.cpus[usize::from(cpu)].thread {
            self.stop(before, at, RUNNABLE)?;
        }
        self.cpus[usize::from(cpu)].thread = Some(vp);
        self.slice_begin(cpu_track(cpu), at, self.topology.child_name(vp))?;
        self.switch(cpu, Some(vp), at)
    }

    /// The VP runs no more, if it did.
    fn stop(&mut self, vp: ObservedVp, at: Nanos, state: u64) -> io::Result<()> {
        let Some(cpu) = self.vps[vp.index()].running_on.take() else {
            return Ok(());
        };
        if let Some(node) = self.vps[vp.index()].node {
            self.running[node] -= 1;
            if self.running[node] == 0 {
                self.slice_end(node_track(node), at)?;
            }
        }
        let lane = self.cpus.get_mut(usize::from(cpu));
        if let Some(lane) = lane.filter(|lane| lane.thread == Some(vp)) {
            *lane = Cpu { thread: None, leaving: Some((vp, at, state)) };
            self.slice_end(cpu_track(cpu), at)?;
        }
        Ok(())
    }

    /// Stolen time is a slice within that of the thread that it was taken from.
    fn steal(&mut self, cpu: u16, at: Nanos, length: Nanos) -> io::Result<()> {
        self.slice_begin(cpu_track(cpu), at.saturating_sub(length), "stolen")?;
        self.slice_end(cpu_track(cpu), at)
    }

    fn replenish(&mut self, vp: ObservedVp, at: Nanos, budget: Nanos) -> io::Result<()> {
        let track_number = budget_track(vp);
        if !std::mem::replace(&mut self.vps[vp.index()].has_counter, true) {
            let by = self.topology.parent_name(vp).unwrap_or("machine");
            let name = format!("budget from {by}");
            self.counter_track(track_number, vp, &name, counter::UNIT_TIME_NS)?;
        }
        self.count(track_number, at, budget.0)
    }

    /// Tells the name of a counter, which stands below the node of a VP.
    fn counter_track(&mut self, number: u64, vp: ObservedVp, name: &str, unit: u64) -> io::Result<()> {
        let node = self.vps[vp.index()].node;
        let unit = Message::default().number(counter::UNIT, unit);
        let descriptor = Message::default()
            .number(track::UUID, number)
            .number(track::PARENT_UUID, node.map_or(HIERARCHY, node_track))
            .text(track::NAME, name)
            .message(track::COUNTER, &unit);
        self.packet(Nanos::ZERO, packet::TRACK_DESCRIPTOR, descriptor)
    }

    fn count(&mut self, track_number: u64, at: Nanos, value: u64) -> io::Result<()> {
        let value = Message::default().number(event::COUNTER_VALUE, value.min(i64::MAX as u64));
        self.event(track_number, at, event::COUNTER, value)
    }

    fn wake(&mut self, vp: ObservedVp, at: Nanos) -> io::Result<()> {
        if !self.vps[vp.index()].is_thread {
            return Ok(());
        }
        let woken = Message::default()
            .text(waking::COMM, self.topology.child_name(vp))
            .number(waking::PID, pid(Some(vp)))
            .number(waking::PRIO, PRIORITY);
        self.kernel_event((0, vp), at, ftrace::SCHED_WAKING, woken)
    }

    /// Tells the switch on `cpu` from whoever left it last to `next`, `None` for idle.
    fn switch(&mut self, cpu: u16, next: Option<ObservedVp>, at: Nanos) -> io::Result<()> {
        let mut before = None;
        if let Some((vp, left_at, state)) = self.cpus[usize::from(cpu)].leaving.take() {
            if next.is_none() || left_at < at {
                self.sched_switch(cpu, (Some(vp), state), None, left_at)?;
            } else {
                before = Some((vp, state));
            }
        }
        let Some(next) = next else { return Ok(()) };
        let (before, state) = before.map_or((None, RUNNABLE), |(vp, state)| (Some(vp), state));
        self.sched_switch(cpu, (before, state), Some(next), at)
    }

    fn sched_switch(
        &mut self,
        cpu: u16,
        (before, state): (Option<ObservedVp>, u64),
        next: Option<ObservedVp>,
        at: Nanos,
    ) -> io::Result<()> {
        let name = |vp: Option<ObservedVp>| vp.map_or("idle", |vp| self.topology.child_name(vp));
        let switched = Message::default()
            .text(switch::PREV_COMM, name(before))
            .number(switch::PREV_PID, pid(before))
            .number(switch::PREV_PRIO, PRIORITY)
            .number(switch::PREV_STATE, state)
            .text(switch::NEXT_COMM, name(next))
            .number(switch::NEXT_PID, pid(next))
            .number(switch::NEXT_PRIO, PRIORITY);
        self.kernel_event((cpu, before.unwrap_or(ObservedVp::NONE)), at, ftrace::SCHED_SWITCH, switched)
    }

    /// An event of the kernel's, seen on a CPU while a thread ran there.
    fn kernel_event(
        &mut self,
        (cpu, vp): (u16, ObservedVp),
        at: Nanos,
        kind: Field,
        what: Message,
    ) -> io::Result<()> {
        let event = Message::default()
            .number(ftrace::TIMESTAMP, at.0)
            .number(ftrace::PID, pid(Some(vp)))
            .message(kind, &what);
        let bundle = Message::default()
            .number(ftrace::BUNDLE_CPU, u64::from(cpu))
            .message(ftrace::BUNDLE_EVENT, &event);
        self.packet(at, packet::FTRACE_EVENTS, bundle)
    }

    fn track(&mut self, number: u64, parent: Option<u64>, name: &str, rank: usize) -> io::Result<()> {
        let descriptor = Message::default()
            .number(track::UUID, number)
            .text(track::NAME, name)
            .number(track::CHILD_ORDERING, track::ORDERING_EXPLICIT)
            .number(track::SIBLING_ORDER_RANK, rank as u64);
        let descriptor = match parent {
            Some(parent) => descriptor.number(track::PARENT_UUID, parent),
            None => descriptor,
        };
        self.packet(Nanos::ZERO, packet::TRACK_DESCRIPTOR, descriptor)
    }

    fn slice_begin(&mut self, track: u64, at: Nanos, name: &str) -> io::Result<()> {
        self.event(track, at, event::SLICE_BEGIN, Message::default().text(event::NAME, name))
    }

    fn slice_end(&mut self, track: u64, at: Nanos) -> io::Result<()> {
        self.event(track, at, event::SLICE_END, Message::default())
    }

    /// A mark on the track of a VP's child.
    fn instant(&mut self, vp: ObservedVp, at: Nanos, name: &str) -> io::Result<()> {
        let Some(node) = self.vps[vp.index()].node else {
            return Ok(());
        };
        self.event(node_track(node), at, event::INSTANT, Message::default().text(event::NAME, name))
    }

    /// Completes an event of that kind and writes it.
    fn event(&mut self, track: u64, at: Nanos, kind: u64, event: Message) -> io::Result<()> {
        let event = event.number(event::TRACK_UUID, track).number(event::TYPE, kind);
        self.packet(at, packet::TRACK_EVENT, event)
    }

    fn packet(&mut self, at: Nanos, kind: Field, content: Message) -> io::Result<()> {
        let packet = Message::default()
            .number(packet::TIMESTAMP, at.0)
            .number(packet::TRUSTED_PACKET_SEQUENCE_ID, SEQUENCE)
            .message(kind, &content);
        self.out.write_all(Message::default().message(trace::PACKET, &packet).as_bytes())
    }
}

/// A VP as a thread id of the kernel's; 0 is the idle thread.
fn pid(vp: Option<ObservedVp>) -> u64 {
    vp.map_or(0, |vp| u64::from(vp.0 & 0x7fff_ffff))
}
