//! Whether a guest boots on KVM here: found out by trying, once, and remembered in the cache.
//!
//! That there is a device does not say so: in a virtual machine it may be there and not carry a whole kernel.

use std::fs::{self, OpenOptions};
use std::time::Duration;

use crate::error::failed;
use crate::{Accel, Error, Guest, Machine, Outcome, Script, Time, Vm};

/// A boot takes two seconds where KVM works.
const LIMIT: Duration = Duration::from_secs(20);

/// What is remembered when it does; otherwise why it does not.
const WORKS: &str = "works\n";

/// Whether a guest boots on KVM. A device that the user may not open is not remembered: that can change.
pub(crate) fn works(vm: &Vm) -> Result<bool, Error> {
    if OpenOptions::new().read(true).write(true).open("/dev/kvm").is_err() {
        return Ok(false);
    }
    let host = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let remembered = vm.cache.join(format!("kvm-{}-{}", host.trim(), vm.kernel.release));
    if let Ok(answer) = fs::read_to_string(&remembered) {
        return Ok(answer == WORKS);
    }
    let folder = tempfile::tempdir_in(&vm.cache).map_err(failed(vm.cache.display()))?;
    let time = Time::Free(Accel::Kvm);
    let machine = Machine { time, limit: LIMIT, ..Machine::default() };
    let script = Script { name: "probe".into(), text: "#!/bin/sh\n".into() };
    let guest = Guest { scripts: vec![script], ..Guest::default() };
    let answer = match vm.run_quietly(&machine, &guest, folder.path()) {
        Ok(Outcome { cut_short: None, .. }) => WORKS.to_owned(),
        Ok(Outcome { cut_short: Some(why), .. }) => format!("{why}\n"),
        Err(error) => format!("{error}\n"),
    };
    fs::write(&remembered, &answer).map_err(failed(remembered.display()))?;
    Ok(answer == WORKS)
}
