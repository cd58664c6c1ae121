//! The names in a kernel's BTF, its own description of its types and of the functions that BPF may call.
//!
//! Reads only the header and the strings, which suffices because each needed name is unique. Never panics on any
//! bytes.

/// A name that the engine needs the kernel to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needed {
    /// The type or function.
    pub name: &'static str,
    /// The first Linux version that is known to have it.
    pub since: (u32, u32),
}

/// Functions that the engine calls, and types that it fills in: `bpf/sched_ext.h` and `bpf/kernel.h`.
pub const NEEDED_NAMES: [Needed; 8] = [
    Needed { name: "sched_ext_ops", since: (6, 12) },
    Needed { name: "scx_bpf_kick_cpu", since: (6, 12) },
    Needed { name: "scx_bpf_now", since: (6, 14) },
    Needed { name: "scx_bpf_cpu_curr", since: (6, 18) },
    Needed { name: "scx_bpf_dsq_insert___v2", since: (6, 19) },
    Needed { name: "scx_bpf_task_set_slice", since: (6, 19) },
    Needed { name: "bpf_arena_alloc_pages", since: (6, 9) },
    Needed { name: "bpf_local_irq_save", since: (6, 14) },
];

/// The first two bytes.
const MAGIC: u16 = 0xeb9f;
/// Offsets in the header: of its own length, of the strings' offset after the header, and of their length.
const HEADER_LEN_AT: usize = 4;
const STRINGS_AT: usize = 16;
const STRINGS_LEN_AT: usize = 20;

/// A function that only kernels with preemptible RCU have; the engine detects that in the same way.
const OF_PREEMPTIBLE_RCU: &str = "__rcu_read_lock";

/// Whether the kernel's RCU is preemptible; `None` where the bytes are no BTF.
pub(super) fn has_preemptible_rcu(btf: &[u8]) -> Option<bool> {
    Some(strings(btf)?.split(|byte| *byte == 0).any(|name| name == OF_PREEMPTIBLE_RCU.as_bytes()))
}

/// The [`NEEDED_NAMES`] that the BTF lacks; `None` where the bytes are no BTF.
pub(super) fn lacking(btf: &[u8]) -> Option<Vec<Needed>> {
    let strings = strings(btf)?;
    let mut lacking = NEEDED_NAMES.to_vec();
    for string in strings.split(|byte| *byte == 0) {
        lacking.retain(|needed| needed.name.as_bytes() != string);
    }
    Some(lacking)
}

/// The strings of the BTF: names, each followed by a zero.
fn strings(btf: &[u8]) -> Option<&[u8]> {
    let magic = [*btf.first()?, *btf.get(1)?];
    let word: fn([u8; 4]) -> u32 = match MAGIC {
        _ if magic == MAGIC.to_le_bytes() => u32::from_le_bytes,
        _ if magic == MAGIC.to_be_bytes() => u32::from_be_bytes,
        _ => return None,
    };
    let at = |offset: usize| btf.get(offset..offset + 4)?.try_into().ok().map(|bytes| word(bytes) as usize);
    let start = at(HEADER_LEN_AT)?.checked_add(at(STRINGS_AT)?)?;
    btf.get(start..start.checked_add(at(STRINGS_LEN_AT)?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// BTF without types: a header, these strings, and other bytes after them.
    fn btf(word: fn(u32) -> [u8; 4], magic: [u8; 2], strings: &[u8]) -> Vec<u8> {
        let header = [24, 0, 4, 4, strings.len() as u32].map(word).concat();
        [&magic[..], &[1, 0], &header, b"type", strings, b"behind"].concat()
    }

    #[test]
    fn names_are_found_in_either_byte_order() {
        let all: Vec<u8> = NEEDED_NAMES.iter().flat_map(|it| ["\0", it.name]).collect::<String>().into();
        let all = [&all[..], b"\0"].concat();
        assert_eq!(lacking(&btf(u32::to_le_bytes, [0x9f, 0xeb], &all)), Some(vec![]));
        assert_eq!(has_preemptible_rcu(&btf(u32::to_le_bytes, [0x9f, 0xeb], &all)), Some(false));
        assert_eq!(lacking(&btf(u32::to_be_bytes, [0xeb, 0x9f], &all)), Some(vec![]));
        let without = String::from_utf8(all).unwrap().replace("scx_bpf_now", "scx_bpf_now_or_never");
        let found = lacking(&btf(u32::to_le_bytes, [0x9f, 0xeb], without.as_bytes()));
        assert_eq!(found, Some(vec![Needed { name: "scx_bpf_now", since: (6, 14) }]));
        let with = btf(u32::to_be_bytes, [0xeb, 0x9f], b"\0scx_bpf_now\0__rcu_read_lock\0");
        assert_eq!(has_preemptible_rcu(&with), Some(true));
    }

    /// If a needed name were no longer used by the engine, the doctor would refuse kernels that can run it.
    #[test]
    fn the_engine_uses_all_that_it_needs() {
        let used =
            concat!(include_str!("../../../../bpf/sched_ext.h"), include_str!("../../../../bpf/kernel.h"));
        for name in NEEDED_NAMES.map(|needed| needed.name).into_iter().chain([OF_PREEMPTIBLE_RCU]) {
            assert!(used.contains(name), "{name}");
        }
    }

    #[test]
    fn bytes_that_are_cut_or_no_btf_are_refused() {
        let whole = btf(u32::to_le_bytes, [0x9f, 0xeb], b"\0name\0");
        for length in 0..whole.len() - b"behind".len() {
            assert_eq!(lacking(&whole[..length]), None, "{length}");
            assert_eq!(has_preemptible_rcu(&whole[..length]), None, "{length}");
        }
        assert_eq!(lacking(&btf(u32::to_le_bytes, [0x7f, b'E'], b"\0")), None);
        let mut far = whole;
        far[4..8].fill(0xff);
        far[16..24].fill(0xff);
        assert_eq!(lacking(&far), None);
    }
}
