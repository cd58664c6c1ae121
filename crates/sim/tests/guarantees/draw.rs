//! Draws hierarchies from seeds to test guarantees: each scheduler grows where a thread was, with budgets and shares
//! that the promise to its VP can carry, so that schedulers at every level promise something. Draws threads that make
//! trouble for schedulers: that wake up just before or after a budget is renewed, run for just as long as a budget,
//! arrive late and leave early.
//!
//! Relies on the calculus for what a VP is promised; a wrong label makes a draw less interesting, but not wrong. Every
//! file that is drawn is valid.

use super::held::plan;
use super::tree::{Case, Edge, HOG, Interrupt, Life, Node, Range, Value, What, Work};
use hls_calculus::warps::{Request, Warper, Warpers, plan as plan_warps};
use hls_calculus::{Guarantee, Mode, Rational, ceil_nanos};
use hls_check::Derived;
use hls_hierarchy::model::{Child, ModelEdge};
use oorandom::Rand32;

const MAX_DEPTH: usize = 7;
const US: u64 = 1_000;
const MS: u64 = 1_000_000;
/// The longest period of a budget, so that a run has many of them.
const MAX_PERIOD: u64 = 50 * MS;

/// Policies with schedulers that have no parameter.
const WITHOUT_QUANTUM: [&str; 14] = [
    "reservation",
    "limit",
    "join",
    "cbs",
    "constant-utilisation-server",
    "deferrable-server",
    "polling-server",
    "sporadic-server",
    "grub",
    "background",
    "bss-i",
    "pshed",
    "spring",
    "user-level",
];

/// What agents do: most of them harm.
const AGENTS: [&str; 8] =
    ["loops", "loops", "storms", "garbage", "garbage", "dead", "fixed-priority", "round-robin"];

struct Draw {
    random: Rand32,
    case: Case,
    /// A policy that half of the schedulers have, where it can stand anywhere.
    favourite: Option<&'static str>,
}

/// Draws a hierarchy with hogs as threads. The same seed draws the same hierarchy.
pub fn hierarchy(seed: u64) -> Case {
    draw(seed, None)
}

/// The same, with many schedulers of this policy, which takes any number of children.
pub fn hierarchy_with(policy: &'static str, seed: u64) -> Case {
    draw(seed, Some(policy))
}

fn draw(seed: u64, favourite: Option<&'static str>) -> Case {
    let root = Node { above: Vec::new(), what: What::Thread(HOG) };
    let case = Case { cpus: 1, interrupts: Vec::new(), nodes: vec![root], length: 0, seed };
    let mut draw = Draw { random: Rand32::new(seed), case, favourite };
    if draw.chance(15) {
        draw.case.cpus = draw.between(2, 4);
    }
    if draw.case.cpus > 1 && draw.chance(50) {
        draw.grow_apart();
    } else {
        let first = ["fixed-priority", "reservation", "reservation", "proportional-share", "limit"];
        let first = draw.favoured().unwrap_or_else(|| draw.one_of(&first));
        draw.grow(0, first, &Guarantee::All);
    }
    for _ in 0..draw.between(1, 8) {
        draw.grow_somewhere();
    }
    if draw.chance(20) {
        draw.interrupts();
    }
    draw.case
}

/// Draws a BVT scheduler with some threads that ask for JOB, and with other schedulers below it.
pub fn jobs(seed: u64) -> Case {
    let root = Node { above: Vec::new(), what: What::Thread(HOG) };
    let case = Case { cpus: 1, interrupts: Vec::new(), nodes: vec![root], length: 0, seed };
    let mut draw = Draw { random: Rand32::new_inc(seed, 0x10b), case, favourite: None };
    let empty = draw.case.clone();
    while !(0..draw.case.nodes.len()).any(|node| draw.case.job(node).is_some()) {
        draw.case = empty.clone();
        draw.grow(0, "bvt", &Guarantee::All);
    }
    for _ in 0..draw.between(0, 2) {
        let threads: Vec<usize> =
            draw.case.threads().into_iter().filter(|thread| draw.case.job(*thread).is_none()).collect();
        let thread = draw.one_of(&threads);
        let (policy, held) = (draw.any_policy(), draw.label(thread));
        draw.grow(thread, policy, &held);
    }
    draw.case
}

/// Draws threads with equal shares of several CPUs below a BVT scheduler, which promises something to each.
pub fn even(seed: u64) -> Case {
    let root = Node { above: Vec::new(), what: What::Thread(HOG) };
    let case = Case { cpus: 2, interrupts: Vec::new(), nodes: vec![root], length: 0, seed };
    let mut draw = Draw { random: Rand32::new_inc(seed, 0xe7e2), case, favourite: None };
    draw.case.cpus = draw.one_of(&[2, 2, 4]);
    let empty = draw.case.clone();
    while !matches!(draw.label(draw.case.nodes.len() - 1), Guarantee::Psbe { .. }) {
        draw.case = empty.clone();
        draw.grow(0, "bvt", &Guarantee::All);
    }
    draw.case
}

/// Draws what the threads of a hierarchy do.
pub fn workload(case: &Case, seed: u64) -> Case {
    let case_of_seed = Case { seed, ..case.clone() };
    let mut draw = Draw { random: Rand32::new_inc(seed, 0x5eed), case: case_of_seed, favourite: None };
    let marks = draw.landmarks();
    let longest = marks.iter().max().copied().unwrap_or(MS);
    draw.case.length = (12 * longest).clamp(100 * MS, 300 * MS) + draw.between(0, 5_000) * US;
    for thread in draw.case.threads() {
        let life = draw.life(&marks);
        let life = match draw.case.job(thread) {
            _ if draw.case.is_agent(thread) => Life { work: draw.agent(), ..life },
            Some(job) if draw.chance(80) => Life { work: draw.requests(job, &marks), ..life },
            _ => life,
        };
        draw.case.nodes[thread].what = What::Thread(life);
    }
    draw.case
}

impl Draw {
    /// Adds one or two sources of interrupts, which leave most of each CPU.
    fn interrupts(&mut self) {
        for _ in 0..self.between(1, 2) {
            let (every, takes) = (self.between(2_000, 20_000) * US, self.between(10, 1_000) * US);
            let interrupt = Interrupt {
                cpu: self.between(0, self.case.cpus - 1),
                every: (every, every + self.between(0, 1_000) * US),
                takes: (takes / self.between(1, 3), takes),
            };
            self.case.interrupts.push(interrupt);
        }
    }

    fn between(&mut self, min: u64, max: u64) -> u64 {
        min + u64::from(self.random.rand_range(0..(max - min + 1) as u32))
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.between(1, 100) <= percent
    }

    fn one_of<T: Copy>(&mut self, choice: &[T]) -> T {
        choice[self.between(0, choice.len() as u64 - 1) as usize]
    }

    /// The promise to the thread's VP.
    fn label(&self, thread: usize) -> Guarantee {
        let Ok(plan) = plan(&self.case) else { return Guarantee::Null };
        let derived = Derived::new(&plan, Mode::Tight);
        let name = format!("t{thread}");
        let is_it = |edge: &hls_hierarchy::model::Edge| match edge.child {
            Child::Thread(index) => plan.hierarchy.threads[index].name == name,
            Child::Scheduler(_) => false,
        };
        let edge = plan.hierarchy.edges.iter().position(is_it);
        let label = edge.and_then(|edge| derived.input.graph_edge_of(ModelEdge(edge), 0));
        label.map_or(Guarantee::Null, |label| derived.analysis.labels[label].absolute())
    }

    /// Puts a scheduler in the place of a thread, mostly of one that is promised something; or a join in the place of
    /// two.
    fn grow_somewhere(&mut self) {
        let may_grow = |thread: &usize| self.case.depth(*thread) < MAX_DEPTH && !self.case.is_agent(*thread);
        let threads: Vec<usize> = self.case.threads().into_iter().filter(may_grow).collect();
        if threads.is_empty() {
            return;
        }
        let mut thread = self.one_of(&threads);
        let mut held = self.label(thread);
        for _ in 0..4 {
            if held == Guarantee::Null {
                thread = self.one_of(&threads);
                held = self.label(thread);
            }
        }
        let other = self.one_of(&threads);
        let joins = if self.case.cpus > 1 { 40 } else { 25 };
        if other != thread && self.chance(joins) {
            return self.join(thread, other);
        }
        let policy = self.favoured().unwrap_or_else(|| self.any_policy());
        self.grow(thread, policy, &held);
    }

    /// Any policy; a process as the policy only if the case is drawn for no other one.
    fn any_policy(&mut self) -> &'static str {
        if self.favourite.is_none() && self.chance(5) {
            return "user-level";
        }
        match self.between(0, 11) {
            0..=1 => "reservation",
            2 => self.one_of(&[
                "reservation",
                "resource-kernel",
                "least-slack",
                "rialto",
                "rialto-nt",
                "cbs",
                "tbs",
                "constant-utilisation-server",
                "deferrable-server",
                "polling-server",
                "sporadic-server",
                "grub",
                "bss-i",
                "pshed",
                "spring",
            ]),
            3..=5 => self.one_of(&["proportional-share", "bvt", "stride", "sfq", "lottery", "sfs", "eevdf"]),
            6..=7 => "round-robin",
            8 => "limit",
            9..=10 => self.one_of(&["fixed-priority", "fixed-priority", "background"]),
            _ => self.one_of(&["time-sharing", "linux", "windows-2000", "linux-eevdf", "join"]),
        }
    }

    /// The policy that the case is drawn for, in half of the cases where there is one.
    fn favoured(&mut self) -> Option<&'static str> {
        let favourite = self.favourite?;
        self.chance(50).then_some(favourite)
    }

    /// Makes a root with schedulers that have one CPU each, and a join below two of them, which may both grant it at
    /// once.
    fn grow_apart(&mut self) {
        self.grow(0, "fixed-priority", &Guarantee::All);
        let children = self.case.children(0);
        for &child in &children[1..] {
            let policy = self.one_of(&["reservation", "reservation", "proportional-share", "limit"]);
            let held = self.label(child);
            self.grow(child, policy, &held);
            if let What::Scheduler { width, .. } = &mut self.case.nodes[child].what {
                *width = Some(1);
            }
        }
        let below = |child: usize| self.case.children(child).first().copied().unwrap_or(child);
        let (first, second) =
            (below(children[1]), children.get(2).map_or(children[0], |&child| below(child)));
        self.join(first, second);
    }

    /// Puts one join in the place of two threads, with a thread below it.
    fn join(&mut self, first: usize, second: usize) {
        let more = self.case.nodes[second].above.clone();
        let own = &self.case.nodes[first].above;
        // The reader of the file refuses two edges from one parent.
        if more.iter().any(|edge| own.iter().any(|own| own.parent == edge.parent)) {
            return;
        }
        let join = &mut self.case.nodes[first];
        join.above.extend(more);
        join.what = What::Scheduler { policy: "join", quantum: None, width: None, more: Vec::new() };
        self.add(first, Vec::new());
        self.case = self.case.without(&[second]);
    }

    fn add(&mut self, parent: usize, params: Vec<(&'static str, Value)>) {
        let above = vec![Edge { parent, params }];
        self.case.nodes.push(Node { above, what: What::Thread(HOG) });
    }

    /// Puts a scheduler, with threads below it, in the place of a thread with a VP that is promised `held`.
    fn grow(&mut self, thread: usize, policy: &'static str, held: &Guarantee) {
        let has_quantum = !WITHOUT_QUANTUM.contains(&policy);
        let quantum = has_quantum.then(|| match self.between(0, 2) {
            0 => self.between(1, 10) * 50 * US,
            1 => self.between(100, 2_000) * US,
            _ => self.between(1, 6) * MS,
        });
        // The least slice that the kernel takes.
        let quantum =
            if policy == "linux-eevdf" { quantum.map(|slice| slice.max(100 * US)) } else { quantum };
        // Mostly one CPU, since most analyses are for a scheduler with one VP.
        let width = (self.case.cpus > 1 && self.chance(60))
            .then(|| if self.chance(65) { 1 } else { self.between(1, self.case.cpus) });
        let is_even = policy == "bvt" && *held == Guarantee::All && self.case.cpus > 1 && width != Some(1);
        let is_even = is_even && self.chance(60);
        let more = match policy {
            "bvt" if is_even => self.migration(),
            "bvt" => self.bvt_options(),
            // The line in the file has the rate of `grub`, or the rate that its parent gives it under the same name.
            "grub" if !self.case.has_param(thread, "rate-ppm") => self.rate(held),
            "user-level" => self.allowance(held),
            _ => Vec::new(),
        };
        self.case.nodes[thread].what = What::Scheduler { policy, quantum, width, more };
        // Budgets on a slower processor are in its time.
        let held = if matches!(held, Guarantee::Resu { .. }) && policy == "reservation" {
            &Guarantee::All
        } else {
            held
        };
        let below: Vec<Vec<(&'static str, Value)>> = match policy {
            "bss-i" | "pshed" => self.rates(),
            "reservation" | "tbs" | "constant-utilisation-server" => self.reservations(held),
            "deferrable-server" | "polling-server" | "sporadic-server" => self.servers(held),
            "least-slack" => self.with_slack(held, quantum.unwrap_or(0)),
            "resource-kernel" => self.reserves(held, ("kind", 2)),
            "cbs" | "grub" => self.reserves(held, ("soft", 1)),
            "spring" => self.jobs(),
            "rialto" => self.slots(),
            "rialto-nt" => self.split_slots(),
            "limit" => vec![self.budget(held)],
            "proportional-share" => (0..self.between(2, 4)).map(|_| self.share()).collect(),
            "bvt" if is_even => self.even_shares(width.unwrap_or(self.case.cpus)),
            "bvt" if *held == Guarantee::All && self.chance(60) => {
                let each = self.warping(quantum.unwrap_or(MS));
                each.unwrap_or_else(|| (0..2).map(|_| self.limited_share()).collect())
            }
            "bvt" => (0..self.between(2, 4)).map(|_| self.limited_share()).collect(),
            "stride" | "sfq" | "lottery" | "sfs" => {
                (0..self.between(2, 4)).map(|_| self.share()[..1].to_vec()).collect()
            }
            "eevdf" => (0..self.between(2, 4)).map(|_| self.requesting_share()).collect(),
            "fixed-priority" => {
                (0..self.between(2, 3)).map(|n| vec![("priority", self.priority(n))]).collect()
            }
            "time-sharing" => (0..self.between(1, 3)).map(|n| vec![("priority", Value::Count(n))]).collect(),
            "linux" | "windows-2000" | "linux-eevdf" => {
                (0..self.between(1, 3)).map(|n| vec![("priority", Value::Count(10 * n + 1))]).collect()
            }
            "background" => (0..self.between(1, 3)).map(|_| self.task()).collect(),
            "user-level" => self.slots_of_pages(),
            "round-robin" => (0..self.between(1, 4)).map(|_| Vec::new()).collect(),
            _ => vec![Vec::new()],
        };
        below.into_iter().for_each(|params| self.add(thread, params));
        // More CPUs than those above hold are refused.
        if plan(&self.case).is_err()
            && let What::Scheduler { width, .. } = &mut self.case.nodes[thread].what
        {
            *width = None;
        }
    }

    /// Draws the allowance of an agent, mostly less than `held` supplies, of a scheduler that is mostly sealed.
    fn allowance(&mut self, held: &Guarantee) -> Vec<(&'static str, Value)> {
        let every = self.period().max(100 * US);
        let rate = Rational::from_integer(1_000.into()) * held.rate();
        let rate = u64::try_from(rate.to_integer()).unwrap_or(0);
        let part = self.one_of(&[5, 20, 50, 80, 95, 110]);
        let allowance = (every * rate / 1_000 * part / 100).max(10 * US);
        let sealed = u64::from(self.chance(85));
        vec![
            ("allowance", Value::Time(allowance)),
            ("every", Value::Time(every)),
            ("sealed", Value::Count(sealed)),
        ]
    }

    /// Draws children of different urgencies, and mostly an agent.
    fn slots_of_pages(&mut self) -> Vec<Vec<(&'static str, Value)>> {
        let mut children: Vec<Vec<(&'static str, Value)>> =
            (0..self.between(1, 3)).map(|n| vec![("urgency", self.priority(n))]).collect();
        if self.chance(90) {
            children.push(vec![("slot", Value::Count(0))]);
        }
        children
    }

    fn agent(&mut self) -> Work {
        let longest = self.one_of(&[2, 10, 50, 500, 5_000]) * US;
        Work::Agent { by: self.one_of(&AGENTS), cost: (US, longest) }
    }

    fn priority(&mut self, n: u64) -> Value {
        Value::Count(if self.chance(10) { 1 } else { n + 1 })
    }

    fn share(&mut self) -> Vec<(&'static str, Value)> {
        let share = if self.chance(10) { self.one_of(&[100, 999, 65_536]) } else { self.between(1, 8) };
        let share = ("share", Value::Count(share));
        if self.chance(20) {
            return vec![share, ("warp", Value::Time(self.between(1, 60) * 100 * US))];
        }
        vec![share]
    }

    /// Draws what a scheduler of bvt may be told beside its allowance.
    fn bvt_options(&mut self) -> Vec<(&'static str, Value)> {
        let mut options = Vec::new();
        if self.chance(40) {
            options.push(("stall-credit", Value::Time(self.between(1, 60) * 100 * US)));
        }
        options.extend(self.migration());
        if self.chance(40) {
            options.push(("threshold", Value::Time(self.between(1, 60) * 100 * US)));
        }
        if self.chance(5) {
            options.push(("unit", Value::Time(self.between(1, 20) * 100 * US)));
        }
        options
    }

    fn migration(&mut self) -> Vec<(&'static str, Value)> {
        let is_drawn = self.chance(20);
        is_drawn.then(|| ("migration", Value::Time(self.between(1, 60) * 100 * US))).into_iter().collect()
    }

    /// Draws the one share that each child of several CPUs has: mostly one by which virtual times are exact.
    fn even_shares(&mut self, cpus: u64) -> Vec<Vec<(&'static str, Value)>> {
        let share = self.one_of(&[1, 1, 2, 16, 3]);
        (0..cpus + self.between(1, 3)).map(|_| vec![("share", Value::Count(share))]).collect()
    }

    /// Draws a share with a warp that may have limits: less than what the share gives in the same time, or more.
    fn limited_share(&mut self) -> Vec<(&'static str, Value)> {
        let mut params = self.share();
        if params.len() > 1 && self.chance(60) {
            params.push(("warp-limit", Value::Time(self.between(1, 40) * 100 * US)));
            params.push(("unwarp", Value::Time(self.between(0, 100) * 100 * US)));
        }
        params
    }

    /// Draws children; the first of them ask for JOB, and have the least warps that give it, or the first a smaller
    /// one; `None` where no warps give it.
    fn warping(&mut self, allowance: u64) -> Option<Vec<Vec<(&'static str, Value)>>> {
        let rational = |number: u64| Rational::from_integer(number.into());
        let count = self.between(2, 4) as usize;
        let asking = self.between(1, count as u64 - 1) as usize;
        let shares: Vec<u64> = (0..count).map(|_| self.between(1, 8)).collect();
        let total: u64 = shares.iter().sum();
        let (mut each, mut asked) = (Vec::new(), Vec::new());
        for (n, share) in shares.iter().enumerate() {
            let amount = self.between(1, 30) * 100 * US;
            let limit = amount * self.one_of(&[100, 100, 110, 150]) / 100;
            let unwarp =
                (limit * (total - share)).div_ceil(*share) * self.one_of(&[100, 100, 120, 200]) / 100;
            let limits = if n < asking { [limit, unwarp] } else { [0, 0] };
            let [limit, unwarp] = limits.map(rational);
            let warp = if n >= asking && self.chance(30) { self.between(1, 20) * 100 * US } else { 0 };
            let (name, share, warp) = (format!("c{n}"), rational(*share), rational(warp));
            each.push(Warper { name, share, warp, limit, unwarp });
            // Only the order of the responses counts here: the period is as long as can be.
            let response = rational(self.between(1, 2));
            let request = Request { amount: rational(amount), period: rational(1_000_000 * MS), response };
            asked.push((n < asking).then_some(request));
        }
        let warpers = plan_warps(&Warpers { allowance: rational(allowance), each }, &asked).ok()?.warpers;
        let mut children: Vec<Vec<(&'static str, Value)>> =
            (0..count).map(|n| self.asking(&warpers, n, asked[n].as_ref())).collect::<Option<_>>()?;
        if let (true, [_, (_, Value::Time(warp)), ..]) = (self.chance(20), &mut children[0][..]) {
            *warp = *warp * self.between(30, 99) / 100;
        }
        Some(children)
    }

    /// The parameters of a child that warps, and the JOB that it asks for, mostly with the least period.
    fn asking(
        &mut self,
        warpers: &Warpers,
        child: usize,
        asked: Option<&Request>,
    ) -> Option<Vec<(&'static str, Value)>> {
        let time = |time: &Rational| ceil_nanos(time).0;
        let Warper { share, warp, limit, unwarp, .. } = &warpers.each[child];
        let mut params = vec![("share", Value::Count(time(share)))];
        let times = [("warp", warp), ("warp-limit", limit), ("unwarp", unwarp)];
        params.extend(times.iter().map(|(name, value)| (*name, Value::Time(time(value)))));
        let Some(Request { amount, period, .. }) = asked else { return Some(params) };
        let response = time(&warpers.in_time(child, amount, period).ok()?.response);
        let least = time(&(amount / warpers.weight(child))).max(response + time(unwarp));
        let period = least * self.one_of(&[100, 100, 100, 105, 150]) / 100;
        params.push(("guarantee", Value::Job([time(amount), period, response])));
        Some(params)
    }

    /// Draws requests that mostly come in their turn, and mostly take as much as is promised.
    fn requests(&mut self, [amount, period, _]: [u64; 3], marks: &[u64]) -> Work {
        let run = match self.between(0, 9) {
            0..=5 => (amount, amount),
            6..=8 => (US.min(amount), amount),
            _ => (amount, amount * 3 / 2),
        };
        let every = if self.chance(70) { period } else { period + self.between(1, 3_000) * US };
        let offset = if self.chance(60) { self.time(marks) } else { 0 };
        let jitter = if self.chance(20) { self.between(1, period / US / 2 + 1) * US } else { 0 };
        Work::Periodic { run, every, offset, jitter }
    }

    /// Draws a share that may ask for more or for less than a quantum at once.
    fn requesting_share(&mut self) -> Vec<(&'static str, Value)> {
        let mut params = self.share()[..1].to_vec();
        if self.chance(50) {
            params.push(("request", Value::Time(self.between(1, 80) * 100 * US)));
        }
        params
    }

    /// Draws a budget for an only child: exactly what `held` supplies in a period, or less, or (to be refused) more.
    fn budget(&mut self, held: &Guarantee) -> Vec<(&'static str, Value)> {
        let period = match blackout(held) {
            Some(pause) if pause > 0 => pause + pause * self.between(1, 12) / 4 + self.between(0, 3) * US,
            _ => self.period(),
        };
        let period = period.clamp(100 * US, MAX_PERIOD);
        let most = held.sbf_floor_nanos(hls_units::Nanos(period)).0;
        let budget = match self.between(0, 9) {
            0..=4 => most,
            5..=7 => most * self.between(30, 99) / 100,
            _ => most * self.between(101, 200) / 100,
        };
        budgeted(budget, period)
    }

    fn period(&mut self) -> u64 {
        if self.chance(50) { self.between(1, 12) * 500 * US } else { self.between(300, 7_000) * US }
    }

    /// Draws reservations that `held` can carry, often to the last nanosecond.
    fn reservations(&mut self, held: &Guarantee) -> Vec<Vec<(&'static str, Value)>> {
        let count = self.between(1, 4);
        if count == 1 {
            return vec![self.budget(held)];
        }
        let pause = blackout(held).unwrap_or(0);
        let whole = *held == Guarantee::All;
        let load = if whole {
            self.one_of(&[1_000, 1_000, 1_000, 950, 600, 1_050])
        } else {
            self.one_of(&[1_100, 990, 900, 800, 650, 500])
        };
        // The rate of `held` in thousandths.
        let rate = Rational::from_integer(1_000.into()) * held.rate();
        let rate = u64::try_from(rate.to_integer()).unwrap_or(0).max(1);
        let weights: Vec<u64> = (0..count).map(|_| self.between(1, 10)).collect();
        let sum: u64 = weights.iter().sum();
        let one = |draw: &mut Draw, weight: u64| {
            let period = if pause == 0 { draw.period() } else { pause * draw.between(3, 16) / 2 };
            let period = period.clamp(100 * US, MAX_PERIOD);
            budgeted(period * weight / sum * load / 1_000 * rate / 1_000, period)
        };
        weights.into_iter().map(|weight| one(self, weight)).collect()
    }

    /// Draws reservations that `held` can carry with a quantum more each.
    fn with_slack(&mut self, held: &Guarantee, quantum: u64) -> Vec<Vec<(&'static str, Value)>> {
        let mut reservations = self.reservations(held);
        let is_alone = reservations.len() == 1;
        for params in &mut reservations {
            if let [(_, Value::Time(budget)), ..] = &mut params[..]
                && !is_alone
            {
                *budget = budget.saturating_sub(quantum).max(US);
            }
        }
        reservations
    }

    /// Draws servers with priorities, mostly the higher the shorter their periods are.
    fn servers(&mut self, held: &Guarantee) -> Vec<Vec<(&'static str, Value)>> {
        let mut servers = self.reservations(held);
        for params in &mut servers {
            let priority = match params[..] {
                [_, (_, Value::Time(period))] if self.chance(80) => 63 - (period / MS).min(63),
                _ => self.between(0, 63),
            };
            params.push(("priority", Value::Count(priority)));
        }
        servers
    }

    /// Draws how much of a CPU there is, mostly less than `held` supplies in the long run.
    fn rate(&mut self, held: &Guarantee) -> Vec<(&'static str, Value)> {
        const WHOLE: u64 = 1_000_000;
        if *held == Guarantee::All && self.chance(60) {
            return Vec::new();
        }
        let rate = Rational::from_integer(WHOLE.into()) * held.rate();
        let rate = u64::try_from(rate.to_integer()).unwrap_or(0);
        let ppm = rate * self.one_of(&[1_010, 990, 950, 900, 800, 500, 1]) / 1_000;
        vec![("rate-ppm", Value::Count(ppm.clamp(1, WHOLE)))]
    }

    /// Draws the speeds of slower processors, which often take the whole one.
    fn rates(&mut self) -> Vec<Vec<(&'static str, Value)>> {
        let weights: Vec<u64> = (0..self.between(1, 4)).map(|_| self.between(1, 10)).collect();
        let sum: u64 = weights.iter().sum();
        let whole = self.one_of(&[1_000_000, 1_000_000, 900_000, 1_010_000]);
        let rate = |weight: u64| (weight * whole / sum).clamp(1, 1_000_000);
        weights.into_iter().map(|weight| vec![("rate-ppm", Value::Count(rate(weight)))]).collect()
    }

    /// Draws a periodic task, or one that is served in the background.
    fn task(&mut self) -> Vec<(&'static str, Value)> {
        if self.chance(40) { Vec::new() } else { vec![("period", Value::Time(self.period()))] }
    }

    /// Draws reservations of any kind, for policies that have hard ones (0) and others up to a greatest number.
    fn reserves(
        &mut self,
        held: &Guarantee,
        (kind, greatest): (&'static str, u64),
    ) -> Vec<Vec<(&'static str, Value)>> {
        let mut reserves = self.reservations(held);
        for params in &mut reserves {
            if self.chance(40) {
                params.push((kind, Value::Count(self.between(1, greatest))));
            }
        }
        reserves
    }

    /// Draws jobs for a plan of Spring. The scheduler refuses a child for which it finds no plan: so there is room for
    /// all of them, for as many VPs as there are CPUs, in half of the shortest period, whenever they come.
    fn jobs(&mut self) -> Vec<Vec<(&'static str, Value)>> {
        let shortest = self.between(4, 24) * 500 * US;
        let load = self.one_of(&[450, 400, 300, 200]) / self.case.cpus;
        let weights: Vec<u64> = (0..self.between(1, 4)).map(|_| self.between(1, 10)).collect();
        let sum: u64 = weights.iter().sum();
        let one = |draw: &mut Draw, weight: u64| {
            let times = draw.one_of(&[1, 1, 2, 3, 4]);
            budgeted(shortest * weight / sum * load / 1_000, shortest * times)
        };
        weights.into_iter().map(|weight| one(self, weight)).collect()
    }

    /// Draws slots for a time table of Rialto, often a full one. The scheduler refuses slots for which it has no place:
    /// they have room one after another in each common divisor of the periods, for as many CPUs as there are.
    fn slots(&mut self) -> Vec<Vec<(&'static str, Value)>> {
        let divisor = self.between(2, 20) * 500 * US;
        let count = self.between(1, 4);
        let weights: Vec<u64> = (0..count).map(|_| self.between(1, 10)).collect();
        let sum: u64 = weights.iter().sum::<u64>() + if self.chance(50) { 0 } else { self.between(1, 10) };
        let cpus = self.case.cpus;
        let one = |draw: &mut Draw, weight: u64| {
            let times = draw.one_of(&[1, 1, 2, 3, 4, 5]);
            budgeted(divisor * weight / sum / cpus, (divisor * times).min(MAX_PERIOD / divisor * divisor))
        };
        weights.into_iter().map(|weight| one(self, weight)).collect()
    }

    /// Draws slots for a time table of Rialto/NT, often a full one: each period divides the next.
    fn split_slots(&mut self) -> Vec<Vec<(&'static str, Value)>> {
        let mut period = self.between(1, 12) * 250 * US;
        let count = self.between(1, 4);
        let weights: Vec<u64> = (0..count).map(|_| self.between(1, 10)).collect();
        let sum: u64 = weights.iter().sum::<u64>() + if self.chance(50) { 0 } else { self.between(1, 10) };
        let cpus = self.case.cpus;
        let mut slots = Vec::new();
        for weight in weights {
            slots.push(budgeted(period * weight / sum / cpus, period));
            let times = self.one_of(&[1, 2, 2, 3]);
            period = if period * times > MAX_PERIOD { period } else { period * times };
        }
        if self.chance(50) {
            slots.reverse();
        }
        slots
    }

    /// The lengths of time that matter in this hierarchy: budgets, periods, their differences, quanta.
    fn landmarks(&self) -> Vec<u64> {
        let mut marks = vec![MS];
        for node in &self.case.nodes {
            if let What::Scheduler { quantum: Some(quantum), .. } = node.what {
                marks.push(quantum);
            }
            marks.extend(agents_times(&node.what));
            for edge in &node.above {
                let times: Vec<u64> = (edge.params.iter())
                    .filter_map(|(_, value)| match value {
                        Value::Time(time) if *time > 0 => Some(*time),
                        _ => None,
                    })
                    .collect();
                if let [first, second] = times[..] {
                    marks.push(first.abs_diff(second).max(1));
                }
                marks.extend(times);
            }
        }
        marks
    }

    /// Draws a length of time: one of the landmarks, a little more or less, a part or a multiple of it, or any other.
    fn time(&mut self, marks: &[u64]) -> u64 {
        let mark = self.one_of(marks);
        let time = match self.between(0, 7) {
            0..=1 => mark,
            2 => mark + self.one_of(&[1, US, 7 * US]),
            3 => mark.saturating_sub(self.one_of(&[1, US, 7 * US])),
            4 => mark * self.between(1, 99) / 100,
            5 => mark * self.between(2, 5),
            _ => self.between(1, 6_000) * US,
        };
        time.max(US)
    }

    fn range(&mut self, marks: &[u64]) -> Range {
        let time = self.time(marks);
        if self.chance(60) {
            return (time, time);
        }
        let other = self.time(marks);
        (time.min(other), time.max(other))
    }

    fn life(&mut self, marks: &[u64]) -> Life {
        let work = match self.between(0, 9) {
            0..=3 => Work::Hog,
            4..=6 => {
                let (run, sleep) = (self.range(marks), self.range(marks));
                let stall = if self.chance(40) { self.range(marks) } else { (0, 0) };
                Work::Bursty { run, sleep, stall }
            }
            _ => {
                let jitter = if self.chance(30) { self.time(marks) } else { 0 };
                let offset = if self.chance(60) { self.time(marks) } else { 0 };
                Work::Periodic { run: self.range(marks), every: self.time(marks), offset, jitter }
            }
        };
        let arrive = if self.chance(25) { self.time(marks) } else { 0 };
        let leave =
            if self.chance(10) { Some(arrive + self.time(marks) * self.between(2, 10)) } else { None };
        let is_bound = self.case.cpus > 1 && self.chance(10);
        let cpu = is_bound.then(|| self.between(0, self.case.cpus - 1));
        Life { arrive, leave, cpu, work }
    }
}

/// The allowance of a scheduler's agent and its period, and what they leave.
fn agents_times(what: &What) -> Vec<u64> {
    let What::Scheduler { policy: "user-level", more, .. } = what else { return Vec::new() };
    match more[..] {
        [(_, Value::Time(allowance)), (_, Value::Time(every)), ..] => {
            vec![allowance, every, every.abs_diff(allowance).max(1)]
        }
        _ => Vec::new(),
    }
}

/// The longest time without supply, rounded up to nanoseconds; `None` where there is no bound.
fn blackout(held: &Guarantee) -> Option<u64> {
    u64::try_from(held.blackout()?.ceil().to_integer()).ok()
}

fn budgeted(budget: u64, period: u64) -> Vec<(&'static str, Value)> {
    let budget = budget.clamp(US, period);
    vec![("budget", Value::Time(budget)), ("period", Value::Time(period))]
}
