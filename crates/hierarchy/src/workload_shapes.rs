//! The shapes of workloads that a hierarchy file can state, each translated to a program.
//!
//! A shape is one function and one line of [`SHAPES`]. Every loop takes some time, so that no engine spins.

use crate::diagnostic::{Diagnostic, Sink};
use crate::names::{did_you_mean, nearest, one_of};
use crate::properties::Properties;
use crate::syntax::Node;
use crate::value::{self, LONGEST, SHORTEST};
use hls_units::Nanos;
use hls_workload::program::{Program, Span, Step};

/// Reads the properties of a shape; `None` when they were refused.
type Shape = fn(&mut Properties, &mut Sink) -> Option<Program>;

const SHAPES: [(&str, Shape); 4] = [
    ("cpu-bound", cpu_bound),
    ("periodic", periodic),
    ("bursty", bursty),
    ("frame-renderer", frame_renderer),
];

/// Reads a node that states what a thread does.
pub(crate) fn read(node: &Node, sink: &mut Sink) -> Option<Program> {
    let name = node.name.text.as_str();
    let names = SHAPES.map(|(name, _)| name);
    let Some((_, shape)) = SHAPES.iter().find(|(known, _)| *known == name) else {
        let found = format!("the unknown workload `{name}`");
        let error = Diagnostic::error(node.name.span.clone(), "a thread's workload", found, one_of(&names));
        sink.add(error.help(nearest(name, names).map(did_you_mean)));
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
    let run = properties.require("run", "\"2ms\"", sink, |p| value::span(p, SHORTEST..=LONGEST));
    let period = properties.require("every", "\"10ms\"", sink, |p| value::time(p, SHORTEST..=LONGEST));
    let deadline = properties.read("deadline", sink, |p| value::time(p, SHORTEST..=LONGEST)).or(period);
    let offset = properties.read("offset", sink, |p| value::time(p, Nanos::ZERO..=LONGEST));
    let jitter = properties.read("jitter", sink, |p| value::span(p, Nanos::ZERO..=LONGEST));
    let jitter = jitter.unwrap_or(Span::exactly(Nanos::ZERO));
    let (run, period) = run.zip(period)?;

    let mut steps: Vec<Step> = offset.into_iter().map(|offset| Step::Sleep(Span::exactly(offset))).collect();
    let target = steps.len();
    steps.push(Step::AwaitTimer { timer: 0, period, absolute: true, deadline, jitter });
    steps.push(Step::Run(run));
    steps.push(Step::Repeat { target, times: None, counter: 0 });
    Some(Program { steps: steps.into(), counters: 1 })
}

/// Computes for a while, sleeps for a while.
fn bursty(properties: &mut Properties, sink: &mut Sink) -> Option<Program> {
    let run = properties.require("run", "\"1ms..5ms\"", sink, |p| value::span(p, SHORTEST..=LONGEST));
    let sleep = properties.require("sleep", "\"10ms..50ms\"", sink, |p| value::span(p, SHORTEST..=LONGEST));
    let (run, sleep) = run.zip(sleep)?;
    Some(Program::forever(vec![Step::Run(run), Step::Sleep(sleep)]))
}

/// Computes frame after frame and watches the gaps between them (thesis, section 10.5.2).
fn frame_renderer(properties: &mut Properties, sink: &mut Sink) -> Option<Program> {
    let frame = properties.require("frame", "\"10ms\"", sink, |p| value::span(p, SHORTEST..=LONGEST));
    let gap = properties.require("gap", "\"33ms\"", sink, |p| value::time(p, SHORTEST..=LONGEST));
    let (frame, gap) = frame.zip(gap)?;
    Some(Program::forever(vec![Step::Run(frame), Step::FrameDone { gap }]))
}
