//! The policies that the tests read files with: a table of their own, so that they fail only when the reader changes.

use hls_core::{ParamInfo, PolicyInfo, PolicyProperties, Unit};
use hls_hierarchy::{Policies, loads};
use std::sync::LazyLock;

/// The policies that a file is read with: the tests' own ones, and those that it loads before it begins.
pub fn policies(file: &[u8]) -> Policies {
    loaded(Policies::of(built_in()), file)
}

/// These policies, and those that a file loads before it begins: one for each `load` of a "round_table.c".
pub fn loaded(mut policies: Policies, file: &[u8]) -> Policies {
    let is_there = |path: &str| path.ends_with("round_table.c");
    for load in loads(file).iter().filter(|load| is_there(&load.path)) {
        let name: &'static str = load.policy().leak();
        let vp_params = vec![time("slice", None), time("round", None)];
        let table = PolicyInfo {
            provides: Some("as reservation with budget = slice, period = round"),
            ..policy(64, name, 4096, vec![], vp_params)
        };
        // A name that is taken is the reader's to report.
        let _ = policies.load(&table);
    }
    policies
}

/// The six policies of HLS, round-robin and a process, as the registry of the core has them, and two that do not run.
fn built_in() -> &'static [PolicyInfo] {
    static POLICIES: LazyLock<Vec<PolicyInfo>> = LazyLock::new(|| {
        let budget = || time("budget", None);
        let period = || time("period", None);
        let quantum = |ms: u64| time("quantum", Some(ms * 1_000_000));
        let none = PolicyProperties::default();
        let serial = PolicyProperties { serial: true, ..none };
        let joins = PolicyProperties { joins: true, ..serial };
        let has_pages = PolicyProperties { has_pages: true, ..none };
        let by_level = PolicyProperties { promises_by_level: true, ..none };
        let serves = PolicyProperties { may_serve_hls: true, ..none };
        let takes_all = PolicyProperties { may_be_default: true, ..serves };
        vec![
            PolicyInfo {
                properties: by_level,
                ..policy(1, "fixed-priority", 4096, vec![quantum(10)], vec![count("priority", None, 0, 63)])
            },
            PolicyInfo {
                properties: takes_all,
                ..policy(
                    2,
                    "time-sharing",
                    65_536,
                    vec![
                        quantum(20),
                        time("starve-after", Some(1_000_000_000)),
                        time("starve-for", Some(20_000_000)),
                        count("wake-boost", Some(2), 0, 31),
                    ],
                    vec![count("priority", Some(8), 0, 31)],
                )
            },
            PolicyInfo {
                properties: takes_all,
                ..policy(
                    3,
                    "proportional-share",
                    65_536,
                    vec![quantum(10)],
                    vec![count("share", Some(1), 1, 131_072), ParamInfo { min: 0, ..time("warp", Some(0)) }],
                )
            },
            PolicyInfo {
                properties: serial,
                ..policy(4, "reservation", 4096, vec![], vec![budget(), period()])
            },
            PolicyInfo { properties: joins, ..policy(5, "join", 1, vec![], vec![]) },
            PolicyInfo { properties: serial, ..policy(6, "limit", 1, vec![], vec![budget(), period()]) },
            PolicyInfo { properties: serves, ..policy(7, "round-robin", 65_536, vec![quantum(10)], vec![]) },
            PolicyInfo {
                properties: has_pages,
                ..policy(
                    8,
                    "user-level",
                    64,
                    vec![time("allowance", Some(1_000_000)), time("every", Some(10_000_000))],
                    vec![
                        count("urgency", Some(0), 0, u64::MAX / 2 - 1),
                        count("slot", Some(64), 0, 64),
                        count("child", Some(0), 0, u64::MAX / 2),
                    ],
                )
            },
            PolicyInfo {
                properties: serial,
                ..policy(0, "bss-i", 65_536, vec![], vec![count("rate-ppm", None, 1, 1_000_000)])
            },
            PolicyInfo {
                properties: serial,
                ..policy(0, "eevdf", 65_536, vec![quantum(10)], vec![count("share", Some(1), 1, 131_072)])
            },
        ]
    });
    &POLICIES
}

fn policy(
    id: u8,
    name: &'static str,
    max_children: u32,
    scheduler_params: Vec<ParamInfo>,
    vp_params: Vec<ParamInfo>,
) -> PolicyInfo {
    PolicyInfo {
        id,
        name,
        doc: "a policy",
        source: "the tests",
        accepts: None,
        provides: None,
        state_version: 0,
        max_children,
        properties: PolicyProperties::default(),
        scheduler_params,
        vp_params,
        messages: Vec::new(),
    }
}

fn time(name: &'static str, default: Option<u64>) -> ParamInfo {
    ParamInfo { name, unit: Unit::Time, default, min: 1, max: u64::MAX, doc: "a time" }
}

fn count(name: &'static str, default: Option<u64>, min: u64, max: u64) -> ParamInfo {
    ParamInfo { name, unit: Unit::Count, default, min, max, doc: "a number" }
}
