//! Paths of cgroups, and the units of systemd that they stand for.
//!
//! Relies on how systemd lays its cgroups out: a unit's cgroup lies in the cgroups of its slices, and what lies below
//! belongs to the unit. Never looks at a machine.

use hls_units::is_hidden;

/// The longest name of a unit.
const MAX_UNIT_BYTES: usize = 255;
const SLICE: &str = ".slice";

/// The cgroup itself, then each one above it, `/` last.
pub fn upwards(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| match path.rsplit_once('/')? {
        ("", "") => None,
        ("", _) => Some("/"),
        (above, _) => Some(above),
    })
}

/// The units of the system's systemd that a thread of this cgroup is in: slices from the outermost on, then the service
/// or scope. What a user's own systemd runs is in that user's service, `user@UID.service`: its units are not the
/// system's, so no thread becomes part of one by a name.
pub fn units(path: &str) -> impl Iterator<Item = &str> {
    // systemd puts `_` before a name that means something to the kernel, such as `cpu.service`.
    let parts = path.split('/').skip(1).map(|part| part.strip_prefix('_').unwrap_or(part));
    let mut in_slices = true;
    parts.take_while(move |part| {
        let goes_on = in_slices;
        in_slices &= part.ends_with(SLICE);
        goes_on && is_unit(part)
    })
}

/// Whether a unit that has threads may have this name: a service, a scope or a slice.
pub(crate) fn is_unit(name: &str) -> bool {
    let stem = [".service", ".scope", SLICE].iter().find_map(|suffix| name.strip_suffix(suffix));
    let is_of_names = |c: u8| c.is_ascii_alphanumeric() || b":-_.\\@".contains(&c);
    // `name@.service` is a template: only its instances run.
    let is_instance = |stem: &str| !stem.is_empty() && !stem.ends_with('@');
    stem.is_some_and(is_instance) && name.len() <= MAX_UNIT_BYTES && name.bytes().all(is_of_names)
}

/// Whether a path names a cgroup as the kernel writes it: absolute, without empty parts, `.` and `..`.
pub(crate) fn is_path(path: &str) -> bool {
    let is_name = |part: &str| !["", ".", ".."].contains(&part) && !part.contains(is_hidden);
    path == "/" || path.strip_prefix('/').is_some_and(|parts| parts.split('/').all(is_name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_units(path: &str, expected: &[&str]) {
        assert_eq!(units(path).collect::<Vec<_>>(), expected, "{path}");
    }

    #[test]
    fn only_the_system_s_units_count() {
        check_units("/", &[]);
        check_units("/init.scope", &["init.scope"]);
        check_units("/system.slice/nginx.service", &["system.slice", "nginx.service"]);
        check_units("/system.slice/docker.service/payload/x.service", &["system.slice", "docker.service"]);
        check_units("/system.slice/_cpu.service", &["system.slice", "cpu.service"]);
        check_units(
            "/user.slice/user-1000.slice/user@1000.service/app.slice/nginx.service",
            &["user.slice", "user-1000.slice", "user@1000.service"],
        );
        check_units("/lxc.payload/system.slice/nginx.service", &[]);
    }

    #[test]
    fn a_cgroup_lies_in_all_above_it() {
        assert_eq!(upwards("/a.slice/b").collect::<Vec<_>>(), ["/a.slice/b", "/a.slice", "/"]);
        assert_eq!(upwards("/").collect::<Vec<_>>(), ["/"]);
        assert_eq!(upwards("").collect::<Vec<_>>(), [""]);
    }
}
