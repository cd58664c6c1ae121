//! Facts about a machine, from `/proc`, `/sys` and the files beside its kernel.
//!
//! Only reads. If the file of a fact is absent or may not be read, the fact is `None`, or its value says so.

use super::btf::{self, Needed};
use flate2::read::GzDecoder;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// The options that a kernel must have been built with.
pub const NEEDED_OPTIONS: [&str; 4] =
    ["CONFIG_SCHED_CLASS_EXT", "CONFIG_BPF_SYSCALL", "CONFIG_BPF_JIT", "CONFIG_DEBUG_INFO_BTF"];

/// The option with which a kernel counts the time of interrupts separately.
pub const COUNTS_INTERRUPTS: &str = "CONFIG_IRQ_TIME_ACCOUNTING";

/// The most bytes of a kernel's configuration, many times the size of any that exists.
const MAX_CONFIG_BYTES: u64 = 1 << 24;

/// The known facts about a machine. Texts are without the line end.
#[derive(Clone, Debug)]
pub struct Facts {
    /// As `uname -r` prints it.
    pub release: Option<String>,
    /// As `uname -v` prints it.
    pub version: Option<String>,
    /// How the kernel was configured.
    pub config: Option<Config>,
    /// Whether the folder of sched_ext exists.
    pub has_sched_ext: bool,
    /// Whether a BPF scheduler is loaded: `disabled`, `enabled` and states between.
    pub scheduler_state: Option<String>,
    /// The name of the BPF scheduler that is loaded.
    pub scheduler: Option<String>,
    /// What the kernel's BTF has.
    pub btf: Btf,
    /// The setting `net.core.bpf_jit_enable`.
    pub jit: Option<String>,
    /// Whether the kernel says that it is a real-time one.
    pub is_realtime: bool,
    /// Whether a thread may be preempted while it reads data that RCU protects, by the kernel's BTF.
    pub has_preemptible_rcu: Option<bool>,
    /// The levels of lockdown, the current one in brackets.
    pub lockdown: Option<String>,
    /// The capabilities that this process has now, a bit each.
    pub capabilities: Option<u64>,
    /// Whether this process is in a user namespace, where capabilities hold only for the namespace.
    pub is_in_user_namespace: bool,
    /// Whether cgroup v2 is at the expected place.
    pub has_cgroup2: bool,
    /// One more than the largest number of an online CPU.
    pub cpus: Option<u32>,
}

/// How a kernel was configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// The file from which the configuration was read.
    pub path: String,
    /// The [`NEEDED_OPTIONS`] that are not built in.
    pub lacks: Vec<&'static str>,
    /// Whether the time of interrupts is counted separately from the time of the threads that they interrupt.
    pub counts_interrupts: bool,
}

/// What a kernel's BTF has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Btf {
    /// The kernel shows no BTF.
    Absent,
    /// The BTF cannot be read, for this reason.
    Unreadable(String),
    /// The BTF lacks these of the names that the engine needs.
    Lacks(Vec<Needed>),
}

impl Facts {
    /// Reads the facts from the files below a root folder: `/`, or a folder made up for a test.
    pub fn gather(root: &Path) -> Facts {
        let text = |path: &str| {
            let bytes = fs::read(root.join(path)).ok()?;
            Some(String::from_utf8_lossy(&bytes).trim().to_owned())
        };
        let exists = |path: &str| root.join(path).exists();
        let release = text("proc/sys/kernel/osrelease");
        let types = fs::read(root.join("sys/kernel/btf/vmlinux"));
        Facts {
            config: release.as_deref().and_then(|release| config(root, release)),
            release,
            version: text("proc/sys/kernel/version"),
            has_sched_ext: exists("sys/kernel/sched_ext"),
            scheduler_state: text("sys/kernel/sched_ext/state"),
            scheduler: text("sys/kernel/sched_ext/root/ops"),
            has_preemptible_rcu: types.as_ref().ok().and_then(|types| btf::has_preemptible_rcu(types)),
            btf: btf(types),
            jit: text("proc/sys/net/core/bpf_jit_enable"),
            is_realtime: text("sys/kernel/realtime").is_some_and(|flag| flag == "1"),
            lockdown: text("sys/kernel/security/lockdown"),
            capabilities: text("proc/self/status").and_then(|status| capabilities(&status)),
            is_in_user_namespace: text("proc/self/uid_map").is_some_and(|map| !is_whole(&map)),
            has_cgroup2: exists("sys/fs/cgroup/cgroup.controllers"),
            cpus: cpus(root, "online"),
        }
    }
}

/// The configuration of the kernel of this release, from the first of the places where one is found.
fn config(root: &Path, release: &str) -> Option<Config> {
    let beside = [format!("boot/config-{release}"), format!("usr/lib/modules/{release}/config")];
    let of_kernel = "proc/config.gz".to_owned();
    std::iter::once(of_kernel).chain(beside).find_map(|path| {
        let text = read_config(&root.join(&path)).ok()?;
        let is_set = |option: &&str| text.lines().any(|line| line.strip_prefix(*option) == Some("=y"));
        let lacks = NEEDED_OPTIONS.into_iter().filter(|option| !is_set(option)).collect();
        Some(Config { path: format!("/{path}"), lacks, counts_interrupts: is_set(&COUNTS_INTERRUPTS) })
    })
}

fn read_config(path: &Path) -> io::Result<String> {
    let file = File::open(path)?;
    let mut text = Vec::new();
    match path.extension().is_some_and(|extension| extension == "gz") {
        true => GzDecoder::new(file).take(MAX_CONFIG_BYTES).read_to_end(&mut text)?,
        false => file.take(MAX_CONFIG_BYTES).read_to_end(&mut text)?,
    };
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn btf(types: io::Result<Vec<u8>>) -> Btf {
    match types {
        Ok(bytes) => match btf::lacking(&bytes) {
            Some(lacking) => Btf::Lacks(lacking),
            None => Btf::Unreadable("it is no BTF".to_owned()),
        },
        Err(error) if error.kind() == ErrorKind::NotFound => Btf::Absent,
        Err(error) => Btf::Unreadable(error.to_string()),
    }
}

/// The effective capabilities in a process's status.
fn capabilities(status: &str) -> Option<u64> {
    let bits = status.lines().find_map(|line| line.strip_prefix("CapEff:"))?;
    u64::from_str_radix(bits.trim(), 16).ok()
}

/// Whether a user namespace's map is the map of the whole machine, where every user number stands for itself.
fn is_whole(map: &str) -> bool {
    map.split_whitespace().eq(["0", "0", "4294967295"])
}

/// One more than the largest number of a CPU, from the files below this root folder. `which` is `online`, or
/// `present`, which includes offline CPUs.
pub fn cpus(root: &Path, which: &str) -> Option<u32> {
    // A list such as `0-3,8`.
    let list = fs::read_to_string(root.join("sys/devices/system/cpu").join(which)).ok()?;
    list.trim().rsplit([',', '-']).next()?.parse::<u32>().ok()?.checked_add(1)
}
