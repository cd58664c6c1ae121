//! rt-app's JSON, read as rt-app reads it, as a [`Workload`].
//!
//! Relies on the grammar of rt-app's `doc/tutorial.txt` and on what its `src/rt-app_parse_config.c` and `src/rt-app.c`
//! do where the two differ. Ignores nothing silently: what a simulator cannot do is named, with its place, in
//! [`Workload::unsupported`], and what rt-app would refuse is an error. `docs/workloads.md` lists every key.

mod deadline;
mod event;
mod fields;
mod global;
mod phase;
mod reader;
mod shared;
mod task;

use crate::diagnostics::{Diagnostics, Problem, WorkloadError};
use crate::json::{self, Member, Node};
use crate::program::Workload;
use deadline::Jobs;
use fields::{object, refuse_repeated, setting};
use shared::Shared;

/// Reads a workload file of rt-app. `name` is the file's name, for the messages only.
///
/// # Errors
/// Every error of the file in file order, each with its line and column; only the first syntax error, since what
/// follows it cannot be interpreted.
pub fn read_rt_app(name: &str, bytes: &[u8]) -> Result<Workload, Vec<WorkloadError>> {
    let mut diagnostics = Diagnostics::default();
    let workload = read_bytes(bytes, &mut diagnostics);
    let unsupported = diagnostics.finish(name, bytes)?;
    Ok(Workload { unsupported, ..workload })
}

/// The workload as far as it could be read; `unsupported` is still empty.
fn read_bytes(bytes: &[u8], diagnostics: &mut Diagnostics) -> Workload {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let at = error.valid_up_to();
            diagnostics.error(at, format!("the byte 0x{:02x}", bytes[at]), "text in UTF-8");
            return Workload::default();
        }
    };
    match json::parse(text) {
        Ok(root) => read_root(&root, diagnostics),
        Err(Problem { at, found, expected }) => {
            diagnostics.error(at, found, expected);
            Workload::default()
        }
    }
}

fn read_root(root: &Node, diagnostics: &mut Diagnostics) -> Workload {
    let Some(sections) = object(root, "an object with a `tasks` object", diagnostics) else {
        return Workload::default();
    };
    refuse_repeated(sections, |_| true, diagnostics);
    for Member { at, key, .. } in sections {
        if !["tasks", "resources", "global"].contains(&key.as_ref()) {
            diagnostics.unsupported(*at, fields::unknown("", key));
        }
    }
    let global = setting(sections, "global").map(|node| global::read(node, diagnostics)).unwrap_or_default();
    let mut shared = Shared::default();
    if let Some(node) = setting(sections, "resources") {
        shared.declare(node, diagnostics);
    }
    let drafts = match setting(sections, "tasks") {
        Some(node) => task::read_all(node, Jobs::of_default(global.is_deadline), &mut shared, diagnostics),
        None => {
            diagnostics.error(root.at, "no `tasks`", "an object with a `tasks` object");
            Vec::new()
        }
    };
    let tasks = drafts.into_iter().map(|draft| draft.settle(&shared)).collect();
    let (resources, timers) = shared.finish(diagnostics);
    Workload { tasks, resources, timers, duration: global.duration, unsupported: Vec::new() }
}
