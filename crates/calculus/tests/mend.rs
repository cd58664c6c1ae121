//! The smallest change that mends a problem: cases by hand, and random hierarchies against trying every value.

use crate::support::scheduler;
use hls_calculus::{
    Analysis, Child, Edge, Extent, Graph, Guarantee, MOST_STEPS, Mend, Mends, Mode, Owner, Place, Problem,
    Rational, Setting, analyse, mend,
};
use std::cmp::Reverse;

/// The greatest value of a number in the random hierarchies.
const MOST: u64 = 40;

fn int(n: u64) -> Rational {
    Rational::from_integer(n.into())
}

/// xorshift64: the same numbers on every run.
struct Random(u64);

impl Random {
    /// A number from 0 to one below `bound`.
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    fn one_of<T: Copy>(&mut self, these: &[T]) -> T {
        these[self.below(these.len() as u64) as usize]
    }
}

/// A hierarchy under construction, with all the numbers that may be changed in it.
#[derive(Debug)]
struct Build {
    graph: Graph,
    settings: Vec<Setting>,
    most: u64,
}

impl Build {
    /// Begins with a root scheduler of this policy; no number is to be greater than `most`.
    fn new(policy: &str, quantum: u64, most: u64) -> Build {
        let graph = Graph { cpus: 1, ..Graph::default() };
        let mut build = Build { graph, settings: Vec::new(), most };
        let root = build.scheduler(policy, quantum);
        build.edge(None, Child::Scheduler(root), &[], None);
        build
    }

    fn setting(&mut self, owner: Owner, param: Option<&str>, asked: Option<usize>, least: u64) {
        let range = int(least)..=int(self.most);
        let param = param.map(str::to_owned);
        self.settings.push(Setting { owner, param, asked, range, grain: int(1) });
    }

    fn scheduler(&mut self, policy: &str, quantum: u64) -> usize {
        let (at, name) = (self.graph.schedulers.len(), format!("s{}", self.graph.schedulers.len()));
        let params = vec![("quantum".to_owned(), quantum)];
        self.graph.schedulers.push(scheduler(name, policy, params));
        self.setting(Owner::Scheduler(at), Some("quantum"), None, 1);
        at
    }

    /// An edge; a basic reservation that it asks for sets budget and period.
    fn edge(
        &mut self,
        parent: Option<usize>,
        child: Child,
        params: &[(&str, u64)],
        asked: Option<&str>,
    ) -> usize {
        let at = self.graph.edges.len();
        let requested = asked.map(|asked| Guarantee::parse(asked).unwrap());
        let basic = asked.is_some_and(|asked| asked.starts_with("RESB"));
        let mut needs: Vec<usize> = (0..3)
            .filter(|number| requested.as_ref().is_some_and(|asked| asked.number(*number).is_some()))
            .collect();
        for (name, _) in params {
            let number = ["budget", "period"].iter().position(|other| basic && other == name);
            needs.retain(|need| Some(*need) != number);
            let least = if matches!(*name, "warp" | "priority") { 0 } else { 1 };
            self.setting(Owner::Edges(at..at + 1), Some(name), number, least);
        }
        for need in needs {
            self.setting(Owner::Edges(at..at + 1), None, Some(need), 1);
        }
        let params = params.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
        self.graph.edges.push(Edge { parent, child, params, requested, width: 1, pinned: false });
        at
    }

    fn thread(&mut self, parent: usize, params: &[(&str, u64)], asked: Option<&str>) -> usize {
        let name = format!("t{}", self.graph.edges.len());
        self.edge(Some(parent), Child::Thread(name), params, asked)
    }

    fn analyse(&self) -> Analysis {
        analyse(&self.graph, Mode::Tight)
    }

    /// The mends of the first problem.
    fn mends(&self) -> Mends {
        mend(&self.graph, Mode::Tight, &self.analyse(), 0, &self.settings)
    }

    /// The outcome of giving a number this value, in a hierarchy that has the problems `before`.
    fn outcome(&self, before: &[Problem], setting: &Setting, value: &Rational) -> Outcome {
        let mut changed = self.graph.clone();
        setting.set(&mut changed, value);
        let after = analyse(&changed, Mode::Tight).problems;
        let count =
            |problems: &[Problem], place| problems.iter().filter(|other| other.place == place).count();
        match () {
            () if after.iter().any(|one| count(&after, one.place) > count(before, one.place)) => {
                Outcome::Breaks
            }
            () if count(&after, before[0].place) > 0 => Outcome::Stays,
            () => Outcome::Mended(before.len() - after.len()),
        }
    }

    /// The least change, found by trying every value, and whether the assumption of the search holds for every number.
    fn brute(&self, of_needs: bool) -> (Option<Mend>, bool) {
        let before = self.analyse().problems;
        let mut best: Option<((Rational, Reverse<usize>), Mend)> = None;
        let mut in_order = true;
        for (index, setting) in self.settings.iter().enumerate() {
            let is_here =
                matches!(&setting.owner, Owner::Edges(edges) if before[0].place == Place::Edge(edges.start));
            if setting.is_need() != of_needs || (of_needs && !is_here) {
                continue;
            }
            let from = setting.value(&self.graph).unwrap();
            let (less, more): (Vec<_>, Vec<_>) = (0..=self.most)
                .map(int)
                .filter(|to| *to != from && setting.range.contains(to))
                .partition(|to| *to < from);
            for values in [less.into_iter().rev().collect(), more] {
                let outcomes: Vec<Outcome> =
                    values.iter().map(|to| self.outcome(&before, setting, to)).collect();
                in_order &= outcomes.is_sorted_by_key(|outcome| outcome.rank());
                for (to, outcome) in values.into_iter().zip(outcomes) {
                    let Outcome::Mended(removed) = outcome else { continue };
                    let key = (setting.change(&from, &to), Reverse(removed));
                    if best.as_ref().is_none_or(|(best, _)| key < *best) {
                        best = Some((key, Mend { setting: index, from: from.clone(), to, removed }));
                    }
                }
            }
        }
        (best.map(|(_, mend)| mend), in_order)
    }
}

/// What happens with a value: the problem stays, this many problems are gone, or others come.
enum Outcome {
    Stays,
    Mended(usize),
    Breaks,
}

impl Outcome {
    fn rank(&self) -> u8 {
        match self {
            Outcome::Stays => 0,
            Outcome::Mended(_) => 1,
            Outcome::Breaks => 2,
        }
    }
}

const POLICIES: [&str; 5] = ["reservation", "proportional-share", "fixed-priority", "limit", "join"];

/// A random hierarchy of small numbers, with some overbooked schedulers.
fn random(random: &mut Random) -> Build {
    let root = random.one_of(&POLICIES[..3]);
    let mut build = Build::new(root, 1 + random.below(6), MOST);
    let mut open = vec![0];
    let mut joins = Vec::new();
    while let Some(parent) = open.pop() {
        let policy = build.graph.schedulers[parent].policy.name().to_owned();
        let children = if matches!(&policy[..], "limit" | "join") { 1 } else { 1 + random.below(3) };
        for _ in 0..children {
            let (period, share) = (4 + random.below(MOST - 3), 1 + random.below(8));
            let budget = 1 + random.below(period / 2);
            let params: &[(&str, u64)] = match &policy[..] {
                "reservation" | "limit" => &[("budget", budget), ("period", period)],
                "proportional-share" => &[("share", share), ("warp", random.below(8) / 6 * 5)],
                "fixed-priority" => &[("priority", random.below(4))],
                _ => &[],
            };
            if build.graph.schedulers.len() < 4 && random.below(3) == 0 {
                let child = match joins.pop() {
                    Some(join) if random.below(2) == 0 => join,
                    _ => {
                        let policy = random.one_of(&POLICIES);
                        let child = build.scheduler(policy, 1 + random.below(6));
                        open.push(child);
                        child
                    }
                };
                if build.graph.schedulers[child].policy.name() == "join" {
                    joins.push(child);
                }
                build.edge(Some(parent), Child::Scheduler(child), params, None);
                continue;
            }
            let asked = match random.below(5) {
                0 if policy == "reservation" => format!("RESBH {budget}ns {period}ns"),
                0 | 1 => format!("RESBS {budget}ns {period}ns"),
                2 => format!("RESCS {budget}ns {period}ns"),
                3 => format!("PSBE 1/{} {}ns", 1 + share, 1 + random.below(MOST)),
                _ => String::new(),
            };
            build.thread(parent, params, (!asked.is_empty()).then_some(&asked));
        }
    }
    build
}

#[test]
fn what_is_found_is_the_least_of_all() {
    let seeds: u64 = std::env::var("HLS_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(60);
    let (mut mended, mut hopeless, mut out_of_order) = (0, 0, 0);
    for seed in 1..=seeds {
        let build = random(&mut Random(seed * 0x9e37_79b9));
        if build.analyse().problems.is_empty() {
            continue;
        }
        let Mends { change, need, extent, .. } = build.mends();
        assert_eq!(extent, Extent::Complete);
        for (found, of_needs) in [(change, false), (need, true)] {
            let (least, in_order) = build.brute(of_needs);
            if in_order || found == least {
                assert_eq!(found, least, "seed {seed}: {build:?}");
            } else {
                out_of_order += 1;
                check_verified(&build, found.as_ref());
            }
            mended += usize::from(least.is_some());
            hopeless += usize::from(least.is_none());
        }
    }
    println!("{mended} mended, {hopeless} not, {out_of_order} of them not the least");
    assert!(mended >= seeds as usize / 4 && hopeless >= seeds as usize / 4, "the hierarchies are no test");
    assert!(out_of_order * 50 <= mended, "the search misses {out_of_order} of {mended}");
}

/// A reservation of a budget and a period, and a thread that asks it for RESCS 10,33.
fn continuous(budget: u64, period: u64) -> Build {
    let mut build = Build::new("reservation", 1, 1_000);
    build.thread(0, &[("budget", budget), ("period", period)], Some("RESCS 10ns 33ns"));
    build
}

/// The parameter and the value of a change.
fn in_words(build: &Build, mend: Option<Mend>) -> String {
    let Some(Mend { setting, from, to, removed }) = mend else { return "none".into() };
    let Setting { param, asked, .. } = &build.settings[setting];
    format!("{}{asked:?} {from} to {to}, removes {removed}", param.as_deref().unwrap_or("need "))
}

#[test]
fn the_need_of_section_7_2_is_met_or_made_smaller() {
    let build = continuous(10, 33);
    let Mends { change, need, .. } = build.mends();
    assert_eq!(in_words(&build, change), "periodNone 33 to 21, removes 1");
    assert_eq!(in_words(&build, need), "need Some(1) 33 to 56, removes 1");
    assert_eq!(continuous(10, 21).analyse().problems, []);
}

#[test]
fn numbers_move_on_a_grid_of_three_digits() {
    let build = continuous(1, 1);
    for (value, step) in [(0, 1), (7, 1), (999, 1), (1_000, 10), (33_333_333, 100_000), (99_999_999, 100_000)]
    {
        assert_eq!(build.settings[1].step(&int(value)), int(step), "{value}");
    }
    let mut build = Build::new("reservation", 1, 100_000_000);
    for (budget, period) in [(12_050_000, 33_333_333), (21_333_333, 33_333_333)] {
        build.thread(0, &[("budget", budget), ("period", period)], None);
    }
    let change = build.mends().change;
    assert_eq!(in_words(&build, change), "budgetNone 12050000 to 12000000, removes 1");
}

#[test]
fn a_need_that_one_number_sets_twice_changes_both() {
    let mut build = Build::new("reservation", 1, 1_000);
    build.thread(0, &[("budget", 60), ("period", 100)], Some("RESBH 60ns 100ns"));
    build.thread(0, &[("budget", 50), ("period", 100)], Some("RESBH 50ns 100ns"));
    let change = build.mends().change.unwrap();
    assert_eq!(in_words(&build, Some(change.clone())), "budgetSome(0) 60 to 50, removes 3");
    build.settings[change.setting].set(&mut build.graph, &change.to);
    assert_eq!(build.graph.edges[1].requested, Guarantee::parse("RESBH 50ns 100ns").ok());
    assert_eq!(build.analyse().problems, []);
}

#[test]
fn a_small_change_comes_before_one_that_mends_more() {
    // A quantum that is less by a tenth would mend both problems; a warp of the third thread that is less by a
    // thirty-third mends the first.
    let mut build = Build::new("proportional-share", 10, 1_000);
    build.thread(0, &[("share", 1), ("warp", 0)], Some("PSBE 1/3 45.7ns"));
    build.thread(0, &[("share", 1), ("warp", 0)], Some("PSBE 1/3 45.4ns"));
    build.settings.truncate(1);
    build.thread(0, &[("share", 1), ("warp", 100)], None);
    let change = build.mends().change;
    assert_eq!(in_words(&build, change), "warpNone 100 to 97, removes 1");
    build.settings.truncate(1);
    let change = build.mends().change;
    assert_eq!(in_words(&build, change), "quantumNone 10 to 9, removes 2");
}

#[test]
fn of_equal_changes_the_one_that_mends_most_then_the_first_is_taken() {
    // From 4 to 5 or from 4 to 3: a quarter. The second helps two threads.
    let shares = |needs: [Option<&str>; 3]| {
        let mut build = Build::new("proportional-share", 1, 1_000);
        needs.into_iter().for_each(|need| _ = build.thread(0, &[("share", 4)], need));
        let change = build.mends().change.unwrap();
        (build.settings[change.setting].owner.clone(), in_words(&build, Some(change)))
    };
    let (owner, words) = shares([Some("PS 0.36"), Some("PS 0.36"), None]);
    assert_eq!((owner, &words[..]), (Owner::Edges(3..4), "shareNone 4 to 3, removes 2"));
    let (owner, words) = shares([None, None, Some("PS 0.36")]);
    assert_eq!((owner, &words[..]), (Owner::Edges(1..2), "shareNone 4 to 3, removes 1"));
}

#[test]
fn a_mend_on_the_far_side_of_another_problem_is_found() {
    // With a budget above 10 the thread asks for more than its period; with a budget of 10 all threads together still
    // ask for too much.
    let mut build = Build::new("reservation", 1, 10);
    build.thread(0, &[("budget", 11), ("period", 10)], None);
    build.thread(0, &[("budget", 1), ("period", 10)], None);
    let change = build.mends().change;
    assert_eq!(in_words(&build, change), "budgetNone 11 to 9, removes 1");
}

#[test]
fn what_cannot_be_mended_or_does_not_exist_is_not() {
    let mut build = Build::new("fixed-priority", 1, 40);
    build.thread(0, &[("priority", 2)], Some("PS 1/2"));
    build.thread(0, &[("priority", 1)], Some("PS 1/2"));
    let in_vain = |mends: Mends| assert_eq!(mends, Mends { steps: mends.steps, ..Mends::default() });
    in_vain(build.mends());
    let analysis = build.analyse();
    assert_eq!(mend(&build.graph, Mode::Tight, &analysis, 1, &build.settings), Mends::default());
    build.setting(Owner::Scheduler(7), Some("quantum"), None, 1);
    build.setting(Owner::Edges(5..9), Some("budget"), None, 1);
    build.setting(Owner::Edges(2..3), None, Some(7), 1);
    build.setting(Owner::Edges(2..3), None, None, 1);
    in_vain(build.mends());
}

#[test]
fn a_large_hierarchy_is_searched_in_part() {
    let mut build = Build::new("reservation", 1, 1_000_000);
    for _ in 0..3_000 {
        build.thread(0, &[("budget", 1), ("period", 2_990)], None);
    }
    let mends = build.mends();
    assert!(mends.extent == Extent::GaveUp && mends.change.is_none());
    let mut build = Build::new("reservation", 1, 1_000_000);
    for _ in 0..1_490 {
        build.thread(0, &[("budget", 1), ("period", 1_500)], None);
    }
    build.thread(0, &[("budget", 11), ("period", 10)], None);
    let mends = build.mends();
    assert_eq!(mends.extent, Extent::GaveUp);
    assert_eq!(in_words(&build, mends.change), "periodNone 10 to 1650, removes 1");
}

/// A file of a dozen lines with a mend that took twenty seconds: the join's supply is a sum of three reservations with
/// periods that have nothing in common, and what its child wants is so near to it that every analysis walks tens of
/// thousands of its corners.
#[test]
fn a_search_over_long_sums_ends_soon() {
    const MS: u64 = 1_000_000;
    const PERIOD: u64 = 1_000_000 * MS;
    let budgets = |budget, period| [("budget", budget), ("period", period)];
    let mut build = Build::new("reservation", 1, 3_600_000 * MS);
    let [first, second, inner] = ["reservation"; 3].map(|policy| build.scheduler(policy, 1));
    let join = build.scheduler("join", 1);
    for (parent, child, budget, period) in [
        (0, join, 3 * MS, 9_000_001),
        (0, first, 3 * MS, 10_000_001),
        (first, join, MS * 3 / 2, 33_000_003),
        (0, second, 3 * MS, 11_000_001),
        (second, join, MS * 6 / 5, 35_000_003),
    ] {
        build.edge(Some(parent), Child::Scheduler(child), &budgets(budget, period), None);
    }
    build.edge(Some(join), Child::Scheduler(inner), &[], None);
    for _ in 0..3 {
        build.thread(inner, &budgets(103_265_842_241, PERIOD), None);
    }
    build.thread(inner, &budgets(103_265_842_242, PERIOD), Some("RESCS 103s 1000s"));
    assert_eq!(build.analyse().problems.len(), 1);
    let mends = build.mends();
    assert_eq!(mends.extent, Extent::GaveUp);
    assert_eq!(mends.steps, MOST_STEPS, "all of them, and not one more");
    assert_eq!(mends.extent.to_string(), "the search gave up after 100000 steps");
    assert_eq!(mends, build.mends(), "whatever else the machine does");
}

/// A change that was found mends the problem even where it is not the least, and the value one step nearer does not.
fn check_verified(build: &Build, found: Option<&Mend>) {
    let Some(Mend { setting, from, to, .. }) = found else { return };
    let (setting, before) = (&build.settings[*setting], build.analyse().problems);
    let nearer = if to > from { to - int(1) } else { to + int(1) };
    assert!(matches!(build.outcome(&before, setting, to), Outcome::Mended(_)), "{build:?}");
    assert!(
        nearer == *from || !matches!(build.outcome(&before, setting, &nearer), Outcome::Mended(_)),
        "{build:?}"
    );
}

/// A step is a step in each policy: the bounds of BVT take longer than the bounds of a plain share, so that a search
/// below it gives up sooner, and takes no longer.
#[test]
fn the_bounds_of_bvt_count_as_the_work_that_they_are() {
    let steps = |policy: &str| {
        let mut build = Build::new(policy, 1, 1_000_000);
        build.graph.schedulers[0].params.push(("allowance".to_owned(), 1));
        for _ in 0..300 {
            build.edge(Some(0), Child::Thread("t".into()), &[("share", 1)], None);
        }
        let asks = build.edge(Some(0), Child::Thread("asks".into()), &[("share", 1)], Some("PSBE 1/100 1s"));
        build.settings.retain(|setting| {
            setting.owner == Owner::Edges(asks..asks + 1) && setting.param.as_deref() == Some("share")
        });
        let analysis = analyse(&build.graph, Mode::Tight);
        let mends = mend(&build.graph, Mode::Tight, &analysis, 0, &build.settings);
        assert_eq!((mends.extent, mends.change.is_some()), (Extent::Complete, true), "{policy}");
        mends.steps
    };
    let (plain, warped) = (steps("proportional-share"), steps("bvt"));
    assert!(warped > 2 * plain, "{warped} steps, {plain} with plain shares");
}
