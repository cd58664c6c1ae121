//! One root domain of the core, owned and called safely.

use crate::{ffi, limits, policy};
use hls_units::Nanos;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::fmt;
use std::ptr::NonNull;

/// Parameters of a scheduler or of a VP, in the order of the policy's list; the rest 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Params(pub [u64; limits::PARAMS]);

impl Params {
    /// The first values of a list, at most [`limits::PARAMS`] of them.
    pub fn from_slice(values: &[u64]) -> Params {
        let mut params = Params::default();
        for (to, from) in params.0.iter_mut().zip(values) {
            *to = *from;
        }
        params
    }
}

/// Why the core refused a call; `enum hls_error` in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoreError {
    /// No free entry: one of [`limits`] is reached.
    Full,
    /// No such scheduler, VP, CPU or policy.
    NotFound,
    /// A parameter is out of the range that the policy states.
    Param,
    /// It still has children, or a parent still holds it.
    Busy,
    /// The policy takes no further VP.
    Children,
    /// It would be deeper than [`limits::MAX_DEPTH`], or a cycle.
    Depth,
    /// The policy does not know this message.
    Unknown,
}

impl fmt::Display for CoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CoreError::Full => "no free entry is left in the core",
            CoreError::NotFound => "there is no such scheduler, virtual processor, CPU or policy",
            CoreError::Param => "a parameter is out of the range that the policy states",
            CoreError::Busy => "it still has children, or a parent still holds it",
            CoreError::Children => "the policy takes no further child",
            CoreError::Depth => "the hierarchy would be too deep or have a cycle",
            CoreError::Unknown => "the policy does not know this parameter",
        })
    }
}

impl std::error::Error for CoreError {}

/// The state of a VP, as its parent sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VpState {
    /// Wants no CPU.
    Waiting,
    /// Wants one.
    Ready,
    /// Has one.
    Running,
}

/// What a record of the core tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    /// waiting → ready
    Request,
    /// ready → running
    Grant,
    /// running → ready
    Revoke,
    /// running or ready → waiting
    Release,
    /// ready, but out of budget
    Throttle,
    /// a new budget until a new deadline
    Replenish {
        /// The budget.
        budget: Nanos,
        /// Its end, absolute.
        deadline: Nanos,
    },
}

/// A change of state of a watched VP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawRecord {
    /// When.
    pub at: Nanos,
    /// Whose.
    pub vp: u32,
    /// Where it runs, or ran last.
    pub cpu: u16,
    /// What.
    pub kind: RecordKind,
}

/// A broken invariant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Which, by its number in `core/check.h`.
    pub code: u32,
    /// At which scheduler; 0: none in particular.
    pub scheduler: u32,
    /// At which VP; 0: none in particular.
    pub vp: u32,
    /// On which CPU.
    pub cpu: u32,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "invariant {} is broken: {} (scheduler {}, VP {}, CPU {})",
            self.code,
            policy::invariant(self.code),
            self.scheduler,
            self.vp,
            self.cpu
        )
    }
}

/// A root domain: a `struct hls`, empty at first.
pub struct Core {
    hls: NonNull<ffi::Hls>,
    /// What was allocated: `hls` lies in it, on the next cache line.
    memory: NonNull<u8>,
    /// Records that `take_records` has handed out or missed.
    taken: u64,
}

// SAFETY: the core has no thread-local or shared state; all of it lies in the allocation that `Core` owns.
unsafe impl Send for Core {}

impl Default for Core {
    fn default() -> Core {
        Core::new()
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        // SAFETY: allocated in `new` with this layout, and freed only here.
        unsafe { dealloc(self.memory.as_ptr(), layout()) }
    }
}

/// The alignment that `struct hls` has.
const ALIGNMENT: usize = 64;

/// Room for the core at any offset that aligns it. The layout itself asks for little alignment: only then does the
/// allocator hand out fresh pages of zeroes as they are; else it would clear all of them, and so use them.
fn layout() -> Layout {
    // SAFETY: a constant of the C side.
    let size = unsafe { ffi::hls_sizes[0] };
    Layout::from_size_align(size as usize + ALIGNMENT, 16).expect("the size of the core is a sane one")
}

fn answer(value: i64) -> Result<u32, CoreError> {
    u32::try_from(value).map_err(|_| match -value {
        1 => CoreError::Full,
        2 => CoreError::NotFound,
        3 => CoreError::Param,
        4 => CoreError::Busy,
        5 => CoreError::Children,
        6 => CoreError::Depth,
        _ => CoreError::Unknown,
    })
}

impl Core {
    /// An empty root domain. Zeroed memory is valid, so this costs address space only until it is used.
    pub fn new() -> Core {
        // SAFETY: the size is not zero.
        let memory = unsafe { alloc_zeroed(layout()) };
        let Some(memory) = NonNull::new(memory) else { handle_alloc_error(layout()) };
        let offset = memory.as_ptr().align_offset(ALIGNMENT);
        // SAFETY: the layout has room for the core behind any offset below the alignment.
        let hls = unsafe { memory.add(offset) }.cast();
        Core { hls, memory, taken: 0 }
    }

    fn h(&mut self) -> *mut ffi::Hls {
        self.hls.as_ptr()
    }

    /// Panics on an index that no VP can have: a programmer's error.
    fn vp(&self, vp: u32) -> u32 {
        assert!((vp as usize) < limits::MAX_VPS, "VP {vp} is out of range");
        vp
    }

    fn cpu(&self, cpu: u16) -> u32 {
        assert!(usize::from(cpu) < limits::MAX_CPUS, "CPU {cpu} is out of range");
        u32::from(cpu)
    }

    /// Puts a CPU into use.
    pub fn add_cpu(&mut self, cpu: u16) -> Result<(), CoreError> {
        // SAFETY: `h` is this domain; the core checks the CPU.
        answer(unsafe { ffi::hls_add_cpu(self.h(), u32::from(cpu)) }).map(drop)
    }

    /// Creates an instance of the policy with this number; returns its index.
    pub fn create_scheduler(&mut self, policy: u8, params: Params) -> Result<u32, CoreError> {
        let params = ffi::HlsParams { value: params.0 };
        // SAFETY: `params` lives during the call; the core checks the policy and the values.
        answer(unsafe { ffi::hls_create_scheduler(self.h(), u32::from(policy), &params) })
    }

    /// Destroys a scheduler without children and parents.
    pub fn destroy_scheduler(&mut self, scheduler: u32) -> Result<(), CoreError> {
        // SAFETY: the core checks the index.
        answer(unsafe { ffi::hls_destroy_scheduler(self.h(), scheduler) }).map(drop)
    }

    /// Makes a scheduler the root on a CPU; returns the machine's VP.
    pub fn attach_root(&mut self, scheduler: u32, cpu: u16) -> Result<u32, CoreError> {
        // SAFETY: the core checks both.
        answer(unsafe { ffi::hls_attach_root(self.h(), scheduler, u32::from(cpu)) })
    }

    /// Hangs a scheduler, or a new thread (`None`), below `parent`; returns the VP.
    pub fn attach(&mut self, parent: u32, child: Option<u32>, params: Params) -> Result<u32, CoreError> {
        let params = ffi::HlsParams { value: params.0 };
        // SAFETY: `params` lives during the call; the core checks the indexes and the values.
        answer(unsafe { ffi::hls_attach(self.h(), parent, child.unwrap_or(0), &params) })
    }

    /// Takes a VP out of the hierarchy.
    pub fn detach(&mut self, vp: u32, now: Nanos) -> Result<(), CoreError> {
        // SAFETY: the core checks the index.
        answer(unsafe { ffi::hls_detach(self.h(), vp, now.0) }).map(drop)
    }

    /// Moves a thread below another scheduler. A refusal changes nothing.
    pub fn move_to(&mut self, vp: u32, parent: u32, params: Params, now: Nanos) -> Result<(), CoreError> {
        let params = ffi::HlsParams { value: params.0 };
        // SAFETY: `params` lives during the call; the core checks the indexes and the values.
        answer(unsafe { ffi::hls_move(self.h(), vp, parent, &params, now.0) }).map(drop)
    }

    /// Binds a thread to the CPUs whose bits are set.
    pub fn set_affinity(&mut self, vp: u32, cpus: u64, now: Nanos) -> Result<(), CoreError> {
        // SAFETY: the core checks the index.
        answer(unsafe { ffi::hls_set_affinity(self.h(), vp, cpus, now.0) }).map(drop)
    }

    /// Has the changes of a VP's state recorded, or not any more.
    pub fn watch(&mut self, vp: u32, on: bool) -> Result<(), CoreError> {
        // SAFETY: the core checks the index.
        answer(unsafe { ffi::hls_watch(self.h(), vp, u32::from(on)) }).map(drop)
    }

    /// The thread wants a CPU.
    pub fn request(&mut self, vp: u32, now: Nanos) {
        let vp = self.vp(vp);
        // SAFETY: the index is in range.
        unsafe { ffi::hls_request(self.h(), vp, now.0) };
    }

    /// The thread wants no CPU any more.
    pub fn release(&mut self, vp: u32, now: Nanos) {
        let vp = self.vp(vp);
        // SAFETY: the index is in range.
        unsafe { ffi::hls_release(self.h(), vp, now.0) };
    }

    /// The running thread lets others go first.
    pub fn yield_now(&mut self, vp: u32, now: Nanos) {
        let vp = self.vp(vp);
        // SAFETY: the index is in range.
        unsafe { ffi::hls_yield(self.h(), vp, now.0) };
    }

    /// A message to the scheduler above a VP: sets parameter number `param` of the VP. A refusal changes nothing.
    pub fn message(&mut self, vp: u32, param: u32, value: u64, now: Nanos) -> Result<(), CoreError> {
        // SAFETY: the core checks the indexes and the value.
        answer(unsafe { ffi::hls_message(self.h(), vp, param, value, now.0) }).map(drop)
    }

    /// A slice may be over on this CPU.
    pub fn expire(&mut self, cpu: u16, now: Nanos) {
        let cpu = self.cpu(cpu);
        // SAFETY: the index is in range.
        unsafe { ffi::hls_expire(self.h(), cpu, now.0) };
    }

    /// Timers of schedulers may be due.
    pub fn timers(&mut self, now: Nanos) {
        // SAFETY: no index is passed.
        unsafe { ffi::hls_timers(self.h(), now.0) };
    }

    /// Interrupts or the host had the CPU for `length`, up to now.
    pub fn steal(&mut self, cpu: u16, length: Nanos) {
        let cpu = self.cpu(cpu);
        // SAFETY: the index is in range.
        unsafe { ffi::hls_steal(self.h(), cpu, length.0) };
    }

    /// When the first slice on this CPU is over if no more time is stolen; `Nanos::MAX`: none is.
    pub fn expires_at(&mut self, cpu: u16) -> Nanos {
        let cpu = self.cpu(cpu);
        // SAFETY: the index is in range.
        Nanos(unsafe { ffi::hls_expires_at(self.h(), cpu) })
    }

    /// When `timers` is next due; `Nanos::MAX`: not before something else happens.
    pub fn timer_at(&mut self) -> Nanos {
        // SAFETY: no index is passed.
        Nanos(unsafe { ffi::hls_timer_at(self.h()) })
    }

    /// Decides what a CPU runs from now on: a thread's VP, or `None`.
    pub fn schedule(&mut self, cpu: u16, now: Nanos) -> Option<u32> {
        let cpu = self.cpu(cpu);
        // SAFETY: the index is in range.
        let vp = unsafe { ffi::hls_schedule(self.h(), cpu, now.0) };
        (vp != 0).then_some(vp)
    }

    /// The CPUs on which `schedule` is due, a bit each.
    pub fn kick(&self) -> u64 {
        // SAFETY: reads one field.
        unsafe { ffi::hls_kick(self.hls.as_ptr()) }
    }

    /// Checks every invariant. To be called when `kick` is 0.
    pub fn check(&mut self) -> Result<(), Fault> {
        // SAFETY: no index is passed.
        if unsafe { ffi::hls_check(self.h()) } == 0 {
            return Ok(());
        }
        // SAFETY: reads one field.
        let fault = unsafe { ffi::hls_fault(self.hls.as_ptr()) };
        Err(Fault { code: fault.code, scheduler: fault.scheduler, vp: fault.vp, cpu: fault.cpu })
    }

    /// Hands the records since the last call to `each`, in order; `false` when some were lost because more than
    /// [`limits::MAX_RECORDS`] were written since.
    pub fn take_records(&mut self, mut each: impl FnMut(RawRecord)) -> bool {
        // SAFETY: reads one field.
        let written = unsafe { ffi::hls_nr_records(self.hls.as_ptr()) };
        let first = self.taken.max(written.saturating_sub(limits::MAX_RECORDS as u64));
        let lost = first > self.taken;
        for number in first..written {
            // SAFETY: the core has written that record, and nothing writes while `each` runs: `self` is borrowed.
            each(convert(unsafe { &*ffi::hls_record(self.hls.as_ptr(), number) }));
        }
        self.taken = written;
        !lost
    }

    /// How often a scheduler was asked whom it grants a CPU.
    pub fn decisions(&self) -> u64 {
        // SAFETY: reads one field.
        unsafe { ffi::hls_decisions(self.hls.as_ptr()) }
    }

    /// CPU time that a VP has had.
    pub fn ran(&self, vp: u32, now: Nanos) -> Nanos {
        let vp = self.vp(vp);
        // SAFETY: the index is in range.
        Nanos(unsafe { ffi::hls_ran_ns(self.hls.as_ptr(), vp, now.0) })
    }

    /// How often a VP was granted a CPU, and how often it lost one while it wanted to go on.
    pub fn grants_and_revokes(&self, vp: u32) -> (u32, u32) {
        let vp = self.vp(vp);
        // SAFETY: the index is in range.
        unsafe { (ffi::hls_nr_grants(self.hls.as_ptr(), vp), ffi::hls_nr_revokes(self.hls.as_ptr(), vp)) }
    }

    /// The state of a VP.
    pub fn state(&self, vp: u32) -> VpState {
        let vp = self.vp(vp);
        // SAFETY: the index is in range.
        match unsafe { ffi::hls_vp_state(self.hls.as_ptr(), vp) } {
            0 => VpState::Waiting,
            1 => VpState::Ready,
            _ => VpState::Running,
        }
    }
}

fn convert(raw: &ffi::HlsRecord) -> RawRecord {
    let kind = match raw.kind {
        1 => RecordKind::Request,
        2 => RecordKind::Grant,
        3 => RecordKind::Revoke,
        4 => RecordKind::Release,
        5 => RecordKind::Throttle,
        _ => RecordKind::Replenish { budget: Nanos(raw.a), deadline: Nanos(raw.b) },
    };
    RawRecord { at: Nanos(raw.at_ns), vp: raw.vp, cpu: raw.cpu, kind }
}
