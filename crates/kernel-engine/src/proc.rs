//! What `/proc` says of a thread: everything that a rule of a hierarchy file can match.

use std::fs;

/// A thread as `/proc` describes it now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// The parent of the thread's process.
    pub parent: u32,
    /// Its name, without the zero behind it.
    pub comm: Vec<u8>,
    /// The path of its cgroup within cgroup v2; `/` where there is none.
    pub cgroup: String,
}

/// The thread `tid` of process `tgid`; `None` when it has ended.
pub fn describe(tgid: u32, tid: u32) -> Option<Described> {
    let folder = format!("/proc/{tgid}/task/{tid}");
    let stat = fs::read(format!("{folder}/stat")).ok()?;
    let (parent, comm) = from_stat(&stat)?;
    let cgroups = fs::read_to_string(format!("{folder}/cgroup")).unwrap_or_default();
    let cgroup = cgroups.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or("/").to_owned();
    Some(Described { parent, comm, cgroup })
}

/// `PID (COMM) STATE PPID ...`; the name may have blanks and parentheses in it.
fn from_stat(stat: &[u8]) -> Option<(u32, Vec<u8>)> {
    let open = stat.iter().position(|&byte| byte == b'(')?;
    let close = stat.iter().rposition(|&byte| byte == b')')?;
    let comm = stat.get(open + 1..close)?.to_vec();
    let rest = str::from_utf8(stat.get(close + 1..)?).ok()?;
    let parent = rest.split_whitespace().nth(1)?.parse().ok()?;
    Some((parent, comm))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_have_anything_in_them() {
        assert_eq!(from_stat(b"12 (a) b) S 7 12"), Some((7, b"a) b".to_vec())));
        assert_eq!(from_stat(b"12 (a"), None);
        assert_eq!(from_stat(b"12 (a) S"), None);
    }

    #[test]
    fn this_thread_is_described() {
        let pid = std::process::id();
        let described = describe(pid, pid).expect("we live");
        assert_eq!(described.parent, std::os::unix::process::parent_id());
        assert!(described.cgroup.starts_with('/'));
    }
}
