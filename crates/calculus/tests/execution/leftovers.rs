//! What servers leave over to a child below them (`--global`), against everything that they can do in unit slots: all
//! sleeping and waking, all orders of equal deadlines, windows that begin anywhere.

use super::machine::{Random, int, soak};
use crate::support;
use hls_calculus::{Child, Edge, Graph, Guarantee, Rational, Rules, analyse};
use std::collections::HashMap;

/// What is left of a server's budget, how long its period still is, and whether it wants the CPU.
type Server = (usize, usize, bool);

/// Budgets and periods.
type Claims<'a> = &'a [(usize, usize)];

/// Which server runs first of those that want the CPU and have budget.
#[derive(Clone, Copy, Debug)]
enum Order {
    /// The server with the period that ends first: all below one reservation scheduler.
    Deadlines,
    /// The first server: each below a reservation scheduler of its own, one above the other.
    Ranks,
}

/// The states that the servers can be in after a slot in which the servers in `wanted` want the CPU, and for each state
/// whether one of the servers ran.
fn slot(claims: Claims, order: Order, before: &[Server], wanted: usize) -> Vec<(Vec<Server>, bool)> {
    let mut servers = before.to_vec();
    for (index, (server, &(x, y))) in servers.iter_mut().zip(claims).enumerate() {
        let (budget, left, was_awake) = *server;
        let wants = wanted >> index & 1 == 1;
        let begins = wants && (left == 0 || (!was_awake && budget * y > left * x));
        *server = if begins { (x, y, wants) } else { (budget, left, wants) };
    }
    let able = (0..servers.len()).filter(|index| servers[*index].2 && servers[*index].0 > 0);
    let rank = |index: &usize| match order {
        Order::Deadlines => servers[*index].1,
        Order::Ranks => *index,
    };
    let first = able.clone().map(|index| rank(&index)).min();
    let mut runners: Vec<Option<usize>> = able.filter(|index| Some(rank(index)) == first).map(Some).collect();
    if runners.is_empty() {
        runners.push(None);
    }
    let after = |runner: Option<usize>| {
        let mut servers = servers.clone();
        for (index, (budget, left, _)) in servers.iter_mut().enumerate() {
            *budget -= usize::from(runner == Some(index));
            *left = left.saturating_sub(1);
            if *left == 0 {
                *budget = 0;
            }
        }
        (servers, runner.is_some())
    };
    runners.into_iter().map(after).collect()
}

/// The most that servers can be ahead of their rates in any window in which a child of lower priority waits.
fn furthest_ahead(claims: Claims, order: Order) -> Rational {
    let common: usize = claims.iter().map(|(_, y)| y).product();
    let rate: usize = claims.iter().map(|(x, y)| common / y * x).sum();
    let start: Vec<Server> = vec![(0, 0, false); claims.len()];
    let mut ahead: HashMap<Vec<Server>, usize> = HashMap::from([(start.clone(), 0)]);
    let (mut open, mut most) = (vec![start], 0);
    while let Some(before) = open.pop() {
        let so_far = ahead[&before];
        for wanted in 0..1 << claims.len() {
            for (after, ran) in slot(claims, order, &before, wanted) {
                // A window may begin here, too.
                let now = (so_far + usize::from(ran) * common).saturating_sub(rate);
                most = most.max(now);
                if ahead.get(&after).is_none_or(|known| *known < now) {
                    ahead.insert(after.clone(), now);
                    open.push(after);
                }
            }
        }
    }
    int(most) / int(common)
}

/// What the child at the bottom is promised; `None` where the servers may take all of the CPU.
fn promised(claims: Claims, order: Order) -> Option<(Rational, Rational)> {
    let mut graph = Graph { cpus: 1, ..Graph::default() };
    let edge = |graph: &mut Graph, parent, child, params: &[(&str, usize)]| {
        let params = params.iter().map(|(name, value)| ((*name).into(), *value as u64)).collect();
        graph.edges.push(Edge { parent, child, params, requested: None, width: 1, pinned: false });
    };
    let scheduler = |graph: &mut Graph, policy: &str| {
        graph.schedulers.push(support::scheduler(policy, policy, Vec::new()));
        graph.schedulers.len() - 1
    };
    let root = scheduler(&mut graph, "fixed-priority");
    edge(&mut graph, None, Child::Scheduler(root), &[]);
    let groups: Vec<Claims> = match order {
        Order::Deadlines => vec![claims],
        Order::Ranks => claims.chunks(1).collect(),
    };
    for (at, group) in groups.iter().enumerate() {
        let reserved = scheduler(&mut graph, "reservation");
        edge(&mut graph, Some(root), Child::Scheduler(reserved), &[("priority", 9 - at)]);
        for (x, y) in *group {
            let claim = [("budget", *x), ("period", *y)];
            edge(&mut graph, Some(reserved), Child::Thread("t".into()), &claim);
        }
    }
    edge(&mut graph, Some(root), Child::Thread("low".into()), &[("priority", 1)]);
    let labels = analyse(&graph, Rules { global: true, ..Rules::default() }).labels;
    match &labels[labels.len() - 1].guarantee {
        Guarantee::Psbe { share, delta } => Some((share.clone(), delta.clone())),
        _ => None,
    }
}

#[test]
fn promised_leftovers_are_received() {
    let (mut random, mut close, mut cases) = (Random(0x5eed_0031), 0, 0);
    while cases < soak(60) {
        let most = [9, 9, 5][random.below(3)];
        let count = if most == 5 { 3 } else { 1 + random.below(2) };
        let claims: Vec<(usize, usize)> = (0..count)
            .map(|_| {
                let y = 2 + random.below(most - 1);
                (1 + random.below(y - 1), y)
            })
            .collect();
        let rate: Rational = claims.iter().map(|(x, y)| int(*x) / int(*y)).sum();
        if rate >= int(1) {
            continue;
        }
        cases += 1;
        for order in [Order::Deadlines, Order::Ranks] {
            let (share, error) = promised(&claims, order).unwrap();
            let ahead = furthest_ahead(&claims, order);
            assert_eq!(share, int(1) - &rate, "{claims:?}");
            assert!(ahead <= error, "{claims:?} by {order:?}: {ahead} ahead, {error} promised");
            // The bound for windows that begin anywhere is twice as much.
            let each = claims.iter().map(|(x, y)| int(*x) * (int(1) - int(*x) / int(*y)));
            assert_eq!(error, each.sum::<Rational>(), "{claims:?} by {order:?}");
            close += usize::from(ahead * int(2) > error);
        }
    }
    assert!(close * 4 > cases, "a bound twice as tight would be kept by all but {close} of {cases}");
}

/// A bound of the error as if all servers were one, sum x*(1-U): it does not hold where a wake-up may begin a new
/// period.
#[test]
fn servers_that_wake_exceed_the_bound_of_a_single_server() {
    let claims = [(2, 5), (1, 2)];
    assert_eq!(furthest_ahead(&claims, Order::Deadlines), int(9) / int(10));
    let too_good = int(2 + 1) * (int(1) - int(9) / int(10));
    assert_eq!(too_good, int(3) / int(10));
    assert_eq!(promised(&claims, Order::Deadlines), Some((int(1) / int(10), int(17) / int(10))));
}
