//! Plays to a monitor what a virtual processor (VP) does in each unit of time: for the unit tests of `src/windows.rs`
//! and the tests of requests, which each include this file as a module. Relies on the module around it for `Monitor`.

use super::Monitor;
use hls_units::Nanos;

/// What the VP does in one unit of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    Asleep,
    Ready,
    Runs,
    /// The CPU is stolen while the VP runs.
    Stolen,
}
use Unit::*;

/// Calls the monitor as for a VP that spends the units as given, from 0 on.
pub fn play_units(units: &[Unit], monitor: &mut Monitor) {
    let mut before = Asleep;
    let mut stolen = 0;
    for (at, &unit) in (0..).map(Nanos).zip(units) {
        if before == Stolen && unit != Stolen {
            monitor.steal(at, Nanos(std::mem::take(&mut stolen)));
        }
        let (had, has) = (matches!(before, Runs | Stolen), matches!(unit, Runs | Stolen));
        match (before, unit) {
            (Asleep, Asleep) => {}
            (Asleep, _) => monitor.request(at),
            (_, Asleep) => monitor.release(at),
            _ if had && !has => monitor.revoke(at),
            _ => {}
        }
        if has && !had {
            monitor.grant(at);
        }
        stolen += u64::from(unit == Stolen);
        before = unit;
    }
    let end = Nanos(units.len() as u64);
    if before == Stolen {
        monitor.steal(end, Nanos(stolen));
    }
}
