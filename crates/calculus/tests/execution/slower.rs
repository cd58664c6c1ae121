//! Uniformly slower processors: BSS-I with reservations below.

use super::machine::{Policy, Random, Run, claimed, hold, labels, soak};
use super::servers::{Budget, Servers};
use hls_calculus::{Guarantee, Label};

/// A server of BSS-I and the reservation scheduler below it, with budgets in real time.
struct Server {
    /// The rate is this many of [`GRID`].
    rate: usize,
    below: Servers,
    /// Its threads.
    children: std::ops::Range<usize>,
    /// How much the server may still use by each deadline that is not over, times [`GRID`]; earlier deadlines are
    /// included in later ones.
    budgets: Vec<(usize, usize)>,
}

/// Rates are multiples of one over this, and all instants multiples of it, so that budgets are whole.
const GRID: usize = 4;

impl Server {
    /// The deadline and the thread of the server's most urgent job, if the server has budget for that deadline.
    fn first(&self, wanted: &[bool]) -> Option<(usize, usize)> {
        let (deadline, child) = self.below.first(&wanted[self.children.clone()])?;
        let budget = self.budgets.iter().find(|(at, _)| *at == deadline)?.1;
        (budget >= GRID).then_some((deadline, child))
    }

    /// A job with this deadline has come: its budget is the server's rate times the time to the deadline, less what
    /// jobs with later deadlines have been given.
    fn notice(&mut self, now: usize, deadline: usize) {
        let at = self.budgets.partition_point(|(other, _)| *other < deadline);
        if self.budgets.get(at).is_some_and(|(other, _)| *other == deadline) {
            return;
        }
        let (from, before) = if at == 0 { (now, 0) } else { self.budgets[at - 1] };
        let own = before + self.rate * (deadline - from);
        let budget = self.budgets.get(at).map_or(own, |(_, later)| own.min(*later));
        self.budgets.insert(at, (deadline, budget));
    }

    /// Charges the slot that was used for a job with this deadline.
    fn charge(&mut self, deadline: usize) {
        let mut left = usize::MAX;
        for (at, budget) in self.budgets.iter_mut().rev() {
            if *at >= deadline {
                *budget -= GRID;
                left = *budget;
            } else {
                *budget = left.min(*budget);
            }
        }
    }
}

struct Bss {
    servers: Vec<Server>,
}

impl Policy for Bss {
    fn begin(&mut self, now: usize, wanted: &[bool]) -> bool {
        for server in &mut self.servers {
            server.budgets.retain(|(deadline, _)| *deadline > now);
            let own = &wanted[server.children.clone()];
            server.below.begin(now, own);
            for deadline in server.below.pending(own) {
                server.notice(now, deadline);
            }
        }
        self.servers.iter().any(|server| server.first(wanted).is_some())
    }

    fn run(&mut self, wanted: &[bool]) -> usize {
        let first = self.servers.iter_mut().filter_map(|server| Some((server.first(wanted)?, server)));
        let ((deadline, _), server) = first.min_by_key(|((deadline, _), _)| *deadline).unwrap();
        server.charge(deadline);
        let own = &wanted[server.children.clone()];
        server.children.start + server.below.run(own)
    }
}

/// The labels of reservations below BSS-I; NULL if the rates or a reservation's set are too much.
fn admitted(rates: &[usize], sets: &[Vec<(usize, usize)>]) -> Vec<Label> {
    let of_one = |(rate, set): (&usize, &Vec<(usize, usize)>)| {
        let ppm = [("rate-ppm", rate * 1_000_000 / GRID)];
        labels(&[("bss-i", &[], &[]), ("reservation", &[], &ppm)], &claimed(set))
    };
    rates.iter().zip(sets).flat_map(of_one).collect()
}

#[test]
fn reservations_hold_below_slower_processors() {
    let seed = 0x5eed_0012;
    let (mut random, mut cases) = (Random(seed), 0);
    while cases < soak(300) {
        let mut rates = vec![1 + random.below(3)];
        rates.push(1 + random.below(GRID - rates[0]));
        if rates[0] + rates[1] < GRID {
            rates.push(GRID - rates[0] - rates[1]);
        }
        // Budgets in the slower time, so that rate * budget is whole.
        let mut drawn = || -> Vec<(usize, usize)> {
            (0..1 + random.below(3))
                .map(|_| (GRID * (1 + random.below(3)), GRID * (1 + random.below(8))))
                .collect()
        };
        let sets: Vec<Vec<(usize, usize)>> = rates.iter().map(|_| drawn()).collect();
        let labels = admitted(&rates, &sets);
        if labels.iter().any(|label| label.guarantee == Guarantee::Null) {
            continue;
        }
        cases += 1;
        let mut first = 0;
        let server = |(rate, set): (&usize, &Vec<(usize, usize)>)| {
            let real: Vec<(usize, usize)> = set.iter().map(|(x, y)| (rate * x / GRID, *y)).collect();
            let children = first..first + set.len();
            first = children.end;
            Server { rate: *rate, below: Servers::new(&real, Budget::Hard), children, budgets: Vec::new() }
        };
        let mut bss = Bss { servers: rates.iter().zip(&sets).map(server).collect() };
        let run = Run { policy: &mut bss, children: first, held: &Guarantee::All, grid: GRID };
        let logs = run.execute(&mut random);
        hold(
            labels.iter().map(Label::absolute),
            &logs,
            &format!("seed {seed:#x}, case {cases}: rates {rates:?} of {GRID}, {sets:?}"),
        );
    }
}
