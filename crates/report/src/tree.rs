//! The hierarchy as a tree with the guarantee on every edge.
//!
//! A join, which has several parents, is written in full below the first of them and only named below the others. Many
//! threads of one kind (`worker-1`, `worker-2`, …) with one guarantee take one line, and so do all threads after the
//! first few dozen of a scheduler.

use crate::format::shorten;
use crate::hierarchy::{Edge, walk};
use hls_monitor::result::{Child, Topology};
use std::io::{self, Write};

/// From this many threads of one kind on, they are written as one.
const MANY: usize = 5;
/// At most this many lines of threads follow each other; the rest of the threads there take one.
const MAX_THREADS: usize = 40;
/// No name takes more columns.
const NAME_WIDTH: usize = 48;

/// Writes how many CPUs the machine has, and what decided it, if not the file.
///
/// # Errors
/// The errors of `out`.
pub fn write_machine(out: &mut impl Write, cpus: u16, cpus_from: Option<&str>) -> io::Result<()> {
    let plural = if cpus == 1 { "" } else { "s" };
    let from = cpus_from.map_or_else(String::new, |from| format!(" ({from})"));
    writeln!(out, "machine with {cpus} CPU{plural}{from}")
}

/// Writes the machine and the tree below it; `cpus_from` as for [`write_machine`].
///
/// # Errors
/// The errors of `out`.
pub fn write_tree(out: &mut impl Write, topology: &Topology, cpus_from: Option<&str>) -> io::Result<()> {
    let lines = lines(topology);
    let width = |column: fn(&Line) -> &String| lines.iter().map(|line| column(line).chars().count()).max();
    let name_width = width(|line| &line.name).unwrap_or(0);
    let kind_width = width(|line| &line.kind).unwrap_or(0);
    write_machine(out, topology.cpus, cpus_from)?;
    for Line { name, kind, guarantee } in &lines {
        let text = format!("{name:name_width$}  {kind:kind_width$}  {guarantee}");
        writeln!(out, "{}", text.trim_end())?;
    }
    Ok(())
}

/// One line of the tree.
struct Line {
    /// The name of the child behind its branch of the tree.
    name: String,
    kind: String,
    guarantee: String,
}

fn lines(topology: &Topology) -> Vec<Line> {
    let edges = walk(topology);
    let mut lines = Vec::new();
    let mut branches: Vec<&str> = Vec::new();
    let mut threads = 0;
    let mut rest = &edges[..];
    while let Some(first) = rest.first() {
        let is_sibling = |edge: &&Edge| edge.child == Child::Thread && edge.depth == first.depth;
        threads = if first.child == Child::Thread { threads + 1 } else { 0 };
        let is_crowd = threads > MAX_THREADS;
        let alike = match is_crowd {
            true => rest.iter().take_while(is_sibling).count(),
            false => rest.iter().take_while(|edge| is_alike(topology, first, edge)).count(),
        };
        let taken = if alike >= MANY { alike } else { 1 };
        let last = &rest[taken - 1];
        rest = &rest[taken..];

        branches.truncate(first.depth);
        let mut name = branches.concat();
        name += if last.is_last { "└─ " } else { "├─ " };
        name += &shorten(first.name(topology), NAME_WIDTH);
        if taken > 1 {
            name += &format!(" … {}", shorten(last.name(topology), NAME_WIDTH));
        }
        branches.push(if last.is_last { "   " } else { "│  " });
        let guarantee = if is_crowd && taken > 1 { "…".into() } else { first.guarantee(topology) };
        lines.push(Line { name, kind: kind(topology, first, taken), guarantee });
    }
    lines
}

/// What the child of an edge is, or, of `count` alike, what they are.
fn kind(topology: &Topology, edge: &Edge, count: usize) -> String {
    match edge.child {
        Child::Thread if count == 1 => "thread".into(),
        Child::Thread => format!("{count} threads"),
        _ if edge.is_repeated => format!("{}, see above", edge.policy(topology)),
        _ => edge.policy(topology).into(),
    }
}

/// Whether two edges lead to threads of one kind: names that differ in a number at the end, and equal guarantees.
fn is_alike(topology: &Topology, first: &Edge, other: &Edge) -> bool {
    let stem = |edge: &Edge| edge.name(topology).trim_end_matches(|c: char| c.is_ascii_digit()).len();
    first == other
        || (first.child == Child::Thread
            && other.child == Child::Thread
            && first.depth == other.depth
            && first.name(topology)[..stem(first)] == other.name(topology)[..stem(other)]
            && first.guarantee(topology) == other.guarantee(topology))
}
