//! Runs cases, two beside each other, and says at the end which passed, failed or had no verdict, and how long each
//! script took.
//!
//! Exit status: 0 all passed, 101 a case failed, 75 (`EX_TEMPFAIL`: try again later) none failed, one had no verdict.
//! Relies on `libtest_mimic` for the arguments that all tests have; it knows two results, so a case without a verdict
//! counts there as failed. What a case prints is shown at once: others may still take half an hour.
//!
//! `PASSED=FILE` names a file to which each case that passes is added. Cases that are in the file are left out: so a
//! long run that was interrupted goes on.

use hls_vm::{Outcome, ScriptOutcome, Verdict};
use libtest_mimic::{Arguments, Failed, Trial};
use std::env;
use std::fs::{self, File};
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many cases run beside each other: a guest with exact time has one thread of the host.
const BESIDE_EACH_OTHER: usize = 2;
const FAILED: u8 = 101;
const NO_VERDICT: u8 = 75;

/// Something to test.
pub struct Case {
    name: String,
    body: Box<dyn FnOnce() -> Report + Send>,
}

/// The outcome of a case.
pub struct Report {
    verdict: Verdict,
    scripts: Vec<ScriptOutcome>,
}

impl Case {
    pub fn new(name: &str, body: impl FnOnce() -> Report + Send + 'static) -> Case {
        Case { name: name.to_owned(), body: Box::new(body) }
    }
}

impl From<Verdict> for Report {
    fn from(verdict: Verdict) -> Report {
        Report { verdict, scripts: Vec::new() }
    }
}

impl Report {
    /// Shows what the scripts said, and where something is wrong the log of the guest's kernel.
    pub fn of(outcome: Outcome) -> Report {
        let verdict = outcome.verdict();
        for script in &outcome.scripts {
            say(&format!("== {} ({:?})\n{}\n", script.name, script.status, script.output));
        }
        if verdict != Verdict::Held {
            say(&format!("== the guest's kernel\n{}\n", outcome.kernel_log));
        }
        Report { verdict, scripts: outcome.scripts }
    }
}

/// What the cases leave for the summary.
#[derive(Default)]
struct Record {
    without_verdict: usize,
    /// The scripts, each with the name of its case.
    scripts: Vec<(String, ScriptOutcome)>,
    /// The file to which the names of cases that pass are added.
    passed: Option<File>,
}

/// Runs the cases that the arguments ask for. A case without `gate_` at the beginning of its name is ignored, except
/// with `--ignored` and `--include-ignored`.
pub fn run(mut arguments: Arguments, mut cases: Vec<Case>) -> ExitCode {
    arguments.test_threads.get_or_insert(BESIDE_EACH_OTHER);
    let mut passed = None;
    if let Some(path) = env::var_os("PASSED") {
        passed = Some(File::options().create(true).append(true).open(&path).unwrap());
        let before = fs::read_to_string(&path).unwrap();
        cases.retain(|case| !before.lines().any(|name| name == case.name));
    }
    let record = Arc::new(Mutex::new(Record { passed, ..Record::default() }));
    let trials = cases.into_iter().map(|case| trial(case, &record)).collect();
    let conclusion = libtest_mimic::run(&arguments, trials);
    if arguments.list {
        return ExitCode::SUCCESS;
    }
    let record = of(&record);
    say(&times(&record.scripts));
    let (passed, without) = (conclusion.num_passed, record.without_verdict);
    let failed = conclusion.num_failed - without as u64;
    say(&format!("kernel tests: {passed} passed, {failed} failed, {without} had no verdict\n"));
    match (failed, without) {
        (0, 0) => ExitCode::SUCCESS,
        (0, _) => ExitCode::from(NO_VERDICT),
        (_, _) => ExitCode::from(FAILED),
    }
}

fn trial(case: Case, record: &Arc<Mutex<Record>>) -> Trial {
    let (record, name) = (Arc::clone(record), case.name.clone());
    let is_ignored = !case.name.starts_with("gate_");
    let body = move || {
        let Report { verdict, scripts } = (case.body)();
        let mut record = of(&record);
        record.scripts.extend(scripts.into_iter().map(|script| (name.clone(), script)));
        match verdict {
            Verdict::Held => {
                if let Some(passed) = &mut record.passed {
                    writeln!(passed, "{name}").unwrap();
                }
                Ok(())
            }
            Verdict::Failed(why) => Err(Failed::from(why)),
            Verdict::NoVerdict(why) => {
                record.without_verdict += 1;
                Err(Failed::from(format!("no verdict: {why}")))
            }
        }
    };
    Trial::test(case.name, body).with_ignored_flag(is_ignored)
}

/// A case that panics leaves nothing half done in the record.
fn of(record: &Mutex<Record>) -> MutexGuard<'_, Record> {
    record.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A table of how long each script took: in seconds of the host, and of its guest.
fn times(scripts: &[(String, ScriptOutcome)]) -> String {
    let line = |(case, script): &(String, ScriptOutcome)| {
        let guest = script.guest.map_or("-".into(), |time| format!("{:.1}", time.as_secs_f64()));
        format!("{:>8.1} {guest:>8}  {} ({case})\n", script.wall.as_secs_f64(), script.name)
    };
    let heading = if scripts.is_empty() { "" } else { "  host s  guest s  script\n" };
    heading.to_owned() + &scripts.iter().map(line).collect::<String>()
}

/// Writes to standard error at once, past whatever would keep the text until the end.
pub fn say(text: &str) {
    io::stderr().write_all(text.as_bytes()).unwrap();
}
