//! Agents of schedulers with a process as their policy, as workloads of the simulator: `agent by="stale" cost="3us"`.

use crate::attributes::Attributes;
use crate::declare::{Declarations, Parent};
use crate::diagnostic::{Diagnostic, Refusal, Sink};
use crate::model::Child;
use crate::properties::Properties;
use crate::queues::Queues;
use crate::syntax::Property;
use crate::value::{self, LONGEST, SHORTEST};
use hls_core::pages::{AGENTS_SLOT, SLOT, SLOTS};
use hls_units::{Nanos, is_hidden};
use hls_workload::program::{Agent, Program};

/// The turn of a child of `round-robin`.
const SLICE: Nanos = Nanos(1_000_000);

/// How many events `stale` is behind.
const BEHIND: u64 = 1;

/// Runs the policy of the scheduler above. Each turn takes `cost`.
pub(crate) fn shape(properties: &mut Properties, _: &mut Queues, sink: &mut Sink) -> Option<Program> {
    let cost = properties.require("cost", "\"3us\"", sink, |p| value::span(p, SHORTEST..=LONGEST));
    let slice = properties.read("slice", sink, |p| value::time(p, SHORTEST..=LONGEST));
    let behind = properties.read("behind", sink, |p| value::whole(p, 1..=u32::MAX.into()));
    let by = properties.require("by", "\"fixed-priority\"", sink, |p| kind(p, slice, behind))?;
    let of_others = [
        ("slice", slice.is_some() && !matches!(by, Agent::RoundRobin { .. }), "round-robin"),
        ("behind", behind.is_some() && !matches!(by, Agent::Stale { .. }), "stale"),
    ];
    for (name, is_given, kind) in of_others {
        if let (true, Some(property)) = (is_given, properties.get(name)) {
            let message = format!("property `{name}`");
            let expected = format!("it with by=\"{kind}\" only");
            sink.add(Diagnostic::error(property.name.span.clone(), message, "it", expected));
        }
    }
    Some(Program::agent(by, cost?))
}

fn kind(property: &Property, slice: Option<Nanos>, behind: Option<u64>) -> Result<Agent, Refusal> {
    const EXPECTED: &str = "\"fixed-priority\", \"round-robin\", \"stale\", \"dead\", \"storms\", \"loops\", \
                            \"garbage\", or a shared object, such as \"./edf.so\"";
    Ok(match value::text(property, EXPECTED)? {
        "fixed-priority" => Agent::FixedPriority,
        "round-robin" => Agent::RoundRobin { slice: slice.unwrap_or(SLICE) },
        "stale" => Agent::Stale { behind: behind.unwrap_or(BEHIND) },
        "dead" => Agent::Dead,
        "storms" => Agent::Storms,
        "loops" => Agent::Loops,
        "garbage" => Agent::Garbage,
        path if path.ends_with(".so") && !path.contains(is_hidden) => Agent::Object(path.to_owned()),
        other => {
            let place = property.value.span.clone();
            return Err(value::refuse(property, place, format!("`{other}`"), EXPECTED));
        }
    })
}

/// Reports agents that are not in the agent's slot of a scheduler that has pages.
pub(crate) fn check(declared: &Declarations, attributes: &Attributes, sink: &mut Sink) {
    for edge in &attributes.edges {
        let (Parent::Scheduler(parent), Child::Thread(thread)) = (edge.parent, edge.child) else { continue };
        let thread = &attributes.threads[thread];
        let (Some(policy), true) = (
            declared.schedulers[parent].policy,
            thread.program.as_ref().is_some_and(|program| program.as_agent().is_some()),
        ) else {
            continue;
        };
        let slot = policy.vp_params.iter().position(|param| param.name == SLOT);
        let slot = slot.and_then(|slot| edge.params.get(slot)).filter(|_| policy.properties.has_pages);
        if slot != Some(&AGENTS_SLOT) {
            let found = match slot {
                Some(slot) if *slot < SLOTS as u64 => format!("an agent in slot {slot}"),
                Some(_) => "an agent in any free slot".to_owned(),
                None => format!("an agent below a {}", policy.name),
            };
            let expected = "it with slot=0 below a scheduler whose policy is a process";
            sink.add(Diagnostic::error(
                edge.span.clone(),
                format!("thread `{}`", thread.name),
                found,
                expected,
            ));
        }
    }
}
