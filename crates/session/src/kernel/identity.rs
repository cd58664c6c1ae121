//! The owner and the name of a thread of this machine, from `/proc`: the kernel engine knows threads only by number.
//!
//! Relies on the thread staying alive while it is read; the caller must check afterwards that it is still the same
//! thread.

use hls_control::EngineError;
use rustix::io::Errno;
use std::fs;
use std::io::ErrorKind;

/// The identity of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Its process.
    pub pid: u32,
    /// Its name.
    pub comm: String,
    /// The user of its real, effective and saved id; `None` where they differ.
    pub uid: Option<u32>,
}

impl Identity {
    /// The identity of a living thread; `None`: it has ended. An error does not mean an end: `/proc` cannot be read,
    /// or understood.
    pub fn of(tid: u32) -> Result<Option<Identity>, EngineError> {
        let path = format!("/proc/{tid}/status");
        let status = match fs::read(&path) {
            Ok(status) => status,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            // It has ended since the file was opened.
            Err(error) if error.raw_os_error() == Some(Errno::SRCH.raw_os_error()) => return Ok(None),
            Err(error) => return Err(EngineError::Failed(format!("{path} cannot be read: {error}"))),
        };
        // A name may be any bytes.
        let identity = parse(&String::from_utf8_lossy(&status));
        let wrong = || EngineError::Failed(format!("found {path} of another form, expected name and ids"));
        identity.map(Some).ok_or_else(wrong)
    }
}

/// The name of a living thread; none, if it has ended.
pub fn name(tid: u32) -> String {
    let comm = fs::read(format!("/proc/{tid}/comm")).unwrap_or_default();
    String::from_utf8_lossy(&comm).trim_end_matches('\n').to_owned()
}

/// From the contents of `status`.
fn parse(status: &str) -> Option<Identity> {
    let field = |name: &str| {
        status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
    };
    let mut uids = field("Uid")?.split_whitespace().map(|uid| uid.parse().ok());
    let [real, effective, saved]: [Option<u32>; 3] = [uids.next()?, uids.next()?, uids.next()?];
    Some(Identity {
        pid: field("Tgid")?.parse().ok()?,
        comm: field("Name")?.to_owned(),
        uid: real.filter(|_| real == effective && real == saved),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_of_several_users_is_nobodys() {
        let status = |uids: &str| format!("Name:\ta) b\nTgid:\t5\nPid:\t7\nUid:\t{uids}\n");
        let one = parse(&status("1000\t1000\t1000\t1000")).unwrap();
        assert_eq!(one, Identity { pid: 5, comm: "a) b".into(), uid: Some(1000) });
        assert_eq!(parse(&status("1000\t0\t0\t0")).unwrap().uid, None);
        assert_eq!(parse(&status("1000\t1000")), None);
        assert_eq!(parse(""), None);
    }

    #[test]
    fn this_one_is_found() {
        let own = Identity::of(std::process::id()).unwrap().unwrap();
        assert_eq!(own.pid, std::process::id());
        assert_eq!(Identity::of(u32::MAX), Ok(None));
    }

    /// A thread may give itself any name, and is not reported as ended for that.
    #[test]
    fn a_name_that_is_no_text_hides_nobody() {
        let found = std::thread::spawn(|| {
            rustix::thread::set_name(c"\xff\xfe").unwrap();
            let tid = rustix::thread::gettid().as_raw_nonzero().get() as u32;
            (Identity::of(tid), name(tid))
        });
        let (identity, name) = found.join().unwrap();
        assert_eq!(identity.unwrap().unwrap().comm, "\u{fffd}\u{fffd}");
        assert_eq!(name, "\u{fffd}\u{fffd}");
    }
}
