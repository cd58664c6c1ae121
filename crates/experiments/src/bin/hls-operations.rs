//! `hls-operations FILE`: measures how long requests to a running hierarchy take at user level (HLS thesis, section
//! 10.2), and how long it takes to attach a hierarchy and to detach it. Prints a line for each operation: its name, and
//! its times in nanoseconds.
//!
//! Runs as root in the test machine, where `hls` is in the PATH. Has `hls` run FILE, which must have the schedulers
//! that are named here. Does all requests once more while the kernel counts the time of BPF programs, and prints lines
//! `kernel OPERATION`, with the number of calls of BPF programs for one operation and their time together.

use hls_client::interface::{Create, Destroy, Method, Move, Release, Reserve, Status};
use hls_client::{Client, Texts, this_thread};
use hls_experiments::operations::{ATTACHES, REPEATS, WARM_UPS};
use std::error::Error;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// How long to wait between operations, so that one has no effect on the next, and budgets are full.
const SETTLE: Duration = Duration::from_millis(50);
const SOCKET: &str = "/run/hls/operations.sock";
const RESERVATION: &str = "RESBH 20ms 40ms";
/// The type of programs that user space calls, in the kernel's numbers: `BPF_PROG_TYPE_SYSCALL`.
const SYSCALL: u64 = 31;

type Outcome<T> = Result<T, Box<dyn Error>>;
/// A request to the hierarchy.
type Request<'a> = Box<dyn FnMut(&mut Peer) -> Outcome<()> + 'a>;

fn main() -> Outcome<()> {
    let file = std::env::args().nth(1).ok_or("expected a hierarchy file")?;
    let (mut attach, mut detach) = (Vec::new(), Vec::new());
    for _ in 0..=ATTACHES {
        let begun = Instant::now();
        let hls = start(&file)?;
        attach.push(begun.elapsed());
        sleep(SETTLE);
        let begun = Instant::now();
        stop(hls)?;
        detach.push(begun.elapsed());
        sleep(SETTLE);
    }
    print("attach", &attach[1..]);
    print("detach", &detach[1..]);

    let hls = start(&file)?;
    let mut other = Command::new("sleep").arg("1000000").spawn()?;
    let mut peer = Peer { hls: Client::connect_to(Path::new(SOCKET))?, raw: UnixStream::connect(SOCKET)? };
    let done = run_of(&hls).and_then(|run| measure(&mut peer, run, other.id()));
    other.kill()?;
    stop(hls)?;
    done
}

/// Starts `hls` on the hierarchy file, and waits until the hierarchy schedules the machine and answers requests.
fn start(file: &str) -> Outcome<Child> {
    let mut hls = Command::new("hls");
    hls.args(["run", file, "--engine", "kernel", "--socket", SOCKET]).stdout(Stdio::null());
    let mut hls = hls.spawn()?;
    while Client::connect_to(Path::new(SOCKET)).and_then(|mut client| client.call(&Status {})).is_err() {
        if let Some(status) = hls.try_wait()? {
            return Err(format!("hls ended: {status}").into());
        }
        sleep(Duration::from_millis(1));
    }
    Ok(hls)
}

/// The process that calls the BPF programs: `hls` itself only keeps the hierarchy attached, and has started the run.
fn run_of(hls: &Child) -> Outcome<u32> {
    let keeper = hls.id();
    let children = fs::read_to_string(format!("/proc/{keeper}/task/{keeper}/children"))?;
    let run = children.split_whitespace().next().ok_or("found no child of hls, expected its run")?;
    Ok(run.parse()?)
}

/// Ends `hls` as Ctrl-C does.
fn stop(mut hls: Child) -> Outcome<()> {
    Command::new("kill").args(["-INT", &hls.id().to_string()]).status()?;
    // 1 means that a promise was broken, which is not measured here.
    match hls.wait()?.code() {
        Some(0 | 1) => Ok(()),
        code => Err(format!("hls ended with {code:?}").into()),
    }
}

/// Two connections to `hls`.
struct Peer {
    hls: Client<'static>,
    /// A bare connection, for a request that needs neither the calculus nor the engine.
    raw: UnixStream,
}

impl Peer {
    /// Makes a round trip over the socket, with a request that every varlink server answers by itself.
    fn greet(&mut self) -> Outcome<()> {
        self.raw.write_all(b"{\"method\":\"org.varlink.service.GetInfo\"}\0")?;
        let mut reply = Vec::new();
        BufReader::new(&self.raw).read_until(0, &mut reply)?;
        if reply.len() > 1 { Ok(()) } else { Err("the server closed the connection".into()) }
    }
}

/// Does each request as often as the thesis did, and prints how long it took; then once more for the times of the BPF
/// programs.
fn measure(peer: &mut Peer, server: u32, other: u32) -> Outcome<()> {
    let own = this_thread();
    fn ask<'a>(call: impl Method + 'a) -> Request<'a> {
        Box::new(move |peer: &mut Peer| Ok(peer.hls.call(&call).map(drop)?))
    }
    let create = Create {
        policy: "reservation".into(),
        name: "new".into(),
        below: "FP".into(),
        parameters: Texts::from([("priority".into(), "1".into())]),
    };
    let to = |to: &str| Move { thread: own, to: to.into(), parameters: Texts::new() };
    let reserve = |thread| Reserve { thread, guarantee: RESERVATION.into(), below: None };
    let release = |thread| Release { thread };
    let mut pairs: Vec<[(&str, Request); 2]> = vec![
        [("socket", Box::new(Peer::greet)), ("socket-again", Box::new(Peer::greet))],
        [("create", ask(create)), ("destroy", ask(Destroy { name: "new".into() }))],
        [("move", ask(to("other"))), ("move-back", ask(to("rest")))],
        [("begin-same", ask(reserve(own))), ("end-same", ask(release(own)))],
        [("begin-other", ask(reserve(other))), ("end-other", ask(release(other)))],
    ];
    for pair in &mut pairs {
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..WARM_UPS + REPEATS {
            for ((_, operation), times) in pair.iter_mut().zip(&mut times) {
                sleep(SETTLE);
                let begun = Instant::now();
                operation(peer)?;
                times.push(begun.elapsed());
            }
        }
        for ((name, _), times) in pair.iter().zip(&times) {
            print(name, &times[WARM_UPS..]);
        }
    }
    fs::write("/proc/sys/kernel/bpf_stats_enabled", "1")?;
    for pair in &mut pairs {
        let mut calls = [(0, 0); 2];
        for _ in 0..REPEATS {
            for ((_, operation), (count, time)) in pair.iter_mut().zip(&mut calls) {
                sleep(SETTLE);
                let before = programs(server)?;
                operation(peer)?;
                let after = programs(server)?;
                (*count, *time) = (*count + after.0 - before.0, *time + after.1 - before.1);
            }
        }
        let each = REPEATS as u64;
        for ((name, _), (count, time)) in pair.iter().zip(&calls) {
            println!("kernel {name} {} {}", count / each, time / each);
        }
    }
    Ok(())
}

/// How often the BPF programs that the process of this pid may call have been called so far, and their time together in
/// nanoseconds.
fn programs(pid: u32) -> Outcome<(u64, u64)> {
    let (mut programs, mut count, mut time) = (0, 0, 0);
    for entry in fs::read_dir(format!("/proc/{pid}/fdinfo"))? {
        // A descriptor may have been closed since it was listed.
        let Ok(text) = fs::read_to_string(entry?.path()) else { continue };
        let field = |name: &str| -> Option<u64> {
            text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?.trim().parse().ok()
        };
        if field("prog_type") == Some(SYSCALL) {
            programs += 1;
            count += field("run_cnt").unwrap_or(0);
            time += field("run_time_ns").unwrap_or(0);
        }
    }
    match programs {
        0 => Err(format!("found no BPF program that process {pid} may call, expected some").into()),
        _ => Ok((count, time)),
    }
}

fn print(name: &str, times: &[Duration]) {
    let times: Vec<String> = times.iter().map(|time| time.as_nanos().to_string()).collect();
    println!("{name} {}", times.join(" "));
}
