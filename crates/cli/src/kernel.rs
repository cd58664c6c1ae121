//! A run in the kernel: attaches the hierarchy, listens to it, and detaches it whatever happens.

use crate::alarm::Alarm;
use crate::args::RunArgs;
use crate::exit::{Error, say};
use crate::listeners::Listeners;
use hls_kernel::{Engine, Notice};
use hls_plan::Plan;
use hls_record::observe::Promise;
use hls_record::result::RunResult;
use hls_units::Nanos;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

/// How often the engine is listened to: its ring of records must not overflow in between.
const PAUSE: Duration = Duration::from_millis(10);
/// A thread that waits is said to be starved this much later. Time that is being stolen from it is told when its CPU
/// decides again or a slice is over, and the kernel lets nobody hold a CPU for longer without a pause.
const PATIENCE: Nanos = Nanos::from_secs(1);

/// Has the plan schedule this machine for `length`, or until Ctrl-C, and writes the files that are asked for.
pub fn schedule(
    args: &RunArgs,
    plan: Plan,
    promises: Vec<Promise>,
    length: Option<Nanos>,
) -> Result<RunResult, Error> {
    let topology = plan.topology.clone();
    let names: Vec<String> = plan.hierarchy.threads.iter().map(|thread| thread.name.clone()).collect();
    let mut listeners = Listeners::new(args, &topology, promises)?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, stop.clone())?;
    }
    let mut engine = Engine::new(plan).map_err(failed)?;
    engine.attach().map_err(failed)?;
    engine.begin().map_err(failed)?;
    let mut alarm = Alarm::default();
    let end = loop {
        // All records up to now are there when the engine is asked after it.
        let now = engine.now().map_err(failed)?;
        let notices = engine.poll(&mut |record| listeners.hear(record)).map_err(failed)?;
        notices.iter().for_each(|notice| tell(notice, &names));
        if notices.contains(&Notice::Lost) {
            listeners.observer.lose(now);
        }
        listeners.observer.advance(now.saturating_sub(PATIENCE));
        alarm.raise(&mut listeners.observer, now);
        listeners.check()?;
        if args.paranoid {
            engine.check().map_err(failed)?;
        }
        if stop.load(Ordering::Relaxed) || length.is_some_and(|length| now >= length) {
            break now;
        }
        let left = length.map_or(PAUSE, |length| Duration::from_nanos((length - now).0));
        sleep(PAUSE.min(left));
    };
    alarm.end();
    listeners.finish(end, |result| engine.complete(result).map_err(failed))
}

/// Where the user or the machine could help, `hls doctor` says how.
fn failed(error: hls_kernel::Error) -> Error {
    match error {
        hls_kernel::Error::NotAllowed(_) => {
            Error::System(format!("{error}\nhls doctor says what this takes"))
        }
        _ => Error::System(error.to_string()),
    }
}

fn tell(notice: &Notice, names: &[String]) {
    match notice {
        Notice::Conflict { tid, nodes } => say(format_args!(
            "note: thread {tid} fits both `{}` and `{}`; it stays in the default scheduler",
            names[nodes.0], names[nodes.1]
        )),
        Notice::Full { tid, node } => say(format_args!(
            "note: all instances of `{}` are taken; thread {tid} waits for one in the default scheduler",
            names[*node]
        )),
        Notice::NoRoom { tgid } => {
            say(format_args!("note: process {tgid} was refused a further thread: the hierarchy is full"));
        }
        Notice::Lost => say("note: records were lost; what is reported is not all of the run"),
    }
}
