//! `hls-vm`: runs scripts in a virtual machine with a kernel that has sched_ext.
//!
//! Exit status: the status of the first script that did not exit with 0, else 0. Apart from scripts: 2 wrong usage or
//! input, 124 the time limit, 125 the test machine could not do its work, 126 the kernel complained or went down.

use clap::{Parser, ValueEnum};
use hls_units::Nanos;
use hls_vm::{Accel, CutShort, Error, Flavour, Guest, Machine, Outcome, Script, Show, Time, Vm};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Run scripts in a virtual machine with a kernel that has sched_ext.
///
/// The first call fetches the kernel. Without a script it only prints the kernel's release and checks that it works.
#[derive(Debug, Parser)]
#[command(name = "hls-vm", version, after_help = EXIT_STATUS)]
struct Args {
    /// Scripts (`#!/bin/sh` is busybox), run in order. Files that they leave in `$OUT` are brought back.
    #[arg(value_name = "SCRIPT")]
    scripts: Vec<PathBuf>,
    /// Put a program and its shared libraries into the guest's PATH.
    #[arg(short, long = "program", value_name = "PROGRAM")]
    programs: Vec<PathBuf>,
    /// Put a file or folder into the guest.
    #[arg(short, long = "file", value_name = "HERE=THERE", value_parser = placed)]
    files: Vec<(PathBuf, String)>,
    /// Which of Debian's kernels to boot.
    #[arg(long, value_enum, default_value = "cloud")]
    kernel: Flavour,
    /// What runs the guest's processors: `auto` is KVM if a guest boots on KVM here, else `tcg`, where they take turns;
    /// `parallel` has them run at once, by KVM or else by TCG.
    #[arg(long, value_enum, default_value = "auto", conflicts_with = "exact")]
    accel: AccelName,
    /// How many processors: 2, or 1 with --exact.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=64))]
    cpus: Option<u32>,
    /// Let every instruction take a fixed time: every run on one processor is the same, to the byte.
    #[arg(long)]
    exact: bool,
    /// With --exact: an instruction takes 2^SHIFT ns.
    #[arg(long, default_value = "0", requires = "exact", value_parser = clap::value_parser!(u32).range(0..=10))]
    shift: u32,
    /// Main memory in MiB.
    #[arg(long, value_name = "MIB", default_value = "1024")]
    memory: u32,
    /// How long the run may take, in time of the host.
    #[arg(long, value_name = "TIME", default_value = "300s", value_parser = time)]
    limit: Duration,
    /// Add to the kernel's command line.
    #[arg(long, value_name = "OPTIONS", default_value = "", allow_hyphen_values = true)]
    append: String,
    /// Where the logs and, in `guest-out`, the files from `$OUT` go.
    #[arg(long, value_name = "FOLDER", default_value = "out/vm")]
    results: PathBuf,
    /// Where the kernels are kept.
    #[arg(long, value_name = "FOLDER", default_value = ".cache/vm")]
    cache: PathBuf,
}

const EXIT_STATUS: &str = "Exit status: the status of the first script that failed, or 0; 2 usage or input, 124 time \
                           limit, 125 the test machine could not do its work, 126 the kernel complained or went down.";

#[derive(Debug, Clone, Copy, ValueEnum)]
enum AccelName {
    Auto,
    Kvm,
    Tcg,
    Parallel,
}

impl From<AccelName> for Accel {
    fn from(name: AccelName) -> Accel {
        match name {
            AccelName::Auto => Accel::Auto,
            AccelName::Kvm => Accel::Kvm,
            AccelName::Tcg => Accel::Tcg,
            AccelName::Parallel => Accel::Parallel,
        }
    }
}

/// The script that runs when no script is named: prints the kernel's release, and checks for sched_ext and BTF.
const CHECK: &str = "#!/bin/sh -e
echo \"kernel $(uname -r), $(nproc) CPUs\"
echo \"sched_ext is $(cat /sys/kernel/sched_ext/state)\"
test -s /sys/kernel/btf/vmlinux
echo 'the test machine works'
";

fn main() -> ExitCode {
    let args = Args::parse();
    match run(&args) {
        Ok(outcome) => ExitCode::from(report(&outcome, &args.results)),
        Err(error) => {
            eprintln!("hls-vm: {error}");
            ExitCode::from(if matches!(error, Error::Input(_)) { 2 } else { 125 })
        }
    }
}

fn run(args: &Args) -> Result<Outcome, Error> {
    let scripts = match &args.scripts[..] {
        [] => vec![Script { name: "check".into(), text: CHECK.into() }],
        paths => paths.iter().map(|path| Script::read(path)).collect::<Result<_, _>>()?,
    };
    let guest = Guest { scripts, programs: args.programs.clone(), files: args.files.clone() };
    let machine = Machine {
        cpus: args.cpus.unwrap_or(if args.exact { 1 } else { 2 }),
        time: if args.exact { Time::Exact { shift: args.shift } } else { Time::Free(args.accel.into()) },
        memory_mib: args.memory,
        append: args.append.clone(),
        limit: args.limit,
    };
    let vm = Vm::open(&args.cache, args.kernel)?;
    vm.run(
        &machine,
        &guest,
        &args.results,
        &mut Show { output: &mut io::stdout(), kernel: &mut io::stderr() },
    )
}

/// Prints complaints of the kernel, why the run was cut short, and where the results are; returns the exit status.
fn report(outcome: &Outcome, results: &Path) -> u8 {
    let failed = outcome.scripts.iter().find_map(|script| script.status.filter(|&status| status != 0));
    for problem in &outcome.problems {
        eprintln!("hls-vm: the kernel complained: {problem}");
    }
    match outcome.cut_short {
        Some(why) => eprintln!("hls-vm: {why}; the output up to then is in {}", results.display()),
        None => eprintln!(
            "hls-vm: {:.1} s; logs and files are in {}",
            outcome.wall.as_secs_f64(),
            results.display()
        ),
    }
    match (outcome.cut_short, &outcome.problems[..]) {
        (Some(CutShort::Limit(_)), _) => 124,
        (Some(CutShort::Down), _) | (None, [_, ..]) => 126,
        (None, []) => failed.unwrap_or(0),
    }
}

fn placed(text: &str) -> Result<(PathBuf, String), String> {
    let (here, there) = text.split_once('=').ok_or("expected HERE=THERE")?;
    Ok((here.into(), there.to_owned()))
}

fn time(text: &str) -> Result<Duration, String> {
    Nanos::parse(text).map(|nanos| Duration::from_nanos(nanos.0)).map_err(|error| error.to_string())
}
