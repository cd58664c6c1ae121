//! What a scheduler may have below it: how many, which, and under which priorities.

use crate::attributes::{Attributes, Edge};
use crate::declare::{Declarations, Parent};
use crate::diagnostic::{Diagnostic, Sink};
use crate::model::{Child, Span, Thread};
use hls_core::limits::{MAX_SCHEDULERS, MAX_VPS};
use hls_core::pages::{AGENTS_SLOT, SLOT, SLOTS};
use std::collections::{BTreeMap, HashMap};

/// The core's arrays leave their first entry unused.
const USABLE_SCHEDULERS: usize = MAX_SCHEDULERS - 1;
const USABLE_VPS: usize = MAX_VPS - 1;

/// Judges the children of every scheduler, and how large the hierarchy is.
pub(crate) fn check(declared: &Declarations, attributes: &Attributes, widths: &[u16], sink: &mut Sink) {
    let edges = &attributes.edges;
    if let Some(beyond) = declared.schedulers.get(USABLE_SCHEDULERS) {
        let (found, expected) =
            (format!("{} schedulers", declared.schedulers.len()), format!("at most {USABLE_SCHEDULERS}"));
        sink.add(Diagnostic::error(beyond.span.clone(), "the hierarchy", found, expected));
    }
    let vps: Vec<usize> =
        edges.iter().zip(widths).map(|(edge, width)| vps(edge, *width, &attributes.threads)).collect();
    report_too_many_vps(edges, &vps, sink);
    report_counts(declared, attributes, &vps, sink);
    report_repeated(declared, edges, sink);
    report_shared_levels(declared, edges, widths, &vps, sink);
    report_slots(declared, edges, &vps, sink);
    report_instance_names(&attributes.threads, sink);
}

/// How many VPs an edge stands for.
fn vps(edge: &Edge, width: u16, threads: &[Thread]) -> usize {
    match edge.child {
        Child::Scheduler(_) => usize::from(width),
        Child::Thread(thread) => threads[thread].count() as usize,
    }
}

fn report_too_many_vps(edges: &[Edge], vps: &[usize], sink: &mut Sink) {
    let mut sum = 0;
    for (edge, vps) in edges.iter().zip(vps) {
        sum += vps;
        if sum > USABLE_VPS {
            let (found, expected) =
                (format!("{sum} virtual processors up to here"), format!("at most {USABLE_VPS}"));
            sink.add(Diagnostic::error(edge.span.clone(), "the hierarchy", found, expected));
            return;
        }
    }
}

/// Reports schedulers with more children than their policy takes, or with none. A join has one child, which may be as
/// wide as the policy allows. A scheduler without children is not reported when there are errors, since they may hide
/// its children, nor if it is the default, is for `hls` or has an owner, since its children may come while it runs.
fn report_counts(declared: &Declarations, attributes: &Attributes, vps: &[usize], sink: &mut Sink) {
    let edges = &attributes.edges;
    let mut counts = vec![0; declared.schedulers.len()];
    for (edge, vps) in edges.iter().zip(vps) {
        let Parent::Scheduler(parent) = edge.parent else {
            continue;
        };
        let scheduler = &declared.schedulers[parent];
        let Some(policy) = scheduler.policy else {
            continue;
        };
        let most = policy.max_children as usize;
        let fitted = counts[parent] <= most;
        counts[parent] += vps;
        if fitted && counts[parent] > most {
            let message = format!("scheduler `{}`", scheduler.name);
            let expected = match most {
                1 => format!("one child, since it is a {}", policy.name),
                _ => format!("at most {most}, since it is a {}", policy.name),
            };
            let what = if *vps > 1 { "virtual processors below it" } else { "children" };
            let found = format!("{} {what}", counts[parent]);
            sink.add(Diagnostic::error(edge.span.clone(), message, found, expected));
        }
    }
    let is_sound = !sink.has_errors();
    for ((scheduler, count), own) in declared.schedulers.iter().zip(counts).zip(&attributes.schedulers) {
        let waits = own.owner.is_some() || own.default.is_some() || own.service.is_some();
        if let (0, Some(policy)) = (count, scheduler.policy) {
            let message = format!("scheduler `{}`", scheduler.name);
            let error = Diagnostic::error(scheduler.span.clone(), message, "no children", "at least one");
            match policy.properties.joins {
                true => sink.add(error),
                false if is_sound && !waits => sink.add(error.into_warning()),
                false => {}
            }
        }
    }
}

/// Reports joins that are mentioned twice under one parent.
fn report_repeated(declared: &Declarations, edges: &[Edge], sink: &mut Sink) {
    let mut seen = HashMap::new();
    for edge in edges {
        let (Parent::Scheduler(parent), Child::Scheduler(child)) = (edge.parent, edge.child) else {
            continue;
        };
        let first = *seen.entry((parent, child)).or_insert(&edge.span);
        if *first != edge.span {
            let message = format!("scheduler `{}`", declared.schedulers[child].name);
            let found = format!("it a second time below `{}`", declared.schedulers[parent].name);
            let error = Diagnostic::error(edge.span.clone(), message, found, "it once below each parent");
            sink.add(error.first(first.clone()));
        }
    }
}

/// Warns of children that share a level of a policy that promises by levels, unless the scheduler holds a CPU for each
/// VP of that level and of the levels above it, so that no VP there waits for another.
fn report_shared_levels(
    declared: &Declarations,
    edges: &[Edge],
    widths: &[u16],
    vps: &[usize],
    sink: &mut Sink,
) {
    let level_of = |edge: &Edge| {
        let Parent::Scheduler(parent) = edge.parent else { return None };
        declared.schedulers[parent].policy.filter(|policy| policy.properties.promises_by_level)?;
        Some((parent, *edge.params.first()?))
    };
    let held = cpus_held(declared.schedulers.len(), edges, widths);
    let mut wanted: BTreeMap<(usize, u64), usize> = BTreeMap::new();
    for (edge, vps) in edges.iter().zip(vps) {
        if let Some(level) = level_of(edge) {
            *wanted.entry(level).or_default() += vps;
        }
    }
    let mut firsts = HashMap::new();
    for edge in edges {
        let Some((parent, level)) = level_of(edge) else { continue };
        let first = *firsts.entry((parent, level)).or_insert(&edge.span);
        let down_to_here = wanted.range((parent, level)..=(parent, u64::MAX)).map(|(_, vps)| vps);
        if *first != edge.span && down_to_here.sum::<usize>() > held[parent] {
            let message = format!("scheduler `{}`", declared.schedulers[parent].name);
            let level_is =
                declared.schedulers[parent].policy.map_or("level", |policy| policy.vp_params[0].name);
            let (found, expected) = (format!("a second child of {level_is} {level}"), "one child a level");
            let help = "they share the level in turn, and nothing can be promised to either".to_owned();
            let error = Diagnostic::error(edge.span.clone(), message, found, expected);
            sink.add(error.first(first.clone()).help(help).into_warning());
        }
    }
}

/// Reports children of schedulers with pages that cannot have a slot each: several in one slot that the file states, or
/// more children than slots. A child without a stated slot gets one when it comes.
fn report_slots(declared: &Declarations, edges: &[Edge], vps: &[usize], sink: &mut Sink) {
    let mut firsts = HashMap::new();
    let mut counts = vec![0; declared.schedulers.len()];
    for (edge, vps) in edges.iter().zip(vps) {
        let Some((parent, slot)) = slot_of(declared, edge) else { continue };
        let message = || format!("scheduler `{}`", declared.schedulers[parent].name);
        let error = |found, expected| Diagnostic::error(edge.span.clone(), message(), found, expected);
        let first: &Span = firsts.entry((parent, slot)).or_insert(&edge.span);
        let is_stated = slot < SLOTS as u64;
        if is_stated && *vps > 1 {
            let found = format!("{vps} virtual processors in slot {slot}");
            sink.add(error(found, "one: where no slot is stated, each has its own"));
        } else if is_stated && *first != edge.span {
            sink.add(error(format!("a second child in slot {slot}"), "one").first(first.clone()));
        }
        if slot != AGENTS_SLOT {
            let fitted = counts[parent] < SLOTS;
            counts[parent] += vps;
            if fitted && counts[parent] >= SLOTS {
                let found = format!("{} children beside the agent", counts[parent]);
                sink.add(error(found, "at most 63, each in a slot of its own"));
            }
        }
    }
}

/// The scheduler with pages above an edge, and the slot that the file states there; [`SLOTS`]: none.
fn slot_of(declared: &Declarations, edge: &Edge) -> Option<(usize, u64)> {
    let Parent::Scheduler(parent) = edge.parent else { return None };
    let policy = declared.schedulers[parent].policy.filter(|policy| policy.properties.has_pages)?;
    let at = policy.vp_params.iter().position(|param| param.name == SLOT)?;
    Some((parent, *edge.params.get(at)?))
}

/// How many CPUs each scheduler may hold at once.
fn cpus_held(schedulers: usize, edges: &[Edge], widths: &[u16]) -> Vec<usize> {
    let mut held = vec![0; schedulers];
    for (edge, width) in edges.iter().zip(widths) {
        if let Child::Scheduler(child) = edge.child {
            held[child] += usize::from(*width);
        }
    }
    held
}

/// Reports threads that have the name of another thread's instance.
fn report_instance_names(threads: &[Thread], sink: &mut Sink) {
    let by_name: HashMap<&str, &Thread> =
        threads.iter().map(|thread| (thread.name.as_str(), thread)).collect();
    for thread in threads {
        let Some((base, number)) = thread.name.rsplit_once('-') else {
            continue;
        };
        let instances = by_name.get(base).and_then(|base| base.instances).unwrap_or(0);
        let is_instance = number.parse::<u32>().is_ok_and(|at| at < instances && at.to_string() == number);
        if is_instance {
            let message = format!("the name `{}`", thread.name);
            let found = format!("the name of an instance of `{base}`");
            let expected = "a name that no other thread has";
            sink.add(Diagnostic::error(thread.span.clone(), message, found, expected));
        }
    }
}
