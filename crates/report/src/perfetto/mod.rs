//! A trace for the Perfetto viewer (ui.perfetto.dev), in its protobuf format.
//!
//! A track for each CPU shows which thread runs there and what was stolen. A track for each scheduler and thread,
//! nested as the hierarchy is, shows when it runs, its releases, deadlines and misses, and when it is out of budget. A
//! counter for each VP with a budget shows what it was given; counters for each scheduler with a process as its policy
//! show how it came to its choices. A scheduler or thread that comes by a request has a track from then on, with a mark
//! for each promise; a thread that is moved has one at each place. The switches are told once more as the kernel's own
//! scheduling events, with VP numbers for thread ids, so that the viewer's CPU and thread-state views work.
//!
//! Written as the records come, in bounded memory. A deadline is written when its job is released, ahead of its time;
//! readers of the format sort by time. Relies on records in time order.

pub mod schema;

use crate::hierarchy::{Node, nodes};
use hls_monitor::event::{ObservedScheduler, ObservedVp, Record, What};
use hls_monitor::result::{Child, Decided, Topology, VpInfo};
use hls_units::Nanos;
use prost::Message;
use schema::{
    ChildTracksOrdering, CounterDescriptor, Data, Event, FtraceEvent, FtraceEventBundle, SchedSwitch,
    SchedWaking, Trace, TracePacket, TrackDescriptor, TrackEvent, Type, Unit,
};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// All packets come from one writer.
const SEQUENCE: u32 = 1;
/// Tracks that hold the others.
const CPUS: u64 = 1;
const HIERARCHY: u64 = 2;
/// The priority that the kernel gives an ordinary thread.
const PRIORITY: i32 = 120;
/// States that the kernel gives a thread when it leaves a CPU.
const RUNNABLE: i64 = 0;
const SLEEPING: i64 = 1;

/// The number of a track; numbers of different kinds of tracks are apart.
fn cpu_track(cpu: u16) -> u64 {
    (1 << 32) | u64::from(cpu)
}

fn node_track(node: usize) -> u64 {
    (2 << 32) | node as u64
}

fn budget_track(counter: u64) -> u64 {
    (3 << 32) | counter
}

fn choices_track(node: usize, counter: usize) -> u64 {
    (4 << 32) | (node as u64) << 3 | counter as u64
}

/// A scheduler, or a thread at one place.
#[derive(Clone, Debug)]
struct TracedNode {
    name: String,
    /// How many of its VPs run.
    running: u32,
    /// The last values of the counters of its choices.
    choices: Option<[u64; 5]>,
}

/// What is known of a VP.
#[derive(Clone, Debug, Default)]
struct Vp {
    /// The name of its child.
    name: String,
    /// Its child's node, if that has one.
    node: Option<usize>,
    /// The node of the scheduler above.
    above: Option<usize>,
    is_thread: bool,
    running_on: Option<u16>,
    /// The counter of its budget, once it was given one.
    budget: Option<u64>,
}

/// What is known of a CPU.
#[derive(Clone, Copy, Debug, Default)]
struct Cpu {
    /// The thread that runs.
    thread: Option<ObservedVp>,
    /// The thread that left last, when, and in which state of the kernel's; kept until the next thread is known.
    leaving: Option<(ObservedVp, Nanos, i64)>,
}

/// Writes the trace while records come in.
pub struct TraceWriter<W> {
    out: W,
    nodes: Vec<TracedNode>,
    /// The node of each scheduler.
    schedulers: BTreeMap<ObservedScheduler, usize>,
    vps: Vec<Vp>,
    cpus: Vec<Cpu>,
    /// How many counters of budgets there are.
    budgets: u64,
}

impl<W: Write> TraceWriter<W> {
    /// Begins with the names of all tracks. Writes small pieces: `out` should be buffered.
    ///
    /// # Errors
    /// The errors of `out`.
    pub fn new(out: W, topology: &Topology) -> io::Result<Self> {
        let cpus = vec![Cpu::default(); usize::from(topology.cpus)];
        let schedulers = BTreeMap::new();
        let mut writer =
            TraceWriter { out, nodes: Vec::new(), schedulers, vps: Vec::new(), cpus, budgets: 0 };
        writer.name_cpus()?;
        let vp = |(number, info): (u32, &VpInfo)| Vp {
            name: topology.child_name(ObservedVp(number)).to_owned(),
            is_thread: info.child == Child::Thread,
            ..Vp::default()
        };
        writer.vps = (0..).zip(&topology.vps).map(vp).collect();
        for Node { edge, parent } in nodes(topology) {
            let (name, guarantee) = (edge.name(topology), edge.guarantee(topology));
            let title = if guarantee.is_empty() { name.to_owned() } else { format!("{name} ({guarantee})") };
            let node = writer.add_node(name, &title, parent)?;
            if let Child::Scheduler(scheduler) = edge.child {
                writer.schedulers.insert(scheduler, node);
            }
            edge.vps.iter().for_each(|vp| writer.vps[vp.index()].node = Some(node));
        }
        for (vp, info) in writer.vps.iter_mut().zip(&topology.vps) {
            vp.above = info.parent.and_then(|above| writer.schedulers.get(&above).copied());
        }
        Ok(writer)
    }

    /// A VP has come, or is below another scheduler from now on: the track of its child begins, unless the child is a
    /// scheduler that has one.
    ///
    /// # Errors
    /// The errors of the output.
    pub fn place(&mut self, topology: &Topology, vp: ObservedVp, at: Nanos) -> io::Result<()> {
        let Some(info) = topology.vps.get(vp.index()) else { return Ok(()) };
        self.leave(vp, at)?;
        let above = info.parent.and_then(|above| self.schedulers.get(&above).copied());
        let scheduler = match info.child {
            Child::Scheduler(scheduler) => Some(scheduler),
            _ => None,
        };
        let name = topology.child_name(vp).to_owned();
        let node = match scheduler.and_then(|scheduler| self.schedulers.get(&scheduler)) {
            Some(node) => *node,
            None => self.add_node(&name, &name, above)?,
        };
        self.schedulers.extend(scheduler.map(|scheduler| (scheduler, node)));
        if self.vps.len() <= vp.index() {
            self.vps.resize(vp.index() + 1, Vp::default());
        }
        let is_thread = info.child == Child::Thread;
        self.vps[vp.index()] = Vp { name, node: Some(node), above, is_thread, ..Vp::default() };
        Ok(())
    }

    /// The child of the VP that had this number has left it.
    fn leave(&mut self, vp: ObservedVp, at: Nanos) -> io::Result<()> {
        if vp.index() >= self.vps.len() {
            return Ok(());
        }
        self.stop(vp, at, SLEEPING)?;
        for cpu in 0..self.cpus.len() {
            if self.cpus[cpu].leaving.is_some_and(|(left, ..)| left == vp) {
                self.switch(cpu as u16, None, at)?;
            }
        }
        Ok(())
    }

    /// A scheduler is gone: the next one of this number is a new scheduler.
    pub fn remove_scheduler(&mut self, scheduler: ObservedScheduler) {
        self.schedulers.remove(&scheduler);
    }

    /// A VP that came by a request, or was moved, is promised this from now on; nothing where the text is empty.
    ///
    /// # Errors
    /// The errors of the output.
    pub fn promise(&mut self, vp: ObservedVp, guarantee: &str, at: Nanos) -> io::Result<()> {
        match guarantee {
            "" => self.instant(vp, at, "promise ends"),
            _ => self.instant(vp, at, &format!("promised {guarantee}")),
        }
    }

    /// Takes the next record.
    ///
    /// # Errors
    /// The errors of the output.
    pub fn record(&mut self, record: &Record) -> io::Result<()> {
        let Record { at, vp, cpu, what } = *record;
        match what {
            What::Stolen { length } => self.steal(cpu, at, length),
            // What any VP does until the next record of it is not known, and not shown.
            What::Lost => (0..self.vps.len()).try_for_each(|vp| self.stop(ObservedVp::at(vp), at, SLEEPING)),
            _ if vp.index() >= self.vps.len() => Ok(()),
            What::Request => self.wake(vp, at),
            What::Grant => self.grant(vp, cpu, at),
            What::Revoke => self.stop(vp, at, RUNNABLE),
            What::Release | What::Leave => self.stop(vp, at, SLEEPING),
            What::Throttle => self.instant(vp, at, "out of budget"),
            What::Hold { is_agent: true } => self.instant(vp, at, "parked"),
            What::Hold { is_agent: false } => self.instant(vp, at, "held"),
            What::Pay { length } => self.instant(vp, at, &format!("pays {length}")),
            What::Replenish { budget, .. } => self.replenish(vp, at, budget),
            What::JobRelease { deadline } => {
                self.instant(vp, at, "release")?;
                if deadline == Nanos::MAX { Ok(()) } else { self.instant(vp, deadline, "deadline") }
            }
            What::Miss { count: 1 } => self.instant(vp, at, "deadline missed"),
            What::Miss { count } => self.instant(vp, at, &format!("{count} deadlines missed")),
            What::PolicyDisabled { scheduler, violation } => {
                let node = self.schedulers.get(&scheduler).copied();
                self.instant_at(node, at, &format!("policy disabled: {violation}"))
            }
            What::Arrive | What::JobDone { .. } | What::JobOpen { .. } | What::Offline | What::Online => {
                Ok(())
            }
        }
    }

    /// Takes how a scheduler of the topology with a process as its policy has come to its choices up to `at`.
    ///
    /// # Errors
    /// The errors of the output.
    pub fn choices(&mut self, at: Nanos, scheduler: ObservedScheduler, decided: &Decided) -> io::Result<()> {
        let Some(node) = self.schedulers.get(&scheduler).copied() else { return Ok(()) };
        let Decided { followed, stale, by_urgency, by_agent, agent_ran } = *decided;
        let counters = [
            ("decisions followed", Unit::Count, followed),
            ("decisions stale", Unit::Count, stale),
            ("choices by urgency", Unit::Count, by_urgency),
            ("its agent asked", Unit::Count, by_agent),
            ("CPU time of its agent", Unit::TimeNs, agent_ran.0),
        ];
        let before = self.nodes[node].choices.replace(counters.map(|(.., value)| value));
        for (number, (name, unit, value)) in counters.into_iter().enumerate() {
            let track_number = choices_track(node, number);
            if before.is_none() {
                self.counter_track(track_number, Some(node), name, unit)?;
            }
            if before.is_none_or(|before| before[number] != value) {
                self.count(track_number, at, value)?;
            }
        }
        Ok(())
    }

    /// Ends what still runs at `end`, flushes, and gives the output back.
    ///
    /// # Errors
    /// The errors of the output.
    pub fn finish(mut self, end: Nanos) -> io::Result<W> {
        for vp in 0..self.vps.len() {
            self.stop(ObservedVp::at(vp), end, RUNNABLE)?;
        }
        for cpu in 0..self.cpus.len() {
            self.switch(cpu as u16, None, end)?;
        }
        self.out.flush()?;
        Ok(self.out)
    }

    /// Writes the names of the CPU tracks, and of the track that holds the hierarchy.
    fn name_cpus(&mut self) -> io::Result<()> {
        self.track(CPUS, None, "CPUs", 0)?;
        for cpu in 0..self.cpus.len() {
            self.track(cpu_track(cpu as u16), Some(CPUS), &format!("CPU {cpu}"), cpu)?;
        }
        self.track(HIERARCHY, None, "hierarchy", 1)
    }

    /// Adds a node, last below the scheduler above it; returns its number. `title`: what its track is called.
    fn add_node(&mut self, name: &str, title: &str, above: Option<usize>) -> io::Result<usize> {
        let number = self.nodes.len();
        self.nodes.push(TracedNode { name: name.to_owned(), running: 0, choices: None });
        self.track(node_track(number), Some(above.map_or(HIERARCHY, node_track)), title, number)?;
        Ok(number)
    }

    fn grant(&mut self, vp: ObservedVp, cpu: u16, at: Nanos) -> io::Result<()> {
        // A grant without a revoke is a fault of the engine, but must not unbalance the slices.
        self.stop(vp, at, RUNNABLE)?;
        let state = &mut self.vps[vp.index()];
        state.running_on = Some(cpu);
        let (node, is_thread, name) = (state.node, state.is_thread, state.name.clone());
        if let Some(node) = node {
            self.nodes[node].running += 1;
            if self.nodes[node].running == 1 {
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
        self.slice_begin(cpu_track(cpu), at, &name)?;
        self.switch(cpu, Some(vp), at)
    }

    /// The VP no longer runs, if it did.
    fn stop(&mut self, vp: ObservedVp, at: Nanos, state: i64) -> io::Result<()> {
        let Some(cpu) = self.vps[vp.index()].running_on.take() else {
            return Ok(());
        };
        if let Some(node) = self.vps[vp.index()].node {
            self.nodes[node].running -= 1;
            if self.nodes[node].running == 0 {
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

    /// Stolen time is a slice within the slice of the thread that it was taken from.
    fn steal(&mut self, cpu: u16, at: Nanos, length: Nanos) -> io::Result<()> {
        self.slice_begin(cpu_track(cpu), at.saturating_sub(length), "stolen")?;
        self.slice_end(cpu_track(cpu), at)
    }

    fn replenish(&mut self, vp: ObservedVp, at: Nanos, budget: Nanos) -> io::Result<()> {
        let Vp { node, above, budget: counter, .. } = self.vps[vp.index()];
        let track_number = budget_track(counter.unwrap_or(self.budgets));
        if counter.is_none() {
            self.vps[vp.index()].budget = Some(self.budgets);
            self.budgets += 1;
            let by = above.map_or("machine", |above| &self.nodes[above].name);
            let name = format!("budget from {by}");
            self.counter_track(track_number, node, &name, Unit::TimeNs)?;
        }
        self.count(track_number, at, budget.0)
    }

    /// Tells the name of a counter, which stands below a node.
    fn counter_track(&mut self, number: u64, node: Option<usize>, name: &str, unit: Unit) -> io::Result<()> {
        let descriptor = TrackDescriptor {
            uuid: number,
            name: name.to_owned(),
            parent_uuid: Some(node.map_or(HIERARCHY, node_track)),
            counter: Some(CounterDescriptor { unit: unit.into() }),
            ..TrackDescriptor::default()
        };
        self.packet(Nanos::ZERO, Data::TrackDescriptor(descriptor))
    }

    fn count(&mut self, track: u64, at: Nanos, value: u64) -> io::Result<()> {
        let value = i64::try_from(value).unwrap_or(i64::MAX);
        self.event(
            track,
            at,
            Type::Counter,
            TrackEvent { counter_value: Some(value), ..TrackEvent::default() },
        )
    }

    fn wake(&mut self, vp: ObservedVp, at: Nanos) -> io::Result<()> {
        let Vp { ref name, is_thread, .. } = self.vps[vp.index()];
        if !is_thread {
            return Ok(());
        }
        let woken = SchedWaking { comm: name.clone(), pid: pid(Some(vp)), prio: PRIORITY };
        self.kernel_event((0, vp), at, Event::SchedWaking(woken))
    }

    /// Writes the switch on `cpu` from the thread that left it last to `next`, `None` for idle.
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
        (before, state): (Option<ObservedVp>, i64),
        next: Option<ObservedVp>,
        at: Nanos,
    ) -> io::Result<()> {
        let name = |vp: Option<ObservedVp>| vp.map_or("idle", |vp| &self.vps[vp.index()].name).to_owned();
        let switched = SchedSwitch {
            prev_comm: name(before),
            prev_pid: pid(before),
            prev_prio: PRIORITY,
            prev_state: state,
            next_comm: name(next),
            next_pid: pid(next),
            next_prio: PRIORITY,
        };
        self.kernel_event((cpu, before.unwrap_or(ObservedVp::NONE)), at, Event::SchedSwitch(switched))
    }

    /// An event of the kernel's, seen on a CPU while a thread ran there.
    fn kernel_event(&mut self, (cpu, vp): (u16, ObservedVp), at: Nanos, event: Event) -> io::Result<()> {
        let pid = pid(Some(vp)).unsigned_abs();
        let event = FtraceEvent { timestamp: at.0, pid, event: Some(event) };
        self.packet(at, Data::FtraceEvents(FtraceEventBundle { cpu: cpu.into(), event: vec![event] }))
    }

    fn track(&mut self, number: u64, parent: Option<u64>, name: &str, rank: usize) -> io::Result<()> {
        let descriptor = TrackDescriptor {
            uuid: number,
            name: name.to_owned(),
            parent_uuid: parent,
            child_ordering: Some(ChildTracksOrdering::Explicit.into()),
            sibling_order_rank: Some(i32::try_from(rank).unwrap_or(i32::MAX)),
            counter: None,
        };
        self.packet(Nanos::ZERO, Data::TrackDescriptor(descriptor))
    }

    fn slice_begin(&mut self, track: u64, at: Nanos, name: &str) -> io::Result<()> {
        self.event(track, at, Type::SliceBegin, named(name))
    }

    fn slice_end(&mut self, track: u64, at: Nanos) -> io::Result<()> {
        self.event(track, at, Type::SliceEnd, TrackEvent::default())
    }

    /// A mark on the track of a VP's child.
    fn instant(&mut self, vp: ObservedVp, at: Nanos, name: &str) -> io::Result<()> {
        self.instant_at(self.vps.get(vp.index()).and_then(|vp| vp.node), at, name)
    }

    fn instant_at(&mut self, node: Option<usize>, at: Nanos, name: &str) -> io::Result<()> {
        let Some(node) = node else { return Ok(()) };
        self.event(node_track(node), at, Type::Instant, named(name))
    }

    /// Completes an event of that kind and writes it.
    fn event(&mut self, track: u64, at: Nanos, kind: Type, event: TrackEvent) -> io::Result<()> {
        self.packet(at, Data::TrackEvent(TrackEvent { r#type: kind.into(), track_uuid: track, ..event }))
    }

    fn packet(&mut self, at: Nanos, data: Data) -> io::Result<()> {
        let packet = TracePacket { timestamp: at.0, trusted_packet_sequence_id: SEQUENCE, data: Some(data) };
        self.out.write_all(&Trace { packet: vec![packet] }.encode_to_vec())
    }
}

fn named(name: &str) -> TrackEvent {
    TrackEvent { name: Some(name.to_owned()), ..TrackEvent::default() }
}

/// A VP as a thread id of the kernel's; 0 is the idle thread.
fn pid(vp: Option<ObservedVp>) -> i32 {
    vp.map_or(0, |vp| (vp.0 & 0x7fff_ffff) as i32)
}
