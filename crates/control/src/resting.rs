//! Places that count for a while after their threads or schedulers have left.
//!
//! A scheduler forgets a child that leaves. The child may have had its whole budget of the present period, or be ahead
//! of its share; another child in its place begins anew, or the same one that comes again. Both together would have
//! more than a place is promised, at the cost of the siblings. So the calculus goes on with the place, without a thread
//! there, until the period is over or the siblings have caught up: the place *rests*. What needs its CPU time is
//! refused until then.

use crate::error::{Error, refused};
use crate::tree::{Lease, Resting, Scheduler, Tree};
use hls_calculus::{Child, Edge, GraphEdge, Work};
use hls_units::Nanos;

impl Tree {
    /// For how long a place rests when its child leaves.
    fn rests_for(&self, edge: GraphEdge) -> Nanos {
        self.promised(edge).0.settles_in()
    }

    /// The places below a scheduler that rest.
    pub(crate) fn resting_below(&self, scheduler: usize) -> impl Iterator<Item = &Resting> {
        self.resting.values().filter(move |it| it.scheduler == scheduler)
    }

    /// Ends places that rest, if `is_over`.
    pub(crate) fn end_resting(&mut self, is_over: impl Fn(&Resting) -> bool) -> Result<(), Error> {
        let over: Vec<usize> =
            self.resting.iter().filter(|(_, it)| is_over(it)).map(|(edge, _)| edge.0).collect();
        self.resting.retain(|_, it| !is_over(it));
        self.admission.end_threads(&over).map_err(refused)
    }

    /// Threads have left their places, at `now`: these rest, or end.
    pub(crate) fn leave(&mut self, leases: &[Lease], now: Nanos) -> Result<(), Error> {
        let mut ended = Vec::new();
        for Lease { edge, slot, placer, .. } in leases {
            let until = now.saturating_add(self.rests_for(*edge));
            if until > now {
                let resting = Resting { scheduler: slot.scheduler, placer: Some(*placer), until };
                self.resting.insert(*edge, resting);
            } else {
                ended.push(edge.0);
            }
        }
        self.admission.end_threads(&ended).map_err(refused)
    }

    /// Ends an edge to `gone`, which is destroyed. A place with the same parameters rests, except where `gone` had
    /// several VPs, or the place takes more than `work` to check.
    pub(crate) fn leave_by(
        &mut self,
        gone: &Scheduler,
        edge: GraphEdge,
        now: Nanos,
        work: &Work,
    ) -> Result<(), Error> {
        let until = now.saturating_add(self.rests_for(edge));
        let left = self.admission.edge(edge.0).cloned();
        self.admission.end(edge.0).map_err(refused)?;
        let Some(left @ Edge { parent: Some(scheduler), width: 1, .. }) = left else { return Ok(()) };
        let place = Edge { child: Child::Thread(gone.name.clone()), pinned: false, ..left };
        // Without the child, a scheduler above may promise less.
        if until > now
            && let Ok(place) = self.admission.begin_within(place, work)
        {
            let resting = Resting { scheduler, placer: gone.creator, until };
            self.resting.insert(GraphEdge(place), resting);
        }
        Ok(())
    }

    /// What to add to a refusal below a scheduler where places rest: for how long they do.
    pub(crate) fn until_rests_end(&self, scheduler: usize) -> String {
        let Some(last) = self.resting_below(scheduler).map(|it| it.until).max() else { return String::new() };
        let places = match self.resting_below(scheduler).count() {
            1 => "1 place that was left still counts".to_owned(),
            count => format!("{count} places that were left still count"),
        };
        format!("; {places}, for {} at most", last.saturating_sub(self.rests_seen_at))
    }
}
