//! The user of a thread of this machine, from `/proc`: the engine does not learn when that changes.
//!
//! Relies on the thread staying alive while `/proc` is read; the caller must check afterwards that it is still the same
//! thread.

use hls_control::EngineError;
use rustix::io::Errno;
use std::fs;
use std::io::ErrorKind;

/// The user of a living thread's real, effective and saved id, none where they differ; `None`: the thread has ended. An
/// error does not mean an end: `/proc` cannot be read, or understood.
pub fn user_of(tid: u32) -> Result<Option<Option<u32>>, EngineError> {
    let path = format!("/proc/{tid}/status");
    let status = match fs::read(&path) {
        Ok(status) => status,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        // It has ended since the file was opened.
        Err(error) if error.raw_os_error() == Some(Errno::SRCH.raw_os_error()) => return Ok(None),
        Err(error) => return Err(EngineError::Failed(format!("{path} cannot be read: {error}"))),
    };
    let wrong = || EngineError::Failed(format!("found {path} of another form, expected ids"));
    // A name may be any bytes.
    parse(&String::from_utf8_lossy(&status)).map(Some).ok_or_else(wrong)
}

/// From the contents of `status`.
fn parse(status: &str) -> Option<Option<u32>> {
    let ids = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    let mut ids = ids.split_whitespace().map(|id| id.parse().ok());
    let [real, effective, saved]: [Option<u32>; 3] = [ids.next()?, ids.next()?, ids.next()?];
    Some(real.filter(|_| real == effective && real == saved))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_of_several_users_is_nobodys() {
        let status = |ids: &str| format!("Name:\ta) b\nTgid:\t5\nPid:\t7\nUid:\t{ids}\n");
        assert_eq!(parse(&status("1000\t1000\t1000\t1000")), Some(Some(1000)));
        assert_eq!(parse(&status("1000\t0\t0\t0")), Some(None));
        assert_eq!(parse(&status("1000\t1000")), None);
        assert_eq!(parse(""), None);
    }

    /// A thread may give itself any name, and is not reported as ended for that.
    #[test]
    fn a_name_that_is_no_text_hides_nobody() {
        let found = std::thread::spawn(|| {
            rustix::thread::set_name(c"\xff\xfe").unwrap();
            user_of(rustix::thread::gettid().as_raw_nonzero().get() as u32)
        });
        let own = rustix::process::getuid().as_raw();
        assert_eq!(found.join().unwrap(), Ok(Some(Some(own))));
        assert_eq!(user_of(u32::MAX), Ok(None));
    }
}
