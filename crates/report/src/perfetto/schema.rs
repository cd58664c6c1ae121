//! The part of Perfetto's schema (`protos/perfetto/trace`) that a trace here has: messages and fields, with their
//! numbers there. What the schema has besides is left out: code for all of it takes a minute to compile.

use prost::{Enumeration, Message, Oneof};

/// A trace. The bytes of several traces, one after another, are one trace.
#[derive(Clone, PartialEq, Message)]
pub struct Trace {
    /// In any order: each has its time.
    #[prost(message, repeated, tag = "1")]
    pub packet: Vec<TracePacket>,
}

/// An entry of a trace.
#[derive(Clone, PartialEq, Message)]
pub struct TracePacket {
    /// In nanoseconds.
    #[prost(uint64, required, tag = "8")]
    pub timestamp: u64,
    /// The number of its writer.
    #[prost(uint32, required, tag = "10")]
    pub trusted_packet_sequence_id: u32,
    /// What it says.
    #[prost(oneof = "Data", tags = "1, 11, 60")]
    pub data: Option<Data>,
}

/// What a packet says.
#[derive(Clone, PartialEq, Oneof)]
pub enum Data {
    /// Events of the kernel's, seen on a CPU.
    #[prost(message, tag = "1")]
    FtraceEvents(FtraceEventBundle),
    /// What happens on a track.
    #[prost(message, tag = "11")]
    TrackEvent(TrackEvent),
    /// There is a track.
    #[prost(message, tag = "60")]
    TrackDescriptor(TrackDescriptor),
}

/// A track.
#[derive(Clone, PartialEq, Message)]
pub struct TrackDescriptor {
    /// Its number, unique in the trace.
    #[prost(uint64, required, tag = "1")]
    pub uuid: u64,
    /// Its name.
    #[prost(string, required, tag = "2")]
    pub name: String,
    /// The track above it.
    #[prost(uint64, optional, tag = "5")]
    pub parent_uuid: Option<u64>,
    /// It is a counter.
    #[prost(message, optional, tag = "8")]
    pub counter: Option<CounterDescriptor>,
    /// How the tracks below it are ordered.
    #[prost(enumeration = "ChildTracksOrdering", optional, tag = "11")]
    pub child_ordering: Option<i32>,
    /// Its place among the tracks beside it, where these are ordered explicitly.
    #[prost(int32, optional, tag = "12")]
    pub sibling_order_rank: Option<i32>,
}

/// How the tracks below a track are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enumeration)]
#[repr(i32)]
pub enum ChildTracksOrdering {
    /// In an order that the viewer chooses.
    Unknown = 0,
    /// By their ranks.
    Explicit = 3,
}

/// What a counter counts.
#[derive(Clone, Copy, PartialEq, Message)]
pub struct CounterDescriptor {
    /// The unit.
    #[prost(enumeration = "Unit", required, tag = "3")]
    pub unit: i32,
}

/// The unit of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enumeration)]
#[repr(i32)]
pub enum Unit {
    /// None.
    Unspecified = 0,
    /// Nanoseconds.
    TimeNs = 1,
    /// A number of things.
    Count = 2,
}

/// What happens on a track.
#[derive(Clone, PartialEq, Message)]
pub struct TrackEvent {
    /// What kind of event.
    #[prost(enumeration = "Type", required, tag = "9")]
    pub r#type: i32,
    /// The track.
    #[prost(uint64, required, tag = "11")]
    pub track_uuid: u64,
    /// The name of the slice or the mark.
    #[prost(string, optional, tag = "23")]
    pub name: Option<String>,
    /// The counter's value from now on.
    #[prost(int64, optional, tag = "30")]
    pub counter_value: Option<i64>,
}

/// The kinds of events of a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Enumeration)]
#[repr(i32)]
pub enum Type {
    /// None of these.
    Unspecified = 0,
    /// A slice begins, within those that have begun and not ended.
    SliceBegin = 1,
    /// The slice that began last ends.
    SliceEnd = 2,
    /// A mark.
    Instant = 3,
    /// A value of a counter.
    Counter = 4,
}

/// Events of the kernel's on a CPU.
#[derive(Clone, PartialEq, Message)]
pub struct FtraceEventBundle {
    /// The CPU.
    #[prost(uint32, required, tag = "1")]
    pub cpu: u32,
    /// The events.
    #[prost(message, repeated, tag = "2")]
    pub event: Vec<FtraceEvent>,
}

/// An event of the kernel's.
#[derive(Clone, PartialEq, Message)]
pub struct FtraceEvent {
    /// In nanoseconds.
    #[prost(uint64, required, tag = "1")]
    pub timestamp: u64,
    /// The thread that ran.
    #[prost(uint32, required, tag = "2")]
    pub pid: u32,
    /// What happened.
    #[prost(oneof = "Event", tags = "4, 20")]
    pub event: Option<Event>,
}

/// What happened in the kernel.
#[derive(Clone, PartialEq, Oneof)]
pub enum Event {
    /// A CPU has switched from a thread to another.
    #[prost(message, tag = "4")]
    SchedSwitch(SchedSwitch),
    /// A thread is being woken.
    #[prost(message, tag = "20")]
    SchedWaking(SchedWaking),
}

/// A switch of threads.
#[derive(Clone, PartialEq, Message)]
pub struct SchedSwitch {
    /// The name of the thread before.
    #[prost(string, required, tag = "1")]
    pub prev_comm: String,
    /// Its number; 0: the idle thread.
    #[prost(int32, required, tag = "2")]
    pub prev_pid: i32,
    /// Its priority.
    #[prost(int32, required, tag = "3")]
    pub prev_prio: i32,
    /// Its state from now on.
    #[prost(int64, required, tag = "4")]
    pub prev_state: i64,
    /// The name of the thread after the switch.
    #[prost(string, required, tag = "5")]
    pub next_comm: String,
    /// Its number; 0: the idle thread.
    #[prost(int32, required, tag = "6")]
    pub next_pid: i32,
    /// Its priority.
    #[prost(int32, required, tag = "7")]
    pub next_prio: i32,
}

/// A wake-up.
#[derive(Clone, PartialEq, Message)]
pub struct SchedWaking {
    /// The name of the thread that is woken.
    #[prost(string, required, tag = "1")]
    pub comm: String,
    /// Its number.
    #[prost(int32, required, tag = "2")]
    pub pid: i32,
    /// Its priority.
    #[prost(int32, required, tag = "3")]
    pub prio: i32,
}
