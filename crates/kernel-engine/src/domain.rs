//! The contents of the kernel engine's arena, and the calls that are made through it: `bpf/domain.h` for Rust.
//!
//! BPF programs write there at any time, so every access reads or writes a single field, with its value at that
//! moment. Relies on the object staying loaded, which [`Domain`] ensures.

use crate::next_engine::{Ask, Jumps, Programs, SharedMaps};
use crate::object::{Loaded, may_set_timers};
use crate::pages::{PageMaps, Pages};
use crate::{Error, pulse};
use hls_core::{
    Call, Calls, Core, CoreError, CoreScheduler, CoreVp, Fault, Op, Params, PolicyTable, View, limits, mirror,
};
use hls_hierarchy::model::Source;
use hls_units::Nanos;
use std::collections::BTreeMap;
use std::mem::offset_of;
use std::num::NonZero;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How many calls are timed; the shortest time counts.
const CALLS_TIMED: u32 = 64;
/// The minimum mean gap between two calls that a loaded policy has requested for itself, in call times.
const OWN_CALL: u64 = 8;

/// The cost of the end of a slice, in call times: an interrupt, a decision and a switch.
const CALLS_A_DECISION: u64 = 2;
/// The number of timers that are measured; the smallest lateness counts.
const PROBES: usize = 31;
const PROBE_INTERVAL: Duration = Duration::from_micros(500);
const PROBE_PATIENCE: Duration = Duration::from_secs(1);
/// How long a check waits for decisions that are due: the CPU of a virtual machine may be away for a while.
const PATIENCE_MS: u32 = 1000;

mirror! {
    /// A CPU, as the engine sees it.
    #[derive(Clone, Copy)]
    struct CpuEntry = "struct engine_cpu" {
        lag_ns: u64,
        free_since_ns: u64,
        timer_at_ns: u64,
        wakeups: u64,
        rescue: u32,
        rescued: u32,
        rescued_since_ns: u64,
        rescued_until_ns: u64,
        rescued_lag_ns: u64,
        urgent_paid_ns: u64,
        kernel_paid_ns: u64,
        urgent: [u32; 2],
        urgent_last: [u32; 2],
        slice_waits: bool,
        kernel_waits: bool,
        is_paid: bool,
        urgent_turn: u8,
        turn_first: u32,
        turn_last: u32,
        turn_threads: u32,
    }
}

/// Bits of `enum thread_change`, except the first: the generation shows that change, too. This one: the thread has
/// another name.
pub const CHANGED_NAME: u32 = 2;
/// The thread, or its whole process, is in another cgroup.
pub const CHANGED_CGROUP: u32 = 4;
/// The thread is to be weighed anew.
pub const CHANGED_WEIGHT: u32 = 8;

mirror! {
    /// A thread, under the number of its VP.
    #[repr(align(64))]
    #[derive(Clone, Copy, Debug)]
    pub struct ThreadEntry = "struct engine_thread" {
        /// The thread's affinity.
        pub cpus: u64,
        /// The thread's TID in Linux; 0 where no thread has the VP.
        pub pid: u32,
        /// The thread's process.
        pub tgid: u32,
        /// Counts the threads that have had the VP: VP and generation together identify a thread for ever.
        pub generation: u32,
        /// Changes of the thread that were not looked at yet.
        changes: u32,
        /// The number of changes of cgroups' weights that its share takes into account.
        pub weights_seen: u32,
        /// Whether its process is killed, whether it holds what other threads wait for, and in which lists it is.
        _flags: u32,
        /// Since when the thread is runnable but in no queue of the kernel; 0: it is not.
        pub queued_at_ns: u64,
        /// Token bucket of its messages: the time of the next message within its rate; may lead the present time by
        /// one burst.
        pub may_post_at: u64,
        /// Its name.
        comm: [u8; 16],
    }
}

impl ThreadEntry {
    /// Its name; `/proc` may not have it yet.
    pub fn comm(&self) -> &[u8] {
        self.comm.split(|&byte| byte == 0).next().unwrap_or_default()
    }
}

/// A VP with a thread that has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The VP.
    pub vp: CoreVp,
    /// The changes, as bits of the constants above.
    pub changes: u32,
}

/// The maps with the kernel's timers.
const TIMERS: [&str; 2] = ["timers", "watcher"];
/// Words of 64 VPs.
const CHANGE_WORDS: usize = limits::MAX_VPS.div_ceil(64);

/// Sources of interrupts that one hierarchy may name.
pub const MAX_BRANDS: usize = 16;

mirror! {
    /// Kernel threads with names that are equal to `name` in the bits of `mask`.
    #[derive(Clone, Copy)]
    struct Brand = "struct engine_brand" {
        name: [u8; 16],
        mask: [u8; 16],
    }
}

mirror! {
    /// The arena up to the core's `struct hls`; the threads lie behind that.
    #[repr(align(64))]
    struct Layout = "struct engine_domain" {
        lock: u64,
        sealed: u32,
        root: u32,
        held_since_ns: u64,
        is_taken: u32,
        holder: u32,
        longest_hold_ns: u64,
        longest_wait_ns: u64,
        keeper_tgid: u32,
        service_tgid: u32,
        service: u32,
        has_begun: u32,
        records_stolen: u32,
        is_announced: u32,
        nr_threads: u32,
        nr_refused: u32,
        refused_tgid: u32,
        nr_moves_unnamed: u32,
        probe_at_ns: u64,
        probe_late_ns: u64,
        cpus_gone: u64,
        cpus_back: u64,
        rescue_at_ns: u64,
        kicked: u64,
        share_param: u32,
        weights_changed: u32,
        brand: [Brand; MAX_BRANDS],
        params: [u64; limits::SCHEDULER_PARAMS],
        service_params: [u64; limits::SCHEDULER_PARAMS],
        call: Call,
        message: [u64; limits::SCHEDULER_PARAMS],
        cpu: [CpuEntry; limits::MAX_CPUS],
        changed: [u64; CHANGE_WORDS],
    }
}

/// The result of an attempt to check all invariants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Check {
    /// They were checked, and hold.
    Held,
    /// One of them is broken.
    Broken(Fault),
    /// They were not checked: a decision was due at every attempt.
    NotMade,
}

/// A domain in the kernel.
pub struct Domain {
    /// The attached object, with the domain in its arena.
    pub loaded: Loaded,
    jumps: Jumps,
    /// The programs of the attached object.
    first: Programs,
    /// The programs of the engine that has taken over; `None`: the first engine is the current one.
    taken_over_by: Option<Programs>,
    view: View,
    page_maps: PageMaps,
    /// The schedulers that pages were made for, by the numbers of the pages.
    paged: BTreeMap<NonZero<u8>, CoreScheduler>,
    /// The word of `changed` that is looked at next.
    next_changed: usize,
}

impl Domain {
    /// Loads an engine, compiled without loaded policies, with an empty domain. Nothing is attached.
    pub fn new(engine: &[u8]) -> Result<Domain, Error> {
        if !Path::new("/sys/kernel/sched_ext").exists() {
            return Err(Error::NotAllowed("this kernel has no sched_ext".into()));
        }
        let mut loaded = Loaded::new(engine)?;
        let mut context = [0; 2].map(u64::to_ne_bytes);
        let result = loaded.run("set_up", context.as_flattened_mut())?;
        if result != 0 {
            return Err(Error::Failed(format!("the kernel has no room for the hierarchy ({result})")));
        }
        let found = context.map(|word| u64::from_ne_bytes(word) as usize);
        let expected = [size_of::<Layout>(), Core::size_without_pages()];
        let bytes = expected[0] + expected[1] + limits::MAX_VPS * size_of::<ThreadEntry>();
        if found != expected || loaded.arena().len() < bytes {
            return Err(Error::Failed(format!("found a domain of {found:?} bytes, expected {expected:?}")));
        }
        let hls = (loaded.address() as usize + size_of::<Layout>()) as *mut u8;
        let hls = NonNull::new(hls).expect("the arena is not at 0");
        // SAFETY: `struct hls` is there, as the compared sizes show, and the arena stays mapped as long as `loaded`
        // lives.
        let view = unsafe { View::new(hls) };
        let (jumps, first) = (Jumps::of(&loaded)?, Programs::of(&loaded)?);
        jumps.lead_to(&first)?;
        let page_maps = PageMaps::of(&loaded)?;
        let mut domain = Domain {
            loaded,
            jumps,
            first,
            taken_over_by: None,
            view,
            page_maps,
            paged: BTreeMap::new(),
            next_changed: 0,
        };
        domain.set_pace();
        Ok(domain)
    }

    /// Limits the rate of calls that a loaded policy requests by its timers and slices to what this machine can bear:
    /// the end of a timer or slice takes an interrupt, a decision and a switch, together a few times as long as a
    /// call from here.
    fn set_pace(&mut self) {
        let value = self.call_time().saturating_mul(OWN_CALL);
        // The core clamps the value to its own limits, and refuses none.
        let _ = self.make(Op::SetPace, Call { value, ..Call::default() });
    }

    /// The least time by which a thread overruns its budget when a timer of this machine ends it: the lateness of the
    /// timer plus the time of the decision that follows. The smallest measured value, so that a machine which is busy
    /// now, or shares its host, does not refuse what it can do at other times. To be called before the engine is
    /// attached.
    ///
    /// # Errors
    /// No timer goes off; the kernel cannot be asked.
    pub fn overrun(&mut self) -> Result<Nanos, Error> {
        let decision = self.call_time().saturating_mul(CALLS_A_DECISION);
        let late = match may_set_timers() {
            true => self.least_lateness()?,
            false => pulse::PERIOD_NS,
        };
        Ok(Nanos(late.saturating_add(decision)))
    }

    /// The smallest lateness of a timer, in ns.
    fn least_lateness(&mut self) -> Result<u64, Error> {
        let mut late = Vec::new();
        for _ in 0..PROBES {
            // The kernel gives timers only to maps that a process holds; of a next engine this process holds only the
            // programs.
            let result = self.first.run("arm_probe", &mut [])?;
            if result != 0 {
                return Err(Error::Failed(format!("a timer cannot be set ({result})")));
            }
            let begin = Instant::now();
            let late_ns = loop {
                sleep(PROBE_INTERVAL);
                match self.field::<u64>(offset_of!(Layout, probe_late_ns)) {
                    0 if begin.elapsed() > PROBE_PATIENCE => {
                        return Err(Error::Failed("a timer does not go off".into()));
                    }
                    0 => {}
                    late_ns => break late_ns,
                }
            };
            late.push(late_ns);
        }
        Ok(late.into_iter().min().unwrap_or_default())
    }

    /// The least time that a call takes.
    fn call_time(&mut self) -> u64 {
        let took = |_| {
            let begin = Instant::now();
            self.make(Op::TimerAt, Call::default()).map_or(Duration::ZERO, |_| begin.elapsed())
        };
        let least = (0..CALLS_TIMED).map(took).min().unwrap_or_default();
        u64::try_from(least.as_nanos()).unwrap_or(u64::MAX)
    }

    /// Has another engine take over, at once and without a pause: the next engine with its policies, or, with `None`,
    /// the first one. The engine must have every scheduler's policy, and must understand its state. Returns the
    /// previous engine, unless that was the first.
    ///
    /// # Errors
    /// The engine may have taken over in part: then everything must be detached.
    pub fn take_over(
        &mut self,
        next: Option<(Programs, PolicyTable)>,
    ) -> Result<Option<(Programs, PolicyTable)>, Error> {
        let (next, policies) = next.unzip();
        // The old programs are kept until no operation jumps to them.
        let old = std::mem::replace(&mut self.taken_over_by, next);
        self.jumps.lead_to(self.programs())?;
        Ok(old.zip(self.view.set_policies(policies)))
    }

    /// The program with which a thread posts a message to its scheduler, in every engine; `struct message` of
    /// `bpf/domain.h` is its context. Any thread that has the descriptor may run it, without privileges.
    pub fn messenger(&self) -> Result<OwnedFd, Error> {
        self.loaded.program("hls_post")
    }

    /// The maps that the kernel empties when no process holds them any more. Without their contents, attached
    /// operations would lead nowhere and CPUs would have no timers.
    pub fn what_must_stay(&self) -> Result<Vec<OwnedFd>, Error> {
        let mut maps = self.jumps.maps().collect::<Vec<_>>();
        let timers = TIMERS.into_iter().map(|name| self.loaded.map(name)).collect::<Result<Vec<_>, _>>()?;
        maps.extend(timers.iter().map(AsFd::as_fd));
        let owned = |map: BorrowedFd| map.try_clone_to_owned();
        let owned: Result<_, _> = maps.into_iter().map(owned).collect();
        owned.map_err(|error| Error::Failed(format!("a BPF map cannot be had: {error}")))
    }

    /// The maps that a next engine shares with this one.
    pub fn shared_maps(&self) -> Result<SharedMaps, Error> {
        SharedMaps::of(&self.loaded)
    }

    /// Marks the CPUs offline in the core that are offline now. To be called before the engine is attached; attaching
    /// fails if a CPU comes or goes meanwhile.
    pub fn note_offline_cpus(&mut self) -> Result<(), Error> {
        let path = "/sys/devices/system/cpu/online";
        let online = std::fs::read_to_string(path)
            .map_err(|error| Error::Failed(format!("{path} cannot be read: {error}")))?;
        for cpu in (0..limits::MAX_CPUS as u32).filter(|cpu| !is_listed(&online, *cpu)) {
            // The core refuses this for a CPU that the hierarchy does not have.
            let _ = self.make(Op::Offline, Call { a: cpu, ..Call::default() });
        }
        Ok(())
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
        // SAFETY: the field lies within the arena and is aligned, as the layouts are; any bytes are a valid value of
        // the types that are read here.
        unsafe { place.read_volatile() }
    }

    fn set_field<T: Copy>(&mut self, offset: usize, value: T) {
        assert!(offset + size_of::<T>() <= size_of::<Layout>(), "the field is in the layout");
        let place = (self.loaded.address() as usize + offset) as *mut T;
        // SAFETY: as above; no reference into the arena is held while calls are made.
        unsafe { place.write_volatile(value) }
    }

    /// Hands an atomic integer `A` of the arena to `change`.
    fn shared<A, T>(&self, offset: usize, change: impl FnOnce(&A) -> T) -> T {
        assert!(offset + size_of::<A>() <= self.loaded.arena().len(), "the integer is in the arena");
        assert!(offset.is_multiple_of(align_of::<A>()), "the integer is aligned");
        let place = (self.loaded.address() as usize + offset) as *const A;
        // SAFETY: within the arena and aligned; BPF programs change it by atomic operations alone.
        change(unsafe { &*place })
    }

    /// Has new threads attached below this scheduler. `share`: the number of its share parameter, to which nice
    /// values and the weights of cgroups apply.
    pub fn set_default(&mut self, scheduler: CoreScheduler, params: Params, share: Option<usize>) {
        let share = share.map_or(0, |number| number as u32 + 1);
        self.set_field(offset_of!(Layout, share_param), share);
        self.set_field(offset_of!(Layout, root), scheduler.0);
        self.set_field(offset_of!(Layout, params), params.0);
    }

    /// Has the threads of this process attached below this scheduler. To be called before the engine is attached.
    pub fn set_service(&mut self, scheduler: CoreScheduler, params: Params, tgid: u32) {
        self.set_field(offset_of!(Layout, service), scheduler.0);
        self.set_field(offset_of!(Layout, service_params), params.0);
        self.set_field(offset_of!(Layout, service_tgid), tgid);
    }

    /// Has the threads of this process never wait for a grant. To be called before the engine is attached.
    pub fn set_keeper(&mut self, tgid: u32) {
        self.set_field(offset_of!(Layout, keeper_tgid), tgid);
    }

    /// Has the hierarchy schedule the kernel threads of these sources of interrupts (interrupt threads), at most
    /// `MAX_BRANDS`. To be called before the engine is attached.
    pub fn set_brands(&mut self, sources: &[Source]) {
        let mut brands = [Brand { name: [0; 16], mask: [0; 16] }; MAX_BRANDS];
        for (brand, source) in brands.iter_mut().zip(sources) {
            let prefix = source.prefix();
            brand.name[..prefix.len()].copy_from_slice(prefix.as_bytes());
            brand.mask[..prefix.len()].fill(0xff);
            if let Source::Backlog(_) = source {
                // The whole name, with the byte that ends it.
                brand.mask[prefix.len()] = 0xff;
            }
        }
        self.set_field(offset_of!(Layout, brand), brands);
    }

    /// Has stolen time recorded.
    pub fn record_stolen_time(&mut self) {
        self.set_field(offset_of!(Layout, records_stolen), 1_u32);
    }

    /// The kernel's time.
    pub fn now(&mut self) -> Result<Nanos, CoreError> {
        self.make(Op::TimerAt, Call::default())?;
        Ok(self.called_at())
    }

    /// The kernel's time at which the core executed the last call.
    pub fn called_at(&self) -> Nanos {
        Nanos(self.field::<Call>(offset_of!(Layout, call)).now_ns)
    }

    /// Waits for a moment when no decision is due, and checks every invariant then. If a CPU idles all this time
    /// although a decision is due, that breaks an invariant, too; if other work keeps it busy, nothing is checked.
    pub fn check(&mut self) -> Result<Check, Error> {
        let mut late = u64::MAX;
        for attempt in 0..PATIENCE_MS {
            match self.programs().ask(Ask::Check, 0, 0)? {
                (0, _) => return Ok(Check::Held),
                (code, _) if code > 0 => return Ok(Check::Broken(self.view.fault())),
                (_, idle) => late &= idle as u64,
            }
            if late == 0 && attempt >= PATIENCE_MS / 50 {
                return Ok(Check::NotMade);
            }
            sleep(Duration::from_millis(1));
        }
        /// `HLS_BROKEN_IDLE`
        const IDLE: u32 = 8;
        let (scheduler, vp) = (CoreScheduler::NONE, CoreVp::NONE);
        let idles = |cpu| Check::Broken(Fault { code: IDLE, scheduler, vp, cpu });
        Ok(if late == 0 { Check::NotMade } else { idles(late.trailing_zeros()) })
    }

    /// The changes of threads since the last call, of at most `most` VPs. Also returns whether there are more.
    pub fn take_changes(&mut self, most: usize) -> (Vec<Changed>, bool) {
        self.set_field(offset_of!(Layout, is_announced), 0_u32);
        // A program that notes a change in a word which was already read below sees that nothing is announced, and
        // announces it.
        fence(Ordering::SeqCst);
        let mut found = Vec::new();
        for step in 0..CHANGE_WORDS {
            let word = (self.next_changed + step) % CHANGE_WORDS;
            let at = offset_of!(Layout, changed) + word * size_of::<u64>();
            let mut bits = self.field::<u64>(at);
            while bits != 0 {
                if found.len() == most {
                    self.next_changed = word;
                    return (found, true);
                }
                let bit = bits.trailing_zeros();
                bits &= bits - 1;
                self.shared(at, |word: &AtomicU64| word.fetch_and(!(1 << bit), Ordering::SeqCst));
                let vp = CoreVp((word * 64) as u32 + bit);
                let at = self.place_of(vp) + offset_of!(ThreadEntry, changes);
                let changes = self.shared(at, |changes: &AtomicU32| changes.swap(0, Ordering::SeqCst));
                found.push(Changed { vp, changes });
            }
        }
        (found, false)
    }

    /// The VPs of threads with changes that were not taken yet; new threads are among them.
    pub fn changed(&self) -> Vec<CoreVp> {
        let word = |word: usize| self.field::<u64>(offset_of!(Layout, changed) + word * size_of::<u64>());
        let words = (0..CHANGE_WORDS).map(|at| (at, word(at))).filter(|(_, bits)| *bits != 0);
        let of_word = |(at, bits): (usize, u64)| {
            (0..64).filter(move |bit| bits >> bit & 1 == 1).map(move |bit| at * 64 + bit)
        };
        words.flat_map(of_word).map(|vp| CoreVp(vp as u32)).collect()
    }

    /// Whether the domain no longer changes, because the run is ending.
    pub fn is_sealed(&self) -> bool {
        self.field::<u32>(offset_of!(Layout, sealed)) != 0
    }

    /// How many forks failed because there was no VP for the thread, and the process of the last of them.
    pub fn refused(&self) -> (u32, u32) {
        (self.field(offset_of!(Layout, nr_refused)), self.field(offset_of!(Layout, refused_tgid)))
    }

    /// How many processes moved to another cgroup after their first thread had ended.
    pub fn unnamed_moves(&self) -> u32 {
        self.field(offset_of!(Layout, nr_moves_unnamed))
    }

    /// How often the weight of any cgroup was changed; wraps around.
    pub fn weights_changed(&self) -> u32 {
        self.field(offset_of!(Layout, weights_changed))
    }

    /// How many of these changes the share of a VP's thread takes into account.
    pub fn weights_seen(&self, vp: CoreVp) -> u32 {
        self.field(self.place_of(vp) + offset_of!(ThreadEntry, weights_seen))
    }

    /// Gives a thread in the default scheduler the share of its nice value and of its cgroups. No effect if the
    /// thread has ended, even if a later thread has its VP.
    pub fn weigh(&self, vp: CoreVp, generation: u32) -> Result<(), Error> {
        self.programs().ask(Ask::Weigh, vp.0, generation.into()).map(drop)
    }

    /// The longest hold of the lock, of which one in sixteen is measured, and the longest wait of a CPU for it.
    pub fn longest_hold_and_wait(&self) -> (Nanos, Nanos) {
        let at = |offset| Nanos(self.field(offset));
        (at(offset_of!(Layout, longest_hold_ns)), at(offset_of!(Layout, longest_wait_ns)))
    }

    /// Makes new pages for a scheduler with a policy that has pages. An error if it has no pages' number in the core.
    pub fn make_pages(&mut self, scheduler: CoreScheduler) -> Result<Pages, Error> {
        let none =
            || Error::Failed(format!("scheduler {scheduler}: its policy has no pages, or all are taken"));
        let number = self.view.pages(scheduler).ok_or_else(none)?;
        self.paged.insert(number, scheduler);
        let pages = self.page_maps.make(number);
        self.renew_pages(scheduler, Nanos::ZERO).map_err(of_pages)?;
        pages
    }

    /// Takes away the pages that were made for a scheduler, if any were: it goes on without.
    pub fn remove_pages(&mut self, scheduler: CoreScheduler) -> Result<(), Error> {
        let Some(number) = self.view.pages(scheduler).filter(|number| self.paged.remove(number).is_some())
        else {
            return Ok(());
        };
        self.page_maps.remove(number)?;
        self.renew_pages(scheduler, Nanos::ZERO).map_err(of_pages)
    }

    /// Removes pages that their schedulers no longer have, because another scheduler will get their number.
    fn remove_unused_pages(&mut self) -> Result<(), Error> {
        let view = &self.view;
        let mut unused =
            self.paged.extract_if(.., |number, scheduler| view.pages(*scheduler) != Some(*number));
        unused.try_for_each(|(number, _)| self.page_maps.remove(number))
    }

    /// The thread of a VP.
    pub fn thread(&self, vp: CoreVp) -> ThreadEntry {
        self.field(self.place_of(vp))
    }

    /// The offset of a VP's thread in the arena.
    fn place_of(&self, vp: CoreVp) -> usize {
        assert!(vp.index() < limits::MAX_VPS, "VP {vp} is out of range");
        size_of::<Layout>() + Core::size_without_pages() + vp.index() * size_of::<ThreadEntry>()
    }
}

/// Whether a list of CPUs as the kernel writes them, such as `0-3,5`, has this one.
fn is_listed(list: &str, cpu: u32) -> bool {
    list.trim().split(',').any(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        matches!((first.parse::<u32>(), last.parse::<u32>()), (Ok(first), Ok(last)) if (first..=last).contains(&cpu))
    })
}

fn of_pages(error: CoreError) -> Error {
    Error::Failed(format!("the core does not take the pages of a scheduler: {error}"))
}

impl Calls for Domain {
    /// Makes a call to the core; the time of the call is the kernel's.
    fn make(&mut self, op: Op, call: Call) -> Result<i64, CoreError> {
        // The time of the last call stays there if this one is not executed.
        let call = Call { op: op as u32, now_ns: self.called_at().0, ..call };
        if !call.is_sound() {
            return Err(CoreError::NotFound);
        }
        self.set_field(offset_of!(Layout, call), call);
        match self.programs().ask(Ask::Call, 0, 0) {
            Ok((0, _)) => {}
            // The VP no longer belongs to the thread that the call names, or only the kernel makes such calls.
            Ok((code, _)) if CoreError::from_answer(code.into()) == CoreError::NotFound => {
                return Err(CoreError::NotFound);
            }
            // The domain is sealed, or the kernel does not run the program.
            Ok(_) | Err(_) => return Err(CoreError::Unreachable),
        }
        let result = self.field::<Call>(offset_of!(Layout, call)).result;
        if matches!(op, Op::DestroyScheduler | Op::Replace) {
            self.remove_unused_pages().map_err(|_| CoreError::Unreachable)?;
        }
        Ok(result)
    }

    fn view(&mut self) -> &View {
        &self.view
    }
}

#[cfg(test)]
#[path = "../../hls-core/src/mirror/tests.rs"]
mod compiler;

#[cfg(test)]
mod tests {
    use super::{Brand, CpuEntry, Layout, ThreadEntry, compiler};
    use crate::next_engine::Message;

    #[test]
    fn members_have_the_places_of_the_c_side() {
        let all = [
            Brand::assertions(),
            CpuEntry::assertions(),
            Layout::assertions(),
            Message::assertions(),
            ThreadEntry::assertions(),
        ];
        assert_eq!(compiler_errors(&all.concat()), "");
    }

    /// Exchanging two members of the same type in Rust is an error.
    #[test]
    fn exchanged_members_are_noticed() {
        let text = ThreadEntry::assertions();
        let errors = compiler_errors(&text.replace("tgid", "#").replace("pid", "tgid").replace('#', "pid"));
        assert!(errors.contains("struct engine_thread: Rust has `pid` at 12, 4 bytes"), "{errors}");
    }

    /// The engine's headers are for a file that has the core; beside it a header includes what it needs.
    #[test]
    fn each_header_of_the_engine_compiles_by_itself() {
        let core = "#include \"core/core.c\"\n";
        let wrong = compiler::headers_that_need_others("clang-19", "bpf.flags", "bpf", core);
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    /// What the compiler of the engine says of this text, after the engine's header.
    fn compiler_errors(text: &str) -> String {
        compiler::compiler_errors("clang-19", "bpf.flags", &format!("#include \"bpf/domain.h\"\n{text}"))
    }
}
