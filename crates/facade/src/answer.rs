//! The answers as plain data.

use crate::checked::{Checked, Verdict, left_out, made_up};
use crate::{DEFAULT_LENGTH, Options, simulated};
use hls_calculus::{Guarantee, Rational, ceil_nanos};
use hls_hierarchy::{Cpus, Diagnostic, Policies, Source};
use hls_monitor::event::ObservedVp;
use hls_monitor::result::{Child, RunResult, Topology};
use hls_plan::{Plan, PlanError};
use hls_report::json::JsonRun;
use hls_report::table::write_verdict;
use hls_units::Nanos;
use hls_workload::program::Workload;
use serde::{Serialize, Serializer};
use std::collections::HashMap;

/// The exit code where the text is wrong.
const WRONG: u8 = 2;
/// The exit code where a run failed by our own fault.
const FAILED: u8 = 3;

/// Counts the changes that break a reader of an answer as JSON.
const FORMAT: u32 = 1;

/// The name of the workload in messages.
const WORKLOAD: &str = "workload";

/// What can be promised to the threads and schedulers of a text.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    /// Counts the changes that break a reader: fields are added, never renamed or removed.
    pub format: u32,
    /// As of `hls check`: 0 all can be given, 1 not all can be given, 2 the text is wrong.
    pub exit_code: u8,
    /// The verdict in a line; empty if the text is wrong.
    pub verdict: String,
    /// What is wrong, and what should be known.
    pub messages: Vec<Message>,
    /// The number of CPUs; 0 if the text is wrong.
    pub cpus: u16,
    /// A promise for each virtual processor, in the order of their numbers.
    pub promises: Vec<Promised>,
    /// The tasks of the threads that are promised something, in the order of the text.
    pub tasks: Vec<Task>,
}

/// A message, mostly about a place in the text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Message {
    /// How bad it is.
    pub severity: Severity,
    /// The line, from 1; 0: the message is about no place in the text.
    pub line: usize,
    /// The column in characters, from 1; 0: the message is about no place in the text.
    pub column: usize,
    /// The first byte of the place, and the first byte behind it.
    pub bytes: (usize, usize),
    /// What is wrong: `found ..., expected ...`.
    pub text: String,
    /// What can be done about it.
    pub help: Option<String>,
}

/// How bad a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Something asked for cannot be given, or the text cannot be used.
    Error,
    /// The text can be used, but probably does not say what its author means.
    Warning,
    /// Something that should be known of the answer.
    Note,
}

/// The guarantee on a virtual processor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Promised {
    /// The thread or scheduler that gets CPU time by it.
    pub to: String,
    /// The policy of that scheduler; `None`: it is a thread.
    pub policy: Option<String>,
    /// The scheduler that promises; `None`: the machine.
    pub by: Option<String>,
    /// The guarantee, such as `RESBH 5ms 33ms`, rounded for people.
    pub guarantee: String,
    /// The guarantee that the text asks for, if it cannot be given.
    pub needs: Option<String>,
}

/// A task of a thread, and by when each of its jobs is done. Times are in nanoseconds, rounded up.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Task {
    /// Its name; the thread's where it has none.
    pub name: String,
    /// The thread.
    pub of: String,
    /// The CPU time of a job.
    pub run_ns: u64,
    /// From the release of a job to the next.
    pub every_ns: u64,
    /// From the release of a job to its deadline.
    pub deadline_ns: u64,
    /// From the release of a job to its end, at most; `None`: no bound is known.
    pub bound_ns: Option<u64>,
    /// Whether each job is certain to be in time.
    pub in_time: bool,
}

/// A run in the simulator, and the check before it.
#[derive(Clone, Debug, Serialize)]
pub struct Run {
    /// As of `hls run`: 0 the check passed and all promises were kept, 1 not so, 2 the text is wrong, 3 the run failed.
    pub exit_code: u8,
    /// The verdict on the run in a line; empty where there was none.
    pub verdict: String,
    /// The check, with all messages.
    pub check: Check,
    /// What each thread and scheduler got; as JSON it is the report of `hls run --json`. `None`: there was no run.
    #[serde(serialize_with = "as_report")]
    pub result: Option<RunResult>,
}

fn as_report<S: Serializer>(result: &Option<RunResult>, to: S) -> Result<S::Ok, S::Error> {
    result.as_ref().map(JsonRun::from).serialize(to)
}

impl Message {
    fn note(text: String) -> Message {
        let severity = Severity::Note;
        Message { severity, line: 0, column: 0, bytes: (0, 0), text, help: None }
    }

    /// An error that is about no place in the text.
    pub fn error(text: String) -> Message {
        Message { severity: Severity::Error, ..Message::note(text) }
    }

    /// What a diagnostic says of the text.
    pub fn at(source: &Source, diagnostic: &Diagnostic) -> Message {
        let Diagnostic { severity, span, help, .. } = diagnostic;
        let (line, column) = source.line_column(span.start);
        let severity = match severity {
            hls_hierarchy::Severity::Error => Severity::Error,
            hls_hierarchy::Severity::Warning => Severity::Warning,
        };
        let bytes = (span.start, span.end);
        Message { severity, line, column, bytes, text: diagnostic.to_string(), help: help.clone() }
    }
}

impl Check {
    /// The answer for a text that is wrong.
    pub fn wrong(messages: Vec<Message>) -> Check {
        let (promises, tasks) = (Vec::new(), Vec::new());
        Check { format: FORMAT, exit_code: WRONG, verdict: String::new(), messages, cpus: 0, promises, tasks }
    }

    /// The answer for a check with these [`Checked::task_problems`] of the hierarchy in `source`, of which the reader
    /// gave these warnings.
    pub fn of(
        checked: &Checked,
        of_tasks: &[Diagnostic],
        (source, warnings): (&Source, &[Diagnostic]),
    ) -> Check {
        let Checked { plan, problems, .. } = checked;
        let all = warnings.iter().chain(problems).chain(of_tasks);
        let mut messages: Vec<Message> = all.map(|problem| Message::at(source, problem)).collect();
        messages.extend(left_out(&plan.hierarchy.machine).map(Message::note));
        Check {
            format: FORMAT,
            exit_code: checked.verdict(of_tasks).exit_code(),
            verdict: checked.sentence(of_tasks),
            messages,
            cpus: plan.topology.cpus,
            promises: promises(checked),
            tasks: tasks(checked),
        }
    }
}

fn promises(Checked { plan, derived, .. }: &Checked) -> Vec<Promised> {
    let topology: &Topology = &plan.topology;
    let refused: HashMap<ObservedVp, &Guarantee> = derived.refusals(plan).collect();
    let promised = |vp: ObservedVp| {
        let info = &topology.vps[vp.index()];
        let policy = match info.child {
            Child::Scheduler(at) => Some(topology.schedulers[at.index()].policy.clone()),
            _ => None,
        };
        Promised {
            to: topology.child_name(vp).to_owned(),
            policy,
            by: topology.parent_name(vp).map(str::to_owned),
            guarantee: info.guarantee.to_string(),
            needs: refused.get(&vp).map(|needs| needs.rounded_for_people()),
        }
    };
    // Entry 0 stands for none.
    (1..topology.vps.len()).map(ObservedVp::at).map(promised).collect()
}

fn tasks(Checked { plan, derived, .. }: &Checked) -> Vec<Task> {
    let nanos = |time: &Rational| ceil_nanos(time).0;
    let mut tasks = Vec::new();
    for serves in derived.tasks(plan) {
        for (at, (task, response)) in serves.set.tasks.iter().zip(&serves.verdict.responses).enumerate() {
            let bound = response.bound();
            tasks.push(Task {
                name: serves.task_name(at).to_owned(),
                of: serves.name.to_owned(),
                run_ns: nanos(&task.run),
                every_ns: nanos(&task.every),
                deadline_ns: nanos(&task.deadline),
                bound_ns: bound.map(nanos),
                in_time: bound.is_some_and(|bound| *bound <= task.deadline),
            });
        }
    }
    tasks
}

/// A text that was read, under its workload.
struct Read {
    source: Source,
    warnings: Vec<Diagnostic>,
    workload: Workload,
    checked: Checked,
}

impl Read {
    fn new(text: &str, options: &Options) -> Result<Read, Vec<Message>> {
        let source = Source::new("text", text.as_bytes());
        let cpus = Cpus::UnlessStated(options.cpus);
        let read = hls_hierarchy::read_with(&Policies::default(), cpus, text.as_bytes());
        let at = |errors: Vec<Diagnostic>| -> Vec<Message> {
            errors.iter().map(|error| Message::at(&source, error)).collect()
        };
        let (hierarchy, warnings) = read.map_err(at)?;
        let workload = workload(options.workload.as_deref())?;
        let error = |error: PlanError| Message::error(error.to_string());
        let plan = Plan::new(hierarchy, &workload)
            .map_err(|errors| errors.into_iter().map(error).collect::<Vec<Message>>())?;
        Ok(Read { source, warnings, workload, checked: Checked::new(plan, options.rules) })
    }

    fn check(&self) -> Check {
        let Read { source, warnings, checked, .. } = self;
        let mut check = Check::of(checked, &checked.task_problems(), (source, warnings));
        check.messages.extend(self.workload.unsupported.iter().cloned().map(Message::note));
        check
    }
}

fn workload(text: Option<&str>) -> Result<Workload, Vec<Message>> {
    let Some(text) = text else { return Ok(Workload::default()) };
    hls_workload::read_rt_app(WORKLOAD, text.as_bytes())
        .map_err(|errors| errors.iter().map(|error| Message::error(error.to_string())).collect())
}

/// See [`crate::check`].
pub(crate) fn check(text: &str, options: &Options) -> Check {
    Read::new(text, options).map_or_else(Check::wrong, |read| read.check())
}

/// See [`crate::simulate`].
pub(crate) fn simulate(text: &str, options: &Options) -> Run {
    let none = |check: Check, exit_code| Run { exit_code, verdict: String::new(), check, result: None };
    let read = match Read::new(text, options) {
        Ok(read) => read,
        Err(messages) => return none(Check::wrong(messages), WRONG),
    };
    let mut check = read.check();
    let Read { source, workload, checked, .. } = &read;
    let hierarchy = &checked.plan.hierarchy;
    check.messages.extend(made_up(hierarchy, workload).map(Message::note));
    let refused = simulated::needs_processes(hierarchy);
    if !refused.is_empty() {
        check.messages.extend(refused.iter().map(|error| Message::at(source, error)));
        return none(check, WRONG);
    }
    let length = options.length.or(workload.duration).unwrap_or(DEFAULT_LENGTH);
    match run(checked, length, options) {
        Ok((result, verdict)) => {
            Run { exit_code: verdict.exit_code(), verdict: sentence(&result), check, result: Some(result) }
        }
        Err(failure) => {
            let exit_code = if failure.is_ours() { FAILED } else { WRONG };
            check.messages.push(Message::error(failure.to_string()));
            none(check, exit_code)
        }
    }
}

fn run(
    checked: &Checked,
    length: Nanos,
    options: &Options,
) -> Result<(RunResult, Verdict), hls_sim::Failure> {
    let of_engine = hls_sim::Options { seed: options.seed, ..Default::default() };
    simulated::run(checked, length, options.slack, &of_engine, &mut |_| ())
}

/// The verdict on a run in a line.
fn sentence(result: &RunResult) -> String {
    let mut line = Vec::new();
    // Nothing fails that is written into memory.
    let _ = write_verdict(&mut line, result);
    String::from_utf8_lossy(&line).trim_end().to_owned()
}
