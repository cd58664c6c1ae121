//! Reads hierarchy files and workloads.

use crate::cpus::{self, AskedCpus};
use crate::exit::{Error, report, say};
use crate::options::HierarchyArgs;
use hls_hierarchy::model::{Hierarchy, LoadStatement, Who};
use hls_hierarchy::{Diagnostic, MAX_FILE_BYTES, Source};
use hls_plan::Plan;
use hls_session::LoadedPolicies;
use hls_workload::WorkloadError;
use hls_workload::program::Workload;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The bytes of a file, or why it cannot be read. A file without an end, such as `/dev/zero`, is refused.
fn read(path: &Path) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let most = MAX_FILE_BYTES as u64;
    let length = File::open(path).and_then(|file| file.take(most + 1).read_to_end(&mut bytes));
    let refused = |reason: String| format!("cannot read {}: {reason}", path.display());
    match length {
        Ok(length) if length as u64 > most => Err(refused(format!("found more than {most} bytes"))),
        Ok(_) => Ok(bytes),
        Err(error) => Err(refused(error.to_string())),
    }
}

/// The text of a file; or why it cannot be read.
pub fn text(path: &Path) -> Result<String, String> {
    String::from_utf8(read(path)?)
        .map_err(|_| format!("cannot read {}: stream did not contain valid UTF-8", path.display()))
}

fn source(path: &Path, bytes: &[u8]) -> Source {
    Source::new(&path.display().to_string(), bytes)
}

/// A hierarchy file that was read.
pub struct HierarchyFile {
    pub hierarchy: Hierarchy,
    /// The file's name and text, to print places in it.
    pub source: Source,
    /// What was warned of.
    pub warnings: Vec<Diagnostic>,
    /// The policies that the file loads.
    pub policies: LoadedPolicies,
    /// What decided how many CPUs the machine has, where the file did not.
    pub cpus_from: Option<String>,
}

/// Reads and validates a hierarchy file, for as many CPUs as `--cpus` asks for; prints its warnings.
///
/// # Errors
/// All errors of the file.
pub fn hierarchy(asked: &HierarchyArgs) -> Result<HierarchyFile, Error> {
    let path = asked.file.as_path();
    let bytes = read(path).map_err(Error::Input)?;
    let source = source(path, &bytes);
    let loads = hls_hierarchy::loads(&bytes);
    let policies = LoadedPolicies::load(&loads, policy_texts(path, &loads, &source)?)?;
    let cpus = AskedCpus::for_reader(asked.cpus)?;
    match hls_hierarchy::read_with(&policies.policies, cpus, &bytes) {
        Ok((hierarchy, warnings)) => {
            report(&source, &warnings);
            let cpus_from = cpus::origin(asked.cpus, &hierarchy.machine)?;
            Ok(HierarchyFile { hierarchy, source, warnings, policies, cpus_from })
        }
        Err(errors) => Err(Error::Wrong(source, errors)),
    }
}

/// The paths and texts of the policies that the `load` statements of a hierarchy file name.
///
/// # Errors
/// The statements with a file that cannot be read.
fn policy_texts(
    path: &Path,
    loads: &[LoadStatement],
    source: &Source,
) -> Result<Vec<(PathBuf, String)>, Error> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut unread = Vec::new();
    let mut texts = Vec::new();
    for load in loads {
        let path = folder.join(&load.path);
        match text(&path) {
            Ok(text) => texts.push((path, text)),
            Err(reason) => {
                let found = format!("`{}` ({reason})", load.path);
                let expected = "a policy's C file, by its path from this file's folder";
                unread.push(Diagnostic::error(load.span.clone(), "`load`", found, expected));
            }
        }
    }
    if unread.is_empty() { Ok(texts) } else { Err(Error::Wrong(source.clone(), unread)) }
}

/// Reads a hierarchy file for the kernel engine: the hierarchy must be for as many CPUs as this machine has; what a
/// machine needs is added where the file lacks it.
pub fn hierarchy_for_kernel(asked: &HierarchyArgs) -> Result<HierarchyFile, Error> {
    let (online, present) = (cpus::online()?, cpus::present()?);
    let file = hierarchy(asked)?;
    let cpus = file.hierarchy.machine.cpus;
    if !(online..=present).contains(&cpus) {
        let found = match asked.cpus {
            Some(_) => format!("found --cpus {cpus}"),
            None => format!("found {} for a machine with cpus={cpus}", asked.file.display()),
        };
        let expected =
            format!("expected the {online} of this machine, which the kernel engine is to schedule");
        return Err(Error::Input(format!("{found}, {expected}")));
    }
    Ok(HierarchyFile { hierarchy: file.hierarchy.for_a_machine(), ..file })
}

/// What a session has returned; an error about the hierarchy file gets its source.
pub fn with_source<T>(source: &Source, returned: Result<T, hls_session::Error>) -> Result<T, Error> {
    returned.map_err(|error| match error {
        hls_session::Error::Hierarchy(wrong) => Error::Wrong(source.clone(), wrong),
        other => other.into(),
    })
}

/// Refuses a hierarchy with agents, which only the simulator plays.
pub fn refuse_agents(hierarchy: &Hierarchy, source: &Source) -> Result<(), Error> {
    with_source(source, hls_session::refuse_agents(hierarchy))
}

/// Refuses processes and cgroups that the file names and this machine does not have. Nothing else that the file may
/// name is looked for: threads by name, units and commands may still come.
pub fn is_here(hierarchy: &Hierarchy, source: &Source) -> Result<(), Error> {
    let missing = |who: &Who| match who {
        Who::Pid(pid) if !Path::new(&format!("/proc/{pid}")).exists() => {
            Some((format!("pid={pid}, a process that is not there"), "a thread or process that runs"))
        }
        Who::Cgroup(path) if !Path::new(&format!("/sys/fs/cgroup{path}")).exists() => {
            Some((format!("cgroup=\"{path}\", which is not there"), "a cgroup of this machine"))
        }
        _ => None,
    };
    let errors: Vec<Diagnostic> = hierarchy
        .threads
        .iter()
        .filter_map(|thread| {
            let who = thread.who.as_ref()?;
            let (found, expected) = missing(&who.value)?;
            Some(Diagnostic::error(who.span.clone(), format!("thread `{}`", thread.name), found, expected))
        })
        .collect();
    if errors.is_empty() { Ok(()) } else { Err(Error::Wrong(source.clone(), errors)) }
}

/// A workload, with its source when it was read from a file.
pub type SourcedWorkload = (Workload, Option<Source>);

/// Reads an rt-app file; prints which parts of it cannot be simulated, or all of its errors.
pub fn workload(path: Option<&Path>) -> Result<SourcedWorkload, Error> {
    let Some(path) = path else { return Ok((Workload::default(), None)) };
    let bytes = read(path).map_err(Error::Input)?;
    match hls_workload::read_rt_app(&path.display().to_string(), &bytes) {
        Ok(workload) => {
            workload.unsupported.iter().for_each(|sentence| say(format_args!("{sentence}")));
            Ok((workload, Some(source(path, &bytes))))
        }
        Err(errors) => {
            for WorkloadError { file, line, column, found, expected } in &errors {
                say(format_args!("{file}:{line}:{column}: error: found {found}, expected {expected}"));
            }
            Err(Error::Reported)
        }
    }
}

/// Numbers the threads and VPs of a hierarchy under a workload.
///
/// # Errors
/// Every way in which the workload does not fit.
pub fn plan(hierarchy: Hierarchy, (workload, source): &SourcedWorkload) -> Result<Plan, Error> {
    Plan::new(hierarchy, workload).map_err(|errors| match source {
        Some(source) => {
            let in_file = errors.iter().map(|error| error.in_file(workload));
            Error::Wrong(source.clone(), in_file.collect())
        }
        None => {
            let lines: Vec<String> = errors.iter().map(ToString::to_string).collect();
            Error::Input(lines.join("\n"))
        }
    })
}
