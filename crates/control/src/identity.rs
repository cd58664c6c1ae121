//! Whose a thread is, from `/proc`: for engines that know threads by number alone.
//!
//! Relies on the thread staying alive while it is read; whoever asks must see afterwards that it is still the same.

use std::fs;

/// Who a thread is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Its process.
    pub pid: u32,
    /// Its name.
    pub comm: String,
    /// The user that it belongs to with its real, effective and saved id; `None` where they differ.
    pub uid: Option<u32>,
    /// Since when it lives, in clock ticks from the machine's start.
    pub since: u64,
}

impl Identity {
    /// That of a living thread.
    pub fn of(tid: u32) -> Option<Identity> {
        let status = fs::read_to_string(format!("/proc/{tid}/status")).ok()?;
        let stat = fs::read_to_string(format!("/proc/{tid}/stat")).ok()?;
        parse(&status, &stat)
    }
}

/// From the contents of `status` and `stat`.
fn parse(status: &str, stat: &str) -> Option<Identity> {
    let field = |name: &str| {
        status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).map(str::trim)
    };
    let mut uids = field("Uid")?.split_whitespace().map(|uid| uid.parse().ok());
    let [real, effective, saved]: [Option<u32>; 3] = [uids.next()?, uids.next()?, uids.next()?];
    // The name, in parentheses, may hold anything; the 22nd field is the 20th behind it.
    let (_, behind) = stat.rsplit_once(')')?;
    Some(Identity {
        pid: field("Tgid")?.parse().ok()?,
        comm: field("Name")?.to_owned(),
        uid: real.filter(|_| real == effective && real == saved),
        since: behind.split_whitespace().nth(19)?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "7 (a) b) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 1 2";

    #[test]
    fn a_thread_of_several_users_is_nobodys() {
        let status = |uids: &str| format!("Name:\ta) b\nTgid:\t5\nPid:\t7\nUid:\t{uids}\n");
        let one = parse(&status("1000\t1000\t1000\t1000"), STAT).unwrap();
        assert_eq!(one, Identity { pid: 5, comm: "a) b".into(), uid: Some(1000), since: 98_765 });
        assert_eq!(parse(&status("1000\t0\t0\t0"), STAT).unwrap().uid, None);
        assert_eq!(parse(&status("1000\t1000"), STAT), None);
        assert_eq!(parse("", ""), None);
    }

    #[test]
    fn this_one_is_found() {
        let own = Identity::of(std::process::id()).unwrap();
        assert_eq!(own.pid, std::process::id());
        assert_eq!(Identity::of(u32::MAX), None);
    }
}
