//! The little of protobuf's wire format that a trace needs, with the fields of Perfetto's schema that we write.
//!
//! By hand, since the generated code for the whole schema takes minutes to compile and we write 25 fields of it. The
//! tests read the traces back with that generated code.

/// What follows a field's number.
const VARINT: u64 = 0;
const BYTES: u64 = 2;

/// A field of a message of the schema, by its number there.
#[derive(Clone, Copy)]
pub(super) struct Field(u64);

/// `Trace`; a trace is its packets one after another.
pub(super) mod trace {
    use super::Field;
    pub const PACKET: Field = Field(1);
}

/// `TracePacket`.
pub(super) mod packet {
    use super::Field;
    pub const FTRACE_EVENTS: Field = Field(1);
    pub const TIMESTAMP: Field = Field(8);
    pub const TRUSTED_PACKET_SEQUENCE_ID: Field = Field(10);
    pub const TRACK_EVENT: Field = Field(11);
    pub const TRACK_DESCRIPTOR: Field = Field(60);
}

/// `TrackDescriptor`.
pub(super) mod track {
    use super::Field;
    pub const UUID: Field = Field(1);
    pub const NAME: Field = Field(2);
    pub const PARENT_UUID: Field = Field(5);
    pub const COUNTER: Field = Field(8);
    pub const CHILD_ORDERING: Field = Field(11);
    pub const SIBLING_ORDER_RANK: Field = Field(12);
    /// Children stand in the order of their ranks.
    pub const ORDERING_EXPLICIT: u64 = 3;
}

/// `CounterDescriptor`.
pub(super) mod counter {
    use super::Field;
    pub const UNIT: Field = Field(3);
    pub const UNIT_TIME_NS: u64 = 1;
    pub const UNIT_COUNT: u64 = 2;
}

/// `TrackEvent`.
pub(super) mod event {
    use super::Field;
    pub const TYPE: Field = Field(9);
    pub const TRACK_UUID: Field = Field(11);
    pub const NAME: Field = Field(23);
    pub const COUNTER_VALUE: Field = Field(30);
    pub const SLICE_BEGIN: u64 = 1;
    pub const SLICE_END: u64 = 2;
    pub const INSTANT: u64 = 3;
    pub const COUNTER: u64 = 4;
}

/// `FtraceEventBundle`, and `FtraceEvent` in it.
pub(super) mod ftrace {
    use super::Field;
    pub const BUNDLE_CPU: Field = Field(1);
    pub const BUNDLE_EVENT: Field = Field(2);
    pub const TIMESTAMP: Field = Field(1);
    pub const PID: Field = Field(2);
    pub const SCHED_SWITCH: Field = Field(4);
    pub const SCHED_WAKING: Field = Field(20);
}

/// `SchedSwitchFtraceEvent`.
pub(super) mod switch {
    use super::Field;
    pub const PREV_COMM: Field = Field(1);
    pub const PREV_PID: Field = Field(2);
    pub const PREV_PRIO: Field = Field(3);
    pub const PREV_STATE: Field = Field(4);
    pub const NEXT_COMM: Field = Field(5);
    pub const NEXT_PID: Field = Field(6);
    pub const NEXT_PRIO: Field = Field(7);
}

/// `SchedWakingFtraceEvent`.
pub(super) mod waking {
    use super::Field;
    pub const COMM: Field = Field(1);
    pub const PID: Field = Field(2);
    pub const PRIO: Field = Field(3);
}

/// A message being put together.
#[derive(Default)]
pub(super) struct Message(Vec<u8>);

impl Message {
    /// With an integer; signed ones must not be negative.
    pub fn number(mut self, field: Field, value: u64) -> Message {
        self.varint(field.0 << 3 | VARINT);
        self.varint(value);
        self
    }

    /// With a text.
    pub fn text(self, field: Field, value: &str) -> Message {
        self.bytes(field, value.as_bytes())
    }

    /// With a message.
    pub fn message(self, field: Field, value: &Message) -> Message {
        self.bytes(field, &value.0)
    }

    /// As it is written.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    fn bytes(mut self, field: Field, value: &[u8]) -> Message {
        self.varint(field.0 << 3 | BYTES);
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
        self
    }

    /// Seven bits a byte, the lowest first; the top bit says that more follow.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}
