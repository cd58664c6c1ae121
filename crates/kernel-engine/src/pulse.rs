//! Pulses (poll ticks): a timer of the kernel that goes off periodically on each CPU and has the engine check whether
//! something is due there. They replace timers where BPF programs may not set any: under PREEMPT_RT.
//!
//! Relies on perf's clock of each CPU: its timers are real interrupts under PREEMPT_RT, too, and go off on idle CPUs.

use crate::{Error, doctor};
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::path::Path;

/// The time between two pulses, by which a thread may overrun its budget.
pub const PERIOD_NS: u64 = 250_000;

/// The kernel's error for a CPU that is offline: ENODEV.
const IS_OFFLINE: i32 = 19;

/// The pulses of the CPUs. They end when this is dropped.
#[derive(Default)]
pub struct Pulses(BTreeMap<u32, OwnedFd>);

impl Pulses {
    /// Begins the pulses of all CPUs that are online.
    pub fn begin_all(&mut self) -> Result<(), Error> {
        let present = doctor::cpus(Path::new("/"), "present");
        let present = present.ok_or_else(|| Error::Failed("the kernel does not list its CPUs".into()))?;
        (0..present).try_for_each(|cpu| self.begin(cpu))
    }

    /// Begins the pulse of a CPU, unless it is offline; anew if it had one: a pulse ends when its CPU goes offline.
    pub fn begin(&mut self, cpu: u32) -> Result<(), Error> {
        self.0.remove(&cpu);
        match open(cpu) {
            Ok(clock) => drop(self.0.insert(cpu, clock)),
            Err(error) if error.raw_os_error() == Some(IS_OFFLINE) => {}
            Err(error) => {
                return Err(Error::Failed(format!("CPU {cpu} cannot have a clock of perf: {error}")));
            }
        }
        Ok(())
    }
}

/// `struct perf_event_attr` as in the first kernels: later members are 0.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    config1: u64,
}

unsafe extern "C" {
    fn syscall(number: i64, ...) -> i64;
}

/// Opens perf's clock of a CPU.
fn open(cpu: u32) -> io::Result<OwnedFd> {
    const PERF_EVENT_OPEN: i64 = 298;
    const SOFTWARE: u32 = 1;
    const CPU_CLOCK: u64 = 0;
    const ALL_THREADS: i64 = -1;
    const NO_GROUP: i64 = -1;
    const CLOSE_ON_EXEC: u64 = 8;
    let size = size_of::<Attributes>() as u32;
    let attributes = Attributes {
        kind: SOFTWARE,
        size,
        config: CPU_CLOCK,
        sample_period: PERIOD_NS,
        ..Attributes::default()
    };
    // SAFETY: the attributes state their size and live as long as the call, which only reads them.
    let event = unsafe {
        syscall(PERF_EVENT_OPEN, &raw const attributes, ALL_THREADS, i64::from(cpu), NO_GROUP, CLOSE_ON_EXEC)
    };
    match i32::try_from(event) {
        // SAFETY: the kernel has just opened this descriptor, and no other code knows it.
        Ok(event @ 0..) => Ok(unsafe { OwnedFd::from_raw_fd(event) }),
        _ => Err(io::Error::last_os_error()),
    }
}
