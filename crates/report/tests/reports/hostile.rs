//! Records that no engine should send: nothing panics, and the picture stays well-formed.

use crate::support;
use hls_monitor::event::{ObservedVp, Record, What};
use hls_monitor::observe::{Observer, Pace, Promise};
use hls_monitor::requests::{Accounted, Periodic, RequestRule, RequestTest, Wakes};
use hls_monitor::windows::Window;
use hls_report::timehist::TimeHist;
use hls_report::{json, table, timeline::Timeline};
use hls_units::Nanos;
use proptest::prelude::*;

fn any_what() -> impl Strategy<Value = What> {
    let time = || prop_oneof![0u64..100, Just(u64::MAX)].prop_map(Nanos);
    prop_oneof![
        prop::sample::select(vec![What::Request, What::Grant, What::Revoke, What::Release]),
        prop::sample::select(vec![What::Throttle, What::Arrive, What::Leave, What::Miss { count: u32::MAX }]),
        (time(), time()).prop_map(|(budget, deadline)| What::Replenish { budget, deadline }),
        time().prop_map(|deadline| What::JobRelease { deadline }),
        time().prop_map(|response| What::JobDone { response }),
        time().prop_map(|age| What::JobOpen { age }),
        time().prop_map(|length| What::Stolen { length }),
    ]
}

fn any_record() -> impl Strategy<Value = Record> {
    let at = prop_oneof![9 => 0u64..100, 1 => Just(u64::MAX)].prop_map(Nanos);
    (at, 0u32..11, 0u16..3, any_what()).prop_map(|(at, vp, cpu, what)| Record {
        at,
        vp: ObservedVp(vp),
        cpu,
        what,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn nothing_panics(records in prop::collection::vec(any_record(), 0..60), from in 0u64..100, to in 0u64..100) {
        let topology = support::topology();
        let window = Window { length: Nanos(7), promised: Nanos(3), allowed: Some(Nanos(5)), accounted: Nanos(1) };
        let periodic = Periodic { amount: Nanos(3), period: Nanos(7), wakes: Wakes::Anew(Nanos(11)) };
        let accounted = Accounted { burst: Nanos(1), per_second: Nanos(1) };
        let requests = Some(RequestTest { rule: RequestRule::Periodic(periodic), accounted });
        let text = "ALL".into();
        let vp = ObservedVp(2);
        let promises = vec![Promise { vp, text, windows: vec![window], requests, pace: Pace::default() }];
        let mut observer = Observer::new(topology.clone(), promises);
        let mut picture = Timeline::new(&topology, Nanos(from), Nanos(to));
        let mut list = TimeHist::new(Vec::new(), &topology).unwrap();
        for record in &records {
            observer.observe(record);
            picture.record(record);
            list.record(record).unwrap();
        }
        let result = observer.finish(Nanos(100));
        table::write_tables(&mut Vec::new(), &result).unwrap();
        json::write_json(&mut Vec::new(), &result).unwrap();
        list.finish(Nanos(100)).unwrap();
        picture.write(&mut Vec::new(), Nanos(100)).unwrap();
    }
}
