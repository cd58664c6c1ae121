//! Network devices that a hierarchy file names with `source=`. While the hierarchy runs, kernel threads do the work
//! of the devices' interrupts: each device is switched to such threads before the hierarchy is attached, and restored
//! afterwards.
//!
//! If this process is killed, a device stays switched: the same work is done, only in other threads.

use crate::console::Error;
use hls_hierarchy::Diagnostic;
use hls_hierarchy::model::{Hierarchy, Source, Thread};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Where the kernel has its network devices.
const DEVICES: &str = "/sys/class/net";

/// Devices that were switched to threads.
#[derive(Debug, Default)]
pub struct Devices {
    /// Settings that were changed, and their values before.
    changed: Vec<(PathBuf, String)>,
}

impl Devices {
    /// Switches the devices that the hierarchy names to threads.
    ///
    /// # Errors
    /// There is no such device, or it cannot use threads; with the place in the file.
    pub fn ask(hierarchy: &Hierarchy) -> Result<Devices, Error> {
        let mut asked = Devices::default();
        for thread in &hierarchy.threads {
            let Some(Source::Napi(device)) = thread.source() else { continue };
            let done = asked.ask_one(Path::new(DEVICES), device);
            done.map_err(|error| Error::Hierarchy(vec![refusal(thread, device, &error)]))?;
        }
        Ok(asked)
    }

    fn ask_one(&mut self, devices: &Path, device: &str) -> io::Result<()> {
        let setting = devices.join(device).join("threaded");
        let before = fs::read_to_string(&setting)?;
        if before.trim() != "1" {
            fs::write(&setting, "1")?;
            self.changed.push((setting, before));
        }
        Ok(())
    }
}

impl Drop for Devices {
    fn drop(&mut self) {
        for (setting, before) in &self.changed {
            // The device may have gone.
            let _ = fs::write(setting, before);
        }
    }
}

fn refusal(thread: &Thread, device: &str, error: &io::Error) -> Diagnostic {
    let span = thread.who.as_ref().map_or(thread.span.clone(), |who| who.span.clone());
    let (found, expected) = match error.kind() {
        io::ErrorKind::NotFound => (format!("no device `{device}`"), "a network device of this machine"),
        _ => (format!("`{device}`: {error}"), "a device whose driver can have threads"),
    };
    Diagnostic::error(span, format!("thread `{}`", thread.name), found, expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_as_it_was_afterwards() {
        let folder = tempfile::tempdir().unwrap();
        for (device, setting) in [("eth0", "0\n"), ("eth1", "1\n")] {
            fs::create_dir(folder.path().join(device)).unwrap();
            fs::write(folder.path().join(device).join("threaded"), setting).unwrap();
        }
        let setting = |device: &str| fs::read_to_string(folder.path().join(device).join("threaded")).unwrap();
        let mut devices = Devices::default();
        devices.ask_one(folder.path(), "eth0").unwrap();
        devices.ask_one(folder.path(), "eth1").unwrap();
        assert_eq!([setting("eth0"), setting("eth1")], ["1", "1\n"]);
        assert_eq!(devices.ask_one(folder.path(), "eth2").unwrap_err().kind(), io::ErrorKind::NotFound);
        drop(devices);
        assert_eq!([setting("eth0"), setting("eth1")], ["0\n", "1\n"]);
    }

    #[test]
    fn a_file_that_names_no_device_of_this_machine_is_refused_with_its_place() {
        let text = b"time-sharing \"rest\" default=#true { thread \"t\" source=\"napi:none0\"; }";
        let (hierarchy, _) = hls_hierarchy::read(text).unwrap();
        let Err(Error::Hierarchy(refused)) = Devices::ask(&hierarchy) else { panic!("it is refused") };
        assert!(refused[0].to_string().contains("found no device `none0`"), "{}", refused[0]);
    }
}
