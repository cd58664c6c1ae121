//! What the properties of a file's schedulers, threads and edges say, once they are read: the form between the file's
//! nodes and the model. Judges nothing.

use crate::declare::Parent;
use crate::model::{Child, Placed, Span, Thread, User};
use hls_calculus::Guarantee;

/// An edge that has been read; its place in the graph has not been judged.
pub(crate) struct Edge {
    pub(crate) parent: Parent,
    pub(crate) child: Child,
    pub(crate) params: Vec<u64>,
    pub(crate) requested: Option<Guarantee>,
    /// The width that the file states, and where; `None`: the default.
    pub(crate) width: Option<(u16, Span)>,
    pub(crate) span: Span,
}

/// What the properties of a scheduler say about the scheduler itself, not about the edge above it.
#[derive(Clone, Default)]
pub(crate) struct SchedulerAttributes {
    pub(crate) params: Vec<u64>,
    pub(crate) owner: Option<Placed<User>>,
    /// Where the file says that the scheduler is the default.
    pub(crate) default: Option<Span>,
    /// Where the file says that the threads of `hls` go here.
    pub(crate) service: Option<Span>,
}

/// What the properties of all schedulers, threads and edges say.
pub(crate) struct Attributes {
    /// What the properties say of each scheduler, in the order of the declared schedulers.
    pub(crate) schedulers: Vec<SchedulerAttributes>,
    /// The threads, in the order of the declared threads.
    pub(crate) threads: Vec<Thread>,
    /// The edges, in the order of the mentions, each of which puts a child below a parent.
    pub(crate) edges: Vec<Edge>,
}
