//! The machine that QEMU emulates: its processors, its memory, and how its time passes.
//!
//! Relies on what was measured with these options: with [`Time::Exact`] two runs of the same content on one processor
//! are the same to the byte, since instructions run at a fixed rate and every clock follows them. With several
//! processors, the instants at which they take turns have been seen to differ by a few nanoseconds.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::{Error, Kernel, tool, tsc};

/// The machine that a guest boots on.
#[derive(Debug, Clone)]
pub struct Machine {
    /// The number of processors.
    pub cpus: u32,
    /// How time passes in the guest.
    pub time: Time,
    /// Main memory in MiB. It holds the guest's files, twice while the guest boots.
    pub memory_mib: u32,
    /// Options at the end of the kernel's command line.
    pub append: String,
    /// How long the whole run may take, in time of the host.
    pub limit: Duration,
}

/// How time passes in the guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Time {
    /// As on the host.
    Free(Accel),
    /// By instructions: each takes 2^`shift` nanoseconds, and several processors take turns. A measurement that is
    /// repeated gives the same numbers.
    Exact {
        /// 0 is 1000 million instructions a second, 1 is 500, and so on.
        shift: u32,
    },
}

/// What runs the guest's processors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accel {
    /// KVM if a guest boots on KVM on this machine, else TCG.
    Auto,
    /// The host's processors.
    Kvm,
    /// Translation by QEMU: everywhere, and slow. The processors take turns.
    Tcg,
    /// Processors that run at once, each in a thread of the host: KVM if a guest boots on it, else translation. After a
    /// fault of the translation itself the guest is booted again (see [`crate::Outcome::emulator_faults`]).
    Parallel,
}

impl Default for Machine {
    /// Two processors and free time, for tests of behaviour; tests of cost use [`Time::Exact`].
    fn default() -> Machine {
        let time = Time::Free(Accel::Auto);
        Machine { cpus: 2, time, memory_mib: 1024, append: String::new(), limit: Duration::from_secs(300) }
    }
}

/// The emulator's program.
pub(crate) const QEMU: &str = "qemu-system-x86_64";

/// The flags by which a processor claims to copy, fill or compare bytes in one fast instruction. Emulated, that is a
/// loop of single bytes, in which the kernel spent a third of the time that it takes to load an engine.
const FAST_BYTES: [&str; 5] = ["erms", "fsrm", "fsrs", "fsrc", "fzrm"];

/// What the machine's command depends on besides the machine.
pub(crate) struct Host {
    /// `/proc/cpuinfo`.
    cpuinfo: String,
    /// The processor that QEMU emulates.
    cpu: String,
}

impl Host {
    /// # Errors
    /// QEMU is missing or fails.
    pub(crate) fn read() -> Result<Host, Error> {
        let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let known = tool::output(Command::new(QEMU).args(["-cpu", "help"]))?;
        Ok(Host { cpuinfo, cpu: emulated_cpu(&known) })
    }
}

/// A processor with all that QEMU can emulate, except the flags of fast bytes. QEMU refuses flags it does not know.
fn emulated_cpu(help: &str) -> String {
    let known: Vec<&str> = help.split_whitespace().collect();
    let without = FAST_BYTES.iter().filter(|flag| known.contains(flag));
    "max".to_owned() + &without.map(|flag| format!(",-{flag}")).collect::<String>()
}

/// The files behind the guest's three serial ports, in order: see `init.sh`.
pub(crate) const PORTS: [&str; 3] = ["kernel.log", "output.log", "out.tar.gz"];

/// The initramfs, in the same folder.
pub(crate) const INITRAMFS: &str = "initramfs.cpio";

/// The command that boots `machine` with what is in `folder`.
pub(crate) fn command(machine: &Machine, kernel: &Kernel, folder: &Path, host: &Host) -> Command {
    // Ends QEMU when this process is killed.
    let mut qemu = Command::new("setpriv");
    qemu.args(["--pdeathsig", "KILL", QEMU, "-nodefaults", "-display", "none", "-no-reboot"]);
    // At this log level warnings and errors reach the console.
    // The kernel does not check its timer: it would panic where the host stops the guest for some ticks.
    let mut append =
        "console=ttyS0 loglevel=5 panic=-1 edd=off mitigations=off tsc=reliable no_timer_check".to_owned();
    // With a thread for each processor QEMU has a fault: see emulator.rs. One thread is as fast to boot.
    let tcg = "tcg,thread=single";
    match machine.time {
        Time::Free(Accel::Kvm) => {
            qemu.args(["-accel", "kvm", "-cpu", "max"]);
        }
        Time::Free(Accel::Parallel) => {
            qemu.args(["-accel", "tcg,thread=multi", "-cpu", &host.cpu]);
            // After an oops little works, and a failure then says nothing.
            append += " oops=panic";
        }
        Time::Free(Accel::Auto | Accel::Tcg) => {
            qemu.args(["-accel", tcg, "-cpu", &host.cpu]);
        }
        Time::Exact { shift } => {
            qemu.args(["-accel", tcg, "-cpu", &host.cpu, "-icount", &format!("shift={shift},sleep=off")]);
            qemu.args(["-rtc", "base=2026-01-01,clock=vm", "-seed", "1"]);
            // These would make a switch cost more than scheduling does, or a boot differ from the next.
            append += " nokaslr nowatchdog psi=0";
        }
    }
    if let (Time::Free(Accel::Tcg | Accel::Parallel), Some(khz)) = (machine.time, tsc::khz(&host.cpuinfo)) {
        append += &format!(" tsc_early_khz={khz}");
    }
    qemu.args(["-smp", &machine.cpus.to_string()]);
    qemu.args(["-m", &machine.memory_mib.to_string()]);
    for port in PORTS {
        qemu.arg("-serial").arg(format!("file:{}", folder.join(port).display()));
    }
    qemu.arg("-kernel").arg(&kernel.image).arg("-initrd").arg(folder.join(INITRAMFS));
    qemu.args(["-append", format!("{append} {}", machine.append).trim_end()]);
    qemu
}

#[cfg(test)]
mod tests {
    use super::emulated_cpu;

    #[test]
    fn only_flags_that_qemu_knows_are_left_out() {
        assert_eq!(emulated_cpu("Recognized CPUID flags:\n  3dnow erms\n  fsrm fxsr"), "max,-erms,-fsrm");
        assert_eq!(emulated_cpu("fsrs erms fsrm fzrm fsrc"), "max,-erms,-fsrm,-fsrs,-fsrc,-fzrm");
    }
}
