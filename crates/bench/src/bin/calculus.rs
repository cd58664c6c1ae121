//! Measures the cost of the calculus: to label 10,000 edges, and to admit one request while a hierarchy runs, beside
//! 10, 100 and 1,000 siblings. Times are the least of several rounds, to be compared with each other on one machine
//! only.

use hls_calculus::{Admission, Child, Edge, Graph, Mode, Scheduler, analyse};
use hls_hierarchy::analysis::graph_scheduler;
use std::time::{Duration, Instant};

const ROUNDS: usize = 5;
const EDGES: usize = 10_000;
const MS: u64 = 1_000_000;

fn main() {
    println!("{:<48} {:>10} {:>12}", "labels of 10,000 edges", "in all", "an edge");
    for (shape, graph) in [
        ("10,000 reservations of different periods", siblings("reservation", EDGES)),
        ("10,000 shares", siblings("proportional-share", EDGES)),
        ("chains of 30 schedulers, shares", chains(30)),
    ] {
        let edges = graph.edges.len() as u32;
        let least = least_of(|| {
            let begin = Instant::now();
            let analysis = analyse(&graph, Mode::Tight);
            assert!(analysis.problems.is_empty());
            begin.elapsed()
        });
        println!("{shape:<48} {:>7.1} ms {:>9.2} us", millis(least), millis(least / edges) * 1e3);
    }
    println!(
        "\n{:<48} {:>10} {:>12}",
        "a request in a run (begin, then end, halved)", "siblings", "a request"
    );
    for policy in ["reservation", "proportional-share"] {
        for count in [10, 100, 1_000] {
            println!("{policy:<48} {count:>10} {:>9.1} us", millis(request(policy, count)) * 1e3);
        }
    }
}

fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn least_of(mut round: impl FnMut() -> Duration) -> Duration {
    (0..ROUNDS).map(|_| round()).min().unwrap_or_default()
}

fn scheduler(policy: &str) -> Scheduler {
    let params = if policy == "proportional-share" { vec![("quantum".into(), MS)] } else { Vec::new() };
    let info = hls_core::policies().iter().find(|info| info.name == policy).expect("it is built in");
    graph_scheduler(policy, info, None, params)
}

fn edge(parent: Option<usize>, child: Child, params: Vec<(String, u64)>) -> Edge {
    Edge { parent, child, params, requested: None, width: 1, pinned: false }
}

/// The `n`-th child, with a small share, and a small reservation with a period that no other child has.
fn child(n: usize) -> Edge {
    let period = 20_000 * MS + n as u64 * 7_919;
    let params = [("share", 1), ("budget", MS), ("period", period)];
    let params = params.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
    edge(Some(0), Child::Thread(format!("t{n}")), params)
}

fn siblings(policy: &str, count: usize) -> Graph {
    let root = edge(None, Child::Scheduler(0), Vec::new());
    let edges = std::iter::once(root).chain((1..count).map(child)).collect();
    Graph { cpus: 1, stolen: Vec::new(), schedulers: vec![scheduler(policy)], edges, ..Graph::default() }
}

/// Chains of schedulers side by side below the root. Each scheduler of a chain has a thread and the next scheduler.
fn chains(depth: usize) -> Graph {
    let mut graph = siblings("proportional-share", 1);
    let share = || vec![("share".to_owned(), 1)];
    while graph.edges.len() < EDGES {
        let mut parent = 0;
        for _ in 0..depth {
            graph.schedulers.push(scheduler("proportional-share"));
            let below = graph.schedulers.len() - 1;
            graph.edges.push(edge(Some(parent), Child::Scheduler(below), share()));
            graph.edges.push(edge(Some(below), Child::Thread("t".into()), share()));
            parent = below;
        }
    }
    graph
}

/// The time of one request beside `count` siblings: half of the time to admit a thread and to remove it.
fn request(policy: &str, count: usize) -> Duration {
    const REQUESTS: u32 = 100;
    let admission = Admission::new(siblings(policy, count + 1), Mode::Tight);
    let mut admission = admission.expect("a millisecond every 20 seconds each fits");
    least_of(|| {
        let begin = Instant::now();
        for _ in 0..REQUESTS {
            let edge = admission.begin(child(count + 1)).expect("one more fits");
            admission.end(edge).expect("a thread can always end");
        }
        begin.elapsed() / (2 * REQUESTS)
    })
}
