//! The records that a run has taken from its engine and not passed on yet, and the changes of the registry that wait
//! for them.
//!
//! Both are passed on in order of time and a few at once, so that the run can answer requests in between. A change that
//! a request makes takes effect at the time of the request, though it waits here: after all earlier records, and before
//! all later ones.

use hls_monitor::event::Record;
use hls_units::Nanos;
use std::collections::VecDeque;

/// The number of records that are passed on at once; they take a fifth of a millisecond on a slow machine.
const RECORDS_AT_ONCE: usize = 8;

/// Records and changes for `T`.
pub struct Backlog<T> {
    /// In order of time.
    records: VecDeque<Record>,
    /// In order of time.
    changes: VecDeque<(Nanos, Change<T>)>,
    /// All records up to this time have been taken from the engine.
    taken_until: Nanos,
}

/// What a request changes.
type Change<T> = Box<dyn FnOnce(&mut T)>;

impl<T> Default for Backlog<T> {
    fn default() -> Backlog<T> {
        Backlog { records: VecDeque::new(), changes: VecDeque::new(), taken_until: Nanos::ZERO }
    }
}

impl<T> Backlog<T> {
    /// Adds records. With them, all up to `taken_until` have been taken.
    pub fn add(&mut self, records: impl IntoIterator<Item = Record>, taken_until: Nanos) {
        self.records.extend(records);
        self.records.make_contiguous().sort_by_key(|record| record.at);
        self.taken_until = taken_until;
    }

    /// Adds a change that takes effect at `at`, which is no earlier than for the changes before.
    pub fn change(&mut self, at: Nanos, change: impl FnOnce(&mut T) + 'static) {
        self.changes.push_back((at, Box::new(change)));
    }

    /// All records up to this time have been taken from the engine.
    pub fn taken_until(&self) -> Nanos {
        self.taken_until
    }

    /// All records up to this time have been passed on.
    pub fn passed_on_until(&self) -> Nanos {
        self.records.front().map_or(self.taken_until, |record| record.at)
    }

    /// Passes on the first records, and the changes before them. Returns whether there are more records.
    pub fn pass_on(&mut self, to: &mut T, mut record: impl FnMut(&mut T, &Record)) -> bool {
        for next in self.records.drain(..self.records.len().min(RECORDS_AT_ONCE)) {
            make(&mut self.changes, next.at, to);
            record(to, &next);
        }
        if self.records.is_empty() {
            make(&mut self.changes, self.taken_until, to);
        }
        !self.records.is_empty()
    }
}

/// Makes the changes up to this time.
fn make<T>(changes: &mut VecDeque<(Nanos, Change<T>)>, until: Nanos, to: &mut T) {
    while let Some((_, change)) = changes.pop_front_if(|(at, _)| *at <= until) {
        change(to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hls_monitor::event::{ObservedVp, What};

    /// The times of what was passed on; changes are negative.
    type Times = Vec<i64>;

    fn records(times: impl IntoIterator<Item = u64>) -> impl Iterator<Item = Record> {
        let record = |at| Record { at: Nanos(at), vp: ObservedVp(0), cpu: 0, what: What::Grant };
        times.into_iter().map(record)
    }

    fn change(backlog: &mut Backlog<Times>, at: i64) {
        backlog.change(Nanos(at.unsigned_abs()), move |times: &mut Times| times.push(-at));
    }

    fn pass_on(backlog: &mut Backlog<Times>, times: &mut Times) -> bool {
        backlog.pass_on(times, |times, record| times.push(record.at.0 as i64))
    }

    /// A request comes while 20 records wait: they are passed on no sooner, and the request takes effect in its place.
    #[test]
    fn a_change_waits_for_the_records_before_it() {
        let (mut backlog, mut times) = (Backlog::default(), Times::new());
        backlog.add(records(1..=20), Nanos(20));
        assert!(pass_on(&mut backlog, &mut times));
        change(&mut backlog, 21);
        assert_eq!(times, (1..=8).collect::<Times>());
        assert_eq!(backlog.passed_on_until(), Nanos(9));
        // Records from before and after the change are taken while earlier ones still wait.
        backlog.add(records([22, 21]), Nanos(23));
        while pass_on(&mut backlog, &mut times) {}
        assert_eq!(times, (1..=20).chain([-21, 21, 22]).collect::<Times>());
        assert_eq!((backlog.taken_until(), backlog.passed_on_until()), (Nanos(23), Nanos(23)));
    }

    #[test]
    fn changes_keep_their_order_and_wait_for_records_that_were_not_taken_yet() {
        let (mut backlog, mut times) = (Backlog::default(), Times::new());
        backlog.add([], Nanos(4));
        change(&mut backlog, 5);
        change(&mut backlog, 5);
        change(&mut backlog, 7);
        assert!(!pass_on(&mut backlog, &mut times));
        assert!(times.is_empty());
        backlog.add(records([4, 6]), Nanos(6));
        assert!(!pass_on(&mut backlog, &mut times));
        assert_eq!(times, [4, -5, -5, 6]);
        backlog.add([], Nanos(7));
        assert!(!pass_on(&mut backlog, &mut times));
        assert_eq!(times, [4, -5, -5, 6, -7]);
    }
}
