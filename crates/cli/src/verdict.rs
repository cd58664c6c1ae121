//! The outcome of a check: one value, from which both the last line of the output and the exit code are made.
//!
//! Relies on the analysis of the plan. Never looks at a run.

use crate::exit::Verdict;
use hls_check::{Derived, LeftOut};
use hls_hierarchy::model::Machine;

/// What a check comes to.
pub struct Checked {
    /// How many guarantees the file asks for.
    asked: usize,
    /// How many of them cannot be given.
    refused: usize,
    /// Whether a scheduler or an edge has a problem.
    has_problem: bool,
    /// How many threads have tasks that may miss their deadlines.
    late: usize,
    /// Whether the machine is as the calculus takes it to be.
    is_ideal: bool,
}

impl Checked {
    /// The outcome for a hierarchy with these labels and problems; `late`: the number of threads with tasks that may be
    /// late.
    pub fn new(derived: &Derived, has_problem: bool, late: usize, machine: &Machine) -> Checked {
        let (asked, refused) = derived.asked_and_refused();
        Checked { asked, refused, has_problem, late, is_ideal: LeftOut::of(machine).is_empty() }
    }

    /// Whether all that is asked for can be given, and all tasks are in time.
    pub fn verdict(&self) -> Verdict {
        if self.has_problem || self.late > 0 { Verdict::Violated } else { Verdict::Kept }
    }

    /// The outcome in a line.
    pub fn sentence(&self) -> String {
        let guarantees = self.guarantees();
        let tasks = match self.late {
            0 => String::new(),
            1 => "the tasks of 1 thread may miss their deadlines".into(),
            late => format!("the tasks of {late} threads may miss their deadlines"),
        };
        match (self.verdict(), self.has_problem, self.late) {
            (Verdict::Kept, ..) => format!("{}: {guarantees}", kept(self.is_ideal)),
            (_, true, 0) => format!("NOT KEPT: {guarantees}"),
            (_, true, _) => format!("NOT KEPT: {guarantees}, and {tasks}"),
            (_, false, _) => format!("NOT KEPT: {tasks}; {guarantees}"),
        }
    }

    /// In words, how many of the guarantees that are asked for can be given.
    fn guarantees(&self) -> String {
        let Checked { asked, refused, has_problem, .. } = *self;
        match (has_problem, asked, refused) {
            (false, 0, _) => "no guarantee is asked for".into(),
            (false, 1, _) => "the one guarantee that is asked for can be given".into(),
            (false, ..) => format!("each of the {asked} guarantees that are asked for can be given"),
            (true, _, 0) => "a scheduler cannot do what is asked of it".into(),
            (true, 1, _) => "the one guarantee that is asked for cannot be given".into(),
            _ if refused == asked => {
                format!("none of the {asked} guarantees that are asked for can be given")
            }
            _ => format!("{refused} of the {asked} guarantees that are asked for cannot be given"),
        }
    }
}

/// The word for a hierarchy that passes. Where the file's machine is not ideal, the word says that the verdict is for
/// an ideal one.
pub fn kept(is_ideal: bool) -> &'static str {
    if is_ideal { "kept" } else { "kept on an ideal machine" }
}

/// A line that says what the bounds assume although the file's machine is not so; `None` where the machine is ideal.
pub fn left_out(machine: &Machine) -> Option<String> {
    let assumed: Vec<String> = LeftOut::of(machine).iter().map(ToString::to_string).collect();
    let all = match &assumed[..] {
        [] => return None,
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    };
    Some(format!("note: all bounds are for an ideal machine, where {all}"))
}
