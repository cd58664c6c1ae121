//! The hierarchies of thesis Figure 10.2, to any depth: two threads, each at the end of its own chain of schedulers,
//! under one root.
//!
//! ```text
//!            S            level 1
//!          /   \
//!        A-2   B-2        level 2
//!         |     |
//!        A-3   B-3        level 3
//!         |     |
//!         A     B         threads
//! ```

use std::fmt::Write;

/// The policies that can make up a chain, each with what its children must be given.
pub const POLICIES: [(&str, &str); 4] = [
    ("time-sharing", ""),
    ("fixed-priority", " priority=1"),
    ("proportional-share", ""),
    ("round-robin", ""),
];

/// The text of a hierarchy `depth` levels of schedulers deep (at least 1), all of one policy.
pub fn hierarchy((policy, child): (&str, &str), depth: u32) -> String {
    let mut text = format!("{policy} \"S\" {{\n");
    for name in ["A", "B"] {
        for level in 2..=depth {
            let _ = writeln!(text, "{policy} \"{name}-{level}\"{child} {{");
        }
        let _ = writeln!(text, "thread \"{name}\"{child} {{ cpu-bound; }}");
        text.extend((2..=depth).map(|_| "}\n"));
    }
    text.push_str("}\n");
    text
}
