//! The Perfetto trace, read back.

use crate::support;
use hls_monitor::event::{ObservedScheduler, ObservedVp, Record, What};
use hls_monitor::result::Decided;
use hls_report::perfetto::TraceWriter;
use hls_report::perfetto::schema::{
    Data, Event, FtraceEvent, Trace, TracePacket, TrackDescriptor, TrackEvent, Type, Unit,
};
use hls_units::Nanos;
use proptest::prelude::*;
use prost::Message;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

fn trace_of(records: &[Record], end: Nanos) -> Trace {
    let topology = support::topology();
    let mut writer = TraceWriter::new(Vec::new(), &topology).unwrap();
    records.iter().for_each(|record| writer.record(record).unwrap());
    Trace::decode(&writer.finish(end).unwrap()[..]).unwrap()
}

fn tracks(trace: &Trace) -> impl Iterator<Item = &TrackDescriptor> {
    trace.packet.iter().filter_map(|packet| match &packet.data {
        Some(Data::TrackDescriptor(track)) => Some(track),
        _ => None,
    })
}

/// The events of tracks, each with its time.
fn track_events(trace: &Trace) -> impl Iterator<Item = (u64, &TrackEvent)> {
    trace.packet.iter().filter_map(|TracePacket { timestamp, data, .. }| match data {
        Some(Data::TrackEvent(event)) => Some((*timestamp, event)),
        _ => None,
    })
}

/// The events that give a counter its value, each with its time.
fn counted(trace: &Trace) -> impl Iterator<Item = (u64, &TrackEvent)> {
    track_events(trace).filter(|(_, event)| event.r#type() == Type::Counter)
}

fn kernel_events(trace: &Trace) -> impl Iterator<Item = &FtraceEvent> {
    let bundles = trace.packet.iter().filter_map(|packet| match &packet.data {
        Some(Data::FtraceEvents(bundle)) => Some(bundle),
        _ => None,
    });
    bundles.flat_map(|bundle| &bundle.event)
}

/// Names of the tracks.
fn names(trace: &Trace) -> BTreeMap<u64, String> {
    tracks(trace).map(|track| (track.uuid, track.name.clone())).collect()
}

/// How many events have this name.
fn count(trace: &Trace, name: &str) -> usize {
    track_events(trace).filter(|(_, event)| event.name() == name).count()
}

/// The slices of each track by name, as `(begin, end, name)` in milliseconds; panics where begins and ends do not pair
/// up, time runs backwards or a track has no name.
fn slices(trace: &Trace) -> BTreeMap<String, Vec<(u64, u64, String)>> {
    let names = names(trace);
    let mut open: BTreeMap<u64, Vec<(u64, String)>> = BTreeMap::new();
    let mut last: BTreeMap<u64, u64> = BTreeMap::new();
    let mut found: BTreeMap<String, Vec<(u64, u64, String)>> = BTreeMap::new();
    for (at, event) in track_events(trace) {
        let track = event.track_uuid;
        let name = names.get(&track).expect("a track has a name");
        match event.r#type() {
            Type::SliceBegin => open.entry(track).or_default().push((at, event.name().to_owned())),
            Type::SliceEnd => {
                let (begin, what) = open.get_mut(&track).and_then(Vec::pop).expect("an end has a begin");
                found.entry(name.clone()).or_default().push((begin / 1_000_000, at / 1_000_000, what));
            }
            _ => continue,
        }
        let last = last.entry(track).or_default();
        assert!(*last <= at, "{name}: {at} after {last}");
        *last = at;
    }
    assert!(open.values().all(Vec::is_empty), "all slices end");
    found
}

#[test]
fn figure_1_reads_back() {
    let trace = trace_of(&support::records(100), Nanos::from_millis(100));
    let slices = slices(&trace);
    let slice = |begin, end, name: &str| (begin, end, name.to_owned());
    assert_eq!(slices["video player (RESBH 5ms 33ms)"][0], slice(10, 14, "runs"));
    assert_eq!(slices["FP (ALL)"], [slice(0, 100, "runs")]);
    let cpu = &slices["CPU 0"];
    assert_eq!(cpu[0], slice(0, 4, "voice recognition"));
    assert!(cpu.contains(&slice(92, 93, "stolen")));
    assert_eq!(["release", "deadline", "deadline missed"].map(|name| count(&trace, name)), [4, 4, 1]);
    assert!(names(&trace).values().any(|name| name == "budget from RES"));
}

/// The bytes are Perfetto's: code generated from its whole schema (perfetto_protos 0.51) has read what the golden file
/// has, and found no field that it does not know. A line for each packet.
#[test]
fn the_bytes_are_those_of_the_schema() {
    let topology = support::topology();
    let mut writer = TraceWriter::new(Vec::new(), &topology).unwrap();
    support::records(15).iter().for_each(|record| writer.record(record).unwrap());
    let decided = Decided { followed: 3, by_agent: 4, agent_ran: Nanos(12_000), ..Decided::default() };
    writer.choices(Nanos::from_millis(15), ObservedScheduler(3), &decided).unwrap();
    let written = writer.finish(Nanos::from_millis(15)).unwrap();
    let trace = Trace::decode(&written[..]).unwrap();
    assert_eq!(trace.encode_to_vec(), written);
    let line = |packet: &TracePacket| {
        let bytes = Trace { packet: vec![packet.clone()] }.encode_to_vec();
        bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>() + "\n"
    };
    let lines: String = trace.packet.iter().map(line).collect();
    hls_golden::assert_golden(Path::new("tests/reports/trace.hex"), &lines);
}

#[test]
fn tracks_are_nested_as_the_hierarchy_is() {
    let trace = trace_of(&[], Nanos::ZERO);
    let names = names(&trace);
    let parent_of = |child: &str| {
        let track = tracks(&trace).find(|track| track.name.starts_with(child)).unwrap();
        names.get(&track.parent_uuid()).map_or("", |name| name.split(' ').next().unwrap_or("")).to_owned()
    };
    let nodes = ["FP", "RES", "video", "J", "PS", "word", "CPU 0"];
    assert_eq!(nodes.map(parent_of), ["hierarchy", "FP", "RES", "RES", "J", "PS", "CPUs"]);
}

#[test]
fn the_switches_of_a_cpu_follow_on_each_other() {
    let trace = trace_of(&support::records(200), Nanos::from_millis(200));
    let mut running = 0;
    let mut switches = 0;
    for event in kernel_events(&trace) {
        let Some(Event::SchedSwitch(switch)) = &event.event else { continue };
        assert_eq!(switch.prev_pid, running);
        running = switch.next_pid;
        switches += 1;
    }
    assert_eq!(running, 0, "idle at the end");
    assert!(switches > 30, "{switches} switches");
}

#[test]
fn budgets_and_wake_ups_read_back() {
    let trace = trace_of(&support::records(20), Nanos::from_millis(20));
    let budgets: Vec<i64> = counted(&trace).map(|(_, event)| event.counter_value()).collect();
    assert_eq!(budgets, [5_000_000, 10_000_000]);
    let units = tracks(&trace).filter_map(|track| track.counter).map(|counter| counter.unit());
    assert_eq!(units.collect::<Vec<_>>(), [Unit::TimeNs; 2]);
    let woken = kernel_events(&trace).filter_map(|event| match &event.event {
        Some(Event::SchedWaking(waking)) => Some(waking.comm.as_str()),
        _ => None,
    });
    let woken: Vec<&str> = woken.collect();
    assert_eq!(woken, ["video player", "word processor", "voice recognition"]);
}

/// The name of the track above the track of this name.
fn parent_of(trace: &Trace, child: &str) -> String {
    let track = tracks(trace).find(|track| track.name == child).expect("a track of this name");
    names(trace)[&track.parent_uuid()].clone()
}

/// A scheduler and its thread come and go; the next ones have their numbers, and tracks of their own. Then the thread
/// is moved.
#[test]
fn who_comes_by_a_request_has_tracks_from_then_on() {
    let at = Nanos::from_millis;
    let mut writer = TraceWriter::new(Vec::new(), &support::topology()).unwrap();
    let scheduler = ObservedScheduler(4);
    for (ms, scheduler_name, thread) in [(1, "A", "4711 hog"), (5, "B", "4712 hog")] {
        let (topology, vps) = support::topology_with_guests(scheduler_name, thread);
        vps.iter().for_each(|vp| writer.place(&topology, *vp, at(ms)).unwrap());
        writer.promise(vps[0], "RESBS 1ms 5ms", at(ms)).unwrap();
        writer.choices(at(ms), scheduler, &Decided::default()).unwrap();
        support::visit(ms, vps).iter().for_each(|record| writer.record(record).unwrap());
        writer.remove_scheduler(scheduler);
    }
    let (mut topology, [_, thread]) = support::topology_with_guests("B", "4713 moved");
    topology.vps[thread.index()].parent = Some(ObservedScheduler(3));
    writer.place(&topology, thread, at(8)).unwrap();
    let parked = What::Hold { is_agent: true };
    writer.record(&Record { at: at(9), vp: thread, cpu: 0, what: parked }).unwrap();
    let trace = Trace::decode(&writer.finish(at(10)).unwrap()[..]).unwrap();

    let found = slices(&trace);
    let runs = |name: &str| found[name].iter().map(|(from, to, _)| (*from, *to)).collect::<Vec<_>>();
    assert_eq!(["A", "4711 hog", "B", "4712 hog"].map(runs), [[(1, 2)], [(1, 2)], [(5, 6)], [(5, 6)]]);
    let cpu: Vec<&str> = found["CPU 0"].iter().map(|(.., name)| name.as_str()).collect();
    assert_eq!(cpu, ["4711 hog", "4712 hog"]);
    let above = ["A", "4711 hog", "B", "4712 hog", "4713 moved"].map(|name| parent_of(&trace, name));
    assert_eq!(above, ["FP (ALL)", "A", "FP (ALL)", "B", "PS (RESBS 10ms 20ms)"]);
    let names_of_marks = ["promised RESBS 1ms 5ms", "parked", "out of budget"];
    assert_eq!(names_of_marks.map(|name| count(&trace, name)), [2, 1, 0]);
    let stale = names(&trace).values().filter(|name| *name == "decisions stale").count();
    assert_eq!(stale, 2, "each of the two has its counters");
}

/// A counter is written where it has changed, below its scheduler.
#[test]
fn choices_read_back() {
    let topology = support::topology();
    let mut writer = TraceWriter::new(Vec::new(), &topology).unwrap();
    let scheduler = ObservedScheduler(3);
    let first = Decided { followed: 3, by_agent: 4, agent_ran: Nanos(12_000), ..Decided::default() };
    writer.choices(Nanos::from_millis(1), scheduler, &first).unwrap();
    let second = Decided { followed: 5, ..first };
    writer.choices(Nanos::from_millis(2), scheduler, &second).unwrap();
    writer.choices(Nanos::from_millis(2), ObservedScheduler(99), &second).unwrap();
    let trace = Trace::decode(&writer.finish(Nanos::from_millis(3)).unwrap()[..]).unwrap();
    let names = names(&trace);
    let value = |(at, event): (u64, &TrackEvent)| {
        (at / 1_000_000, names[&event.track_uuid].clone(), event.counter_value())
    };
    let value_at = |at, name: &str, value| (at, name.to_owned(), value);
    assert_eq!(
        counted(&trace).map(value).collect::<Vec<_>>(),
        [
            value_at(1, "decisions followed", 3),
            value_at(1, "decisions stale", 0),
            value_at(1, "choices by urgency", 0),
            value_at(1, "its agent asked", 4),
            value_at(1, "CPU time of its agent", 12_000),
            value_at(2, "decisions followed", 5),
        ]
    );
    let stale = tracks(&trace).find(|track| track.name == "decisions stale");
    assert!(names[&stale.unwrap().parent_uuid()].starts_with("PS"));
}

/// A disk with little space.
struct Full(usize);

impl Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(bytes.len()).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_is_reported() {
    let topology = support::topology();
    let mut writer = TraceWriter::new(Full(5_000), &topology).unwrap();
    let result = support::records(1_000).iter().try_for_each(|record| writer.record(record));
    assert_eq!(result.unwrap_err().kind(), io::ErrorKind::StorageFull);
}

fn any_what() -> impl Strategy<Value = What> {
    prop::sample::select(vec![
        What::Request,
        What::Grant,
        What::Revoke,
        What::Release,
        What::Throttle,
        What::Leave,
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn slices_pair_up_whatever_comes(
        steps in prop::collection::vec((0u64..3, 0u32..12, 0u16..3, any_what()), 0..60),
    ) {
        let mut at = 0;
        let record = |(step, vp, cpu, what): (u64, u32, u16, What)| {
            at += step;
            Record { at: Nanos(at), vp: ObservedVp(vp), cpu, what }
        };
        let records: Vec<Record> = steps.into_iter().map(record).collect();
        slices(&trace_of(&records, Nanos(1_000)));
    }
}
