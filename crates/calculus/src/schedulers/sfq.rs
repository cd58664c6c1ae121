//! Start-time fair queuing (P. Goyal, X. Guo, H. M. Vin, "A Hierarchical CPU Scheduler for Multimedia Operating
//! Systems", OSDI 1996; HLS section 5.1): the proportional-share scheduler without warps, and with the bounds of that
//! scheduler.

use super::{Entry, Limits, proportional_share};

pub(super) const ENTRY: Entry = Entry {
    policy: "sfq",
    source: "Goyal, Guo and Vin, OSDI 1996",
    accepts: proportional_share::ENTRY.accepts,
    provides: proportional_share::ENTRY.provides,
    limits: Limits::Nothing,
    provide: proportional_share::provide,
};
