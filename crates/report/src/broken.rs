//! A broken promise in words, and a policy that was disabled, each on one line. Relies on the topology for names,
//! which may be hostile.

use crate::format::{shorten, time_exact};
use hls_monitor::promises::Broken;
use hls_monitor::result::{Cause, PolicyDisabled, Topology};
use hls_monitor::windows::Missed;
use hls_units::Nanos;

/// No name is longer.
const NAME_WIDTH: usize = 24;

/// When a promise broke, to which VP, the promise, the promiser, the shortfall or excess, what was stolen, and the
/// cause.
pub fn broken_in_words(topology: &Topology, broken: &Broken) -> String {
    let Broken { vp, ref guarantee, breach, cause } = *broken;
    let to = shorten(topology.child_name(vp), NAME_WIDTH);
    let by = shorten(topology.parent_name(vp).unwrap_or("the machine"), NAME_WIDTH);
    let [at, from, got] = [breach.to, breach.from, breach.got].map(time_exact);
    let in_window = |bound: &str, promised: Nanos, length: Nanos| {
        format!("{bound} {} in {}, and got {got}", time_exact(promised), time_exact(length))
    };
    let how = match breach.what {
        Missed::Window(window) => in_window("at least", window.promised, window.length),
        Missed::Excess(window) => in_window("at most", window.allowed.unwrap_or_default(), window.length),
        Missed::InRequest { missing } => {
            let since = time_exact(breach.to.saturating_sub(breach.from));
            let missing = time_exact(missing);
            format!(
                "and {since} after it woke up, at {from}, it lacks {missing} of what was due; it got {got}"
            )
        }
    };
    let mut line = format!("{at}: BROKEN: {to} was promised {guarantee} by {by}, {how}");
    if breach.stolen > Nanos::ZERO {
        line += &format!("; {} stolen", time_exact(breach.stolen));
    }
    if let Some(cause) = cause {
        line += &format!("; {}", cause_in_words(topology, cause));
    }
    line
}

/// The scheduler, its policy that was disabled, when and why, and the fallback.
pub fn disabled_in_words(disabled: &PolicyDisabled) -> String {
    let PolicyDisabled { at, scheduler, policy, violation, fallback } = disabled;
    let [scheduler, policy] = [scheduler, policy].map(|name| shorten(name, NAME_WIDTH));
    let at = time_exact(*at);
    format!("{at}: DISABLED: {policy} of {scheduler}, since {violation}; {fallback} is in its place")
}

/// Why a promise broke.
pub(crate) fn cause_in_words(topology: &Topology, cause: Cause) -> String {
    match cause {
        Cause::Above(vp) => {
            let name = shorten(topology.child_name(vp), NAME_WIDTH);
            let above = shorten(topology.parent_name(vp).unwrap_or("the machine"), NAME_WIDTH);
            format!("{name} got too little itself from {above} at that time")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hls_monitor::event::{ObservedScheduler, ObservedVp};
    use hls_monitor::result::{Child, SchedulerInfo, VpInfo};
    use hls_monitor::windows::{Breach, Window};

    #[test]
    fn a_line_says_all_that_is_known() {
        let vp = |name: &str, parent, child| VpInfo { name: name.into(), parent, child, ..VpInfo::default() };
        let topology = Topology {
            cpus: 1,
            schedulers: vec![SchedulerInfo { name: "RES".into(), policy: "reservation".into() }],
            vps: vec![
                VpInfo::default(),
                vp("RES", None, Child::Scheduler(ObservedScheduler(0))),
                vp("vid\neo", Some(ObservedScheduler(0)), Child::Thread),
            ],
        };
        let ms = Nanos::from_millis;
        let window = Window { length: ms(66), promised: ms(5), allowed: Some(ms(15)), accounted: ms(0) };
        let what = Missed::Window(window);
        let breach = Breach { from: ms(10), to: ms(76), got: ms(3), stolen: ms(1), what };
        let mut broken = Broken {
            vp: ObservedVp(2),
            guarantee: "RESBH 5ms 33ms".into(),
            breach,
            cause: Some(Cause::Above(ObservedVp(1))),
        };
        assert_eq!(
            broken_in_words(&topology, &broken),
            "76ms: BROKEN: vid\u{fffd}eo was promised RESBH 5ms 33ms by RES, at least 5ms in 66ms, and got 3ms; \
             1ms stolen; RES got too little itself from the machine at that time"
        );
        let disabled = PolicyDisabled {
            at: ms(1500),
            scheduler: "A".into(),
            policy: "turns".into(),
            violation: "it spun".into(),
            fallback: "join".into(),
        };
        let line = disabled_in_words(&disabled);
        assert_eq!(line, "1.5s: DISABLED: turns of A, since it spun; join is in its place");
        broken.breach = Breach { got: ms(16), stolen: ms(0), what: Missed::Excess(window), ..breach };
        broken.cause = None;
        assert!(broken_in_words(&topology, &broken).ends_with("at most 15ms in 66ms, and got 16ms"));
        broken.breach = Breach { what: Missed::InRequest { missing: ms(2) }, ..breach };
        assert_eq!(
            broken_in_words(&topology, &broken),
            "76ms: BROKEN: vid\u{fffd}eo was promised RESBH 5ms 33ms by RES, and 66ms after it woke up, at 10ms, it \
             lacks 2ms of what was due; it got 3ms; 1ms stolen"
        );
    }
}
