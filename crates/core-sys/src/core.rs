//! One root domain of the core, owned and called safely.

use crate::tape::{Call, Op, Unsound};
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
    /// The calls that were made, where they are to be written down.
    tape: Option<Vec<Call>>,
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
    Layout::from_size_align(Core::size() + ALIGNMENT, 16).expect("the size of the core is a sane one")
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
        Core { hls, memory, taken: 0, tape: None }
    }

    /// Makes a call of an entry point; every method that changes the domain does it here. Since `op` is a constant in
    /// all of them, this is compiled into a plain call of C.
    #[inline(always)]
    fn call(&mut self, op: Op, call: Call) -> i64 {
        // SAFETY: the core checks the indexes, but for those that `vp` and `cpu` below have checked.
        let result = unsafe { make(self.hls.as_ptr(), op, &call) };
        if let Some(tape) = &mut self.tape {
            write_down(tape, Call { op: op as u32, result, ..call });
        }
        result
    }

    /// Writes down every call from now on; [`Core::take_tape`] hands them out. They are kept in memory until then.
    pub fn record(&mut self) {
        self.tape.get_or_insert_default();
    }

    /// The calls since [`Core::record`] or the last time, in order; none where none are written down.
    pub fn take_tape(&mut self) -> Vec<Call> {
        self.tape.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Makes the calls of a tape, in order, and writes their results into it; they are not recorded again. A tape with
    /// a call that is not sound is not played at all.
    pub fn play(&mut self, tape: &mut [Call]) -> Result<(), Unsound> {
        Unsound::first_of(tape)?;
        for call in tape {
            // SAFETY: a sound call passes no index that the core would not check.
            unsafe { ffi::hls_play(self.hls.as_ptr(), call) };
        }
        Ok(())
    }

    /// Bytes that a domain takes.
    pub fn size() -> usize {
        // SAFETY: a constant of the C side.
        unsafe { ffi::hls_sizes[0] as usize }
    }

    /// All bytes of the domain: what two builds of the core must agree on.
    pub fn memory(&self) -> &[u8] {
        // SAFETY: as large as was allocated, zeroed at first, and nothing writes while `self` is borrowed.
        unsafe { std::slice::from_raw_parts(self.hls.as_ptr().cast(), Core::size()) }
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
        answer(self.call(Op::AddCpu, Call { a: u32::from(cpu), ..Call::default() })).map(drop)
    }

    /// Creates an instance of the policy with this number; returns its index.
    pub fn create_scheduler(&mut self, policy: u8, params: Params) -> Result<u32, CoreError> {
        let call = Call { a: u32::from(policy), params: params.0, ..Call::default() };
        answer(self.call(Op::CreateScheduler, call))
    }

    /// Destroys a scheduler without children and parents.
    pub fn destroy_scheduler(&mut self, scheduler: u32) -> Result<(), CoreError> {
        answer(self.call(Op::DestroyScheduler, Call { a: scheduler, ..Call::default() })).map(drop)
    }

    /// Makes a scheduler the root on a CPU; returns the machine's VP.
    pub fn attach_root(&mut self, scheduler: u32, cpu: u16) -> Result<u32, CoreError> {
        answer(self.call(Op::AttachRoot, Call { a: scheduler, b: u32::from(cpu), ..Call::default() }))
    }

    /// Hangs a scheduler, or a new thread (`None`), below `parent`; returns the VP.
    pub fn attach(&mut self, parent: u32, child: Option<u32>, params: Params) -> Result<u32, CoreError> {
        let call = Call { a: parent, b: child.unwrap_or(0), params: params.0, ..Call::default() };
        answer(self.call(Op::Attach, call))
    }

    /// Takes a VP out of the hierarchy.
    pub fn detach(&mut self, vp: u32, now: Nanos) -> Result<(), CoreError> {
        answer(self.call(Op::Detach, Call::at(now, vp))).map(drop)
    }

    /// Moves a thread below another scheduler. A refusal changes nothing.
    pub fn move_to(&mut self, vp: u32, parent: u32, params: Params, now: Nanos) -> Result<(), CoreError> {
        let call = Call { b: parent, params: params.0, ..Call::at(now, vp) };
        answer(self.call(Op::Move, call)).map(drop)
    }

    /// Binds a thread to the CPUs whose bits are set.
    pub fn set_affinity(&mut self, vp: u32, cpus: u64, now: Nanos) -> Result<(), CoreError> {
        answer(self.call(Op::SetAffinity, Call { value: cpus, ..Call::at(now, vp) })).map(drop)
    }

    /// Has the changes of a VP's state recorded, or not any more.
    pub fn watch(&mut self, vp: u32, on: bool) -> Result<(), CoreError> {
        answer(self.call(Op::Watch, Call { a: vp, b: u32::from(on), ..Call::default() })).map(drop)
    }

    /// The thread wants a CPU.
    pub fn request(&mut self, vp: u32, now: Nanos) {
        self.call(Op::Request, Call::at(now, self.vp(vp)));
    }

    /// The thread wants no CPU any more.
    pub fn release(&mut self, vp: u32, now: Nanos) {
        self.call(Op::Release, Call::at(now, self.vp(vp)));
    }

    /// The running thread lets others go first.
    pub fn yield_now(&mut self, vp: u32, now: Nanos) {
        self.call(Op::Yield, Call::at(now, self.vp(vp)));
    }

    /// A message to the scheduler above a VP: sets parameter number `param` of the VP. A refusal changes nothing.
    pub fn message(&mut self, vp: u32, param: u32, value: u64, now: Nanos) -> Result<(), CoreError> {
        answer(self.call(Op::Message, Call { b: param, value, ..Call::at(now, vp) })).map(drop)
    }

    /// A slice may be over on this CPU.
    pub fn expire(&mut self, cpu: u16, now: Nanos) {
        self.call(Op::Expire, Call::at(now, self.cpu(cpu)));
    }

    /// Timers of schedulers may be due.
    pub fn timers(&mut self, now: Nanos) {
        self.call(Op::Timers, Call::at(now, 0));
    }

    /// Interrupts or the host had the CPU for `length`, up to now.
    pub fn steal(&mut self, cpu: u16, length: Nanos) {
        self.call(Op::Steal, Call { a: self.cpu(cpu), value: length.0, ..Call::default() });
    }

    /// When the first slice on this CPU is over if no more time is stolen; `Nanos::MAX`: none is.
    pub fn expires_at(&mut self, cpu: u16) -> Nanos {
        Nanos(self.call(Op::ExpiresAt, Call { a: self.cpu(cpu), ..Call::default() }) as u64)
    }

    /// When `timers` is next due; `Nanos::MAX`: not before something else happens.
    pub fn timer_at(&mut self) -> Nanos {
        Nanos(self.call(Op::TimerAt, Call::default()) as u64)
    }

    /// Decides what a CPU runs from now on: a thread's VP, or `None`.
    pub fn schedule(&mut self, cpu: u16, now: Nanos) -> Option<u32> {
        let vp = self.call(Op::Schedule, Call::at(now, self.cpu(cpu))) as u32;
        (vp != 0).then_some(vp)
    }

    /// The CPUs on which `schedule` is due, a bit each.
    pub fn kick(&self) -> u64 {
        // SAFETY: reads one field.
        unsafe { ffi::hls_kick(self.hls.as_ptr()) }
    }

    /// Checks every invariant. To be called when `kick` is 0.
    pub fn check(&mut self) -> Result<(), Fault> {
        if self.call(Op::Check, Call::default()) == 0 {
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

/// Out of the way of those who have nothing written down.
#[cold]
fn write_down(tape: &mut Vec<Call>, call: Call) {
    tape.push(call);
}

/// What `core/call.h` says that the call means.
///
/// # Safety
///
/// `h` is a domain that nobody else uses, and the call is sound.
#[inline(always)]
unsafe fn make(h: *mut ffi::Hls, op: Op, c: &Call) -> i64 {
    let params = &raw const c.params;
    // SAFETY: the caller's promise; the parameters live during the call.
    unsafe {
        match op {
            Op::AddCpu => ffi::hls_add_cpu(h, c.a),
            Op::CreateScheduler => ffi::hls_create_scheduler(h, c.a, params),
            Op::DestroyScheduler => ffi::hls_destroy_scheduler(h, c.a),
            Op::AttachRoot => ffi::hls_attach_root(h, c.a, c.b),
            Op::Attach => ffi::hls_attach(h, c.a, c.b, params),
            Op::Detach => ffi::hls_detach(h, c.a, c.now_ns),
            Op::Move => ffi::hls_move(h, c.a, c.b, params, c.now_ns),
            Op::SetAffinity => ffi::hls_set_affinity(h, c.a, c.value, c.now_ns),
            Op::Watch => ffi::hls_watch(h, c.a, c.b),
            Op::Request => ffi::hls_request(h, c.a, c.now_ns) as i64,
            Op::Release => ffi::hls_release(h, c.a, c.now_ns) as i64,
            Op::Yield => ffi::hls_yield(h, c.a, c.now_ns) as i64,
            Op::Message => ffi::hls_message(h, c.a, c.b, c.value, c.now_ns),
            Op::Expire => ffi::hls_expire(h, c.a, c.now_ns) as i64,
            Op::Timers => ffi::hls_timers(h, c.now_ns) as i64,
            Op::Steal => ffi::hls_steal(h, c.a, c.value) as i64,
            Op::ExpiresAt => ffi::hls_expires_at(h, c.a) as i64,
            Op::TimerAt => ffi::hls_timer_at(h) as i64,
            Op::Schedule => ffi::hls_schedule(h, c.a, c.now_ns).into(),
            Op::Check => ffi::hls_check(h).into(),
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
