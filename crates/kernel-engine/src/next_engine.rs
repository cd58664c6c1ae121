//! The next engine: a BPF object with other policies that takes over a running hierarchy (`bpf/jumps.h`).
//!
//! Relies on all engines of a run being built from one version of the core: they agree on the layout of everything in
//! the shared maps. Never detaches the first engine's object: its operations jump to the current engine. Until
//! [`Jumps::lead_to`] nothing on the machine has changed; when the first object is detached, no engine schedules any
//! more.

use crate::object::{Loaded, STANDARD, additions, load, may_set_timers, program, run};
use crate::{Error, Refusal};
use hls_core::{limits, mirror};
use libbpf_rs::{MapCore, MapFlags, MapHandle, Object, OpenObject, Program};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::thread;
use std::time::Duration;

/// The maps that all engines of a run share.
const SHARED: [&str; 10] = [
    "arena",
    "doorbell",
    "tasks",
    "task_vps",
    "cgroup_weights",
    "thread_weights",
    "timers",
    "watcher",
    "kernel_pages",
    "user_pages",
];

/// The operations of sched_ext by name. The attached program of operation X only jumps, by the map `jump_X`, to the
/// program `engine_X` of the current engine.
const JUMPS: [&str; 9] =
    ["init", "enqueue", "dispatch", "quiescent", "yielded", "init_task", "exit_task", "post", "pulse"];

/// The programs that user space calls.
const CALLED: [&str; 2] = [CALL, "arm_probe"];

/// The program for all requests of user space to an engine.
const CALL: &str = "engine_call";

/// The requests: `enum ask` of `bpf/domain.h`.
#[derive(Clone, Copy, Debug)]
pub enum Ask {
    /// Make the call that is in the domain.
    Call = 1,
    /// Weigh a VP anew, if it has the given generation.
    Weigh,
    /// Check the invariants.
    Check,
    /// Have timers call the functions of this engine.
    Timers,
}

mirror! {
    /// A message to a scheduler, or another request.
    #[derive(Clone, Copy, Default)]
    pub(crate) struct Message = "struct message" {
        number: u32,
        what: u32,
        value: [u64; limits::VP_PARAMS],
        answer: i64,
    }
}

/// The maps that a next engine shares with the first one. Empty for an engine with its own maps, which never takes
/// over.
#[derive(Default)]
pub struct SharedMaps(Vec<(&'static str, MapHandle)>);

impl SharedMaps {
    /// The maps of the first engine, which is attached.
    pub fn of(attached: &Loaded) -> Result<SharedMaps, Error> {
        let map = |name| Ok((name, attached.map(name)?));
        SHARED.into_iter().map(map).collect::<Result<_, _>>().map(SharedMaps)
    }

    /// The kernel's numbers of the maps, with which another process finds them.
    pub fn ids(&self) -> Result<Vec<u32>, Error> {
        let id = |(_, map): &(_, MapHandle)| map.info().map(|info| info.info.id);
        self.0.iter().map(id).collect::<Result<_, _>>().map_err(lost)
    }

    /// Finds the maps by the kernel's numbers.
    pub fn from_ids(ids: &[u32]) -> Result<SharedMaps, Error> {
        let map = |(name, id): (_, &u32)| Ok((name, MapHandle::from_map_id(*id).map_err(lost)?));
        SHARED.into_iter().zip(ids).map(map).collect::<Result<_, _>>().map(SharedMaps)
    }
}

fn lost(error: libbpf_rs::Error) -> Error {
    Error::Failed(format!("what another engine has loaded cannot be had: {error:#}"))
}

/// An engine that the kernel's verifier has accepted, in the process that loaded it. The verifier takes seconds, so a
/// process that may wait loads the engine. The engine exists as long as this value, or its programs, are held.
pub struct Verified(Object);

impl Verified {
    /// Loads an engine from its ELF file. The engine schedules no thread yet, and delays none.
    pub fn load(maps: &SharedMaps, file: &[u8]) -> Result<Verified, Refusal> {
        let share = |open: &mut OpenObject| {
            if let [first, ..] = &additions(open, STANDARD)?[..] {
                let what =
                    format!("found the {first}, expected none: a policy defines no programs and no maps");
                return Err(io::Error::other(what).into());
            }
            maps.0.iter().try_for_each(|(name, shared)| {
                let own = open.maps_mut().find(|own| own.name() == *name);
                own.map_or(Ok(()), |mut own| own.reuse_fd(shared.as_fd()))
            })
        };
        load(file, share).map(Verified)
    }

    /// The kernel's numbers of the programs that [`Programs`] needs, by name.
    pub fn ids(&self) -> Result<Vec<(String, u32)>, Error> {
        let id = |name: String| {
            let descriptor = program(&self.0, &name)?;
            Ok((name, Program::id_from_fd(descriptor.as_fd()).map_err(lost)?))
        };
        names().map(id).collect()
    }
}

/// The time between freeing one program and the next.
const FREE_INTERVAL: Duration = Duration::from_millis(50);

/// The programs of an engine that this process calls, or to which it redirects the attached operations.
pub struct Programs(Vec<(String, OwnedFd)>);

impl Drop for Programs {
    /// Kernel threads that run before all threads of the hierarchy free the programs: freeing all programs of an
    /// engine at once takes milliseconds that are charged to no thread. So the programs are freed one at a time.
    fn drop(&mut self) {
        let programs = std::mem::take(&mut self.0);
        let free = move || {
            programs.into_iter().for_each(|program| {
                drop(program);
                thread::sleep(FREE_INTERVAL);
            })
        };
        // If no thread can be started, the programs are freed now.
        drop(thread::Builder::new().spawn(free));
    }
}

impl Programs {
    /// The programs of the first engine, which is to be attached.
    pub fn of(first: &Loaded) -> Result<Programs, Error> {
        let find = |name: String| first.program(&name).map(|program| (name, program));
        names().map(find).collect::<Result<_, _>>().map(Programs)
    }

    /// Finds the programs that another process has loaded and still holds.
    pub fn from_ids(ids: &[(String, u32)]) -> Result<Programs, Error> {
        let find = |(name, id): &(String, u32)| Ok((name.clone(), Program::fd_from_id(*id).map_err(lost)?));
        ids.iter().map(find).collect::<Result<_, _>>().map(Programs)
    }

    /// Runs a program of type syscall, which may change the context. Returns the program's result.
    pub fn run(&self, program: &str, context: &mut [u8]) -> Result<i32, Error> {
        run(self.program(program)?, program, context)
    }

    /// Sends a request about `number` and `value` to the engine. Returns the program's result, and the answer in the
    /// message.
    pub fn ask(&self, what: Ask, number: u32, value: u64) -> Result<(i32, i64), Error> {
        let mut message = Message { number, what: what as u32, ..Message::default() };
        message.value[0] = value;
        // SAFETY: the struct has no padding, and any bytes are a valid value of it.
        let bytes =
            unsafe { std::slice::from_raw_parts_mut((&raw mut message).cast::<u8>(), size_of::<Message>()) };
        let result = self.run(CALL, bytes)?;
        Ok((result, message.answer))
    }

    fn program(&self, name: &str) -> Result<BorrowedFd<'_>, Error> {
        let found = self.0.iter().find(|(found, _)| found == name);
        let missing = || Error::Failed(format!("found no BPF program `{name}` in the engine"));
        found.map(|(_, descriptor)| descriptor.as_fd()).ok_or_else(missing)
    }
}

/// The operations that jump to the current engine, on this kernel.
fn jumps() -> impl Iterator<Item = &'static str> {
    JUMPS.into_iter().filter(|operation| *operation != "pulse" || !may_set_timers())
}

/// The name of an engine's program for an operation.
fn engine_program(operation: &str) -> String {
    match operation {
        "post" => CALL.to_owned(),
        _ => format!("engine_{operation}"),
    }
}

/// The names of all programs that this process uses.
fn names() -> impl Iterator<Item = String> {
    let jumps = jumps().map(engine_program).filter(|name| name != CALL);
    jumps.chain(CALLED.map(str::to_owned))
}

/// The maps with the engine's programs to which the attached operations jump.
pub struct Jumps(Vec<MapHandle>);

impl Jumps {
    /// The jump maps of the first engine, which is to be attached. They lead nowhere yet.
    pub fn of(first: &Loaded) -> Result<Jumps, Error> {
        let map = |operation| first.map(&format!("jump_{operation}"));
        jumps().map(map).collect::<Result<_, _>>().map(Jumps)
    }

    pub fn maps(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.0.iter().map(AsFd::as_fd)
    }

    /// Has all operations jump to an engine. When this fails half way, some operations jump to that engine already, so
    /// it must stay loaded.
    pub fn lead_to(&self, engine: &Programs) -> Result<(), Error> {
        adopted(engine.ask(Ask::Timers, 0, 0)?.0)?;
        self.0
            .iter()
            .zip(jumps())
            .try_for_each(|(jump, operation)| set(jump, engine.program(&engine_program(operation))?))
    }
}

fn adopted(result: i32) -> Result<(), Error> {
    match result {
        0 => Ok(()),
        _ => Err(Error::Failed(format!("the timers of the CPUs cannot be set anew ({result})"))),
    }
}

fn set(jump: &MapHandle, program: BorrowedFd) -> Result<(), Error> {
    let descriptor = program.as_raw_fd() as u32;
    jump.update(&0_u32.to_ne_bytes(), &descriptor.to_ne_bytes(), MapFlags::ANY)
        .map_err(|error| Error::Failed(format!("an operation cannot lead on to the new engine: {error:#}")))
}
