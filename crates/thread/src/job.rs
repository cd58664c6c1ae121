//! A job of a thread, from its release to its deadline, and random lengths of time.
//!
//! Relies only on the generator of random numbers that the caller passes.

use hls_units::Nanos;
use hls_workload::program::Span;
use oorandom::Rand32;

/// A job: what a thread does between two waits of its program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Job {
    /// When the job was released; `Nanos::MAX`: there is no job.
    pub release: Nanos,
    /// When the job is due, as an instant; `Nanos::MAX`: it has no deadline.
    pub deadline: Nanos,
}

impl Job {
    /// Stands for no job.
    pub const NONE: Job = Job { release: Nanos::MAX, deadline: Nanos::MAX };

    /// Takes the job, if there is one, and leaves none.
    pub fn take(&mut self) -> Option<Job> {
        let job = std::mem::replace(self, Job::NONE);
        (job != Job::NONE).then_some(job)
    }
}

/// A value of the span, drawn uniformly.
pub fn draw(random: &mut Rand32, span: Span) -> Nanos {
    let width = span.max.0.saturating_sub(span.min.0);
    if width == 0 {
        return span.min;
    }
    let bits = u64::from(random.rand_u32()) << 32 | u64::from(random.rand_u32());
    // The high half of the product of two 64-bit numbers: uniform up to 2^-64 of the width.
    let offset = (u128::from(bits) * (u128::from(width) + 1)) >> 64;
    Nanos(span.min.0 + offset as u64)
}
