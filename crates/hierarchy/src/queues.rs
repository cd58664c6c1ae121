//! The queues of a file: a thread serves one, interrupts and threads put into it. A queue has a name and no node of its
//! own: it is there because a thread serves it.

use crate::diagnostic::{Diagnostic, Refusal, Sink};
use crate::model::Span;
use crate::names::{did_you_mean, nearest};
use crate::syntax::Property;
use crate::value;
use hls_workload::program::{Queue, QueueId};
use std::ops::RangeInclusive;

/// How many entries a queue may be said to hold.
const HOLDS: RangeInclusive<u64> = 1..=1_000_000;
/// How many it holds where the file does not say so.
const HOLDS_PRESET: u32 = 512;

/// The queues that were named so far.
#[derive(Default)]
pub(crate) struct Queues {
    named: Vec<Named>,
}

struct Named {
    name: String,
    /// How much it holds, and where that stands.
    holds: Option<(u32, Span)>,
    is_served: bool,
    /// The first property that puts something into it, if any does, and the place of that property's value.
    fed: Option<(String, Span)>,
}

impl Queues {
    fn named(&mut self, name: &str) -> (QueueId, &mut Named) {
        let at = self.named.iter().position(|queue| queue.name == name).unwrap_or_else(|| {
            self.named.push(Named { name: name.into(), holds: None, is_served: false, fed: None });
            self.named.len() - 1
        });
        (at as QueueId, &mut self.named[at])
    }

    /// The queue that the node of this property puts into.
    pub(crate) fn fed(&mut self, property: &Property) -> Result<QueueId, Refusal> {
        let (id, queue) = self.named(value::text(property, "the name of a queue that a thread serves")?);
        queue.fed.get_or_insert_with(|| (property.name.text.to_string(), property.value.span.clone()));
        Ok(id)
    }

    /// The queue that a thread serves.
    pub(crate) fn served(&mut self, property: &Property) -> Result<QueueId, Refusal> {
        let (id, queue) = self.named(value::text(property, "the name of a queue, such as \"packets\"")?);
        queue.is_served = true;
        Ok(id)
    }

    /// Reads how many entries this property says the queue holds. All such properties must state the same number.
    pub(crate) fn holds(&mut self, id: QueueId, property: &Property) -> Result<(), Refusal> {
        let holds = value::whole(property, HOLDS)? as u32;
        let queue = &mut self.named[id as usize];
        let place = property.value.span.clone();
        match &queue.holds {
            Some((before, first)) if *before != holds => {
                let expected = format!("{before}, as stated first");
                let error = Diagnostic::error(place, "property `holds`", holds.to_string(), expected);
                Err(error.first(first.clone()).into())
            }
            _ => {
                queue.holds = Some((holds, place));
                Ok(())
            }
        }
    }

    /// All queues, in the order of their numbers. Reports those that no thread serves.
    pub(crate) fn finish(self, sink: &mut Sink) -> Vec<Queue> {
        let served = || self.named.iter().filter(|queue| queue.is_served).map(|queue| &queue.name[..]);
        for queue in self.named.iter().filter(|queue| !queue.is_served) {
            let Some((by, place)) = &queue.fed else { continue };
            let expected = "the name of a queue that a thread serves";
            let error = Diagnostic::error(
                place.clone(),
                format!("property `{by}`"),
                format!("`{}`", queue.name),
                expected,
            );
            sink.add(error.help(nearest(&queue.name, served()).map(did_you_mean)));
        }
        let queue = |Named { name, holds, .. }: Named| Queue {
            name,
            holds: holds.map_or(HOLDS_PRESET, |(holds, _)| holds),
        };
        self.named.into_iter().map(queue).collect()
    }
}
