//! The policies that a hierarchy file loads: built natively, opened, and asked what they say of themselves.
//!
//! The hierarchy file cannot be read without them, whichever engine runs it then. Relies on the compilers of this
//! machine, and keeps the builds for the next time.

use crate::console::Error;
use hls_calculus::schedulers::DeclaredError;
use hls_control::{LoadedPolicy, PolicySource};
use hls_core::Library;
use hls_core::limits::FIRST_LOADED;
use hls_hierarchy::model::LoadStatement;
use hls_hierarchy::{Policies, Unusable};
use hls_policy_build::{Builder, Error as BuildError, PolicyFile, Target};
use rustix::fs::{MemfdFlags, memfd_create};
use std::fmt::Display;
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::sync::Arc;

/// The policies that a hierarchy file loads.
pub struct LoadedPolicies {
    /// Each of them with its source.
    pub loaded: Vec<LoadedPolicy>,
    /// The native build of the core with these policies; `None`: the file loads none.
    pub library: Option<Arc<Library>>,
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
            return Ok(LoadedPolicies { loaded: Vec::new(), library: None, policies: Policies::default() });
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
        let (library, policies) = library(&sources)?;
        let loaded = LoadedPolicy::all(sources, library.policies());
        let loaded = loaded.map_err(|error| Error::System(error.to_string()))?;
        Ok(LoadedPolicies { loaded, library: Some(Arc::new(library)), policies })
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

/// A file with a build in it, that leaves nothing behind, and its path in all processes: the dynamic linker takes files
/// only.
///
/// # Errors
/// The system's.
pub fn in_memory(object: &[u8]) -> std::io::Result<(File, PathBuf)> {
    let mut file = File::from(memfd_create("hls-policies", MemfdFlags::CLOEXEC)?);
    file.write_all(object)?;
    let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
    Ok((file, path.into()))
}

/// Builds the core with these policies; with it come all policies that files may name then.
pub fn library(sources: &[PolicySource]) -> Result<(Library, Policies), Error> {
    let files = files(sources).map_err(error)?;
    open(&builder().build(Target::Native, &files).map_err(error)?.bytes, &files).map_err(error)
}

/// Opens a native build of these policies. Refuses those that no file could use: for their names, or for what they
/// declare, which no compiler reads.
///
/// # Errors
/// What is wrong with each.
pub fn open(object: &[u8], files: &[(u8, PolicyFile)]) -> Result<(Library, Policies), BuildError> {
    let unusable = |what: &dyn Display| BuildError::System(format!("the build of the policies: {what}"));
    let (file, _) = in_memory(object).map_err(|error| unusable(&error))?;
    let library = Library::open_nameless(file).map_err(|error| unusable(&error))?;
    let mut policies = Policies::default();
    let mut wrong = Vec::new();
    for info in library.loaded() {
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
    if wrong.is_empty() { Ok((library, policies)) } else { Err(BuildError::Refused(wrong)) }
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
