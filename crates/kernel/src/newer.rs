//! Newer engines: objects with other policies that take over a running hierarchy (`bpf/newer.h`).
//!
//! Relies on all of them being built from one version of the core: they agree on all that lies in the shared maps.
//! Never detaches anything: until [`Jumps::lead_to`] nothing of the machine has changed, and with the attached object all
//! of it goes.

use crate::Error;
use crate::object::{Loaded, program, run};
use libbpf_rs::{MapCore, MapFlags, MapHandle, Object, ObjectBuilder, PrintLevel};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::sync::Mutex;

/// The maps that all engines of a run work on.
const SHARED: [&str; 6] = ["arena", "news", "tasks", "homes", "timers", "rescuer"];

/// The operations that lead on to the newest engine, each with its program there.
const OPERATIONS: [(&str, &str); 10] = [
    ("enqueue", "hls_enqueue"),
    ("dispatch", "hls_decide"),
    ("quiescent", "hls_quiescent"),
    ("disable", "hls_disable"),
    ("yielded", "hls_yielded"),
    ("init_task", "hls_init_task"),
    ("exit_task", "hls_exit_task"),
    ("set_cpumask", "hls_set_cpumask"),
    ("cpu_online", "hls_cpu_online"),
    ("cpu_offline", "hls_cpu_offline"),
];

/// What a newer engine needs of the first one; it may be taken to another thread.
pub struct SharedMaps(Vec<(&'static str, MapHandle)>);

impl SharedMaps {
    /// Those of the engine that is attached.
    pub fn of(attached: &Loaded) -> Result<SharedMaps, Error> {
        let map = |name| Ok((name, attached.map(name)?));
        SHARED.into_iter().map(map).collect::<Result<_, _>>().map(SharedMaps)
    }
}

/// A newer engine, which the kernel's verifier has let through. It does nothing yet.
pub struct Newer(Object);

/// Why the kernel does not take an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// In short.
    pub what: String,
    /// What libbpf and the verifier said.
    pub log: String,
}

impl Newer {
    /// Loads an engine from its ELF file; that takes seconds where the machine is slow, and holds nothing up.
    pub fn load(maps: &SharedMaps, file: &[u8]) -> Result<Newer, Refusal> {
        let mut builder = ObjectBuilder::default();
        let (object, log) = listening(|| {
            let mut open = builder.open_memory(file)?;
            for (name, shared) in &maps.0 {
                if let Some(mut own) = open.maps_mut().find(|own| own.name() == *name) {
                    own.reuse_fd(shared.as_fd())?;
                }
            }
            open.load()
        });
        object.map(Newer).map_err(|error| Refusal { what: format!("{error:#}"), log })
    }

    /// Runs a program of type syscall.
    pub fn run(&mut self, program: &str, context: &mut [u8]) -> Result<i32, Error> {
        run(&mut self.0, program, context)
    }
}

/// Where the operations of the attached engine lead on to.
pub struct Jumps(Vec<MapHandle>);

impl Jumps {
    /// Those of the engine that is to be attached, whose dispatch leads to its own program at first.
    pub fn of(first: &Loaded) -> Result<Jumps, Error> {
        let map = |(operation, _)| first.map(&format!("newer_{operation}"));
        let jumps = Jumps(OPERATIONS.into_iter().map(map).collect::<Result<_, _>>()?);
        for (map, (operation, name)) in jumps.0.iter().zip(OPERATIONS) {
            if operation == "dispatch" {
                set(map, first.program(name)?)?;
            }
        }
        Ok(jumps)
    }

    /// Has all of them lead to an engine. When it fails on its way some do: then the engine must stay.
    pub fn lead_to(&self, newer: &mut Newer) -> Result<(), Error> {
        if newer.run("adopt", &mut [])? != 0 {
            return Err(Error::Failed("the timers of the CPUs cannot be set anew".into()));
        }
        for (map, (_, name)) in self.0.iter().zip(OPERATIONS) {
            set(map, program(&newer.0, name)?)?;
        }
        Ok(())
    }
}

fn set(jump: &MapHandle, program: OwnedFd) -> Result<(), Error> {
    let descriptor = program.as_raw_fd() as u32;
    jump.update(&0_u32.to_ne_bytes(), &descriptor.to_ne_bytes(), MapFlags::ANY)
        .map_err(|error| Error::Failed(format!("an operation cannot lead on to the new engine: {error:#}")))
}

/// What libbpf has to say while something is done. One listens at a time.
fn listening<T>(what: impl FnOnce() -> T) -> (T, String) {
    static ONE: Mutex<()> = Mutex::new(());
    static HEARD: Mutex<String> = Mutex::new(String::new());
    fn hear(_: PrintLevel, text: String) {
        HEARD.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push_str(&text);
    }
    let _one = ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let before = libbpf_rs::set_print(Some((PrintLevel::Warn, hear)));
    let result = what();
    let speak: fn(PrintLevel, String) = |_, text| eprint!("{text}");
    libbpf_rs::set_print(before.or(Some((PrintLevel::Warn, speak))));
    let heard = std::mem::take(&mut *HEARD.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
    (result, heard)
}
