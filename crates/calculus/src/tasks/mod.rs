//! Task sets under a guarantee: whether every job is done by its deadline, how soon at the latest, and which
//! reservation is the least that suffices (`fit.rs`). For one task alone below a reservation or a limit
//! scheduler more can be shown (`reserved.rs`).
//!
//! The tasks run inside one thread, preemptively, by EDF (`edf.rs`) or fixed priority (`fixed_priority.rs`). The
//! thread wants the CPU whenever a job is ready, so what an analysis calls a busy window is one of continuous
//! request, and the thread's sbf holds from its start. Tasks that block each other or suspend themselves are not
//! modelled, nor is the time that a switch from one to another takes. Every loop is bounded; to reach the bound is a
//! refusal that says so.

mod edf;
mod fit;
mod fixed_priority;
mod reserved;

use crate::guarantee::Fault;
use crate::rational::{Rational, from_nanos, percent_ceil, quotient, time_ceil, time_floor};
use crate::together::{Shortfall, Sum, Supply};
use hls_units::Nanos;
use num_integer::Integer;
use num_traits::{One, Signed, Zero};
use std::fmt;

pub use fit::{Fit, least_amount, least_utilisation};
pub use reserved::{limited_response, reserved_response};

/// The most steps of fixed-point iterations for one set; each takes some microseconds.
const MAX_STEPS: u32 = 10_000;

/// The most steps by which the response times under EDF are analysed, for one set of tasks on one supply. What one task
/// may want in one window is a step. That many take about a second on a slow machine.
pub const MOST_RESPONSE_STEPS: u32 = 50_000;

/// A sporadic task: jobs of the same kind, each with a deadline. Times in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// The most CPU time that a job takes (C); above zero.
    pub run: Rational,
    /// The least distance of two arrivals (T); above zero.
    pub every: Rational,
    /// How long after its arrival a job is to be done (D); above zero, and longer or shorter than `every`.
    pub deadline: Rational,
    /// How long after its arrival a job becomes ready at the latest (J).
    pub jitter: Rational,
}

/// Which job of a set runs first. Always preemptive; jobs of one task in the order of their arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The job with the earliest deadline.
    Edf,
    /// The job of the first task, in the order of the set, that has a job ready.
    FixedPriority,
}

/// Tasks that share one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskSet {
    /// Which job runs first.
    pub order: Order,
    /// The tasks; for fixed priority the highest first.
    pub tasks: Vec<Task>,
}

/// Why a task set is not shown to meet its deadlines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Miss {
    /// A parameter breaks an invariant of [`Task`].
    Malformed {
        /// Index of the task.
        task: usize,
        /// Parameters are counted in the order of the fields.
        fault: Fault,
    },
    /// In this window, which begins when jobs become ready after an idle moment and ends with a deadline, more may be
    /// wanted than is certain.
    Short {
        /// Index of the task with the deadline.
        task: usize,
        /// Which job of that task since the window began, counted from 0.
        job: u64,
        /// The window, the first of those that fail for this task (fixed priority) or for all (EDF).
        window: Box<Shortfall>,
    },
    /// Whether the deadlines are met would take more steps to find out than there are.
    Undecided {
        /// What the tasks want in the long run as a share of what is certain in it.
        load: Rational,
    },
}

/// What is certain of a task set under a supply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// For each task, how long it is at most from the arrival of a job to its completion.
    pub responses: Vec<Response>,
    /// Why not every deadline is certain to be met; `None` where it is. Then every response is within its deadline.
    pub miss: Option<Miss>,
}

/// How long it is at most from the arrival of a job to its completion. In nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Response {
    /// A bound of the analysis of response times, or the deadline, where every deadline is met and the analysis finds
    /// no lesser bound.
    Bound(Rational),
    /// The deadline, since every deadline is met. The analysis of response times, which might say less, was given up
    /// after [`MOST_RESPONSE_STEPS`] steps.
    DeadlineOnly(Rational),
    /// No bound is known.
    Unknown,
}

impl Response {
    /// The bound, wherever it comes from.
    pub fn bound(&self) -> Option<&Rational> {
        match self {
            Response::Bound(bound) | Response::DeadlineOnly(bound) => Some(bound),
            Response::Unknown => None,
        }
    }

    /// The lesser of two bounds that both hold; if they are equal, the bound of the analysis.
    #[must_use]
    pub fn and(self, other: Response) -> Response {
        let rank = |response: &Response| {
            (response.bound().is_none(), response.bound().cloned(), !matches!(response, Response::Bound(_)))
        };
        if rank(&other) < rank(&self) { other } else { self }
    }
}

impl Task {
    /// A task with times in whole nanoseconds.
    pub fn new(run: Nanos, every: Nanos, deadline: Nanos, jitter: Nanos) -> Task {
        let [run, every, deadline, jitter] = [run, every, deadline, jitter].map(from_nanos);
        Task { run, every, deadline, jitter }
    }

    /// The share of one CPU that the task takes in the long run.
    pub fn utilisation(&self) -> Rational {
        quotient(&self.run, &self.every)
    }

    /// Checks the invariants; the error names the first field that breaks one.
    ///
    /// # Errors
    /// The field, counted from 0, and what it should have been.
    pub fn check(&self) -> Result<(), Fault> {
        let Task { run, every, deadline, jitter } = self;
        let of = |parameter, is_good: bool, expected: &str| match is_good {
            true => Ok(()),
            false => Err(Fault { parameter, expected: expected.to_owned() }),
        };
        of(0, run.is_positive(), "CPU time above zero")?;
        of(1, every.is_positive(), "a distance above zero")?;
        of(2, deadline.is_positive(), "a deadline above zero")?;
        of(3, !jitter.is_negative(), "a jitter of zero or more")
    }

    /// How many jobs at most become ready in a window of this length, open at its end: `ceil((t+J)/T)`.
    fn ready_within(&self, window: &Rational) -> Rational {
        if window.is_positive() {
            quotient(&(window + &self.jitter), &self.every).ceil()
        } else {
            Rational::zero()
        }
    }

    /// How many jobs at most become ready and are due in a window of this length: `[floor((t+J-D)/T)+1]+`.
    fn due_within(&self, window: &Rational) -> Rational {
        let jobs = quotient(&(window + &self.jitter - &self.deadline), &self.every).floor() + Rational::one();
        jobs.max(Rational::zero())
    }
}

impl TaskSet {
    /// Tasks under fixed priority, the one with the least distance first (Liu and Layland, JACM 1973).
    pub fn rate_monotonic(mut tasks: Vec<Task>) -> TaskSet {
        tasks.sort_by(|a, b| a.every.cmp(&b.every));
        TaskSet { order: Order::FixedPriority, tasks }
    }

    /// Tasks under fixed priority, the one with the least deadline first (Leung and Whitehead 1982).
    pub fn deadline_monotonic(mut tasks: Vec<Task>) -> TaskSet {
        tasks.sort_by(|a, b| a.deadline.cmp(&b.deadline));
        TaskSet { order: Order::FixedPriority, tasks }
    }

    /// The share of one CPU that the tasks take in the long run.
    pub fn utilisation(&self) -> Rational {
        self.tasks.iter().map(Task::utilisation).sum()
    }

    /// Whether every deadline is met by what a thread is promised, and the response times.
    pub fn verdict(&self, supply: &Supply) -> Verdict {
        let mut steps = Steps::of_tasks(MOST_RESPONSE_STEPS, self.tasks.len());
        best(supply, |sum| self.verdict_of(sum, &mut steps))
    }

    /// The same for the last task alone: its response is the only one. For fixed priority.
    pub fn verdict_of_last(&self, supply: &Supply) -> Verdict {
        best(supply, |sum| match self.check() {
            Ok(()) => fixed_priority::verdict_of_last(&self.tasks, sum),
            Err(miss) => Verdict { responses: vec![Response::Unknown], miss: Some(miss) },
        })
    }

    /// Why not every deadline is certain to be met. Leaves out the response times, which take longer.
    pub fn miss(&self, supply: &Supply) -> Option<Miss> {
        let nothing = [Sum(Vec::new())];
        let sums = if supply.is_nothing() { &nothing } else { supply.sums() };
        let mut misses = sums.iter().map(|sum| self.decide(sum).err());
        let first = misses.next().flatten();
        first.filter(|_| misses.all(|other| other.is_some()))
    }

    fn verdict_of(&self, sum: &Sum, steps: &mut Steps) -> Verdict {
        if let Err(miss) = self.check() {
            return Verdict { responses: vec![Response::Unknown; self.tasks.len()], miss: Some(miss) };
        }
        match self.order {
            Order::Edf => edf::verdict(self, sum, steps),
            Order::FixedPriority => fixed_priority::verdict(&self.tasks, sum),
        }
    }

    /// Whether every deadline is met, without the response times.
    fn decide(&self, sum: &Sum) -> Result<(), Miss> {
        self.check()?;
        match self.order {
            Order::Edf => edf::decide(self, sum),
            Order::FixedPriority => fixed_priority::verdict(&self.tasks, sum).miss.map_or(Ok(()), Err),
        }
    }

    fn check(&self) -> Result<(), Miss> {
        let mut tasks = self.tasks.iter().enumerate();
        tasks.try_for_each(|(task, it)| it.check().map_err(|fault| Miss::Malformed { task, fault }))
    }
}

/// The best that follows from what is certain: each sum of guarantees holds alone. The strongest comes first, and where
/// no sum suffices its reasons are given.
fn best(supply: &Supply, verdict_of: impl FnMut(&Sum) -> Verdict) -> Verdict {
    let nothing = [Sum(Vec::new())];
    let sums = if supply.is_nothing() { &nothing } else { supply.sums() };
    let mut verdicts = sums.iter().map(verdict_of);
    let Some(Verdict { mut responses, mut miss }) = verdicts.next() else {
        return Verdict { responses: Vec::new(), miss: None };
    };
    for other in verdicts {
        responses = responses.into_iter().zip(other.responses).map(|(one, two)| one.and(two)).collect();
        miss = miss.filter(|_| other.miss.is_some());
    }
    Verdict { responses, miss }
}

/// After how long both what is wanted and what is certain repeat themselves. If demand and supply grow at one rate,
/// then in that length both grow by the same amount, so that the windows, or the jobs, of one such length stand for all
/// that follow.
fn repeats_after(tasks: &[Task], sum: &Sum) -> Option<Rational> {
    let periods = sum.0.iter().filter_map(|part| part.periodic()).map(|part| part.period);
    // The least common multiple of two positive fractions in lowest terms.
    let common_multiple =
        |a: Rational, b: Rational| Rational::new(a.numer().lcm(b.numer()), a.denom().gcd(b.denom()));
    tasks.iter().map(|task| task.every.clone()).chain(periods).reduce(common_multiple)
}

/// Steps that are left before a question is given up.
struct Steps {
    left: u32,
    /// How many are taken at once.
    stride: u32,
}

impl Steps {
    /// This many, taken one by one.
    fn of(steps: u32) -> Steps {
        Steps { left: steps, stride: 1 }
    }

    /// This many, if each question takes one for each of these tasks.
    fn of_tasks(steps: u32, tasks: usize) -> Steps {
        Steps { left: steps, stride: u32::try_from(tasks).unwrap_or(u32::MAX) }
    }

    /// Takes one, or one for each task; `None` when fewer are left; then none are left from now on.
    fn take(&mut self) -> Option<()> {
        let left = self.left.checked_sub(self.stride);
        self.left = left.unwrap_or(0);
        left.map(|_| ())
    }

    /// Whether none are left.
    fn are_used_up(&self) -> bool {
        self.left < self.stride
    }

    /// The least window of at least `from` that certainly holds what may be wanted in it, or some window beyond
    /// `limit` when that one is. `from` must not be beyond it.
    fn least_window(
        &mut self,
        sum: &Sum,
        from: Rational,
        limit: Option<&Rational>,
        wanted_within: impl Fn(&Rational) -> Rational,
    ) -> Option<Rational> {
        let mut window = from;
        loop {
            self.take()?;
            let longer = sum.window_for(&wanted_within(&window))?;
            if longer <= window || limit.is_some_and(|limit| longer > *limit) {
                return Some(longer);
            }
            window = longer;
        }
    }
}

impl Miss {
    /// Whether it is not known that a deadline may be missed, only not shown that none is.
    pub fn is_undecided(&self) -> bool {
        matches!(self, Miss::Undecided { .. })
    }
}

impl fmt::Display for Miss {
    /// For people, with demand rounded up and supply down; tasks by their numbers, counted from 1.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Miss::Malformed { task, fault } => {
                let field =
                    ["run", "every", "deadline", "jitter"].get(fault.parameter).unwrap_or(&"parameter");
                write!(f, "task {}: `{field}` should be {}", task + 1, fault.expected)
            }
            Miss::Short { window: shortfall, .. } => {
                let Shortfall { window, wanted, supply } = &**shortfall;
                let (wanted, window, supply) = (time_ceil(wanted), time_ceil(window), time_floor(supply));
                write!(f, "up to {wanted} may be wanted within {window}, but only {supply} is certain")
            }
            Miss::Undecided { load } => {
                let load = percent_ceil(load);
                write!(f, "too close to tell: {load} of what is certain in the long run may be wanted")
            }
        }
    }
}
