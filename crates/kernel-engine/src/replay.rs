//! Plays tapes on the core's BPF build, in the running kernel: `bpf/replay.bpf.c`.
//!
//! The arena contains the domain, followed by room for a part of a tape: longer tapes are played part by part. Relies
//! on nothing but BPF and its arenas; attaches to nothing.

use crate::Error;
use crate::object::Loaded;
use crate::pages::{PageMaps, Pages};
use hls_core::pages::MAX_PAGES;
use hls_core::{Call, Core, Unsound};
use std::num::NonZero;
use std::time::{Duration, Instant};

/// The object, compiled by `build.rs`.
static OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/replay.bpf.o"));

/// How many calls of a tape are in the arena at once.
const PART: usize = 1 << 16;

/// The programs that make the calls. Each returns at the first call that it leaves out, or when the kernel ends its
/// loop because it takes too long.
const PROGRAMS: [&str; 2] = ["replay_changes", "replay_events"];

/// A root domain in the kernel, and the means to play tapes on it.
pub struct Replay {
    loaded: Loaded,
    /// The pages of all numbers, from 1 on.
    pages: Vec<Pages>,
}

impl Replay {
    /// Loads the core into the kernel, with an empty domain. [`Error::NotAllowed`] if that is not allowed here.
    pub fn new() -> Result<Replay, Error> {
        Replay::of(OBJECT)
    }

    /// Like [`Replay::new`], but with another build of `bpf/replay.bpf.c`, such as one with further policies.
    /// [`Error::Refused`] if the kernel's verifier refuses it.
    pub fn of(object: &[u8]) -> Result<Replay, Error> {
        let loaded = Loaded::new(object)?;
        let page_maps = PageMaps::of(&loaded)?;
        let numbers = (1..=MAX_PAGES as u8).filter_map(NonZero::new);
        let pages = numbers.map(|number| page_maps.make(number)).collect::<Result<_, _>>()?;
        let mut replay = Replay { loaded, pages };
        let (found, expected) = (replay.loaded.arena().len(), tape_at() + size_of::<[Call; PART]>());
        if found < expected {
            return Err(Error::Failed(format!("found an arena of {found} bytes, expected {expected}")));
        }
        replay.clear();
        replay.part().fill(Call::default());
        Ok(replay)
    }

    /// Makes the domain an empty one again.
    pub fn clear(&mut self) {
        self.loaded.arena_mut()[..Core::size_without_pages()].fill(0);
    }

    /// All bytes of the domain, as [`Core::memory`] gives the bytes of a native domain.
    pub fn memory(&self) -> &[u8] {
        &self.loaded.arena()[..Core::size_without_pages()]
    }

    /// The pages of this number.
    pub fn pages(&self, number: NonZero<u8>) -> &Pages {
        &self.pages[usize::from(number.get()) - 1]
    }

    /// Makes the calls of a tape, in order, and writes their results into it. Returns how long the kernel took. A tape
    /// with a call that is not sound is not played at all.
    pub fn play(&mut self, tape: &mut [Call]) -> Result<Duration, Error> {
        Unsound::first_of(tape).map_err(Error::Unsound)?;
        let mut took = Duration::ZERO;
        for calls in tape.chunks_mut(PART) {
            self.part()[..calls.len()].copy_from_slice(calls);
            let begin = Instant::now();
            self.play_part(calls.len())?;
            took += begin.elapsed();
            calls.copy_from_slice(&self.part()[..calls.len()]);
        }
        Ok(took)
    }

    /// The room for a part of a tape.
    fn part(&mut self) -> &mut [Call] {
        let bytes = &mut self.loaded.arena_mut()[tape_at()..][..size_of::<[Call; PART]>()];
        // SAFETY: the arena begins at a page and `tape_at` is aligned within it, so the bytes are aligned for [`Call`],
        // and any bytes are a valid [`Call`].
        unsafe { std::slice::from_raw_parts_mut(bytes.as_mut_ptr().cast(), PART) }
    }

    /// Plays the first `calls` calls of the part of a tape that is in the arena.
    fn play_part(&mut self, calls: usize) -> Result<(), Error> {
        let (domain, tape) = (self.loaded.address(), self.loaded.address() + tape_at() as u64);
        // struct replay
        let mut context = [domain, tape, calls as u64, 0].map(u64::to_ne_bytes);
        let played = |context: [[u8; 8]; 4]| u64::from_ne_bytes(context[3]) as usize;
        while played(context) < calls {
            let before = played(context);
            for program in PROGRAMS {
                self.loaded.run(program, context.as_flattened_mut())?;
            }
            if played(context) == before {
                let what = format!("the kernel made no call after {before} of {calls}");
                return Err(Error::Failed(what));
            }
        }
        Ok(())
    }
}

/// Where in the arena the part of a tape is: behind the domain.
fn tape_at() -> usize {
    Core::size_without_pages().next_multiple_of(align_of::<Call>())
}
