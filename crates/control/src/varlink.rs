//! The server's part of the Varlink protocol: reads calls, writes replies and errors. Relies on serde_json, which
//! bounds the depth of what it reads. Never panics on any bytes.

use crate::error::Error;
use hls_client::interface::Failure;
use hls_client::{InvalidParameter, Parameters, message};
use serde_json::{Map, Value, json};

/// The interface that every Varlink service has.
pub(crate) const SERVICE: &str = "org.varlink.service";
/// The definition of `SERVICE`, from the protocol's authors.
pub(crate) const SERVICE_DEFINITION: &str = include_str!("org.varlink.service.varlink");

/// A call.
pub(crate) struct Call {
    pub(crate) method: String,
    pub(crate) parameters: Parameters,
    /// Whether the caller wants no reply.
    pub(crate) is_oneway: bool,
    /// Whether the caller takes more than one reply.
    pub(crate) wants_more: bool,
}

/// An error as the caller gets it.
#[derive(Debug)]
pub(crate) struct Fault {
    /// The JSON of the message.
    json: Value,
    /// Whether the rest of the connection's bytes cannot be understood.
    pub(crate) is_fatal: bool,
}

impl Fault {
    /// An error that every service has.
    pub(crate) fn of_service(error: &str, parameters: Value) -> Fault {
        let json = json!({ "error": format!("{SERVICE}.{error}"), "parameters": parameters });
        Fault { json, is_fatal: false }
    }

    /// The bytes received are not a message.
    pub(crate) fn malformed(reason: &str) -> Fault {
        Fault { is_fatal: true, ..Failure::Malformed { reason: reason.to_owned() }.into() }
    }

    /// The message.
    pub(crate) fn message(&self) -> Vec<u8> {
        message(&self.json)
    }
}

impl From<Failure> for Fault {
    fn from(failure: Failure) -> Fault {
        Fault { json: json!(failure), is_fatal: false }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Fault {
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
}

impl From<InvalidParameter> for Fault {
    fn from(InvalidParameter(name): InvalidParameter) -> Fault {
        Fault::of_service("InvalidParameter", json!({ "parameter": name }))
    }
}

/// The message of a reply; of the last one, unless it `continues`.
pub(crate) fn reply(parameters: &Value, continues: bool) -> Vec<u8> {
    message(&match continues {
        true => json!({ "parameters": parameters, "continues": true }),
        false => json!({ "parameters": parameters }),
    })
}

/// Reads a call from a message without its NUL.
pub(crate) fn call(message: &[u8]) -> Result<Call, Fault> {
    let value: Value = serde_json::from_slice(message)
        .map_err(|error| Fault::malformed(&format!("found {error}, expected a JSON object")))?;
    let Value::Object(mut fields) = value else {
        return Err(Fault::malformed("found JSON that is no object, expected a call"));
    };
    let Some(Value::String(method)) = fields.remove("method") else {
        return Err(Fault::malformed("found no method, expected its name as a string"));
    };
    let parameters = match fields.remove("parameters") {
        Some(Value::Object(parameters)) => parameters,
        None | Some(Value::Null) => Map::new(),
        Some(_) => return Err(Fault::malformed("found parameters that are no object, expected one")),
    };
    let mut flag = |name: &str| match fields.remove(name) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(is_set)) => Ok(is_set),
        Some(_) => {
            Err(Fault::malformed(&format!("found `{name}` that is no boolean, expected true or false")))
        }
    };
    let (is_oneway, is_upgrade, wants_more) = (flag("oneway")?, flag("upgrade")?, flag("more")?);
    if is_upgrade {
        return Err(Fault::malformed("found a call to upgrade the connection, expected a plain one"));
    }
    Ok(Call { method, parameters: parameters.into(), is_oneway, wants_more })
}
