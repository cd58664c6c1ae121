//! Constant utilisation servers (Z. Deng, J. W.-S. Liu, J. Sun, "A Scheme for Scheduling Hard Real-Time Applications in
//! Open System Environment", Euromicro Workshop on Real-Time Systems 1997).
//!
//! A server of x in every y begins each job at some r, with the budget x and the deadline r + y, and the next one not
//! before its virtual deadline: r + y, or r + u*y/x if the child slept after it had used u. So jobs that begin and are
//! due within any window of length t have used U*t at most, U = x/y, on one CPU or several, below any supply: they
//! would be in time on a CPU of their own of speed U. That is what the analysis of the reservation scheduler relies on.
//!
//! A child that sleeps at s, r+u at the earliest, and wakes up before its virtual deadline waits for that for at most
//! u*y/x - u <= y-x, which is as long as the blackout in the first period of a reservation. From then on it has x in
//! every y. So while it wants the CPU it has no less than RESBH x,y promises, and no more: nothing since it woke up,
//! and then x in every y. Over its sleep no more than U*t + 2x(1-U) in any window: see `caps.rs`.

use super::{Entry, Instance, Limits, Provided, reservation};
use crate::derivation::Rule;

pub(super) const ENTRY: Entry = Entry {
    policy: "constant-utilisation-server",
    source: "Deng, Liu and Sun, Euromicro RTS 1997",
    accepts: "ALL (of one CPU or several), RESU, or any supply that carries the demand",
    provides: "RESBH budget,period to every child",
    limits: Limits::PaidBudget,
    provide,
};

const RULE: Rule = Rule { name: "constant utilisation", source: ENTRY.source };

fn provide(instance: &Instance) -> Provided {
    reservation::provide(instance).by(RULE)
}
