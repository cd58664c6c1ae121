//! How fast the host's processors count time (the time stamp counter), which a translated processor passes on as it is.
//!
//! A guest's kernel finds that out by a race against another clock while it boots. Where the host stops the guest in
//! the midst of that, the guest's clock is wrong from then on; so the guest is told, where the host knows. Does no IO.

/// The frequency in kHz, by the host's `/proc/cpuinfo`. `None` where the file may have another one: a processor that
/// counts its own cycles (`aperfmperf`) is listed with the frequency of the moment.
pub(crate) fn khz(cpuinfo: &str) -> Option<u64> {
    let values = |wanted: &str| -> Vec<&str> {
        let fields = cpuinfo.lines().filter_map(|line| line.split_once(':'));
        fields.filter(|(name, _)| name.trim() == wanted).map(|(_, value)| value.trim()).collect()
    };
    let flags = values("flags");
    let has = |flag: &str| flags.iter().any(|flags| flags.split(' ').any(|one| one == flag));
    let speeds = values("cpu MHz");
    let (first, others) = speeds.split_first()?;
    if !has("constant_tsc") || has("aperfmperf") || others.iter().any(|other| other != first) {
        return None;
    }
    let (mhz, khz) = first.split_once('.')?;
    if khz.len() != 3 {
        return None;
    }
    format!("{mhz}{khz}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::khz;

    /// What the file has of two processors.
    fn cpuinfo(first: &str, second: &str, flags: &str) -> String {
        let of = |mhz: &str| format!("processor\t: 0\ncpu MHz\t\t: {mhz}\nflags\t\t: fpu {flags} rdtscp\n\n");
        of(first) + &of(second)
    }

    #[test]
    fn a_frequency_that_all_processors_share_is_that_of_the_counter() {
        assert_eq!(khz(&cpuinfo("2596.118", "2596.118", "constant_tsc")), Some(2_596_118));
        assert_eq!(khz(&cpuinfo("999.001", "999.001", "constant_tsc")), Some(999_001));
    }

    #[test]
    fn a_frequency_of_the_moment_is_none_of_the_counter() {
        assert_eq!(khz(&cpuinfo("2596.118", "2596.118", "constant_tsc aperfmperf")), None);
        assert_eq!(khz(&cpuinfo("2596.118", "1200.000", "constant_tsc")), None);
        assert_eq!(khz(&cpuinfo("2596.118", "2596.118", "tsc")), None);
        assert_eq!(khz("processor\t: 0\nBogoMIPS\t: 50.00\n"), None);
    }
}
