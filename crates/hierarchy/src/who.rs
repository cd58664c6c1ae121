//! What a file says about a real machine: the threads that a `thread` matches, the default scheduler, the scheduler for
//! the threads of `hls`, the owner of a scheduler.
//!
//! Never asks a machine: the command that runs the hierarchy finds out whether there is such a user, process or cgroup;
//! for its messages, the model has the places in the file.

use crate::attributes::Attributes;
use crate::cgroup;
use crate::declare::COMMAND;
use crate::diagnostic::{Diagnostic, Refusal, Sink};
use crate::glob::Glob;
use crate::model::{Placed, Source, Span, Thread, User, Who};
use crate::policies::Policies;
use crate::properties::Properties;
use crate::syntax::Property;
use crate::value;
use hls_core::{PolicyInfo, PolicyProperties};
use hls_units::is_hidden;
use kdl::KdlValue;
use std::collections::HashMap;

/// Something that one scheduler of a file may say of itself.
pub(crate) struct Flag {
    /// The property.
    name: &'static str,
    /// Whether a policy has the property that the scheduler's policy needs.
    is_stated: fn(&PolicyProperties) -> bool,
}

/// Threads that nobody placed go here.
pub(crate) const DEFAULT: Flag = Flag { name: "default", is_stated: |policy| policy.may_be_default };
/// The threads of `hls` itself go here.
pub(crate) const SERVICE: Flag = Flag { name: "service", is_stated: |policy| policy.may_serve_hls };
/// Linux cuts the names of threads.
const MAX_COMM_BYTES: usize = 15;
/// CPUs are numbered from 0 on.
const MAX_CPUS: u16 = hls_core::limits::MAX_CPUS as u16;
/// No Linux has larger numbers for its threads.
const MAX_PID: u64 = 1 << 22;
/// The number that stands for no user.
const NO_UID: u32 = u32::MAX;
const MAX_USER_BYTES: usize = 255;

/// Reads which threads one property matches.
type Rule = fn(&Property) -> Result<Who, Refusal>;

const RULES: [(&str, Rule); 6] = [
    (COMMAND, command),
    ("pid", pid),
    ("comm", comm),
    ("cgroup", cgroup),
    ("unit", unit),
    ("source", source),
];

/// Reads which threads of the machine a thread of the file matches; reports a second property that says so.
pub(crate) fn read(properties: &mut Properties, sink: &mut Sink) -> Option<Placed<Who>> {
    let mut who = None;
    let mut first: Option<&Property> = None;
    let mut given: Vec<_> =
        RULES.iter().filter_map(|(name, rule)| Some((properties.get(name)?, rule))).collect();
    given.sort_by_key(|(property, _)| property.name.span.start);
    for (property, rule) in given {
        let read = sink.ok(rule(property)).map(|value| Placed { value, span: property.value.span.clone() });
        if let Some(first) = first {
            let found = format!("`{}` beside `{}`", property.name.text, first.name.text);
            let expected = "at most one of `command`, `pid`, `comm`, `cgroup`, `unit` and `source`";
            let error = Diagnostic::error(property.name.span.clone(), properties.what(), found, expected);
            sink.add(error.first(first.name.span.clone()));
        } else {
            who = read;
            first = Some(property);
        }
    }
    who
}

/// Reads the command that starts a scheduler's process.
pub(crate) fn agent(property: &Property, sink: &mut Sink) -> Option<Placed<Who>> {
    sink.ok(command(property)).map(|value| Placed { value, span: property.value.span.clone() })
}

/// Reads the owner of a scheduler.
pub(crate) fn owner(properties: &mut Properties, sink: &mut Sink) -> Option<Placed<User>> {
    properties.read("owner", sink, user)
}

fn user(property: &Property) -> Result<Placed<User>, Refusal> {
    let (user, help) = match &property.value.kdl {
        KdlValue::Integer(uid) => {
            (u32::try_from(*uid).ok().filter(|uid| *uid != NO_UID).map(User::Uid), None)
        }
        KdlValue::String(name) if name.parse::<u32>().is_ok() => {
            (None, Some(format!("the number of a user: owner={name}")))
        }
        KdlValue::String(name) => (is_user(name).then(|| User::Name(name.clone())), None),
        _ => (None, None),
    };
    let placed = user.map(|value| Placed { value, span: property.value.span.clone() });
    placed.ok_or_else(|| Box::new(refuse(property, "a user, such as \"alice\" or 1000").help(help)))
}

/// Whether this may be a user's name. A number in quotes is refused, since it is more likely meant as a number.
fn is_user(name: &str) -> bool {
    let parts_a_line = |c: char| c.is_whitespace() || is_hidden(c) || ":/".contains(c);
    (1..=MAX_USER_BYTES).contains(&name.len())
        && !name.contains(parts_a_line)
        && !name.bytes().all(|c| c.is_ascii_digit())
}

impl Flag {
    /// Whether a scheduler of the policy may have it: the policy says so, and every thread can be below the scheduler
    /// without parameters of its own.
    fn fits(&self, policy: &PolicyInfo) -> bool {
        (self.is_stated)(&policy.properties) && policy.vp_params.iter().all(|param| param.default.is_some())
    }
}

/// Reads whether a scheduler has this flag: where it says so. `policies`: all that a file may name.
pub(crate) fn flag(
    flag: &Flag,
    (policy, policies): (&PolicyInfo, &Policies),
    properties: &mut Properties,
    sink: &mut Sink,
) -> Option<Span> {
    let fits = flag.fits(policy);
    if !fits && properties.node().property(flag.name).is_none() {
        return None;
    }
    let property = properties.get(flag.name)?;
    let is_set = sink.ok(value::flag(property))?;
    if is_set && !fits {
        let found = format!("`{}` on the policy {}", flag.name, policy.name);
        let fitting: Vec<_> =
            policies.all().filter(|policy| flag.fits(policy)).map(|policy| policy.name).collect();
        let expected = format!("it on a scheduler of {}", fitting.join(" or "));
        sink.add(Diagnostic::error(property.name.span.clone(), properties.what(), found, expected));
    }
    (is_set && fits).then(|| property.name.span.clone())
}

/// Judges all rules together: there is one scheduler of each flag at most, and no two threads of the file claim the
/// same thread of the machine for sure.
pub(crate) fn check(attributes: &Attributes, sink: &mut Sink) {
    let schedulers = &attributes.schedulers;
    one_at_most(&DEFAULT, schedulers.iter().filter_map(|scheduler| scheduler.default.as_ref()), sink);
    one_at_most(&SERVICE, schedulers.iter().filter_map(|scheduler| scheduler.service.as_ref()), sink);
    let mut claims: HashMap<&Who, &Thread> = HashMap::new();
    for thread in &attributes.threads {
        let Some(who) = thread.who.as_ref().filter(|who| !matches!(who.value, Who::Command(_))) else {
            continue;
        };
        let first = *claims.entry(&who.value).or_insert(thread);
        if first.span != thread.span {
            report_claimed(thread, who, first, "the same threads as", sink);
        }
    }
    for thread in &attributes.threads {
        let Some((who, path)) = thread.who.as_ref().and_then(|who| match &who.value {
            Who::Cgroup(path) => Some((who, path)),
            _ => None,
        }) else {
            continue;
        };
        let mut above = cgroup::upwards(path).skip(1);
        if let Some(first) = above.find_map(|above| claims.get(&Who::Cgroup(above.to_owned()))) {
            report_claimed(thread, who, first, "a cgroup below the cgroup of", sink);
        }
    }
}

fn one_at_most<'a>(flag: &Flag, mut places: impl Iterator<Item = &'a Span>, sink: &mut Sink) {
    let Some(first) = places.next() else { return };
    for second in places {
        let found = format!("a second {}", flag.name);
        let error = Diagnostic::error(second.clone(), "the hierarchy", found, "one at most");
        sink.add(error.first(first.clone()));
    }
}

fn report_claimed(thread: &Thread, who: &Placed<Who>, first: &Thread, relation: &str, sink: &mut Sink) {
    let message = format!("thread `{}`", thread.name);
    let (found, expected) = (format!("{relation} `{}`", first.name), "threads that no other one has");
    let error = Diagnostic::error(who.span.clone(), message, found, expected);
    let first = first.who.as_ref().map_or(first.span.clone(), |who| who.span.clone());
    sink.add(error.first(first));
}

/// A text without the byte that ends texts for the kernel.
fn text<'p>(property: &'p Property, expected: &str) -> Result<&'p str, Refusal> {
    match value::text(property, expected)? {
        text if text.contains('\0') => Err(refuse(property, expected)),
        text => Ok(text),
    }
}

/// A refusal of the value as a whole.
fn refuse(property: &Property, expected: &str) -> Refusal {
    value::refuse(property, property.value.span.clone(), format!("`{}`", property.value.written), expected)
}

/// A command in words as a shell splits it.
fn command(property: &Property) -> Result<Who, Refusal> {
    let expected = "a program and its arguments, such as \"mpv film.mkv\", with every quotation closed";
    let words = shlex::split(text(property, expected)?);
    let words = words.filter(|words| words.first().is_some_and(|program| !program.is_empty()));
    words.map(Who::Command).ok_or_else(|| refuse(property, expected))
}

fn pid(property: &Property) -> Result<Who, Refusal> {
    value::whole(property, 1..=MAX_PID).map(|pid| Who::Pid(pid as u32))
}

/// The pattern of a thread's name. One that is too long is refused, since it never matches.
fn comm(property: &Property) -> Result<Who, Refusal> {
    let expected = "the name of threads, such as \"nginx\" or \"kworker*\"";
    let pattern = text(property, expected)?;
    let glob = Glob::new(pattern);
    match glob.least_len() {
        0 if pattern.is_empty() => Err(refuse(property, expected)),
        0..=MAX_COMM_BYTES => Ok(Who::Comm(glob)),
        length => {
            let (span, found) = (property.value.span.clone(), format!("a name of {length} bytes at least"));
            let expected = format!("at most {MAX_COMM_BYTES}, since Linux cuts the names of threads there");
            let cut = pattern.get(..MAX_COMM_BYTES).filter(|cut| !cut.contains(['*', '?']));
            let help = cut.map(|cut| format!("`{pattern}` is called `{cut}`"));
            Err(Box::new(value::refuse(property, span, found, expected).help(help)))
        }
    }
}

fn cgroup(property: &Property) -> Result<Who, Refusal> {
    /// Where the cgroups of a machine are seen as folders.
    const MOUNTED_AT: &str = "/sys/fs/cgroup";
    let expected =
        "the absolute path of a cgroup without `.` and `..`, such as \"/system.slice/cron.service\"";
    let path = text(property, expected)?;
    if let Some(within) = path.strip_prefix(MOUNTED_AT).filter(|within| within.starts_with('/')) {
        let help = format!("leave out where the cgroups are mounted: \"{within}\"");
        return Err(Box::new(refuse(property, expected).help(help)));
    }
    match cgroup::is_path(path) {
        true => Ok(Who::Cgroup(path.to_owned())),
        false => Err(refuse(property, expected)),
    }
}

/// A source of interrupts. The name of a device must fit into the names of its threads.
fn source(property: &Property) -> Result<Who, Refusal> {
    let expected = "a source of interrupts: \"napi:\" and a network device, or \"backlog:\" and a CPU";
    let written = text(property, expected)?;
    let source = match written.split_once(':') {
        Some(("napi", device)) if is_device(device) => Some(Source::Napi(device.to_owned())),
        Some(("backlog", cpu)) => cpu.parse().ok().filter(|cpu| *cpu < MAX_CPUS).map(Source::Backlog),
        _ => None,
    };
    source.map(Who::Source).ok_or_else(|| refuse(property, expected))
}

/// Whether a network device may have this name, and its threads can be told from other devices' threads:
/// `napi/DEVICE-`.
fn is_device(name: &str) -> bool {
    let is_part = |c: char| !c.is_whitespace() && !is_hidden(c) && c != '/' && c != ':';
    (1..=MAX_COMM_BYTES - "napi/-".len()).contains(&name.len())
        && name.chars().all(is_part)
        && name != "."
        && name != ".."
}

fn unit(property: &Property) -> Result<Who, Refusal> {
    let expected = "a unit of systemd with threads: a .service, .scope or .slice, such as \"nginx.service\"";
    let name = text(property, expected)?;
    match cgroup::is_unit(name) {
        true => Ok(Who::Unit(name.to_owned())),
        false => Err(refuse(property, expected)),
    }
}
