//! Agents of schedulers with a process as their policy: played by the simulator, refused where threads are real.

use super::outcome::{assert_refused, hls};
use std::fs;
use std::path::Path;
use std::process::Command;

/// A file with this agent, in a folder of its own.
fn file(folder: &Path, by: &str) -> String {
    let path = folder.join("agents.kdl");
    let text = format!(
        r#"machine cpus=1
user-level "U" {{
    thread "agent" slot=0 {{ agent by="{by}" cost="10us" }}
    thread "late" slot=1
    thread "soon" slot=2 {{ bursty run="1ms" sleep="3ms" }}
}}
"#
    );
    fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn real_threads_play_no_agents() {
    let folder = tempfile::tempdir().unwrap();
    let file = file(folder.path(), "fixed-priority");
    let refused = "agents.kdl:3:5: error: thread `agent`: found an agent for real threads, expected another \
                   workload, or none: only the simulator plays agents";
    assert_refused(&["baseline", &file, "--for", "10ms"], &[refused]);
}

#[test]
fn an_agent_that_is_not_there_is_refused_by_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let file = file(folder.path(), "./none.so");
    let place = "agents.kdl:3:5: error: thread `agent`: found the agent `./none.so` (";
    let expected =
        "), expected a shared object that exports hls_agent_turn, by its path from this file's folder";
    assert_refused(&["run", &file, "--for", "10ms"], &[place, expected]);
    fs::write(folder.path().join("none.so"), "no object").unwrap();
    // The dynamic linker says why.
    assert_refused(&["run", &file, "--for", "10ms"], &[place, "none.so: ", expected]);
    // A check opens nothing.
    assert_eq!(hls(&["check", &file]).code, Some(0));
}

/// A program of the examples decides: the earliest deadline first. The settings say how far off the deadlines are.
#[test]
fn a_program_decides() {
    let folder = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let compiled = Command::new("cc")
        .args(["-O2", "-fPIC", "-shared", "-Iinclude", "-o"])
        .args([folder.path().join("edf.so"), "examples/user-level/edf.c".into()])
        .current_dir(root)
        .status()
        .unwrap();
    assert!(compiled.success());
    let file = file(folder.path(), "./edf.so");
    let run = |settings: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_hls"))
            .args(["run", &file, "--for", "100ms", "--json"])
            .env("HLS_SETTINGS", settings)
            .output()
            .unwrap();
        serde_json::from_slice::<serde_json::Value>(&output.stdout).unwrap()
    };
    let latency = |run: &serde_json::Value| run["threads"][2]["wake_latency"]["worst_ns"].as_u64().unwrap();
    let soon_first = run("1=10s 2=10ms");
    // `soon` waits for nothing but the turns of the agent, of 10 us each.
    assert!(latency(&soon_first) <= 20_000, "{soon_first}");
    assert!(soon_first["schedulers"][0]["decided"]["followed"].as_u64().unwrap() > 40, "{soon_first}");
    // The deadline of the thread that never sleeps stays where it is.
    let late_first = run("1=10ms 2=500ms");
    assert_eq!(late_first["threads"][2]["ran_ns"], 0, "{late_first}");
}
