//! From policies to an object: writes the sources into a folder, compiles them there, and reads the object.

use crate::diagnostic::{Diagnostic, Error};
use crate::file::PolicyFile;
use crate::{compiler, process, sources};
use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::fs::File;
use std::io::{ErrorKind, Read, Write};
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, io};
use tempfile::NamedTempFile;

/// Numbers of loaded policies; built-in ones have those below.
pub const NUMBERS: RangeInclusive<u8> = 64..=255;

/// How many bytes of a compiler's messages are read.
const MAX_MESSAGES: u64 = 1 << 20;

/// What is built, in a folder with all sources.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// What the policies say of themselves, as an object to be read: nothing in it is ever run.
    Description,
    /// The core as a shared object, for the simulator.
    Native,
    /// The engine as a BPF object, for the kernel.
    Engine,
    /// The core as a BPF object that plays tapes: to compare it with the native build.
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

    fn flags(self) -> Vec<&'static str> {
        let (file, more): (_, &[&str]) = match self {
            // Optimised as little as lets the compiler see which hooks a policy has.
            Target::Description => ("core/port/native.flags", &["-O1", "-c"]),
            // -g1: the linker names lines. Nothing is undefined: what a policy may call is in the core. And calls
            // within the core stay within it, whatever else the process has.
            Target::Native => (
                "core/port/native.flags",
                &["-g1", "-shared", "-fPIC", "-fno-semantic-interposition", "-Wl,-Bsymbolic,-z,defs"],
            ),
            Target::Engine | Target::Replay => ("core/port/bpf.flags", &["-fno-crash-diagnostics", "-c"]),
        };
        let loaded = ["-iquote", "loaded", "-DHLS_LOADED=\"loaded.h\""];
        let built_in = sources::POLICIES.iter().flat_map(|path| ["-include", path]);
        sources::flags(file).chain(more.iter().copied()).chain(built_in).chain(loaded).collect()
    }
}

/// Builds objects. Several builds may run at once.
#[derive(Clone, Debug)]
pub struct Builder {
    /// Where objects are kept by all that they were built from; it is made when it is needed. `None`: nowhere. Where
    /// there is no compiler, what another one has made of the same is as good: so may machines without one load what
    /// was built elsewhere.
    pub cache: Option<PathBuf>,
    /// How long a compiler may take.
    pub time_limit: Duration,
    /// The compiler of native objects: gcc, clang, or what takes the same flags.
    pub cc: OsString,
    /// The compiler of BPF objects. Of versions of clang before 19 the verifier refuses the core.
    pub clang: OsString,
}

impl Default for Builder {
    fn default() -> Builder {
        let time_limit = Duration::from_secs(120);
        Builder { cache: None, time_limit, cc: "cc".into(), clang: "clang-19".into() }
    }
}

/// An object.
#[derive(Clone, Debug)]
pub struct Built {
    /// Its file's content.
    pub bytes: Vec<u8>,
    /// How long it took to have it.
    pub took: Duration,
    /// Whether it was in the cache.
    pub cached: bool,
}

impl Builder {
    /// Builds the core with these policies beside the built-in ones, each under a number of [`NUMBERS`].
    pub fn build(&self, target: Target, policies: &[(u8, PolicyFile)]) -> Result<Built, Error> {
        let begin = Instant::now();
        check(policies)?;
        let kept = self.cache.as_deref().map(|folder| self.kept(folder, target, policies)).transpose()?;
        if let Some(kept) = &kept {
            match fs::read(kept) {
                Ok(bytes) => return Ok(Built { bytes, took: begin.elapsed(), cached: true }),
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(failed(kept, error)),
            }
        }
        let bytes = self.compile(target, policies)?;
        if let Some(kept) = &kept {
            keep(kept, &bytes).map_err(|error| failed(kept, error))?;
        }
        Ok(Built { bytes, took: begin.elapsed(), cached: false })
    }

    fn compiler(&self, target: Target) -> Command {
        Command::new(match target {
            Target::Description | Target::Native => &self.cc,
            Target::Engine | Target::Replay => &self.clang,
        })
    }

    /// The object's place in the cache: another one as soon as anything is different that it is built from, and behind
    /// that the compiler.
    fn kept(&self, folder: &Path, target: Target, policies: &[(u8, PolicyFile)]) -> Result<PathBuf, Error> {
        let (source, extension) = (source_key(target, policies), target.extension());
        let mut compiler = self.compiler(target);
        match compiler.arg("--version").stdin(Stdio::null()).output() {
            Ok(version) => {
                let compiler = digits(Sha256::new_with_prefix(version.stdout));
                Ok(folder.join(format!("{source}-{}.{extension}", &compiler[..16])))
            }
            Err(error) => {
                let others = any_kept(folder, &format!("{source}-"), extension);
                others
                    .map_err(|error| failed(folder, error))?
                    .ok_or_else(|| missing(&compiler, target, error))
            }
        }
    }

    fn compile(&self, target: Target, policies: &[(u8, PolicyFile)]) -> Result<Vec<u8>, Error> {
        let folder = tempfile::Builder::new().prefix("hls-policy-").tempdir();
        let folder = folder.map_err(|error| failed(&std::env::temp_dir(), error))?;
        let (here, messages) = (folder.path(), folder.path().join("messages"));
        let write = || {
            sources::write(here)?;
            write_policies(&here.join("loaded"), policies)?;
            File::create(&messages)
        };
        let stderr = write().map_err(|error| failed(here, error))?;
        let mut command = self.compiler(target);
        command.args(target.flags()).arg(target.source()).args(["-o", "object"]);
        // The same object wherever it is built.
        command.arg(format!("-ffile-prefix-map={}=.", here.display()));
        // What a compiler leaves behind goes with the folder; and messages are in English.
        command.current_dir(here).env("TMPDIR", here).env("LC_ALL", "C");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(stderr);
        match process::run(&mut command, self.time_limit) {
            Ok(Some(status)) if status.success() => {}
            Ok(Some(_)) => return Err(complaints(&command, &messages, policies)),
            Ok(None) => {
                let (program, limit) = (command.get_program().display(), self.time_limit.as_secs_f64());
                return Err(Error::System(format!("{program} was ended, as it took more than {limit} s")));
            }
            Err(error) => return Err(missing(&command, target, error)),
        }
        fs::read(here.join("object")).map_err(|error| failed(here, error))
    }
}

/// A name for all that an object is built from, but for the compiler.
fn source_key(target: Target, policies: &[(u8, PolicyFile)]) -> String {
    let mut hash = Sha256::new();
    let mut add = |bytes: &[u8]| {
        hash.update(bytes.len().to_le_bytes());
        hash.update(bytes);
    };
    let sources = sources::SOURCES.iter().flat_map(|(path, text)| [*path, *text]);
    let texts = target.flags().into_iter().chain([target.source()]).chain(sources);
    texts.for_each(|text| add(text.as_bytes()));
    for (number, file) in policies {
        add(&[*number]);
        add(file.identifier().as_bytes());
        add(file.text().as_bytes());
    }
    digits(hash)
}

fn digits(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The first file of a folder whose name begins and ends so.
fn any_kept(folder: &Path, begin: &str, extension: &str) -> io::Result<Option<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        entries => entries?,
    };
    let names = entries.map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()));
    let names = names.collect::<io::Result<Vec<_>>>()?;
    let end = format!(".{extension}");
    let fits = |name: &String| name.strip_prefix(begin).and_then(|rest| rest.strip_suffix(&end)).is_some();
    Ok(names.into_iter().filter(fits).min().map(|name| folder.join(name)))
}

/// Checks that the policies' numbers and names are free, and differ.
fn check(policies: &[(u8, PolicyFile)]) -> Result<(), Error> {
    let mut problems = Vec::new();
    for (i, (number, file)) in policies.iter().enumerate() {
        let mut refuse = |what: String| problems.push(Diagnostic::error(file.path(), None, what));
        let others = &policies[..i];
        if !NUMBERS.contains(number) || others.iter().any(|(other, _)| other == number) {
            let (first, last) = (NUMBERS.start(), NUMBERS.end());
            refuse(format!("found the number {number}, expected one from {first} to {last} that is free"));
        }
        let name = file.identifier();
        if sources::has_stem(name) || others.iter().any(|(_, other)| other.identifier() == name) {
            refuse(format!("found the name `{}`, which is taken, expected another", file.name()));
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
fn complaints(command: &Command, messages: &Path, policies: &[(u8, PolicyFile)]) -> Error {
    let mut text = Vec::new();
    let read = File::open(messages).and_then(|file| file.take(MAX_MESSAGES).read_to_end(&mut text));
    if let Err(error) = read {
        return failed(messages, error);
    }
    let text = String::from_utf8_lossy(&text);
    match compiler::diagnostics(&text, policies) {
        found if !found.is_empty() => Error::Refused(found),
        _ => Error::System(format!("{} failed: {}", command.get_program().display(), text.trim())),
    }
}

/// Puts an object into the cache: whole, or not at all.
fn keep(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    Ok(())
}

fn failed(path: &Path, error: io::Error) -> Error {
    Error::System(format!("{}: {error}", path.display()))
}

fn missing(command: &Command, target: Target, error: io::Error) -> Error {
    let program = command.get_program().display();
    let (what, package) = match target {
        Target::Description => ("what policies say of themselves", "gcc and libc6-dev"),
        Target::Native => ("policies for the simulator", "gcc and libc6-dev"),
        Target::Engine | Target::Replay => ("policies for the kernel", "clang-19"),
    };
    Error::System(format!(
        "found no {program} that runs ({error}), which compiles {what}. Debian's packages for it: {package}"
    ))
}
