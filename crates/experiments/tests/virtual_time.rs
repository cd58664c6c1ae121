//! The pictures of virtual time are what is drawn of their files, and what cannot be drawn is refused.

use hls_experiments::virtual_time::draw;
use hls_golden::assert_golden;
use hls_units::Nanos;
use std::fs;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/bvt-figures")
}

/// `![figure-1.kdl, 48ms](figure-1.svg)`
#[test]
fn the_pictures_of_the_bvt_figures_are_what_is_drawn() {
    let text = fs::read_to_string(folder().join("README.md")).unwrap();
    let directory = tempfile::tempdir().unwrap();
    let drawn = directory.path().join("drawn.svg");
    let mut pictures = 0;
    for image in text.split("![").skip(1) {
        let (description, rest) = image.split_once("](").unwrap();
        let (file, length) = description.split_once(", ").unwrap();
        draw(&folder().join(file), Nanos::parse(length).unwrap(), &drawn).unwrap();
        let picture = folder().join(rest.split(')').next().unwrap());
        assert_golden(&picture, &fs::read_to_string(&drawn).unwrap());
        pictures += 1;
    }
    assert_eq!(pictures, 5, "the README has lost a picture");
}

#[test]
fn virtual_times_that_records_do_not_tell_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (file, picture) = (directory.path().join("file.kdl"), directory.path().join("picture.svg"));
    let below = r#"bvt "B" warp="9ms" { thread "t" warp="9ms" { cpu-bound; } }"#;
    let cases = [
        ("round-robin \"R\"".to_owned(), "found no scheduler of `bvt`, expected one"),
        (format!("bvt \"A\" {{ {below}; }}"), "found scheduler `B` below `A`, which is warped"),
        ("bvt \"A\" unit=\"100us\"".to_owned(), "found `unit` of scheduler `A`, expected it to be 0"),
    ];
    for (root, why) in cases {
        fs::write(&file, format!("machine cpus=1\n{root}\n")).unwrap();
        let refused = draw(&file, Nanos::from_secs(1), &picture).unwrap_err().join("\n");
        assert!(refused.contains(why), "{refused}");
        assert!(!picture.exists());
    }
}
