//! Answers a message: finds its method and parameters, and has the method carried out (`asked`). Decides nothing
//! itself.

use crate::allowance::Turn;
use crate::asked::{Answer, Asked, Serve};
use crate::engine::RunningEngine;
use crate::error::Error;
use crate::manager::{Manager, Peer};
use crate::varlink::{Call, Fault, SERVICE, SERVICE_DEFINITION, call, reply};
use hls_client::interface::Request;
use hls_client::{CONTROL, Client, DEFINITION, with_call};
use serde_json::{Value, json};
use std::io::ErrorKind;
use std::sync::Mutex;

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
    answer_in_turn(manager, (who, None), message)
}

/// The same, for a peer that has a turn.
pub(crate) fn answer_in_turn<E: RunningEngine>(
    manager: &Mutex<Manager<E>>,
    caller: (Peer, Option<&Turn>),
    message: &[u8],
) -> Answer {
    let call = match call(message) {
        Ok(call) => call,
        Err(fault) => {
            return Answer { message: Some(fault.message()), close: fault.is_fatal, ..Answer::default() };
        }
    };
    let is_oneway = call.is_oneway;
    let mut answer = Answer::default();
    let message = match dispatch(manager, caller, call, &mut answer) {
        Ok(value) => reply(&value, answer.subscription.is_some()),
        Err(fault) => fault.message(),
    };
    Answer { message: (!is_oneway).then_some(message), ..answer }
}

fn dispatch<E: RunningEngine>(
    manager: &Mutex<Manager<E>>,
    (who, turn): (Peer, Option<&Turn>),
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
            let asked = Asked { manager, who, turn, wants_more, answer };
            with_call!(request, call => reply_to(call, asked))
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

fn reply_to<M: Serve, E: RunningEngine>(call: M, asked: Asked<'_, E>) -> Result<Value, Fault> {
    let reply = call.serve(asked)?;
    Ok(serde_json::to_value(reply).map_err(|error| Error::Failed(error.to_string()))?)
}
