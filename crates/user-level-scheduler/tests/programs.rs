//! The programs of the examples, in C and in Rust, as processes: they find their pages by the environment, decide until
//! they are no agents any more, and say what is wrong if they cannot. A file in memory stands in for the page that the
//! engine writes.

use hls_user_level_scheduler::{KERNEL_WORDS, SLOTS, USER_WORDS};
use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Places of words in the kernel page.
const VERSION: usize = 0;
const EVENTS: usize = 1;
const WANTING: usize = 3;
const AT_NS: usize = 4;
const CPUS: usize = 5;
const WIDTH: usize = 6;
const RING: usize = 7 + 3 * SLOTS;
fn child(slot: usize) -> usize {
    7 + 3 * slot
}

/// A page that processes inherit.
struct Page(File);

impl Page {
    fn new(words: usize) -> Page {
        let file = memfd_create("page", MemfdFlags::empty()).expect("a kernel with memfd");
        ftruncate(&file, 8 * words as u64).expect("it is for writing");
        Page(file.into())
    }

    fn write(&self, place: usize, word: u64) {
        self.0.write_all_at(&word.to_ne_bytes(), 8 * place as u64).expect("it is for writing");
    }

    fn read(&self, place: usize) -> u64 {
        let mut word = [0; 8];
        self.0.read_exact_at(&mut word, 8 * place as u64).expect("it is for reading");
        u64::from_ne_bytes(word)
    }

    /// Has the page say again and again that the agent was given a CPU just now, as the engine does, until `is_done`.
    fn grant(&self, is_done: &AtomicBool) {
        for at_ns in (1..).take_while(|_| !is_done.load(Ordering::Relaxed)) {
            self.write(AT_NS, at_ns);
            std::thread::sleep(Duration::from_micros(100));
        }
    }

    /// Waits until the word is there, or the process that is to write it has ended.
    fn wait_for(&self, place: usize, word: u64, process: &mut Child) {
        while self.read(place) != word {
            let ended = process.try_wait().expect("it is a child");
            assert_eq!(ended, None, "word {place} is {}", self.read(place));
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// fp_rr in both languages; compiled once, since no test may write a program that another one runs.
static PROGRAMS: LazyLock<[PathBuf; 2]> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let in_c = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fp_rr");
    let compiled = Command::new("cc")
        .args([
            "-std=c11",
            "-O2",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-Iinclude",
            "examples/user-level/fp_rr.c",
            "-o",
        ])
        .arg(&in_c)
        .current_dir(root)
        .status();
    assert!(compiled.is_ok_and(|status| status.success()), "cc compiles the example");
    let test = std::env::current_exe().expect("it runs");
    [in_c, test.parent().unwrap().parent().unwrap().join("examples/fp_rr")]
});

/// A process that becomes the program, once it is told to, with the pages.
fn process(program: &Path, kernel: &Page, user: &Page) -> Child {
    Command::new("sh")
        .args(["-c", "read go; exec \"$0\""])
        .arg(program)
        .env("HLS_SCHEDULER", format!("S:{}:{}", kernel.0.as_raw_fd(), user.0.as_raw_fd()))
        .env("HLS_SETTINGS", "1=3 2=5")
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("there is a shell")
}

fn go(process: &mut Child) {
    process.stdin.take().expect("a pipe").write_all(b"\n").expect("it reads");
}

#[test]
fn an_agent_decides_until_it_is_none_any_more() {
    for program in &*PROGRAMS {
        let (kernel, user) = (Page::new(KERNEL_WORDS), Page::new(USER_WORDS));
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| kernel.grant(&is_done));
            let decides = std::panic::catch_unwind(|| decides(program, &kernel, &user));
            is_done.store(true, Ordering::Relaxed);
            decides.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        });
    }
}

/// Nobody gives it a CPU in the name of a hierarchy, and nobody says that it is no agent any more.
#[test]
fn an_agent_without_a_hierarchy_ends() {
    for program in &*PROGRAMS {
        let (kernel, user) = (Page::new(KERNEL_WORDS), Page::new(USER_WORDS));
        let mut process = process(program, &kernel, &user);
        kernel.write(VERSION, 1);
        kernel.write(child(0), process.id().into());
        go(&mut process);
        assert!(process.wait().expect("it ends").success());
    }
}

/// The program decides by what the page says, and ends when the page says that it is no agent.
fn decides(program: &Path, kernel: &Page, user: &Page) {
    let mut process = process(program, kernel, user);
    kernel.write(VERSION, 1);
    kernel.write(CPUS, 0b11);
    kernel.write(WIDTH, 1);
    kernel.write(child(0), process.id().into());
    for slot in 1..3 {
        kernel.write(child(slot), 100 + slot as u64);
        kernel.write(RING + 2 * slot - 1, (2 * slot as u64 - 1) << 16 | slot as u64);
        kernel.write(RING + 2 * slot, (2 * slot as u64) << 16 | 2 << 8 | slot as u64);
    }
    kernel.write(WANTING, 0b110);
    kernel.write(EVENTS, 4);
    go(&mut process);
    user.wait_for(0, 4, &mut process);
    // A strict decision that knows four events: the thread in slot 2 has the greater priority.
    assert_eq!(user.read(3 + 8), 4 << 16 | 0x1002, "{}", program.display());
    assert_eq!(user.read(3 + 9), 4 << 16 | 0x1002, "the only CPU that it has may be any");
    kernel.write(RING + 5, 5 << 16 | 3 << 8 | 2);
    kernel.write(EVENTS, 5);
    user.wait_for(0, 5, &mut process);
    assert_eq!(user.read(3 + 8), 5 << 16 | 0x1001, "{}", program.display());
    kernel.write(child(0), 0);
    assert!(process.wait().expect("it ends").success());
}

#[test]
fn a_program_that_is_no_agent_says_so() {
    let says = |process: Child| {
        let output = process.wait_with_output().expect("it ends");
        (output.status.success(), String::from_utf8(output.stderr).expect("text"))
    };
    for program in &*PROGRAMS {
        let alone = Command::new(program).env_remove("HLS_SCHEDULER").stderr(Stdio::piped()).spawn();
        let (succeeds, what) = says(alone.expect("it was built"));
        assert!(!succeeds && what.contains("found no HLS_SCHEDULER in the environment"), "{what}");
        let (kernel, user) = (Page::new(KERNEL_WORDS), Page::new(USER_WORDS));
        kernel.write(VERSION, 2);
        let mut other = process(program, &kernel, &user);
        go(&mut other);
        let (succeeds, what) = says(other);
        assert!(
            !succeeds && (what.contains("Protocol error") || what.contains("pages of version 2")),
            "{what}"
        );
    }
}
