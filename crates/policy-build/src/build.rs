//! Builds an object with policies: writes the sources into a folder, compiles them there, and reads the object.

use crate::cache::{self, Cache, Unusable};
use crate::confined::{self, Compiler, Outcome};
use crate::diagnostic::{Diagnostic, Error};
use crate::file::PolicyFile;
use crate::{compiler, sources};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::fs::File;
use std::io::{Read, Seek};
use std::ops::RangeInclusive;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{fs, io};

/// Numbers of loaded policies; built-in policies have lower numbers.
pub const NUMBERS: RangeInclusive<u8> = 64..=255;

/// The most bytes that are read of a compiler's messages.
const MAX_MESSAGES: u64 = 1 << 20;

/// What to build, in a folder with all sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The descriptions of the policies, as an object that is only read, never run.
    Description,
    /// The core as a shared object, for the simulator.
    Native,
    /// The engine as a BPF object, for the kernel.
    Engine,
    /// The core as a BPF object that plays tapes, to compare it with the native build.
    Replay,
}

impl Target {
    /// All of them.
    pub const ALL: [Target; 4] = [Target::Description, Target::Native, Target::Engine, Target::Replay];

    /// The extension of such an object's file name.
    pub fn extension(self) -> &'static str {
        match self {
            Target::Description => "said.o",
            Target::Native => "so",
            Target::Engine => "bpf.o",
            Target::Replay => "replay.bpf.o",
        }
    }

    /// The translation unit.
    fn source(self) -> &'static str {
        match self {
            Target::Description => "core/port/describe.c",
            Target::Native => "core/port/native.c",
            Target::Engine => "bpf/engine.bpf.c",
            Target::Replay => "bpf/replay.bpf.c",
        }
    }

    fn flags(self, literature: &[u8], policies: &[(u8, PolicyFile)]) -> Vec<String> {
        let (file, more): (_, &[&str]) = match self {
            // The lowest level of optimisation with which the compiler sees which hooks a policy has.
            Target::Description => ("core/port/native.flags", &["-Og", "-c"]),
            // -O1: a policy is loaded in half the time, and most runs are short. -g1: the linker names lines. No symbol
            // may be undefined: all functions that a policy may call are in the core. Calls within the core stay there,
            // whatever other symbols the process has.
            Target::Native => (
                "core/port/native.flags",
                &["-O1", "-g1", "-shared", "-fPIC", "-fno-semantic-interposition", "-Wl,-Bsymbolic,-z,defs"],
            ),
            Target::Engine | Target::Replay => ("core/port/bpf.flags", &["-fno-crash-diagnostics", "-c"]),
        };
        let loaded: &[&str] =
            if policies.is_empty() { &[] } else { &["-iquote", "loaded", "-DHLS_LOADED=\"loaded.h\""] };
        let built_in = sources::POLICIES.iter().flat_map(|path| ["-include", path]);
        let mut flags: Vec<String> = sources::flags(file)
            .chain(more.iter().copied())
            .chain(built_in)
            .chain(loaded.iter().copied())
            .map(str::to_owned)
            .collect();
        if let Some(chosen) = self.literature(literature) {
            let lines = sources::literature().filter(|(number, _)| chosen.contains(number));
            let lines: Vec<&str> = lines.map(|(_, line)| line).collect();
            flags.push(format!("-DHLS_LITERATURE_POLICIES(P, ...)={}", lines.join(" ")));
        }
        flags
    }

    /// The policies of the literature in the object, where these are `chosen`; `None`: all. A description has none.
    fn literature(self, chosen: &[u8]) -> Option<&[u8]> {
        match self {
            Target::Description => Some(&[]),
            Target::Native => None,
            Target::Engine | Target::Replay => Some(chosen),
        }
    }
}

/// Builds objects. Several builds may run at once.
#[derive(Clone, Debug)]
pub struct Builder {
    /// The folder of the cache, where an object's name depends on everything that it was built from; created when
    /// needed. `None`: no cache. On a machine without the compiler, an object that another compiler has built from
    /// the same sources is used: so such a machine can load policies that were built elsewhere.
    pub cache: Option<PathBuf>,
    /// The longest real time of a compiler, to end one that hangs. Its CPU time has a limit of its own.
    pub time_limit: Duration,
    /// The compiler of native objects: gcc, clang, or one with the same flags.
    pub cc: OsString,
    /// The compiler of BPF objects. The verifier refuses the core if a clang before version 19 has compiled it.
    pub clang: OsString,
    /// The numbers of the optional policies (policies of the literature) in BPF objects: the verifier need not look
    /// at others. Other objects have all of them.
    pub literature: Vec<u8>,
}

impl Default for Builder {
    fn default() -> Builder {
        let time_limit = Duration::from_secs(1800);
        let literature = Vec::new();
        Builder { cache: None, time_limit, cc: "cc".into(), clang: "clang-19".into(), literature }
    }
}

/// An object.
#[derive(Clone, Debug)]
pub struct Built {
    /// Its file's content.
    pub bytes: Vec<u8>,
    /// How long it took to get it.
    pub took: Duration,
    /// Whether it was in the cache.
    pub cached: bool,
}

impl Builder {
    /// Builds the core with these policies beside the built-in ones, each under a number of [`NUMBERS`].
    pub fn build(&self, target: Target, policies: &[(u8, PolicyFile)]) -> Result<Built, Error> {
        let begin = Instant::now();
        check(policies)?;
        let compiler = Compiler::find(self.compiler(target));
        let cache = self.cache.as_deref().map(open_cache).transpose()?.flatten();
        let kept = cache.map(|cache| {
            let place = self.place(&cache, target, policies, &compiler)?;
            Ok::<_, Error>((cache, place))
        });
        let kept = kept.transpose()?;
        if let Some((cache, place)) = &kept
            && let Some(bytes) = cache.get(place).map_err(|error| failed(place, error))?
        {
            return Ok(Built { bytes, took: begin.elapsed(), cached: true });
        }
        let compiler = compiler.map_err(|error| missing(self.compiler(target), target, error))?;
        let bytes = self.compile(&compiler, target, policies)?;
        if let Some((cache, place)) = &kept {
            cache.put(place, &bytes).map_err(|error| failed(place, error))?;
        }
        Ok(Built { bytes, took: begin.elapsed(), cached: false })
    }

    fn compiler(&self, target: Target) -> &OsStr {
        match target {
            Target::Description | Target::Native => &self.cc,
            Target::Engine | Target::Replay => &self.clang,
        }
    }

    /// The object's place in the cache: its name depends on everything that the object is built from, followed by the
    /// compiler.
    fn place(
        &self,
        cache: &Cache,
        target: Target,
        policies: &[(u8, PolicyFile)],
        compiler: &io::Result<Compiler>,
    ) -> Result<PathBuf, Error> {
        let (source, extension) = (self.source_key(target, policies), target.extension());
        let compiler = compiler.as_ref().map_err(|error| io::Error::from(error.kind()));
        let version = compiler
            .and_then(|compiler| Command::new(&compiler.path).arg("--version").stdin(Stdio::null()).output());
        match version {
            Ok(version) => {
                let compiler = digits(Sha256::new_with_prefix(version.stdout));
                Ok(cache.place(&format!("{source}-{}.{extension}", &compiler[..16])))
            }
            Err(error) => cache
                .any(&format!("{source}-"), extension)
                .map_err(|error| failed(&cache.place(""), error))?
                .ok_or_else(|| missing(self.compiler(target), target, error)),
        }
    }

    /// A name for everything that an object is built from, except the compiler.
    fn source_key(&self, target: Target, policies: &[(u8, PolicyFile)]) -> String {
        let mut hash = Sha256::new();
        let mut add = |bytes: &[u8]| {
            hash.update(bytes.len().to_le_bytes());
            hash.update(bytes);
        };
        let sources = sources::SOURCES.iter().flat_map(|(path, text)| [*path, *text]);
        target.flags(&self.literature, policies).iter().for_each(|flag| add(flag.as_bytes()));
        [target.source()].into_iter().chain(sources).for_each(|text| add(text.as_bytes()));
        for (number, file) in policies {
            add(&[*number]);
            add(file.identifier().as_bytes());
            add(file.text().as_bytes());
        }
        digits(hash)
    }

    fn compile(
        &self,
        compiler: &Compiler,
        target: Target,
        policies: &[(u8, PolicyFile)],
    ) -> Result<Vec<u8>, Error> {
        let user = confined::user();
        // A folder for temporary files that the compiler's user can reach.
        let parent = user.map_or_else(std::env::temp_dir, |_| "/tmp".into());
        let folder = tempfile::Builder::new().prefix("hls-policy-").tempdir_in(&parent);
        let folder = folder.map_err(|error| failed(&parent, error))?;
        let here = folder.path();
        let failed = |error| failed(here, error);
        sources::write(here).and_then(|()| write_policies(&here.join("loaded"), policies)).map_err(failed)?;
        if let Some(user) = user {
            give(here, user).map_err(failed)?;
        }
        // The compiler can change only the content of this file, which has no name.
        let messages = tempfile::tempfile_in(here).map_err(failed)?;
        let arguments = [target.source(), "-o", "object"].map(OsString::from);
        // The object is the same wherever it is built.
        let here_is_nowhere = OsString::from(format!("-ffile-prefix-map={}=.", here.display()));
        let flags = target.flags(&self.literature, policies).into_iter().map(OsString::from);
        let mut command = compiler.command(flags.chain(arguments).chain([here_is_nowhere]), here);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command.stderr(messages.try_clone().map_err(failed)?);
        let program = self.compiler(target).display();
        let Outcome { status, exposed } = confined::run(&mut command, compiler, here, user, self.time_limit)
            .map_err(|error| Error::System(format!("{program} cannot be started: {error}")))?;
        if !exposed.is_empty() {
            let what = exposed.join(" and ");
            say(format!("this kernel has no Landlock, or an old one: it cannot keep {program} from {what}"));
        }
        match status {
            Some(status) if status.success() => cache::read_object(&here.join("object")).map_err(failed),
            Some(status) => Err(complaints(&program, status, messages, policies)),
            None => {
                let limit = self.time_limit.as_secs_f64();
                Err(Error::System(format!("{program} was ended, as it took more than {limit} s")))
            }
        }
    }
}

/// The cache in this folder; `None`: it is not safe to use, and a message says so.
fn open_cache(folder: &Path) -> Result<Option<Cache>, Error> {
    match Cache::open(folder) {
        Ok(cache) => Ok(Some(cache)),
        Err(Unusable::Failed(error)) => Err(failed(folder, error)),
        Err(Unusable::Writable(why)) => {
            say(format!("{}: no build is kept there or taken from there, because {why}", folder.display()));
            Ok(None)
        }
    }
}

/// Prints a warning about builds that are still made, once in the life of this process.
fn say(what: String) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    if SAID.lock().unwrap_or_else(PoisonError::into_inner).insert(what.clone()) {
        eprintln!("hls: {what}");
    }
}

/// Gives a folder and everything below it to a user and the group of the same number.
fn give(folder: &Path, user: u32) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        match entry.file_type()? {
            kind if kind.is_dir() => give(&entry.path(), user)?,
            _ => chown(entry.path(), Some(user), Some(user))?,
        }
    }
    chown(folder, Some(user), Some(user))
}

fn digits(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Checks that the policies' numbers and names are free, and differ.
fn check(policies: &[(u8, PolicyFile)]) -> Result<(), Error> {
    let mut problems = Vec::new();
    for (i, (number, file)) in policies.iter().enumerate() {
        let mut refuse = |what: String| problems.push(Diagnostic::error(file.path(), None, what));
        let others = &policies[..i];
        let holder = others.iter().find(|(other, _)| other == number).map(|(_, other)| other.path());
        if !NUMBERS.contains(number) || holder.is_some() {
            let (first, last) = (NUMBERS.start(), NUMBERS.end());
            let taken = holder.map_or_else(String::new, |by| format!(", which {} has", by.display()));
            refuse(format!(
                "found the number {number}{taken}, expected one from {first} to {last} that is free"
            ));
        }
        let name = file.identifier();
        let other = others.iter().find(|(_, other)| other.identifier() == name);
        let by_other = other.map(|(_, other)| format!("the policy of {}", other.path().display()));
        if let Some(by) = sources::taken_by(name).or(by_other) {
            refuse(format!("found the name `{}`, which is taken by {by}, expected another", file.name()));
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(Error::Refused(problems)) }
}

/// Writes the policies' files, and `loaded.h` with their includes and their lines of the registry.
fn write_policies(folder: &Path, policies: &[(u8, PolicyFile)]) -> io::Result<()> {
    fs::create_dir(folder)?;
    let (mut includes, mut lines) = (String::new(), String::new());
    for (number, file) in policies {
        let name = file.identifier();
        fs::write(folder.join(format!("{name}.c")), file.text())?;
        includes += &format!("#include \"{name}.c\"\n");
        lines += &format!(" P({number}, {name}, {}, __VA_ARGS__)", name.to_uppercase());
    }
    fs::write(folder.join("loaded.h"), format!("{includes}#define HLS_LOADED_POLICIES(P, ...){lines}\n"))
}

/// The error of a compiler that failed, from its messages.
fn complaints(
    program: &dyn Display,
    status: ExitStatus,
    mut messages: File,
    policies: &[(u8, PolicyFile)],
) -> Error {
    let mut text = Vec::new();
    let read = messages.rewind().and_then(|()| messages.take(MAX_MESSAGES).read_to_end(&mut text));
    if let Err(error) = read {
        return Error::System(format!("the messages of {program}: {error}"));
    }
    let text = String::from_utf8_lossy(&text);
    if let Some(limit) = confined::exceeded(status, &text) {
        return Error::System(format!("{program} was ended, as {limit}"));
    }
    match compiler::diagnostics(&text, policies) {
        found if !found.is_empty() => Error::Refused(found),
        _ => Error::System(format!("{program} failed: {}", text.trim())),
    }
}

fn failed(path: &Path, error: io::Error) -> Error {
    Error::System(format!("{}: {error}", path.display()))
}

fn missing(program: &OsStr, target: Target, error: io::Error) -> Error {
    let program = program.display();
    let (what, package) = match target {
        Target::Description => ("what policies say of themselves", "gcc and libc6-dev"),
        Target::Native => ("policies for the simulator", "gcc and libc6-dev"),
        Target::Engine | Target::Replay => ("policies for the kernel", "clang-19"),
    };
    Error::System(format!(
        "found no {program} that runs ({error}), which compiles {what}. Debian's packages for it: {package}"
    ))
}
