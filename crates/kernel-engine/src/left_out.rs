//! The hooks of policies that an engine does not have, taken out of its object before libbpf sees it.
//!
//! A constant (`hls_built_in_policies`) keeps the verifier from walking through hooks that are part of other functions.
//! But the kernel looks at every function of a program before that, and takes dead code out piece by piece, each time
//! moving all that follows; so hooks that are functions are left out here. libbpf gives a program the functions that it
//! calls, directly or not: where nobody calls a hook, no program has it, nor what only that hook needs.

use crate::built_in::BuiltIn;
use ::object::Endianness;
use ::object::elf::{FileHeader64, Rel64, SHF_EXECINSTR, SHT_SYMTAB, SectionHeader64};
use ::object::read::elf::{FileHeader, Rel, SectionHeader, SectionTable, SymbolTable};
use ::object::read::{Result, SectionIndex};
use hls_core::{PolicyInfo, policies};
use std::mem::offset_of;

/// What `core/dispatch.h` puts behind the name of a policy's hook that is a function of its own.
const APART: &str = "_apart";

/// With what it begins the name of a function that has a hook of all policies that may be left out.
const OF_ALL: &str = "literature_";

/// The instruction `r0 = 0`, in place of a call that is never made, since no scheduler has such a policy.
const ANSWER_0: [u8; 8] = [0xb7, 0, 0, 0, 0, 0, 0, 0];

type Header = FileHeader64<Endianness>;

/// How many bytes a relocation takes.
const RELOCATION: usize = size_of::<Rel64<Endianness>>();

/// An object's sections and symbols.
struct Parsed<'f> {
    endian: Endianness,
    file: &'f [u8],
    /// Where in the file the headers of the sections begin.
    headers_at: usize,
    sections: SectionTable<'f, Header>,
    symbols: SymbolTable<'f, Header>,
}

/// The relocations of a section with code.
struct Relocations<'f> {
    /// The number of the section that has them.
    section: usize,
    /// Where in the file they begin.
    at: usize,
    /// Where in the file the code begins.
    code_at: usize,
    all: &'f [Rel64<Endianness>],
}

impl<'f> Parsed<'f> {
    fn new(file: &'f [u8]) -> Result<Parsed<'f>> {
        let header = Header::parse(file)?;
        let endian = header.endian()?;
        let sections = header.sections(endian, file)?;
        let symbols = sections.symbols(endian, file, SHT_SYMTAB)?;
        Ok(Parsed { endian, file, headers_at: header.e_shoff.get(endian) as usize, sections, symbols })
    }

    /// The relocations of all sections with code.
    fn relocations(&self) -> Result<Vec<Relocations<'f>>> {
        let endian = self.endian;
        let mut found = vec![];
        for (index, section) in self.sections.enumerate() {
            let Some((all, _)) = section.rel(endian, self.file)? else { continue };
            let code = self.sections.section(SectionIndex(section.sh_info(endian) as usize))?;
            if code.sh_flags(endian).contains(SHF_EXECINSTR) {
                let [at, code_at] = [section, code].map(|section| section.sh_offset(endian) as usize);
                found.push(Relocations { section: index.0, at, code_at, all });
            }
        }
        Ok(found)
    }

    /// The name of what a relocation is for; sections and some constants have none.
    fn name(&self, relocation: &Rel64<Endianness>) -> Result<&'f str> {
        let Some(index) = relocation.symbol(self.endian) else { return Ok("") };
        let name = self.symbols.symbol_name(self.endian, self.symbols.symbol(index)?)?;
        Ok(str::from_utf8(name).unwrap_or_default())
    }
}

/// The object without the calls of hooks of policies that are not built in.
pub fn leave_out(file: &[u8], built_in: BuiltIn) -> Result<Vec<u8>> {
    let object = Parsed::new(file)?;
    let mut bytes = file.to_vec();
    for relocations in object.relocations()? {
        let mut kept = relocations.at;
        for (n, relocation) in relocations.all.iter().enumerate() {
            if is_left_out(object.name(relocation)?, built_in) {
                let call = relocations.code_at + relocation.r_offset(object.endian) as usize;
                bytes[call..][..ANSWER_0.len()].copy_from_slice(&ANSWER_0);
            } else {
                let from = relocations.at + n * RELOCATION;
                bytes.copy_within(from..from + RELOCATION, kept);
                kept += RELOCATION;
            }
        }
        let header = object.headers_at + relocations.section * size_of::<SectionHeader64<Endianness>>();
        let size = header + offset_of!(SectionHeader64<Endianness>, sh_size);
        bytes[size..][..8].copy_from_slice(&((kept - relocations.at) as u64).to_ne_bytes());
    }
    Ok(bytes)
}

/// Whether a symbol is a hook of a policy that is built in elsewhere, but not here, or of all such policies. Its name
/// begins with the policy's; if with those of several policies, it is of the one with the longest.
fn is_left_out(symbol: &str, built_in: BuiltIn) -> bool {
    if symbol.starts_with(OF_ALL) {
        return built_in == BuiltIn::with([]);
    }
    let Some(hook) = symbol.strip_suffix(APART) else { return false };
    let is_of = |info: &&PolicyInfo| {
        hook.strip_prefix(&info.name.replace('-', "_")).is_some_and(|hook| hook.starts_with('_'))
    };
    let policy = policies().iter().filter(is_of).max_by_key(|info| info.name.len());
    policy.is_some_and(|info| !built_in.has_all_of(BuiltIn::one(info.id)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::ENGINE;

    /// The hooks that an object calls, as functions of their own.
    fn called(file: &[u8]) -> Vec<String> {
        let object = Parsed::new(file).unwrap();
        let relocations = object.relocations().unwrap();
        let all = relocations.iter().flat_map(|relocations| relocations.all);
        let mut names: Vec<String> =
            all.map(|relocation| object.name(relocation).unwrap().to_owned()).collect();
        names.retain(|name| name.ends_with(APART) || name.starts_with(OF_ALL));
        names.sort();
        names.dedup();
        names
    }

    #[test]
    fn hooks_of_policies_that_are_not_built_in_are_not_called() {
        let of = |policy: &str| {
            let one = policies().iter().filter(|info| info.name == policy);
            called(&leave_out(ENGINE, BuiltIn::with(one)).unwrap())
        };
        assert!(of("").is_empty());
        let [linux, eevdf, linux_eevdf] = ["linux", "eevdf", "linux-eevdf"].map(of);
        assert!(linux.contains(&"linux_grant_apart".to_owned()), "{linux:?}");
        assert!(eevdf.contains(&"eevdf_grant_apart".to_owned()), "{eevdf:?}");
        let is_its_own = |hook: &String| hook.starts_with("linux_eevdf_") || hook.starts_with(OF_ALL);
        assert!(linux_eevdf.iter().all(is_its_own), "{linux_eevdf:?}");
        let all = called(&leave_out(ENGINE, BuiltIn::ALL).unwrap());
        assert_eq!(all, called(ENGINE));
        for info in policies().iter().filter(|info| info.id >= hls_core::limits::FIRST_OPTIONAL) {
            let own = of(info.name);
            assert!(!own.is_empty() && own.iter().all(|hook| all.contains(hook)), "{}: {own:?}", info.name);
        }
    }
}
