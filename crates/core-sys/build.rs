//! Compiles the C core natively. The flags are those of the BPF build, as far as they mean the same.

fn main() {
    let root = "../..";
    println!("cargo::rerun-if-changed={root}/core");
    println!("cargo::rerun-if-changed={root}/policies");
    cc::Build::new()
        .file(format!("{root}/core/port/native.c"))
        .std("gnu11")
        .opt_level(3)
        .flag("-fno-strict-aliasing")
        .force_frame_pointer(false)
        .warnings(true)
        .extra_warnings(true)
        .warnings_into_errors(true)
        .compile("hls_core");
}
