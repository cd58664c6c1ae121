//! The entry points that build and change a hierarchy, for the native core of this process and for a core that runs
//! in the kernel.

use crate::limits;
use crate::numbers::{CoreScheduler, CoreVp};
use crate::tape::{Call, Op};
use crate::view::View;
use hls_units::Nanos;
use std::fmt;

/// Parameters of a scheduler or of a VP, in the order of the policy's list; the rest 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Params(pub [u64; limits::SCHEDULER_PARAMS]);

impl Params {
    /// The first values of a list, at most [`limits::SCHEDULER_PARAMS`] of them.
    pub fn from_slice(values: &[u64]) -> Params {
        let mut params = Params::default();
        for (to, from) in params.0.iter_mut().zip(values) {
            *to = *from;
        }
        params
    }
}

/// Why the core refused a call: `enum hls_error`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoreError {
    /// No free entry: one of [`limits`] is reached.
    Full,
    /// No such scheduler, VP, CPU or policy.
    NotFound,
    /// A parameter is out of the range that the policy states.
    Param,
    /// The scheduler still has children or a parent; or the CPU is the last one online.
    Busy,
    /// The policy accepts no further child.
    Children,
    /// The hierarchy would be deeper than [`limits::MAX_DEPTH`], or have a cycle.
    Depth,
    /// The policy does not know this parameter or message.
    Unknown,
    /// The core runs elsewhere, and could not be reached.
    Unreachable,
}

impl fmt::Display for CoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CoreError::Full => "no free entry is left in the core",
            CoreError::NotFound => "there is no such scheduler, virtual processor, CPU or policy",
            CoreError::Param => "a parameter is out of the range that the policy states",
            CoreError::Busy => "it still has children, or a parent still holds it, or it is the last CPU",
            CoreError::Children => "the policy takes no further child",
            CoreError::Depth => "the hierarchy would be too deep or have a cycle",
            CoreError::Unknown => "the policy does not know this parameter or message",
            CoreError::Unreachable => "the core cannot be reached",
        })
    }
}

impl std::error::Error for CoreError {}

impl CoreError {
    /// The error for a negative result of an entry point.
    pub fn from_answer(answer: i64) -> CoreError {
        match answer {
            -1 => CoreError::Full,
            -2 => CoreError::NotFound,
            -3 => CoreError::Param,
            -4 => CoreError::Busy,
            -5 => CoreError::Children,
            -6 => CoreError::Depth,
            _ => CoreError::Unknown,
        }
    }
}

fn answer(value: i64) -> Result<u32, CoreError> {
    u32::try_from(value).map_err(|_| CoreError::from_answer(value))
}

/// A call about a thread's VP, before it is known which VP the thread has, and when the call is made. An engine adds
/// both, and how it tells the thread from a later one with the same VP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// The entry point.
    pub op: Op,
    /// All other arguments.
    pub call: Call,
}

impl About {
    fn new(op: Op) -> About {
        About { op, call: Call::default() }
    }

    /// [`Core::request`](crate::Core::request).
    pub fn request() -> About {
        About::new(Op::Request)
    }

    /// [`Core::release`](crate::Core::release).
    pub fn release() -> About {
        About::new(Op::Release)
    }

    /// [`Core::stall`](crate::Core::stall).
    pub fn stall() -> About {
        About::new(Op::Stall)
    }

    /// [`Core::yield_now`](crate::Core::yield_now).
    pub fn yield_now() -> About {
        About::new(Op::Yield)
    }

    /// [`Calls::move_to`].
    pub fn move_to(parent: CoreScheduler, params: Params) -> About {
        About { op: Op::Move, call: Call { b: parent.0, params: params.0, ..Call::default() } }
    }

    /// [`Calls::set_affinity`].
    pub fn set_affinity(cpus: u64) -> About {
        About { op: Op::SetAffinity, call: Call { value: cpus, ..Call::default() } }
    }

    /// [`Calls::set_param`].
    pub fn set_param(param: u32, value: u64) -> About {
        About { op: Op::SetParam, call: Call { b: param, value, ..Call::default() } }
    }

    /// [`Calls::tell`].
    pub fn tell(message: u32, payload: Params) -> About {
        About { op: Op::Tell, call: Call { b: message, params: payload.0, ..Call::default() } }
    }

    /// [`Calls::suspend`].
    pub fn suspend(on: bool) -> About {
        About { op: Op::Suspend, call: Call { b: u32::from(on), ..Call::default() } }
    }

    /// The thread had a CPU without a grant for `length`: the topmost scheduler above it that pays is charged for it.
    pub fn owe(length: Nanos) -> About {
        About { op: Op::Owe, call: Call { value: length.0, ..Call::default() } }
    }
}

/// A core that takes calls.
pub trait Calls {
    /// Makes a call of an entry point, and returns its result.
    ///
    /// # Errors
    /// [`CoreError::Unreachable`]: the call was not made.
    fn make(&mut self, op: Op, call: Call) -> Result<i64, CoreError>;

    /// What can be read of it.
    fn view(&mut self) -> &View;

    /// Makes a call about this VP; returns the answer to a message, otherwise 0.
    fn make_about(&mut self, vp: CoreVp, About { op, call }: About, now: Nanos) -> Result<u32, CoreError> {
        let result = self.make(op, Call { now_ns: now.0, a: vp.0, ..call })?;
        if op.is_event_of_a_thread() { Ok(0) } else { answer(result) }
    }

    /// Adds a CPU to the domain.
    fn add_cpu(&mut self, cpu: u16) -> Result<(), CoreError> {
        self.make(Op::AddCpu, Call { a: u32::from(cpu), ..Call::default() }).and_then(answer).map(drop)
    }

    /// The CPU goes offline: the VPs that had it lose it, and it is granted to no other. The last CPU cannot go
    /// ([`CoreError::Busy`]). No effect if it is offline already.
    fn offline(&mut self, cpu: u16, now: Nanos) -> Result<(), CoreError> {
        self.make(Op::Offline, Call::at(now, cpu.into())).and_then(answer).map(drop)
    }

    /// The CPU is back. No effect if it is online.
    fn online(&mut self, cpu: u16, now: Nanos) -> Result<(), CoreError> {
        self.make(Op::Online, Call::at(now, cpu.into())).and_then(answer).map(drop)
    }

    /// Creates a scheduler of the policy with this number; returns its index.
    fn create_scheduler(&mut self, policy: u8, params: Params) -> Result<CoreScheduler, CoreError> {
        let call = Call { a: u32::from(policy), params: params.0, ..Call::default() };
        self.make(Op::CreateScheduler, call).and_then(answer).map(CoreScheduler)
    }

    /// Destroys a scheduler without children and parents.
    fn destroy_scheduler(&mut self, scheduler: CoreScheduler) -> Result<(), CoreError> {
        self.make(Op::DestroyScheduler, Call { a: scheduler.0, ..Call::default() }).and_then(answer).map(drop)
    }

    /// Makes a scheduler the root on a CPU; returns the machine's VP.
    fn attach_root(&mut self, scheduler: CoreScheduler, cpu: u16) -> Result<CoreVp, CoreError> {
        self.make(Op::AttachRoot, Call { a: scheduler.0, b: u32::from(cpu), ..Call::default() })
            .and_then(answer)
            .map(CoreVp)
    }

    /// Attaches a scheduler, or a new thread (`None`), below `parent`, at the time of the last call, while a
    /// hierarchy is built; returns the VP.
    fn attach(
        &mut self,
        parent: CoreScheduler,
        child: Option<CoreScheduler>,
        params: Params,
    ) -> Result<CoreVp, CoreError> {
        self.attach_at(parent, child, params, Nanos::ZERO)
    }

    /// The same while the hierarchy runs.
    fn attach_at(
        &mut self,
        parent: CoreScheduler,
        child: Option<CoreScheduler>,
        params: Params,
        now: Nanos,
    ) -> Result<CoreVp, CoreError> {
        let call = Call { b: child.unwrap_or_default().0, params: params.0, ..Call::at(now, parent.0) };
        self.make(Op::Attach, call).and_then(answer).map(CoreVp)
    }

    /// Removes a VP from the hierarchy.
    fn detach(&mut self, vp: CoreVp, now: Nanos) -> Result<(), CoreError> {
        self.make(Op::Detach, Call::at(now, vp.0)).and_then(answer).map(drop)
    }

    /// Moves a thread below another scheduler. A refusal changes nothing.
    fn move_to(
        &mut self,
        vp: CoreVp,
        parent: CoreScheduler,
        params: Params,
        now: Nanos,
    ) -> Result<(), CoreError> {
        self.make_about(vp, About::move_to(parent, params), now).map(drop)
    }

    /// Gives a thread an affinity: the CPUs with a set bit in `cpus`.
    fn set_affinity(&mut self, vp: CoreVp, cpus: u64, now: Nanos) -> Result<(), CoreError> {
        self.make_about(vp, About::set_affinity(cpus), now).map(drop)
    }

    /// Records the changes of a VP's state from now on, beginning with its present state; with `false`, stops
    /// recording.
    fn watch(&mut self, vp: CoreVp, on: bool) -> Result<(), CoreError> {
        self.make(Op::Watch, Call { a: vp.0, b: u32::from(on), ..Call::default() }).and_then(answer).map(drop)
    }

    /// Sets parameter number `param` of a VP below its scheduler. A refusal changes nothing.
    fn set_param(&mut self, vp: CoreVp, param: u32, value: u64, now: Nanos) -> Result<(), CoreError> {
        self.make_about(vp, About::set_param(param, value), now).map(drop)
    }

    /// Sends the scheduler above a VP message number `message` of its policy's list; returns the policy's answer.
    fn tell(&mut self, vp: CoreVp, message: u32, payload: Params, now: Nanos) -> Result<u32, CoreError> {
        self.make_about(vp, About::tell(message, payload), now)
    }

    /// Gives a scheduler another policy in place of its own. A refusal changes nothing, except if the new policy
    /// refuses a child: then the scheduler has the fallback.
    fn replace(
        &mut self,
        scheduler: CoreScheduler,
        policy: u8,
        params: Params,
        now: Nanos,
    ) -> Result<(), CoreError> {
        let call = Call { b: policy.into(), params: params.0, ..Call::at(now, scheduler.0) };
        self.make(Op::Replace, call).and_then(answer).map(drop)
    }

    /// A process takes over a scheduler that has pages, or leaves it: resets the pages to their initial state, with
    /// the present children. [`CoreError::NotFound`]: it has no pages.
    fn renew_pages(&mut self, scheduler: CoreScheduler, now: Nanos) -> Result<(), CoreError> {
        self.make(Op::RenewPages, Call::at(now, scheduler.0)).and_then(answer).map(drop)
    }

    /// The scheduler pays for what threads below it have without a grant, unless a scheduler above it does.
    fn let_pay(&mut self, scheduler: CoreScheduler) -> Result<(), CoreError> {
        self.make(Op::LetPay, Call { a: scheduler.0, ..Call::default() }).and_then(answer).map(drop)
    }

    /// Suspends a thread, or resumes it. Its scheduler sees a suspended thread as blocked, even if it is runnable. No
    /// effect if the thread is in that state already.
    fn suspend(&mut self, vp: CoreVp, on: bool, now: Nanos) -> Result<(), CoreError> {
        self.make_about(vp, About::suspend(on), now).map(drop)
    }
}
