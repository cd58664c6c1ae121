//! Definitions that exist both here and on the C side are the same.

use crate::pages::{KernelPage, KernelSlot, UserPage};
use crate::{
    Call, CpuImage, HeadImage, NodeImage, PagesImage, PolicyProperties, SchedulerImage, StepImage,
    TreeNodeImage, VpImage, ffi, limits, mirror, policy,
};

#[test]
fn limits_are_those_of_the_c_side() {
    // SAFETY: a constant.
    let sizes = unsafe { *ffi::hls_library.sizes };
    let ours =
        [limits::MAX_DEPTH, limits::MAX_CPUS, limits::MAX_SCHEDULERS, limits::MAX_VPS, limits::MAX_RECORDS];
    assert_eq!(sizes[5..10], ours.map(|n| n as u64));
    assert_eq!([sizes[10], sizes[19]], [limits::SCHEDULER_PARAMS, limits::VP_PARAMS].map(|n| n as u64));
    assert_eq!(sizes[4], size_of::<ffi::HlsRecord>() as u64);
    assert_eq!(sizes[11], size_of::<Call>() as u64);
    assert_eq!(sizes[12], u64::from(limits::FIRST_LOADED));
    assert_eq!(sizes[18], u64::from(limits::FIRST_OPTIONAL));
}

#[test]
fn properties_have_the_names_of_the_c_side() {
    let of_c: Vec<_> = policy::property_bits().map(|(_, name)| name).collect();
    for (name, _) in PolicyProperties::default().all() {
        assert!(of_c.contains(&name), "{name}");
    }
    // SAFETY: a constant.
    assert_eq!(of_c.len() as u64, unsafe { *ffi::hls_library.sizes }[22]);
}

#[test]
fn images_are_as_large_as_the_structs_of_the_c_side() {
    // SAFETY: a constant.
    let sizes = unsafe { *ffi::hls_library.sizes };
    let ours = [size_of::<SchedulerImage>(), size_of::<VpImage>(), size_of::<NodeImage>()];
    assert_eq!(sizes[1..4], ours.map(|n| n as u64));
    let ours = [size_of::<HeadImage>(), size_of::<CpuImage>(), limits::SCHEDULER_WORDS, limits::VP_WORDS];
    assert_eq!(sizes[13..17], ours.map(|n| n as u64));
    assert_eq!(sizes[17], size_of::<TreeNodeImage>() as u64);
    assert_eq!(sizes[21], size_of::<PagesImage>() as u64);
}

#[test]
fn members_have_the_places_of_the_c_side() {
    let all = [
        Call::assertions(),
        CpuImage::assertions(),
        ffi::HlsFault::assertions(),
        ffi::HlsRecord::assertions(),
        HeadImage::assertions(),
        KernelPage::assertions(),
        KernelSlot::assertions(),
        NodeImage::assertions(),
        PagesImage::assertions(),
        SchedulerImage::assertions(),
        StepImage::assertions(),
        TreeNodeImage::assertions(),
        UserPage::assertions(),
        VpImage::assertions(),
    ];
    assert_eq!(compiler_errors(&all.concat()), "");
}

/// Exchanging two members of the same type in Rust is an error.
#[test]
fn exchanged_members_are_noticed() {
    let text = SchedulerImage::assertions();
    let exchanged =
        text.replace("nr_ready", "#").replace("nr_running", "nr_ready").replace('#', "nr_running");
    assert_ne!(text, exchanged);
    let errors = compiler_errors(&exchanged);
    assert!(errors.contains("struct hls_scheduler: Rust has `nr_running` at 16, 4 bytes"), "{errors}");
}

/// What a compiler says of this text, after the headers of the core.
fn compiler_errors(text: &str) -> String {
    let headers = "#include \"core/call.h\"\n#include \"core/port/pages.h\"\n";
    mirror::tests::compiler_errors("cc", "native.flags", &format!("{headers}{text}"))
}

/// A header includes what it needs, so the order in which a file includes headers does not matter.
#[test]
fn each_header_of_the_core_compiles_by_itself() {
    let wrong = mirror::tests::headers_that_need_others("cc", "native.flags", "core", "");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
