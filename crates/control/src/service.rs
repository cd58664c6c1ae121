//! Answers a message: finds its method and parameters, and has the manager do it for the user. Decides nothing
//! itself. Locks the manager only for the operation, not to read, to search a mend, to prepare policies or to write.

use crate::changes::Subscription;
use crate::engine::{PolicySource, RunningEngine};
use crate::error::Error;
use crate::manager::{Manager, Peer};
use crate::operations::Granted;
use crate::policies::{Change, Ready};
use crate::user_level::Promoted;
use crate::varlink::{Call, Fault, SERVICE, SERVICE_DEFINITION, call, reply};
use hls_client::interface::*;
use hls_client::{CONTROL, Client, DEFINITION};
use hls_core::pages::VERSION;
use serde_json::{Value, json};
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::Duration;

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

/// A client of a manager in this process.
pub fn client_of<E: RunningEngine + Send>(manager: &Mutex<Manager<E>>, who: Peer) -> Client<'_> {
    Client::of(move |message| {
        // There is no subscription without a server.
        let message = message.ok_or(ErrorKind::Unsupported)?;
        let answer = answer(manager, who, message.strip_suffix(&[0]).unwrap_or(message));
        let mut reply = answer.message.unwrap_or_default();
        reply.pop();
        Ok((reply, answer.descriptors))
    })
}

/// Answers one message of a peer, given without its NUL. Any bytes get an answer.
pub fn answer<E: RunningEngine>(manager: &Mutex<Manager<E>>, who: Peer, message: &[u8]) -> Answer {
    let call = match call(message) {
        Ok(call) => call,
        Err(fault) => {
            return Answer { message: Some(fault.message()), close: fault.is_fatal, ..Answer::default() };
        }
    };
    let is_oneway = call.is_oneway;
    let mut answer = Answer::default();
    let message = match dispatch(manager, who, call, &mut answer) {
        Ok(value) => reply(&value, answer.subscription.is_some()),
        Err(fault) => fault.message(),
    };
    Answer { message: (!is_oneway).then_some(message), ..answer }
}

fn dispatch<E: RunningEngine>(
    manager: &Mutex<Manager<E>>,
    who: Peer,
    call: Call,
    answer: &mut Answer,
) -> Result<Value, Fault> {
    let Call { method, mut parameters, wants_more, .. } = call;
    let not_found = || Fault::of_service("MethodNotFound", json!({ "method": method }));
    let (interface, name) = method.rsplit_once('.').ok_or_else(not_found)?;
    match (interface, name) {
        (CONTROL, name) => {
            let request = Request::read(name, &mut parameters)?.ok_or_else(not_found)?;
            parameters.finish()?;
            control(manager, who, request, wants_more, answer)
        }
        (SERVICE, "GetInfo") => {
            parameters.finish()?;
            Ok(info())
        }
        (SERVICE, "GetInterfaceDescription") => {
            let interface = parameters.text("interface")?;
            parameters.finish()?;
            description(&interface)
        }
        (SERVICE, _) => Err(not_found()),
        _ => Err(Fault::of_service("InterfaceNotFound", json!({ "interface": interface }))),
    }
}

fn info() -> Value {
    json!({
        "vendor": "HLS",
        "product": "hls",
        "version": env!("CARGO_PKG_VERSION"),
        "url": "",
        "interfaces": [SERVICE, CONTROL],
    })
}

fn description(interface: &str) -> Result<Value, Fault> {
    let description = match interface {
        SERVICE => SERVICE_DEFINITION,
        CONTROL => DEFINITION,
        _ => return Err(Fault::of_service("InterfaceNotFound", json!({ "interface": interface }))),
    };
    Ok(json!({ "description": description }))
}

/// Carries out a request of our interface. What goes with the reply is put into `answer`.
fn control<E: RunningEngine>(
    manager: &Mutex<Manager<E>>,
    who: Peer,
    request: Request,
    wants_more: bool,
    answer: &mut Answer,
) -> Result<Value, Fault> {
    match request {
        Request::Status(Status {}) => match with(manager, Manager::sketch)? {
            Some(sketch) => reply_to::<Status>(sketch.status().map_err(|error| fault(error.into()))?),
            None => reply_to::<Status>(with(manager, Manager::status)?),
        },
        Request::Create(Create { policy, name, below, parameters }) => {
            let create = |manager: &mut Manager<E>| manager.create(who, &policy, &name, &below, &parameters);
            granted::<Create>(with_policy(manager, create)?)
        }
        Request::Destroy(Destroy { name }) => {
            with(manager, |it| it.destroy(who, &name))?;
            reply_to::<Destroy>(DestroyReply {})
        }
        Request::Move(Move { thread, to, parameters }) => {
            granted::<Move>(with(manager, |it| it.move_thread(who, thread, &to, &parameters))?)
        }
        Request::Reserve(Reserve { thread, guarantee, below }) => {
            granted::<Reserve>(with(manager, |it| it.reserve(who, thread, &guarantee, below.as_deref()))?)
        }
        Request::Release(Release { thread }) => {
            with(manager, |it| it.release(who, thread))?;
            reply_to::<Release>(ReleaseReply {})
        }
        Request::Message(Message { thread, parameter, value }) => {
            granted::<Message>(with(manager, |it| it.message(who, thread, &parameter, &value))?)
        }
        Request::Promote(call) => promote(manager, who, call, answer),
        Request::Pages(Pages { name }) => {
            let (width, pages) = with(manager, |it| it.pages(who, &name))?;
            answer.descriptors.extend([pages.kernel, pages.user]);
            reply_to::<Pages>(PagesReply { width, version: VERSION })
        }
        Request::Demote(Demote { name }) => reply_to::<Demote>(with(manager, |it| it.demote(who, &name))?),
        Request::Grant(call) => grant(manager, who, call),
        Request::Revoke(Revoke { thread }) => granted::<Revoke>(with(manager, |it| it.revoke(who, thread))?),
        Request::Suspend(Suspend { thread, by }) => {
            let by = with(manager, |it| it.suspend(who, thread, by.as_deref()))?;
            reply_to::<Suspend>(SuspendReply { by })
        }
        Request::Resume(Resume { thread }) => {
            reply_to::<Resume>(ResumeReply { by: with(manager, |it| it.resume(who, thread))? })
        }
        Request::Watch(Watch {}) if !wants_more => Err(Fault::of_service("ExpectedMore", json!({}))),
        Request::Watch(Watch {}) => {
            answer.subscription = Some(with(manager, |it| Ok(it.changes.subscribe()))?);
            reply_to::<Watch>(WatchReply { changes: vec![] })
        }
        Request::Messenger(Messenger {}) => {
            answer.descriptors.push(with(manager, Manager::messenger)?);
            reply_to::<Messenger>(MessengerReply {})
        }
        Request::Policies(Policies {}) => {
            reply_to::<Policies>(PoliciesReply { policies: with(manager, |it| Ok(it.policies()))? })
        }
        Request::Load(Load { name, path, text, replace }) => {
            let source = PolicySource { number: 0, name, path: path.into(), text };
            let begin = |manager: &mut Manager<E>| manager.begin_load(source, replace);
            let turn = with(manager, |it| it.turn(who))?;
            reply_to::<Load>(change(manager, &turn, begin, Manager::finish_load)?)
        }
        Request::Unload(Unload { name, evacuate }) => {
            let begin = |manager: &mut Manager<E>| manager.begin_unload(&name, evacuate);
            let turn = with(manager, |it| it.turn(who))?;
            reply_to::<Unload>(change(manager, &turn, begin, Manager::finish_unload)?)
        }
    }
}

fn promote<E: RunningEngine>(
    manager: &Mutex<Manager<E>>,
    who: Peer,
    Promote { name, below, agent, parameters }: Promote,
    answer: &mut Answer,
) -> Result<Value, Fault> {
    let promote = |manager: &mut Manager<E>| manager.promote(who, &name, &below, agent, &parameters);
    let Promoted { granted, width, pages } = with_policy(manager, promote)?;
    answer.descriptors.extend([pages.kernel, pages.user]);
    let CreateReply { scheduler, guarantee } = sent(granted);
    reply_to::<Promote>(PromoteReply { scheduler, guarantee, width, version: VERSION })
}

fn grant<E: RunningEngine>(
    manager: &Mutex<Manager<E>>,
    who: Peer,
    Grant { name, thread, urgency, slot }: Grant,
) -> Result<Value, Fault> {
    let numbers = [("urgency", urgency), ("slot", slot)];
    let text = |(name, number): (&str, Option<u64>)| Some((name.to_owned(), number?.to_string()));
    let texts = numbers.into_iter().filter_map(text).collect();
    granted::<Grant>(with(manager, |it| it.grant(who, &name, thread, &texts))?)
}

/// The JSON of a method's reply.
fn reply_to<M: Method>(reply: M::Reply) -> Result<Value, Fault> {
    serde_json::to_value(reply).map_err(|error| fault(Error::Failed(error.to_string())))
}

/// The reply to a method that says what was granted.
fn granted<M: Method<Reply = CreateReply>>(granted: Granted) -> Result<Value, Fault> {
    reply_to::<M>(sent(granted))
}

fn sent(Granted { scheduler, guarantee }: Granted) -> CreateReply {
    CreateReply { scheduler, guarantee: guarantee.rounded_for_people() }
}

/// Does an operation that may need a built-in policy which the engine was made without. If it does, and nothing else
/// is wrong with the request, an engine with that policy takes over for good, and the operation is done again.
fn with_policy<E: RunningEngine, T>(
    manager: &Mutex<Manager<E>>,
    act: impl Fn(&mut Manager<E>) -> Result<T, Error>,
) -> Result<T, Fault> {
    let done = held(manager, &act)?;
    let Err(Error::LeftOut(policy)) = done else { return done.map_err(fault) };
    let begin = |manager: &mut Manager<E>| manager.begin_bring_in(policy);
    let turn = with(manager, |it| Ok(it.turn.clone()))?;
    change(manager, &turn, begin, Manager::finish_bring_in)?;
    with(manager, act)
}

/// The pause between the parts of a change of policies. Each part takes CPU time from the threads of the hierarchy;
/// the pause keeps them from taking it out of the same period.
const REST: Duration = Duration::from_millis(40);

/// Makes a change of policies, one at a time. While the next engine is prepared, all other requests are answered.
fn change<E: RunningEngine, W, R>(
    manager: &Mutex<Manager<E>>,
    turn: &Mutex<()>,
    begin: impl FnOnce(&mut Manager<E>) -> Result<Change<E::NextEngine, W>, Error>,
    finish: impl FnOnce(&mut Manager<E>, Ready<E::NextEngine, W>) -> Result<R, Error>,
) -> Result<R, Fault> {
    // The lock guards no data: a preparation that panicked has left nothing behind.
    let _turn = turn.lock().unwrap_or_else(PoisonError::into_inner);
    sleep(REST);
    let change = with(manager, begin)?;
    let ready = change.prepare().map_err(fault)?;
    sleep(REST);
    with(manager, |it| finish(it, ready))
}

/// Has the manager do something, under the manager's lock. All other work for the answer, such as the search for what
/// could be granted, comes after the lock is released.
fn with<E, T>(
    manager: &Mutex<Manager<E>>,
    act: impl FnOnce(&mut Manager<E>) -> Result<T, Error>,
) -> Result<T, Fault> {
    held(manager, act)?.map_err(fault)
}

/// The same, with the error as it is. After an operation that panicked the manager may be between two states: no
/// request uses it again, and [`serve`](crate::serve()) ends.
fn held<E, T>(
    manager: &Mutex<Manager<E>>,
    act: impl FnOnce(&mut Manager<E>) -> Result<T, Error>,
) -> Result<Result<T, Error>, Fault> {
    let mut held = manager.lock().map_err(|_| {
        fault(Error::Failed("found an operation that was not finished, expected a sound hierarchy".into()))
    })?;
    let done = act(&mut held);
    drop(held);
    Ok(done)
}

fn fault(error: Error) -> Fault {
    let reason = error.to_string();
    let failure = match error {
        Error::Refused(refusal) => Failure::Refused { reason, mend: refusal.mend() },
        Error::Denied(_) => Failure::Denied { reason },
        Error::NotFound(_) => Failure::NotFound { reason },
        Error::BadValue(_) => Failure::BadValue { reason },
        Error::InUse(_) => Failure::InUse { reason },
        Error::Ended => Failure::Ended { reason },
        Error::LeftOut(_) | Error::Failed(_) => Failure::Failed { reason },
    };
    failure.into()
}
