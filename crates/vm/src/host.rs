//! Whether the host has left a guest's processor out for so long that what the guest did says nothing: a guest whose
//! time is the host's finds its timers late then, and its watchdogs go off.
//!
//! Reads `schedstat` of QEMU's threads in `/proc`; where there is none, nothing is ever found.

use std::fs;
use std::time::Duration;

/// A busy host lets a thread wait for some tenths of a second. In 5 s a guest's kernel loses patience with ours.
const TOO_LONG: Duration = Duration::from_secs(5);

/// How long each thread of a process has waited for a processor of the host so far.
pub(crate) struct Waits {
    process: u32,
    so_far: Vec<(String, Duration)>,
}

impl Waits {
    pub(crate) fn of(process: u32) -> Waits {
        Waits { process, so_far: Vec::new() }
    }

    /// How long one of the threads has waited since the last call, if that was too long. To be called once a second or
    /// more often: then it was one wait.
    pub(crate) fn too_long(&mut self) -> Option<Duration> {
        let before = std::mem::replace(&mut self.so_far, waits(self.process));
        longest(&before, &self.so_far).filter(|wait| *wait >= TOO_LONG)
    }
}

/// By how much the wait of a thread has grown at most.
fn longest(before: &[(String, Duration)], now: &[(String, Duration)]) -> Option<Duration> {
    let growth = |(thread, wait): &(String, Duration)| {
        let (_, before) = before.iter().find(|(other, _)| other == thread)?;
        Some(wait.saturating_sub(*before))
    };
    now.iter().filter_map(growth).max()
}

/// The threads of a process, each with the time that it has waited.
fn waits(process: u32) -> Vec<(String, Duration)> {
    let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else { return Vec::new() };
    let wait = |thread: fs::DirEntry| {
        let name = thread.file_name().to_string_lossy().into_owned();
        Some((name, wait(&fs::read_to_string(thread.path().join("schedstat")).ok()?)?))
    };
    threads.flatten().filter_map(wait).collect()
}

/// The wait that a `schedstat` states: its second number, in nanoseconds.
fn wait(schedstat: &str) -> Option<Duration> {
    schedstat.split_whitespace().nth(1)?.parse().ok().map(Duration::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_wait_since_the_last_look_counts() {
        let waits =
            |waits: [(&str, u64); 2]| waits.map(|(thread, s)| (thread.to_owned(), Duration::from_secs(s)));
        let (before, now) = (waits([("1", 3), ("2", 90)]), waits([("1", 10), ("2", 91)]));
        assert_eq!(longest(&before, &now), Some(Duration::from_secs(7)));
        assert_eq!(longest(&[], &now), None, "there was no look before");
    }

    #[test]
    fn a_thread_of_this_host_states_its_wait() {
        assert!(!waits(std::process::id()).is_empty());
        assert!(waits(u32::MAX).is_empty(), "there is no such process");
    }

    #[test]
    fn the_second_number_is_the_wait() {
        assert_eq!(wait("12 7000000000 3\n"), Some(Duration::from_secs(7)));
        assert_eq!(wait("12\n"), None);
        assert_eq!(wait("12 x 3\n"), None);
    }
}
