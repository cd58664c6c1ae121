//! What each policy promises for what its scheduler holds: sets of children that are just admitted beside sets that are
//! just refused. Policies without numbers here have them in their own files, which use the functions of this file.

use super::*;
use crate::graph::Child;
use crate::rewrite::implies;

type Params<'a> = &'a [(&'a str, u64)];

fn parse(guarantee: &str) -> Guarantee {
    Guarantee::parse(guarantee).unwrap()
}

/// What a policy promises to children with these parameters when its scheduler holds `held` on each of `cpus` CPUs.
pub(super) fn provide(
    policy: &str,
    (held, cpus): (&str, u16),
    params: Params,
    children: &[Params],
) -> Provided {
    let owned = |list: Params| -> Vec<(String, u64)> {
        list.iter().map(|(name, value)| ((*name).into(), *value)).collect()
    };
    let edge = |params: &Params| Edge {
        parent: None,
        child: Child::Thread("t".into()),
        params: owned(params),
        requested: None,
        width: 1,
        pinned: false,
    };
    let edges: Vec<Edge> = children.iter().map(edge).collect();
    let rule = Rule { name: "test", source: "test" };
    let label = Label::new(parse(held), cpus, rule, Vec::new(), String::new());
    let instance = Instance {
        params: &owned(params),
        joins: false,
        tells_deadlines: true,
        held: vec![HeldVps { label: &label, width: cpus }],
        children: edges.iter().collect(),
        names: vec!["t"; edges.len()],
        cpus,
        mode: Mode::Tight,
        caps: vec![None; edges.len()],
        work: &Work::unlimited(),
    };
    (find(policy).unwrap().provide)(&instance)
}

/// The labels in real time.
pub(super) fn labels(policy: &str, held: &str, params: Params, children: &[Params]) -> Vec<String> {
    let provided = provide(policy, (held, 1), params, children);
    provided.labels.iter().map(|label| label.absolute().to_string()).collect()
}

/// The labels of children with these budgets and periods. An empty list stands for NULL for all of them and a
/// complaint.
pub(super) fn claimed(policy: &str, held: &str, claims: &[(u64, u64)]) -> Vec<String> {
    let params: Vec<[(&str, u64); 2]> =
        claims.iter().map(|(x, y)| [("budget", *x), ("period", *y)]).collect();
    let children: Vec<Params> = params.iter().map(|params| &params[..]).collect();
    let provided = provide(policy, (held, 1), &[], &children);
    let labels: Vec<String> = provided.labels.iter().map(|label| label.absolute().to_string()).collect();
    assert_eq!(
        labels.iter().any(|label| label == "NULL"),
        !provided.complaints.is_empty(),
        "{policy}: {labels:?}"
    );
    if labels.iter().all(|label| label == "NULL") { Vec::new() } else { labels }
}

const REFUSED: [&str; 0] = [];

#[test]
fn servers_count_in_the_time_of_what_they_hold() {
    let hard = ["reservation", "cbs", "constant-utilisation-server"].map(|policy| (policy, "RESBH"));
    for (policy, kind) in hard.into_iter().chain([("tbs", "RESBS")]) {
        let two = |amount: &str| [format!("{kind} {amount} 20ns"), format!("{kind} {amount} 20ns")];
        assert_eq!(claimed(policy, "ALL", &[(10, 20), (10, 20)]), two("10ns"));
        assert_eq!(claimed(policy, "ALL", &[(10, 20), (11, 20)]), REFUSED);
        assert_eq!(claimed(policy, "RESU 1/2", &[(10, 20), (10, 20)]), two("5ns"));
        assert_eq!(claimed(policy, "RESU 1/2", &[(10, 20), (11, 20)]), REFUSED);
        assert_eq!(claimed(policy, "PS 1/2", &[(10, 20), (10, 20)]), REFUSED);
        // sbf(7) = 3, sbf(6) = 2.
        assert_eq!(claimed(policy, "RESBS 3ns 5ns", &[(3, 7)]), [format!("{kind} 3ns 7ns")]);
        assert_eq!(claimed(policy, "RESBS 3ns 5ns", &[(3, 6)]), REFUSED);
        assert_eq!(claimed(policy, "ALL", &[(10, 20), (0, 20)]), REFUSED);
        assert_eq!(claimed(policy, "ALL", &[(10, 20), (21, 20)]), REFUSED);
    }
}

#[test]
fn sums_of_unrelated_fractions_are_admitted_up_to_one() {
    assert!(!claimed("cbs", "ALL", &[(1, 3), (2, 7), (8, 21)]).is_empty(), "exactly 1");
    assert!(claimed("cbs", "ALL", &[(1, 3), (2, 7), (8, 21), (1, u64::MAX)]).is_empty());
}

#[test]
fn slower_processors_nest() {
    for policy in ["bss-i", "pshed"] {
        let rates = |held, rates: [u64; 2]| {
            let params = rates.map(|rate| [("rate-ppm", rate)]);
            labels(policy, held, &[], &[&params[0], &params[1]])
        };
        assert_eq!(rates("ALL", [500_000, 500_000]), ["RESU 1/2"; 2]);
        assert_eq!(rates("ALL", [500_000, 500_001]), ["NULL"; 2]);
        assert_eq!(rates("ALL", [500_000, 0]), ["NULL"; 2]);
        assert_eq!(rates("RESU 1/2", [500_000, 250_000]), ["RESU 1/4", "RESU 1/8"]);
        assert_eq!(rates("PSBE 1/2 10ns", [100_000, 100_000]), ["NULL"; 2]);
        assert_eq!(rates("RESBH 10ns 10ns", [100_000, 100_000]), ["NULL"; 2]);
    }
    // The speeds multiply: a reservation of 8 every 20 on half of a half of a CPU has 2.
    let slow = provide("bss-i", ("RESU 1/2", 1), &[], &[&[("rate-ppm", 500_000)]]).labels.remove(0);
    let edge = Edge {
        parent: None,
        child: Child::Thread("t".into()),
        params: vec![("budget".into(), 8), ("period".into(), 20)],
        requested: None,
        width: 1,
        pinned: false,
    };
    let instance = Instance {
        params: &[],
        joins: false,
        tells_deadlines: true,
        held: vec![HeldVps { label: &slow, width: 1 }],
        children: vec![&edge],
        names: vec!["t"],
        cpus: 1,
        mode: Mode::Tight,
        caps: vec![None],
        work: &Work::unlimited(),
    };
    let provided = (find("reservation").unwrap().provide)(&instance);
    assert_eq!(provided.labels[0].absolute(), parse("RESBH 2ns 20ns"));
}

#[test]
fn limits_below_a_slower_processor_count_in_its_time() {
    let claim: [Params; 1] = [&[("budget", 10), ("period", 20)]];
    assert_eq!(labels("limit", "RESU 1/2", &[], &claim), ["RESBH 5ns 20ns"]);
    assert_eq!(labels("limit", "PS 1/2", &[], &claim), ["NULL"]);
}

#[test]
fn fair_queues_have_the_numbers_of_figure_3() {
    let (quantum, children): (Params, [Params; 2]) = (&[("quantum", 10)], [&[("share", 1)], &[("share", 4)]]);
    for policy in ["proportional-share", "sfq", "stride"] {
        assert_eq!(
            labels(policy, "RESBH 10ns 20ns", quantum, &children),
            ["PSBE 1/10 12ns", "PSBE 2/5 18ns"],
            "{policy}"
        );
        assert_eq!(labels(policy, "PS 1/2", quantum, &children), ["PS 1/10", "PS 2/5"]);
        assert_eq!(labels(policy, "NULL", quantum, &children), ["NULL"; 2]);
        assert_eq!(labels(policy, "ALL", &[("quantum", 0)], &children), ["NULL"; 2]);
        assert_eq!(labels(policy, "ALL", quantum, &[&[("share", 1)], &[("share", 0)]]), ["NULL"; 2]);
    }
}

#[test]
fn eevdf_divides_a_supply() {
    let (quantum, children): (Params, [Params; 2]) = (&[("quantum", 10)], [&[("share", 1)], &[("share", 3)]]);
    let expected = ["PSBE 1/4 20ns", "PSBE 3/4 20ns"];
    assert_eq!(labels("eevdf", "ALL", quantum, &children), expected);
    assert_eq!(labels("eevdf", "RESBH 10ns 10ns", quantum, &children), expected);
    // 4/4 + 20 and a nanosecond, 3*4/4 + 20 and a nanosecond.
    assert_eq!(labels("eevdf", "PSBE 1/2 4ns", quantum, &children), ["PSBE 1/8 22ns", "PSBE 3/8 24ns"]);
    assert_eq!(labels("eevdf", "PS 1/2", quantum, &children), ["PS 1/8", "PS 3/8"]);
    assert_eq!(labels("eevdf", "NULL", quantum, &children), ["NULL"; 2]);
    assert_eq!(provide("eevdf", ("ALL", 2), quantum, &children).complaints.len(), 1);
    let asking = |request| labels("eevdf", "ALL", quantum, &[&[("share", 1), ("request", request)]]);
    assert_eq!([asking(0), asking(9_999), asking(10_000)].concat(), ["PSBE 1 20ns", "NULL", "PSBE 1 20us"]);
    // Large shares make virtual time coarse.
    let sharing = |share| labels("eevdf", "ALL", quantum, &[&[("share", share)]]);
    assert_eq!([sharing(127), sharing(1_280)].concat(), ["PSBE 1 20ns", "PSBE 1 30ns"]);
}

#[test]
fn shares_in_the_long_run() {
    let children: [Params; 2] = [&[("share", 1)], &[("share", 3)]];
    for policy in ["lottery", "sfs"] {
        for half in ["PS 1/2", "PSBE 1/2 3ns", "RESBS 4ns 8ns"] {
            assert_eq!(labels(policy, half, &[], &children), ["PS 1/8", "PS 3/8"], "{policy} on {half}");
        }
        assert_eq!(labels(policy, "NULL", &[], &children), ["NULL"; 2]);
        assert_eq!(labels(policy, "ALL", &[], &[&[("share", 0)]]), ["NULL"]);
    }
    let equal: [Params; 2] = [&[]; 2];
    for policy in ["linux", "windows-2000"] {
        assert_eq!(labels(policy, "ALL", &[], &equal[..1]), ["ALL"]);
        assert_eq!(labels(policy, "ALL", &[], &equal), ["NULL"; 2]);
    }
}

#[test]
fn sfs_promises_nothing_of_several_cpus_but_one_each() {
    let on_two = |held, children: &[Params]| {
        let provided = provide("sfs", (held, 2), &[], children);
        let labels: Vec<String> = provided.labels.iter().map(|label| label.absolute().to_string()).collect();
        (labels, provided.complaints.len())
    };
    let three: [Params; 3] = [&[("share", 1)], &[("share", 1)], &[("share", 10)]];
    assert_eq!(on_two("ALL", &three), (vec!["NULL".into(); 3], 0));
    assert_eq!(on_two("ALL", &three[1..]), (vec!["ALL".into(); 2], 0));
    assert_eq!(on_two("RESU 1/2", &three), (vec!["NULL".into(); 3], 0));
}

#[test]
fn reserves_are_reached_in_time() {
    let admitted = |held, claims| claimed("resource-kernel", held, claims);
    // 3 + 2*2 = 7; 4 + 3*2 = 10.
    assert_eq!(admitted("ALL", &[(3, 9), (2, 5)]), ["RESBH 3ns 9ns", "RESBH 2ns 5ns"]);
    assert_eq!(admitted("ALL", &[(4, 9), (2, 5)]), ["NULL", "RESBH 2ns 5ns"]);
    // sbf(6) = 2.
    assert_eq!(admitted("RESBS 3ns 5ns", &[(2, 6)]), ["RESBH 2ns 6ns"]);
    assert_eq!(admitted("RESBS 3ns 5ns", &[(3, 6)]), REFUSED);
    assert_eq!(admitted("PS 1/2", &[(1, 100)]), REFUSED);
    let soft: Params = &[("budget", 2), ("period", 5), ("kind", 2)];
    assert_eq!(labels("resource-kernel", "ALL", &[], &[soft]), ["RESBS 2ns 5ns"]);
}

#[test]
fn time_tables_are_made_or_refused() {
    assert_eq!(claimed("rialto", "ALL", &[(2, 10), (3, 15)]), ["RESCS 2ns 10ns", "RESCS 3ns 15ns"]);
    assert_eq!(claimed("rialto", "ALL", &[(2, 10), (4, 15)]), REFUSED);
    // sbf(4) = 2 and sbf(1) = 0.
    assert_eq!(claimed("rialto", "RESBS 3ns 4ns", &[(4, 10)]), ["EDP 10ns 2ns 4ns"]);
    assert_eq!(labels("rialto", "RESBS 3ns 4ns", &[], &[&[("budget", 1), ("period", 10)]]), ["NULL"]);
    assert_eq!(claimed("rialto", "NULL", &[(4, 10)]), REFUSED);
    assert!(implies(&parse("EDP 10ns 2ns 4ns"), &parse("RESCS 2ns 12ns")).is_ok());
    assert!(implies(&parse("EDP 10ns 2ns 4ns"), &parse("RESCS 2ns 11ns")).is_err());

    assert_eq!(claimed("rialto-nt", "ALL", &[(4, 8), (2, 4)]), ["RESBS 4ns 8ns", "RESCS 2ns 4ns"]);
    assert_eq!(claimed("rialto-nt", "ALL", &[(5, 8), (2, 4)]), REFUSED);
    assert_eq!(claimed("rialto-nt", "ALL", &[(1, 6), (1, 4)]), REFUSED);
    assert_eq!(claimed("rialto-nt", "RESBH 9ns 10ns", &[(1, 100)]), REFUSED);

    assert_eq!(claimed("spring", "ALL", &[(1, 2), (2, 4)]), ["RESBH 1ns 2ns", "RESBH 2ns 4ns"]);
    assert_eq!(claimed("spring", "ALL", &[(1, 2), (3, 6)]), REFUSED);
    assert_eq!(claimed("spring", "RESBS 3ns 4ns", &[(4, 8), (5, 16)]), ["RESBS 2ns 8ns", "RESBS 3ns 16ns"]);
    assert_eq!(claimed("spring", "NULL", &[(1, 100)]), REFUSED);
}

/// Each policy has tests in its own file, or its name is in this file or in another test of the crate.
#[test]
fn every_policy_has_tests() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
    let files = |folder: &str| std::fs::read_dir(root.join(folder)).unwrap().map(|file| file.unwrap().path());
    let others = files("tests").chain(files("tests/execution")).filter(|path| path.is_file());
    let all = others.map(|path| std::fs::read_to_string(path).unwrap()).collect::<String>();
    let all = all + &read("src/schedulers/tests.rs");
    for Entry { policy, .. } in REGISTRY {
        let own = read(&format!("src/schedulers/{}.rs", policy.replace('-', "_")));
        let is_tested = all.contains(&format!("\"{policy}\"")) || own.contains("#[test]");
        assert!(is_tested, "{policy}: no test in its file, nor elsewhere");
    }
}

#[test]
fn policies_are_registered_once() {
    for entry in REGISTRY {
        let same = REGISTRY.iter().filter(|other| other.policy == entry.policy);
        assert_eq!(same.count(), 1, "{}", entry.policy);
    }
}
