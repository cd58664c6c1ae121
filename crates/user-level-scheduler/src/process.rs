//! The agent as a thread of a process: finds the pages that the environment names, and takes turns. Between turns it
//! parks.

use crate::mapping;
use crate::pages::{Pages, VERSION};
use crate::scheduler::{Policy, Scheduler};
use rustix::io::Errno;
use rustix::thread::{gettid, sched_yield};
use std::os::fd::RawFd;
use std::{env, fmt};

/// Why this process is no agent.
#[derive(Clone, PartialEq, Eq)]
pub enum OpenError {
    /// The environment has no `HLS_SCHEDULER`: neither `hls ctl promote` nor a hierarchy file has started the process.
    NoScheduler,
    /// It has one, but of another form than NAME:DESCRIPTOR:DESCRIPTOR.
    Malformed(String),
    /// The descriptors cannot be mapped.
    NotMapped(Errno),
    /// The pages are of another version of the contract.
    OtherVersion(u64),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::NoScheduler => f.write_str(
                "found no HLS_SCHEDULER in the environment, expected `hls ctl promote`, or the command of a hierarchy \
                 file, to start this program",
            ),
            OpenError::Malformed(text) => {
                write!(f, "HLS_SCHEDULER: found {text:?}, expected NAME:DESCRIPTOR:DESCRIPTOR")
            }
            OpenError::NotMapped(error) => write!(f, "the pages cannot be mapped: {error}"),
            OpenError::OtherVersion(version) => {
                write!(f, "found pages of version {version}, expected {VERSION}")
            }
        }
    }
}

/// The same sentence: a `main` that returns the error prints this.
impl fmt::Debug for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for OpenError {}

/// The pages of the scheduler that the environment's `HLS_SCHEDULER` names, for as long as the process lives.
pub fn open() -> Result<Pages<'static>, OpenError> {
    let text = env::var("HLS_SCHEDULER").map_err(|_| OpenError::NoScheduler)?;
    let (kernel, user) = descriptors(&text).ok_or(OpenError::Malformed(text))?;
    let pages = mapping::map(kernel, user).map_err(OpenError::NotMapped)?;
    match pages.version() {
        VERSION => Ok(pages),
        other => Err(OpenError::OtherVersion(other)),
    }
}

/// The descriptors of the kernel page and of the user page. The name before them may have colons of its own.
fn descriptors(text: &str) -> Option<(RawFd, RawFd)> {
    let (text, user) = text.rsplit_once(':')?;
    let (_, kernel) = text.rsplit_once(':')?;
    Some((kernel.parse().ok()?, user.parse().ok()?))
}

/// After this many returns from `sched_yield()` in a row without a grant, the agent gives up: the hierarchy has gone,
/// with the engine that would have said so.
const MOST_UNGRANTED: u32 = 100_000;

/// What the program of a scheduler does: takes turns, and parks between them, until the calling thread is not the agent
/// any more, or the hierarchy has gone. The settings come from the environment's `HLS_SETTINGS`.
pub fn run<P: Policy>(policy: &mut P) -> Result<(), OpenError> {
    let pages = open()?;
    let settings = env::var("HLS_SETTINGS").unwrap_or_default();
    let mut scheduler = Scheduler::new::<P>(pages, &settings);
    let agent = u64::from(gettid().as_raw_nonzero().get().unsigned_abs());
    let (mut granted_at_ns, mut ungranted) = (0, 0);
    while pages.child(0) == agent && ungranted < MOST_UNGRANTED {
        scheduler.turn(policy);
        sched_yield();
        let at_ns = pages.at_ns();
        ungranted = if at_ns == granted_at_ns { ungranted + 1 } else { 0 };
        granted_at_ns = at_ns;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_names_two_descriptors() {
        assert_eq!(descriptors("S:3:4"), Some((3, 4)));
        assert_eq!(descriptors("a:b:10:11"), Some((10, 11)));
        for text in ["", "S", "S:3", "3:4", "S:3:", "S:3:x"] {
            assert_eq!(descriptors(text), None, "{text}");
        }
    }
}
