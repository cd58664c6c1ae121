//! Reads the descriptions of loaded policies as data, from the table to which `core/port/describe.c` is compiled.
//!
//! Users write policies, so compiled policies are untrusted, too. No part of the object is run or linked: every place
//! in it is looked up, every length and count has a bound, and any difference from `describe.c` is an error that says
//! what was found. Relies on the object being relocatable, so that every pointer in it is a relocation.

use crate::limits;
use crate::policy::{
    MessageInfo, ParamInfo, PolicyInfo, PolicyTable, Unit, interned, policies, property_bits,
};
use crate::properties::PolicyProperties;
use hls_units::is_hidden;
use object::elf::FileHeader64;
use object::read::elf::{ElfFile, ElfSection};
use object::{Endianness, Object, ObjectSection, ObjectSymbol, RelocationTarget, SectionIndex};
use std::collections::HashMap;
use std::fmt;

/// The table's symbol.
const TABLE: &str = "hls_loaded_policies";

/// Bytes of an entry of the table, of a parameter's, and of a message's.
const ENTRY_BYTES: u64 = 48;
const PARAM_BYTES: u64 = 48;
const MESSAGE_BYTES: u64 = 32;

/// The longest text that is read, in bytes. The longest text of a built-in policy is a twentieth as long.
const MAX_TEXT: usize = 4096;

/// The most messages of a policy.
const MAX_MESSAGES: u32 = 256;

/// Why an object is not a valid description of loaded policies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescriptionError(String);

impl fmt::Display for DescriptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "what policies say of themselves: {}", self.0)
    }
}

impl std::error::Error for DescriptionError {}

type Result<T> = std::result::Result<T, DescriptionError>;

fn wrong<T>(what: impl Into<String>) -> Result<T> {
    Err(DescriptionError(what.into()))
}

/// All policies of a build of the core with loaded policies: the built-in ones, followed by those in the object.
///
/// # Errors
/// The object is not a compiled `core/port/describe.c`, or describes a policy that is not allowed.
pub fn described_policies(object: &[u8]) -> Result<PolicyTable> {
    let loaded = Description::of(object)?.policies()?;
    Ok(policies().iter().cloned().chain(loaded).collect())
}

type Elf<'o> = ElfFile<'o, FileHeader64<Endianness>>;

/// A place in the object: a byte of a section.
#[derive(Clone, Copy, Debug)]
struct Place {
    section: SectionIndex,
    at: u64,
}

/// A section: its bytes, and the targets of its relocations.
struct Data<'o> {
    bytes: &'o [u8],
    leads_to: HashMap<u64, Place>,
}

struct Description<'o> {
    elf: Elf<'o>,
    sections: HashMap<SectionIndex, Data<'o>>,
}

fn malformed(error: object::Error) -> DescriptionError {
    DescriptionError(format!("found no sound object: {error}"))
}

impl<'o> Description<'o> {
    fn of(object: &'o [u8]) -> Result<Description<'o>> {
        let elf = Elf::parse(object).map_err(malformed)?;
        Ok(Description { elf, sections: HashMap::new() })
    }

    fn policies(&mut self) -> Result<Vec<PolicyInfo>> {
        let mut tables = self.elf.symbols().filter(|symbol| symbol.name() == Ok(TABLE));
        let (Some(table), None) = (tables.next(), tables.next()) else {
            return wrong(format!("found not one symbol `{TABLE}`, expected one"));
        };
        let Some(section) = table.section_index() else {
            return wrong(format!("found `{TABLE}` nowhere, expected it in the object"));
        };
        let (at, bytes) = (table.address(), table.size());
        let most = u64::from(u8::MAX - limits::FIRST_LOADED) + 1;
        if bytes % ENTRY_BYTES != 0 || bytes / ENTRY_BYTES > most {
            return wrong(format!(
                "found a table of {bytes} bytes, expected {most} entries of {ENTRY_BYTES} at most"
            ));
        }
        let mut found: Vec<PolicyInfo> = Vec::new();
        for i in 0..bytes / ENTRY_BYTES {
            let policy = self.policy(Place { section, at }.plus(i * ENTRY_BYTES)?)?;
            if found.iter().any(|other| other.id == policy.id) {
                return wrong(format!("found two policies with the number {}, expected one", policy.id));
            }
            found.push(policy);
        }
        Ok(found)
    }

    /// The policy of an entry of the table.
    fn policy(&mut self, entry: Place) -> Result<PolicyInfo> {
        let Some(described) = self.pointer(entry)? else {
            return wrong("found an entry without a policy's struct, expected one");
        };
        let lists = [8, 16, 24].map(|at| entry.plus(at).and_then(|place| self.pointer(place)));
        let [params, vp_params, messages] = lists;
        let counts = [32, 36, 40, 44].map(|at| self.number(entry, at));
        let [number, nr_params, nr_vp_params, nr_messages] = counts;
        let number = number?;
        let id = match u8::try_from(number) {
            Ok(id) if id >= limits::FIRST_LOADED => id,
            _ => return wrong(format!("found the policy number {number}, expected one of a loaded policy")),
        };
        let texts = [0, 8, 16, 24, 32].map(|at| described.plus(at).and_then(|place| self.text(place)));
        let [name, doc, source, accepts, provides] = texts;
        let Some(name) = name?.filter(|name| !name.is_empty()) else {
            return wrong("found a policy without a name, expected one");
        };
        let properties = self.properties(described, name)?;
        let max_children = match self.number(described, 44)? {
            _ if properties.joins => 1,
            0 => limits::MAX_VPS as u32,
            most => most,
        };
        Ok(PolicyInfo {
            id,
            name,
            doc: doc?.unwrap_or_default(),
            source: source?.unwrap_or_default(),
            accepts: accepts?,
            provides: provides?,
            state_version: self.number(described, 40)?,
            max_children,
            properties,
            scheduler_params: self.params(params?, nr_params?.into(), limits::SCHEDULER_PARAMS)?,
            vp_params: self.params(vp_params?, nr_vp_params?.into(), limits::VP_PARAMS)?,
            messages: self.messages(messages?, nr_messages?)?,
        })
    }

    /// The properties that the struct of a policy states.
    fn properties(&mut self, described: Place, policy: &str) -> Result<PolicyProperties> {
        let mut stated = Vec::new();
        for (at, (_, name)) in (48..).zip(property_bits()) {
            match self.bytes(described.plus(at)?, 1)? {
                [0] => {}
                [1] => stated.push(name),
                other => {
                    return wrong(format!("`{policy}`: found {other:?} for `.{name}`, expected 0 or 1"));
                }
            }
        }
        let properties = PolicyProperties::read(|name| stated.contains(&name));
        if properties.has_pages {
            return wrong(format!("`{policy}`: found `.has_pages`, which only built-in policies may have"));
        }
        Ok(properties)
    }

    fn params(&mut self, first: Option<Place>, count: u64, most: usize) -> Result<Vec<ParamInfo>> {
        if count > most as u64 {
            return wrong(format!("found {count} parameters or fields, expected {most} at most"));
        }
        let entry = |i| first.map_or_else(|| wrong("found no list"), |first| first.plus(i * PARAM_BYTES));
        (0..count).map(|i| self.param(entry(i)?)).collect()
    }

    fn param(&mut self, entry: Place) -> Result<ParamInfo> {
        let Some(name) = self.name(entry)? else { return wrong("found a parameter without a name") };
        let doc = self.text(entry.plus(8)?)?.unwrap_or_default();
        let [unit, preset, min, max] = [16, 24, 32, 40].map(|at| self.long(entry, at));
        let unit = match unit? {
            0 => Unit::Time,
            1 => Unit::Count,
            other => return wrong(format!("`{name}`: found the unit {other}, expected 0 or 1")),
        };
        let (preset, min, max) = (preset?, min?, max?);
        if min > max {
            return wrong(format!(
                "`{name}`: found the range {min} to {max}, expected one with a value in it"
            ));
        }
        Ok(ParamInfo { name, unit, default: (preset != u64::MAX).then_some(preset), min, max, doc })
    }

    fn messages(&mut self, first: Option<Place>, count: u32) -> Result<Vec<MessageInfo>> {
        if count > MAX_MESSAGES {
            return wrong(format!("found {count} messages, expected {MAX_MESSAGES} at most"));
        }
        let entry =
            |i: u32| first.map_or_else(|| wrong("found no list"), |it| it.plus(u64::from(i) * MESSAGE_BYTES));
        (0..count).map(|i| self.message(entry(i)?)).collect()
    }

    fn message(&mut self, entry: Place) -> Result<MessageInfo> {
        let Some(name) = self.name(entry)? else { return wrong("found a message without a name") };
        let doc = self.text(entry.plus(8)?)?.unwrap_or_default();
        let fields = self.pointer(entry.plus(16)?)?;
        let count = self.long(entry, 24)?;
        Ok(MessageInfo { name, doc, fields: self.params(fields, count, limits::VP_PARAMS)? })
    }

    /// The text that the address at this place points to; `None`: NULL, or an empty text.
    fn name(&mut self, at: Place) -> Result<Option<&'static str>> {
        Ok(self.text(at)?.filter(|name| !name.is_empty()))
    }

    /// The text that the address at this place points to; `None`: NULL.
    fn text(&mut self, at: Place) -> Result<Option<&'static str>> {
        let Some(place) = self.pointer(at)? else { return Ok(None) };
        let bytes = self.data(place.section)?.bytes;
        let from = usize::try_from(place.at).ok().and_then(|at| bytes.get(at..)).unwrap_or_default();
        let Some(length) = from.iter().take(MAX_TEXT + 1).position(|&byte| byte == 0) else {
            return wrong(format!("found a text without an end, expected {MAX_TEXT} bytes at most"));
        };
        match std::str::from_utf8(&from[..length]) {
            Ok(text) if !text.contains(|c: char| is_hidden(c) && c != '\n') => Ok(Some(interned(text))),
            _ => wrong(format!("found {:?}, expected a text", String::from_utf8_lossy(&from[..length]))),
        }
    }

    /// The place to which the address at this place points; `None`: it is NULL.
    fn pointer(&mut self, at: Place) -> Result<Option<Place>> {
        let bytes = self.bytes(at, 8)?;
        match self.data(at.section)?.leads_to.get(&at.at) {
            Some(&place) => Ok(Some(place)),
            None if bytes == [0; 8] => Ok(None),
            None => wrong("found an address that is a number, expected a place in the object"),
        }
    }

    fn number(&mut self, from: Place, offset: u64) -> Result<u32> {
        let bytes = self.bytes(from.plus(offset)?, 4)?;
        Ok(u32::from_ne_bytes(bytes.try_into().expect("there are 4")))
    }

    fn long(&mut self, from: Place, offset: u64) -> Result<u64> {
        let bytes = self.bytes(from.plus(offset)?, 8)?;
        Ok(u64::from_ne_bytes(bytes.try_into().expect("there are 8")))
    }

    fn bytes(&mut self, place: Place, count: usize) -> Result<&'o [u8]> {
        let bytes = self.data(place.section)?.bytes;
        let from = usize::try_from(place.at).ok().and_then(|at| bytes.get(at..)?.get(..count));
        from.map_or_else(|| wrong(format!("found {place:?}, expected a place in the object")), Ok)
    }

    fn data(&mut self, index: SectionIndex) -> Result<&Data<'o>> {
        if !self.sections.contains_key(&index) {
            let section = self.elf.section_by_index(index).map_err(malformed)?;
            let data = Data { bytes: section.data().map_err(malformed)?, leads_to: self.leads_to(&section)? };
            self.sections.insert(index, data);
        }
        Ok(&self.sections[&index])
    }

    /// The relocations of pointers in a section, with their targets. Other relocations are skipped: a pointer with
    /// one of them is then reported as a plain number.
    fn leads_to(
        &self,
        section: &ElfSection<'o, '_, FileHeader64<Endianness>>,
    ) -> Result<HashMap<u64, Place>> {
        let mut places = HashMap::new();
        for (at, relocation) in section.relocations() {
            let is_pointer = relocation.kind() == object::RelocationKind::Absolute && relocation.size() == 64;
            let RelocationTarget::Symbol(symbol) = relocation.target() else { continue };
            if !is_pointer || relocation.has_implicit_addend() {
                continue;
            }
            let symbol = self.elf.symbol_by_index(symbol).map_err(malformed)?;
            let target = symbol.address().checked_add_signed(relocation.addend());
            if let Some((section, at_target)) = symbol.section_index().zip(target) {
                places.insert(at, Place { section, at: at_target });
            }
        }
        Ok(places)
    }
}

impl Place {
    fn plus(self, offset: u64) -> Result<Place> {
        match self.at.checked_add(offset) {
            Some(at) => Ok(Place { at, ..self }),
            None => wrong("found an address behind all others, expected a place in the object"),
        }
    }
}
