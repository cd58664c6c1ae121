//! Judges what the facts about a machine mean for the kernel engine, and what to do.
//!
//! Each rule is a function. Relies only on the facts.

use super::btf::Needed;
use super::facts::{Btf, COUNTS_INTERRUPTS, Facts};
use hls_core::limits::MAX_CPUS;
use serde::Serialize;

/// How much something matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The fact is as it should be.
    Good,
    /// Hierarchies run, but something will not be as expected.
    Warning,
    /// No hierarchy runs.
    Blocks,
}

/// One checked property.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The property.
    pub what: &'static str,
    /// How much the finding matters.
    pub verdict: Verdict,
    /// What was found.
    pub found: String,
    /// What to do, if anything.
    pub advice: Option<String>,
}

impl Finding {
    fn new(what: &'static str, verdict: Verdict, found: impl Into<String>, advice: &str) -> Finding {
        let advice = Some(advice.to_owned()).filter(|advice| !advice.is_empty());
        Finding { what, verdict, found: found.into(), advice }
    }

    fn good(what: &'static str, found: impl Into<String>) -> Finding {
        Finding::new(what, Verdict::Good, found, "")
    }

    fn warning(what: &'static str, found: impl Into<String>, advice: &str) -> Finding {
        Finding::new(what, Verdict::Warning, found, advice)
    }

    fn blocks(what: &'static str, found: impl Into<String>, advice: &str) -> Finding {
        Finding::new(what, Verdict::Blocks, found, advice)
    }
}

/// One rule; `None` where it has nothing to report.
type Rule = fn(&Facts) -> Option<Finding>;

const RULES: [Rule; 12] = [
    linux,
    sched_ext,
    configuration,
    btf,
    jit,
    other_scheduler,
    preemption,
    interrupts,
    lockdown,
    rights,
    cgroups,
    cpus,
];

/// The first Linux with sched_ext; arenas are older.
const SCHED_EXT_SINCE: (u32, u32) = (6, 12);
/// The Linux with which HLS is tested.
const TESTED: (u32, u32) = (7, 3);
/// The beginning of our own scheduler's name.
const OURS: &str = "hls";
const CAP_SYS_ADMIN: u32 = 21;
const CAP_PERFMON: u32 = 38;
const CAP_BPF: u32 = 39;

const WITH_SCHED_EXT: &str = "boot a kernel that is built with CONFIG_SCHED_CLASS_EXT=y; distributions have it in \
    their newest kernels (Debian: in backports)";
const AS_ROOT: &str = "be root: `sudo hls doctor`, `sudo hls run`";

/// A finding for every checked property, in the order in which a person would fix them.
pub fn judge(facts: &Facts) -> Vec<Finding> {
    RULES.iter().filter_map(|rule| rule(facts)).collect()
}

/// Whether hierarchies run on a machine with these findings.
pub fn can_run(findings: &[Finding]) -> bool {
    findings.iter().all(|finding| finding.verdict != Verdict::Blocks)
}

/// The version matters only if the kernel does not show sched_ext: some older kernels have a backport of sched_ext.
fn linux(facts: &Facts) -> Option<Finding> {
    const WHAT: &str = "Linux";
    let Some((release, version)) = facts.release.as_ref().and_then(|it| Some((it, numbers(it)?))) else {
        let found = facts.release.clone().unwrap_or_else(|| "a kernel that does not tell its version".into());
        return Some(Finding::warning(WHAT, found, "check that it is 6.12 or newer"));
    };
    Some(match version >= SCHED_EXT_SINCE {
        true if version != TESTED => {
            let (major, minor) = TESTED;
            let found = format!("{release}; HLS is tested with {major}.{minor} alone");
            Finding::warning(WHAT, found, "try it where nobody depends on it")
        }
        true => Finding::good(WHAT, release),
        false if facts.has_sched_ext => {
            let found = format!("{release}, older than sched_ext, which was backported to it");
            Finding::warning(WHAT, found, "nothing to do if all else is good")
        }
        false => {
            Finding::blocks(WHAT, format!("{release}, older than sched_ext"), "boot Linux 6.12 or newer")
        }
    })
}

/// The first two numbers of a version.
fn numbers(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|number| number.parse().ok());
    Some((numbers.next()??, numbers.next()??))
}

fn sched_ext(facts: &Facts) -> Option<Finding> {
    const WHAT: &str = "sched_ext";
    Some(match facts.has_sched_ext {
        true => Finding::good(WHAT, "the kernel has it"),
        false => {
            Finding::blocks(WHAT, "the kernel does not have it (no /sys/kernel/sched_ext)", WITH_SCHED_EXT)
        }
    })
}

fn configuration(facts: &Facts) -> Option<Finding> {
    const WHAT: &str = "configuration";
    let Some(config) = &facts.config else {
        let found = "this kernel does not show how it was built";
        return Some(Finding::warning(WHAT, found, "nothing to do if all else is good"));
    };
    if config.lacks.is_empty() {
        return Some(Finding::good(WHAT, format!("{} has all that is needed", config.path)));
    }
    let found = format!("built without {} (says {})", config.lacks.join(", "), config.path);
    Some(Finding::blocks(WHAT, found, "boot a kernel that is built with it (=y)"))
}

/// If a kernel does not count the time of interrupts, it is charged to the interrupted thread, and nothing shows
/// that.
fn interrupts(facts: &Facts) -> Option<Finding> {
    const WHAT: &str = "time of interrupts";
    Some(match facts.config.as_ref()?.counts_interrupts {
        true => Finding::good(WHAT, "the kernel counts it as stolen"),
        false => {
            let found = format!(
                "counted as time of the threads that they interrupt ({COUNTS_INTERRUPTS} is not set)"
            );
            let advice = "nothing to do where interrupts are few; otherwise have threads do the work of \
                network devices (`source=\"napi:DEVICE\"` in the hierarchy), which is counted as theirs";
            Finding::warning(WHAT, found, advice)
        }
    })
}

fn btf(facts: &Facts) -> Option<Finding> {
    const WHAT: &str = "BTF";
    let lacking = match &facts.btf {
        Btf::Absent => {
            let found = "the kernel does not describe its types (no /sys/kernel/btf/vmlinux)";
            let advice = "boot a kernel that is built with CONFIG_DEBUG_INFO_BTF=y";
            return Some(Finding::blocks(WHAT, found, advice));
        }
        Btf::Unreadable(why) => {
            let found = format!("/sys/kernel/btf/vmlinux cannot be read: {why}");
            return Some(Finding::blocks(
                WHAT,
                found,
                "be root; if that changes nothing, boot another kernel",
            ));
        }
        Btf::Lacks(lacking) => lacking,
    };
    // If sched_ext is missing, the names that came with it are not reported in addition.
    let is_missed = |needed: &&Needed| facts.has_sched_ext || needed.since < SCHED_EXT_SINCE;
    let missed: Vec<&Needed> = lacking.iter().filter(is_missed).collect();
    let Some((major, minor)) = missed.iter().map(|needed| needed.since).max() else {
        let found = match lacking.is_empty() {
            true => "the kernel has every function and type that is needed",
            false => "the kernel has every function and type that is needed, except for sched_ext",
        };
        return Some(Finding::good(WHAT, found));
    };
    let names: Vec<&str> = missed.iter().map(|needed| needed.name).collect();
    let advice = format!("boot Linux {major}.{minor} or newer");
    Some(Finding::blocks(WHAT, format!("the kernel lacks {}", names.join(", ")), &advice))
}

/// Kernel functions and arenas are for compiled programs only.
fn jit(facts: &Facts) -> Option<Finding> {
    const WHAT: &str = "BPF JIT";
    Some(match facts.jit.as_deref()? {
        "0" => Finding::blocks(WHAT, "switched off", "sysctl net.core.bpf_jit_enable=1"),
        _ => Finding::good(WHAT, "switched on"),
    })
}

fn other_scheduler(facts: &Facts) -> Option<Finding> {
    const WHAT: &str = "other schedulers";
    let state = facts.scheduler_state.as_deref()?;
    if state == "disabled" {
        return Some(Finding::good(WHAT, "none is loaded"));
    }
    let name = facts.scheduler.as_deref().unwrap_or("one without a name");
    let advice = match name.starts_with(OURS) {
        true => "a hierarchy runs already: change it with `hls ctl`, or end that `hls run`",
        false => {
            "end it first: the service that loads it (`systemctl stop scx`, or scx_loader) or its process"
        }
    };
    Some(Finding::blocks(WHAT, format!("{name} is loaded ({state})"), advice))
}

/// How the kernel's own code is preempted. The verifier of a PREEMPT_RT kernel lets no BPF program set timers, so the
/// engine polls the time in pulses there (`pulse.rs`). Whether RCU is preemptible decides how the engine finds
/// threads that may not leave their CPU (`is_bound` in `bpf/engine.bpf.c`).
fn preemption(facts: &Facts) -> Option<Finding> {
    const WHAT: &str = "preemption";
    let says_so = facts.version.as_ref().is_some_and(|version| version.contains("PREEMPT_RT"));
    if says_so || facts.is_realtime {
        let found = "a PREEMPT_RT kernel: budgets end up to 250 us late, because BPF programs have no \
            timers, and interrupts are real-time threads, which come before every hierarchy";
        let advice = "expect overruns and more stolen time, or boot a kernel without PREEMPT_RT";
        return Some(Finding::warning(WHAT, found, advice));
    }
    Some(match facts.has_preemptible_rcu? {
        true => Finding::good(
            WHAT,
            "as in the kernel with which HLS is tested: RCU is preemptible (CONFIG_PREEMPT_RCU)",
        ),
        false => {
            let found = "RCU is not preemptible (no CONFIG_PREEMPT_RCU); HLS allows for that, untested";
            let advice = "try it where nobody depends on it, or boot a kernel with CONFIG_PREEMPT_DYNAMIC=y";
            Finding::warning(WHAT, found, advice)
        }
    })
}

/// Only the strictest level keeps BPF from reading the kernel's memory.
fn lockdown(facts: &Facts) -> Option<Finding> {
    const WHAT: &str = "lockdown";
    let levels = facts.lockdown.as_deref()?;
    let level = levels.split('[').nth(1).and_then(|rest| rest.split(']').next()).unwrap_or(levels);
    Some(match level {
        "confidentiality" => {
            Finding::blocks(WHAT, level, "boot with lockdown=integrity, or without lockdown")
        }
        _ => Finding::good(WHAT, level),
    })
}

fn rights(facts: &Facts) -> Option<Finding> {
    const WHAT: &str = "rights";
    let Some(held) = facts.capabilities else {
        return Some(Finding::warning(WHAT, "unknown", AS_ROOT));
    };
    let has = |capability: u32| held >> capability & 1 == 1;
    if facts.is_in_user_namespace {
        let found = "in a user namespace, where even root has no rights over the kernel";
        return Some(Finding::blocks(WHAT, found, "run it outside of the container"));
    }
    if has(CAP_SYS_ADMIN) || (has(CAP_BPF) && has(CAP_PERFMON)) {
        return Some(Finding::good(WHAT, "this process may load a scheduler"));
    }
    let wanted = [(CAP_BPF, "CAP_BPF"), (CAP_PERFMON, "CAP_PERFMON")];
    let lacking: Vec<&str> = wanted.iter().filter(|(at, _)| !has(*at)).map(|(_, name)| *name).collect();
    let found = format!("this process lacks {} (CAP_SYS_ADMIN would do too)", lacking.join(" and "));
    Some(Finding::blocks(WHAT, found, AS_ROOT))
}

fn cgroups(facts: &Facts) -> Option<Finding> {
    const WHAT: &str = "cgroup v2";
    let found = "not mounted at /sys/fs/cgroup: `cgroup` and `unit` in a file match no threads";
    let advice = "mount -t cgroup2 none /sys/fs/cgroup; systemd does so by default";
    Some(match facts.has_cgroup2 {
        true => Finding::good(WHAT, "mounted at /sys/fs/cgroup"),
        false => Finding::warning(WHAT, found, advice),
    })
}

fn cpus(facts: &Facts) -> Option<Finding> {
    const WHAT: &str = "CPUs";
    let Some(cpus) = facts.cpus else {
        return Some(Finding::warning(WHAT, "unknown", &format!("check that there are {MAX_CPUS} at most")));
    };
    if cpus as usize <= MAX_CPUS {
        return Some(Finding::good(WHAT, format!("{cpus}, of at most {MAX_CPUS}")));
    }
    let found = format!("{cpus}, more than the {MAX_CPUS} that a hierarchy may have");
    Some(Finding::blocks(WHAT, found, &format!("boot with nr_cpus={MAX_CPUS}")))
}
