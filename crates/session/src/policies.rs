//! The policies that a hierarchy file loads: their descriptions, and their native build.
//!
//! The descriptions are needed to read the hierarchy file, for either engine; they are read as data, without running
//! code of a policy. Only the simulator uses the native build; the code of that build runs in this process. Relies on
//! the compilers of this machine, and keeps the builds for the next time.

use crate::console::Error;
use hls_calculus::schedulers::DeclaredError;
use hls_control::{LoadedPolicy, PolicySource};
use hls_core::limits::FIRST_LOADED;
use hls_core::{Library, PolicyTable, described_policies};
use hls_hierarchy::model::LoadStatement;
use hls_hierarchy::{Policies, Unusable};
use hls_policy_build::{Builder, Error as BuildError, PolicyFile, Target, other_writer};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::process::geteuid;
use std::fmt::Display;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The policies that a hierarchy file loads.
pub struct LoadedPolicies {
    /// Each of them with its source.
    pub loaded: Vec<LoadedPolicy>,
    /// All policies that the file may name, built-in ones included.
    pub policies: Policies,
}

impl LoadedPolicies {
    /// Builds the policies of a hierarchy file's `load` statements. `texts` has path and text of each policy's file.
    ///
    /// # Errors
    /// What is wrong with the policies, or why they could not be compiled.
    pub fn load(loads: &[LoadStatement], texts: Vec<(PathBuf, String)>) -> Result<LoadedPolicies, Error> {
        if loads.is_empty() {
            return Ok(LoadedPolicies { loaded: Vec::new(), policies: Policies::default() });
        }
        let numbers = FIRST_LOADED..=u8::MAX;
        if loads.len() > numbers.len() {
            let (found, most) = (loads.len(), numbers.len());
            return Err(Error::Input(format!("found {found} policies to load, expected {most} at most")));
        }
        let source = |(number, (load, (path, text))): (u8, (&LoadStatement, (PathBuf, String)))| {
            PolicySource { number, name: load.policy(), path, text }
        };
        let sources: Vec<PolicySource> = numbers.zip(loads.iter().zip(texts)).map(source).collect();
        let files = files(&sources).map_err(error)?;
        let Described { infos, policies, .. } = describe(&builder(), &files).map_err(error)?;
        let loaded = LoadedPolicy::all(sources, &infos);
        let loaded = loaded.map_err(|error| Error::System(error.to_string()))?;
        Ok(LoadedPolicies { loaded, policies })
    }

    /// The native build of the core with these policies; from then on their code runs in this process. `None`: there
    /// are none.
    ///
    /// # Errors
    /// What is wrong with the policies, or why they could not be compiled.
    pub fn open(&self) -> Result<Option<Arc<Library>>, Error> {
        let sources: Vec<PolicySource> = self.loaded.iter().map(|loaded| loaded.source.clone()).collect();
        if sources.is_empty() { Ok(None) } else { library(&sources).map(|library| Some(Arc::new(library))) }
    }
}

/// The files of policies, each under the name that it is to have, by the numbers that they have in the core.
pub fn files(sources: &[PolicySource]) -> Result<Vec<(u8, PolicyFile)>, BuildError> {
    let file = |source: &PolicySource| {
        let file = PolicyFile::new(&source.path, source.text.clone().into_bytes())?;
        Ok((source.number, if file.name() == source.name { file } else { file.renamed(&source.name)? }))
    };
    sources.iter().map(file).collect()
}

/// A file in memory with a build in it, and its path in all processes: the dynamic linker takes only files.
///
/// # Errors
/// The system's.
pub fn in_memory(object: &[u8]) -> std::io::Result<(File, PathBuf)> {
    let mut file = File::from(memfd_create("hls-policies", MemfdFlags::CLOEXEC)?);
    file.write_all(object)?;
    let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
    Ok((file, path.into()))
}

/// Builds the core with these policies and opens it: their code runs in this process.
///
/// # Errors
/// What is wrong with the policies, or why they could not be compiled.
pub fn library(sources: &[PolicySource]) -> Result<Library, Error> {
    sources.iter().try_for_each(|source| may_run(&source.path, &source.text))?;
    let files = files(sources).map_err(error)?;
    let builder = builder();
    // Refuses mistakes in declarations, which no compiler checks.
    describe(&builder, &files).map_err(error)?;
    let built = builder.build(Target::Native, &files).map_err(error)?;
    let (file, _) = in_memory(&built.bytes)?;
    Library::open_nameless(file).map_err(|error| Error::System(format!("the build of the policies: {error}")))
}

/// Refuses to run the code of a policy with this text as root, unless root alone can have written it to its file. The
/// code could do anything as root, and a hierarchy file does not look like a program.
///
/// # Errors
/// Which other user can write to the file, and what to do.
pub fn may_run(path: &Path, text: &str) -> Result<(), Error> {
    if !geteuid().is_root() {
        return Ok(());
    }
    let failed = |what: &dyn Display| {
        let advice = "run hls as the owner of the policy, or load a copy that only root can write";
        Error::Input(format!("{}: {what}, and its code would run as root; {advice}", path.display()))
    };
    // The file that was opened is both checked and read: another file may have its path by now.
    let mut file = File::open(path).map_err(|error| failed(&error))?;
    if let Some(who) = other_writer(&file.metadata()?) {
        return Err(failed(&format_args!("{who} can write to it")));
    }
    let mut found = String::new();
    let is_same = file.read_to_string(&mut found).is_ok() && found == text;
    if is_same { Ok(()) } else { Err(failed(&"it was changed while it was read")) }
}

/// The descriptions of policies.
pub struct Described {
    /// The object with the descriptions.
    pub object: Vec<u8>,
    /// All policies of a build with these: the built-in ones and these.
    pub infos: PolicyTable,
    /// The policies that files may name.
    pub policies: Policies,
}

/// Builds and reads the descriptions of these policies. Refuses policies that no file could use, because of their
/// names or of their declarations, which no compiler checks. Runs no code of them.
///
/// # Errors
/// What is wrong with each.
pub fn describe(builder: &Builder, files: &[(u8, PolicyFile)]) -> Result<Described, BuildError> {
    let built = builder.build(Target::Description, files)?;
    let infos =
        described_policies(&built.bytes).map_err(|unusable| BuildError::System(unusable.to_string()))?;
    let mut policies = Policies::default();
    let mut wrong = Vec::new();
    for info in infos.iter().filter(|info| info.id >= FIRST_LOADED) {
        let Some((_, file)) = files.iter().find(|(number, _)| *number == info.id) else { continue };
        match policies.load(info) {
            Ok(()) => {}
            Err(Unusable::Declares(errors)) => {
                wrong.extend(errors.iter().map(|DeclaredError { member, error }| {
                    file.wrong_in(member, error.offset, format!("`.{member}`: {error}"))
                }))
            }
            Err(named @ Unusable::Name { .. }) => wrong.push(file.wrong_in("name", 0, named.to_string())),
        }
    }
    if wrong.is_empty() {
        Ok(Described { object: built.bytes, infos, policies })
    } else {
        Err(BuildError::Refused(wrong))
    }
}

/// The builder of policies, which keeps its builds so that the same policies are not compiled twice.
pub fn builder() -> Builder {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")));
    Builder { cache: folder.map(|folder| folder.join("hls").join("policies")), ..Builder::default() }
}

fn error(error: BuildError) -> Error {
    match error {
        BuildError::Refused(_) => Error::Input(error.to_string()),
        BuildError::System(what) => Error::System(what),
    }
}
