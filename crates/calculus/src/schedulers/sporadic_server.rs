//! Sporadic servers (Sprunt, Sha and Lehoczky, Real-Time Systems 1989).
//!
//! Each piece of a server's budget is a task whose jobs begin when the child could use the piece first, a period apart
//! at least, and wait or run until the piece is used or given up. So to those below it all pieces together are a
//! periodic task: see `responses.rs`. What comes back later than it could (`policies/sporadic_server.c` keeps two
//! times) only makes jobs later.
//!
//! With timers that go off in time a child would have PSBE C/T, (C/T)*(T+R-C), R being its response time: all of its
//! budget is back by a period after it woke up, and then comes back in two pieces. Where timers are late that was seen
//! to break, on a real kernel: what a late timer lets a server have beyond its budget makes a third piece, for whose
//! time there is no room. So nothing is promised.

use super::{Entry, Instance, Limits, Provided};
use crate::derivation::Rule;

pub(super) const ENTRY: Entry = Entry {
    policy: "sporadic-server",
    source: "Sprunt, Sha and Lehoczky, Real-Time Systems 1989",
    accepts: "anything",
    provides: "NULL to every child; ALL where there is a CPU for each",
    joins: false,
    limits: Limits::Nothing,
    description: None,
    provide,
};

const RULE: Rule = Rule { name: "sporadic server", source: ENTRY.source };

fn provide(instance: &Instance) -> Provided {
    let reason = "no bound is known that holds where timers are late";
    instance.a_cpu_each().unwrap_or_else(|| instance.nothing(RULE, reason))
}

#[cfg(test)]
mod tests {
    use crate::schedulers::tests::labels;

    #[test]
    fn nothing_is_promised_beside_others() {
        let server = [("budget", 4), ("period", 10), ("priority", 1)];
        assert_eq!(labels("sporadic-server", "ALL", &[], &[&server, &server]), ["NULL"; 2]);
    }
}
