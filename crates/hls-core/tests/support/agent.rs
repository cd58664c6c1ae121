//! A scheduler of the policy `user-level`; a program written with `include/hls_scheduler.h` decides for it. The program
//! is compiled as a shared object, and takes its turns on copies of the two pages, in the machine's time.

use crate::support::{ByHand, MS};
use hls_core::pages::{KernelPage, UserPage, UserWord};
use hls_core::{Calls, CoreScheduler, CoreVp, Params};
use hls_scenario::Machine;
use hls_units::Nanos;
use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::{env, fs, process, ptr};

// SAFETY: the function of the C library.
unsafe extern "C" {
    fn free(memory: *mut c_void);
}

type Turn = unsafe extern "C" fn(*const KernelPage, *mut UserPage, *mut *mut c_void);

/// Compiles a file, given by its path in the repository.
pub fn cc(flags: &[&str], source: &str, result: &Path) {
    let (compiler, standard) =
        if source.ends_with(".cc") { ("c++", "-std=c++11") } else { ("cc", "-std=c11") };
    let output = Command::new(compiler)
        .args([standard, "-O2", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror", "-Iinclude"])
        .args(flags)
        .args([Path::new("-o"), result, Path::new(source)])
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .output()
        .unwrap_or_else(|error| panic!("{compiler}: {error}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Compiles a policy, given by its path in the repository, and returns the shared object.
pub fn compile(source: &str) -> PathBuf {
    static COMPILING: Mutex<()> = Mutex::new(());
    let _guard = COMPILING.lock();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let name = Path::new(source).file_stem().unwrap().display();
    let (written, object) =
        (folder.join(format!("{name}.{}", process::id())), folder.join(format!("{name}.so")));
    cc(&["-fPIC", "-shared"], source, &written);
    // Replaces it in one step: another test may have it open.
    fs::rename(written, &object).expect("the folder of the tests can be written");
    object
}

/// A policy that was compiled and opened, with its own state. The meaning of its getters' results is up to the
/// policy.
pub struct Program {
    object: libloading::Library,
    turn: Turn,
    state: *mut c_void,
    settings: String,
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: as include/hls_scheduler.h says, the caller frees it when there are no more turns.
        unsafe { free(self.state) };
    }
}

impl Program {
    /// Opens the result of `compile`. The settings are the value of `HLS_SETTINGS` in the environment.
    pub fn open(object: &Path, settings: &str) -> Program {
        // SAFETY: `compile` has made the object, without initialisers.
        let object = unsafe { libloading::Library::new(object) }.expect("the object can be opened");
        // SAFETY: the type is the one in include/hls_scheduler.h.
        let turn = *unsafe { object.get::<Turn>(b"hls_agent_turn\0") }.expect("it exports its turn");
        Program { object, turn, state: ptr::null_mut(), settings: settings.to_owned() }
    }

    /// A turn of the policy.
    pub fn turn(&mut self, kernel: &KernelPage, user: &mut UserPage) {
        static ENVIRONMENT: Mutex<()> = Mutex::new(());
        let guard = self.state.is_null().then(|| ENVIRONMENT.lock());
        if guard.is_some() {
            // SAFETY: all code of this program that reads or writes the environment holds the lock.
            unsafe { env::set_var("HLS_SETTINGS", &self.settings) };
        }
        // SAFETY: the function is the one of hls_scheduler.h: it reads and writes the pages and its own state.
        unsafe { (self.turn)(kernel, user, &mut self.state) };
    }

    /// The result of a function of the policy, `u64 name(const void *state, u64 argument)`, about its state after a
    /// turn.
    pub fn asked(&self, name: &str, argument: u64) -> u64 {
        type Getter = unsafe extern "C" fn(*const c_void, u64) -> u64;
        assert!(!self.state.is_null(), "it had no turn yet");
        // SAFETY: the type is as this function's text says, and the state is the policy's.
        unsafe { self.object.get::<Getter>(name.as_bytes()).expect("there is one")(self.state, argument) }
    }
}

/// A turn that takes time: the user page as the agent found it, and as the agent will leave it.
struct Thinking {
    before: UserPage,
    after: UserPage,
    /// The agent's total CPU time at the end of the turn.
    until: Nanos,
}

/// A machine of one or more CPUs; its root is a scheduler of the policy `user-level`, with an agent.
pub struct World {
    pub machine: Machine,
    pub scheduler: CoreScheduler,
    pub agent: CoreVp,
    pub program: Program,
    /// How much CPU time a turn takes.
    pub turn_takes: Nanos,
    /// The number of turns so far.
    pub turns: u64,
    /// Stale decisions.
    pub stale: u64,
    /// The kernel page as the agent found it at its last turn.
    pub found: KernelPage,
    /// Called at each turn with the pages that the policy found, and the user page that it left.
    pub observer: Option<Observer>,
    thinking: Option<Thinking>,
    children: u64,
}

type Observer = Box<dyn FnMut(&KernelPage, &UserPage, &UserPage)>;

impl World {
    /// A world of one CPU, with an allowance for the agent, in milliseconds in every 10 ms.
    pub fn new(program: Program, allowance: u64) -> World {
        World::with_cpus(1, program, allowance)
    }

    /// The same with more CPUs; the scheduler has all of them.
    pub fn with_cpus(cpus: u16, program: Program, allowance: u64) -> World {
        let mut world = World::without_turns(cpus, program, allowance);
        world.begin();
        world
    }

    /// The same before the agent's first turn.
    pub fn without_turns(cpus: u16, program: Program, allowance: u64) -> World {
        let mut machine = Machine::new(cpus, None);
        let scheduler = machine.root("user-level", &[allowance * MS, 10 * MS, 0]);
        let agent = machine.core.attach(scheduler, None, Params::from_slice(&[0, 0, 1000])).unwrap();
        let found = *machine.core.kernel_page(scheduler).expect("it has pages");
        World {
            machine,
            scheduler,
            agent,
            program,
            turn_takes: Nanos(0),
            turns: 0,
            stale: 0,
            found,
            observer: None,
            thinking: None,
            children: 0,
        }
    }

    /// The agent's first turn.
    pub fn begin(&mut self) {
        self.machine.core.request(self.agent, self.machine.now);
        self.settle();
    }

    /// A thread in this slot, asleep; its urgency by the hierarchy is its slot, the greatest the last.
    pub fn thread(&mut self, slot: u64) -> CoreVp {
        self.children += 1;
        let params = Params::from_slice(&[0, slot, 1000 + self.children]);
        let vp = self.machine.core.attach(self.scheduler, None, params).unwrap();
        self.settle();
        vp
    }

    /// Makes all decisions that are due, with timers and the agent's turns.
    pub fn settle(&mut self) {
        for round in 0.. {
            assert!(round < 10_000, "at {}: turns without end", self.machine.now);
            self.pass_to(self.machine.now);
            if !self.machine.running.contains(&Some(self.agent)) {
                break;
            }
            let ran = self.machine.core.ran(self.agent, self.machine.now);
            let thinking = self.thinking.take().unwrap_or_else(|| self.begin_turn(ran));
            if ran < thinking.until {
                self.thinking = Some(thinking);
                break;
            }
            self.end_turn(&thinking);
        }
    }

    /// Lets time pass while the agent writes nothing, and makes all decisions that are due. A decision in the page
    /// that did not take the last event into account at the beginning is not followed.
    fn pass_to(&mut self, end: Nanos) {
        let events = self.machine.core.kernel_page(self.scheduler).expect("it has pages").events;
        let decision = self.machine.core.user_page(self.scheduler).expect("it has pages").next[0];
        let before = self.machine.core.decided(self.scheduler).expect("it has pages");
        self.machine.settled();
        ByHand::run_to(&mut self.machine, end);
        let after = self.machine.core.decided(self.scheduler).expect("it has pages");
        let is_loose = decision & 0x2000 != 0;
        if decision >> 16 < events && !is_loose && self.machine.cpus == 1 {
            assert_eq!(
                after.followed, before.followed,
                "at {}: {decision:#x} after {events}",
                self.machine.now
            );
            self.stale += after.stale - before.stale;
        }
    }

    fn begin_turn(&mut self, ran: Nanos) -> Thinking {
        self.found = *self.machine.core.kernel_page(self.scheduler).expect("it has pages");
        let before = *self.machine.core.user_page(self.scheduler).expect("it has pages");
        let mut after = before;
        self.program.turn(&self.found, &mut after);
        self.turns += 1;
        if let Some(observer) = &mut self.observer {
            observer(&self.found, &before, &after);
        }
        Thinking { before, after, until: ran + self.turn_takes }
    }

    /// Writes what the turn has changed, and parks.
    fn end_turn(&mut self, turn: &Thinking) {
        for place in 0..UserWord::COUNT {
            let (before, mut after) = (user_words(&turn.before)[place], user_words(&turn.after)[place]);
            let mut is_written = before != after;
            if place == UserWord::Touched.place() {
                // The program adds bits to the present ones: the engine may have cleared some meanwhile.
                after |= self.machine.core.user_page(self.scheduler).unwrap().touched;
                is_written = after != 0;
            }
            if is_written {
                self.machine.core.write_page(self.scheduler, UserWord::At(place), after).unwrap();
            }
        }
        self.machine.core.yield_now(self.agent, self.machine.now);
    }

    /// Whether the agent is in the middle of a turn.
    pub fn is_thinking(&self) -> bool {
        self.thinking.is_some()
    }

    /// The time of the next due event.
    fn due(&mut self) -> Nanos {
        let ran = self.machine.core.ran(self.agent, self.machine.now);
        let runs = self.machine.running.contains(&Some(self.agent));
        let thinking = self.thinking.as_ref().filter(|_| runs);
        let done = thinking.map_or(Nanos::MAX, |thinking| self.machine.now + (thinking.until - ran));
        self.machine.due().min(done)
    }

    /// Lets time pass, with all events that are due in it.
    pub fn run_to(&mut self, end: Nanos) {
        loop {
            let next = self.due().min(end);
            self.pass_to(next);
            self.settle();
            if next == end && self.due() > end {
                break;
            }
        }
    }

    pub fn wake(&mut self, vp: CoreVp) {
        self.machine.core.request(vp, self.machine.now);
        self.settle();
    }

    pub fn block(&mut self, vp: CoreVp) {
        self.machine.core.release(vp, self.machine.now);
        self.settle();
    }

    pub fn yield_now(&mut self, vp: CoreVp) {
        self.machine.core.yield_now(vp, self.machine.now);
        self.settle();
    }

    /// Removes the thread.
    pub fn remove(&mut self, vp: CoreVp) {
        self.machine.core.detach(vp, self.machine.now).unwrap();
        self.settle();
    }

    /// Which of the threads are running, in their order: `a`, `b`, `c` ...
    pub fn running(&self, threads: &[CoreVp]) -> String {
        let runs = |vp: &CoreVp| self.machine.running.contains(&Some(*vp));
        (b'a'..).zip(threads).filter(|(_, vp)| runs(vp)).map(|(letter, _)| char::from(letter)).collect()
    }

    /// Which thread runs on the first CPU in each of the next milliseconds: `a`, `b`, `c` ..., or none (`.`).
    pub fn timeline(&mut self, threads: &[CoreVp], length: u64) -> String {
        let millisecond = |_| {
            let nth = threads.iter().position(|&thread| self.machine.running[0] == Some(thread));
            self.run_to(self.machine.now + Nanos(MS));
            nth.map_or('.', |nth| char::from(b'a' + nth as u8))
        };
        (0..length).map(millisecond).collect()
    }
}

/// The words of a kernel page.
pub fn kernel_words(page: &KernelPage) -> &[u64; size_of::<KernelPage>() / 8] {
    // SAFETY: the page consists of this number of words, without gaps.
    unsafe { &*ptr::from_ref(page).cast() }
}

/// The words of a user page.
pub fn user_words(page: &UserPage) -> &[u64; UserWord::COUNT] {
    // SAFETY: as above.
    unsafe { &*ptr::from_ref(page).cast() }
}
