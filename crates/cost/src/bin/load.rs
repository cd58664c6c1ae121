//! `load`: attaches a scheduler, runs a command under it, and detaches it. It runs in the guest, for `hls-cost`.
//!
//!     load simple OBJECT COMMAND...          scx_simple, or any other that needs only to be attached
//!     load POLICY DEPTH one COMMAND...       our engine: a chain of schedulers, all threads below the last
//!     load POLICY DEPTH two COMMAND...       the same, and a second branch below the first scheduler, as deep,
//!                                            with the first child of the command at its end
//!
//! Exit status: that of the command; 2 usage; 3 the scheduler could not be attached, or did not stay so.

use hls_core::{Op, ParamInfo, PolicyInfo};
use hls_kernel::{ENGINE, Loaded};
use libbpf_rs::{MapCore, MapType, ObjectBuilder};
use std::fs;
use std::io;
use std::process::{Command, ExitCode};
use std::thread::sleep;
use std::time::Duration;

type Result<T> = std::result::Result<T, String>;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let run = match &args[..] {
        [simple, object, command @ ..] if simple == "simple" && !command.is_empty() => {
            under_object(object, command)
        }
        [policy, depth, branches, command @ ..] if !command.is_empty() => {
            under_engine(policy, depth, branches == "two", command)
        }
        _ => {
            eprintln!("usage: load simple OBJECT COMMAND... | load POLICY DEPTH one|two COMMAND...");
            return ExitCode::from(2);
        }
    };
    run.map_or_else(
        |why| {
            eprintln!("load: {why}");
            ExitCode::from(3)
        },
        ExitCode::from,
    )
}

/// Under the one scheduler that an object has.
fn under_object(object: &str, command: &[String]) -> Result<u8> {
    let load = || {
        let mut object = ObjectBuilder::default().open_file(object)?.load()?;
        let mut found = object.maps_mut();
        let map = found.find(|map| map.map_type() == MapType::StructOps);
        let link = map.expect("a scheduler has its operations").attach_struct_ops()?;
        drop(found);
        Ok((object, link))
    };
    let _attached = load().map_err(|error: libbpf_rs::Error| format!("{object}: {error:#}"))?;
    run(command, |_| Ok(()))
}

/// Under our engine, with schedulers of one policy, so deep, on the first CPU.
fn under_engine(policy: &str, depth: &str, two_branches: bool, command: &[String]) -> Result<u8> {
    let depth: u32 = depth.parse().map_err(|error| format!("depth `{depth}`: {error}"))?;
    let found = hls_core::policies().iter().find(|info| info.name == policy);
    let policy = found.ok_or_else(|| format!("found no policy `{policy}`"))?;
    let mut engine = Engine(Loaded::new(ENGINE).map_err(|error| error.to_string())?);
    engine.run("set_up")?;
    engine.make(Op::AddCpu, 0, 0, NOTHING)?;
    let root = engine.make(Op::CreateScheduler, policy.id.into(), 0, values(&policy.scheduler_params))?;
    engine.make(Op::AttachRoot, root, 0, NOTHING)?;
    let leaf = engine.add_branch(root, policy, depth)?;
    let other = if two_branches { engine.add_branch(root, policy, depth)? } else { leaf };
    engine.put(ROOT, &leaf.to_ne_bytes());
    engine.put(PARAMS, values(&policy.vp_params).map(u64::to_ne_bytes).as_flattened());
    let _attached = engine.0.attach("hls_ops").map_err(|error| error.to_string())?;
    let status = run(command, |child| {
        let vp = engine.vp_of(child)?;
        engine.make(Op::Move, vp, other, values(&policy.vp_params)).map(|_| ())
    })?;
    match engine.make(Op::Check, 0, 0, NOTHING)? {
        0 => Ok(status),
        invariant => Err(format!("invariant {invariant} of the core does not hold")),
    }
}

type Params = [u64; hls_core::limits::PARAMS];
const NOTHING: Params = [0; hls_core::limits::PARAMS];

/// The presets of parameters; the least, where there is none.
fn values(params: &[ParamInfo]) -> Params {
    let mut values = NOTHING;
    for (value, param) in values.iter_mut().zip(params) {
        *value = param.default.unwrap_or(param.min);
    }
    values
}

/// Where things are in `struct engine_domain`.
const ROOT: usize = 4;
const PARAMS: usize = 24;
const CALL: usize = 56;
const THREADS: usize = 16_169_408;
const THREAD_BYTES: usize = 24;
const PID_IN_THREAD: usize = 8;

/// The engine, loaded.
struct Engine(Loaded);

impl Engine {
    fn run(&mut self, program: &str) -> Result<()> {
        match self.0.run(program, &mut []).map_err(|error| error.to_string())? {
            0 => Ok(()),
            other => Err(format!("`{program}` returned {other}")),
        }
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.0.arena_mut()[at..][..bytes.len()].copy_from_slice(bytes);
    }

    /// Schedulers below `parent` until there are `depth` levels; the last.
    fn add_branch(&mut self, parent: u32, policy: &PolicyInfo, depth: u32) -> Result<u32> {
        let mut last = parent;
        for _ in 1..depth {
            let id = policy.id.into();
            let next = self.make(Op::CreateScheduler, id, 0, values(&policy.scheduler_params))?;
            self.make(Op::Attach, last, next, values(&policy.vp_params))?;
            last = next;
        }
        Ok(last)
    }

    /// The VP of a thread.
    fn vp_of(&self, pid: u32) -> Result<u32> {
        let is_it = |vp: &usize| {
            let at = THREADS + vp * THREAD_BYTES + PID_IN_THREAD;
            self.0.arena()[at..][..4] == pid.to_ne_bytes()
        };
        let found = (1..hls_core::limits::MAX_VPS).find(is_it);
        found.map(|vp| vp as u32).ok_or_else(|| format!("found no VP of the process {pid}"))
    }

    /// A call of the core, with a result that is none of its errors.
    fn make(&mut self, op: Op, a: u32, b: u32, params: Params) -> Result<u32> {
        let what = [[op as u32, a], [b, 0]].map(|pair| pair.map(u32::to_ne_bytes));
        self.put(CALL + 16, what.as_flattened().as_flattened());
        self.put(CALL + 32, params.map(u64::to_ne_bytes).as_flattened());
        self.run("make_call")?;
        let mut result = [0; 8];
        result.copy_from_slice(&self.0.arena()[CALL + 64..][..8]);
        u32::try_from(i64::from_ne_bytes(result)).map_err(|error| format!("{op:?}: {error}"))
    }
}

/// Runs the command; `with_child` is called with its first child, once that is there. The scheduler must still be there
/// when the command has ended.
fn run(command: &[String], with_child: impl FnOnce(u32) -> Result<()>) -> Result<u8> {
    let failed = |error: io::Error| format!("{}: {error}", command[0]);
    let mut running = Command::new(&command[0]).args(&command[1..]).spawn().map_err(failed)?;
    let children = format!("/proc/{0}/task/{0}/children", running.id());
    let child = loop {
        sleep(Duration::from_millis(10));
        let children = fs::read_to_string(&children).map_err(failed)?;
        if let Some(child) = children.split_whitespace().next() {
            break child.parse().map_err(|error| format!("child `{child}`: {error}"))?;
        }
    };
    with_child(child)?;
    let status = running.wait().map_err(failed)?;
    match fs::read_to_string("/sys/kernel/sched_ext/state").unwrap_or_default().trim() {
        "enabled" => Ok(status.code().map_or(u8::MAX, |code| code as u8)),
        other => Err(format!("found sched_ext {other} at the end, expected enabled")),
    }
}
