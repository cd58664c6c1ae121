//! Recognises a fault of the emulator by the log of the guest's kernel: the guest is booted again for this fault only.
//!
//! QEMU 7.2 translates a processor's code without keeping the other processors from writing to it. A kernel that
//! patches its code puts a one-byte breakpoint, `int3`, on the instruction, writes the rest, and takes the breakpoint
//! off last. A processor that translates the instruction at that moment keeps the breakpoint for good, and the kernel,
//! which does not patch there any more, ends in an oops. Such an oops cannot be mistaken: the breakpoint that the
//! processor ran into is not in memory, where the instruction is whole.
//!
//! Relies on `oops=panic`, so that nothing follows the oops. Does no IO. What went wrong before the oops is never the
//! emulator's: a warning, a failed script, a scheduler that the kernel has ejected or is ejecting.

use crate::outcome;

/// How often a guest is booted again, at most.
pub(crate) const MOST_BOOTS_AGAIN: usize = 4;

/// How the kernel's report of an unexpected breakpoint begins.
const BREAKPOINT: &str = "Oops: int3: ";
/// The instructions that kernels patch: no-ops of five and two bytes, jumps and calls, as they are in memory.
const PATCHED: [&[u8]; 5] = [&[0x0f, 0x1f, 0x44, 0x00, 0x00], &[0x66, 0x90], &[0xe9], &[0xeb], &[0xe8]];
/// What scripts write to the kernel's log when a scheduler is attached, and before they detach it.
const RUNS: &str = "hls-vm: runs";
const STOPS: &str = "hls-vm: stops";
/// What the kernel says in an oops while a scheduler is attached, and not while it is being ejected: then, too, code is
/// patched.
const ATTACHED: &str = "Sched_ext: hls (enabled";
/// What is in the kernel's log when a script has failed (`init.sh` and the scripts write that), or a scheduler was
/// ejected.
pub(crate) const FAILED: [&str; 3] = ["hls-vm: FAILED", "sched_ext: BPF scheduler", "sched_ext: hls: "];

/// The emulator's fault that ended a boot, in words; `None`: whatever went wrong is the guest's own.
pub(crate) fn fault(kernel_log: &str) -> Option<String> {
    let problem = outcome::problems(kernel_log).into_iter().next()?;
    let at = kernel_log.find(&problem)?;
    let (before, oops) = kernel_log.split_at(at);
    let is_to_run = before.rfind(RUNS) > before.rfind(STOPS);
    let is_ours =
        FAILED.iter().any(|failure| before.contains(failure)) || is_to_run && !oops.contains(ATTACHED);
    if is_ours || !problem.contains(BREAKPOINT) || !is_in_no_memory(oops) {
        return None;
    }
    let place = oops.lines().find_map(|line| line.split_once("RIP: 0010:"))?.1;
    Some(format!("a processor ran into a breakpoint at {place} that is not in memory"))
}

/// Whether the code in an oops shows, where the processor ran into a breakpoint, a whole instruction of a kind that is
/// patched.
fn is_in_no_memory(oops: &str) -> bool {
    let code = oops.lines().find_map(|line| line.split_once("] Code: ")).map_or("", |(_, code)| code);
    // The instruction pointer, in angle brackets, is one byte behind the breakpoint.
    let Some((before, behind)) = code.split_once('<') else { return false };
    let Some(first) = before.split_whitespace().next_back() else { return false };
    let behind = behind.replace('>', "");
    let bytes: Option<Vec<u8>> = std::iter::once(first)
        .chain(behind.split_whitespace())
        .map(|byte| u8::from_str_radix(byte, 16).ok())
        .collect();
    bytes.is_some_and(|bytes| PATCHED.iter().any(|patched| bytes.starts_with(patched)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// The consoles of a folder, each with its name.
    fn consoles(folder: &str) -> Vec<(String, String)> {
        let folder = format!("{}/tests/console/{folder}", env!("CARGO_MANIFEST_DIR"));
        let read = |entry: std::io::Result<fs::DirEntry>| {
            let path = entry.unwrap().path();
            (path.display().to_string(), fs::read_to_string(&path).unwrap())
        };
        let consoles: Vec<_> = fs::read_dir(folder).unwrap().map(read).collect();
        assert!(!consoles.is_empty());
        consoles
    }

    #[test]
    fn faults_of_the_emulator_are_recognised() {
        for (name, console) in consoles("emulator") {
            let fault = fault(&console);
            assert!(fault.is_some_and(|said| said.contains("+0x")), "{name}");
        }
    }

    #[test]
    fn our_faults_are_not_blamed_on_the_emulator() {
        for (name, console) in consoles("ours") {
            assert_eq!(fault(&console), None, "{name}");
        }
    }

    /// Each console of a fault of the emulator, after an earlier failure, or without one of the marks of that fault.
    #[test]
    fn a_failure_before_a_fault_of_the_emulator_stays_ours() {
        let before = [
            "[    1.000000] hls-vm: FAILED: a hog stands still\n",
            "[    1.000000] sched_ext: BPF scheduler \"hls\" disabled (runnable task stall)\n",
            "[    1.000000] WARNING: kernel/sched/ext.c:1 at x\n",
            "[    1.000000] rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:\n",
        ];
        for (name, console) in consoles("emulator") {
            for line in before {
                assert_eq!(fault(&format!("{line}{console}")), None, "{name} after {line}");
            }
            let of_another_kind = console.replace(BREAKPOINT, "Oops: invalid opcode: ");
            assert_eq!(fault(&of_another_kind), None, "{name}");
            let in_user_space = console.replace("RIP: 0010:", "RIP: 0033:");
            assert_eq!(fault(&in_user_space), None, "{name}");
            let without_code = console.replace("] Code: ", "] ");
            assert_eq!(fault(&without_code), None, "{name}");
        }
    }

    #[test]
    fn a_breakpoint_that_is_in_memory_is_ours() {
        for (name, console) in consoles("emulator") {
            let lines = console.lines().map(|line| match line.split_once('<') {
                Some((before, behind)) if line.contains("] Code: ") => {
                    format!("{}cc <{behind}\n", &before[..before.len() - 3])
                }
                _ => format!("{line}\n"),
            });
            assert_eq!(fault(&lines.collect::<String>()), None, "{name}");
        }
    }

    #[test]
    fn an_ejection_is_ours_even_if_the_emulator_fails_during_the_detach() {
        for (name, console) in consoles("emulator") {
            let ejecting = console.replacen(BREAKPOINT, &format!("{RUNS}\n{BREAKPOINT}"), 1);
            assert_eq!(fault(&ejecting), None, "{name}");
            let stopping = ejecting.replacen(BREAKPOINT, &format!("{STOPS}\n{BREAKPOINT}"), 1);
            assert!(fault(&stopping).is_some(), "{name}");
            let attached = ejecting.replacen("RIP: 0010:", &format!("{ATTACHED}+all)\nRIP: 0010:"), 1);
            assert!(fault(&attached).is_some(), "{name}");
        }
    }
}
