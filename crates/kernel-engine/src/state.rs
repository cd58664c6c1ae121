//! Whether sched_ext has a scheduler, from `/sys/kernel/sched_ext/state`. Relies on the kernel to report there that
//! it is taking threads back before it takes the first one.

use crate::Error;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;

const PATH: &str = "/sys/kernel/sched_ext/state";
/// The state is a word.
const LONGEST: usize = 64;

/// The state of sched_ext. Opened once, so that it can be read when this process has no descriptor to spare.
pub struct State(File);

impl State {
    pub fn open() -> Result<State, Error> {
        File::open(PATH).map(State).map_err(unreadable)
    }

    /// Whether a BPF scheduler schedules the machine, and no thread has been taken back from it.
    pub fn is_enabled(&self) -> Result<bool, Error> {
        let mut bytes = [0; LONGEST];
        // A read from offset 0 has the kernel write the state anew.
        let length = self.0.read_at(&mut bytes, 0).map_err(unreadable)?;
        Ok(bytes[..length].trim_ascii() == b"enabled")
    }
}

/// Fails if another scheduler has the machine. To be called before an engine is loaded, so that no user waits for an
/// engine that cannot be attached.
pub fn refuse_beside_another() -> Result<(), Error> {
    // Where sched_ext is missing, the load says so.
    let Ok(state) = State::open() else { return Ok(()) };
    match state.is_enabled()? {
        true => another().map_or(Ok(()), Err),
        false => Ok(()),
    }
}

/// The error that another scheduler has the machine, if one has.
pub fn another() -> Option<Error> {
    let name = fs::read_to_string("/sys/kernel/sched_ext/root/ops").ok()?;
    Some(Error::Failed(format!("another scheduler, `{}`, has the machine; there can be one", name.trim())))
}

fn unreadable(error: io::Error) -> Error {
    Error::Failed(format!("{PATH} cannot be read: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_is_the_current_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("state");
        let write = |state: &str| fs::write(&path, state).unwrap();
        write("enabled\n");
        let state = State(File::open(&path).unwrap());
        assert!(state.is_enabled().unwrap());
        for other in ["disabling\n", "disabled\n", "enabling\n", ""] {
            write(other);
            assert!(!state.is_enabled().unwrap(), "{other}");
        }
        write("enabled\n");
        assert!(state.is_enabled().unwrap());
    }
}
