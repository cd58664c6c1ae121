//! The orders in which the engine does things, where another order was a fault, or would be one.

/// When, in `engine_dispatch`, the engine inserts the thread that the core has chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Insert {
    /// Under the lock: what the core knows of the thread's affinity holds for the enqueueing that the kernel notes with
    /// the insert.
    UnderLock,
    /// When the lock is free again.
    BehindLock,
    /// When the lock is free again, if the thread may use the CPU then.
    BehindLockChecked,
}

/// What voids the errand about a thread that has left the class, if the thread is back before it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Back {
    /// The thread has no affinity until `enqueue` gives it one and has it begin anew; then the errand is void.
    Enqueue,
    /// `hls_enable` takes the errand back, whether the thread wants a CPU or not, and leaves the VP in the list.
    Enable,
    /// Nothing does.
    Never,
}

/// How the core hears of CPUs that were noted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noted {
    /// First of CPUs that are back, each under the lock under which its note goes.
    BackFirst,
    /// In the order of their numbers, each under the lock under which the note goes.
    InOrder,
    /// All notes are taken at once, without the lock; the core hears first of CPUs that are back.
    TakenFirst,
}

/// The orders in which the engine does things.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Orders {
    /// `engine_exit_task` empties the VP's place in the map `tasks` before it gives the VP back.
    pub exit_drops_first: bool,
    /// `engine_exit_task` does not give a VP back while there are errands about it.
    pub exit_waits_for_errands: bool,
    /// See [`Insert`].
    pub insert: Insert,
    /// The seal is no state of the lock that `unlock` could change.
    pub unlock_keeps_seal: bool,
    /// Errands are not done where the lock is sealed.
    pub errands_heed_seal: bool,
    /// See [`Back`].
    pub back: Back,
    /// A VP that is in the list of errands is not linked again.
    pub links_once: bool,
    /// The affinity of a thread that is queued is left to `enqueue`.
    pub spares_queued: bool,
    /// The watcher does what was left undone.
    pub looks_for_what_was_left: bool,
    /// See [`Noted`].
    pub noted: Noted,
    /// A CPU that may be off is known by its note, and not only by what the core has been told.
    pub knows_noted: bool,
    /// `hls_enable` kicks the CPU of a thread that has one.
    pub enable_kicks: bool,
    /// A CPU that is back is kicked.
    pub return_kicks: bool,
    /// `hurry` checks under the lock that the VP still belongs to the thread that was killed.
    pub kill_checks_thread: bool,
    /// `engine_enqueue` has an urgent thread have a CPU again.
    pub enqueue_hurries: bool,
    /// A thread in a CPU's list of urgent threads that may not use the CPU any more moves to another CPU's list.
    pub urgent_follow_affinity: bool,
    /// A thread that gets a moment waits no longer (`queued_at_ns`).
    pub moment_ends_wait: bool,
    /// Stranded threads are put on their CPUs.
    pub rescues_stranded: bool,
    /// An engine that takes over leaves timers started.
    pub take_over_keeps_timers: bool,
}

impl Orders {
    /// The engine's orders: to be changed with it.
    pub const TODAY: Orders = Orders {
        exit_drops_first: true,
        exit_waits_for_errands: true,
        insert: Insert::UnderLock,
        unlock_keeps_seal: true,
        errands_heed_seal: true,
        back: Back::Enqueue,
        links_once: true,
        spares_queued: true,
        looks_for_what_was_left: true,
        noted: Noted::BackFirst,
        knows_noted: true,
        enable_kicks: true,
        return_kicks: true,
        kill_checks_thread: true,
        enqueue_hurries: true,
        urgent_follow_affinity: true,
        moment_ends_wait: true,
        rescues_stranded: true,
        take_over_keeps_timers: true,
    };
}
