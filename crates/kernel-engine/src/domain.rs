//! What lies in the arena of the kernel engine, and the calls that are made through it: `bpf/domain.h` for Rust.
//!
//! BPF programs write there at any time, so everything is read and written a field at a time, as it is at that moment.
//! Relies on the object staying loaded, which [`Domain`] sees to.

use crate::Error;
use crate::next_engine::{Jumps, Programs, SharedMaps};
use crate::object::{ENGINE, Loaded};
use hls_core::{Call, Calls, Core, CoreError, Fault, Library, Op, Params, View, limits};
use hls_units::Nanos;
use std::mem::offset_of;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::ptr::NonNull;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// So many calls are timed for the least.
const CALLS_TIMED: u32 = 64;
/// So many of them may pass between two by which a policy has itself called, for long.
const OWN_CALL: u64 = 8;
/// How long a check waits for decisions that are due: the CPU of a virtual machine may be away for a while.
const PATIENCE_MS: u32 = 1000;

/// `struct engine_cpu`.
#[repr(C)]
#[derive(Clone, Copy)]
struct CpuEntry {
    lag_ns: u64,
    free_since_ns: u64,
    timer_at_ns: u64,
    wakeups: u64,
    rescue: u32,
    rescued: u32,
    rescued_until_ns: u64,
    slice_waits: u8,
}

/// `struct engine_thread`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ThreadEntry {
    /// When it came into being: no other thread has its TID and this.
    pub since: u64,
    /// Its affinity.
    pub cpus: u64,
    /// Linux' TID of it; 0: the entry is free.
    pub pid: u32,
    /// Its process.
    pub tgid: u32,
    /// Since when it is runnable and in no queue of the kernel's; 0: it is not.
    pub queued_at_ns: u64,
    /// Until when it may tell its scheduler nothing more than a burst.
    pub may_tell_at: u64,
}

/// `struct engine_domain`, up to the core's own, behind which are the threads.
#[repr(C, align(64))]
struct Layout {
    lock: u32,
    root: u32,
    own_tgid: u32,
    has_begun: u32,
    tell: u64,
    kicked: u64,
    params: [u64; limits::PARAMS],
    call: Call,
    told: [u64; limits::PARAMS],
    cpu: [CpuEntry; limits::MAX_CPUS],
}

/// What came of an attempt to check all invariants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// They were checked, and hold.
    Held,
    /// One of them does not.
    Broken(Fault),
    /// They were not checked: some decision was due whenever they could have been.
    NotMade,
}

/// A domain in the kernel.
pub struct Domain {
    /// The object that has it, and that is attached.
    pub loaded: Loaded,
    jumps: Jumps,
    /// The programs of the object that is attached.
    first: Programs,
    /// The programs of the engine that has taken over; `None`: the first engine is the current one.
    taken_over_by: Option<Programs>,
    view: View,
}

impl Domain {
    /// Loads the engine with an empty domain. Nothing is attached.
    pub fn new() -> Result<Domain, Error> {
        if !Path::new("/sys/kernel/sched_ext").exists() {
            return Err(Error::NotAllowed("this kernel has no sched_ext".into()));
        }
        let mut loaded = Loaded::new(ENGINE)?;
        let mut context = [0; 2].map(u64::to_ne_bytes);
        let result = loaded.run("set_up", context.as_flattened_mut())?;
        if result != 0 {
            return Err(Error::Failed(format!("the kernel has no room for the hierarchy ({result})")));
        }
        let found = context.map(|word| u64::from_ne_bytes(word) as usize);
        let expected = [size_of::<Layout>(), Core::size()];
        let bytes = expected[0] + expected[1] + limits::MAX_VPS * size_of::<ThreadEntry>();
        if found != expected || loaded.arena().len() < bytes {
            return Err(Error::Failed(format!("found a domain of {found:?} bytes, expected {expected:?}")));
        }
        let hls = (loaded.address() as usize + size_of::<Layout>()) as *mut u8;
        let hls = NonNull::new(hls).expect("the arena is not at 0");
        // SAFETY: `struct hls` lies there, as its sizes say, and the arena stays as long as `loaded`.
        let view = unsafe { View::new(hls) };
        let (jumps, first) = (Jumps::of(&loaded)?, Programs::of(&loaded)?);
        jumps.lead_to(&first)?;
        let mut domain = Domain { loaded, jumps, first, taken_over_by: None, view };
        domain.set_pace();
        Ok(domain)
    }

    /// Has a loaded policy called of its own will no faster than this machine can bear: a timer or a slice that is over
    /// takes an interrupt, a decision and a switch, which is a few times what a call from here takes.
    fn set_pace(&mut self) {
        let took = |_| {
            let begin = Instant::now();
            self.make(Op::TimerAt, Call::default()).map_or(Duration::ZERO, |_| begin.elapsed())
        };
        let least = (0..CALLS_TIMED).map(took).min().unwrap_or_default();
        let value = u64::try_from(least.as_nanos()).unwrap_or(u64::MAX).saturating_mul(OWN_CALL);
        // The core has limits for it, and refuses nothing.
        let _ = self.make(Op::SetPace, Call { value, ..Call::default() });
    }

    /// Another engine takes over, at once and without holding anything up: the next one with its build of the core, or,
    /// with `None`, the first one. No scheduler may have a policy that this engine lacks, or whose state it does not
    /// understand. Returns the engine that was the current one, unless it was the first.
    ///
    /// # Errors
    /// The engine may have taken over in part: then all must be detached.
    pub fn take_over(
        &mut self,
        next: Option<(Programs, Arc<Library>)>,
    ) -> Result<Option<(Programs, Arc<Library>)>, Error> {
        let (next, library) = next.unzip();
        // The old programs are kept until no operation jumps to them.
        let old = std::mem::replace(&mut self.taken_over_by, next);
        self.jumps.lead_to(self.programs())?;
        Ok(old.zip(self.view.set_library(library)))
    }

    /// The program by which a thread talks to its scheduler, whichever engine that is of; `struct message` of
    /// `bpf/domain.h` is its context. Any thread that is given it may run it, without privileges.
    pub fn messenger(&self) -> Result<OwnedFd, Error> {
        self.loaded.program("hls_post")
    }

    /// The maps that a next engine shares with this one.
    pub fn shared_maps(&self) -> Result<SharedMaps, Error> {
        SharedMaps::of(&self.loaded)
    }

    /// The programs of the current engine.
    fn programs(&self) -> &Programs {
        self.taken_over_by.as_ref().unwrap_or(&self.first)
    }

    /// What can be read of the core.
    pub fn view(&mut self) -> &mut View {
        &mut self.view
    }

    fn field<T: Copy>(&self, offset: usize) -> T {
        assert!(offset + size_of::<T>() <= self.loaded.arena().len(), "the field is in the arena");
        let place = (self.loaded.address() as usize + offset) as *const T;
        // SAFETY: within the arena and aligned, as the layouts are; all bytes are valid for what is asked for here.
        unsafe { place.read_volatile() }
    }

    fn set_field<T: Copy>(&mut self, offset: usize, value: T) {
        assert!(offset + size_of::<T>() <= size_of::<Layout>(), "the field is in the layout");
        let place = (self.loaded.address() as usize + offset) as *mut T;
        // SAFETY: as above; no reference into the arena is held while calls are made.
        unsafe { place.write_volatile(value) }
    }

    /// Has threads that come hung below this scheduler; none is, before it is attached, of the process `own_tgid`.
    pub fn set_default(&mut self, scheduler: u32, params: Params, own_tgid: u32) {
        self.set_field(offset_of!(Layout, root), scheduler);
        self.set_field(offset_of!(Layout, params), params.0);
        self.set_field(offset_of!(Layout, own_tgid), own_tgid);
    }

    /// Has stolen time recorded.
    pub fn tell_stolen(&mut self) {
        self.set_field(offset_of!(Layout, tell), 1_u64);
    }

    /// The kernel's time.
    pub fn now(&mut self) -> Result<Nanos, CoreError> {
        self.make(Op::TimerAt, Call::default())?;
        Ok(Nanos(self.field::<Call>(offset_of!(Layout, call)).now_ns))
    }

    /// Checks every invariant at a moment when no decision is due, which it waits for. A CPU that idles all the while
    /// although one is breaks an invariant, too; one that others keep busy does not, and nothing is checked.
    pub fn check(&mut self) -> Result<Check, Error> {
        let mut late = u64::MAX;
        for attempt in 0..PATIENCE_MS {
            let mut found = 0_u64.to_ne_bytes();
            match self.programs().run("check", &mut found)? {
                0 => return Ok(Check::Held),
                code if code > 0 => return Ok(Check::Broken(self.view.fault())),
                _ => late &= u64::from_ne_bytes(found),
            }
            if late == 0 && attempt >= PATIENCE_MS / 50 {
                return Ok(Check::NotMade);
            }
            sleep(Duration::from_millis(1));
        }
        /// `HLS_BROKEN_IDLE`
        const IDLE: u32 = 8;
        let idles = |cpu| Check::Broken(Fault { code: IDLE, scheduler: 0, vp: 0, cpu });
        Ok(if late == 0 { Check::NotMade } else { idles(late.trailing_zeros()) })
    }

    /// The thread of a VP.
    pub fn thread(&self, vp: u32) -> ThreadEntry {
        assert!((vp as usize) < limits::MAX_VPS, "VP {vp} is out of range");
        let threads = size_of::<Layout>() + Core::size();
        self.field(threads + vp as usize * size_of::<ThreadEntry>())
    }
}

impl Calls for Domain {
    /// The time of the call is the kernel's own.
    fn make(&mut self, op: Op, call: Call) -> Result<i64, CoreError> {
        let call = Call { op: op as u32, ..call };
        if !call.is_sound() {
            return Err(CoreError::NotFound);
        }
        self.set_field(offset_of!(Layout, call), call);
        match self.programs().run("make_call", &mut [0; 8]) {
            Ok(0) => Ok(self.field::<Call>(offset_of!(Layout, call)).result),
            _ => Err(CoreError::Unreachable),
        }
    }
}
