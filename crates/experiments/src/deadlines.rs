//! How many deadlines are missed under borrowed virtual time and other policies, by contention, and under
//! reservations, by the error of the predictions on which they rest: two tables, in the simulator, after Figures 5 to 8
//! of K. J. Duda and D. R. Cheriton, SOSP 1999.
//!
//! Three threads have jobs with deadlines, and a fourth computes all the time. The periods of the three are such that
//! their jobs meet in every way.

use crate::decimal::Decimal;
use crate::run::run;
use hls_sim::Options;
use hls_units::Nanos;
use hls_workload::program::Workload;
use std::fmt::Write;

/// The folder of the experiment.
pub const NAME: &str = "bvt-deadlines";

/// How long each hierarchy is run.
const LENGTH: Nanos = Nanos::from_secs(200);

/// The distances of the releases of each thread, in milliseconds.
const PERIODS_MS: [u64; 3] = [97, 101, 103];

/// The deadline of a job after its release, in microseconds.
const DEADLINE_US: u64 = 50_000;

/// The contention, and the CPU time of each job in microseconds.
const CONTENTION: [(&str, u64); 4] =
    [("low", 8_000), ("medium", 15_000), ("high", 22_000), ("hopeless", 32_000)];

/// How wrong a prediction is, in percent of the need.
const ERRORS: [u64; 5] = [0, 10, 20, 40, 60];

/// CPU time, in microseconds: from the least to the most.
type Need = (u64, u64);

/// A scheduler of the three threads and the fourth, by the need of each job.
type Scheduler = (&'static str, fn(Need) -> String);

const SCHEDULERS: [Scheduler; 6] = [
    ("EDF, admitted", |need| reserved(need, need.1)),
    ("`bvt`, different warps", |need| bvt(need, [200, 400, 600])),
    ("fixed priority", |need| one("fixed-priority \"S\"", need, |n| format!("priority={}", n + 1))),
    ("`bvt`, one warp", |need| bvt(need, [400; 3])),
    ("`proportional-share`", |need| one("proportional-share \"S\" quantum=\"10ms\"", need, share)),
    ("round robin", |need| one("round-robin \"S\" quantum=\"10ms\"", need, |_| String::new())),
];

/// The table of schedulers.
///
/// # Errors
/// Why a hierarchy could not be run.
pub fn schedulers(options: &Options) -> Result<String, Vec<String>> {
    let mut table = String::from("| contention |");
    SCHEDULERS.iter().for_each(|(name, _)| _ = write!(table, " {name} |"));
    let _ = writeln!(table, "\n|---|{}", "---:|".repeat(SCHEDULERS.len()));
    for (contention, need_us) in CONTENTION {
        let _ = write!(table, "| {contention} |");
        for (_, text) in SCHEDULERS {
            let _ = write!(table, " {} % |", missed(&text((need_us, need_us)), options)?);
        }
        table.push('\n');
    }
    Ok(table)
}

/// The table of errors in predictions. A job needs what is predicted, or it needs less, more, or either.
///
/// # Errors
/// Why a hierarchy could not be run.
pub fn errors(options: &Options) -> Result<String, Vec<String>> {
    let columns = ["predicted too much", "either", "predicted too little", "`bvt`"];
    let mut table = format!("| contention | error | {} |\n", columns.join(" | "));
    let _ = writeln!(table, "|---|---:|{}", "---:|".repeat(columns.len()));
    for (contention, need) in &CONTENTION[..3] {
        for error in ERRORS {
            let (less, more) = (need * (100 - error) / 100, need * (100 + error) / 100);
            let hierarchies = [
                reserved((*need, *need), more),
                reserved((less, more), *need),
                reserved((*need, *need), less),
                bvt((less, more), [200, 400, 600]),
            ];
            let _ = write!(table, "| {contention} | {error} % |");
            for text in hierarchies {
                let _ = write!(table, " {} % |", missed(&text, options)?);
            }
            table.push('\n');
        }
    }
    Ok(table)
}

/// The deadlines that are missed, as a percentage of all jobs.
fn missed(text: &str, options: &Options) -> Result<Decimal, Vec<String>> {
    let outcome = run(NAME, text.as_bytes(), &Workload::default(), LENGTH, options)?;
    let threads = || outcome.result.threads.iter();
    let misses: u64 = threads().map(|thread| thread.misses).sum();
    let jobs: u64 = threads().map(|thread| thread.response.count).sum();
    let Decimal(thousandths) = Decimal::ratio_nearest(100 * misses.min(jobs), jobs);
    // A decimal is enough: there are some 6,000 jobs.
    Ok(Decimal((thousandths + 50) / 100 * 100))
}

/// The thread of that number, with these parameters.
fn thread(number: usize, params: &str, (least, most): Need) -> String {
    let every = PERIODS_MS[number];
    format!(
        "thread \"{number}\" {params} {{ periodic run=\"{least}us..{most}us\" every=\"{every}ms\" \
         deadline=\"{DEADLINE_US}us\"; }}\n"
    )
}

/// All threads below one scheduler; the fourth has the parameters of number 0, and the others of the numbers 1 to 3.
fn one(scheduler: &str, need: Need, params: fn(usize) -> String) -> String {
    let threads: String = (0..3).map(|number| thread(number, &params(3 - number), need)).collect();
    format!("machine cpus=1\n{scheduler} {{\n{threads}thread \"cont\" {} {{ cpu-bound; }}\n}}\n", params(0))
}

/// The three have nearly all of the CPU, a third each, which none of them exceeds.
fn share(number: usize) -> String {
    format!("share={}", if number == 0 { 1 } else { 33 })
}

fn bvt(need: Need, warps_ms: [u64; 3]) -> String {
    let params = |number: usize| format!("share=33 warp=\"{}ms\"", warps_ms[number]);
    let threads: String = (0..3).map(|number| thread(number, &params(number), need)).collect();
    format!("machine cpus=1\nbvt \"S\" {{\n{threads}thread \"cont\" share=1 {{ cpu-bound; }}\n}}\n")
}

/// Threads have a reservation of the CPU time that is predicted for a job, by its deadline, in order, as far as all of
/// these can be kept, and run by deadlines; a job that takes more has a later deadline for the rest. The other threads
/// take turns in what is left.
fn reserved(need: Need, predicted_us: u64) -> String {
    let fitting = usize::try_from(DEADLINE_US / predicted_us).unwrap_or(usize::MAX).min(3);
    let params = format!("budget=\"{predicted_us}us\" period=\"{DEADLINE_US}us\" soft=1");
    let mut text = String::from("machine cpus=1\nfixed-priority \"FP\" {\ncbs \"EDF\" priority=2 {\n");
    (0..fitting).for_each(|number| text += &thread(number, &params, need));
    text += "}\nround-robin \"rest\" priority=1 quantum=\"10ms\" {\n";
    (fitting..3).for_each(|number| text += &thread(number, "", need));
    text + "thread \"cont\" { cpu-bound; }\n}\n}\n"
}
