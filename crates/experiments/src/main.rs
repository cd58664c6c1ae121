//! Runs experiments and prints tables of what was measured beside what is expected. Exit status, as of `hls`: 0 all
//! rows are within their tolerances, 1 a row is not, 2 the experiments are wrong, 3 the system failed.

use clap::{Parser, ValueEnum};
use hls_core::limits::MAX_DEPTH;
use hls_experiments::boot::ExactVm;
use hls_experiments::chain;
use hls_experiments::experiment::Experiment;
use hls_experiments::finding::{write_comparison, write_table};
use hls_experiments::kernel::Kernel;
use hls_experiments::{
    composite_server, composite_tables, deadlines, interrupts, isolation, load_unload, operations, policies,
    shares, vassal,
};
use hls_sim::Options;
use hls_units::Nanos;
use hls_vm::{Flavour, Vm};
use std::fs;
use std::io::{self, Write, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Run the experiments of the papers, and print what was measured beside what is expected.
#[derive(Parser)]
#[command(name = "hls-experiments", version)]
struct Args {
    /// The experiments to run, by name; all if none is named
    names: Vec<String>,
    /// The folder of the experiments, each of which is a folder
    #[arg(long, value_name = "FOLDER", default_value = "experiments")]
    folder: PathBuf,
    /// What runs the hierarchies
    #[arg(long, value_enum, default_value = "sim")]
    engine: Engine,
    /// On a kernel: an instruction takes 2^SHIFT ns; at 1 there are 500 million a second (the thesis measured a CPU of
    /// 500 MHz)
    #[arg(long, default_value = "1", value_parser = clap::value_parser!(u32).range(0..=10))]
    shift: u32,
    /// On a kernel: how long an experiment may take, in time of the host
    #[arg(long, value_name = "TIME", default_value = "3600s", value_parser = Nanos::parse)]
    limit: Nanos,
    /// On a kernel: the command hls
    #[arg(long, value_name = "PROGRAM", default_value = "target/release/hls")]
    hls: PathBuf,
    /// On a kernel: where logs and results go
    #[arg(long, value_name = "FOLDER", default_value = "out/experiments")]
    results: PathBuf,
    /// On a kernel: where the kernel is kept
    #[arg(long, value_name = "FOLDER", default_value = ".cache/vm")]
    cache: PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Engine {
    /// The simulator
    Sim,
    /// A real kernel in the test machine, compared with its fair class
    Kernel,
}

/// The names of the experiments that are not tables of rows in files.
const OF_ANOTHER_FORM: [&str; 10] = [
    operations::NAME,
    vassal::NAME,
    load_unload::NAME,
    shares::NAME,
    policies::NAME,
    deadlines::NAME,
    interrupts::NAME,
    composite_tables::NAME,
    composite_server::NAME,
    isolation::NAME,
];

/// Why there are no tables.
enum Failure {
    /// Errors in the experiments, or why they could not be carried out.
    Wrong(Vec<String>),
    /// The system failed.
    System(String),
}

impl From<Vec<String>> for Failure {
    fn from(errors: Vec<String>) -> Failure {
        Failure::Wrong(errors)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::System(error.to_string())
    }
}

fn main() -> ExitCode {
    let args = Args::parse();
    let out = &mut stdout().lock();
    let is_within = chosen(&args).and_then(|experiments| match args.engine {
        Engine::Sim => simulate(&args, &experiments, out),
        Engine::Kernel => on_kernel(&args, &experiments, out),
    });
    match is_within {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(Failure::Wrong(errors)) => {
            errors.iter().for_each(|error| eprintln!("{error}"));
            ExitCode::from(2)
        }
        Err(Failure::System(error)) => {
            eprintln!("hls-experiments: {error}");
            ExitCode::from(3)
        }
    }
}

/// The experiments that were asked for.
fn chosen(args: &Args) -> Result<Vec<Experiment>, Failure> {
    let mut experiments = Experiment::find_all(&args.folder)?;
    let (there, folder) = (experiments.len(), args.folder.display());
    let absent = |name: &&String| {
        !OF_ANOTHER_FORM.contains(&name.as_str())
            && experiments.iter().all(|experiment| experiment.name != **name)
    };
    if let Some(name) = args.names.iter().find(absent) {
        return Err(vec![format!("found no experiment `{name}` among the {there} in {folder}")].into());
    }
    if there == 0 {
        return Err(vec![format!("found no experiment in {folder}, expected some")].into());
    }
    experiments.retain(|experiment| args.names.is_empty() || args.names.contains(&experiment.name));
    Ok(experiments)
}

/// Whether all is within its tolerance.
fn simulate(args: &Args, experiments: &[Experiment], out: &mut impl Write) -> Result<bool, Failure> {
    let options = Options::default();
    let mut is_within = true;
    for experiment in experiments.iter().filter(|experiment| !experiment.rows.is_empty()) {
        let findings = experiment.carry_out(&options)?;
        write_table(out, &experiment.name, &findings)?;
        is_within &= findings.iter().all(|finding| finding.is_within());
    }
    if args.names.is_empty() {
        let depths = (0..).map(|n| 1 << n).take_while(|depth| *depth <= MAX_DEPTH as u32);
        let findings = chain::carry_out(depths, &options)?;
        write_table(out, "figure-10.2 at other depths", &findings)?;
        is_within &= findings.iter().all(|finding| finding.is_within());
    }
    let is_asked_for = |name: &str| args.names.is_empty() || args.names.iter().any(|asked| asked == name);
    if is_asked_for(shares::NAME) {
        write!(out, "\n{}\n{}", shares::errors(&options)?, shares::cheats(&options)?)?;
        write!(out, "\n{}", shares::migrations(&options)?)?;
    }
    if args.names.iter().any(|name| name == policies::NAME) {
        write!(out, "{}", policies::table(&args.folder.join(".."))?)?;
    }
    if is_asked_for(deadlines::NAME) {
        write!(out, "\n{}\n{}", deadlines::schedulers(&options)?, deadlines::errors(&options)?)?;
    }
    if is_asked_for(isolation::NAME) {
        write!(out, "\n{}", isolation::tables(&options)?)?;
    }
    if is_asked_for(interrupts::NAME) {
        let folder = args.folder.join(interrupts::NAME);
        for figure in interrupts::FIGURES {
            show_figure(&figure, &folder, &figure.rows(&folder, &options)?, out)?;
        }
    }
    Ok(is_within)
}

/// Writes a figure into its folder, and prints its table.
fn show_figure(
    figure: &interrupts::Figure,
    folder: &Path,
    rows: &[interrupts::Row],
    out: &mut impl Write,
) -> io::Result<()> {
    figure.write(folder, rows)?;
    writeln!(out, "\n{}\n{}", figure.name, interrupts::HEAD)?;
    rows.iter().try_for_each(|row| writeln!(out, "{}", row.csv()))
}

/// Whether all is within its tolerance.
fn on_kernel(args: &Args, experiments: &[Experiment], out: &mut impl Write) -> Result<bool, Failure> {
    let vm = Vm::open(&args.cache, Flavour::Cloud).map_err(|error| Failure::System(error.to_string()))?;
    let exact_vm = |name: &str| ExactVm {
        vm: &vm,
        shift: args.shift,
        limit: Duration::from_nanos(args.limit.0),
        results: args.results.join(name),
    };
    let mut is_within = true;
    for experiment in experiments.iter().filter(|experiment| !experiment.on_kernel.is_empty()) {
        let kernel = Kernel { vm: exact_vm(&experiment.name), hls: &args.hls };
        let comparisons = kernel.carry_out(&experiment.folder, &experiment.on_kernel)?;
        write_comparison(out, &experiment.name, &comparisons)?;
        out.flush()?;
        is_within &= comparisons.iter().all(|comparison| comparison.finding.is_within());
    }
    let is_asked_for = |name: &str| args.names.is_empty() || args.names.iter().any(|asked| asked == name);
    if is_asked_for(operations::NAME) {
        let programs = [args.hls.clone(), args.hls.with_file_name("hls-operations")];
        let file = args.folder.join(operations::NAME).join("operations.kdl");
        let rows = operations::measure(&exact_vm(operations::NAME), programs, &file)?;
        write!(out, "{}", operations::table(&rows))?;
    }
    let about_kernel = format!("Linux {}", vm.kernel().release);
    let about = format!("Linux {}, an instruction takes {} ns", vm.kernel().release, 1 << args.shift);
    if is_asked_for(load_unload::NAME) {
        let folder = args.folder.join(load_unload::NAME);
        let rows = load_unload::measure(&exact_vm(load_unload::NAME), &args.hls, &folder)?;
        fs::write(folder.join("results.csv"), load_unload::csv(&rows, &about))?;
        write!(out, "{}", load_unload::table(&rows))?;
        is_within &= rows.iter().all(load_unload::Row::is_kept);
    }
    if is_asked_for(vassal::NAME) {
        let folder = args.folder.join(vassal::NAME);
        for table in vassal::measure(&exact_vm(vassal::NAME), &args.hls, &folder)? {
            fs::write(folder.join(format!("{}.csv", table.name())), table.csv(&about))?;
            write!(out, "{}", table.text())?;
        }
    }
    if is_asked_for(composite_server::NAME) {
        let folder = args.folder.join(composite_server::NAME);
        let measured = composite_server::measure(&exact_vm(composite_server::NAME), &args.hls, &folder)?;
        let table = measured.csv(&about);
        fs::write(folder.join("results.csv"), &table)?;
        write!(out, "{table}")?;
    }
    if is_asked_for(composite_tables::NAME) {
        let folder = args.folder.join(composite_tables::NAME);
        let vm = ExactVm { shift: 0, ..exact_vm(composite_tables::NAME) };
        let measured = composite_tables::measure(&vm, &args.hls, &folder)?;
        let table = measured.csv(&about_kernel);
        fs::write(folder.join("results.csv"), &table)?;
        write!(out, "{table}{}", measured.aims())?;
    }
    if is_asked_for(interrupts::NAME) {
        let (folder, figures) = (args.folder.join(interrupts::NAME), interrupts::ON_KERNEL);
        let rows = interrupts::measure(&exact_vm(interrupts::NAME), &args.hls, &folder, &figures)?;
        for (figure, rows) in figures.iter().zip(rows) {
            show_figure(figure, &folder, &rows, out)?;
        }
    }
    Ok(is_within)
}
