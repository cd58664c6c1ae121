//! Reads from `/proc` everything about a thread that a rule of a hierarchy file can match. Users choose the names of
//! threads and cgroups, which may be any bytes.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;

/// A thread as `/proc` describes it now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// The parent of the thread's process.
    pub parent: u32,
    /// Its name, without the zero behind it.
    pub comm: Vec<u8>,
    /// The path of its cgroup within cgroup v2; `/` where there is none. Bytes that are not UTF-8 are replaced by
    /// U+FFFD, so that the names of the cgroups above, which a rule names, are kept. `None`: it has 4096 bytes or
    /// more, and the kernel reports no such path; other kernels report its beginning.
    pub cgroup: Option<String>,
}

/// The thread `tid` of process `tgid`; `None` when it has ended, or cannot be read for now. Without `with_cgroup` its
/// cgroup is `/`.
pub fn describe(tgid: u32, tid: u32, with_cgroup: bool) -> Option<Described> {
    let folder = format!("/proc/{tgid}/task/{tid}");
    let stat = fs::read(format!("{folder}/stat")).ok()?;
    let (parent, comm) = from_stat(&stat)?;
    if !with_cgroup {
        return Some(Described { parent, comm, cgroup: Some("/".into()) });
    }
    let cgroup = match fs::read(format!("{folder}/cgroup")) {
        Ok(cgroups) => Some(from_cgroups(&cgroups)),
        Err(error) if error.kind() == ErrorKind::InvalidFilename => None,
        Err(_) => return None,
    };
    Some(Described { parent, comm, cgroup })
}

/// The user of a thread; root if it cannot be read.
pub fn user(tid: u32) -> u32 {
    fs::metadata(format!("/proc/{tid}")).map_or(0, |about| about.uid())
}

/// The path after `0::`, which is cgroup v2; the lines of other hierarchies come before it.
fn from_cgroups(cgroups: &[u8]) -> String {
    let path = cgroups.split(|&byte| byte == b'\n').find_map(|line| line.strip_prefix(b"0::"));
    String::from_utf8_lossy(path.unwrap_or(b"/")).into_owned()
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
        let described = describe(pid, pid, true).expect("we live");
        assert_eq!(described.parent, std::os::unix::process::parent_id());
        assert!(described.cgroup.expect("it can be read").starts_with('/'));
    }

    #[test]
    fn a_cgroup_lies_in_all_above_it_whatever_its_name() {
        assert_eq!(from_cgroups(b"0::/system.slice/box/\xff\n"), "/system.slice/box/\u{fffd}");
        assert_eq!(from_cgroups(b"1:cpu:/a\n0::/system.slice/\xc3/b\n"), "/system.slice/\u{fffd}/b");
        assert_eq!(from_cgroups(b"1:cpu:/a\n"), "/");
    }
}
