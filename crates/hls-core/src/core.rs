//! One root domain of the core, owned and called safely.

use crate::numbers::CoreVp;
use crate::tape::{Call, Op, Unsound};
use crate::view::{Fault, View};
use crate::{Calls, CoreError, Library, ffi, limits};
use hls_units::Nanos;
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::Arc;

/// A root domain: a `struct hls`, empty at first.
pub struct Core {
    hls: NonNull<ffi::Hls>,
    /// The allocation in which `hls` lies, aligned to a cache line.
    memory: NonNull<u8>,
    view: View,
    /// The build that makes the calls; `None`: the built-in one.
    library: Option<Arc<Library>>,
    /// The calls that were made, if they are recorded.
    tape: Option<Vec<Call>>,
}

// SAFETY: the core has no thread-local or shared state; all its state is in the allocation that `Core` owns.
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
/// allocator return fresh zero pages untouched; otherwise it would clear all of them, and so use the memory.
fn layout() -> Layout {
    Layout::from_size_align(Core::size() + ALIGNMENT, 16).expect("the size of the core is a sane one")
}

impl Deref for Core {
    type Target = View;

    fn deref(&self) -> &View {
        &self.view
    }
}

impl DerefMut for Core {
    fn deref_mut(&mut self) -> &mut View {
        &mut self.view
    }
}

impl Calls for Core {
    /// Panics on an index that no VP or CPU can have: a programmer's error.
    fn make(&mut self, op: Op, call: Call) -> Result<i64, CoreError> {
        let call = Call { op: op as u32, ..call };
        assert!(call.is_sound(), "the index is out of range: {call}");
        Ok(self.call(op, call))
    }

    fn view(&mut self) -> &View {
        &self.view
    }
}

impl Core {
    /// An empty root domain. Zeroed memory is valid, so unused parts cost only address space.
    pub fn new() -> Core {
        // SAFETY: the size is not zero.
        let memory = unsafe { alloc_zeroed(layout()) };
        let Some(memory) = NonNull::new(memory) else { handle_alloc_error(layout()) };
        let offset = memory.as_ptr().align_offset(ALIGNMENT);
        // SAFETY: the layout has room for the core after any offset below the alignment.
        let hls = unsafe { memory.add(offset) }.cast();
        // SAFETY: it is in the allocation, which lives as long as the view.
        let view = unsafe { View::new(hls.cast()) };
        Core { hls, memory, view, library: None, tape: None }
    }

    /// Makes a call of an entry point, as `core/call.h` defines it; every method that changes the domain goes through
    /// here.
    pub(crate) fn call(&mut self, op: Op, call: Call) -> i64 {
        let mut call = Call { op: op as u32, ..call };
        // SAFETY: the core checks the indexes, except those that `vp`, `cpu` and `make` have checked.
        unsafe { self.play_one(&mut call) };
        if let Some(tape) = &mut self.tape {
            write_down(tape, call);
        }
        call.result
    }

    /// Has the build of the core that is in use make a call, and write the result into it.
    ///
    /// # Safety
    ///
    /// The call is sound.
    unsafe fn play_one(&mut self, call: &mut Call) {
        match &self.library {
            // SAFETY: no other code uses the domain; the caller's promise.
            None => unsafe { (ffi::hls_library.play)(self.hls.as_ptr(), call) },
            // SAFETY: as above.
            Some(library) => unsafe { library.play(self.hls.as_ptr(), call) },
        }
    }

    /// Has another build of the core make the calls from now on; `None`: the built-in one. The domain's state stays
    /// as it is, so the build must have the policy of every scheduler and understand its state.
    pub fn set_library(&mut self, library: Option<Arc<Library>>) {
        self.view.set_policies(library.as_ref().map(|library| library.policies().clone()));
        self.library = library;
    }

    /// Records every call from now on, in memory; [`Core::take_tape`] returns them.
    pub fn record(&mut self) {
        self.tape.get_or_insert_default();
    }

    /// The calls recorded since [`Core::record`] or the last `take_tape`, in order; none without recording.
    pub fn take_tape(&mut self) -> Vec<Call> {
        self.tape.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Makes the calls of a tape, in order, and writes their results into it; they are not recorded again. A tape with
    /// a call that is not sound is not played at all.
    pub fn play(&mut self, tape: &mut [Call]) -> Result<(), Unsound> {
        Unsound::first_of(tape)?;
        for call in tape {
            // SAFETY: in a sound call every index is in range, or the core checks it.
            unsafe { self.play_one(call) };
        }
        Ok(())
    }

    /// The size of a domain in bytes, with the pages after it.
    pub fn size() -> usize {
        // SAFETY: a constant of the C side.
        unsafe { (*ffi::hls_library.sizes)[0] as usize }
    }

    /// The size of a domain in bytes if the pages are elsewhere, as in the kernel.
    pub fn size_without_pages() -> usize {
        // SAFETY: a constant of the C side.
        unsafe { (*ffi::hls_library.sizes)[20] as usize }
    }

    /// All bytes of the domain without the pages: two builds of the core must agree on them.
    pub fn memory(&self) -> &[u8] {
        // SAFETY: as large as was allocated, zeroed at first, and nothing writes while `self` is borrowed.
        unsafe { std::slice::from_raw_parts(self.hls.as_ptr().cast(), Core::size_without_pages()) }
    }

    /// The address of the domain.
    pub(crate) fn address(&self) -> *mut ffi::Hls {
        self.hls.as_ptr()
    }

    /// Panics on an index that no VP can have: a programmer's error.
    fn vp(&self, vp: CoreVp) -> u32 {
        assert!(vp.index() < limits::MAX_VPS, "VP {vp} is out of range");
        vp.0
    }

    fn cpu(&self, cpu: u16) -> u32 {
        assert!(usize::from(cpu) < limits::MAX_CPUS, "CPU {cpu} is out of range");
        u32::from(cpu)
    }

    /// The thread becomes runnable.
    pub fn request(&mut self, vp: CoreVp, now: Nanos) {
        self.call(Op::Request, Call::at(now, self.vp(vp)));
    }

    /// The thread blocks.
    pub fn release(&mut self, vp: CoreVp, now: Nanos) {
        self.call(Op::Release, Call::at(now, self.vp(vp)));
    }

    /// The thread stalls: it is not done, but waits for memory or for a disk.
    pub fn stall(&mut self, vp: CoreVp, now: Nanos) {
        self.call(Op::Stall, Call::at(now, self.vp(vp)));
    }

    /// The running thread lets other children of its scheduler go first.
    pub fn yield_now(&mut self, vp: CoreVp, now: Nanos) {
        self.call(Op::Yield, Call::at(now, self.vp(vp)));
    }

    /// A slice may have ended on this CPU.
    pub fn expire(&mut self, cpu: u16, now: Nanos) {
        self.call(Op::Expire, Call::at(now, self.cpu(cpu)));
    }

    /// Timers of schedulers may be due.
    pub fn timers(&mut self, now: Nanos) {
        self.call(Op::Timers, Call::at(now, 0));
    }

    /// Interrupts or the host used the CPU for `length`, up to now.
    pub fn steal(&mut self, cpu: u16, length: Nanos, now: Nanos) {
        self.call(Op::Steal, Call { value: length.0, ..Call::at(now, self.cpu(cpu)) });
    }

    /// When the first slice on this CPU ends, if no more time is stolen until then; `Nanos::MAX`: there is no slice.
    pub fn expires_at(&mut self, cpu: u16) -> Nanos {
        Nanos(self.call(Op::ExpiresAt, Call { a: self.cpu(cpu), ..Call::default() }) as u64)
    }

    /// When `timers` is due next; `Nanos::MAX`: not before another event.
    pub fn timer_at(&mut self) -> Nanos {
        Nanos(self.call(Op::TimerAt, Call::default()) as u64)
    }

    /// Decides what a CPU runs from now on: a thread's VP, or `None`.
    pub fn schedule(&mut self, cpu: u16, now: Nanos) -> Option<CoreVp> {
        let vp = self.call(Op::Schedule, Call::at(now, self.cpu(cpu))) as u32;
        (vp != 0).then_some(CoreVp(vp))
    }

    /// Checks every invariant. To be called when `kick` is 0.
    pub fn check(&mut self) -> Result<(), Fault> {
        if self.call(Op::Check, Call::default()) == 0 { Ok(()) } else { Err(self.view.fault()) }
    }
}

/// A separate function, so that a domain without recording does not pay for it.
#[cold]
fn write_down(tape: &mut Vec<Call>, call: Call) {
    tape.push(call);
}
