//! A hierarchy with what its threads do, as a value: `draw` draws it, `shrink` makes it smaller, and the tests run the
//! hierarchy file that it is written as. Times are whole nanoseconds. Checks nothing: the reader of the file refuses a
//! value that makes no sense.

use hls_units::Nanos;
use std::fmt::{self, Write};

/// A hierarchy, and for how long it is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    pub cpus: u64,
    /// The sources of interrupts.
    pub interrupts: Vec<Interrupt>,
    /// The first is the root.
    pub nodes: Vec<Node>,
    pub length: u64,
    /// The seed of the run.
    pub seed: u64,
}

/// A source of stolen time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupt {
    pub cpu: u64,
    pub every: Range,
    pub takes: Range,
}

/// A scheduler or a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// An edge for each parent; none above the root.
    pub above: Vec<Edge>,
    pub what: What,
}

/// An edge to a parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Index into [`Case::nodes`].
    pub parent: usize,
    /// The parameters that the parent's policy needs.
    pub params: Vec<(&'static str, Value)>,
}

/// The value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    Time(u64),
    Count(u64),
    /// A guarantee that is asked for: JOB with an amount, a period and a response time.
    Job([u64; 3]),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    /// `more`: parameters beside the quantum.
    Scheduler {
        policy: &'static str,
        quantum: Option<u64>,
        width: Option<u64>,
        more: Vec<(&'static str, Value)>,
    },
    Thread(Life),
}

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Life {
    pub arrive: u64,
    pub leave: Option<u64>,
    /// The one CPU that it may use, if not all.
    pub cpu: Option<u64>,
    pub work: Work,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    Hog,
    /// `stall`: how long the thread waits for a page in the middle; (0, 0): it does not.
    Bursty {
        run: Range,
        sleep: Range,
        stall: Range,
    },
    Periodic {
        run: Range,
        every: u64,
        offset: u64,
        jitter: u64,
    },
    /// The agent of a scheduler: its kind, and how long each turn takes.
    Agent {
        by: &'static str,
        cost: Range,
    },
}

/// From the least to the greatest.
pub type Range = (u64, u64);

/// A thread that wants all that it can get, always.
pub const HOG: Life = Life { arrive: 0, leave: None, cpu: None, work: Work::Hog };

impl Case {
    /// The nodes below a node, in order.
    pub fn children(&self, node: usize) -> Vec<usize> {
        let is_below = |child: &usize| self.nodes[*child].above.iter().any(|edge| edge.parent == node);
        (0..self.nodes.len()).filter(is_below).collect()
    }

    /// The number of nodes on the longest way up to the root, this node included.
    pub fn depth(&self, node: usize) -> usize {
        1 + self.nodes[node].above.iter().map(|edge| self.depth(edge.parent)).max().unwrap_or(0)
    }

    /// The policy of a scheduler; empty for a thread.
    pub fn policy(&self, node: usize) -> &'static str {
        match self.nodes[node].what {
            What::Scheduler { policy, .. } => policy,
            What::Thread(_) => "",
        }
    }

    /// All threads.
    pub fn threads(&self) -> Vec<usize> {
        (0..self.nodes.len()).filter(|&node| matches!(self.nodes[node].what, What::Thread(_))).collect()
    }

    /// Whether a parent of a node has a parameter of this name for it.
    pub fn has_param(&self, node: usize, name: &str) -> bool {
        self.nodes[node].above.iter().flat_map(|edge| &edge.params).any(|(own, _)| *own == name)
    }

    /// Whether a node is in the agent's slot of a scheduler.
    pub fn is_agent(&self, node: usize) -> bool {
        let mut params = self.nodes[node].above.iter().flat_map(|edge| &edge.params);
        params.any(|param| *param == ("slot", Value::Count(0)))
    }

    /// The JOB that a node asks for: an amount, a period and a response time.
    pub fn job(&self, node: usize) -> Option<[u64; 3]> {
        let params = self.nodes[node].above.iter().flat_map(|edge| &edge.params);
        params.filter_map(|(_, value)| if let Value::Job(job) = value { Some(*job) } else { None }).next()
    }

    /// The case without these nodes, and without the edges to them.
    pub fn without(&self, removed: &[usize]) -> Case {
        let mut case = self.clone();
        let is_kept = |node: &usize| !removed.contains(node);
        let kept: Vec<usize> = (0..self.nodes.len()).filter(is_kept).collect();
        let place = |node: usize| kept.iter().position(|&other| other == node);
        let moved = |edge: &Edge| place(edge.parent).map(|parent| Edge { parent, ..edge.clone() });
        let node = |&node: &usize| {
            let Node { above, what } = &self.nodes[node];
            Node { above: above.iter().filter_map(moved).collect(), what: what.clone() }
        };
        case.nodes = kept.iter().map(node).collect();
        case
    }

    /// The hierarchy file. The text is flat: each node names its parents.
    pub fn kdl(&self) -> String {
        let mut text = format!("machine cpus={} {{\n", self.cpus);
        for Interrupt { cpu, every, takes } in &self.interrupts {
            let [every, takes] = [every, takes].map(|span| format!("{}..{}", Nanos(span.0), Nanos(span.1)));
            writeln!(text, "interrupt cpu={cpu} every=\"{every}\" takes=\"{takes}\"").expect("a string");
        }
        text += "}\n";
        for (number, node) in self.nodes.iter().enumerate() {
            let (head, tail) = match &node.what {
                What::Scheduler { policy, quantum, width, more } => {
                    let name = match *policy {
                        "bvt" => "allowance",
                        "linux" | "windows-2000" => "tick",
                        "linux-eevdf" => "slice",
                        _ => "quantum",
                    };
                    let quantum = quantum.map_or(String::new(), |ns| format!(" {name}=\"{}\"", Nanos(ns)));
                    let width = width.map_or(String::new(), |width| format!(" width={width}"));
                    (format!("{policy} \"S{number}\""), (quantum + &params(more), width))
                }
                What::Thread(life) => (format!("thread \"t{number}\""), (life.to_string(), String::new())),
            };
            if node.above.is_empty() {
                writeln!(text, "{head}{}", tail.0).expect("a string");
            }
            for (nth, edge) in node.above.iter().enumerate() {
                let own = if nth == 0 { tail.0.as_str() } else { "" };
                writeln!(text, "{head} parent=\"S{}\"{}{}{own}", edge.parent, params(&edge.params), tail.1)
                    .expect("a string");
            }
        }
        text
    }
}

fn params(params: &[(&'static str, Value)]) -> String {
    let text = |(name, value): &(&str, Value)| match value {
        Value::Time(ns) => format!(" {name}=\"{}\"", Nanos(*ns)),
        Value::Count(count) => format!(" {name}={count}"),
        Value::Job([amount, period, response]) => {
            format!(" {name}=\"JOB {} {} {}\"", Nanos(*amount), Nanos(*period), Nanos(*response))
        }
    };
    params.iter().map(text).collect()
}

impl fmt::Display for Life {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let range = |(min, max): Range| format!("\"{}..{}\"", Nanos(min), Nanos(max));
        if self.arrive > 0 {
            write!(f, " arrive=\"{}\"", Nanos(self.arrive))?;
        }
        if let Some(leave) = self.leave {
            write!(f, " leave=\"{}\"", Nanos(leave))?;
        }
        if let Some(cpu) = self.cpu {
            write!(f, " affinity=\"{cpu}\"")?;
        }
        match self.work {
            Work::Hog => write!(f, " {{ cpu-bound; }}"),
            Work::Bursty { run, sleep, stall } => {
                let stalls = if stall.1 > 0 { format!(" stall={}", range(stall)) } else { String::new() };
                write!(f, " {{ bursty run={} sleep={}{stalls}; }}", range(run), range(sleep))
            }
            Work::Periodic { run, every, offset, jitter } => write!(
                f,
                " {{ periodic run={} every=\"{}\" offset=\"{}\" jitter={}; }}",
                range(run),
                Nanos(every),
                Nanos(offset),
                range((0, jitter))
            ),
            Work::Agent { by, cost } => write!(f, " {{ agent by=\"{by}\" cost={}; }}", range(cost)),
        }
    }
}
