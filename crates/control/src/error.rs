//! Why a request is not granted, and which request would be. Relies on the calculus for both. Changes nothing.

use crate::engine::EngineError;
use hls_calculus::{Graph, Guarantee, Mode, Owner, Place, Problem, Rational, Setting, analyse, mend};
use hls_core::pages::SLOT;
use hls_core::{CoreError, ParamInfo, PolicyInfo, Unit};
use hls_hierarchy::settings;
use hls_units::Nanos;
use std::fmt;

/// Why a request was not granted. Nothing has changed.
#[derive(Debug)]
pub enum Error {
    /// The calculus refuses: this guarantee, or another one, would not hold.
    Refused(Refusal),
    /// The caller may not do this.
    Denied(String),
    /// There is no such scheduler, policy or thread.
    NotFound(String),
    /// A value that is not valid.
    BadValue(String),
    /// A name that is taken, a scheduler that has children, a limit that is reached.
    InUse(String),
    /// The engine that runs was made without the built-in policy of this number.
    LeftOut(u8),
    /// The run has ended, or is about to, with everything that was granted.
    Ended,
    /// The system failed.
    Failed(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::Refused(refusal) => f.write_str(&refusal.reason),
            Error::LeftOut(policy) => EngineError::LeftOut(*policy).fmt(f),
            Error::Ended => EngineError::Ended.fmt(f),
            Error::Denied(reason)
            | Error::NotFound(reason)
            | Error::BadValue(reason)
            | Error::InUse(reason)
            | Error::Failed(reason) => f.write_str(reason),
        }
    }
}

impl std::error::Error for Error {}

impl From<EngineError> for Error {
    fn from(error: EngineError) -> Error {
        let reason = error.to_string();
        match error {
            EngineError::Core(CoreError::Param | CoreError::Unknown) => Error::BadValue(reason),
            EngineError::Core(CoreError::NotFound) | EngineError::Gone => Error::NotFound(reason),
            EngineError::Core(CoreError::Unreachable) | EngineError::Failed(_) => Error::Failed(reason),
            EngineError::Core(_) => Error::InUse(reason),
            EngineError::Policy(_) => Error::BadValue(reason),
            EngineError::LeftOut(policy) => Error::LeftOut(policy),
            EngineError::Ended => Error::Ended,
        }
    }
}

/// Turns an engine's error into the error of a request that put a child with these parameters below this scheduler.
pub(crate) fn not_taken(error: EngineError, (name, policy): (&str, &PolicyInfo), params: &[u64]) -> Error {
    let slot = policy.vp_params.iter().position(|info| info.name == SLOT).and_then(|at| params.get(at));
    match (error, slot.filter(|_| policy.properties.has_pages)) {
        // All values are in their ranges.
        (EngineError::Core(CoreError::Param), Some(slot)) => {
            Error::InUse(format!("found slot {slot} of `{name}` taken, expected one that is free"))
        }
        (EngineError::Core(CoreError::Children), Some(_)) => {
            Error::InUse(format!("found no slot of `{name}` free, expected fewer children"))
        }
        (error, _) => error.into(),
    }
}

/// The error, unless undoing the earlier steps failed. After the end of a run nothing is left to undo.
pub(crate) fn after_undoing(error: Error, undone: Result<(), impl Into<Error>>) -> Error {
    match (error, undone.map_err(Into::into)) {
        (error, Ok(())) => error,
        (Error::Ended, _) | (_, Err(Error::Ended)) => Error::Ended,
        (error, Err(undoing)) => {
            Error::Failed(format!("{error}; what was done could not be undone: {undoing}"))
        }
    }
}

/// A refusal of the calculus.
#[derive(Debug)]
pub struct Refusal {
    /// What was needed, and what there is.
    pub reason: String,
    pub(crate) case: Option<Box<Case>>,
}

/// A refusal by the calculus without a request to search a mend for.
pub(crate) fn refused(problem: Problem) -> Error {
    Error::Refused(Refusal { reason: problem.message, case: None })
}

/// The hierarchy as it would be if the request, its last edge, had been granted.
#[derive(Debug)]
pub(crate) struct Case {
    pub(crate) graph: Graph,
    pub(crate) mode: Mode,
    pub(crate) infos: &'static [ParamInfo],
    pub(crate) values: Vec<u64>,
}

impl Refusal {
    /// The nearest request that would be granted, as text, if one is found. The search takes a while: do not call
    /// this while other code waits for the manager.
    pub fn mend(&self) -> Option<String> {
        let Case { graph, mode, infos, values } = self.case.as_deref()?;
        let edge = graph.edges.len().checked_sub(1)?;
        let need = graph.edges[edge].requested.as_ref();
        let settings = settings::of_vp(&Owner::Edges(edge..edge + 1), infos, values, need);
        let analysis = analyse(graph, *mode);
        let is_own = |problem: &Problem| problem.place == Place::Edge(edge);
        let problem = analysis.problems.iter().position(is_own).unwrap_or(0);
        let mends = mend(graph, *mode, &analysis, problem, &settings);
        let mend = mends.change.or(mends.need)?;
        Some(in_words(&settings[mend.setting], &mend.to, need, infos))
    }
}

/// `RESBH 3ms 33ms`, or `share=3`: what to ask for instead.
fn in_words(setting: &Setting, to: &Rational, need: Option<&Guarantee>, infos: &[ParamInfo]) -> String {
    if let (Some(need), Some(number)) = (need, setting.asked) {
        return need.with_number(number, to).to_string();
    }
    let name = setting.param.as_deref().unwrap_or_default();
    let is_time = infos.iter().any(|info| info.name == name && info.unit == Unit::Time);
    let value = match u64::try_from(to.to_integer()) {
        Ok(nanos) if is_time => Nanos(nanos).to_string(),
        _ => to.to_string(),
    };
    format!("{name}={value}")
}
