//! The `global` object of a workload file.
//!
//! Takes the duration from it. Passes over what cannot change a schedule (logs, calibration, memory locking) once it
//! has the type that rt-app wants, and names the rest.

use super::deadline::SCHED_DEADLINE;
use super::fields::{boolean, integer, object, refuse_repeated, text, unknown};
use crate::diagnostics::Diagnostics;
use crate::json::{Member, Node, Value};
use hls_units::Nanos;

/// The types a harmless setting may have.
#[derive(PartialEq)]
enum Type {
    Integer,
    Text,
    Boolean,
}

/// The settings that cannot change a schedule: where rt-app logs, how it calibrates its loops (here a microsecond of
/// `run` is a microsecond of CPU time), and the memory of its threads and of events that are not simulated.
const HARMLESS: [(&str, &[Type]); 10] = [
    ("calibration", &[Type::Integer, Type::Text]),
    ("lock_pages", &[Type::Boolean]),
    ("logdir", &[Type::Text]),
    ("log_basename", &[Type::Text]),
    ("log_size", &[Type::Integer, Type::Text]),
    ("ftrace", &[Type::Text, Type::Boolean]),
    ("gnuplot", &[Type::Boolean]),
    ("io_device", &[Type::Text]),
    ("mem_buffer_size", &[Type::Integer]),
    ("cumulative_slack", &[Type::Boolean]),
];

const POLICIES: [&str; 6] =
    ["SCHED_OTHER", "SCHED_BATCH", "SCHED_IDLE", "SCHED_RR", "SCHED_FIFO", SCHED_DEADLINE];

/// What the object says that counts.
#[derive(Default)]
pub(super) struct Global {
    /// How long the run takes.
    pub duration: Option<Nanos>,
    /// Whether threads for which the file says no other policy are of SCHED_DEADLINE.
    pub is_deadline: bool,
}

/// Reads the object.
pub(super) fn read(node: &Node, diagnostics: &mut Diagnostics) -> Global {
    let mut global = Global::default();
    let Some(members) = object(node, "an object for `global`", diagnostics) else { return global };
    refuse_repeated(members, |_| true, diagnostics);
    for member in members.iter().filter(|member| !matches!(member.node.value, Value::Null)) {
        match member.key.as_ref() {
            "duration" => {
                let what = "a whole number of seconds for `duration`, or -1 for a run without end,";
                let seconds = integer(&member.node, -1, what, diagnostics);
                global.duration =
                    seconds.filter(|seconds| *seconds > 0).map(|seconds| Nanos::from_secs(seconds as u64));
            }
            "default_policy" => {
                global.is_deadline = default_policy(member, diagnostics) == Some(SCHED_DEADLINE);
            }
            "pi_enabled" => priority_inheritance(member, diagnostics),
            key => match HARMLESS.iter().find(|(name, _)| *name == key) {
                Some((_, types)) => harmless(member, types, diagnostics),
                None => diagnostics.unsupported(member.at, unknown("global: ", key)),
            },
        }
    }
    global
}

/// The default asks for nothing; any other policy is named. Returns the policy.
fn default_policy<'n>(member: &'n Member, diagnostics: &mut Diagnostics) -> Option<&'n str> {
    let expected = format!("one of {} for `default_policy`", POLICIES.join(", "));
    let policy = text(&member.node, &expected, diagnostics)?;
    match policy {
        "SCHED_OTHER" => {}
        _ if POLICIES.contains(&policy) => {
            let sentence = format!(
                "global: `default_policy` {policy} is not simulated: the hierarchy decides how threads are scheduled."
            );
            diagnostics.unsupported(member.at, sentence);
        }
        _ => diagnostics.error(member.node.at, member.node.describe(), expected),
    }
    Some(policy)
}

fn priority_inheritance(member: &Member, diagnostics: &mut Diagnostics) {
    if boolean(&member.node, "pi_enabled", diagnostics) == Some(true) {
        let sentence = "global: `pi_enabled` is not simulated: mutexes do not pass on priorities.".to_owned();
        diagnostics.unsupported(member.at, sentence);
    }
}

fn harmless(member: &Member, types: &[Type], diagnostics: &mut Diagnostics) {
    let fits = match &member.node.value {
        Value::Number(text) => types.contains(&Type::Integer) && text.parse::<i32>().is_ok(),
        Value::Text(_) => types.contains(&Type::Text),
        Value::Bool(_) => types.contains(&Type::Boolean),
        _ => false,
    };
    if !fits {
        let name_of = |kind: &Type| match kind {
            Type::Integer => "a whole number",
            Type::Text => "a string",
            Type::Boolean => "true or false",
        };
        let names: Vec<&str> = types.iter().map(name_of).collect();
        let expected = format!("{} for `{}`", names.join(" or "), member.key);
        diagnostics.error(member.node.at, member.node.describe(), expected);
    }
}
