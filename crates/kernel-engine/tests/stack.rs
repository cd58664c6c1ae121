//! How near the chains of functions in the BPF objects come to the limits of the kernel's verifier: 512 bytes of stack,
//! and 8 functions; 256 functions a program. `stack.txt` has the longest chains of programs, and shows the cost of a
//! change of a frame; the number of functions is rounded up to tens there, so that a new function seldom changes the
//! file.
//!
//! As `check_max_stack_depth` of the verifier does it, for the engine with the standard policies and the engine with
//! all. The frame of a function reaches down to the lowest place below register 10 that it writes, or that it
//! computes the address of, and is rounded up to 16 bytes, as for programs that are compiled to machine code. Functions
//! that the kernel calls back (timers) begin a chain of their own.
//!
//! On kernels with private stacks, tracing programs, and sched_ext programs that ask for one, have a private stack:
//! frames of 64 bytes and more lie there, and only smaller ones count in the chain. Kernels with the sched_ext that
//! the engine needs count functions anew from each global function on; the object that plays tapes is also for older
//! kernels, which count all functions.

use hls_golden::assert_golden;
use object::read::elf::ElfFile64;
use object::{Endianness, Object, ObjectSection, ObjectSymbol, RelocationTarget, SectionIndex, SymbolKind};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

/// The objects, and whether all functions of a chain count, or only those from the last global one on.
const OBJECTS: [(&str, bool, &[u8]); 3] = [
    ("standard", false, include_bytes!(concat!(env!("OUT_DIR"), "/standard.bpf.o"))),
    ("all", false, include_bytes!(concat!(env!("OUT_DIR"), "/all.bpf.o"))),
    ("replay", true, include_bytes!(concat!(env!("OUT_DIR"), "/replay.bpf.o"))),
];

const MOST_BYTES: u64 = 512;
const MOST_FUNCTIONS: usize = 8;
const MOST_IN_A_PROGRAM: usize = 256;
const ROUNDED_TO: u64 = 16;

/// A frame of this size or more lies on the private stack, if the program has one.
const PRIVATE_FROM: u64 = 64;

/// The sections of programs that have a private stack: tracing programs, and the sched_ext operation that asks for
/// one because operations of schedulers may be nested.
const PRIVATE: [&str; 2] = ["tp_btf/", "struct_ops/engine_dispatch"];

/// A place in the code: a section, and the offset in it.
type Place = (usize, u64);

#[derive(Default)]
struct Function {
    name: String,
    /// The section of a program; a function in `.text` is part of the programs that call it.
    section: String,
    is_global: bool,
    bytes: u64,
    calls: BTreeSet<Place>,
    /// The functions that it gives to the kernel as callbacks.
    callbacks: BTreeSet<Place>,
}

/// A chain of calls: how many bytes it takes, and its functions.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Chain {
    bytes: u64,
    functions: Vec<Place>,
}

type Elf<'f> = ElfFile64<'f, Endianness>;
type Functions = BTreeMap<Place, Function>;

const LENGTH: usize = 8;
const CALL: u8 = 0x85;
const LOAD_LONG: u8 = 0x18;
const MOVE: u8 = 0xbf;
const ADD: u8 = 0x07;
const FRAME: u8 = 10;

/// How far below register 10 the code of a function reaches. After `rN = r10; rN += -M` it may reach M.
fn reach(code: &[u8]) -> u64 {
    let mut lowest: i64 = 0;
    let mut copies = [false; 16];
    copies[usize::from(FRAME)] = true;
    for instruction in code.chunks_exact(LENGTH) {
        let (to, from) = (instruction[1] & 15, instruction[1] >> 4);
        let offset = i64::from(i16::from_le_bytes([instruction[2], instruction[3]]));
        let number = i64::from(i32::from_le_bytes(instruction[4..].try_into().expect("4 bytes")));
        let opcode = instruction[0];
        let [loads, stores] = [opcode & 7 == 1, matches!(opcode & 7, 2 | 3)];
        if (loads && from == FRAME) || (stores && to == FRAME) {
            lowest = lowest.min(offset);
        } else if opcode == MOVE {
            copies[usize::from(to)] = from == FRAME;
        } else if opcode == ADD && copies[usize::from(to)] {
            lowest = lowest.min(number);
        }
    }
    lowest.unsigned_abs()
}

/// All functions with their frames.
fn frames(elf: &Elf) -> Functions {
    let mut functions = Functions::new();
    for symbol in elf.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0) {
        let index = symbol.section_index().expect("it is defined");
        let section = elf.section_by_index(index).expect("it is there");
        let code = section.data_range(symbol.address(), symbol.size()).unwrap().expect("it has code");
        functions.insert(
            (index.0, symbol.address()),
            Function {
                name: symbol.name().expect("it is text").into(),
                section: section.name().expect("it is text").into(),
                is_global: symbol.is_global(),
                bytes: reach(code).next_multiple_of(ROUNDED_TO),
                ..Function::default()
            },
        );
    }
    functions
}

/// The function to which the relocation of an instruction in a section refers, if it is a function.
fn referred_to(
    elf: &Elf,
    functions: &Functions,
    target: RelocationTarget,
    instruction: &[u8],
) -> Option<Place> {
    let RelocationTarget::Symbol(index) = target else { return None };
    let symbol = elf.symbol_by_index(index).expect("it is there");
    let number = i64::from(i32::from_le_bytes(instruction[4..8].try_into().expect("4 bytes")));
    // For a section's own symbol the instruction has the offset: a call counts it in instructions after itself, a
    // load in bytes.
    let behind = match (symbol.kind(), instruction[0]) {
        (SymbolKind::Section, CALL) => (number + 1) * LENGTH as i64,
        (SymbolKind::Section, _) => number,
        _ => 0,
    };
    let place = (symbol.section_index()?.0, symbol.address().wrapping_add_signed(behind));
    functions.contains_key(&place).then_some(place)
}

/// All functions with their frames, and with what they call.
fn functions(file: &[u8]) -> Functions {
    let elf = Elf::parse(file).expect("it is an ELF file");
    let mut functions = frames(&elf);
    for section in elf.sections() {
        let SectionIndex(index) = section.index();
        let code = section.data().expect("it has code");
        for (at, relocation) in section.relocations() {
            let Some((&caller, _)) = functions.range(..=(index, at)).next_back() else { continue };
            if caller.0 != index {
                continue;
            }
            let instruction = &code[at as usize..][..LENGTH];
            let Some(place) = referred_to(&elf, &functions, relocation.target(), instruction) else {
                continue;
            };
            let function = functions.get_mut(&caller).expect("it was found");
            match instruction[0] {
                CALL => function.calls.insert(place),
                LOAD_LONG => function.callbacks.insert(place),
                opcode => panic!("{}: found {opcode:#x}, expected a call", function.name),
            };
        }
    }
    functions
}

/// The longest chains that begin with a function.
struct Longest<'f> {
    functions: &'f Functions,
    is_private: bool,
    known: BTreeMap<Place, Chain>,
}

impl Longest<'_> {
    fn from(&mut self, place: Place, above: &mut Vec<Place>) -> Chain {
        assert!(!above.contains(&place), "{} calls itself", self.functions[&place].name);
        if let Some(known) = self.known.get(&place) {
            return known.clone();
        }
        above.push(place);
        let function = &self.functions[&place];
        let mut longest =
            function.calls.iter().map(|&callee| self.from(callee, above)).max().unwrap_or_default();
        above.pop();
        let is_elsewhere = self.is_private && function.bytes >= PRIVATE_FROM;
        longest.bytes += if is_elsewhere { 0 } else { function.bytes };
        longest.functions.insert(0, place);
        self.known.insert(place, longest.clone());
        longest
    }
}

/// The longest chain of each program, and of each callback; the longest first.
fn chains(functions: &Functions) -> Vec<Chain> {
    let called_back: BTreeSet<Place> =
        functions.values().flat_map(|function| &function.callbacks).copied().collect();
    let mut chains = Vec::new();
    for (place, function) in functions {
        if function.section != ".text" || called_back.contains(place) {
            let is_private = PRIVATE.iter().any(|private| function.section.starts_with(private));
            chains.push(
                Longest { functions, is_private, known: BTreeMap::new() }.from(*place, &mut Vec::new()),
            );
        }
    }
    chains.sort_by(|a, b| b.cmp(a));
    chains
}

/// The number of functions of the longest chain from this function on: all of them, or up to the next global one.
fn depth(functions: &Functions, all_count: bool, place: Place, known: &mut BTreeMap<Place, usize>) -> usize {
    if let Some(&known) = known.get(&place) {
        return known;
    }
    let counted = functions[&place].calls.iter().filter(|callee| all_count || !functions[callee].is_global);
    let depth = 1 + counted.map(|&callee| depth(functions, all_count, callee, known)).max().unwrap_or(0);
    known.insert(place, depth);
    depth
}

/// How many functions a program or a callback has: this function, and all that it needs.
fn needed(functions: &Functions, place: Place) -> usize {
    let (mut needed, mut to_do) = (BTreeSet::new(), vec![place]);
    while let Some(place) = to_do.pop() {
        if needed.insert(place) {
            to_do.extend(functions[&place].calls.iter().chain(&functions[&place].callbacks));
        }
    }
    needed.len()
}

fn in_words(functions: &Functions, chain: &Chain) -> String {
    let one = |place: &Place| format!("{} {}", functions[place].name, functions[place].bytes);
    chain.functions.iter().map(one).collect::<Vec<_>>().join(" > ")
}

#[test]
fn every_chain_of_calls_fits_into_the_stack() {
    let (mut text, mut too_long) = (String::new(), String::new());
    for (name, all_count, file) in OBJECTS {
        let functions = functions(file);
        let chains = chains(&functions);
        let mut known = BTreeMap::new();
        let deepest = functions.keys().map(|&place| depth(&functions, all_count, place, &mut known)).max();
        let (deepest, most) = (deepest.expect("it has functions"), chains[0].bytes);
        let all = functions.keys().map(|&place| needed(&functions, place)).max().expect("it has functions");
        writeln!(
            text,
            "{name}: {most} of {MOST_BYTES} bytes, {deepest} of {MOST_FUNCTIONS} functions, up to {} of \
             {MOST_IN_A_PROGRAM} in a program\n",
            all.next_multiple_of(10).min(MOST_IN_A_PROGRAM)
        )
        .unwrap();
        if all > MOST_IN_A_PROGRAM {
            writeln!(too_long, "{name}: a program of {all} functions").unwrap();
        }
        if deepest > MOST_FUNCTIONS {
            writeln!(too_long, "{name}: a chain of {deepest} functions").unwrap();
        }
        for chain in chains {
            let line = format!("{} {}\n", chain.bytes, in_words(&functions, &chain));
            if chain.bytes > MOST_BYTES {
                too_long += &line;
            }
            if chain.bytes >= MOST_BYTES / 2 {
                text += &line;
            }
        }
        text += "\n";
    }
    assert!(too_long.is_empty(), "chains that are longer than the verifier allows:\n{too_long}");
    assert_golden(Path::new("tests/stack.txt"), &format!("{}\n", text.trim_end()));
}
