//! What a method of the interface needs to be carried out: the manager that is asked, the caller, and the answer.
//!
//! The manager is locked only for an operation, not to read, to search a mend, to prepare policies or to write.

use crate::allowance::Turn;
use crate::changes::Subscription;
use crate::engine::RunningEngine;
use crate::error::Error;
use crate::manager::{Manager, Peer};
use crate::varlink::Fault;
use hls_client::interface::Method;
use std::os::fd::OwnedFd;
use std::sync::Mutex;

/// What the server does after a message.
#[derive(Debug, Default)]
pub struct Answer {
    /// The message to send back, its NUL included; `None`: the client wants none.
    pub message: Option<Vec<u8>>,
    /// The file descriptors that go with its first byte.
    pub descriptors: Vec<OwnedFd>,
    /// Whether the connection ends here.
    pub close: bool,
    /// Of what the client gets further replies.
    pub(crate) subscription: Option<Subscription>,
}

/// A method of the interface. Each has its implementation beside its operation.
pub(crate) trait Serve: Method {
    /// Does what the call asks for, and returns the reply.
    fn serve<E: RunningEngine>(self, asked: Asked<'_, E>) -> Result<Self::Reply, Fault>;
}

/// A call that is being carried out.
pub(crate) struct Asked<'a, E> {
    pub(crate) manager: &'a Mutex<Manager<E>>,
    /// The caller.
    pub(crate) who: Peer,
    /// The caller's turn; `None`: the caller needs none.
    pub(crate) turn: Option<&'a Turn<'a>>,
    /// Whether the caller takes more than one reply.
    pub(crate) wants_more: bool,
    /// What goes with the reply.
    pub(crate) answer: &'a mut Answer,
}

impl<E: RunningEngine> Asked<'_, E> {
    /// Has the manager do something, under the manager's lock.
    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut Manager<E>) -> Result<T, Error>) -> Result<T, Fault> {
        Ok(self.held(act)??)
    }

    /// The same, with the error as it is. After an operation that panicked the manager may be between two states: no
    /// request uses it again, and [`serve`](crate::serve()) ends.
    pub(crate) fn held<T>(
        &self,
        act: impl FnOnce(&mut Manager<E>) -> Result<T, Error>,
    ) -> Result<Result<T, Error>, Fault> {
        let mut held = self.manager.lock().map_err(|_| {
            Error::Failed("found an operation that was not finished, expected a sound hierarchy".into())
        })?;
        let done = act(&mut held);
        drop(held);
        Ok(done)
    }

    /// Does slow work that other users' requests do not wait for.
    pub(crate) fn aside<T>(&self, work: impl FnOnce() -> Result<T, Fault>) -> Result<T, Fault> {
        match self.turn {
            None => work(),
            Some(turn) => turn.aside(work).ok_or(Error::Ended)?,
        }
    }
}
