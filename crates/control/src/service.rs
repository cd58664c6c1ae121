//! Answers a message: finds its method and parameters, and has the manager do it for the user. Decides nothing
//! itself. Locks the manager only for the operation, not to read, to search a mend, to prepare policies or to write.

use crate::engine::{PolicySource, RunningEngine};
use crate::error::Error;
use crate::manager::{Manager, Peer};
use crate::operations::Granted;
use crate::params::Texts;
use crate::policies::{Change, Ready};
use crate::user_level::Promoted;
use crate::varlink::{
    CONTROL, Call, DEFINITION, Fault, Parameters, SERVICE, SERVICE_DEFINITION, call, reply,
};
use hls_core::pages::VERSION;
use serde::Serialize;
use serde_json::{Value, json};
use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::Duration;

/// What the server does after a message.
#[derive(Debug)]
pub struct Answer {
    /// The message to send back, its NUL included; `None`: the client wants none.
    pub message: Option<Vec<u8>>,
    /// The file descriptors that go with its first byte.
    pub descriptors: Vec<OwnedFd>,
    /// Whether the connection ends here.
    pub close: bool,
}

/// Answers one message of a peer, given without its NUL. Any bytes get an answer.
pub fn answer<E: RunningEngine>(manager: &Mutex<Manager<E>>, who: Peer, message: &[u8]) -> Answer {
    let call = match call(message) {
        Ok(call) => call,
        Err(fault) => {
            let close = fault.is_fatal;
            return Answer { message: Some(fault.message()), descriptors: Vec::new(), close };
        }
    };
    let is_oneway = call.is_oneway;
    let mut descriptors = Vec::new();
    let result = dispatch(manager, who, call, &mut descriptors);
    let message = result.map_or_else(|fault| fault.message(), reply);
    Answer { message: (!is_oneway).then_some(message), descriptors, close: false }
}

fn dispatch<E: RunningEngine>(
    manager: &Mutex<Manager<E>>,
    who: Peer,
    call: Call,
    descriptors: &mut Vec<OwnedFd>,
) -> Result<Value, Fault> {
    let Call { method, mut parameters, .. } = call;
    let Some((interface, name)) = method.rsplit_once('.') else {
        return Err(Fault::of_service("MethodNotFound", json!({ "method": method })));
    };
    match (interface, name) {
        (SERVICE, "GetInfo") => {
            parameters.finish()?;
            Ok(info())
        }
        (SERVICE, "GetInterfaceDescription") => {
            let interface = parameters.text("interface")?;
            parameters.finish()?;
            description(&interface)
        }
        (CONTROL, "Messenger") => {
            parameters.finish()?;
            let messenger = with(manager, Manager::messenger)?;
            descriptors.push(messenger);
            Ok(json!({}))
        }
        (CONTROL, "Promote" | "Pages" | "Demote" | "Grant" | "Revoke" | "Suspend" | "Resume") => {
            user_level(manager, who, name, parameters, descriptors)
        }
        (CONTROL, name) => control(manager, who, name, parameters),
        (SERVICE, _) => Err(Fault::of_service("MethodNotFound", json!({ "method": method }))),
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

/// The methods of our interface.
fn control<E: RunningEngine>(
    manager: &Mutex<Manager<E>>,
    who: Peer,
    name: &str,
    mut parameters: Parameters,
) -> Result<Value, Fault> {
    let p = &mut parameters;
    match name {
        "Status" => {
            parameters.finish()?;
            let status = match with(manager, Manager::sketch)? {
                Some(sketch) => sketch.status().map_err(|error| fault(error.into()))?,
                None => with(manager, Manager::status)?,
            };
            value(status)
        }
        "Create" => {
            let [policy, name, below] = [p.text("policy")?, p.text("name")?, p.text("below")?];
            let texts = p.texts("parameters")?;
            parameters.finish()?;
            let create = |manager: &mut Manager<E>| manager.create(who, &policy, &name, &below, &texts);
            Ok(granted(&with_policy(manager, create)?))
        }
        "Destroy" => {
            let name = p.text("name")?;
            parameters.finish()?;
            with(manager, |it| it.destroy(who, &name))?;
            Ok(json!({}))
        }
        "Move" => {
            let (thread, to, texts) = (p.thread("thread")?, p.text("to")?, p.texts("parameters")?);
            parameters.finish()?;
            Ok(granted(&with(manager, |it| it.move_thread(who, thread, &to, &texts))?))
        }
        "Reserve" => {
            let (thread, guarantee) = (p.thread("thread")?, p.text("guarantee")?);
            let below = p.optional_text("below")?;
            parameters.finish()?;
            Ok(granted(&with(manager, |it| it.reserve(who, thread, &guarantee, below.as_deref()))?))
        }
        "Release" => {
            let thread = p.thread("thread")?;
            parameters.finish()?;
            with(manager, |it| it.release(who, thread))?;
            Ok(json!({}))
        }
        "Message" => {
            let (thread, name, value) = (p.thread("thread")?, p.text("parameter")?, p.text("value")?);
            parameters.finish()?;
            Ok(granted(&with(manager, |it| it.message(who, thread, &name, &value))?))
        }
        "Policies" => {
            parameters.finish()?;
            Ok(json!({ "policies": with(manager, |it| Ok(it.policies()))? }))
        }
        "Load" => {
            let [name, path, text] = [p.text("name")?, p.text("path")?, p.text("text")?];
            let replace = p.flag("replace")?;
            parameters.finish()?;
            let source = PolicySource { number: 0, name, path: path.into(), text };
            let begin = |manager: &mut Manager<E>| manager.begin_load(source, replace);
            let turn = with(manager, |it| it.turn(who))?;
            value(change(manager, &turn, begin, Manager::finish_load)?)
        }
        "Unload" => {
            let (name, evacuate) = (p.text("name")?, p.flag("evacuate")?);
            parameters.finish()?;
            let begin = |manager: &mut Manager<E>| manager.begin_unload(&name, evacuate);
            let turn = with(manager, |it| it.turn(who))?;
            value(change(manager, &turn, begin, Manager::finish_unload)?)
        }
        _ => Err(Fault::of_service("MethodNotFound", json!({ "method": format!("{CONTROL}.{name}") }))),
    }
}

/// The methods for user-level schedulers.
fn user_level<E: RunningEngine>(
    manager: &Mutex<Manager<E>>,
    who: Peer,
    name: &str,
    mut parameters: Parameters,
    descriptors: &mut Vec<OwnedFd>,
) -> Result<Value, Fault> {
    let p = &mut parameters;
    match name {
        "Promote" => {
            let ([name, below], agent) = ([p.text("name")?, p.text("below")?], p.thread("agent")?);
            let texts = p.texts("parameters")?;
            parameters.finish()?;
            let promote = |manager: &mut Manager<E>| manager.promote(who, &name, &below, agent, &texts);
            let Promoted { granted: of, width, pages } = with_policy(manager, promote)?;
            descriptors.extend([pages.kernel, pages.user]);
            let mut reply = granted(&of);
            (reply["width"], reply["version"]) = (width.into(), VERSION.into());
            Ok(reply)
        }
        "Pages" => {
            let name = p.text("name")?;
            parameters.finish()?;
            let (width, pages) = with(manager, |it| it.pages(who, &name))?;
            descriptors.extend([pages.kernel, pages.user]);
            Ok(json!({ "width": width, "version": VERSION }))
        }
        "Demote" => {
            let name = p.text("name")?;
            parameters.finish()?;
            value(with(manager, |it| it.demote(who, &name))?)
        }
        "Grant" => {
            let (name, thread) = (p.text("name")?, p.thread("thread")?);
            let mut texts = Texts::new();
            for parameter in ["urgency", "slot"] {
                let number = p.optional_number(parameter)?;
                texts.extend(number.map(|number| (parameter.to_owned(), number.to_string())));
            }
            parameters.finish()?;
            Ok(granted(&with(manager, |it| it.grant(who, &name, thread, &texts))?))
        }
        "Suspend" => {
            let (thread, by) = (p.thread("thread")?, p.optional_text("by")?);
            parameters.finish()?;
            let by = with(manager, |it| it.suspend(who, thread, by.as_deref()))?;
            Ok(json!({ "by": by }))
        }
        "Resume" => {
            let thread = p.thread("thread")?;
            parameters.finish()?;
            let by = with(manager, |it| it.resume(who, thread))?;
            Ok(json!({ "by": by }))
        }
        _ => {
            let thread = p.thread("thread")?;
            parameters.finish()?;
            Ok(granted(&with(manager, |it| it.revoke(who, thread))?))
        }
    }
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

fn granted(Granted { scheduler, guarantee }: &Granted) -> Value {
    json!({ "scheduler": scheduler, "guarantee": guarantee.rounded_for_people() })
}

fn value(value: impl Serialize) -> Result<Value, Fault> {
    serde_json::to_value(value).map_err(|error| fault(Error::Failed(error.to_string())))
}

fn fault(error: Error) -> Fault {
    let reason = error.to_string();
    let name = match error {
        Error::Refused(refusal) => {
            let parameters = json!({ "reason": reason, "mend": refusal.mend() });
            return Fault::of_control("Refused", parameters);
        }
        Error::Denied(_) => "Denied",
        Error::NotFound(_) => "NotFound",
        Error::BadValue(_) => "BadValue",
        Error::InUse(_) => "InUse",
        Error::Ended => "Ended",
        Error::LeftOut(_) | Error::Failed(_) => "Failed",
    };
    Fault::of_control(name, json!({ "reason": reason }))
}
