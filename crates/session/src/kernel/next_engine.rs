//! Engines with just the needed policies, and the next engine: an engine with other policies, prepared while the
//! current engine goes on.
//!
//! The core is compiled with the policies that an engine is to have. `hls` contains two engines: with the standard
//! policies, and with all built-in ones. If a file names other than the standard policies, clang compiles an engine
//! with just the named ones, and the result is kept for the next time; without clang, the engine with all policies is
//! used, which takes longer to load.
//!
//! Preparing an engine takes seconds, mostly of the compiler and the verifier. A worker process does it; the
//! hierarchy schedules the worker like any other process, in the default scheduler. This process, which the hierarchy
//! does not schedule, only opens what the worker has left in the kernel. Does not make an engine take over by itself.

use crate::policies::{builder, describe, files, in_memory};
use crate::worker;
use hls_control::{EngineError, PolicySource, Prepared, add_used};
use hls_core::{PolicyInfo, PolicyTable, described_policies};
use hls_kernel_engine::{BuiltIn, Engine, Programs, Refusal, SharedMaps, Verified, ready_made};
use hls_policy_build::{Builder, Error, PolicyFile, Target, verifier_error};
use rustix::thread::set_name;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// An engine with the descriptions and the sources of its policies.
pub struct PreparedEngine {
    pub policies: Vec<PolicySource>,
    pub built_in: BuiltIn,
    pub engine: (Programs, PolicyTable),
}

/// An engine that may take over; `None`: the first one, which has no loaded policies.
pub type NextEngine = Option<PreparedEngine>;

/// An engine that was ready made, or built.
pub struct FoundEngine {
    pub object: Cow<'static, [u8]>,
    /// The built-in policies that it has.
    pub built_in: BuiltIn,
    /// Why it has more policies than needed, if it does.
    pub has_more_since: Option<String>,
}

/// An engine with the built-in policies that are needed. If an engine with no others cannot be built, it has all.
pub fn engine_with(needed: BuiltIn) -> FoundEngine {
    let (object, built_in) = ready_made(needed);
    let ready = FoundEngine { object: Cow::Borrowed(object), built_in, has_more_since: None };
    let exact = BuiltIn::with([]).and(needed);
    if built_in == exact {
        return ready;
    }
    let builder = Builder { literature: exact.literature(), ..builder() };
    match builder.build(Target::Engine, &[]) {
        Ok(built) => FoundEngine { object: Cow::Owned(built.bytes), built_in: exact, has_more_since: None },
        Err(error) => FoundEngine { has_more_since: Some(error.to_string()), ..ready },
    }
}

/// The policies of the current engine, and the previous engine. The previous one is kept because a user that unloads a
/// policy may want it again soon, and preparing an engine again takes seconds.
pub struct EngineCache {
    policies: Vec<PolicySource>,
    /// The built-in policies of the current engine, and of the first one.
    built_in: BuiltIn,
    of_first: BuiltIn,
    last: Option<PreparedEngine>,
}

impl EngineCache {
    /// The current engine is the first one, which has no loaded policies, and these of the built-in ones.
    pub fn of(built_in: BuiltIn) -> EngineCache {
        EngineCache { policies: Vec::new(), built_in, of_first: built_in, last: None }
    }

    /// Notes that the current engine is not the first one any more, but one with these policies.
    pub fn begins_with(&mut self, policies: Vec<PolicySource>, built_in: BuiltIn) {
        (self.policies, self.built_in) = (policies, built_in);
    }

    /// Which built-in policies the current engine has.
    pub fn built_in(&self) -> BuiltIn {
        self.built_in
    }

    /// Whether the current engine has the policy of this number.
    pub fn has(&self, policy: u8) -> bool {
        self.built_in.has_all_of(BuiltIn::one(policy))
    }

    /// An engine with these policies that is ready already: the first engine, or the previous one.
    pub fn at_once(&mut self, policies: &[PolicySource], built_in: BuiltIn) -> Option<Prepared<NextEngine>> {
        let ready = |next, policies: &[PolicyInfo]| {
            let policies = policies.to_vec();
            Prepared { next, policies, build: Duration::ZERO, verify: Duration::ZERO }
        };
        if policies.is_empty() && self.of_first.has_all_of(built_in) {
            return Some(ready(None, hls_core::policies()));
        }
        let is_it =
            |last: &mut PreparedEngine| last.policies == policies && last.built_in.has_all_of(built_in);
        let made = self.last.take_if(is_it)?;
        let infos = made.engine.1.clone();
        Some(ready(Some(made), &infos))
    }

    /// Has an engine take over.
    pub fn take_over(
        &mut self,
        engine: &mut Engine,
        next: NextEngine,
    ) -> Result<(), hls_kernel_engine::Error> {
        let ((policies, built_in), next) = match next {
            Some(made) => ((made.policies, made.built_in), Some(made.engine)),
            None => ((Vec::new(), self.of_first), None),
        };
        let old = engine.take_over(next)?;
        let policies = std::mem::replace(&mut self.policies, policies);
        let built_in = std::mem::replace(&mut self.built_in, built_in);
        if let Some(engine) = old {
            self.last = Some(PreparedEngine { policies, built_in, engine });
        }
        Ok(())
    }
}

/// The worker's task.
#[derive(Serialize, Deserialize)]
struct Order {
    policies: Vec<PolicySource>,
    built_in: BuiltIn,
    /// The kernel's numbers of the maps that all engines share.
    maps: Vec<u32>,
}

/// The worker's result.
#[derive(Serialize, Deserialize)]
enum Answer {
    Done {
        /// The object with the policies' descriptions, which exists as long as the worker. `None`: no policy is
        /// loaded.
        description: Option<PathBuf>,
        /// The built-in policies of the engine: at least the ordered ones.
        built_in: BuiltIn,
        /// The kernel's numbers of the engine's programs; the programs may be gone after the worker's end.
        programs: Vec<(String, u32)>,
        build: Duration,
        verify: Duration,
    },
    /// A policy is wrong.
    Wrong(String),
    Failed(String),
}

impl Answer {
    fn refused(error: Error) -> Answer {
        match error {
            Error::Refused(_) => Answer::Wrong(error.to_string()),
            Error::System(what) => Answer::Failed(what),
        }
    }

    fn failed(what: &str, error: impl std::fmt::Display) -> Answer {
        Answer::Failed(format!("{what}: {error}"))
    }
}

/// Has a worker prepare an engine that has these policies, and takes it over from the worker.
pub fn prepare(
    policies: Vec<PolicySource>,
    built_in: BuiltIn,
    maps: &SharedMaps,
) -> Result<Prepared<PreparedEngine>, EngineError> {
    let failed = |error: hls_kernel_engine::Error| EngineError::Failed(error.to_string());
    let order = Order { policies, built_in, maps: maps.ids().map_err(failed)? };
    let (answer, worker) = give(&order)
        .map_err(|error| EngineError::Failed(format!("the process that prepares policies: {error}")))?;
    let (description, built_in, programs, build, verify) = match answer {
        Answer::Done { description, built_in, programs, build, verify } => {
            (description, built_in, programs, build, verify)
        }
        Answer::Wrong(what) => return Err(EngineError::Policy(what)),
        Answer::Failed(what) => return Err(EngineError::Failed(what)),
    };
    let programs = Programs::from_ids(&programs).map_err(failed)?;
    let unusable = |error: &dyn std::fmt::Display| EngineError::Failed(format!("the description: {error}"));
    let infos: PolicyTable = match description {
        Some(path) => {
            let description = std::fs::read(&path).map_err(|error| unusable(&error))?;
            described_policies(&description).map_err(|error| unusable(&error))?
        }
        None => hls_core::policies().into(),
    };
    drop(worker);
    let policies = infos.to_vec();
    let next = PreparedEngine { policies: order.policies, built_in, engine: (programs, infos) };
    Ok(Prepared { next, policies, build, verify })
}

/// The worker's process, which ends when this value is dropped.
struct Worker(std::process::Child);

impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        // The worker ends by itself at the end of its input; its exit status does not matter.
        let _ = self.0.wait();
    }
}

/// Starts a worker and gives it the order. Returns its answer.
fn give(order: &Order) -> io::Result<(Answer, Worker)> {
    let mut command = worker::process(worker::POLICIES);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut worker = Worker(command.spawn()?);
    let (Some(stdin), Some(stdout)) = (worker.0.stdin.as_mut(), worker.0.stdout.take()) else {
        return Err(io::ErrorKind::BrokenPipe.into());
    };
    serde_json::to_writer(&mut *stdin, order)?;
    stdin.write_all(b"\n")?;
    let mut line = Vec::new();
    BufReader::new(stdout).read_until(b'\n', &mut line)?;
    add_used(worker::cpu_time(&worker.0));
    if line.is_empty() {
        let status = worker.0.wait()?;
        return Err(io::Error::other(format!("found that it has ended ({status}), expected an answer")));
    }
    Ok((serde_json::from_slice(&line)?, worker))
}

/// Runs as the worker's process. When the process ends, its results are gone unless another process holds them.
///
/// # Errors
/// When its answer does not reach its parent.
pub fn serve() -> io::Result<()> {
    // Without this its name in a list of threads would be `exe`.
    set_name(c"hls-policies")?;
    let mut line = Vec::new();
    let mut stdin = io::stdin().lock();
    stdin.read_until(b'\n', &mut line)?;
    let order: Order = serde_json::from_slice(&line)?;
    let (answer, _made) = match carry_out(&order) {
        Ok((answer, made)) => (answer, Some(made)),
        Err(answer) => (answer, None),
    };
    let mut stdout = io::stdout().lock();
    serde_json::to_writer(&mut stdout, &answer)?;
    stdout.write_all(b"\n")?;
    stdout.flush()?;
    // Waits until the parent has taken the engine, or has ended.
    stdin.read_to_end(&mut line).map(drop)
}

/// The answer to an order, and what must be held as long as the answer is in use.
fn carry_out(order: &Order) -> Result<(Answer, (Option<File>, Verified)), Answer> {
    let begin = Instant::now();
    let files = files(&order.policies).map_err(Answer::refused)?;
    let compiled = if files.is_empty() { None } else { Some(compile(&files, order.built_in)?) };
    let (object, built_in) = match &compiled {
        Some(compiled) => (Cow::Borrowed(&compiled.engine[..]), order.built_in),
        None => {
            let found = engine_with(order.built_in);
            (found.object, found.built_in)
        }
    };
    let build = begin.elapsed();
    let begin = Instant::now();
    let maps = SharedMaps::from_ids(&order.maps).map_err(|error| Answer::failed("the engine", error))?;
    let verified = Verified::load(&maps, &object).map_err(|Refusal { what, log, .. }| {
        Answer::refused(verifier_error(&format!("{log}\n{what}"), &files))
    })?;
    let programs = verified.ids().map_err(|error| Answer::failed("the next engine", error))?;
    let (description, file) = compiled.map(|compiled| (compiled.description, compiled.file)).unzip();
    Ok((Answer::Done { description, built_in, programs, build, verify: begin.elapsed() }, (file, verified)))
}

/// The result of compiling policies' files.
struct Compiled {
    engine: Vec<u8>,
    /// The path of the policies' descriptions, and the file at that path.
    description: PathBuf,
    file: File,
}

fn compile(files: &[(u8, PolicyFile)], built_in: BuiltIn) -> Result<Compiled, Answer> {
    let builder = Builder { literature: built_in.literature(), ..builder() };
    let described = describe(&builder, files).map_err(Answer::refused)?;
    let (file, description) =
        in_memory(&described.object).map_err(|error| Answer::failed("a file for the description", error))?;
    let engine = builder.build(Target::Engine, files).map_err(Answer::refused)?.bytes;
    Ok(Compiled { engine, description, file })
}
