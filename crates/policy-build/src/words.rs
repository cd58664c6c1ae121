//! Translates messages of the compiler and the verifier about BPF into the terms of a policy author.

/// The meanings of messages that contain one of these texts; the first match counts.
const WORDS: &[(&[&str], &str)] = &[
    (
        &["infinite loop detected", "back-edge", "loop is not bounded"],
        "a loop without an end that the verifier can see: start its counter at opaque(0), and have a named bound and \
         can_loop in its condition",
    ),
    (
        &["BPF program is too large", "too complex", "too many states"],
        "more paths through the policy than the verifier follows: a loop lacks opaque(0) or can_loop, a function \
         calls itself, or the policy is too long",
    ),
    (
        &["stack limit is exceeded", "combined stack size", "stack size"],
        "too much stack: all functions along a chain of calls share 512 bytes, most of which the core has. Keep \
         less in local variables, more in the words of the scheduler and its VPs",
    ),
    (&["call stack of", "frames is too deep"], "calls nest too deep: let the function be inlined"),
    (
        &["invalid mem access", "invalid access to memory"],
        "a value that is not an address is used as one: name schedulers, VPs and CPUs by their index into the \
         arrays of `h`",
    ),
    (
        &["variable-offset", "invalid access to map value", "outside of the allowed memory", "is negative"],
        "an index that may lie outside of its array: compare it with the array's length first",
    ),
    (
        &["unknown opcode 8d"],
        "a call through a pointer, which BPF lacks: choose with `switch` among functions",
    ),
    (
        &[
            "invalid func unknown",
            "unknown func",
            "failed to find BTF for extern",
            "extern (func ksym)",
            "is not allowed",
            "undefined reference",
        ],
        "a function that does not exist: a policy calls its own functions and those that `hls policy contract` prints",
    ),
    (&["!read_ok"], "a variable that is read before anything was written to it"),
    (
        &["memory intrinsic", "built-in function 'mem"],
        "a struct or an array is set or copied as a whole, for which BPF has no function: set its members",
    ),
    (&["built-in function '__"], "arithmetic that BPF lacks, such as floating point: use whole numbers"),
];

/// A message in these words, followed by the original; the original alone if no words fit.
pub(crate) fn in_words(message: &str) -> String {
    let known = WORDS.iter().find(|(parts, _)| parts.iter().any(|part| message.contains(part)));
    match known {
        Some((_, words)) => format!("{words} ({message})"),
        None => message.to_owned(),
    }
}
