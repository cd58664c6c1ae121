//! The frequency of the host's time stamp counter, which a translated processor passes on unchanged.
//!
//! A guest's kernel measures this frequency against another clock while it boots. If the host stops the guest
//! meanwhile, the guest's clock is wrong from then on; so the guest is told the frequency, where the host knows it.
//! Does no IO.

/// The frequency in kHz, by the host's `/proc/cpuinfo`. `None` where the file may state another frequency: a processor
/// that counts its own cycles (`aperfmperf`) is listed with its present clock frequency.
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

    /// The file's text for two processors.
    fn cpuinfo(first: &str, second: &str, flags: &str) -> String {
        let of = |mhz: &str| format!("processor\t: 0\ncpu MHz\t\t: {mhz}\nflags\t\t: fpu {flags} rdtscp\n\n");
        of(first) + &of(second)
    }

    #[test]
    fn a_frequency_that_all_processors_share_is_the_counters() {
        assert_eq!(khz(&cpuinfo("2596.118", "2596.118", "constant_tsc")), Some(2_596_118));
        assert_eq!(khz(&cpuinfo("999.001", "999.001", "constant_tsc")), Some(999_001));
    }

    #[test]
    fn a_present_clock_frequency_is_not_the_counters() {
        assert_eq!(khz(&cpuinfo("2596.118", "2596.118", "constant_tsc aperfmperf")), None);
        assert_eq!(khz(&cpuinfo("2596.118", "1200.000", "constant_tsc")), None);
        assert_eq!(khz(&cpuinfo("2596.118", "2596.118", "tsc")), None);
        assert_eq!(khz("processor\t: 0\nBogoMIPS\t: 50.00\n"), None);
    }
}
