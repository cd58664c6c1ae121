//! What each node of the file is: a scheduler, a thread, a workload; what it is called; and what it hangs below.
//!
//! Relies on the raw nodes only. Reads no property but `parent`.

use crate::diagnostic::{Diagnostic, Sink};
use crate::loads;
use crate::model::{Child, LoadStatement, Span};
use crate::names::{did_you_mean, nearest, one_of};
use crate::policies::{LOAD, Policies, name_fault};
use crate::syntax::{Name, Node};
use crate::value;
use hls_calculus::schedulers::Declared;
use hls_core::PolicyInfo;
use hls_units::is_hidden;
use kdl::KdlValue;
use std::collections::HashMap;
use std::sync::Arc;

/// The property that says what is started.
pub(crate) const COMMAND: &str = "command";

/// A scheduler, with the place of its first mention.
pub(crate) struct Scheduler {
    pub(crate) name: String,
    /// `None`: the file names a policy that does not exist.
    pub(crate) policy: Option<&'static PolicyInfo>,
    /// What the policy says that it promises, if it was loaded.
    pub(crate) declared: Option<Arc<Declared>>,
    pub(crate) span: Span,
}

/// A thread.
pub(crate) struct Thread {
    pub(crate) name: String,
    /// The node that states what it does.
    pub(crate) workload: Option<usize>,
    /// The tasks in that node's braces.
    pub(crate) tasks: Vec<Task>,
}

/// One of the tasks that a thread serves.
pub(crate) struct Task {
    pub(crate) node: usize,
    pub(crate) name: String,
}

/// What a child hangs below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parent {
    /// Nothing: it is the root.
    None,
    /// A scheduler.
    Scheduler(usize),
    /// Not a valid name of a scheduler; reported already.
    Unknown,
}

/// A node that puts a scheduler or a thread below a parent. A join may be mentioned several times; a scheduler with a
/// command mentions its agent, too.
pub(crate) struct Mention {
    pub(crate) node: usize,
    pub(crate) child: Child,
    pub(crate) parent: Parent,
    /// Whether it is the first mention of its child.
    pub(crate) is_first: bool,
    /// Whether the node is the parent's, and the child the thread that its command starts.
    pub(crate) is_agent: bool,
}

/// All that a file declares. Indices into `nodes` are indices of raw nodes.
#[derive(Default)]
pub(crate) struct Declarations {
    pub(crate) machine: Option<usize>,
    pub(crate) interrupts: Vec<usize>,
    pub(crate) loads: Vec<LoadStatement>,
    pub(crate) schedulers: Vec<Scheduler>,
    pub(crate) threads: Vec<Thread>,
    /// In file order.
    pub(crate) mentions: Vec<Mention>,
}

/// What a node turned out to be.
#[derive(Clone, Copy)]
enum Role {
    Machine,
    Scheduler(usize),
    Thread(usize),
    /// The tasks of that thread.
    Tasks(usize),
    /// Something without children: an interrupt, a task, any other workload.
    Leaf,
    /// Reported already; nothing in it is reported.
    Unknown,
}

struct Declarer<'a> {
    policies: &'a Policies,
    nodes: &'a [Node],
    sink: &'a mut Sink,
    roles: Vec<Role>,
    /// What each name stands for, and the node that gave it.
    names: HashMap<String, (Child, &'a Node)>,
    declared: Declarations,
}

/// Finds out what each node is. Parents come before their children in `nodes`. When some nodes could not be read
/// (`whole` is false), a `parent` that is not found is not reported: it may be one of them.
pub(crate) fn declare(policies: &Policies, nodes: &[Node], whole: bool, sink: &mut Sink) -> Declarations {
    let declared = Declarations { loads: loads::read(nodes, policies, sink), ..Declarations::default() };
    let mut declarer = Declarer { policies, nodes, sink, roles: Vec::new(), names: HashMap::new(), declared };
    for at in 0..nodes.len() {
        if declarer.sink.is_full() {
            break;
        }
        let role = declarer.role(at);
        declarer.roles.push(role);
    }
    declarer.resolve_parents(whole);
    declarer.declared
}

impl<'a> Declarer<'a> {
    fn role(&mut self, at: usize) -> Role {
        let node = &self.nodes[at];
        match (node.parent.map(|parent| self.roles[parent]), node.name.text.as_str()) {
            (None, "machine") => self.machine(at),
            (None, LOAD) => Role::Leaf,
            (None | Some(Role::Scheduler(_)), "thread") => self.thread(at),
            (Some(Role::Scheduler(_)), LOAD) => {
                let found = "`load` in a scheduler's braces";
                self.error(node.name.span.clone(), "`load`", found, "it at the top of the file", None);
                Role::Unknown
            }
            (None | Some(Role::Scheduler(_)), _) => self.scheduler(at),
            (Some(Role::Machine), "interrupt") => {
                self.no_arguments(node);
                self.declared.interrupts.push(at);
                Role::Leaf
            }
            (Some(Role::Machine), _) => self.misplaced(at, "machine", "interrupt"),
            (Some(Role::Tasks(thread)), "task") => self.task(at, thread),
            (Some(Role::Tasks(_)), _) => self.misplaced(at, "tasks", "task"),
            (Some(Role::Thread(thread)), _) => self.workload(at, thread),
            (Some(Role::Leaf), name) => {
                let message = format!("in `{}`", self.nodes[node.parent.unwrap_or(at)].name.text);
                self.error(
                    node.name.span.clone(),
                    message,
                    format!("`{name}`"),
                    "nothing in its braces",
                    None,
                );
                Role::Unknown
            }
            (Some(Role::Unknown), _) => Role::Unknown,
        }
    }

    fn error(
        &mut self,
        span: Span,
        message: impl Into<String>,
        found: impl Into<String>,
        expected: impl Into<String>,
        help: Option<String>,
    ) {
        self.sink.add(Diagnostic::error(span, message, found, expected).help(help));
    }

    fn machine(&mut self, at: usize) -> Role {
        let node = &self.nodes[at];
        self.no_arguments(node);
        let first = *self.declared.machine.get_or_insert(at);
        if first != at {
            let error =
                Diagnostic::error(node.name.span.clone(), "`machine`", "a second one", "one in a file");
            self.sink.add(error.first(self.nodes[first].name.span.clone()));
        }
        Role::Machine
    }

    /// Reports a node in braces that hold other nodes only.
    fn misplaced(&mut self, at: usize, within: &str, only: &'static str) -> Role {
        let Name { text: name, span } = &self.nodes[at].name;
        let help = nearest(name, [only]).map(did_you_mean);
        self.error(span.clone(), format!("in `{within}`"), format!("`{name}`"), format!("`{only}`"), help);
        Role::Unknown
    }

    fn task(&mut self, at: usize, thread: usize) -> Role {
        let node = &self.nodes[at];
        let name = self.name_argument(node);
        if name.is_none() && node.arguments.is_empty() && node.is_whole {
            let help = "write task \"NAME\" run=\"1ms\" every=\"10ms\"".to_owned();
            self.error(node.name.span.clone(), "`task`", "no name", "a name in quotes", help.into());
        }
        let name = name.unwrap_or_default().to_owned();
        self.declared.threads[thread].tasks.push(Task { node: at, name });
        Role::Leaf
    }

    fn workload(&mut self, at: usize, thread: usize) -> Role {
        let node = &self.nodes[at];
        self.no_arguments(node);
        let message = format!("thread `{}`", self.declared.threads[thread].name);
        let first = *self.declared.threads[thread].workload.get_or_insert(at);
        if first != at {
            let error = Diagnostic::error(node.name.span.clone(), message, "a second workload", "one");
            self.sink.add(error.first(self.nodes[first].name.span.clone()));
        }
        if node.name.text == "tasks" { Role::Tasks(thread) } else { Role::Leaf }
    }

    fn thread(&mut self, at: usize) -> Role {
        let node = &self.nodes[at];
        let name = self.name_argument(node);
        if name.is_none() && node.arguments.is_empty() && node.is_whole {
            let help = "write thread \"NAME\" ...".to_owned();
            self.error(node.name.span.clone(), "`thread`", "no name", "a name in quotes", help.into());
        }
        let child = Child::Thread(self.declared.threads.len());
        let name = name.unwrap_or_default();
        self.declared.threads.push(Thread { name: name.to_owned(), workload: None, tasks: Vec::new() });
        if let Some((_, first)) = self.names.get(name) {
            self.duplicate(node, name, first);
        } else if !name.is_empty() {
            self.names.insert(name.to_owned(), (child, node));
        }
        self.mention(at, child, true);
        Role::Thread(self.declared.threads.len() - 1)
    }

    fn scheduler(&mut self, at: usize) -> Role {
        let node = &self.nodes[at];
        let word = node.name.text.as_str();
        let known = self.policies.find(word);
        let (policy, promises) =
            (known.map(|known| known.info), known.and_then(|known| known.declared.clone()));
        if policy.is_none() && self.unknown_policy(node) {
            return Role::Unknown;
        }
        let given = self.name_argument(node);
        let name = given.unwrap_or(word);
        let same = match self.names.get(name) {
            Some((Child::Scheduler(same), _)) => Some(*same),
            _ => None,
        };
        let of_same_policy = same
            .filter(|same| self.declared.schedulers[*same].policy.map(|p| p.name) == policy.map(|p| p.name));
        if let (Some(join), Some(_), true) =
            (of_same_policy, given, policy.is_some_and(|policy| policy.properties.joins))
        {
            self.mention(at, Child::Scheduler(join), false);
            return Role::Scheduler(join);
        }
        let scheduler = self.declared.schedulers.len();
        if let (Some(first), Some(_)) = (of_same_policy, given) {
            let help = "only a join may have two parents; another scheduler needs another name".to_owned();
            let found = "a second mention: two parents of a scheduler that is not a join";
            let error = Diagnostic::error(node.span(), format!("scheduler `{name}`"), found, "one parent");
            self.sink.add(error.help(help).first(self.declared.schedulers[first].span.clone()));
        } else if let Some((_, first)) = self.names.get(name) {
            self.duplicate(node, name, first);
        } else {
            self.names.insert(name.to_owned(), (Child::Scheduler(scheduler), node));
        }
        let (name, span) = (name.to_owned(), node.span());
        let agent = format!("{name}-agent");
        self.declared.schedulers.push(Scheduler { name, policy, declared: promises, span });
        self.mention(at, Child::Scheduler(scheduler), true);
        if policy.is_some_and(|policy| policy.properties.has_pages) && node.property(COMMAND).is_some() {
            self.agent(at, agent, scheduler);
        }
        Role::Scheduler(scheduler)
    }

    /// Notes the thread that the command of a scheduler starts.
    fn agent(&mut self, at: usize, name: String, scheduler: usize) {
        let (node, child) = (&self.nodes[at], Child::Thread(self.declared.threads.len()));
        if let Some((_, first)) = self.names.get(&name) {
            self.duplicate(node, &name, first);
        } else {
            self.names.insert(name.clone(), (child, node));
        }
        self.declared.threads.push(Thread { name, workload: None, tasks: Vec::new() });
        let parent = Parent::Scheduler(scheduler);
        self.declared.mentions.push(Mention { node: at, child, parent, is_first: true, is_agent: true });
    }

    /// Reports a node with a name that is neither a policy nor anything else; returns whether it was probably meant as
    /// something other than a scheduler.
    fn unknown_policy(&mut self, node: &Node) -> bool {
        let word = node.name.text.as_str();
        let others: &[&str] = if node.parent.is_none() { &["machine", "thread", LOAD] } else { &["thread"] };
        let known: Vec<&str> = self.policies.names().chain(others.iter().copied()).collect();
        let meant = nearest(word, known.iter().copied());
        let help = self.not_loaded(word).or_else(|| meant.map(did_you_mean)).or_else(|| {
            let file = format!("load \"{}.c\"", word.replace('-', "_"));
            name_fault(word)
                .is_none()
                .then(|| format!("a policy with a file of its own is loaded first: {file}"))
        });
        let found = format!("the unknown policy `{word}`");
        self.error(node.name.span.clone(), "a node's name", found, one_of(&known), help);
        meant.is_some_and(|meant| others.contains(&meant))
    }

    /// Why a policy is not there although the file loads it.
    fn not_loaded(&self, word: &str) -> Option<String> {
        let LoadStatement { path, .. } = self.declared.loads.iter().find(|load| load.policy() == word)?;
        Some(format!("the file loads `{path}`, but that has not given a policy of this name"))
    }

    fn duplicate(&mut self, node: &Node, name: &str, first: &Node) {
        let help = match node.arguments.is_empty() {
            true => Some(format!("give each {name} a name of its own: {name} \"NAME\" ...")),
            false => None,
        };
        let expected = "a name that no other scheduler or thread has";
        let error =
            Diagnostic::error(node.span(), format!("the name `{name}`"), "it a second time", expected);
        self.sink.add(error.help(help).first(first.span()));
    }

    /// The node's only argument, its name.
    fn name_argument(&mut self, node: &'a Node) -> Option<&'a str> {
        let (first, others) = node.arguments.split_first()?;
        if let Some(second) = others.first() {
            let found = format!("a second argument, `{}`", second.written);
            let message = format!("`{}`", node.name.text);
            self.error(second.span.clone(), message, found, "one name, then name=value", None);
        }
        match &first.kdl {
            KdlValue::String(name) if !name.trim().is_empty() && !name.contains(is_hidden) => Some(name),
            _ => {
                let (message, found) =
                    (format!("`{}`", node.name.text), format!("the name `{}`", first.written));
                self.error(
                    first.span.clone(),
                    message,
                    found,
                    "a name in quotes, on one line, not empty",
                    None,
                );
                None
            }
        }
    }

    fn no_arguments(&mut self, node: &Node) {
        if let Some(argument) = node.arguments.first() {
            let (message, found) = (format!("`{}`", node.name.text), format!("`{}`", argument.written));
            self.error(argument.span.clone(), message, found, "only properties: name=value", None);
        }
    }

    /// Notes that the node puts the child below the scheduler that encloses the node.
    fn mention(&mut self, node: usize, child: Child, is_first: bool) {
        let parent = match self.nodes[node].parent.map(|parent| self.roles[parent]) {
            Some(Role::Scheduler(parent)) => Parent::Scheduler(parent),
            Some(_) => Parent::Unknown,
            None => Parent::None,
        };
        self.declared.mentions.push(Mention { node, child, parent, is_first, is_agent: false });
    }

    /// Follows `parent="NAME"`, now that all names are known.
    fn resolve_parents(&mut self, whole: bool) {
        for at in 0..self.declared.mentions.len() {
            let mention = &self.declared.mentions[at];
            let says = !mention.is_agent && !self.sink.is_full();
            let Some(property) = self.nodes[mention.node].property("parent").filter(|_| says) else {
                continue;
            };
            let span = property.value.span.clone();
            let has_braces = mention.parent != Parent::None;
            self.declared.mentions[at].parent =
                match self.sink.ok(value::text(property, "a scheduler's name")) {
                    None => Parent::Unknown,
                    Some(name) if has_braces => {
                        let found = format!("a second parent, `{name}`, beside the one that encloses it");
                        let help =
                            "a join is mentioned once under each parent; all else has one parent".to_owned();
                        self.error(span, "property `parent`", found, "one parent", help.into());
                        Parent::Unknown
                    }
                    Some(name) => self.parent_named(name, span, whole),
                };
        }
    }

    fn parent_named(&mut self, name: &str, span: Span, whole: bool) -> Parent {
        match self.names.get(name) {
            Some((Child::Scheduler(parent), _)) => return Parent::Scheduler(*parent),
            Some((Child::Thread(_), _)) => {
                let found = format!("`{name}`, which is a thread");
                self.error(span, "property `parent`", found, "the name of a scheduler", None);
            }
            None if !whole => {}
            None => {
                let schedulers = self.declared.schedulers.iter().map(|scheduler| scheduler.name.as_str());
                let help = nearest(name, schedulers).map(did_you_mean);
                let found = format!("the unknown name `{name}`");
                self.error(span, "property `parent`", found, "the name of a scheduler", help);
            }
        }
        Parent::Unknown
    }
}
