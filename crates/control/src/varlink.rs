//! The part of the Varlink protocol that is needed here: JSON messages that end with a NUL, calls with parameters,
//! replies, errors. Relies on serde_json, which bounds the depth of what it reads. Never panics on any bytes.

use serde_json::{Map, Value, json};

/// The interface that every Varlink service has.
pub(crate) const SERVICE: &str = "org.varlink.service";
/// The interface of HLSCtl.
pub(crate) const CONTROL: &str = "hls.Control";
/// The definition of `CONTROL`.
pub(crate) const DEFINITION: &str = include_str!("hls.Control.varlink");
/// The definition of `SERVICE`, from the protocol's authors.
pub(crate) const SERVICE_DEFINITION: &str = include_str!("org.varlink.service.varlink");

/// The longest request, with its NUL, in bytes.
pub const MAX_REQUEST: usize = 64 << 10;

/// A call.
pub(crate) struct Call {
    pub(crate) method: String,
    pub(crate) parameters: Parameters,
    /// Whether the caller wants no reply.
    pub(crate) is_oneway: bool,
}

/// An error as the caller gets it.
#[derive(Debug)]
pub(crate) struct Fault {
    error: String,
    parameters: Value,
    /// Whether the rest of the connection's bytes cannot be understood.
    pub(crate) is_fatal: bool,
}

impl Fault {
    /// An error of our interface.
    pub(crate) fn of_control(error: &str, parameters: Value) -> Fault {
        Fault { error: format!("{CONTROL}.{error}"), parameters, is_fatal: false }
    }

    /// An error that every service has.
    pub(crate) fn of_service(error: &str, parameters: Value) -> Fault {
        Fault { error: format!("{SERVICE}.{error}"), parameters, is_fatal: false }
    }

    /// The bytes received are not a message.
    pub(crate) fn malformed(reason: &str) -> Fault {
        Fault { is_fatal: true, ..Fault::of_control("Malformed", json!({ "reason": reason })) }
    }

    fn parameter(name: &str) -> Fault {
        Fault::of_service("InvalidParameter", json!({ "parameter": name }))
    }

    /// The message.
    pub(crate) fn message(&self) -> Vec<u8> {
        message(&json!({ "error": self.error, "parameters": self.parameters }))
    }
}

/// The message of a reply.
pub(crate) fn reply(parameters: Value) -> Vec<u8> {
    message(&json!({ "parameters": parameters }))
}

/// A message with its end.
pub(crate) fn message(value: &Value) -> Vec<u8> {
    let mut bytes = value.to_string().into_bytes();
    bytes.push(0);
    bytes
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
    // A server may answer a call with `more` by a single reply.
    let (is_oneway, is_upgrade, _) = (flag("oneway")?, flag("upgrade")?, flag("more")?);
    if is_upgrade {
        return Err(Fault::malformed("found a call to upgrade the connection, expected a plain one"));
    }
    Ok(Call { method, parameters: Parameters(parameters), is_oneway })
}

/// The parameters of a call while they are read. A null counts as missing.
pub(crate) struct Parameters(Map<String, Value>);

impl Parameters {
    /// A text that may be missing.
    pub(crate) fn optional_text(&mut self, name: &str) -> Result<Option<String>, Fault> {
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(Fault::parameter(name)),
        }
    }

    /// A text.
    pub(crate) fn text(&mut self, name: &str) -> Result<String, Fault> {
        self.optional_text(name)?.ok_or_else(|| Fault::parameter(name))
    }

    /// True or false; false if it is missing.
    pub(crate) fn flag(&mut self, name: &str) -> Result<bool, Fault> {
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(_) => Err(Fault::parameter(name)),
        }
    }

    /// A whole number that may be missing.
    pub(crate) fn optional_number(&mut self, name: &str) -> Result<Option<u64>, Fault> {
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => value.as_u64().map(Some).ok_or_else(|| Fault::parameter(name)),
        }
    }

    /// The number of a thread.
    pub(crate) fn thread(&mut self, name: &str) -> Result<u32, Fault> {
        let number = self.0.remove(name).and_then(|value| value.as_u64()?.try_into().ok());
        number.filter(|number| *number > 0).ok_or_else(|| Fault::parameter(name))
    }

    /// Texts by name; none if they are missing.
    pub(crate) fn texts(&mut self, name: &str) -> Result<crate::params::Texts, Fault> {
        let texts = match self.0.remove(name) {
            None | Some(Value::Null) => return Ok(Default::default()),
            Some(Value::Object(texts)) => texts,
            Some(_) => return Err(Fault::parameter(name)),
        };
        let text = |(key, value)| match value {
            Value::String(text) => Ok((key, text)),
            _ => Err(Fault::parameter(name)),
        };
        texts.into_iter().map(text).collect()
    }

    /// Refuses parameters that were not read.
    pub(crate) fn finish(self) -> Result<(), Fault> {
        self.0.keys().next().map_or(Ok(()), |unknown| Err(Fault::parameter(unknown)))
    }
}
