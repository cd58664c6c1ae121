//! The exploration of a model's states, breadth first: each state that a sequence of events can reach, once; what must
//! hold checked in it; and the first sequence that breaks it, which is a shortest one.
//!
//! A sequence is a list of events and, between them, of steps that are due. Events are counted: a sequence has up to
//! `length` of them. Steps are not: between two events any steps that are due may be taken, or none. States with the
//! same key have the same futures, and only one of them is explored. That is tested, too: some states with a known key
//! (twins) are explored as well, and each step must lead to the same key as in the state that was explored.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

/// What is explored: it is in one state at a time.
pub trait Model {
    /// A copy of its state.
    type State;
    /// An event, or a step.
    type Step: Copy;

    /// Copies the state that it is in.
    fn state(&self) -> Self::State;

    /// The same, into the memory of another copy.
    fn state_into(&self, other: &mut Self::State);

    /// Puts it into a state.
    fn set(&mut self, state: &Self::State);

    /// The key of its state.
    fn key(&mut self) -> u128;

    /// Lists the events that may happen now.
    fn list_events(&mut self, steps: &mut Vec<Self::Step>);

    /// Lists the steps that are due now.
    fn list_due(&mut self, steps: &mut Vec<Self::Step>);

    /// What an event or a step does in the state that it is in, in words.
    fn describe(&self, step: Self::Step) -> String;

    /// Lets an event happen, or takes a step; an error says what is broken.
    fn perform(&mut self, step: Self::Step) -> Result<(), String>;

    /// Checks what must hold in this state; an error says what does not.
    fn check(&mut self) -> Result<(), String>;
}

/// How far to go.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Events of a sequence, at most.
    pub length: usize,
    /// One of this many states with a known key is explored as well; 0: none.
    pub twin_of: u64,
}

/// What an exploration has seen.
#[derive(Clone, Debug, Default)]
pub struct Explored {
    /// Sequences, of as many events as the bound or fewer.
    pub sequences: u128,
    /// States with different keys.
    pub states: u64,
    /// Events that happened and steps that were taken, one at a time.
    pub steps: u64,
    /// Twins that were compared with the explored states.
    pub twins: u64,
    /// The first sequence that breaks something: its steps in words.
    pub violation: Option<Violation>,
}

impl Explored {
    /// Adds what another exploration has seen.
    pub fn add(&mut self, other: &Explored) {
        self.sequences += other.sequences;
        self.states += other.states;
        self.steps += other.steps;
        self.twins += other.twins;
    }
}

/// A sequence that breaks something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which of the starts it begins with.
    pub start: usize,
    /// What is chosen, in order.
    pub choices: Vec<Choice>,
    /// The same in words.
    pub steps: Vec<String>,
    /// What is broken then.
    pub what: String,
}

/// Makes a key of a state's numbers: 128 bits, so that no two of some billions of states have the same one by chance.
#[derive(Clone, Copy)]
pub struct Digest(u64, u64);

impl Default for Digest {
    fn default() -> Digest {
        Digest(0x9e37_79b9_7f4a_7c15, 0xd1b5_4a32_d192_ed03)
    }
}

fn mix(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product ^ (product >> 64)) as u64
}

impl Digest {
    /// Adds a number.
    pub fn add(&mut self, number: u64) {
        self.0 = mix(self.0 ^ number, 0xa076_1d64_78bd_642f) ^ self.0.rotate_left(23);
        self.1 = mix(self.1 ^ number, 0xe703_7ed1_a0b4_28db) ^ self.1.rotate_left(41);
    }

    /// The key.
    pub fn key(self) -> u128 {
        u128::from(mix(self.0, 0x8ebc_6af0_9c88_c6e3)) << 64 | u128::from(mix(self.1, 0x5899_65cc_7537_4cc3))
    }
}

/// Takes a part of a key as it is.
#[derive(Default)]
struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        let mut word = [0; 8];
        let length = bytes.len().min(8);
        word[..length].copy_from_slice(&bytes[..length]);
        self.0 = u64::from_ne_bytes(word);
    }
}

/// A state's number: the order in which the states were found.
type Number = u32;

/// For each state the states that one step leads to, in the order of the model's list.
#[derive(Default)]
struct Edges {
    /// Where in `to` the states behind a state begin, and how many there are.
    of: Vec<(u32, u16)>,
    to: Vec<Number>,
}

impl Edges {
    fn set(&mut self, from: Number, to: &[Number]) {
        if to.is_empty() {
            return;
        }
        self.of.resize(self.of.len().max(from as usize + 1), (0, 0));
        self.of[from as usize] = (self.to.len() as u32, to.len() as u16);
        self.to.extend(to);
    }

    fn of(&self, from: Number) -> &[Number] {
        let (at, length) = self.of.get(from as usize).copied().unwrap_or_default();
        &self.to[at as usize..at as usize + usize::from(length)]
    }
}

/// Which of the lists of a model, and the place in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    is_event: bool,
    at: u16,
}

impl Choice {
    /// The event or the step that was chosen; `None`: the model's list in this state is shorter.
    pub fn of<M: Model>(self, model: &mut M) -> Option<M::Step> {
        let mut steps = vec![];
        if self.is_event {
            model.list_events(&mut steps)
        } else {
            model.list_due(&mut steps)
        }
        steps.get(usize::from(self.at)).copied()
    }
}

/// Where a state was found: by which step from which other; `None`: it is a start.
type FoundBy = Option<(Number, Choice)>;

/// What an exploration remembers. The next one may use its memory.
pub struct Memory<S> {
    seen: HashMap<u128, Number, BuildHasherDefault<KeyHasher>>,
    found_by: Vec<FoundBy>,
    events: Edges,
    due: Edges,
    /// States with a known key, each with the number of the state that has the key already.
    twins: Vec<(Number, S)>,
    /// States that are not needed any more.
    spare: Vec<S>,
}

impl<S> Default for Memory<S> {
    fn default() -> Memory<S> {
        Memory {
            seen: HashMap::default(),
            found_by: vec![],
            events: Edges::default(),
            due: Edges::default(),
            twins: vec![],
            spare: vec![],
        }
    }
}

impl<S> Memory<S> {
    fn forget(&mut self) {
        self.seen.clear();
        self.found_by.clear();
        self.twins.clear();
        for edges in [&mut self.events, &mut self.due] {
            edges.of.clear();
            edges.to.clear();
        }
    }
}

/// An exploration under way.
struct Exploration<'m, M: Model> {
    model: &'m mut M,
    memory: &'m mut Memory<M::State>,
    starts: &'m [M::State],
    fewest_first: bool,
    twin_of: u64,
    known: u64,
    /// Whether the last event has happened: only steps that are due follow.
    is_last: bool,
    explored: Explored,
}

/// At most this many states behind the last event are followed at a time: to have all of them takes too much memory.
const AT_ONCE: usize = 1 << 14;

/// Explores all sequences from these starts. Steps are followed to their end first, which takes less memory; what is
/// broken is then looked for again, the fewest steps first. (Where more than [`AT_ONCE`] states follow the last event,
/// the fewest steps among that many.)
pub fn explore<M: Model>(
    model: &mut M,
    memory: &mut Memory<M::State>,
    starts: &[M::State],
    bounds: Bounds,
) -> Explored {
    let mut explored = explore_in_order(model, memory, starts, bounds, false);
    if explored.violation.is_some() {
        let again = explore_in_order(model, memory, starts, bounds, true);
        explored.violation = again.violation.or(explored.violation);
    }
    explored
}

fn explore_in_order<M: Model>(
    model: &mut M,
    memory: &mut Memory<M::State>,
    starts: &[M::State],
    bounds: Bounds,
    fewest_first: bool,
) -> Explored {
    memory.forget();
    let mut exploration = Exploration {
        model,
        memory,
        starts,
        fewest_first,
        twin_of: bounds.twin_of,
        known: 0,
        is_last: false,
        explored: Explored::default(),
    };
    let violation = exploration.run(bounds.length).err().map(|broken| exploration.in_words(broken));
    exploration.explored.states = exploration.memory.found_by.len() as u64;
    exploration.explored.violation = violation;
    exploration.explored
}

/// What is broken, and how: by the last step from a state, if by any.
struct Broken {
    from: FoundBy,
    what: String,
}

impl<M: Model> Exploration<'_, M> {
    fn run(&mut self, length: usize) -> Result<(), Broken> {
        let mut level = vec![];
        for at in 0..self.starts.len() {
            self.model.set(&self.starts[at]);
            self.arrive(None, &mut level)?;
        }
        let firsts: Vec<Number> = level.iter().map(|(number, _)| *number).collect();
        for events in 0..=length {
            let is_last = events == length;
            level = self.take_due_steps(level, is_last)?;
            let end = self.memory.found_by.len() as Number;
            let mut next = vec![];
            self.is_last = events + 1 == length;
            // They wait until all events from their states are known.
            let mut earlier = std::mem::take(&mut self.memory.twins);
            for (number, state) in level {
                let to = self.follow(number, &state, true, &mut next)?;
                self.memory.events.set(number, &to);
                self.memory.spare.push(state);
                if self.is_last && next.len() >= AT_ONCE {
                    self.take_due_steps(std::mem::take(&mut next), true)?;
                    self.compare_twins(self.memory.found_by.len() as Number, true)?;
                }
            }
            self.memory.twins.append(&mut earlier);
            self.compare_twins(end, is_last)?;
            level = next;
        }
        self.explored.sequences = self.count_sequences(&firsts, length)?;
        Ok(())
    }

    /// Takes all steps that are due in the states of a level, and in those that follow. Returns all these states; for
    /// the last level, from which no event leads on, none.
    fn take_due_steps(
        &mut self,
        level: Vec<(Number, M::State)>,
        is_last: bool,
    ) -> Result<Vec<(Number, M::State)>, Broken> {
        let (mut all, mut left) = (vec![], VecDeque::from(level));
        while let Some((number, state)) = if self.fewest_first { left.pop_front() } else { left.pop_back() } {
            let mut found = vec![];
            let to = self.follow(number, &state, false, &mut found)?;
            self.memory.due.set(number, &to);
            left.extend(found);
            if is_last {
                self.memory.spare.push(state);
            } else {
                all.push((number, state));
            }
        }
        Ok(all)
    }

    fn list(&mut self, is_event: bool) -> Vec<M::Step> {
        let mut steps = vec![];
        if is_event {
            self.model.list_events(&mut steps)
        } else {
            self.model.list_due(&mut steps)
        }
        steps
    }

    /// Lets each event happen in a state, or takes each step that is due; returns the states that follow.
    fn follow(
        &mut self,
        from: Number,
        state: &M::State,
        is_event: bool,
        new: &mut Vec<(Number, M::State)>,
    ) -> Result<Vec<Number>, Broken> {
        self.model.set(state);
        let steps = self.list(is_event);
        let mut to = Vec::with_capacity(steps.len());
        for (at, step) in (0..).zip(steps) {
            if at > 0 {
                self.model.set(state);
            }
            let from = Some((from, Choice { is_event, at }));
            self.explored.steps += 1;
            self.model.perform(step).map_err(|what| Broken { from, what })?;
            to.push(self.arrive(from, new)?);
        }
        Ok(to)
    }

    /// The model has come to a state: gives the state a number, and checks it if it is new.
    fn arrive(&mut self, from: FoundBy, new: &mut Vec<(Number, M::State)>) -> Result<Number, Broken> {
        let key = self.model.key();
        let next = self.memory.found_by.len() as Number;
        let number = *self.memory.seen.entry(key).or_insert(next);
        if number == next {
            self.memory.found_by.push(from);
            self.model.check().map_err(|what| Broken { from, what })?;
            if self.goes_on() {
                new.push((number, self.copy()));
            }
        } else {
            self.known += 1;
            if self.twin_of > 0 && self.known.is_multiple_of(self.twin_of) && self.goes_on() {
                let twin = self.copy();
                self.memory.twins.push((number, twin));
            }
        }
        Ok(number)
    }

    fn copy(&mut self) -> M::State {
        match self.memory.spare.pop() {
            Some(mut state) => {
                self.model.state_into(&mut state);
                state
            }
            None => self.model.state(),
        }
    }

    /// Whether anything follows the state that the model is in.
    fn goes_on(&mut self) -> bool {
        !self.is_last || !self.list(false).is_empty()
    }

    /// Whether twins have the futures of the states that were explored, one event or step ahead. The states with
    /// numbers below `end` were explored; twins of others wait.
    fn compare_twins(&mut self, end: Number, is_last: bool) -> Result<(), Broken> {
        for (number, state) in std::mem::take(&mut self.memory.twins) {
            if number >= end {
                self.memory.twins.push((number, state));
                continue;
            }
            let expected = self.memory.due.of(number).to_vec();
            self.compare(number, &state, false, &expected)?;
            if !is_last {
                let expected = self.memory.events.of(number).to_vec();
                self.compare(number, &state, true, &expected)?;
            }
            self.memory.spare.push(state);
            self.explored.twins += 1;
        }
        Ok(())
    }

    fn compare(
        &mut self,
        number: Number,
        state: &M::State,
        is_event: bool,
        expected: &[Number],
    ) -> Result<(), Broken> {
        self.model.set(state);
        let steps = self.list(is_event);
        let differ = |at| Broken {
            from: Some((number, Choice { is_event, at })),
            what: "two states have the same key, and this step leads them to different ones".to_owned(),
        };
        if steps.len() != expected.len() {
            return Err(differ(steps.len().min(expected.len()) as u16));
        }
        for ((at, step), expected) in (0..).zip(steps).zip(expected) {
            self.model.set(state);
            self.explored.steps += 1;
            let done = self.model.perform(step);
            if done.is_err() || self.memory.seen.get(&self.model.key()) != Some(expected) {
                return Err(differ(at));
            }
        }
        Ok(())
    }

    /// The sequence that breaks something, in words.
    fn in_words(&mut self, broken: Broken) -> Violation {
        let mut choices = vec![];
        let mut from = broken.from;
        let mut first = 0;
        while let Some((number, choice)) = from {
            choices.push(choice);
            first = number;
            from = self.memory.found_by[number as usize];
        }
        let starts = self.memory.found_by.iter().enumerate().filter(|(_, found_by)| found_by.is_none());
        let start = starts.map(|(number, _)| number).position(|number| number == first as usize);
        let start = start.unwrap_or_default();
        let mut steps = vec![];
        if let Some(state) = self.starts.get(start) {
            self.model.set(state);
        }
        choices.reverse();
        for choice in &choices {
            let Some(step) = choice.of(self.model) else { break };
            steps.push(self.model.describe(step));
            let _broken = self.model.perform(step);
        }
        Violation { start, choices, steps, what: broken.what }
    }

    /// How many sequences there are, of up to `length` events.
    fn count_sequences(&self, firsts: &[Number], length: usize) -> Result<u128, Broken> {
        let order = self.order_of_due_steps()?;
        let mut ways = vec![0u128; self.memory.found_by.len()];
        firsts.iter().for_each(|first| ways[*first as usize] += 1);
        let mut all = 0u128;
        for events in 0..=length {
            for from in &order {
                for to in self.memory.due.of(*from) {
                    ways[*to as usize] += ways[*from as usize];
                }
            }
            all += ways.iter().sum::<u128>();
            if events < length {
                ways = self.one_event_later(&ways);
            }
        }
        Ok(all)
    }

    fn one_event_later(&self, ways: &[u128]) -> Vec<u128> {
        let mut later = vec![0; ways.len()];
        for (from, ways) in ways.iter().enumerate().filter(|(_, ways)| **ways > 0) {
            self.memory.events.of(from as Number).iter().for_each(|to| later[*to as usize] += ways);
        }
        later
    }

    /// The states in an order in which no step that is due leads back. There must be one: else steps would follow each
    /// other without end while nothing happens.
    fn order_of_due_steps(&self) -> Result<Vec<Number>, Broken> {
        let count = self.memory.found_by.len();
        let mut before = vec![0u32; count];
        for from in 0..count as Number {
            self.memory.due.of(from).iter().for_each(|to| before[*to as usize] += 1);
        }
        let mut order: Vec<Number> =
            (0..count as Number).filter(|number| before[*number as usize] == 0).collect();
        let mut at = 0;
        while at < order.len() {
            for to in self.memory.due.of(order[at]) {
                before[*to as usize] -= 1;
                if before[*to as usize] == 0 {
                    order.push(*to);
                }
            }
            at += 1;
        }
        let endless = (0..count as Number).find(|number| before[*number as usize] > 0);
        let what = "steps follow each other without end while nothing happens".to_owned();
        endless.map_or(Ok(order), |number| Err(Broken { from: self.memory.found_by[number as usize], what }))
    }
}

#[cfg(test)]
mod tests;
