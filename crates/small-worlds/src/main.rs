//! Explores small worlds.

use hls_small_worlds::scheduling::{explore_all, hierarchies};
use hls_small_worlds::Bounds;
use std::time::Instant;

fn main() {
    if std::env::args().nth(1).as_deref() == Some("glue") {
        use hls_small_worlds::glue::{Affinity, Glue, Orders};
        let length = std::env::args().nth(2).unwrap().parse().unwrap();
        let kind = std::env::args().nth(3).unwrap_or_default();
        let orders = match kind.as_str() {
            "old" => Orders { exit_drops_first: false, ..Orders::TODAY },
            "mended" | "dumps" => Orders::MENDED,
            "before" => Orders { affinity: Affinity::BeforeInsert, ..Orders::MENDED },
            _ => Orders::TODAY,
        };
        let mut glue = Glue::new(orders).unwrap();
        if kind.ends_with("dumps") { glue = glue.with_dumps(); }
        let starts = glue.starts().unwrap();
        let explored = hls_small_worlds::explore(&mut glue, starts, Bounds { length, twin_of: 16 });
        println!("{explored:#?}");
        return;
    }
    let args: Vec<usize> = std::env::args().skip(1).map(|a| a.parse().unwrap()).collect();
    let all = hierarchies::of(args[0]);
    let begin = Instant::now();
    println!("{} hierarchies", all.len());
    let limit = args.get(2).copied().unwrap_or(usize::MAX);
    let step = (all.len() / limit.min(all.len())).max(1);
    let all: Vec<_> = all.into_iter().step_by(step).collect();
    let outcome = explore_all(&all, Bounds { length: args[1], twin_of: 16 }, 2, |_| {});
    println!("{:?} {} {:?}", outcome.explored, outcome.hierarchies, begin.elapsed());
    println!("{} violations", outcome.violations.len());
    let mut shown = std::collections::BTreeMap::new();
    for (at, violation) in &outcome.violations {
        let kind: String = violation.what.chars().filter(|c| !c.is_ascii_digit()).collect();
        let seen = shown.entry(kind).or_insert(0);
        *seen += 1;
        if *seen < 4 {
            println!("{}: start {} {:#?}\n  => {}", all[*at], violation.start, violation.steps, violation.what);
        }
    }
    println!("{shown:#?}");
}
