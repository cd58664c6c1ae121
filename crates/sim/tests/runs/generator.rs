//! Draws hierarchies and workloads from seeds: with every policy of the core, joins and limits, every shape and rt-app
//! programs. A new policy is drawn with parameters from the ranges that it states, unless `params` knows better ones:
//! for a policy that refuses children for which it has no room.
//!
//! Every file that is drawn is valid. Its text is flat: each node names its parent.

use hls_core::{ParamInfo, PolicyInfo, Unit};
use oorandom::Rand32;
use std::fmt::Write;

/// What agents do.
const AGENTS: [&str; 8] =
    ["fixed-priority", "round-robin", "stale", "dead", "storms", "loops", "garbage", "garbage"];
const MAX_DEPTH: usize = 5;

/// A hierarchy file, and a workload file where a thread needs one.
pub struct Drawn {
    pub hierarchy: String,
    pub workload: Option<String>,
}

struct Scheduler {
    policy: &'static str,
    level: usize,
    children: u32,
}

struct Generator {
    random: Rand32,
    schedulers: Vec<Scheduler>,
    threads: u32,
    hierarchy: String,
    tasks: Vec<String>,
}

/// Draws a hierarchy with a workload. The same seed draws the same.
pub fn draw(seed: u64) -> Drawn {
    let random = Rand32::new(seed);
    let mut generator =
        Generator { random, schedulers: Vec::new(), threads: 0, hierarchy: String::new(), tasks: Vec::new() };
    let cpus = generator.machine();
    generator.all_schedulers();
    generator.all_threads(cpus);
    let Generator { hierarchy, tasks, .. } = generator;
    let workload = format!("{{ \"tasks\" : {{\n{}\n}} }}", tasks.join(",\n"));
    Drawn { hierarchy, workload: (!tasks.is_empty()).then_some(workload) }
}

impl Generator {
    /// A number of `0..n`.
    fn below(&mut self, n: u32) -> u32 {
        self.random.rand_range(0..n)
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }

    /// A time of `min..=max` microseconds.
    fn time(&mut self, min: u32, max: u32) -> String {
        format!("{}us", min + self.below(max - min + 1))
    }

    fn line(&mut self, text: &str) {
        self.hierarchy.push_str(text);
        self.hierarchy.push('\n');
    }

    fn machine(&mut self) -> u32 {
        let cpus = 1 + self.below(4);
        let mut text = format!("machine cpus={cpus}");
        if self.chance(25) {
            text += " tick=\"1000Hz\"";
        }
        if self.chance(50) {
            let (switch, decision) = (self.time(0, 200), self.time(0, 20));
            write!(text, " switch-cost=\"{switch}\" decision-cost=\"{decision}\"").expect("a string");
        }
        if self.chance(50) {
            let (first, second) = (self.below(cpus), self.below(cpus));
            text += " {\n";
            writeln!(text, "    interrupt cpu={first} every=\"2ms..5ms\" takes=\"50us..500us\"")
                .expect("a string");
            writeln!(text, "    interrupt cpu={second} every=\"3ms\" takes=\"200us\"").expect("a string");
            text += "}";
        }
        self.line(&text);
        cpus
    }

    /// The parameters of a child of a scheduler with this policy.
    fn params(&mut self, parent: &str) -> String {
        match parent {
            "fixed-priority" => format!("priority={}", self.below(6)),
            "time-sharing" => format!("priority={}", self.below(12)),
            "windows-2000" => format!("priority={} wake-boost={}", 1 + self.below(20), self.below(9)),
            "linux" => format!("priority={}", 1 + self.below(40)),
            "linux-eevdf" if self.chance(50) => {
                format!("priority={} slice=\"{}\"", 1 + self.below(40), self.time(100, 9000))
            }
            "linux-eevdf" => format!("priority={}", 1 + self.below(40)),
            // As many as may be drawn have a slot.
            "rialto" | "rialto-nt" => {
                format!("budget=\"{}\" period=\"{}ms\"", self.time(20, 120), 4 << self.below(3))
            }
            "proportional-share" if self.chance(30) => {
                format!("share={} warp=\"{}\"", 1 + self.below(5), self.time(100, 5000))
            }
            "bvt" if self.chance(50) => format!(
                "share={} warp=\"{}\" warp-limit=\"{}\" unwarp=\"{}\"",
                1 + self.below(5),
                self.time(100, 5000),
                self.time(0, 3000),
                self.time(0, 9000)
            ),
            "eevdf" if self.chance(50) => {
                format!("share={} request=\"{}\"", 1 + self.below(5), self.time(100, 5000))
            }
            "proportional-share" | "bvt" | "stride" | "sfq" | "lottery" | "sfs" | "eevdf" => {
                format!("share={}", 1 + self.below(5))
            }
            "cbs" | "grub" => format!(
                "budget=\"{}\" period=\"{}\" soft={}",
                self.time(200, 3000),
                self.time(3000, 15_000),
                self.below(2)
            ),
            "deferrable-server" | "polling-server" | "sporadic-server" => format!(
                "budget=\"{}\" period=\"{}\" priority={}",
                self.time(200, 3000),
                self.time(3000, 15_000),
                self.below(6)
            ),
            "bss-i" | "pshed" => format!("rate-ppm={}", 10_000 + self.below(300_000)),
            "user-level" => format!("urgency={}", self.below(6)),
            "background" if self.chance(60) => format!("period=\"{}\"", self.time(3000, 15_000)),
            // A plan is found for as many as may be drawn.
            "spring" => {
                format!("budget=\"{}\" period=\"{}ms\"", self.time(20, 120), 4 << self.below(3))
            }
            "resource-kernel" => format!(
                "budget=\"{}\" period=\"{}\" kind={}",
                self.time(200, 3000),
                self.time(3000, 15_000),
                self.below(3)
            ),
            "reservation" | "limit" | "least-slack" | "tbs" | "constant-utilisation-server" => {
                format!("budget=\"{}\" period=\"{}\"", self.time(200, 3000), self.time(3000, 15_000))
            }
            _ => self.required(parent),
        }
    }

    /// The parameters that this policy asks of a child and has no presets for. No time is longer than the next.
    fn required(&mut self, policy: &str) -> String {
        let has_none = |param: &&ParamInfo| param.default.is_none();
        let asked: Vec<&ParamInfo> =
            policy_of(policy).into_iter().flat_map(|info| &info.vp_params).filter(has_none).collect();
        let mut times: Vec<u64> = asked.iter().map(|_| u64::from(200 + self.below(3000)) * 1000).collect();
        times.sort_unstable();
        let mut text = |param: &ParamInfo, time: u64| match param.unit {
            Unit::Time => format!("{}=\"{}ns\" ", param.name, time.clamp(param.min, param.max)),
            Unit::Count => {
                let more = (param.max - param.min).min(5) as u32;
                format!("{}={} ", param.name, param.min + u64::from(self.below(more + 1)))
            }
        };
        asked.into_iter().zip(times).map(|(param, time)| text(param, time)).collect()
    }

    /// A policy that takes any number of children.
    fn any_policy(&mut self) -> &'static str {
        let takes_many: Vec<&PolicyInfo> =
            hls_core::policies().iter().filter(|policy| policy.max_children > 1).collect();
        takes_many[self.below(takes_many.len() as u32) as usize].name
    }

    /// Parameters of a scheduler with this policy.
    fn own_params(&mut self, policy: &str) -> String {
        match policy {
            "bvt" if self.chance(50) => {
                let (credit, unit, migration) = (self.time(0, 5000), self.time(0, 200), self.time(0, 5000));
                format!(" stall-credit=\"{credit}\" unit=\"{unit}\" migration=\"{migration}\"")
            }
            "bvt" if self.chance(50) => format!(" threshold=\"{}\"", self.time(100, 5000)),
            "user-level" => format!(
                " allowance=\"{}\" every=\"{}\" sealed={}",
                self.time(10, 3000),
                self.time(1000, 10_000),
                self.below(2)
            ),
            _ => String::new(),
        }
    }

    /// Adds a scheduler with its lines, one for each of its parents.
    fn scheduler(&mut self, policy: &'static str, parents: &[usize]) {
        let name = format!("S{}", self.schedulers.len());
        let own = self.own_params(policy);
        for (nth, &parent) in parents.iter().enumerate() {
            let own = if nth == 0 { own.as_str() } else { "" };
            let params = self.params(self.schedulers[parent].policy);
            self.line(&format!("{policy} \"{name}\" parent=\"S{parent}\" {params}{own}"));
            self.schedulers[parent].children += 1;
        }
        if parents.is_empty() {
            self.line(&format!("{policy} \"{name}\"{own}"));
        }
        let level = parents.iter().map(|&parent| self.schedulers[parent].level + 1).max().unwrap_or(1);
        self.schedulers.push(Scheduler { policy, level, children: 0 });
    }

    /// Schedulers that can have another child, which is a scheduler.
    fn parents(&self) -> Vec<usize> {
        let takes_more = |scheduler: &Scheduler| {
            let most = match scheduler.policy {
                "join" | "limit" => 1,
                "bss-i" | "pshed" => 3, // with three threads all that it takes
                _ => u32::MAX,
            };
            scheduler.level < MAX_DEPTH && scheduler.children < most
        };
        (0..self.schedulers.len()).filter(|&at| takes_more(&self.schedulers[at])).collect()
    }

    fn all_schedulers(&mut self) {
        let root = self.any_policy();
        self.scheduler(root, &[]);
        for _ in 0..self.below(9) {
            let parents = self.parents();
            if parents.is_empty() {
                break;
            }
            let first = parents[self.below(parents.len() as u32) as usize];
            let second = parents[self.below(parents.len() as u32) as usize];
            match self.below(10) {
                0..=1 if first != second => self.scheduler("join", &[first, second]),
                2 => self.scheduler("limit", &[first]),
                _ => {
                    let policy = self.any_policy();
                    self.scheduler(policy, &[first]);
                }
            }
        }
    }

    fn all_threads(&mut self, cpus: u32) {
        for at in 0..self.schedulers.len() {
            let Scheduler { policy, children, .. } = self.schedulers[at];
            let count = match policy {
                "join" | "limit" => u32::from(children == 0),
                _ => self.below(3) + u32::from(children == 0),
            };
            for _ in 0..count {
                self.thread(at, cpus);
            }
            if policy == "user-level" && self.chance(80) {
                self.agent(at, cpus);
            }
        }
    }

    fn agent(&mut self, parent: usize, cpus: u32) {
        let (by, cost) = (AGENTS[self.below(AGENTS.len() as u32) as usize], self.time(1, 300));
        let name = format!("t{}", self.threads);
        self.threads += 1;
        let mut text = format!("thread \"{name}\" parent=\"S{parent}\" slot=0");
        if self.chance(20) {
            write!(text, " affinity=\"{}\"", self.below(cpus)).expect("a string");
        }
        if self.chance(20) {
            write!(text, " leave=\"{}\"", self.time(50_001, 150_000)).expect("a string");
        }
        self.line(&format!("{text} {{ agent by=\"{by}\" cost=\"1us..{cost}\" }}"));
    }

    fn thread(&mut self, parent: usize, cpus: u32) {
        let policy = self.schedulers[parent].policy;
        let (name, params) = (format!("t{}", self.threads), self.params(policy));
        self.threads += 1;
        let mut text = format!("thread \"{name}\" parent=\"S{parent}\" {params}");
        if self.chance(20) && !["join", "limit"].contains(&policy) {
            text += " instances=2";
        } else if self.chance(25) {
            write!(text, " affinity=\"{}\"", self.below(cpus)).expect("a string");
        }
        if self.chance(20) {
            write!(text, " arrive=\"{}\"", self.time(0, 50_000)).expect("a string");
        }
        if self.chance(20) {
            write!(text, " leave=\"{}\"", self.time(50_001, 150_000)).expect("a string");
        }
        match self.below(8) {
            0 => text += " { cpu-bound }",
            1 => text += " { bursty run=\"100us..3ms\" sleep=\"500us..8ms\" }",
            2 => text += " { bursty run=\"100us..3ms\" stall=\"100us..5ms\" sleep=\"500us..8ms\" }",
            3 => text += " { periodic run=\"100us..2ms\" every=\"7ms\" jitter=\"0us..1ms\" }",
            4 => text += " { frame-renderer frame=\"1ms..4ms\" gap=\"10ms\" }",
            _ => self.task(&name, text.contains("instances"), text.contains("affinity")),
        }
        self.line(&text);
    }

    /// Adds a task for the thread to the workload file, which then says what the thread does.
    fn task(&mut self, name: &str, has_two: bool, is_bound: bool) {
        let run = 100 + self.below(3000);
        let events = match self.below(6) {
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
        self.tasks.push(format!(r#""{name}" : {{ "instance" : {instances}, {events} }}"#));
    }
}

fn policy_of(name: &str) -> Option<&'static PolicyInfo> {
    hls_core::policies().iter().find(|policy| policy.name == name)
}
