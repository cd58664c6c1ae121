//! Schedulers with a process as their policy: what their agents bring about, and what they cannot.

use super::support::{Run, carry_out, ms, on_cpu_0, paranoid, plan, run, us};
use hls_core::Core;
use hls_core::pages::{Knows, UserPage, decision};
use hls_monitor::result::Decided;
use hls_sim::Simulation;
use hls_sim::agent::{Agent, Seen, Then};
use hls_units::Nanos;
use hls_workload::program::Workload;

/// Two threads below a scheduler with an agent of this kind, on one CPU; `b` is the more urgent one.
fn with_agent(agent: &str, length: Nanos) -> Run {
    run(
        &format!(
            r#"user-level "U" allowance="1ms" every="10ms" {{
                thread "agent" slot=0 {{ agent {agent} }}
                thread "a" urgency=1 {{ bursty run="2ms" sleep="3ms" }}
                thread "b" urgency=2 {{ bursty run="1ms" sleep="4ms" }}
            }}"#
        ),
        length,
    )
}

fn decided(run: &Run, scheduler: &str) -> Decided {
    run.scheduler(scheduler).decided.expect("a process decides")
}

/// At 0 the agent has its first turn, of 100 us, and then `b` is first. Each wake-up and each sleep is another turn.
#[test]
fn an_agent_decides() {
    let run = with_agent(r#"by="fixed-priority" cost="100us""#, ms(5));
    let stints =
        |name: &str| run.stints(name).into_iter().map(|(_, from, to)| (from, to)).collect::<Vec<_>>();
    assert_eq!(stints("agent"), [(us(0), us(100)), (us(1100), us(1200)), (us(3200), us(3300))]);
    assert_eq!(stints("b"), [(us(100), us(1100))]);
    assert_eq!(stints("a"), [(us(1200), us(3200))]);
    let Decided { followed, stale, by_urgency, by_agent, agent_ran } = decided(&run, "U");
    assert_eq!((followed, stale, by_urgency, by_agent, agent_ran), (2, 0, 0, 3, us(300)));
}

/// The decisions know one event too little: they are counted, and urgencies choose.
#[test]
fn stale_decisions_are_not_followed() {
    let run = with_agent(r#"by="stale" behind=1 cost="100us""#, ms(5));
    let Decided { followed, stale, by_urgency, by_agent, .. } = decided(&run, "U");
    assert_eq!((followed, stale, by_urgency, by_agent), (0, 2, 2, 3));
    assert_eq!(run.stints("b").len(), 1);
}

/// Two hogs have turns of 2 ms, each with an event, about which the agent is asked: after 2 ms each it has 100 us.
#[test]
fn an_agent_gives_turns() {
    let hierarchy = r#"
        user-level "U" {
            thread "agent" slot=0 { agent by="round-robin" slice="2ms" cost="100us" }
            thread "a" urgency=1
            thread "b" urgency=2
        }"#;
    let run = run(hierarchy, us(4 * 2100 + 100));
    let begins = |name: &str| run.stints(name).into_iter().map(|(_, from, _)| from).collect::<Vec<_>>();
    assert_eq!(begins("a"), [us(100), us(4300)]);
    assert_eq!(begins("b"), [us(2200), us(6400)]);
    assert_eq!((run.thread("a").ran, run.thread("b").ran, run.thread("agent").ran), (ms(4), ms(4), us(500)));
}

/// What an agent that does its worst leaves to the threads of its scheduler: it has its allowance and no more.
#[test]
fn a_hostile_agent_has_its_allowance() {
    for (agent, least, most) in [
        (r#"by="loops" cost="10us""#, ms(10), ms(10)),
        (r#"by="storms" cost="1us""#, ms(1), ms(10)),
        (r#"by="dead" cost="10us""#, us(10), us(10)),
        (r#"by="fixed-priority" cost="5ms""#, ms(9), ms(10)),
        (r#"by="garbage" cost="1us..50us""#, us(1), ms(10)),
    ] {
        let hierarchy = format!(
            r#"fixed-priority "F" {{
                thread "neighbour" priority=1
                user-level "U" priority=2 allowance="1ms" every="10ms" {{
                    thread "agent" slot=0 {{ agent {agent} }}
                    thread "mine" {{ bursty run="4ms" sleep="6ms" }}
                }}
            }}"#
        );
        let run = run(&hierarchy, ms(100));
        let ran = run.thread("agent").ran;
        assert!((least..=most).contains(&ran), "{agent}: {ran}");
        assert!(run.thread("neighbour").ran >= ms(100 - 10 - 40), "{agent}");
        assert!(run.thread("mine").ran >= ms(20) || agent.contains("garbage"), "{agent}");
    }
}

/// A storm of turns of a microsecond is charged five times as much.
#[test]
fn a_storm_costs_its_agent() {
    let run = with_agent(r#"by="storms" cost="1us""#, ms(10));
    assert_eq!(run.thread("agent").ran, us(200));
}

/// `b` comes at 700 us, and the agent is asked; `c` comes while it thinks. It has not answered that when it yields at
/// 1200 us, and goes on.
#[test]
fn what_happens_while_an_agent_thinks_is_not_known_to_it() {
    let hierarchy = r#"
        user-level "U" allowance="5ms" {
            thread "agent" slot=0 { agent by="fixed-priority" cost="500us" }
            thread "a" urgency=2
            thread "b" urgency=1 arrive="700us"
            thread "c" urgency=1 arrive="900us"
        }"#;
    let run = run(hierarchy, us(3_000));
    assert_eq!(run.stints("agent"), [(0, us(0), us(500)), (0, us(700), us(1_700))]);
    assert_eq!(run.stints("a"), [(0, us(500), us(700)), (0, us(1_700), us(3_000))]);
    // Before it was asked for the first time, the agent was told nothing.
    let run = self::run(&hierarchy.replace("700us", "200us"), us(600));
    assert_eq!(run.stints("agent"), [(0, us(0), us(500))]);
    let Decided { followed, stale, by_urgency, by_agent, .. } = decided(&run, "U");
    assert_eq!((followed, stale, by_urgency, by_agent), (0, 1, 1, 1));
}

/// The children of a sealed scheduler are scheduled by their urgencies, whatever the agent writes.
#[test]
fn a_sealed_scheduler_follows_nobody() {
    let hierarchy = |by: &str| {
        format!(
            r#"user-level "U" sealed=1 allowance="1ms" every="10ms" {{
                thread "agent" slot=0 {{ agent by="{by}" cost="1us..50us" }}
                thread "a" urgency=1
                thread "b" urgency=2 {{ bursty run="1ms" sleep="1ms" }}
            }}"#
        )
    };
    for seed in 0..20 {
        let plan = plan(&hierarchy("garbage"), &Workload::default()).unwrap();
        let run = carry_out(plan, Vec::new(), ms(50), paranoid(seed)).unwrap();
        let decided = decided(&run, "U");
        assert_eq!((decided.followed, decided.stale), (0, 0));
        let waits = run.thread("b").wake_latency.worst;
        assert!(waits <= ms(2), "an allowance at the end of a period, and one at the start: {waits}");
    }
}

/// On two CPUs each child that wants one has one, and decisions for one CPU are not spoilt by events on the other.
#[test]
fn several_cpus_are_decided_for() {
    let hierarchy = r#"
        machine cpus=3
        user-level "U" {
            thread "agent" slot=0 { agent by="fixed-priority" cost="10us" }
            thread "t" urgency=5 instances=6 { bursty run="1ms..2ms" sleep="100us..900us" }
        }"#;
    let run = run(hierarchy, ms(200));
    let Decided { followed, stale, .. } = decided(&run, "U");
    assert!(followed > 100 && stale < followed, "{followed} followed, {stale} stale");
    assert!(run.result.idle < ms(60), "{} idle", run.result.idle);
}

/// Below a scheduler of a process there may be another one, with an agent that is a child of the lower one only.
#[test]
fn processes_schedule_below_processes() {
    let hierarchy = r#"
        user-level "outer" {
            thread "outer agent" slot=0 { agent by="fixed-priority" cost="10us" }
            user-level "inner" urgency=1 {
                thread "inner agent" slot=0 { agent by="round-robin" slice="1ms" cost="10us" }
                thread "a"
                thread "b"
            }
            thread "high" urgency=2 { bursty run="1ms" sleep="1ms" }
        }"#;
    let run = run(hierarchy, ms(100));
    assert_eq!(run.thread("high").wake_latency.worst, us(10));
    let (a, b) = (run.thread("a").ran, run.thread("b").ran);
    assert!(a > ms(20) && b > ms(20), "{a}, {b}");
    assert!(decided(&run, "inner").followed > 30 && decided(&run, "outer").followed > 90);
}

/// The agent that a program brings along: it names the child in slot 2, always.
struct Second;

impl Agent for Second {
    fn turn(&mut self, seen: &Seen, user: &mut UserPage) -> Then {
        assert_eq!((seen.now, seen.kernel.version, seen.kernel.cpus), (Nanos::ZERO, 1, 0b1));
        assert_eq!([1, 2].map(|slot| seen.kernel.slot[slot].child), [3, 4], "by the numbers of their VPs");
        user.next[0] = decision(seen.kernel.events, Knows::All, 2);
        Then::Park
    }
}

#[test]
fn a_program_may_bring_its_agent() {
    let hierarchy = r#"
        user-level "U" {
            thread "agent" slot=0 { agent by="dead" cost="1ms" }
            thread "a" urgency=9
            thread "b"
        }"#;
    let plan = plan(hierarchy, &Workload::default()).unwrap();
    let vps: Vec<_> = plan.threads().map(|thread| thread.vp).collect();
    let options = hls_sim::Options { tape: true, ..paranoid(0) };
    let mut simulation = Simulation::new(plan, options).unwrap();
    simulation.set_agent(vps[0], Box::new(Second));
    let mut granted = Vec::new();
    let mut sink = |record: &hls_monitor::event::Record| {
        if record.what == hls_monitor::event::What::Grant && record.vp != vps[0] {
            granted.push((record.at, record.vp));
        }
    };
    simulation.run_until(ms(5), &mut sink).unwrap();
    assert_eq!(granted[1..], [(ms(1), vps[2])], "after the root");
    // What it wrote is on the tape, so that a core without agents does the same.
    let tape = simulation.take_tape();
    let (mut played, mut again) = (tape.clone(), Core::new());
    again.play(&mut played).unwrap();
    assert!(played == tape);
}

#[test]
fn an_agent_without_its_program_is_refused() {
    let hierarchy = r#"user-level "U" { thread "agent" slot=0 { agent by="./edf.so" cost="3us" } }"#;
    let plan = plan(hierarchy, &Workload::default()).unwrap();
    let refused = carry_out(plan, Vec::new(), ms(1), paranoid(0)).err().unwrap();
    assert!(refused.to_string().starts_with("the program of an agent was not opened"), "{refused}");
}

/// A sealed scheduler below a reservation, with an agent that loops: the stint at the beginning is the agent's.
#[test]
fn the_agent_comes_first() {
    let hierarchy = r#"
        user-level "U" sealed=1 allowance="2ms" every="10ms" {
            thread "agent" slot=0 { agent by="loops" cost="1ms" }
            thread "a" urgency=1
        }"#;
    let run = run(hierarchy, ms(20));
    assert_eq!(run.stints("agent"), on_cpu_0(&[(0, 2), (10, 12)]));
    assert_eq!(run.stints("a"), on_cpu_0(&[(2, 10), (12, 20)]));
}
