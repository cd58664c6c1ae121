//! Draws hierarchies and workloads from seeds: with every policy of the core, joins and limits, every shape and rt-app
//! programs. `hls_scenario` draws the schedulers, with room for all threads; the machine is drawn here, and what
//! threads do.
//!
//! Every file that is drawn is valid. Its text is flat: each node names its parent.

use hls_core::{PolicyInfo, policies};
use hls_scenario::{Place, Random, Tree, What, WholeCpu};
use std::fmt::Write;

/// What agents do: most of them harm.
pub const AGENTS: [&str; 9] =
    ["loops", "loops", "storms", "garbage", "garbage", "dead", "fixed-priority", "round-robin", "stale"];
/// The most nodes above a thread.
const MAX_DEPTH: usize = 5;

/// A hierarchy file, and a workload file where a thread needs one.
pub struct Drawn {
    pub hierarchy: String,
    pub workload: Option<String>,
}

struct Generator {
    random: Random,
    /// Of a thread what stands behind the parameters in its line.
    tree: Tree<'static, String>,
    cpus: u64,
    tasks: Vec<String>,
}

/// Draws a hierarchy with a workload. The same seed draws the same.
pub fn draw(seed: u64) -> Drawn {
    let mut random = Random::new(seed, 0);
    let cpus = random.between(1, 4);
    let mut generator = Generator { random, tree: Tree::new(String::new()), cpus, tasks: Vec::new() };
    let machine = generator.machine();
    generator.all_schedulers();
    generator.all_threads();
    let Generator { tree, tasks, .. } = generator;
    let workload = format!("{{ \"tasks\" : {{\n{}\n}} }}", tasks.join(",\n"));
    Drawn { hierarchy: machine + &tree.kdl(String::clone), workload: (!tasks.is_empty()).then_some(workload) }
}

impl Generator {
    /// A time of `min..=max` microseconds.
    fn time(&mut self, min: u64, max: u64) -> String {
        format!("{}us", self.random.between(min, max))
    }

    fn machine(&mut self) -> String {
        let cpus = self.cpus;
        let mut text = format!("machine cpus={cpus}");
        if self.random.chance(25) {
            text += " tick=\"1000Hz\"";
        }
        if self.random.chance(50) {
            let (switch, decision) = (self.time(0, 200), self.time(0, 20));
            write!(text, " switch-cost=\"{switch}\" decision-cost=\"{decision}\"").expect("a string");
        }
        if self.random.chance(50) {
            let (first, second) = (self.random.below(cpus), self.random.below(cpus));
            text += " {\n";
            writeln!(text, "    interrupt cpu={first} every=\"2ms..5ms\" takes=\"50us..500us\"")
                .expect("a string");
            writeln!(text, "    interrupt cpu={second} every=\"3ms\" takes=\"200us\"").expect("a string");
            text += "}";
        }
        text + "\n"
    }

    fn any_policy(&mut self, is_one: impl Fn(&PolicyInfo) -> bool) -> &'static PolicyInfo {
        self.random.one_of(&policies().iter().filter(|policy| is_one(policy)).collect::<Vec<_>>())
    }

    fn grow(&mut self, at: usize, is_one: impl Fn(&PolicyInfo) -> bool) {
        let policy = self.any_policy(is_one);
        let place = Place { held: &WholeCpu, cpus: self.cpus, is_roomy: true };
        self.tree.grow(&mut self.random, at, policy, &place, &String::new());
    }

    fn all_schedulers(&mut self) {
        let takes_many = |policy: &PolicyInfo| policy.max_children > 1;
        self.grow(0, takes_many);
        for _ in 0..self.random.below(9) {
            let mut places = self.tree.places();
            places.retain(|thread| self.tree.depth(*thread) <= MAX_DEPTH);
            let (Some(&first), Some(&second)) = (self.random.pick(&places), self.random.pick(&places)) else {
                return;
            };
            match self.random.below(10) {
                0..=2 if first != second => {
                    let joins = self.any_policy(|policy| policy.properties.joins);
                    self.tree.join([first, second], joins, &String::new());
                }
                3 => self.grow(first, |policy| !policy.properties.joins && policy.max_children == 1),
                _ => self.grow(first, takes_many),
            }
        }
    }

    fn all_threads(&mut self) {
        for thread in self.tree.threads() {
            let text = if self.tree.is_agent(thread) { self.agent() } else { self.thread(thread) };
            self.tree.nodes[thread].what = What::Thread(text);
        }
    }

    fn agent(&mut self) -> String {
        let (by, cost) = (self.random.one_of(&AGENTS), self.time(1, 300));
        let mut text = String::new();
        if self.random.chance(20) {
            write!(text, " affinity=\"{}\"", self.random.below(self.cpus)).expect("a string");
        }
        if self.random.chance(20) {
            write!(text, " leave=\"{}\"", self.time(50_001, 150_000)).expect("a string");
        }
        text + &format!(" {{ agent by=\"{by}\" cost=\"1us..{cost}\" }}")
    }

    /// Whether the scheduler above a thread takes twice as many children.
    fn may_double(&self, thread: usize) -> bool {
        let mut above = self.tree.nodes[thread].above.iter();
        above.all(|edge| {
            let most = self.tree.scheduler(edge.parent).map_or(0, |above| above.policy.max_children);
            2 * self.tree.children(edge.parent).len() <= most as usize
        })
    }

    fn thread(&mut self, thread: usize) -> String {
        let mut text = String::new();
        let is_double = self.random.chance(20) && self.may_double(thread);
        if is_double {
            text += " instances=2";
        } else if self.random.chance(25) {
            write!(text, " affinity=\"{}\"", self.random.below(self.cpus)).expect("a string");
        }
        if self.random.chance(20) {
            write!(text, " arrive=\"{}\"", self.time(0, 50_000)).expect("a string");
        }
        if self.random.chance(20) {
            write!(text, " leave=\"{}\"", self.time(50_001, 150_000)).expect("a string");
        }
        match self.random.below(8) {
            0 => text += " { cpu-bound }",
            1 => text += " { bursty run=\"100us..3ms\" sleep=\"500us..8ms\" }",
            2 => text += " { bursty run=\"100us..3ms\" stall=\"100us..5ms\" sleep=\"500us..8ms\" }",
            3 => text += " { periodic run=\"100us..2ms\" every=\"7ms\" jitter=\"0us..1ms\" }",
            4 => text += " { frame-renderer frame=\"1ms..4ms\" gap=\"10ms\" }",
            _ => self.task(thread, is_double, text.contains("affinity")),
        }
        text
    }

    /// Adds a task for the thread to the workload file, which then says what the thread does.
    fn task(&mut self, thread: usize, has_two: bool, is_bound: bool) {
        let run = self.random.between(100, 3_099);
        let events = match self.random.below(6) {
            0 => format!(r#""lock" : "m", "run" : {run}, "unlock" : "m", "sleep" : 1000"#),
            1 => format!(r#""run" : {run}, "barrier" : "b", "sleep" : 500"#),
            2 => format!(
                r#""lock" : "m", "wait" : {{ "ref" : "c", "mutex" : "m" }}, "run" : 200, "unlock" : "m", "run" : {run}"#
            ),
            3 => format!(r#""run" : {run}, "lock" : "m", "broad" : "c", "unlock" : "m", "sleep" : 300"#),
            4 => format!(r#""run" : {run}, "yield" : "", "runtime" : 700, "signal" : "c""#),
            _ if is_bound => format!(r#""run" : {run}, "timer" : {{ "ref" : "unique", "period" : 5000 }}"#),
            _ => format!(
                r#""phases" : {{
                    "bound" : {{ "cpus" : [ 0 ], "run" : {run} }},
                    "free" : {{ "run" : {run}, "sleep" : 900 }} }}"#
            ),
        };
        let instances = if has_two { 2 } else { 1 };
        self.tasks.push(format!(r#""t{thread}" : {{ "instance" : {instances}, {events} }}"#));
    }
}
