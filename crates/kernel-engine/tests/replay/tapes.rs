//! The sources of tapes: runs of the simulator, and the scripts of `hls-scenario`. All of them check the invariants
//! after every event, so the tapes contain calls of the check, too.

use super::generator::draw;
use hls_core::Call;
use hls_scenario::Trial;
use hls_sim::{Options, Plan, Simulation};
use hls_units::Nanos;
use hls_workload::program::Workload;
use std::fs;
use std::path::Path;

/// The tape of a run of a hierarchy file.
fn run(name: &str, hierarchy: &[u8], workload: &Workload, seed: u64, length: Nanos) -> Vec<Call> {
    let (hierarchy, _) = hls_hierarchy::read(hierarchy).unwrap_or_else(|errors| panic!("{name}: {errors:?}"));
    let plan = Plan::new(hierarchy, workload).unwrap_or_else(|errors| panic!("{name}: {errors:?}"));
    let options = Options { seed, paranoid: true, tape: true, ..Options::default() };
    let mut simulation = Simulation::new(plan, options).unwrap_or_else(|failure| panic!("{name}: {failure}"));
    simulation.run_until(length, &mut |_| ()).unwrap_or_else(|failure| panic!("{name}: {failure}"));
    simulation.end(&mut |_| ());
    simulation.take_tape()
}

fn workload(name: &str, json: &[u8]) -> Workload {
    hls_workload::read_rt_app(name, json).unwrap_or_else(|errors| panic!("{name}: {errors:?}"))
}

/// A tape of each example, with its name; a workload of rt-app lies beside it under the same name.
pub fn examples() -> Vec<(String, Vec<Call>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "kdl"));
    let tape = |file: &Path| {
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let json = fs::read(file.with_extension("json")).ok();
        let workload = json.map(|json| workload(&name, &json)).unwrap_or_default();
        let tape = run(&name, &fs::read(file).unwrap(), &workload, 1, Nanos::from_secs(2));
        (name, tape)
    };
    files.iter().map(|file| tape(file)).collect()
}

/// A tape of a hierarchy and a workload drawn from a seed.
pub fn drawn(seed: u64) -> Vec<Call> {
    let (name, drawn) = (format!("seed {seed}"), draw(seed));
    let workload = drawn.workload.map(|json| workload(&name, json.as_bytes())).unwrap_or_default();
    run(&name, drawn.hierarchy.as_bytes(), &workload, seed, Nanos::from_millis(200))
}

/// A tape of a random script.
pub fn scenario(seed: u64) -> Vec<Call> {
    Trial::of_built_in().run(seed).unwrap_or_else(|finding| panic!("seed {seed}: {finding}"))
}
