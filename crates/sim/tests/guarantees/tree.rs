//! A hierarchy of `hls_scenario` with what its threads do, as a value: `draw` draws it, `shrink` makes it smaller, and
//! the tests run the hierarchy file that it is written as. Times are whole nanoseconds. Checks nothing: the reader of
//! the file refuses a value that makes no sense.

use hls_scenario::{Tree, Value};
use hls_units::Nanos;
use std::fmt::{self, Write};

/// A hierarchy, and for how long it is run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    pub cpus: u64,
    /// The sources of interrupts.
    pub interrupts: Vec<Interrupt>,
    pub tree: Tree<'static, Life>,
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
    /// A thread alone.
    pub fn new(cpus: u64, seed: u64) -> Case {
        Case { cpus, interrupts: Vec::new(), tree: Tree::new(HOG), length: 0, seed }
    }

    /// The JOB that a node asks for: an amount, a period and a response time.
    pub fn job(&self, node: usize) -> Option<[u64; 3]> {
        let params = self.tree.nodes[node].above.iter().flat_map(|edge| &edge.params);
        params.filter_map(|(_, value)| if let Value::Job(job) = value { Some(*job) } else { None }).next()
    }

    /// The case without these nodes, and without the edges to them.
    pub fn without(&self, removed: &[usize]) -> Case {
        Case { tree: self.tree.without(removed), ..self.clone() }
    }

    /// The hierarchy file.
    pub fn kdl(&self) -> String {
        let mut text = format!("machine cpus={} {{\n", self.cpus);
        for Interrupt { cpu, every, takes } in &self.interrupts {
            let [every, takes] = [every, takes].map(|span| format!("{}..{}", Nanos(span.0), Nanos(span.1)));
            writeln!(text, "interrupt cpu={cpu} every=\"{every}\" takes=\"{takes}\"").expect("a string");
        }
        text + "}\n" + &self.tree.kdl(Life::to_string)
    }
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
