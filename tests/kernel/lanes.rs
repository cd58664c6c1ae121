//! The lanes: which scripts run on which machine. A lane boots once and runs its scripts one after the other.
//!
//! The scripts of a folder are found by glob. The environment may name the scripts that are wanted (`STORMS="nice
//! kept"`) or set amounts (`INSTANTS`, `HERDS`, `MOST_NS`).

use crate::guest;
use crate::harness::{Case, Report};
use crate::here;
use hls_vm::{Accel, Flavour, Machine, Script, Time};
use std::env;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// How much of everything, in variables that each script has before its first line. The guard is the seconds of exact
/// time after which a script of the gate has failed: it is taken to hang.
const GATE: &str = "KILLS='0 1 attached'\nCYCLES=0\nSTORM=2\nCHURN=20\nDEPTHS=8\nGUARD=1800\n\
    LITERATURE='bvt cbs linux-eevdf lottery pshed rialto-nt'\nHOLDERS=20\n";
const NIGHT: &str = "KILLS=\"$(seq 0 40) attached\"\nCYCLES=100\nSTORM=60\nSTEPS=$(seq 1 3 28)\n\
    CHURN=120\nMIXED=60\nAGENTS=25\nFLOODS=120\nDEPTHS='1 2 4'\n";
const STORM: &str = "CHURN=1800\nMIXED=600\nAGENTS=600\n";

const CHURN: &str = "gate/two-cpus/9-churn.sh";

const HOUR: Duration = Duration::from_secs(3600);

/// A machine with the scripts that it runs.
pub struct Lane {
    name: String,
    flavour: Flavour,
    machine: Machine,
    scripts: Vec<Script>,
}

impl Lane {
    /// The scripts learn whether time is exact.
    fn new(name: &str, machine: Machine, mut scripts: Vec<Script>) -> Lane {
        if matches!(machine.time, Time::Exact { .. }) {
            scripts.iter_mut().for_each(|script| set_variables(script, "EXACT=1\n"));
        }
        Lane { name: name.to_owned(), flavour: Flavour::Cloud, machine, scripts }
    }

    pub fn into_case(self) -> Case {
        let name = self.name.clone();
        Case::new(&name, move || {
            guest::run(self.flavour, &self.machine, self.scripts, None)
                .map_or_else(|error| error.verdict().into(), Report::of)
        })
    }
}

/// All lanes.
pub fn all() -> Vec<Lane> {
    let mut lanes = vec![
        Lane::new("gate_one_cpu", exact(1, 2), scripts("gate/one-cpu", GATE)),
        Lane::new("gate_two_cpus", with_packets(two_exact()), scripts("gate/two-cpus", &instants(GATE, "2"))),
        Lane {
            flavour: Flavour::Rt,
            ..Lane::new("night_real_time_kernel", exact(1, 2), scripts("gate/one-cpu", GATE))
        },
        lone("night_literature_alone", "night/literature-alone.sh", exact(1, 2), ""),
        lone("night_composite_at_other_depths", "gate/one-cpu/composite.sh", exact(1, 2), NIGHT),
        lone("night_gallery_in_one_engine", "night/long/gallery.sh", exact(1, 1), "TOGETHER=1\n"),
        lone("night_holds", "night/holds.sh", Machine { memory_mib: 6144, ..exact(2, 1) }, &herds()),
        lone("night_many_starve", "night/many-starve.sh", Machine { memory_mib: 6144, ..exact(1, 1) }, ""),
        lone("night_holders", "gate/one-cpu/holders.sh", exact(1, 2), "HOLDERS='40 60'\n"),
        lone("night_cgroups_lock", "night/cgroups-lock.sh", exact(1, 2), ""),
        lone("night_readers", "night/readers.sh", Machine { memory_mib: 2048, ..exact(1, 1) }, ""),
        lone("night_policies_in_exact_time", "night/at-once/policies.sh", exact(1, 1), ""),
        lone("night_floods", "night/floods.sh", Machine { memory_mib: 2048, ..exact(1, 0) }, NIGHT),
        lone(
            "night_floods_on_two_cpus",
            "night/floods.sh",
            with_tickets(Machine { memory_mib: 2048, ..exact(2, 0) }),
            "FLOODS=30\n",
        ),
        lone("night_floods_at_once", "night/floods.sh", Machine { memory_mib: 2048, ..at_once(2) }, NIGHT),
        lone("night_churn_at_once", CHURN, at_once(4), NIGHT),
        lone("night_churn_with_tickets", CHURN, with_tickets(at_once(2)), "CHURN=30\n"),
        Lane {
            flavour: Flavour::Rt,
            ..lone("night_churn_in_real_time_kernel", CHURN, at_once(2), "CHURN=30\n")
        },
        lone("night_errands_at_once", "night/long/errands.sh", at_once(4), NIGHT),
        lone("storm_churn", CHURN, at_once(8), STORM),
        lone("storm_literature", "night/at-once/literature.sh", at_once(8), STORM),
        lone("storm_agents", "night/agents/1-harm.sh", at_once(2), STORM),
    ];
    lanes.extend(alone("night_in_turns", "gate/two-cpus", &with_packets(in_turns()), &instants(NIGHT, "32")));
    lanes.extend(alone("night_long", "night/long", &in_turns(), NIGHT));
    lanes.extend(alone("night_at_once", "night/at-once", &at_once(4), NIGHT));
    // With fewer CPUs, the CPU time of a thread and the time of an answer depend less on the host.
    lanes.extend(alone("night_agents", "night/agents", &at_once(2), NIGHT));
    lanes
}

/// The lanes with only the scripts that `STORMS` names, if it names any.
pub fn wanted(mut lanes: Vec<Lane>) -> Vec<Lane> {
    let Ok(names) = env::var("STORMS") else { return lanes };
    let is_named = |script: &Script, name: &str| script.name.strip_suffix(".sh") == Some(name);
    for name in names.split_whitespace() {
        let mut scripts = lanes.iter().flat_map(|lane| &lane.scripts);
        assert!(scripts.any(|script| is_named(script, name)), "found no script `{name}`");
    }
    for lane in &mut lanes {
        lane.scripts.retain(|script| names.split_whitespace().any(|name| is_named(script, name)));
    }
    lanes.retain(|lane| !lane.scripts.is_empty());
    lanes
}

/// All scripts of a folder, in order, each with the shell variables that `set` sets.
fn scripts(folder: &str, set: &str) -> Vec<Script> {
    let mut paths: Vec<_> =
        fs::read_dir(here().join(folder)).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| script(path, set)).collect()
}

pub fn script(path: &Path, set: &str) -> Script {
    let mut script = Script::read(path).unwrap();
    set_variables(&mut script, set);
    script
}

/// Variables that the script has before its first line.
fn set_variables(script: &mut Script, set: &str) {
    script.text = script.text.replacen('\n', &format!("\n{set}"), 1);
}

/// A lane of one script.
fn lone(name: &str, path: &str, machine: Machine, set: &str) -> Lane {
    Lane::new(name, machine, vec![script(&here().join(path), set)])
}

/// A lane for each script of a folder.
fn alone(name: &str, folder: &str, machine: &Machine, set: &str) -> Vec<Lane> {
    let of = |script: Script| {
        let name = format!("{name}_{}", script.name.trim_end_matches(".sh"));
        Lane::new(&name, machine.clone(), vec![script])
    };
    scripts(folder, set).into_iter().map(of).collect()
}

/// Instructions take a fixed time, and CPUs take turns.
pub fn exact(cpus: u32, shift: u32) -> Machine {
    Machine { cpus, time: Time::Exact { shift }, limit: HOUR, ..Machine::default() }
}

/// Two CPUs that take turns in exact time, and have fair locks. QEMU has the other CPU go on when one sets a timer, and
/// the kernel does so under a lock: with the lock of virtual CPUs, which is not fair, the other CPU never got it.
fn two_exact() -> Machine {
    with_tickets(exact(2, 2))
}

/// Two CPUs that take turns in the time of the host.
fn in_turns() -> Machine {
    Machine { time: Time::Free(Accel::Tcg), limit: HOUR, ..Machine::default() }
}

/// CPUs that run at once.
fn at_once(cpus: u32) -> Machine {
    Machine { cpus, time: Time::Free(Accel::Parallel), ..in_turns() }
}

/// With threads of the kernel for the work of packets.
fn with_packets(machine: Machine) -> Machine {
    with_option(machine, "thread_backlog_napi")
}

/// The guest's kernel takes its CPUs for real ones, which get locks in the order in which they asked, the hierarchy's
/// lock too. No more CPUs than most hosts have: else the CPU that is next could stand still.
fn with_tickets(machine: Machine) -> Machine {
    with_option(machine, "clearcpuid=hypervisor")
}

/// With an option of the kernel.
fn with_option(machine: Machine, option: &str) -> Machine {
    Machine { append: format!("{} {option}", machine.append), ..machine }
}

/// The instants at which hls is killed.
fn instants(set: &str, preset: &str) -> String {
    format!("{set}INSTANTS={}\n", of_environment("INSTANTS", preset))
}

/// The numbers of threads, and the longest hold that is no failure.
fn herds() -> String {
    let (herds, most_ns) = (of_environment("HERDS", "1000 10000"), of_environment("MOST_NS", "20000"));
    format!("HERDS='{herds}'\nMOST_NS={most_ns}\n")
}

/// What the environment says, or else the preset.
fn of_environment(name: &str, preset: &str) -> String {
    env::var(name).unwrap_or_else(|_| preset.to_owned())
}
