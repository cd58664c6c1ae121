//! Why the kernel's verifier refuses a build, by the lines of the policy author's file.
//!
//! Its log has the programs' instructions in the order of the check, with source lines between them, `; TEXT @
//! FILE:LINE`, and ends with the error. Logs may have hundreds of megabytes, so they are read from their end.

use crate::diagnostic::{Diagnostic, Error};
use crate::file::PolicyFile;
use crate::words::in_words;

/// Why a BPF object with these policies is not loaded, from the messages of libbpf, which contain the verifier's log.
/// [`Error::System`] if the policies are not the cause.
pub fn verifier_error(log: &str, policies: &[(u8, PolicyFile)]) -> Error {
    let refusal = of_the_verifier(log, policies).or_else(|| of_libbpf(log, policies));
    refusal.map_or_else(
        || Error::System(format!("the kernel does not load the BPF build of the core: {}", log.trim())),
        |refusal| Error::Refused(vec![refusal]),
    )
}

fn of_the_verifier(log: &str, policies: &[(u8, PolicyFile)]) -> Option<Diagnostic> {
    let mut lines = log.lines().rev().skip_while(|line| !line.starts_with("processed ")).skip(1);
    // Skips the two states that the verifier prints for a loop that makes no progress.
    let message = lines.find(|line| !line.starts_with("cur state:") && !line.starts_with("old state:"))?;
    let place = lines.find_map(|line| {
        let (file, line) = line.strip_prefix("; ")?.rsplit_once(" @ ")?.1.rsplit_once(':')?;
        let (_, found) =
            policies.iter().find(|(_, policy)| file.strip_suffix(".c") == Some(policy.identifier()))?;
        Some((found, line.parse().ok()?))
    });
    let (file, line) = match place {
        Some((file, line)) => (file, Some(line)),
        // The policy that was added last.
        None => (&policies.last()?.1, None),
    };
    Some(Diagnostic::error(file.path(), line, in_words(message)))
}

/// libbpf finds calls of functions that do not exist, before it asks the verifier.
fn of_libbpf(log: &str, policies: &[(u8, PolicyFile)]) -> Option<Diagnostic> {
    log.lines().find_map(|line| {
        let message = line.strip_prefix("libbpf: ").filter(|message| message.contains("extern"))?;
        let word = message.split('\'').nth(1)?;
        let found = policies.iter().find_map(|(_, file)| Some((file, file.line_with(word)?)));
        found.map(|(file, line)| Diagnostic::error(file.path(), Some(line), in_words(message)))
    })
}
