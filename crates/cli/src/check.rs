//! `hls check`: is every promise one that can be kept?

use crate::analysis::Derived;
use crate::args::CheckArgs;
use crate::exit::{Error, Verdict};
use crate::input::{self, File};
use hls_hierarchy::model::Child;
use hls_report::tree::write_tree;
use hls_sim::Plan;
use hls_workload::program::Workload;
use std::io::{Write, stdout};

/// Runs the command.
pub fn check(args: &CheckArgs) -> Result<Verdict, Error> {
    let File { hierarchy, source } = input::hierarchy(&args.file)?;
    let plan = Plan::new(hierarchy, &Workload::default());
    let mut plan = plan.map_err(|errors| Error::Input(errors.iter().map(|e| e.to_string()).collect()))?;
    let derived = Derived::new(&plan, args.mode);
    derived.write_on(&mut plan);

    let mut out = stdout().lock();
    write_tree(&mut out, &plan.topology)?;
    for node in &args.explain {
        explain(&mut out, &plan, &derived, node)?;
    }
    let problems = derived.problems(&plan);
    writeln!(out)?;
    out.flush()?;
    problems.iter().for_each(|problem| input::report(&source, problem));
    if problems.is_empty() {
        let threads = plan.threads.len();
        writeln!(out, "kept: each of the {threads} threads gets the guarantee that it asks for")?;
        return Ok(Verdict::Kept);
    }
    writeln!(out, "not kept: {} of the guarantees asked for cannot be given", problems.len())?;
    Ok(Verdict::Violated)
}

/// Prints the derivation on every edge to a node.
fn explain(out: &mut impl Write, plan: &Plan, derived: &Derived, node: &str) -> Result<(), Error> {
    let hierarchy = &plan.hierarchy;
    let name_of = |child| match child {
        Child::Scheduler(index) => hierarchy.schedulers[index].name.as_str(),
        Child::Thread(index) => hierarchy.threads[index].name.as_str(),
    };
    let edges: Vec<usize> =
        (0..hierarchy.edges.len()).filter(|&edge| name_of(hierarchy.edges[edge].child) == node).collect();
    if edges.is_empty() {
        let schedulers = hierarchy.schedulers.iter().map(|scheduler| scheduler.name.as_str());
        let names: Vec<String> = schedulers
            .chain(hierarchy.threads.iter().map(|t| t.name.as_str()))
            .map(|n| format!("`{n}`"))
            .collect();
        return Err(Error::Input(format!(
            "--explain: found `{node}`, expected the name of a scheduler or thread: {}",
            names.join(", ")
        )));
    }
    for edge in edges {
        let above =
            hierarchy.edges[edge].parent.map_or("the machine", |parent| &hierarchy.schedulers[parent].name);
        writeln!(out, "\n{node}, scheduled by {above}:")?;
        if let Some(index) = derived.input.graph_edge_of(edge, 0) {
            let text = derived.analysis.labels[index].derivation.render();
            text.lines().try_for_each(|line| writeln!(out, "    {line}"))?;
        }
    }
    Ok(())
}
