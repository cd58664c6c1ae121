//! Which events happen together: with all of them at once, sequences would have to be short.

use crate::glue::event::Event;

/// A world to explore.
#[derive(Clone, Copy)]
pub struct World {
    /// What it is called.
    pub name: &'static str,
    /// The events that happen there.
    pub events: fn(&Event) -> bool,
    /// Whether pulses take the place of timers.
    pub has_pulses: bool,
    /// By how many events a sequence is longer than elsewhere.
    pub longer_by: usize,
}

/// The worlds that are explored.
pub const WORLDS: [World; 11] = [
    World { name: "timers", events: is_frequent, has_pulses: false, longer_by: 0 },
    World { name: "pulses", events: is_frequent, has_pulses: true, longer_by: 0 },
    World { name: "bound", events: or_bound, has_pulses: false, longer_by: 0 },
    World { name: "dumps", events: or_dump, has_pulses: false, longer_by: 0 },
    World { name: "take-overs", events: or_take_over, has_pulses: false, longer_by: 0 },
    World { name: "ends", events: or_end, has_pulses: false, longer_by: 0 },
    World { name: "classes", events: is_of_classes, has_pulses: false, longer_by: 2 },
    World { name: "exits", events: is_of_exits, has_pulses: false, longer_by: 2 },
    World { name: "kills", events: is_of_kills, has_pulses: false, longer_by: 0 },
    World { name: "stranded", events: is_of_stranded, has_pulses: false, longer_by: 1 },
    World { name: "cpus", events: is_of_cpus, has_pulses: false, longer_by: 2 },
];

/// What happens all the time.
fn is_frequent(event: &Event) -> bool {
    let is_of_moments =
        matches!(event, Event::Kill(..) | Event::Starve(..) | Event::Holds(..) | Event::MomentEnds(_));
    let is_rare = matches!(event, Event::Bind(_) | Event::Dump(_) | Event::TakeOver(_) | Event::EndRun(_));
    !is_of_moments && !is_rare
}

/// The same, without CPUs that go.
fn without_cpus(event: &Event) -> bool {
    is_frequent(event) && !matches!(event, Event::Leave(_))
}

/// Threads may be bound to their CPUs for a while.
fn or_bound(event: &Event) -> bool {
    without_cpus(event) || matches!(event, Event::Bind(_))
}

/// sched_ext may ask for a dump.
fn or_dump(event: &Event) -> bool {
    without_cpus(event) || matches!(event, Event::Dump(_))
}

/// Another engine may take over.
fn or_take_over(event: &Event) -> bool {
    without_cpus(event) || matches!(event, Event::TakeOver(_))
}

/// The run may end.
fn or_end(event: &Event) -> bool {
    without_cpus(event) || matches!(event, Event::EndRun(_))
}

/// Threads leave the class, come back, and sleep meanwhile.
fn is_of_classes(event: &Event) -> bool {
    let sleeps = matches!(event, Event::Block(_) | Event::Wake(..) | Event::StopAway(_, _, false));
    sleeps || matches!(event, Event::ChangeClass(..) | Event::TimerGoesOff(_))
}

/// Threads end while there are errands about them, and others come.
fn is_of_exits(event: &Event) -> bool {
    let leaves = matches!(event, Event::ChangeClass(_, 1) | Event::TimerGoesOff(_));
    leaves || matches!(event, Event::Die(_) | Event::StopAway(_, _, true) | Event::Exit(..) | Event::Fork(..))
}

/// Threads are killed, or starve, whatever they do, while affinities change and threads end.
fn is_of_kills(event: &Event) -> bool {
    let moments =
        matches!(event, Event::Kill(..) | Event::Starve(..) | Event::Holds(..) | Event::MomentEnds(_));
    let ends = matches!(event, Event::Die(_) | Event::Exit(..) | Event::Fork(..));
    let sleeps = matches!(event, Event::Block(_) | Event::Wake(..) | Event::Yield(_));
    moments || ends || sleeps || matches!(event, Event::Affine(..) | Event::ChangeClass(..))
}

/// CPUs go and come that some threads may not leave.
fn is_of_stranded(event: &Event) -> bool {
    is_of_cpus(event) || matches!(event, Event::Bind(_) | Event::Call(..))
}

/// CPUs go and come, while threads sleep and wake up.
fn is_of_cpus(event: &Event) -> bool {
    let cpus = matches!(event, Event::Leave(_) | Event::Return(_) | Event::LookForStarved(_));
    cpus || matches!(event, Event::Block(_) | Event::Wake(..) | Event::TimerGoesOff(_))
}
