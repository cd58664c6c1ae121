//! `hls policy test`: tries a policy in random hierarchies, in the native core, and then in the kernel's build.
//!
//! A policy is code that may do anything; it may crash, or never return. So a policy is tried in a process of its own,
//! which writes on its standard output how far it has come: `seed N` before each seed, and a finding after the last.

use crate::exit::{Error, Verdict};
use crate::output::output;
use crate::policy_file::{read, refused};
use hls_core::Library;
use hls_policy_build::{NUMBERS, PolicyFile, Target};
use hls_scenario::{Event, EventInWords, Stage, Trial};
use hls_session::worker::cpu_time;
use hls_session::{builder, describe, in_memory, may_run};
use hls_units::Nanos;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// Arguments of the process in which a policy is tried.
#[derive(clap::Args)]
pub struct TryPolicyArgs {
    /// The policy's native build.
    pub native: PathBuf,
    /// The first seed.
    pub from: u64,
    /// How many seeds are tried.
    pub seeds: u64,
    /// Print each event before it happens.
    #[arg(long)]
    pub print_events: bool,
    /// Let this BPF build decide what happens, too, and compare the decisions.
    #[arg(long)]
    pub replay: Option<PathBuf>,
}

/// A process that computes for this long and says nothing is in a hook that never returns: a seed takes milliseconds,
/// and one event, where each is printed, less. In CPU time, because a busy machine may leave the process none.
const SILENCE: Duration = Duration::from_secs(2);
const SILENCE_OF_AN_EVENT: Duration = Duration::from_secs(1);

/// How often the CPU time of a silent process is looked at, and how long the process may wait without computing, or be
/// silent before its first seed, while the kernel verifies the BPF build.
const LOOK: Duration = Duration::from_millis(50);
const WAIT: Duration = Duration::from_secs(120);

/// The beginning of the line in which the process gives the address of the number of the hook that it called last.
const HOOK_AT: &str = "hook at ";

/// How many seeds are run with the BPF build, too. A seed takes longer there than natively, and more seeds find
/// nothing more.
#[cfg(feature = "kernel")]
const REPLAYED: u64 = 30;

/// The exit code of a process that has found a defect.
const FOUND: i32 = 1;

/// Tries a policy, and prints the outcome.
pub fn test(file: &Path, name: Option<&str>, from: u64, seeds: u64) -> Result<Verdict, Error> {
    let policy = read(file, None)?;
    may_run(policy.path(), policy.text())?;
    let policy = name.map_or(Ok(policy.clone()), |name| policy.renamed(name)).map_err(refused)?;
    let policies = [(*NUMBERS.start(), policy)];
    let again = |seed| {
        let name = name.map(|name| format!(" --as {name}")).unwrap_or_default();
        format!("again: hls policy test {}{name} --from {seed} --seeds 1", file.display())
    };
    let begin = Instant::now();
    describe(&builder(), &policies).map_err(refused)?;
    let native = builder().build(Target::Native, &policies).map_err(refused)?;
    let (_file, native) = in_memory(&native.bytes)?;
    say("build", begin, "for the simulator")?;

    let begin = Instant::now();
    let trying = Process { native: native.clone(), from, seeds, print_events: false, replay: None };
    match trying.watch()? {
        Ended::Well => say("trial", begin, &format!("{seeds} hierarchies: nothing found"))?,
        Ended::Found { seed, text } => {
            say("trial", begin, &format!("seed {seed}: {text}{}", again(seed)))?;
            return Ok(Verdict::Violated);
        }
        Ended::Badly { seed, how, .. } => {
            let repeated = Process { from: seed, seeds: 1, print_events: true, ..trying }.watch()?;
            let found = match repeated {
                Ended::Badly { how, last, .. } => format!("{how}, when {last}"),
                _ => format!("{how}, and does not do so again"),
            };
            say("trial", begin, &format!("seed {seed}: {found}\n{}", again(seed)))?;
            return Ok(Verdict::Violated);
        }
    }
    in_the_kernel(&policies, &native, from, seeds, &again)
}

/// Builds the policy as BPF: whether the verifier accepts it, and whether it decides as the native build does.
#[cfg(feature = "kernel")]
fn in_the_kernel(
    policies: &[(u8, PolicyFile)],
    native: &Path,
    from: u64,
    seeds: u64,
    again: &dyn Fn(u64) -> String,
) -> Result<Verdict, Error> {
    use hls_kernel_engine::{Error as KernelError, Refusal, Replay, SharedMaps, Verified};
    let not_taken = |Refusal { what, log, .. }: Refusal| {
        refused(hls_policy_build::verifier_error(&format!("{log}\n{what}"), policies))
    };
    let begin = Instant::now();
    let object = builder().build(Target::Replay, policies).map_err(refused)?.bytes;
    match Replay::of(&object) {
        Err(KernelError::NotAllowed(why)) => {
            say("BPF", begin, &format!("built; not tried: {why}"))?;
            say("verifier", begin, "not asked, for the same reason")?;
            return Ok(Verdict::Kept);
        }
        Err(KernelError::Refused(refusal)) => return Err(not_taken(refusal)),
        Err(error) => return Err(Error::System(error.to_string())),
        Ok(_) => {}
    }
    let (_file, object) = in_memory(&object)?;
    let seeds = seeds.min(REPLAYED);
    let trying = Process { native: native.into(), from, seeds, print_events: false, replay: Some(object) };
    match trying.watch()? {
        Ended::Well => say("BPF", begin, &format!("{seeds} hierarchies: decisions as in the native build"))?,
        Ended::Found { seed, text } => {
            say("BPF", begin, &format!("seed {seed}: {text}{}", again(seed)))?;
            return Ok(Verdict::Violated);
        }
        Ended::Badly { how, .. } => return Err(Error::System(format!("the comparison with BPF: {how}"))),
    }
    let begin = Instant::now();
    let engine = builder().build(Target::Engine, policies).map_err(refused)?;
    if !Path::new("/sys/kernel/sched_ext").exists() {
        say(
            "verifier",
            begin,
            "accepts the core; the engine was built, not loaded: this kernel has no sched_ext",
        )?;
        return Ok(Verdict::Kept);
    }
    Verified::load(&SharedMaps::default(), &engine.bytes).map_err(not_taken)?;
    say("verifier", begin, "accepts the engine")?;
    Ok(Verdict::Kept)
}

#[cfg(not(feature = "kernel"))]
fn in_the_kernel(
    policies: &[(u8, PolicyFile)],
    _: &Path,
    _: u64,
    _: u64,
    _: &dyn Fn(u64) -> String,
) -> Result<Verdict, Error> {
    let begin = Instant::now();
    builder().build(Target::Engine, policies).map_err(refused)?;
    say("BPF", begin, "built; not tried: this hls was built without the kernel engine")?;
    Ok(Verdict::Kept)
}

fn say(part: &str, begin: Instant, what: &str) -> Result<(), Error> {
    let mut out = output();
    writeln!(out, "{part:<9}  {:>5.1} s  {what}", begin.elapsed().as_secs_f64())?;
    Ok(out.flush()?)
}

/// A process in which a policy is tried.
struct Process {
    native: PathBuf,
    from: u64,
    seeds: u64,
    print_events: bool,
    replay: Option<PathBuf>,
}

/// How the process ended.
enum Ended {
    Well,
    /// The process has found a defect: what it says about the defect.
    Found {
        seed: u64,
        text: String,
    },
    /// The process crashed, or was ended because it wrote nothing for too long.
    Badly {
        seed: u64,
        how: String,
        last: String,
    },
}

impl Process {
    fn watch(&self) -> Result<Ended, Error> {
        let mut command = Command::new("/proc/self/exe");
        command.arg0("hls").arg("try-policy").arg(&self.native);
        command.args([self.from.to_string(), self.seeds.to_string()]);
        command
            .args(self.print_events.then_some("--print-events"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        if let Some(replay) = &self.replay {
            command.arg("--replay").arg(replay);
        }
        let mut child = Ending(command.spawn()?);
        let lines = child.0.stdout.take().map(lines).ok_or(io::Error::from(io::ErrorKind::BrokenPipe))?;
        let silence = if self.print_events { SILENCE_OF_AN_EVENT } else { SILENCE };
        let number = |line: &str, prefix| line.strip_prefix(prefix).and_then(|number| number.parse().ok());
        let (mut seed, mut text, mut last, mut hook_at) = (self.from, String::new(), String::new(), None);
        let (mut silent, mut longest) = (Silence::begin(&child.0), WAIT);
        loop {
            match lines.recv_timeout(LOOK) {
                Ok(line) => {
                    (silent, longest) = (Silence::begin(&child.0), silence);
                    match (number(&line, "seed "), number(&line, HOOK_AT)) {
                        (Some(number), _) => seed = number,
                        (_, Some(at)) => hook_at = Some(at),
                        _ => {
                            text += &format!("{line}\n");
                            last = line;
                        }
                    }
                }
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) if !silent.is_over(&child.0, longest) => {}
                Err(RecvTimeoutError::Timeout) => {
                    let hook = hook_at.and_then(|at| hook_of(&child.0, at).ok());
                    let which = hook.map_or("a hook".into(), |hook| format!("its {hook} hook"));
                    let how = format!("{which} did not return within {} s of CPU time", longest.as_secs());
                    return Ok(Ended::Badly { seed, how, last });
                }
            }
        }
        let status = child.0.wait()?;
        Ok(match status.code() {
            Some(0) => Ended::Well,
            Some(code) if code == FOUND => Ended::Found { seed, text },
            Some(_) => return Err(Error::System(text.trim().to_owned())),
            None => Ended::Badly { seed, how: format!("the policy crashed ({status})"), last },
        })
    }
}

/// A time in which a process says nothing.
struct Silence {
    begin: Instant,
    cpu_time: Duration,
}

impl Silence {
    fn begin(process: &Child) -> Silence {
        Silence { begin: Instant::now(), cpu_time: cpu_time(process) }
    }

    /// Whether the process has computed for `longest`, or waited for [`WAIT`].
    fn is_over(&self, process: &Child, longest: Duration) -> bool {
        cpu_time(process).saturating_sub(self.cpu_time) >= longest || self.begin.elapsed() >= WAIT
    }
}

/// The hook in which a process is caught, by the number at address `at` in the memory of the process.
fn hook_of(process: &Child, at: u64) -> io::Result<&'static str> {
    let mut number = [0; 4];
    File::open(format!("/proc/{}/mem", process.id()))?.read_exact_at(&mut number, at)?;
    Ok(hls_core::hook(u32::from_ne_bytes(number).into()))
}

/// The lines that a process writes, as they come.
fn lines(from: ChildStdout) -> Receiver<String> {
    let (to, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            if to.send(line).is_err() {
                break;
            }
        }
    });
    lines
}

/// A process that is ended when this value is dropped.
struct Ending(Child);

impl Drop for Ending {
    fn drop(&mut self) {
        // Both calls fail only for a process that has ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The process in which a policy is tried.
pub fn serve(args: &TryPolicyArgs) -> Result<Verdict, Error> {
    let library = Library::open(&args.native).map_err(|error| Error::System(error.to_string()))?;
    let trial = Trial::of_loaded(Arc::new(library), *NUMBERS.start());
    let mut replay = args.replay.as_deref().map(Replaying::new).transpose()?;
    for seed in args.from..args.from.saturating_add(args.seeds) {
        print_line(&format!("seed {seed}"))?;
        if args.print_events {
            print_events(&trial, seed)?;
            continue;
        }
        let tape = match trial.run(seed) {
            Ok(tape) => tape,
            Err(finding) => {
                print_line(&format!("after {} events: {}", finding.after, finding.to_string().trim_end()))?;
                return Ok(Verdict::Violated);
            }
        };
        if let Some(difference) = replay.as_mut().and_then(|replay| replay.difference(&trial, &tape)) {
            print_line(&difference)?;
            return Ok(Verdict::Violated);
        }
    }
    Ok(Verdict::Kept)
}

/// Prints a line at once: the next moment may be the last.
fn print_line(line: &str) -> Result<(), Error> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}

fn print_events(trial: &Trial, seed: u64) -> Result<(), Error> {
    let script = trial.script(seed);
    let mut stage = Stage::new(script.cpus, trial.library().cloned());
    print_line(&format!("{HOOK_AT}{}", stage.machine.core.hook_at().addr()))?;
    for event in script.events.iter().chain([&Event::Pass(Nanos(0))]) {
        print_line(&EventInWords(event, trial.policies()).to_string())?;
        if stage.perform(event).is_err() {
            break;
        }
    }
    Ok(())
}

/// The BPF build, to be compared with the native one.
#[cfg(feature = "kernel")]
struct Replaying(hls_kernel_engine::Replay);

#[cfg(feature = "kernel")]
impl Replaying {
    fn new(object: &Path) -> Result<Replaying, Error> {
        let object = std::fs::read(object)?;
        hls_kernel_engine::Replay::of(&object)
            .map(Replaying)
            .map_err(|error| Error::System(error.to_string()))
    }

    /// Where the answers of the two builds differ.
    fn difference(&mut self, trial: &Trial, tape: &[hls_core::Call]) -> Option<String> {
        use hls_core::{Call, Core};
        let mut native = Core::new();
        native.set_library(trial.library().cloned());
        let (mut again, mut played) = (tape.to_vec(), tape.to_vec());
        played.iter_mut().for_each(|call| call.result = 0);
        self.0.clear();
        if let Err(error) = native.play(&mut again) {
            return Some(error.to_string());
        }
        if let Err(error) = self.0.play(&mut played) {
            return Some(error.to_string());
        }
        let parts = |one: &[Call]| one.iter().zip(tape).position(|(one, other)| one != other);
        if let Some(at) = parts(&again) {
            return Some(format!(
                "the policy does not repeat itself: call {at}, {}, then {}",
                tape[at], again[at]
            ));
        }
        if let Some(at) = parts(&played) {
            return Some(format!("call {at} of the core: natively {}, in BPF {}", tape[at], played[at]));
        }
        let same = self.0.memory() == native.memory();
        (!same).then(|| "all answers are the same, and the memory that the core leaves behind is not".into())
    }
}

#[cfg(not(feature = "kernel"))]
struct Replaying;

#[cfg(not(feature = "kernel"))]
impl Replaying {
    fn new(_: &Path) -> Result<Replaying, Error> {
        Err(Error::System("this hls was built without the kernel engine".into()))
    }

    fn difference(&mut self, _: &Trial, _: &[hls_core::Call]) -> Option<String> {
        None
    }
}
