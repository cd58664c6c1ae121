//! One run: QEMU from its start to its end, and the files that it leaves in the folder of the run.
//!
//! Relies on the guest to power itself off. The serial ports are files, which QEMU writes without ever waiting for a
//! reader, so that reading them does not change what happens. QEMU is killed by its pid, never by its name.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::error::failed;
use crate::host::Watch;
use crate::machine::{self, Host, INITRAMFS, PORTS};
use crate::outcome::{self, CutShort, Outcome};
use crate::{Error, Guest, Kernel, Machine, OUT, Show, Time, guest, tool, verdict};

/// How long to wait between two readings of what the guest printed.
const INTERVAL: Duration = Duration::from_millis(20);

/// How long to wait between two looks at how long the emulator has waited for a processor of the host.
const LOOKS: Duration = Duration::from_secs(1);

/// The file for the messages of QEMU itself.
const MESSAGES: &str = "qemu.log";

/// Runs a guest; see [`crate::Vm::run`].
pub(crate) fn run(
    kernel: &Kernel,
    machine: &Machine,
    guest: &Guest,
    folder: &Path,
    show: &mut Show<'_>,
) -> Result<Outcome, Error> {
    prepare(guest, folder)?;
    let begun = Instant::now();
    let mut qemu = machine::command(machine, kernel, folder, &Host::read()?);
    let messages = folder.join(MESSAGES);
    let file = File::create(&messages).map_err(failed(messages.display()))?;
    qemu.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file);
    let mut child = Running(qemu.spawn().map_err(failed("QEMU cannot be started"))?);
    let [kernel_log, output_log, out] = PORTS.map(|port| folder.join(port));
    let mut kernel_log = Tail::new(kernel_log);
    let mut output_log = Tail::new(output_log);
    let mut scripts_begun = Vec::new();
    let has_time_of_the_host = matches!(machine.time, Time::Free(_));
    let (mut watch, mut next_look, mut waited) = (Watch::over(child.0.id()), LOOKS, None);
    let ended = loop {
        let ended = child.0.try_wait().map_err(failed("QEMU cannot be waited for"))?;
        let over = ended.is_some() || begun.elapsed() >= machine.limit;
        let kernel_lines = kernel_log.more(over)?;
        let output_lines = outcome::shown(&output_log.more(over)?, guest.scripts.len() > 1);
        show_text(show.kernel, &kernel_lines)?;
        show_text(show.output, &output_lines)?;
        scripts_begun.resize(outcome::begun(&output_log.text), begun.elapsed());
        if has_time_of_the_host && begun.elapsed() >= next_look {
            next_look = begun.elapsed() + LOOKS;
            let wait = watch.too_long();
            waited = waited.or(wait.filter(|_| !verdict::has_failed(&kernel_log.text)));
        }
        if over {
            break ended;
        }
        sleep(INTERVAL);
    };
    drop(child);
    scripts_begun.push(begun.elapsed());
    let complaint = fs::read_to_string(&messages).unwrap_or_default();
    if ended.is_some_and(|status| !status.success()) {
        return Err(Error::Failed(format!("QEMU failed: {}", complaint.trim())));
    }
    let cut_short = match ended {
        None => Some(CutShort::Limit(machine.limit)),
        Some(_) if !outcome::finished(&output_log.text) => Some(CutShort::Down),
        Some(_) => None,
    };
    if cut_short.is_none() {
        unpack(&out, &folder.join(OUT))?;
    }
    for name in [INITRAMFS, MESSAGES, PORTS[2]] {
        fs::remove_file(folder.join(name)).map_err(failed(name))?;
    }
    Ok(Outcome {
        scripts: outcome::scripts(&output_log.text, &scripts_begun),
        problems: outcome::problems(&kernel_log.text),
        kernel_log: kernel_log.text,
        cut_short,
        emulator_faults: vec![],
        ended_by_emulator: None,
        waited,
        wall: begun.elapsed(),
    })
}

/// Removes the files of an earlier run from the folder, and writes the initramfs there.
fn prepare(guest: &Guest, folder: &Path) -> Result<(), Error> {
    fs::create_dir_all(folder).map_err(failed(folder.display()))?;
    for name in PORTS.into_iter().chain([OUT, INITRAMFS, MESSAGES]) {
        let path = folder.join(name);
        let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(failed(path.display())(error));
            }
            _ => {}
        }
    }
    guest::write_initramfs(guest, &folder.join(INITRAMFS))
}

/// Unpacks the files that the guest sent.
fn unpack(archive: &Path, to: &Path) -> Result<(), Error> {
    fs::create_dir(to).map_err(failed(to.display()))?;
    tool::output(Command::new("tar").arg("--no-same-owner").arg("-xzf").arg(archive).arg("-C").arg(to))?;
    Ok(())
}

fn show_text(to: &mut dyn Write, text: &str) -> Result<(), Error> {
    to.write_all(text.as_bytes())
        .and_then(|()| to.flush())
        .map_err(failed("the output of the guest cannot be shown"))
}

/// QEMU while it runs. Dropping this kills it, so that it does not outlive the run, even if the run fails.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // Fails when QEMU has ended already, which is as good.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A file that grows while it is read.
struct Tail {
    path: PathBuf,
    file: Option<File>,
    /// What has been read of a line that is not whole yet.
    rest: Vec<u8>,
    /// All lines read so far.
    text: String,
}

impl Tail {
    fn new(path: PathBuf) -> Tail {
        Tail { path, file: None, rest: vec![], text: String::new() }
    }

    /// Reads the lines that were written since the last call; with `at_end`, also a line that is not whole.
    fn more(&mut self, at_end: bool) -> Result<String, Error> {
        if self.file.is_none() {
            self.file = File::open(&self.path).ok();
        }
        if let Some(file) = &mut self.file {
            file.read_to_end(&mut self.rest).map_err(failed(self.path.display()))?;
        }
        let whole = if at_end {
            self.rest.len()
        } else {
            self.rest.iter().rposition(|&c| c == b'\n').map_or(0, |at| at + 1)
        };
        let lines: Vec<u8> = self.rest.drain(..whole).collect();
        // Bytes that are no text become replacement characters; the port has put a carriage return before each newline.
        let lines = String::from_utf8_lossy(&lines).replace('\r', "");
        self.text += &lines;
        Ok(lines)
    }
}
