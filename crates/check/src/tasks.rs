//! The tasks that threads serve, held against what the threads are promised.
//!
//! Tasks that the file states as such must be shown to meet their deadlines. So should a `periodic` thread that asks
//! for a guarantee, but there a doubt is a warning only: the file did not say that the guarantee is for that. Relies
//! on the labels of [`Derived`]. Like these, all response times are for an ideal machine (see `ideal.rs`).

use crate::derived::Derived;
use hls_calculus::tasks::{
    Miss, Order, Response, Task, TaskSet, Verdict, least_amount, limited_response, reserved_response,
};
use hls_calculus::{
    self as calculus, Continuity, Guarantee, Label, Rational, Supply, ceil_nanos, floor_nanos,
};
use hls_hierarchy::model::{Child, ModelEdge, Thread};
use hls_hierarchy::{Diagnostic, Severity};
use hls_monitor::demand::Expected;
use hls_monitor::event::ObservedVp;
use hls_plan::{Plan, PlannedThreads};
use hls_units::Nanos;
use hls_workload::program::{ServedBy, ServedTask, ServedTasks};
use std::sync::Arc;

/// A thread that serves tasks, with what is certain of them; stands for several instances with the same promise.
pub struct ThreadTasks<'p> {
    /// The name of the thread, or of the first instance.
    pub name: &'p str,
    /// The VPs of the threads.
    pub vps: Vec<ObservedVp>,
    /// Index into the hierarchy's edges.
    pub edge: ModelEdge,
    /// The tasks as the file has them. The task of a `periodic` thread has no name.
    pub tasks: Arc<ServedTasks>,
    /// The tasks as the calculus has them, each with its greatest CPU time and jitter.
    pub set: TaskSet,
    /// What the thread is promised.
    pub guarantee: Guarantee,
    /// Whether the tasks are certain to meet their deadlines, and their response times.
    pub verdict: Verdict,
    /// Whether the file states `tasks`, not a `periodic` thread.
    pub is_stated: bool,
    /// The threads that must want no more than the file says for the verdict to hold; none where it follows from the
    /// guarantee.
    pub resting_on: Vec<Expected>,
}

impl Derived {
    /// The threads that have tasks and a promise or bound to compare them with, in the order of the file.
    pub fn tasks<'p>(&self, plan: &'p Plan) -> Vec<ThreadTasks<'p>> {
        plan.groups.iter().flat_map(|group| self.tasks_of(plan, group)).collect()
    }

    fn tasks_of<'p>(&self, plan: &'p Plan, group: &PlannedThreads) -> Vec<ThreadTasks<'p>> {
        let edge = &plan.hierarchy.edge(group.edge);
        let Some(tasks) = group.program.tasks() else { return Vec::new() };
        let is_stated = tasks.tasks.iter().all(|task| !task.name.is_empty());
        let mut beside = None;
        if !is_stated && edge.requested.is_none() {
            // What a thread gets beside its siblings is the same for all instances.
            let first = self.input.graph_edge_of(group.edge, 0);
            beside = first.and_then(|index| self.beside_siblings(plan, index));
            if beside.is_none() {
                return Vec::new();
            }
        }
        let policy = edge.parent.map(|parent| plan.hierarchy.schedulers[parent].policy.name);
        let mut all: Vec<ThreadTasks> = Vec::new();
        let mut last: Option<&Label> = None;
        for instance in 0..group.count {
            let Some(index) = self.input.graph_edge_of(group.edge, instance) else { continue };
            let label = &self.analysis.labels[index];
            let vp = group.first_vp.plus(instance);
            // Instances mostly have the same promise.
            if last.replace(label).is_some_and(|last| last.promises_as(label)) {
                all.iter_mut().last().into_iter().for_each(|same| same.vps.push(vp));
                continue;
            }
            let set = task_set(&tasks);
            let mut verdict = set.verdict(&label.supply());
            match (policy, edge.parent) {
                (Some("reservation"), _) => sharpen(&mut verdict, &set, label, &reserved_response),
                (Some("limit"), Some(limit)) => {
                    let held = self.held_by(limit);
                    sharpen(&mut verdict, &set, label, &|task, budget, period| {
                        limited_response(task, budget, period, held.as_ref()?)
                    });
                }
                _ => {}
            }
            by_request(&mut verdict, &set, label);
            let mut resting_on = Vec::new();
            if let (Some(_), Some(beside)) = (&verdict.miss, &beside) {
                (verdict, resting_on) = (beside.verdict.clone(), beside.resting_on.clone());
            }
            all.push(ThreadTasks {
                name: &plan.topology.vps[vp.index()].name,
                vps: vec![vp],
                edge: group.edge,
                tasks: Arc::clone(&tasks),
                set,
                guarantee: label.guarantee.clone(),
                verdict,
                is_stated,
                resting_on,
            });
        }
        if let ([only], Child::Thread(thread)) = (&mut all[..], edge.child) {
            only.name = &plan.hierarchy.threads[thread].name;
        }
        all
    }

    /// Tasks that are not shown to meet their deadlines, errors and warnings; and warnings where more is wanted than
    /// limits let through.
    pub fn task_problems(&self, plan: &Plan) -> Vec<Diagnostic> {
        let mut problems: Vec<Diagnostic> =
            self.tasks(plan).iter().filter_map(|of_thread| of_thread.problem(plan)).collect();
        problems.extend(self.backlogs(plan));
        problems
    }

    /// The supply that a scheduler with one VP holds.
    pub(crate) fn held_by(&self, scheduler: usize) -> Option<Supply> {
        let edges = self.input.graph.edges.iter().zip(&self.analysis.labels);
        let mut held = edges.filter(|(edge, _)| edge.child == calculus::Child::Scheduler(scheduler));
        let (edge, label) = held.next()?;
        (edge.width <= 1 && held.next().is_none()).then(|| label.supply())
    }
}

/// Uses that below a scheduler of budgets a thread with one task begins the periods itself, by its wake-ups, which can
/// make the response time shorter than what the guarantee alone implies. `response` gives it for the task, the budget
/// and the period.
fn sharpen(
    verdict: &mut Verdict,
    set: &TaskSet,
    label: &Label,
    response: &dyn Fn(&Task, &Rational, &Rational) -> Option<Rational>,
) {
    let ([task], Guarantee::Reservation { hard: true, amount, period, .. }) =
        (&set.tasks[..], &label.guarantee)
    else {
        return;
    };
    if label.absolute() != label.guarantee {
        return;
    }
    let response = response(task, amount, period);
    if response.as_ref().is_some_and(|response| *response <= task.deadline) {
        verdict.miss = None;
    }
    if let Some(response) = response {
        verdict.responses[0] = verdict.responses[0].clone().and(Response::Bound(response));
    }
}

/// Uses that each job of a thread with one task is a request, which comes in its turn if the jobs are far enough apart.
fn by_request(verdict: &mut Verdict, set: &TaskSet, label: &Label) {
    let ([task], Guarantee::Job { amount, period, response }) = (&set.tasks[..], label.absolute()) else {
        return;
    };
    if task.run > amount || &task.every - &task.jitter < period || task.check().is_err() {
        return;
    }
    // A shorter request is done as much sooner.
    let done = &task.jitter + response - (amount - &task.run);
    if done <= task.deadline {
        verdict.miss = None;
    }
    verdict.responses[0] = verdict.responses[0].clone().and(Response::Bound(done));
}

/// Tasks of a workload as the calculus has them.
fn task_set(served: &ServedTasks) -> TaskSet {
    let order = match served.by {
        ServedBy::Edf => Order::Edf,
        ServedBy::Priority => Order::FixedPriority,
    };
    TaskSet { order, tasks: served.tasks.iter().map(calculus_task).collect() }
}

/// A task of a workload as the calculus has it.
pub(crate) fn calculus_task(task: &ServedTask) -> Task {
    Task::new(task.run.max, task.every, task.deadline, task.jitter.max)
}

impl ThreadTasks<'_> {
    /// What to call one of the tasks.
    pub fn task_name(&self, index: usize) -> &str {
        let name = &self.tasks.tasks[index].name;
        if name.is_empty() { self.name } else { name }
    }

    fn problem(&self, plan: &Plan) -> Option<Diagnostic> {
        let miss = self.verdict.miss.as_ref()?;
        let edge = &plan.hierarchy.edge(self.edge);
        if !self.is_stated && edge.requested.is_none() {
            // The file does not say that the task must be in time.
            return None;
        }
        let Child::Thread(thread) = edge.child else { return None };
        let Thread { name, span, .. } = &plan.hierarchy.threads[thread];
        let (severity, found) = match self.is_stated {
            true => (Severity::Error, format!("{}{miss} ({})", self.of_task(miss), self.guarantee)),
            false => (Severity::Warning, self.doubt()),
        };
        let expected = match &self.tasks.tasks[..] {
            [task] => format!("{} within {} of each release", task.run.max, task.deadline),
            _ => "every job of its tasks done by its deadline".to_owned(),
        };
        let help = self.remedies(edge.requested.as_ref());
        let message = format!("thread `{name}`");
        Some(Diagnostic { severity, span: span.clone(), message, found, expected, help, first: None })
    }

    fn of_task(&self, miss: &Miss) -> String {
        match miss {
            Miss::Short { task, .. } => format!("task `{}`: ", self.task_name(*task)),
            _ => String::new(),
        }
    }

    /// What the thread's guarantee does make certain, where the file seems to expect more of it.
    fn doubt(&self) -> String {
        let (guarantee, run) = (&self.guarantee, &self.set.tasks[0].run);
        let window = Supply::from(guarantee.clone()).window_for(run);
        match window {
            Some(window) => {
                let (run, window) = (ceil_nanos(run), ceil_nanos(&window));
                format!("{guarantee}, by which {run} is certain only in every {window}")
            }
            None => format!("{guarantee}, by which nothing is certain in finite time"),
        }
    }

    /// Reservations that would suffice; each was tried.
    fn remedies(&self, requested: Option<&Guarantee>) -> Option<String> {
        let candidates = match (&self.tasks.tasks[..], requested) {
            ([task], _) => {
                let (run, room) = (task.run.max, task.deadline.saturating_sub(task.jitter.max));
                let basic = Nanos(run.0.saturating_add(room.0) / 2);
                vec![(Continuity::Continuous, run, room), (Continuity::Basic, run, basic)]
            }
            (_, Some(Guarantee::Reservation { period, .. })) => {
                let least = |continuity| {
                    let fit = least_amount(&self.set, continuity, period).ok()?;
                    Some((continuity, ceil_nanos(&fit.amount), floor_nanos(period)))
                };
                [Continuity::Continuous, Continuity::Basic].into_iter().filter_map(least).collect()
            }
            _ => return None,
        };
        let guarantee = |(continuity, amount, period): (Continuity, Nanos, Nanos)| {
            let [amount, period] = [amount, period].map(|time| Rational::from_integer(time.0.into()));
            Guarantee::Reservation { continuity, hard: false, amount, period }
        };
        let does = |guarantee: &Guarantee| {
            guarantee.check().is_ok() && self.set.miss(&guarantee.clone().into()).is_none()
        };
        let texts: Vec<String> =
            candidates.into_iter().map(guarantee).filter(does).map(|it| it.to_string()).collect();
        (!texts.is_empty()).then(|| format!("{} would do", texts.join(" or ")))
    }
}
