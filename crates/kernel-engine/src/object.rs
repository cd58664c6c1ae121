//! A loaded BPF object with its arena mapped: the only access from Rust to the programs of `bpf/` and to the memory
//! that they share with this process.
//!
//! Every object of `bpf/` has one arena, named `arena`, and programs of type syscall. Such a program gets a context
//! with its task, and writes its answer there. The kernel chooses where the arena lies.

use crate::built_in::BuiltIn;
use crate::{Error, Refusal, state};
use libbpf_rs::btf::{Btf, types::Struct};
use libbpf_rs::{
    AsRawLibbpf, ErrorKind, Link, MapCore, MapHandle, MapType, Object, ObjectBuilder, OpenObject, PrintLevel,
    libbpf_sys,
};
use std::fs;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::Mutex;

/// The smallest size of a page. On machines with larger pages the arena is larger, and only a part of it is used.
const PAGE: usize = 4096;

/// The kernel engine, compiled by `build.rs` with the standard policies.
pub static STANDARD: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/standard.bpf.o"));

/// The kernel engine with all policies.
static ALL: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/all.bpf.o"));

/// An engine that needs no compiler: the smallest one in this program that has these policies, and the policies that
/// it has.
pub fn ready_made(needed: BuiltIn) -> (&'static [u8], BuiltIn) {
    let standard = BuiltIn::with([]);
    if standard.has_all_of(needed) {
        (STANDARD, standard)
    } else {
        (ALL, BuiltIn::with(hls_core::policies()))
    }
}

/// A loaded object and its arena.
pub struct Loaded {
    /// Keeps the arena mapped.
    object: Object,
    arena: NonNull<u8>,
    bytes: usize,
}

impl Loaded {
    /// Loads an object from its ELF file.
    pub fn new(file: &[u8]) -> Result<Loaded, Error> {
        may_have_an_arena()?;
        let object = load(file, |_| Ok(())).map_err(|refusal| match refusal.is_of_rights {
            true => Error::NotAllowed(refusal.to_string()),
            false => Error::Refused(refusal),
        })?;
        let no_arena = || Error::Failed("found no arena in the BPF object, expected one".into());
        let (arena, bytes) = {
            let map = object.maps().find(|map| map.name() == "arena").ok_or_else(no_arena)?;
            let mut initial = 0;
            // SAFETY: the map is a loaded object's arena; libbpf returns the address at which it has mapped the arena.
            let base =
                unsafe { libbpf_sys::bpf_map__initial_value(map.as_libbpf_object().as_ptr(), &mut initial) };
            (NonNull::new(base.cast()).ok_or_else(no_arena)?, map.max_entries() as usize * PAGE)
        };
        Ok(Loaded { object, arena, bytes })
    }

    /// The beginning of the arena, as an address of user space, which programs use, too.
    pub fn address(&self) -> u64 {
        self.arena.as_ptr() as u64
    }

    /// The arena. A page that was never written may not exist for the kernel.
    pub fn arena(&self) -> &[u8] {
        // SAFETY: libbpf has mapped `bytes` bytes, and keeps them mapped until `object` is dropped; programs write
        // only while `run` borrows `self` exclusively.
        unsafe { std::slice::from_raw_parts(self.arena.as_ptr(), self.bytes) }
    }

    /// The arena, to write to; writing makes its pages exist.
    pub fn arena_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.arena.as_ptr(), self.bytes) }
    }

    /// Runs a program of type syscall, which may change the context; returns what it returned.
    pub fn run(&mut self, program: &str, context: &mut [u8]) -> Result<i32, Error> {
        run(self.program(program)?.as_fd(), program, context)
    }
}

/// Runs a program of type syscall, which may change the context; returns what it returned.
pub(crate) fn run(program: BorrowedFd, name: &str, context: &mut [u8]) -> Result<i32, Error> {
    let mut options = libbpf_sys::bpf_test_run_opts {
        sz: size_of::<libbpf_sys::bpf_test_run_opts>() as libbpf_sys::size_t,
        ..Default::default()
    };
    if !context.is_empty() {
        options.ctx_in = context.as_mut_ptr().cast();
        options.ctx_size_in = context.len() as u32;
    }
    // SAFETY: the options state their size, and the context may be written to while the program runs.
    let error = unsafe { libbpf_sys::bpf_prog_test_run_opts(program.as_raw_fd(), &mut options) };
    if error != 0 {
        let error = std::io::Error::from_raw_os_error(-error);
        return Err(Error::Failed(format!("the kernel does not run the BPF program `{name}`: {error}")));
    }
    Ok(options.retval as i32)
}

/// The parts of an engine's object: programs to attach, and maps to read.
impl Loaded {
    /// Attaches the struct_ops of this name. The kernel detaches it when the link is dropped or this process ends.
    pub fn attach_ops(&mut self, name: &str) -> Result<Link, Error> {
        let found = self.object.maps_mut().find(|map| map.name() == name);
        let mut found = found.ok_or_else(|| Error::Failed(format!("found no BPF map `{name}`")))?;
        found.attach_struct_ops().map_err(|error| {
            let refused = || Error::Failed(format!("the kernel does not take the scheduler: {error:#}"));
            state::another().unwrap_or_else(refused)
        })
    }

    /// Attaches a tracing program.
    pub fn attach(&mut self, program: &str) -> Result<Link, Error> {
        let found = self.object.progs_mut().find(|found| found.name() == program);
        let found = found.ok_or_else(|| Error::Failed(format!("found no BPF program `{program}`")))?;
        found.attach().map_err(|error| {
            Error::Failed(format!("the BPF program `{program}` cannot be attached: {error:#}"))
        })
    }

    /// A program of the object.
    pub(crate) fn program(&self, name: &str) -> Result<OwnedFd, Error> {
        program(&self.object, name)
    }

    /// A map of the object.
    pub fn map(&self, name: &str) -> Result<MapHandle, Error> {
        let found = self.object.maps().find(|map| map.name() == name);
        let found = found.ok_or_else(|| Error::Failed(format!("found no BPF map `{name}`")))?;
        MapHandle::try_from(&found)
            .map_err(|error| Error::Failed(format!("the BPF map `{name}` cannot be had: {error:#}")))
    }
}

/// How many bytes of the verifier's log are kept, from its end. A log may be a thousand times longer; to keep all of
/// it, libbpf would load the object again and again, each time with a buffer of twice the size.
const LOG: usize = 1 << 20;

/// Whether the kernel lets BPF programs set timers: not under PREEMPT_RT.
pub(crate) fn may_set_timers() -> bool {
    !fs::read_to_string("/proc/sys/kernel/version").is_ok_and(|version| version.contains("PREEMPT_RT"))
}

/// Whether the CPUs are virtual: they may stand still while their host runs others.
fn has_virtual_cpus() -> bool {
    let is_virtual = |line: &str| {
        line.starts_with("flags") && line.split_ascii_whitespace().any(|flag| flag == "hypervisor")
    };
    fs::read_to_string("/proc/cpuinfo").is_ok_and(|text| text.lines().any(is_virtual))
}

/// A constant about the machine, set in an engine before the verifier sees it.
struct Constant {
    /// The map of the engine's variable.
    map: &'static str,
    value: fn() -> bool,
}

const CONSTANTS: [Constant; 2] = [
    Constant { map: ".rodata.timers", value: may_set_timers },
    Constant { map: ".rodata.virtual", value: has_virtual_cpus },
];

/// The programs that replace timers: the attached one, and the one to which it jumps.
const PULSES: [&str; 2] = ["hls_pulse", "engine_pulse"];

/// The map of the operations that are attached.
const OPERATIONS: &str = "hls_ops";

/// The last members of `struct sched_ext_ops` in `bpf/sched_ext.h`: pointers to programs.
const CGROUP_OPERATIONS: [&str; 4] = ["cgroup_init", "cgroup_exit", "cgroup_move", "cgroup_set_weight"];

/// Whether the kernel informs schedulers about cgroups.
fn has_cgroup_operations() -> bool {
    let has = |operations: Struct| {
        let has = |name: &&str| {
            operations.iter().any(|member| member.name.is_some_and(|found| found.to_str() == Some(*name)))
        };
        CGROUP_OPERATIONS.iter().all(has)
    };
    Btf::from_vmlinux().is_ok_and(|btf| btf.type_by_name("sched_ext_ops").is_some_and(has))
}

/// Removes the operations for cgroups from our operations: libbpf then loads neither the members nor their programs.
fn leave_out_cgroups(operations: &mut [u8]) {
    let behind = operations.len().saturating_sub(CGROUP_OPERATIONS.len() * size_of::<u64>());
    operations[behind..].fill(0);
}

/// Loads an object from its ELF file; `prepare` changes the object before the kernel gets it.
pub(crate) fn load(
    file: &[u8],
    prepare: impl FnOnce(&mut OpenObject) -> libbpf_rs::Result<()>,
) -> Result<Object, Refusal> {
    let mut log = vec![0_u8; LOG];
    let (object, mut said) = with_messages(|| {
        let mut open = ObjectBuilder::default().open_memory(file)?;
        prepare(&mut open)?;
        for mut map in open.maps_mut() {
            if let Some(constant) = CONSTANTS.iter().find(|constant| map.name() == constant.map) {
                map.set_initial_value(&[u8::from((constant.value)())])?;
            }
            if map.name() == OPERATIONS && !has_cgroup_operations() {
                leave_out_cgroups(map.initial_value_mut().unwrap_or_default());
            }
        }
        for mut program in open.progs_mut() {
            // Where there are timers, the kernel does not need the programs of pulses.
            if may_set_timers() && PULSES.iter().any(|pulse| program.name() == *pulse) {
                program.set_autoload(false);
            }
            let program = program.as_libbpf_object().as_ptr();
            // SAFETY: libbpf writes into `log` only while it loads the program, before `log` is dropped.
            unsafe { libbpf_sys::bpf_program__set_log_buf(program, log.as_mut_ptr().cast(), LOG as _) };
        }
        open.load()
    });
    object.map_err(|error| {
        let verifier = log.split(|&byte| byte == 0).next().unwrap_or_default();
        let is_of_rights = verifier.is_empty() && error.kind() == ErrorKind::PermissionDenied;
        said.push_str(&String::from_utf8_lossy(verifier));
        Refusal { what: format!("{error:#}"), log: said, is_of_rights }
    })
}

/// The programs and maps of an object that are not in `file`: no policy may define any. libbpf would create them with
/// the rights of this process, and would use a map that another program has pinned if a map asks for it.
pub(crate) fn additions(open: &OpenObject, file: &[u8]) -> libbpf_rs::Result<Vec<String>> {
    let known = names(&ObjectBuilder::default().open_memory(file)?);
    Ok(names(open).into_iter().filter(|name| !known.contains(name)).collect())
}

/// The programs and the maps of an object, without the maps that libbpf makes from C variables.
fn names(open: &OpenObject) -> Vec<String> {
    let is_own = |map: &libbpf_rs::OpenMap<'_>| {
        // SAFETY: the map is part of the object, which lives as long as this call.
        !unsafe { libbpf_sys::bpf_map__is_internal(map.as_libbpf_object().as_ptr()) }
    };
    let programs = open.progs().map(|program| format!("program `{}`", program.name().to_string_lossy()));
    let is_pinned = |map: &libbpf_rs::OpenMap<'_>| {
        // SAFETY: as above.
        !unsafe { libbpf_sys::bpf_map__pin_path(map.as_libbpf_object().as_ptr()) }.is_null()
    };
    let maps = open.maps().filter(|map| is_own(map) || is_pinned(map)).map(|map| {
        let pinned = if is_pinned(&map) { ", pinned," } else { "" };
        format!("map `{}`{pinned}", map.name().to_string_lossy())
    });
    programs.chain(maps).collect()
}

/// Runs `what`, and collects the messages of libbpf meanwhile; one caller at a time.
fn with_messages<T>(what: impl FnOnce() -> T) -> (T, String) {
    static ONE: Mutex<()> = Mutex::new(());
    static MESSAGES: Mutex<String> = Mutex::new(String::new());
    fn collect(_: PrintLevel, text: String) {
        MESSAGES.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push_str(&text);
    }
    let _one = ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let before = libbpf_rs::set_print(Some((PrintLevel::Warn, collect)));
    let result = what();
    let speak: fn(PrintLevel, String) = |_, text| eprint!("{text}");
    libbpf_rs::set_print(before.or(Some((PrintLevel::Warn, speak))));
    let messages = std::mem::take(&mut *MESSAGES.lock().unwrap_or_else(std::sync::PoisonError::into_inner));
    (result, messages)
}

/// A program of an object.
pub(crate) fn program(object: &Object, name: &str) -> Result<OwnedFd, Error> {
    let found = object.progs().find(|found| found.name() == name);
    let found = found.ok_or_else(|| Error::Failed(format!("found no BPF program `{name}`")))?;
    let descriptor = found.as_fd().try_clone_to_owned();
    descriptor.map_err(|error| Error::Failed(format!("the BPF program `{name}` cannot be had: {error}")))
}

/// Tries to make a minimal arena, so that a refusal has a reason that people understand.
fn may_have_an_arena() -> Result<(), Error> {
    let options = libbpf_sys::bpf_map_create_opts {
        sz: size_of::<libbpf_sys::bpf_map_create_opts>() as libbpf_sys::size_t,
        map_flags: libbpf_sys::BPF_F_MMAPABLE,
        ..Default::default()
    };
    let Err(error) = MapHandle::create(MapType::Arena, Some("hls_may_i"), 0, 0, 1, &options) else {
        return Ok(());
    };
    let reason = match error.kind() {
        ErrorKind::PermissionDenied => "it takes root, or CAP_BPF and CAP_PERFMON",
        ErrorKind::InvalidInput => "this kernel has no BPF arenas, expected Linux 6.10 or later",
        _ => "the kernel refuses to make an arena",
    };
    Err(Error::NotAllowed(format!("{reason} ({error:#})")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use hls_policy_build::{Builder, PolicyFile, Target, Template};

    /// The additions of an engine that is built with the template's policy and this text.
    fn added_by(text: &str) -> Vec<String> {
        let [(path, policy), _] = Template::new("turns").unwrap().files;
        let include = "#include \"../core/policy.h\"\n";
        let policy = policy.replace(include, &format!("{include}{text}\n"));
        let policy = PolicyFile::new(&path, policy.into_bytes()).unwrap();
        let built = Builder::default().build(Target::Engine, &[(64, policy)]).unwrap();
        additions(&ObjectBuilder::default().open_memory(&built.bytes).unwrap(), STANDARD).unwrap()
    }

    #[test]
    fn what_is_left_out_without_cgroups_are_their_operations() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), STANDARD).unwrap();
        let btf = Btf::from_path(file.path()).unwrap();
        let operations: Struct = btf.type_by_name("sched_ext_ops").unwrap();
        let names: Vec<_> = operations.iter().map(|member| member.name.unwrap().to_str().unwrap()).collect();
        assert!(names.ends_with(&CGROUP_OPERATIONS), "{names:?}");
        let mut open = ObjectBuilder::default().open_memory(STANDARD).unwrap();
        let mut map = open.maps_mut().find(|map| map.name() == OPERATIONS).unwrap();
        let before = map.initial_value().unwrap().to_vec();
        leave_out_cgroups(map.initial_value_mut().unwrap());
        let (kept, left_out) = before.split_at(before.len() - 32);
        assert!(left_out.chunks(8).all(|pointer| pointer != [0; 8]), "{left_out:?}");
        assert_eq!(map.initial_value().unwrap(), [kept, &[0; 32]].concat());
    }

    #[test]
    fn an_engine_that_is_ready_made_has_what_is_needed() {
        let standard = BuiltIn::with([]);
        assert_eq!(ready_made(standard), (STANDARD, standard));
        for info in hls_core::policies() {
            let needed = BuiltIn::one(info.id);
            let (object, has) = ready_made(needed);
            assert!(
                has.has_all_of(needed) && (object == STANDARD) == standard.has_all_of(needed),
                "{}",
                info.name
            );
        }
        let [standard, all] =
            [STANDARD, ALL].map(|file| names(&ObjectBuilder::default().open_memory(file).unwrap()));
        assert_eq!(standard, all);
    }

    #[test]
    fn a_policy_adds_neither_programs_nor_maps() {
        let no_names: [&str; 0] = [];
        assert_eq!(added_by(""), no_names);
        assert_eq!(added_by("static const u32 turns_table[4] = {1, 2, 3, 4};"), no_names);
        let map = "struct { int (*type)[2]; int (*max_entries)[1]; u32 *key; u64 *value; int (*pinning)[1]; } \
                   turns_map __attribute__((section(\".maps\"), used));";
        assert_eq!(added_by(map), ["map `turns_map`, pinned,"]);
        let unpinned = map.replace(" int (*pinning)[1];", "");
        assert_eq!(added_by(&unpinned), ["map `turns_map`"]);
        let program =
            "__attribute__((section(\"syscall\"), used)) int turns_run(void *c) { return c != NULL; }";
        assert_eq!(added_by(program), ["program `turns_run`"]);
    }
}
