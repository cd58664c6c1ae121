//! `--explain`: how the guarantee on an edge follows, step by step.

use crate::exit::Error;
use hls_check::Derived;
use hls_hierarchy::listed;
use hls_hierarchy::model::{Child, Hierarchy, ModelEdge};
use hls_plan::Plan;
use std::io::{self, Write};

/// What is to be explained: a scheduler, a thread, or one of a thread's instances.
pub struct Explained<'a> {
    name: &'a str,
    /// The edges to it, as indices into [`Hierarchy::edges`].
    edges: Vec<ModelEdge>,
    instance: u32,
}

impl<'a> Explained<'a> {
    /// Finds all schedulers and threads of these names.
    ///
    /// # Errors
    /// No scheduler or thread has one of the names; the message says which names there are.
    pub fn find_all(plan: &Plan, wanted: &'a [String]) -> Result<Vec<Explained<'a>>, Error> {
        wanted.iter().map(|name| Explained::find(plan, name)).collect()
    }

    fn find(plan: &Plan, name: &'a str) -> Result<Explained<'a>, Error> {
        let hierarchy = &plan.hierarchy;
        let is_it = |edge: &ModelEdge| child_name(hierarchy, hierarchy.edge(*edge).child) == name;
        let edges: Vec<ModelEdge> = (0..hierarchy.edges.len()).map(ModelEdge).filter(is_it).collect();
        if !edges.is_empty() {
            return Ok(Explained { name, edges, instance: 0 });
        }
        if let Some(thread) = plan.threads().find(|thread| thread.name == name) {
            return Ok(Explained { name, edges: vec![thread.edge], instance: thread.instance });
        }
        let schedulers = hierarchy.schedulers.iter().map(|scheduler| scheduler.name.as_str());
        let all = listed(schedulers.chain(hierarchy.threads.iter().map(|thread| thread.name.as_str())));
        Err(Error::Input(format!(
            "--explain: found `{name}`, expected a scheduler or thread of the file: {all}"
        )))
    }
}

fn child_name(hierarchy: &Hierarchy, child: Child) -> &str {
    match child {
        Child::Scheduler(index) => &hierarchy.schedulers[index].name,
        Child::Thread(index) => &hierarchy.threads[index].name,
    }
}

/// Prints the derivation of the guarantee on every edge to a scheduler or thread, and whether the edge gets what it
/// asks for.
pub fn explain(out: &mut impl Write, plan: &Plan, derived: &Derived, node: &Explained) -> io::Result<()> {
    let hierarchy = &plan.hierarchy;
    for &edge in &node.edges {
        let Some(index) = derived.input.graph_edge_of(edge, node.instance) else { continue };
        let label = &derived.analysis.labels[index];
        let parent = hierarchy.edge(edge).parent;
        let above = parent.map_or("the machine", |parent| &hierarchy.schedulers[parent].name);
        writeln!(out, "\n{}, scheduled by {above}:", node.name)?;
        label.derivation.render().lines().try_for_each(|line| writeln!(out, "    {line}"))?;
        let Some(need) = &hierarchy.edge(edge).requested else { continue };
        match label.shortcoming(need) {
            None => writeln!(out, "  which gives what is asked for: {need}")?,
            Some(reason) => writeln!(out, "  which does not give what is asked for, {need}: {reason}")?,
        }
    }
    Ok(())
}
