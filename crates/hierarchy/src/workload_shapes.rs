//! The shapes of workloads that a hierarchy file can state, each translated to a program.
//!
//! A shape is one function and one line of [`SHAPES`]. Every loop takes some time, so that no engine spins.

use crate::agents;
use crate::declare::Task;
use crate::diagnostic::{Diagnostic, Sink};
use crate::names::{did_you_mean, nearest, one_of};
use crate::properties::Properties;
use crate::syntax::Node;
use crate::value::{self, LONGEST, SHORTEST};
use hls_units::Nanos;
use hls_workload::program::{Program, ServedBy, ServedTask, ServedTasks, Span, Step};
use std::collections::HashMap;

/// Reads the properties of a shape; `None` when they were refused.
type Shape = fn(&mut Properties, &mut Sink) -> Option<Program>;

const SHAPES: [(&str, Shape); 5] = [
    ("cpu-bound", cpu_bound),
    ("periodic", periodic),
    ("bursty", bursty),
    ("frame-renderer", frame_renderer),
    ("agent", agents::shape),
];

/// The shape that has nodes in its braces.
const TASKS: &str = "tasks";
/// An analysis looks at all tasks of a set in each of its steps.
const MAX_TASKS: usize = 64;

/// Reads a node that states what a thread does, and the tasks in its braces.
pub(crate) fn read(node: &Node, tasks: &[Task], nodes: &[Node], sink: &mut Sink) -> Option<Program> {
    let name = node.name.text.as_str();
    if name == TASKS {
        return task_set(node, tasks, nodes, sink);
    }
    let names: Vec<&str> = SHAPES.iter().map(|(name, _)| *name).chain([TASKS]).collect();
    let Some((_, shape)) = SHAPES.iter().find(|(known, _)| *known == name) else {
        let found = format!("the unknown workload `{name}`");
        let error = Diagnostic::error(node.name.span.clone(), "a thread's workload", found, one_of(&names));
        sink.add(error.help(nearest(name, names.iter().copied()).map(did_you_mean)));
        return None;
    };
    let mut properties = Properties::new(node, format!("workload `{name}`"), sink);
    let program = shape(&mut properties, sink);
    properties.finish(sink);
    program
}

/// Computes for ever.
fn cpu_bound(_: &mut Properties, _: &mut Sink) -> Option<Program> {
    Some(Program::cpu_bound())
}

/// Computes `run` once in each period `every`, from `offset` on; released up to `jitter` late; wanted by `deadline`
/// after the release.
fn periodic(properties: &mut Properties, sink: &mut Sink) -> Option<Program> {
    task(String::new(), properties, sink).map(|task| Program::periodic(&task))
}

fn task(name: String, properties: &mut Properties, sink: &mut Sink) -> Option<ServedTask> {
    let run = properties.require("run", "\"2ms\"", sink, |p| value::span(p, SHORTEST..=LONGEST));
    let every = properties.require("every", "\"10ms\"", sink, |p| value::time(p, SHORTEST..=LONGEST));
    let deadline = properties.read("deadline", sink, |p| value::time(p, SHORTEST..=LONGEST)).or(every);
    let offset = properties.read("offset", sink, |p| value::time(p, Nanos::ZERO..=LONGEST));
    let jitter = properties.read("jitter", sink, |p| value::span(p, Nanos::ZERO..=LONGEST));
    let (offset, jitter) = (offset.unwrap_or(Nanos::ZERO), jitter.unwrap_or(Span::exactly(Nanos::ZERO)));
    Some(ServedTask { name, run: run?, every: every?, deadline: deadline?, offset, jitter })
}

/// Serves several periodic tasks, each as `periodic` has it.
fn task_set(node: &Node, tasks: &[Task], nodes: &[Node], sink: &mut Sink) -> Option<Program> {
    let mut properties = Properties::new(node, "workload `tasks`", sink);
    let by = properties.require("by", "\"edf\"", sink, |p| {
        let expected = "\"edf\" or \"priority\" (the first task is the highest)";
        match value::text(p, expected)? {
            "edf" => Ok(ServedBy::Edf),
            "priority" => Ok(ServedBy::Priority),
            other => {
                let place = p.value.span.clone();
                Err(Diagnostic::error(place, "property `by`", format!("`{other}`"), expected).into())
            }
        }
    });
    properties.finish(sink);
    if node.is_whole && !(1..=MAX_TASKS).contains(&tasks.len()) {
        let found = format!("{} tasks", tasks.len());
        let expected = format!("1 to {MAX_TASKS}, each such as task \"sense\" run=\"1ms\" every=\"10ms\"");
        sink.add(Diagnostic::error(node.span(), "workload `tasks`", found, expected));
    }
    let mut served = Vec::new();
    let mut names = HashMap::new();
    for Task { node, name } in tasks.iter().take(MAX_TASKS) {
        let node = &nodes[*node];
        if let Some(first) = names.insert(name, node.span()).filter(|_| !name.is_empty()) {
            let expected = "a name that no other task of the thread has";
            let message = format!("the name `{name}`");
            sink.add(Diagnostic::error(node.span(), message, "it a second time", expected).first(first));
        }
        let mut properties = Properties::new(node, format!("task `{name}`"), sink);
        served.extend(task(name.clone(), &mut properties, sink));
        properties.finish(sink);
    }
    Some(Program::serving(ServedTasks { by: by?, tasks: served }))
}

/// Computes for a while, sleeps for a while. Each burst may be in two halves, for a `stall` between them.
fn bursty(properties: &mut Properties, sink: &mut Sink) -> Option<Program> {
    let run = properties.require("run", "\"1ms..5ms\"", sink, |p| value::span(p, SHORTEST..=LONGEST));
    let stall = properties.read("stall", sink, |p| value::span(p, SHORTEST..=LONGEST));
    let sleep = properties.require("sleep", "\"10ms..50ms\"", sink, |p| value::span(p, SHORTEST..=LONGEST));
    let (run, sleep) = run.zip(sleep)?;
    let stalled = stall.map(|stall| [Step::Run(run), Step::Stall(stall)]);
    let steps = stalled.into_iter().flatten().chain([Step::Run(run), Step::Sleep(sleep)]);
    Some(Program::forever(steps.collect()))
}

/// Computes frame after frame and watches the gaps between them (thesis, section 10.5.2).
fn frame_renderer(properties: &mut Properties, sink: &mut Sink) -> Option<Program> {
    let frame = properties.require("frame", "\"10ms\"", sink, |p| value::span(p, SHORTEST..=LONGEST));
    let gap = properties.require("gap", "\"33ms\"", sink, |p| value::time(p, SHORTEST..=LONGEST));
    let (frame, gap) = frame.zip(gap)?;
    Some(Program::forever(vec![Step::Run(frame), Step::FrameDone { gap }]))
}
