//! The core's records in the numbers of the result.

use crate::ObservedSchedulers;
use hls_core::{RawRecord, RecordKind};
use hls_monitor::event::{ObservedVp, Record, What};

/// A record of the core in the numbers of the result; `None`: its scheduler no longer exists. The other arguments are
/// as in [`Built`](crate::Built).
pub fn planned_record(
    planned: &[ObservedVp],
    observed: &ObservedSchedulers,
    raw: RawRecord,
) -> Option<Record> {
    let vp = planned.get(raw.vp.index()).copied().unwrap_or(ObservedVp::NONE);
    Some(Record { at: raw.at, vp, cpu: raw.cpu, what: what(observed, raw.kind)? })
}

fn what(observed: &ObservedSchedulers, kind: RecordKind) -> Option<What> {
    Some(match kind {
        RecordKind::Request => What::Request,
        RecordKind::Grant => What::Grant,
        RecordKind::Revoke => What::Revoke,
        RecordKind::Release => What::Release,
        RecordKind::Throttle => What::Throttle,
        RecordKind::Hold { is_agent } => What::Hold { is_agent },
        RecordKind::Replenish { budget, deadline } => What::Replenish { budget, deadline },
        RecordKind::Pay { length } => What::Pay { length },
        RecordKind::Stolen { length } => What::Stolen { length },
        RecordKind::Offline => What::Offline,
        RecordKind::Online => What::Online,
        RecordKind::Fallback { scheduler, violation, .. } => {
            What::PolicyDisabled { scheduler: observed.get(scheduler)?, violation }
        }
    })
}
