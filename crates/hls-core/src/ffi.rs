//! The declarations of `core/core.h` and `core/port/native.c` for Rust.

use crate::images::{CpuImage, SchedulerImage, VpImage};
use crate::tape::Call;
use crate::{limits, mirror};
use std::ffi::{c_char, c_void};

/// `struct hls`: opaque here.
pub type Hls = c_void;

mirror! {
    #[derive(Clone, Copy)]
    pub struct HlsRecord = "struct hls_record" {
        pub at_ns: u64,
        pub a: u64,
        pub b: u64,
        pub vp: u32,
        pub cpu: u16,
        pub kind: u8,
        pub unused: u8,
    }
}

mirror! {
    pub struct HlsFault = "struct hls_fault" {
        pub code: u32,
        pub scheduler: u32,
        pub vp: u32,
        pub cpu: u32,
    }
}

#[repr(C)]
pub struct ParamDescription {
    pub name: *const c_char,
    pub doc: *const c_char,
    pub unit: u64,
    pub preset: u64,
    pub least: u64,
    pub greatest: u64,
}

#[repr(C)]
pub struct MessageDescription {
    pub name: *const c_char,
    pub doc: *const c_char,
    pub fields: *const ParamDescription,
    pub nr_fields: u64,
}

/// `struct hls_policy_description`: a policy's `struct hls_policy` without its hooks, and its lists.
#[repr(C)]
pub struct PolicyDescription {
    pub name: *const c_char,
    pub what: *const c_char,
    pub source: *const c_char,
    pub accepts: *const c_char,
    pub provides: *const c_char,
    pub params: *const ParamDescription,
    pub vp_params: *const ParamDescription,
    pub messages: *const MessageDescription,
    pub number: u32,
    pub nr_params: u32,
    pub nr_vp_params: u32,
    pub nr_messages: u32,
    pub state_version: u32,
    pub most_children: u32,
    pub properties: u32,
}

#[repr(C)]
pub struct NumberDescription {
    pub number: u64,
    pub doc: *const c_char,
}

/// How many entries `sizes` has.
pub const SIZES: usize = 23;

/// `struct hls_library`: one build of the core.
#[repr(C)]
pub struct Library {
    pub sizes: *const [u64; SIZES],
    pub describe_policy: unsafe extern "C" fn(place: u32, description: *mut PolicyDescription) -> bool,
    pub invariants: *const NumberDescription,
    pub violations: *const NumberDescription,
    pub hooks: *const NumberDescription,
    pub properties: *const NumberDescription,
    pub play: unsafe extern "C" fn(h: *mut Hls, call: *mut Call),
}

// SAFETY: everything in it is constant.
unsafe impl Sync for Library {}

unsafe extern "C" {
    pub static hls_library: Library;

    pub fn hls_kick(h: *const Hls) -> u64;
    pub fn hls_offline_cpus(h: *const Hls) -> u64;
    pub fn hls_nr_records(h: *const Hls) -> u64;
    pub fn hls_record(h: *const Hls, number: u64) -> *const HlsRecord;
    pub fn hls_decisions(h: *const Hls) -> u64;
    pub fn hls_cut_short(h: *const Hls) -> u64;
    pub fn hls_hook(h: *const Hls) -> *const u32;
    pub fn hls_ran_ns(h: *const Hls, vp: u32, now_ns: u64) -> u64;
    pub fn hls_nr_grants(h: *const Hls, vp: u32) -> u32;
    pub fn hls_nr_revokes(h: *const Hls, vp: u32) -> u32;
    pub fn hls_parent(h: *const Hls, vp: u32) -> u32;
    pub fn hls_stolen_ns(h: *const Hls, cpu: u32) -> u64;
    pub fn hls_vp_state(h: *const Hls, vp: u32) -> u32;
    pub fn hls_fault(h: *const Hls) -> HlsFault;
    pub fn hls_vp(h: *const Hls, vp: u32) -> *const VpImage;
    pub fn hls_scheduler(h: *const Hls, s: u32) -> *const SchedulerImage;
    pub fn hls_scheduler_words(h: *const Hls, s: u32) -> *const [u64; limits::SCHEDULER_WORDS];
    pub fn hls_cpu(h: *const Hls, cpu: u32) -> *const CpuImage;
    pub fn hls_first_pages(h: *const Hls) -> *const c_void;
    pub fn hls_kernel_page(h: *const Hls, s: u32) -> *const c_void;
    pub fn hls_user_page(h: *const Hls, s: u32) -> *const c_void;
    pub fn hls_node(h: *const Hls, vp: u32) -> *const c_void;
    pub fn hls_timer_node(h: *const Hls, s: u32) -> *const c_void;
    pub fn hls_queue_node(h: *const Hls, vp: u32) -> *const c_void;
    pub fn hls_wanting_node(h: *const Hls, vp: u32) -> *const c_void;
}
