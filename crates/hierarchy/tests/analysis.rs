//! What the calculus gets to see of a hierarchy.

use crate::common;
use hls_calculus::{Child, Guarantee, Mode, Setting, analyse};
use hls_core::{PolicyInfo, PolicyProperties};
use hls_hierarchy::analysis::{Input, Instances, Origin};
use hls_hierarchy::model::{Hierarchy, ModelEdge, params_of_the_unplaced};
use hls_hierarchy::settings::settings;
use hls_hierarchy::{Cpus, Policies, Unusable, read_with};

fn read(text: &str) -> Hierarchy {
    read_with(&common::policies(text.as_bytes()), Cpus::UnlessStated(1), text.as_bytes())
        .expect("it is a good file")
        .0
}

#[test]
fn figure_1_keeps_its_names_values_and_requests() {
    let input = Input::new(&read(include_str!("ok/figure-1.kdl")));
    let schedulers: Vec<_> =
        input.graph.schedulers.iter().map(|s| (s.name.as_str(), s.policy.name())).collect();
    let expected =
        [("FP", "fixed-priority"), ("RES", "reservation"), ("J", "join"), ("PS", "proportional-share")];
    assert_eq!(schedulers, expected);
    assert_eq!(input.graph.schedulers[3].params, [("quantum".to_owned(), 10_000_000)]);

    let join = &input.graph.edges[3];
    assert_eq!((join.parent, &join.child), (Some(1), &Child::Scheduler(2)));
    assert_eq!(join.params, [("budget".to_owned(), 10_000_000), ("period".to_owned(), 20_000_000)]);
    assert_eq!(join.requested, Some(Guarantee::parse("RESBH 10ms 20ms").unwrap()));
}

#[test]
fn instances_become_edges_that_lead_back() {
    let hierarchy = read(
        "machine cpus=2\nround-robin { thread \"a\" instances=3 affinity=\"1\"; thread \"b\" affinity=\"0-1\" }",
    );
    let input = Input::new(&hierarchy);
    let children: Vec<_> = input.graph.edges.iter().map(|edge| edge.child.clone()).collect();
    let thread = |name: &str| Child::Thread(name.to_owned());
    assert_eq!(children, [Child::Scheduler(0), thread("a-0"), thread("a-1"), thread("a-2"), thread("b")]);
    let pinned: Vec<_> = input.graph.edges.iter().map(|edge| edge.pinned).collect();
    assert_eq!(pinned, [false, true, true, true, false]);

    assert_eq!(input.origins[3], Origin { edge: ModelEdge(1), instance: 2 });
    assert_eq!(input.graph_edge_of(ModelEdge(1), 2), Some(3));
    assert_eq!(input.graph_edge_of(ModelEdge(2), 0), Some(4));
    assert_eq!(input.graph_edge_of(ModelEdge(1), 3), None);

    let of_a_workload = [(1, false), (2, true)].map(|(count, pinned)| Instances { count, pinned });
    let two = Input::with_threads(&hierarchy, of_a_workload.to_vec());
    let children: Vec<_> =
        two.graph.edges[1..].iter().map(|edge| (edge.child.clone(), edge.pinned)).collect();
    assert_eq!(children, [(thread("a"), false), (thread("b-0"), true), (thread("b-1"), true)]);
}

/// What a loaded policy declares reaches the calculus, separately for each version.
#[test]
fn what_a_loaded_policy_declares_is_analysed() {
    let hierarchy = read(include_str!("ok/loads.kdl"));
    let analysis = analyse(&Input::new(&hierarchy).graph, Mode::Tight);
    assert_eq!(analysis.problems, []);
    let labels: Vec<String> = analysis.labels.iter().map(|label| label.guarantee.to_string()).collect();
    assert_eq!(labels, ["ALL", "ALL", "RESBH 5ms 20ms", "RESBH 5ms 10ms", "NULL"]);
}

#[test]
fn a_file_that_loads_is_refused_where_nothing_can() {
    let rest = "round-robin { thread \"a\" }";
    let with_load = format!("load \"other.c\"\n{rest}");
    assert!(hls_hierarchy::read(rest.as_bytes()).is_ok());
    assert!(read_with(&Policies::default(), Cpus::UnlessStated(1), with_load.as_bytes()).is_ok());
    let errors = hls_hierarchy::read(with_load.as_bytes()).unwrap_err();
    let found: Vec<_> = errors.iter().map(|error| (error.span.clone(), error.found.as_str())).collect();
    assert_eq!(found, [(0..14, "a policy from a file of its own")]);
}

/// The tests' policy, with a declaration added.
fn told(name: &'static str, provides: &'static str) -> Result<Policies, Unusable> {
    let file = b"load \"round_table.c\"";
    let policies = common::policies(file);
    let table = policies.find("round-table").unwrap().info;
    let mut policies = Policies::default();
    policies.load(&PolicyInfo { name, provides: Some(provides), ..table.clone() }).map(|()| policies)
}

#[test]
fn policies_that_cannot_be_used_are_refused() {
    let good = "RESBS slice round when sum(slice / round) <= 1";
    let like = "as cbs with budget = slice, period = round";
    assert!(told("table", like).is_ok(), "it is like one that does not run");
    assert!(told("table", good).unwrap().find("table").is_some_and(|policy| policy.declared.is_some()));
    for (name, provides, said) in [
        ("reservation", good, "found the name `reservation`, expected a name that no other policy has"),
        ("load", good, "found the name `load`, expected a name that means nothing else in a file"),
        ("My_Table", good, "found the name `My_Table`, expected a name of lower-case letters"),
        ("table", "RESBS slice", "`.provides`, byte 11: found the end, expected a period for RESBS"),
        ("table", "as bss-i", "`.provides`, byte 3: found nothing for `rate-ppm` of `bss-i`"),
    ] {
        let error = told(name, provides).unwrap_err().to_string();
        assert!(error.starts_with(said), "{error}");
    }
}

/// What a setting belongs to, what else it sets, and the values that it may have.
fn shown(setting: &Setting) -> String {
    let param = setting.param.as_deref().unwrap_or("need");
    let asked = setting.asked.map_or(String::new(), |number| format!(", number {number}"));
    let (least, most) = (setting.range.start(), setting.range.end());
    format!("{:?} {param}{asked}: {least} to {most} by {}", setting.owner, setting.grain)
}

#[test]
fn settings_are_what_one_change_in_the_file_changes() {
    let hierarchy = read(
        "reservation {
            proportional-share \"PS\" budget=\"1ms\" period=\"2ms\" {
                thread \"a\" instances=2 guarantee=\"PSBE 1/4 10ms\"
            }
            thread \"b\" guarantee=\"RESBH 1ms 10ms\"
        }",
    );
    let input = Input::new(&hierarchy);
    let settings = settings(&hierarchy, &input);
    let found: Vec<String> = settings.iter().map(shown).collect();
    let year = "31536000000000000";
    assert_eq!(
        found,
        [
            format!("Scheduler(1) quantum: 1 to {year} by 1"),
            format!("Edges(1..2) budget: 1 to {year} by 1"),
            format!("Edges(1..2) period: 1 to {year} by 1"),
            "Edges(2..4) share: 1 to 131072 by 1".into(),
            format!("Edges(2..4) warp: 0 to {year} by 1000"),
            "Edges(2..4) need, number 0: 1/1000000 to 1 by 1/1000000".into(),
            format!("Edges(2..4) need, number 1: 1 to {year} by 1"),
            format!("Edges(4..5) budget, number 0: 1 to {year} by 1"),
            format!("Edges(4..5) period, number 1: 1 to {year} by 1"),
        ]
    );

    let mut graph = input.graph.clone();
    settings[7].set(&mut graph, &settings[6].range.end().clone());
    settings[3].set(&mut graph, &settings[5].range.end().clone());
    assert_eq!(graph.edges[4].params[0].1, 31_536_000_000_000_000);
    assert_eq!(graph.edges[4].requested.as_ref().unwrap().to_string(), "RESBH 31536000s 10ms");
    assert_eq!([&graph.edges[2], &graph.edges[3]].map(|edge| edge.params[0].1), [1, 1]);
}

/// Which slot a child of a scheduler in a process has is a number, but no quantity.
#[test]
fn no_setting_makes_another_child_the_agent() {
    let hierarchy = read("user-level { thread \"agent\" slot=0; thread \"a\"; }");
    let settings = settings(&hierarchy, &Input::new(&hierarchy));
    let found: Vec<&str> = settings.iter().filter_map(|setting| setting.param.as_deref()).collect();
    assert_eq!(found, ["allowance", "every", "urgency", "urgency"]);
}

/// Threads that nobody placed come to the default scheduler: it promises nothing, also where each child of the file
/// could have a CPU to itself.
#[test]
fn a_default_scheduler_promises_nothing() {
    for policy in ["proportional-share", "time-sharing"] {
        for (default, promised) in [("", Guarantee::All), ("default=#true", Guarantee::Null)] {
            let file =
                format!("machine cpus=2\n{policy} \"rest\" {default} {{ thread \"a\"; thread \"b\"; }}\n");
            let input = Input::new(&read(&file));
            let found = analyse(&input.graph, Mode::Tight);
            assert_eq!(found.labels[1].guarantee, promised, "{file}");
        }
    }
}

#[test]
fn a_file_without_a_default_scheduler_gets_a_fair_one_below_all() {
    let hierarchy = read("round-robin \"rest\" { thread \"t\"; }").with_default();
    let default = &hierarchy.schedulers[hierarchy.default_scheduler().unwrap()];
    assert_eq!((default.name.as_str(), default.policy.name), ("rest-2", "proportional-share"));
    assert_eq!(default.params, [1_000_000]);
    assert_eq!(params_of_the_unplaced(default.policy), [1024, 0]);
    let stated = read("time-sharing \"TS\" default=#true { thread \"t\"; }").with_default();
    assert_eq!(stated.schedulers.len(), 1);
    assert_eq!(params_of_the_unplaced(stated.schedulers[0].policy), [8]);
}

/// On a real machine `hls` has a reservation ahead of the file's root, and what the default scheduler gives it beyond
/// that. The root's promises stay as they were.
#[test]
fn hls_has_a_reservation_that_takes_no_promise_away() {
    let labels = |hierarchy: &Hierarchy| {
        let input = Input::new(hierarchy);
        let found = analyse(&input.graph, Mode::Tight);
        assert_eq!(found.problems, []);
        let name = |edge: usize| match &input.graph.edges[edge].child {
            Child::Scheduler(scheduler) => input.graph.schedulers[*scheduler].name.clone(),
            Child::Thread(name) => name.clone(),
        };
        let labels = found.labels.iter().enumerate();
        labels.map(|(edge, label)| (name(edge), label.guarantee.to_string())).collect::<Vec<_>>()
    };
    for (cpus, default) in [(1, ""), (2, ""), (2, "default=#true")] {
        let text = format!(
            "machine cpus={cpus}\nfixed-priority \"FP\" {{\n reservation \"RES\" priority=1 {{ thread \"film\" \
             guarantee=\"RESBH 10ms 33ms\"; }}\n proportional-share \"hls\" priority=0 {default} \
             {{ thread \"t\"; }}\n}}\n"
        );
        let (before, complete) = (read(&text), read(&text).for_a_machine());
        let (stated, labels) = (labels(&before), labels(&complete));
        assert!(stated.iter().all(|label| labels.contains(label)), "{stated:?} {labels:?}");
        assert!(labels.contains(&("for-hls".into(), "ALL".into())), "{labels:?}");
        assert!(labels.contains(&("hls-or-rest".into(), "RESBH 1ms 20ms".into())), "{labels:?}");
        assert!(labels.contains(&("hls-2".into(), "RESBS 1ms 20ms".into())), "{labels:?}");
        let service = complete.service_scheduler().unwrap();
        assert_eq!(complete.schedulers[service].name, "hls-2");
        assert_eq!(complete.schedulers[complete.stealing.unwrap()].name, "for-hls");
        assert_eq!(complete.schedulers.len(), before.schedulers.len() + 4 + usize::from(default.is_empty()));
    }
}

/// A loaded policy says itself that it takes every thread; that a child needs a parameter says the opposite.
#[test]
fn a_loaded_policy_may_be_the_default() {
    let is_read = |says: PolicyProperties, preset: Option<u64>| {
        let mut policies = Policies::default();
        let mut info = hls_core::policies().iter().find(|info| info.name == "stride").unwrap().clone();
        (info.name, info.properties, info.vp_params[0].default) = ("loaded", says, preset);
        policies.load(&info).unwrap();
        read_with(&policies, Cpus::UnlessStated(1), b"loaded \"rest\" default=#true").map(drop)
    };
    let says = PolicyProperties { may_be_default: true, ..PolicyProperties::default() };
    assert!(is_read(says, Some(1)).is_ok());
    assert!(is_read(says, None).is_err());
    let refused = is_read(PolicyProperties::default(), Some(1)).unwrap_err().remove(0);
    assert_eq!(refused.expected, "it on a scheduler of time-sharing or proportional-share");
}

/// What the file says of itself stands: its promises take the reservation of `hls` into account.
#[test]
fn a_file_may_name_the_scheduler_of_hls() {
    let text = "reservation \"R\" {\n round-robin \"own\" service=#true guarantee=\"RESBH 1ms 10ms\"\n \
                proportional-share \"rest\" default=#true guarantee=\"RESBH 9ms 10ms\"\n}\n";
    let hierarchy = read(text).for_a_machine();
    assert_eq!((hierarchy.schedulers.len(), hierarchy.stealing), (3, None));
    assert_eq!(hierarchy.schedulers[hierarchy.service_scheduler().unwrap()].name, "own");
    assert_eq!(analyse(&Input::new(&hierarchy).graph, Mode::Tight).problems, []);
    let overbooked = text.replace("RESBH 9ms 10ms", "RESBH 10ms 10ms");
    assert_eq!(analyse(&Input::new(&read(&overbooked)).graph, Mode::Tight).problems.len(), 3);
}
