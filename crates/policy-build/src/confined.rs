//! Confines compilers so that they can only compile. Their input may be by any user: `#include "/etc/shadow"` would
//! show that file in their messages, `.incbin` would put it into the object.
//!
//! A compiler may read installed files, may read and write the folder of its build, and has no network; its memory,
//! its time and the size of its files have limits. Compilers that root starts run as an unused user. Relies on
//! Landlock for the files, and on Landlock or a namespace for the network; anything that the kernel does not support
//! is returned, so that a warning can be printed. The limits and the user hold on every kernel.

use crate::process;
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, LandlockStatus, RestrictionStatus, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, Scope, path_beneath_rules,
};
use nix::sched::{CloneFlags, unshare};
use rustix::process::Signal;
use std::ffi::OsStr;
use std::io::{Error, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;
use std::{env, fs, io, thread};

/// Where programs, libraries and headers are installed, and the files that are needed to find them.
const INSTALLED: [&str; 12] = [
    "/usr",
    "/bin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/nix",
    "/gnu",
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
];

/// The limits, as a shell sets them for the program that it becomes: 4 GiB of memory, files of 64 MiB, no core dumps,
/// 120 s of CPU time; a program that ignores the signal for that is killed 30 s later. It is CPU time because a
/// machine may be busy. The largest engine in the tests needs 0.2 GiB to build, and has 3 MiB.
const LIMITS: &str = "ulimit -c 0 && ulimit -v 4194304 && ulimit -f 131072 && ulimit -S -t 120 && ulimit -H -t 150 && \
                      exec \"$@\"";

/// User numbers that systemd gives to services while they run; accounts have other numbers.
const TRANSIENT_USERS: std::ops::Range<u32> = 61184..65520;

/// A compiler of this machine.
pub(crate) struct Compiler {
    /// The program, by an absolute path.
    pub(crate) path: PathBuf,
    /// The folder of its installation.
    home: PathBuf,
}

impl Compiler {
    /// Finds the program of this name, as a shell does.
    pub(crate) fn find(name: &OsStr) -> io::Result<Compiler> {
        let is_program = |path: &PathBuf| {
            fs::metadata(path).is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
        };
        let folders = env::var_os("PATH").unwrap_or_default();
        let path = if Path::new(name).components().count() > 1 {
            Some(PathBuf::from(name)).filter(is_program)
        } else {
            env::split_paths(&folders).map(|folder| folder.join(name)).find(is_program)
        };
        let path = path.ok_or(Error::from(ErrorKind::NotFound)).and_then(std::path::absolute)?;
        let file = fs::canonicalize(&path)?;
        Ok(Compiler { home: installation(&file, env::var_os("HOME").as_deref()).to_owned(), path })
    }

    /// The compiler with these arguments, in the folder of a build.
    pub(crate) fn command<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
        folder: &Path,
    ) -> Command {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", LIMITS, "sh"]).arg(&self.path).args(arguments).current_dir(folder);
        // Files that a compiler leaves are removed with the folder; messages are in English.
        command.env("TMPDIR", folder).env("HOME", folder).env("XDG_CACHE_HOME", folder).env("LC_ALL", "C");
        command
    }
}

/// The folder of a program's installation: `P` for `P/bin/PROGRAM`, unless `P` contains the user's home; else the
/// program alone.
fn installation<'f>(file: &'f Path, home: Option<&OsStr>) -> &'f Path {
    let folder = file.parent().filter(|folder| folder.ends_with("bin")).and_then(Path::parent);
    let has_a_home = |folder: &&Path| home.is_some_and(|home| Path::new(home).starts_with(folder));
    folder.filter(|folder| folder.parent().is_some() && !has_a_home(folder)).unwrap_or(file)
}

/// The user as which a compiler runs, with a group of the same number; `None`: this process's own user, which is not
/// root.
pub(crate) fn user() -> Option<u32> {
    let spread = TRANSIENT_USERS.end - TRANSIENT_USERS.start;
    let user = TRANSIENT_USERS.start + std::process::id() % spread;
    // In a user namespace without this number, root is in fact an ordinary user.
    let map = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    (rustix::process::geteuid().is_root() && maps(&map, user)).then_some(user)
}

/// Whether a map of users has this number: its lines are the first number inside, the first outside, and the count.
fn maps(map: &str, user: u32) -> bool {
    map.lines().any(|line| {
        let mut numbers = line.split_whitespace().map(str::parse::<u64>);
        match (numbers.next(), numbers.next(), numbers.next()) {
            (Some(Ok(first)), Some(Ok(_)), Some(Ok(count))) => {
                u64::from(user).checked_sub(first).is_some_and(|behind| behind < count)
            }
            _ => false,
        }
    })
}

/// The outcome of a compiler.
pub(crate) struct Outcome {
    /// How it ended; `None`: it was killed when its time was over.
    pub(crate) status: Option<ExitStatus>,
    /// What this kernel could not keep it from, as text; empty: nothing.
    pub(crate) exposed: Vec<&'static str>,
}

/// Runs a compiler's command, as this user.
///
/// # Errors
/// The system's: it could not be confined, or could not be started.
pub(crate) fn run(
    command: &mut Command,
    compiler: &Compiler,
    folder: &Path,
    user: Option<u32>,
    limit: Duration,
) -> io::Result<Outcome> {
    if let Some(user) = user {
        // Setting the user also drops all other groups of this process.
        command.uid(user).gid(user);
    }
    let confined = || {
        let exposed = restrict(&compiler.home, folder)?;
        let status = process::run(command, limit)?;
        Ok(Outcome { status, exposed })
    };
    // A thread's restrictions hold for the processes that it starts, but not for other threads of this process.
    thread::scope(|scope| scope.spawn(confined).join())
        .unwrap_or_else(|_| Err(Error::other("the thread that runs the compiler has failed")))
}

/// Which limit a compiler has exceeded, as text, from its exit status and messages; `None`: none.
pub(crate) fn exceeded(status: ExitStatus, said: &str) -> Option<&'static str> {
    // Shells and compilers' drivers report the signal that ended a program in this way.
    let ended_by = |signal: Signal| {
        [status.signal(), status.code().map(|code| code - 128)].contains(&Some(signal.as_raw()))
    };
    let says = |parts: &[&str]| parts.iter().any(|part| said.contains(part));
    if ended_by(Signal::XFSZ) || says(&["File size limit exceeded", "File too large"]) {
        Some("it wrote a file of more than 64 MiB")
    } else if ended_by(Signal::XCPU) || says(&["CPU time limit exceeded"]) {
        Some("it took more than 120 s of CPU time")
    } else if says(&["out of memory", "virtual memory exhausted", "Cannot allocate memory", "bad_alloc"]) {
        Some("it needed more than 4 GiB of memory")
    } else {
        None
    }
}

/// What this machine could not keep a compiler of this user from, as text; empty: nothing.
///
/// # Errors
/// Compilers cannot be confined, so none would be started.
pub fn exposed() -> io::Result<Vec<&'static str>> {
    let nowhere = Path::new("/dev/null");
    let found = thread::scope(|scope| scope.spawn(|| restrict(nowhere, nowhere)).join());
    found.unwrap_or_else(|_| Err(Error::other("the thread that was to be confined has failed")))
}

/// Keeps this thread from everything that a compiler does not need. Returns, as text, what it could not keep it from.
fn restrict(compiler: &Path, folder: &Path) -> io::Result<Vec<&'static str>> {
    let has_own_network = unshare(CloneFlags::CLONE_NEWNET).is_ok();
    let status = restrict_files(compiler, folder).map_err(Error::other)?;
    let (files, network) = match status.landlock {
        LandlockStatus::Available { effective_abi, .. } => (true, effective_abi >= ABI::V4),
        _ => (false, false),
    };
    let mut exposed = Vec::new();
    exposed.extend((!files).then_some("files that the compiler's user may read"));
    exposed.extend((!network && !has_own_network).then_some("the network"));
    Ok(exposed)
}

fn restrict_files(compiler: &Path, folder: &Path) -> Result<RestrictionStatus, RulesetError> {
    // A kernel that knows fewer of these rights than this version of the crate restricts the ones that it knows.
    let abi = ABI::V10;
    let reading = AccessFs::from_read(abi);
    let writing: BitFlags<AccessFs> = AccessFs::ReadFile | AccessFs::WriteFile;
    Ruleset::default()
        .handle_access(AccessFs::from_all(abi))?
        .handle_access(AccessNet::from_all(abi))?
        .scope(Scope::from_all(abi))?
        .create()?
        .add_rules(path_beneath_rules(INSTALLED, reading))?
        .add_rules(path_beneath_rules([compiler], reading))?
        .add_rules(path_beneath_rules([folder], AccessFs::from_all(abi)))?
        .add_rules(path_beneath_rules(["/dev/null"], writing))?
        .restrict_self()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_compiler_comes_with_its_installation_but_never_with_a_home() {
        let home = Some(OsStr::new("/usr/home/me"));
        for (file, expected) in [
            ("/usr/llvm/bin/clang", "/usr/llvm"),
            ("/usr/local/bin/cc", "/usr/local"),
            ("/usr/home/me/llvm/bin/clang", "/usr/home/me/llvm"),
            ("/usr/home/me/bin/cc", "/usr/home/me/bin/cc"),
            ("/usr/home/bin/cc", "/usr/home/bin/cc"),
            ("/bin/cc", "/bin/cc"),
            ("/tmp/cc", "/tmp/cc"),
        ] {
            assert_eq!(installation(Path::new(file), home), Path::new(expected));
        }
    }

    #[test]
    fn limits_are_told_from_other_failures() {
        let (failed, size) = (ExitStatus::from_raw(0x100), ExitStatus::from_raw(25));
        let time = ExitStatus::from_raw(24);
        for (status, said, expected) in [
            (failed, "one.c:1:1: error: found no hook", None),
            (size, "", Some("64 MiB")),
            (ExitStatus::from_raw(153 << 8), "Stack dump:", Some("64 MiB")),
            (failed, "cc: internal compiler error: File size limit exceeded signal", Some("64 MiB")),
            (time, "", Some("120 s")),
            (ExitStatus::from_raw(152 << 8), "Stack dump:", Some("120 s")),
            (failed, "cc: internal compiler error: CPU time limit exceeded signal", Some("120 s")),
            (failed, "cc1: out of memory allocating 65536 bytes", Some("4 GiB")),
        ] {
            let found = exceeded(status, said);
            assert_eq!(found.is_some(), expected.is_some(), "{status}: {said}");
            assert!(
                found.zip(expected).is_none_or(|(found, expected)| found.contains(expected)),
                "{found:?}"
            );
        }
    }

    #[test]
    fn a_user_is_there_where_the_map_says_so() {
        for (map, is_there) in [
            ("         0          0 4294967295\n", true),
            ("0 1000 1\n", false),
            ("0 1000 1\n1 100000 65536\n", true),
            ("70000 0 10", false),
            ("", false),
            ("0 0 x", false),
        ] {
            assert_eq!(maps(map, 61184), is_there, "{map}");
        }
    }
}
