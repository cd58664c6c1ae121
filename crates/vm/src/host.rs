//! Finds out whether the emulator had to wait too long for a processor of the host. In a guest that runs in the host's
//! time, timers are late then and watchdogs go off, so a failure says nothing about what was tested.
//!
//! Reads `schedstat` of the emulator's threads in `/proc`. Without that file no wait is ever found.

use std::collections::HashMap;
use std::fs;
use std::time::Duration;

/// Half of the time (`RUN_PATIENCE_NS` in `bpf/run.h`) after which an engine gives up an `hls` that makes no progress.
const TOO_LONG: Duration = Duration::from_secs(5);

/// How long each thread of a process has waited for a processor of the host so far, by the thread's number.
type Waits = HashMap<String, Duration>;

/// Watches how long a process waits.
pub(crate) struct Watch {
    process: u32,
    so_far: Waits,
}

impl Watch {
    pub(crate) fn over(process: u32) -> Watch {
        Watch { process, so_far: Waits::new() }
    }

    /// How long a thread has waited since the last call, if that was too long. To be called about once a second: then
    /// [`TOO_LONG`] is one long wait, and not the sum of many short ones.
    pub(crate) fn too_long(&mut self) -> Option<Duration> {
        let before = std::mem::replace(&mut self.so_far, waits(self.process));
        longest(&before, &self.so_far).filter(|wait| *wait >= TOO_LONG)
    }
}

/// The most by which the wait of a thread has grown. A new thread does not count.
fn longest(before: &Waits, now: &Waits) -> Option<Duration> {
    now.iter().filter_map(|(thread, wait)| Some(wait.saturating_sub(*before.get(thread)?))).max()
}

/// How long each thread of the process has waited.
fn waits(process: u32) -> Waits {
    let Ok(threads) = fs::read_dir(format!("/proc/{process}/task")) else { return Waits::new() };
    let of_thread = |thread: fs::DirEntry| {
        let number = thread.file_name().into_string().ok()?;
        Some((number, wait(&fs::read_to_string(thread.path().join("schedstat")).ok()?)?))
    };
    threads.flatten().filter_map(of_thread).collect()
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
        let seconds = Duration::from_secs;
        let waits = |one, two| Waits::from([("1".into(), seconds(one)), ("2".into(), seconds(two))]);
        let (before, now) = (waits(3, 90), waits(10, 91));
        assert_eq!(longest(&before, &now), Some(seconds(7)));
        assert_eq!(longest(&Waits::new(), &now), None, "there was no look before");
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
