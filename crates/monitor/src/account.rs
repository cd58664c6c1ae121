//! What one VP got, of a thread or of a scheduler alike. Small, since there is one for each VP.

use crate::histogram::Histogram;
use crate::promises::Place;
use hls_units::Nanos;

/// What a VP does, as far as its account goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    #[default]
    Waiting,
    /// Ready again after a revoke.
    Ready,
    /// Woken up at that time, and not granted a CPU since.
    Woken(Nanos),
    /// Running since the clock of its CPU showed that (see [`crate::observe::Observer::stolen`]).
    Running(Nanos),
}

/// What one VP got.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// What it does.
    pub state: State,
    /// The CPU that it was granted last.
    pub last_cpu: Option<u16>,
    /// The slot of what it is promised.
    pub watched: Option<u32>,
    /// CPU time that it has had.
    pub ran: Nanos,
    /// How often it came to want a CPU,
    pub activations: u32,
    /// was granted one,
    pub grants: u32,
    /// lost it against its will,
    pub revokes: u32,
    /// was granted another than before,
    pub migrations: u32,
    /// and missed deadlines.
    pub misses: u32,
    /// From each request to the grant.
    pub wake_latency: Histogram,
    /// From each job's release to its end.
    pub response: Histogram,
}

impl Account {
    /// It wants a CPU.
    pub fn request(&mut self, at: Nanos) {
        self.activations += 1;
        self.state = State::Woken(at);
    }

    /// It has this CPU, whose clock shows that.
    pub fn grant(&mut self, at: Nanos, cpu: u16, clock: Nanos) {
        if let State::Woken(since) = self.state {
            self.wake_latency.add(at.saturating_sub(since));
        }
        self.state = State::Running(clock);
        self.grants += 1;
        self.migrations += u32::from(self.last_cpu.is_some_and(|last| last != cpu));
        self.last_cpu = Some(cpu);
    }

    /// Adds what another account has counted.
    pub fn include(&mut self, other: &Account) {
        self.activations = self.activations.saturating_add(other.activations);
        self.misses = self.misses.saturating_add(other.misses);
        self.revokes = self.revokes.saturating_add(other.revokes);
        self.migrations = self.migrations.saturating_add(other.migrations);
        self.wake_latency.add_all(&other.wake_latency);
        self.response.add_all(&other.response);
    }

    /// What [`Account::include`] adds; none of it is counted here any more.
    pub fn take_counts(&mut self) -> Account {
        let Account { state, last_cpu, watched, ran, grants, .. } = *self;
        std::mem::replace(self, Account { state, last_cpu, watched, ran, grants, ..Account::default() })
    }

    /// It has the CPU no longer.
    pub fn stop(&mut self, clock: Nanos, state: State) {
        self.ran = self.ran_until(clock);
        self.state = state;
    }

    /// The CPU time that it has had when the clock of its CPU shows that.
    pub fn ran_until(&self, clock: Nanos) -> Nanos {
        let State::Running(since) = self.state else { return self.ran };
        self.ran.saturating_add(clock.saturating_sub(since))
    }

    /// Where it is.
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
        assert!(size_of::<Account>() <= 184, "{} bytes for each of 65,536 threads", size_of::<Account>());
    }
}
