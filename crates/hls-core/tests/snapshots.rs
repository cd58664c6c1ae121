//! Snapshots: a restored domain is as it was, and has the same future.

use crate::support::{ByHand, MS};
use hls_core::{Core, limits};
use hls_units::Nanos;

/// All bytes of a domain without the records, which snapshots leave out.
fn without_records(core: &Core) -> Vec<u8> {
    let memory = core.memory();
    let head = size_of::<hls_core::HeadImage>() + limits::MAX_CPUS * size_of::<hls_core::CpuImage>();
    let records = limits::MAX_RECORDS * 32;
    [&memory[..head], &memory[head + records..]].concat()
}

#[test]
fn a_domain_that_is_put_back_has_the_same_bytes_and_the_same_future() {
    let mut m = hls_scenario::Machine::new(2, None);
    let root = m.root("fixed-priority", &[]);
    let reservation = m.below(root, &[5], "reservation", &[]);
    let (a, b) = (m.thread(reservation, &[MS, 3 * MS]), m.thread(root, &[1]));
    m.wake(a);
    m.wake(b);
    let (before, bytes) = (m.core.snapshot(), without_records(&m.core));
    let (now, running) = (m.now, m.running.clone());
    let future = |m: &mut hls_scenario::Machine| {
        m.block(b);
        m.run_to(now + Nanos(10 * MS));
        (m.ran_ms(a), m.ran_ms(b), without_records(&m.core))
    };
    let first = future(&mut m);
    let late = m.thread(root, &[9]);
    m.wake(late);
    m.core.restore(&before);
    m.now = now;
    m.running = running;
    assert!(without_records(&m.core) == bytes, "a thread that came later left something behind");
    assert!(future(&mut m) == first);
    assert_eq!(first.0, 4.0);
}

#[test]
fn a_snapshot_shows_what_is_in_use() {
    let mut m = hls_scenario::Machine::new(2, None);
    let root = m.root("fixed-priority", &[]);
    let thread = m.thread(root, &[7]);
    m.wake(thread);
    let snapshot = m.core.snapshot();
    let shown = snapshot.image();
    assert_eq!((shown.cpus.len(), shown.schedulers.len(), shown.vps.len()), (2, 2, 4));
    assert_eq!(shown.schedulers[root.index()].first_child, thread.0);
    let vp = shown.vps[thread.index()];
    assert_eq!((vp.param[0], vp.state, vp.is_used(), vp.is_throttled()), (7, 2, true, false));
    assert_eq!(m.core.image().vps[thread.index()].param, vp.param);
    assert_eq!(shown.cpus[usize::from(vp.cpu)].path[usize::from(vp.level)].vp, thread.0);
}
