//! What one virtual processor (VP) got, whether it stands for a thread or for a scheduler. Small, since there is an
//! account for each VP.

use crate::histogram::Histogram;
use crate::promises::Place;
use crate::result::Percentiles;
use hls_units::Nanos;

/// What a VP does, as far as its account needs to know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    #[default]
    Waiting,
    /// Ready again after a revoke.
    Ready,
    /// Woken up at that time, and not granted a CPU since.
    Woken(Nanos),
    /// Running since the clock of its CPU, which stands still while time is stolen there, showed this.
    Running(Nanos),
}

/// What one VP got.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// What the VP does.
    pub state: State,
    /// The CPU that the VP was granted last.
    pub last_cpu: Option<u16>,
    /// The slot of the VP's promise in `Promises`, where it has one.
    pub watched: Option<u32>,
    /// CPU time that the VP has had until it was last stopped.
    pub ran: Nanos,
    /// How often the VP woke up.
    pub activations: u32,
    /// How often it was granted a CPU.
    pub grants: u32,
    /// How often a CPU was taken from it while it wanted to go on.
    pub revokes: u32,
    /// How often it was granted another CPU than the time before.
    pub migrations: u32,
    /// Deadlines missed.
    pub misses: u32,
    /// The time from each wake-up to the grant that follows.
    pub wake_latency: Histogram,
    /// The time from each job's release to its completion.
    pub response: Histogram,
    /// Waits and jobs that did not end, if there were any.
    pub open: Option<Box<Open>>,
}

/// The longest wait and the longest job that did not end.
#[derive(Clone, Debug, Default)]
pub struct Open {
    /// Waits from a wake-up without a grant.
    pub wait: Nanos,
    /// Jobs that were not done, from their releases.
    pub job: Nanos,
}

impl Account {
    /// The VP wakes up.
    pub fn request(&mut self, at: Nanos) {
        self.activations += 1;
        self.state = State::Woken(at);
    }

    /// The VP is granted this CPU, at `clock` on the CPU's clock.
    pub fn grant(&mut self, at: Nanos, cpu: u16, clock: Nanos) {
        if let State::Woken(since) = self.state {
            self.wake_latency.add(at.saturating_sub(since));
        }
        self.state = State::Running(clock);
        self.grants += 1;
        self.migrations += u32::from(self.last_cpu.is_some_and(|last| last != cpu));
        self.last_cpu = Some(cpu);
    }

    /// The VP waits no longer, or is watched no longer: if it waits for its first CPU since a wake-up, that wait did
    /// not end.
    pub fn leave_open(&mut self, at: Nanos) {
        if let State::Woken(since) = self.state {
            let open = self.open.get_or_insert_default();
            open.wait = open.wait.max(at.saturating_sub(since));
        }
    }

    /// The VP is not done with a job that was released `age` ago, and will not be.
    pub fn leave_job_open(&mut self, age: Nanos) {
        let open = self.open.get_or_insert_default();
        open.job = open.job.max(age);
    }

    /// The time from each wake-up to the grant that follows.
    pub fn wake_latency(&self) -> Percentiles {
        let open = self.open.as_ref().map_or(Nanos::ZERO, |open| open.wait);
        self.wake_latency.percentiles().with_open(open)
    }

    /// The time from each job's release to its completion.
    pub fn response(&self) -> Percentiles {
        let open = self.open.as_ref().map_or(Nanos::ZERO, |open| open.job);
        self.response.percentiles().with_open(open)
    }

    /// Adds what another account has counted.
    pub fn include(&mut self, other: &Account) {
        self.activations = self.activations.saturating_add(other.activations);
        self.misses = self.misses.saturating_add(other.misses);
        self.revokes = self.revokes.saturating_add(other.revokes);
        self.migrations = self.migrations.saturating_add(other.migrations);
        self.wake_latency.add_all(&other.wake_latency);
        self.response.add_all(&other.response);
        if let Some(others) = &other.open {
            let open = self.open.get_or_insert_default();
            (open.wait, open.job) = (open.wait.max(others.wait), open.job.max(others.job));
        }
    }

    /// Hands over all that [`Account::include`] adds; this account no longer counts it.
    pub fn take_counts(&mut self) -> Account {
        let Account { state, last_cpu, watched, ran, grants, .. } = *self;
        std::mem::replace(self, Account { state, last_cpu, watched, ran, grants, ..Account::default() })
    }

    /// The VP loses or gives up its CPU, at `clock` on the CPU's clock.
    pub fn stop(&mut self, clock: Nanos, state: State) {
        self.ran = self.ran_until(clock);
        self.state = state;
    }

    /// The CPU time that the VP has had when the clock of its CPU shows `clock`.
    pub fn ran_until(&self, clock: Nanos) -> Nanos {
        let State::Running(since) = self.state else { return self.ran };
        self.ran.saturating_add(clock.saturating_sub(since))
    }

    /// Where the VP is, for its promise.
    pub fn place(&self) -> Place {
        match (self.state, self.last_cpu) {
            (State::Waiting, _) => Place::Off,
            (State::Running(_), Some(cpu)) => Place::On(cpu),
            _ => Place::Ready,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_is_small() {
        assert!(size_of::<Account>() <= 192, "{} bytes for each of 65,536 threads", size_of::<Account>());
    }
}
