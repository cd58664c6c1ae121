//! `load`: attaches a scheduler, runs a command under it, and detaches it. It runs in the guest, for `cost`.
//!
//!     load simple OBJECT COMMAND...          scx_simple, or any other object that needs only to be attached
//!     load POLICY DEPTH one COMMAND...       our engine: a chain of schedulers, with all threads below the last one;
//!                                            a policy that is not built in comes from the engine /loaded.bpf.o
//!     load POLICY DEPTH two COMMAND...       also a second chain below the first scheduler, as deep, with the first
//!                                            child of the command at its end
//!     load engine OBJECT [COMMAND...]        a build of our engine, with a fixed-priority scheduler above all threads;
//!                                            prints first, in nanoseconds, how long it took to load the engine and to
//!                                            attach it, then PROGRAM WALKED LENGTH of each program that the verifier
//!                                            walked for it, in instructions, then an empty line; with a command, at
//!                                            the end, how long it took to load the same engine again and have it take
//!                                            over, as `hls load` does
//!
//! Exit status: the command's; 2 wrong usage; 3 the scheduler could not be attached, or did not stay attached.

use hls_core::{Calls, CoreScheduler, CoreVp, ParamInfo, Params, PolicyInfo, described_policies};
use hls_kernel_engine::{BuiltIn, Check, Domain, Programs, Verified, ready_made};
use hls_units::Nanos;
use libbpf_rs::query::{ProgInfoIter, ProgInfoQueryOptions, ProgramInfo};
use libbpf_rs::{MapCore, MapType, ObjectBuilder};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::fs;
use std::io;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The length of an instruction of BPF.
const INSTRUCTION_BYTES: usize = 8;

type Result<T> = std::result::Result<T, String>;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let run = match &args[..] {
        [simple, object, command @ ..] if simple == "simple" && !command.is_empty() => {
            under_object(object, command)
        }
        [engine, object, command @ ..] if engine == "engine" => under_build(object, command),
        [policy, depth, branches, command @ ..] if !command.is_empty() => {
            under_engine(policy, depth, branches == "two", command)
        }
        _ => {
            eprintln!(
                "usage: load simple OBJECT COMMAND... | load POLICY DEPTH one|two COMMAND... | load engine OBJECT \
                 [COMMAND...]"
            );
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

/// Runs the command under the scheduler of an object.
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

/// Runs the command under our engine, in chains of `depth` schedulers of one policy, on the first CPU.
fn under_engine(policy: &str, depth: &str, two_branches: bool, command: &[String]) -> Result<u8> {
    let depth: u32 = depth.parse().map_err(|error| format!("depth `{depth}`: {error}"))?;
    let built_in = hls_core::policies().iter().find(|info| info.name == policy);
    let (object, _) = ready_made(BuiltIn::with(built_in));
    let mut engine = Domain::new(object).map_err(text)?;
    let policy = &built_in.map_or_else(|| load(&mut engine, policy), |info| Ok(info.clone()))?;
    engine.add_cpu(0).map_err(text)?;
    let root = engine.create_scheduler(policy.id, values(&policy.scheduler_params)).map_err(text)?;
    engine.attach_root(root, 0).map_err(text)?;
    let leaf = add_branch(&mut engine, root, policy, depth)?;
    let other = if two_branches { add_branch(&mut engine, root, policy, depth)? } else { leaf };
    engine.set_default(leaf, values(&policy.vp_params), None);
    let _attached = engine.loaded.attach_ops("hls_ops").map_err(text)?;
    let status = run(command, |child| {
        let vp = vp_of(&engine, child)?;
        engine.move_to(vp, other, values(&policy.vp_params), Nanos::ZERO).map_err(text)
    })?;
    sound(&mut engine).map(|()| status)
}

/// Checks the invariants of the engine.
fn sound(engine: &mut Domain) -> Result<()> {
    match engine.check().map_err(text)? {
        Check::Held => Ok(()),
        Check::Broken(fault) => Err(fault.to_string()),
        Check::NotMade => Err("the invariants could not be checked: decisions were due all the while".into()),
    }
}

/// Runs the command, if there is one, under a build of our engine, and prints first what the load cost.
fn under_build(object: &str, command: &[String]) -> Result<u8> {
    let object = fs::read(object).map_err(|error| format!("{object}: {error}"))?;
    let policies = hls_core::policies();
    let policy = policies.iter().find(|info| info.name == "fixed-priority").expect("it is built in");
    let (before, begin) = (programs(), Instant::now());
    let mut engine = Domain::new(&object).map_err(text)?;
    let loaded = begin.elapsed().as_nanos();
    engine.add_cpu(0).map_err(text)?;
    let root = engine.create_scheduler(policy.id, values(&policy.scheduler_params)).map_err(text)?;
    engine.attach_root(root, 0).map_err(text)?;
    engine.set_default(root, values(&policy.vp_params), None);
    let begin = Instant::now();
    let _attached = engine.loaded.attach_ops("hls_ops").map_err(text)?;
    println!("{loaded} {}", begin.elapsed().as_nanos());
    for (id, line) in programs() {
        if !before.contains_key(&id) {
            println!("{line}");
        }
    }
    println!();
    if command.is_empty() {
        return sound(&mut engine).map(|()| 0);
    }
    let status = run(command, |_| Ok(()))?;
    let begin = Instant::now();
    take_over(&mut engine, &object, [].into())?;
    println!("{}", begin.elapsed().as_nanos());
    sound(&mut engine).map(|()| status)
}

/// The programs that the kernel has, by number: of each its name, how many instructions the verifier walked for it, and
/// how many it has.
fn programs() -> BTreeMap<u32, String> {
    let line = |program: ProgramInfo| {
        let name = program.name.to_string_lossy().into_owned();
        let length = program.xlated_prog_insns.len() / INSTRUCTION_BYTES;
        (program.id, format!("{name} {} {length}", program.verified_insns))
    };
    let with_instructions = ProgInfoQueryOptions::default().include_xlated_prog_insns(true);
    ProgInfoIter::with_query_opts(with_instructions).map(line).collect()
}

/// Lets the engine with the loaded policies take over, and returns the policy of this name.
fn load(engine: &mut Domain, policy: &str) -> Result<PolicyInfo> {
    let policies = described_policies(&fs::read("/loaded.said.o").map_err(text)?).map_err(text)?;
    let object = fs::read("/loaded.bpf.o").map_err(text)?;
    let info = policies.iter().find(|info| info.name == policy).cloned();
    take_over(engine, &object, policies)?;
    info.ok_or_else(|| format!("found no policy `{policy}`"))
}

/// Lets the engine of an object take over from the running one, with its loaded policies.
fn take_over(engine: &mut Domain, object: &[u8], policies: Arc<[PolicyInfo]>) -> Result<()> {
    let maps = engine.shared_maps().map_err(text)?;
    let verified = Verified::load(&maps, object).map_err(|refusal| refusal.log)?;
    let programs = Programs::from_ids(&verified.ids().map_err(text)?).map_err(text)?;
    engine.take_over(Some((programs, policies))).map(drop).map_err(text)
}

fn text(error: impl Display) -> String {
    error.to_string()
}

/// The default value of each parameter, or its least value where it has no default.
fn values(params: &[ParamInfo]) -> Params {
    let value = |param: &ParamInfo| param.default.unwrap_or(param.min);
    Params::from_slice(&params.iter().map(value).collect::<Vec<_>>())
}

/// Makes a chain of schedulers below `parent` that has `depth` levels with it, and returns the last one.
fn add_branch(
    engine: &mut Domain,
    parent: CoreScheduler,
    policy: &PolicyInfo,
    depth: u32,
) -> Result<CoreScheduler> {
    let mut last = parent;
    for _ in 1..depth {
        let next = engine.create_scheduler(policy.id, values(&policy.scheduler_params)).map_err(text)?;
        engine.attach(last, Some(next), values(&policy.vp_params)).map_err(text)?;
        last = next;
    }
    Ok(last)
}

/// The VP of the only thread of a process.
fn vp_of(engine: &Domain, pid: u32) -> Result<CoreVp> {
    let found = (1..hls_core::limits::MAX_VPS as u32).map(CoreVp).find(|&vp| engine.thread(vp).pid == pid);
    found.ok_or_else(|| format!("found no VP of the process {pid}"))
}

/// Runs the command, and calls `with_child` with the pid of its first child as soon as it has one. Returns its exit
/// status, or an error where the scheduler is no longer attached when the command has ended.
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
