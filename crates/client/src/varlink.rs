//! The part of the Varlink protocol that both ends need: messages, which are JSON and end with a NUL, and the
//! parameters of a call while they are read. Never panics on any bytes.

use crate::Texts;
use serde_json::{Map, Value};

/// The interface.
pub const CONTROL: &str = "hls.Control";
/// Its definition.
pub const DEFINITION: &str = include_str!("hls.Control.varlink");
/// The longest request, with its NUL, in bytes.
pub const MAX_REQUEST: usize = 64 << 10;

/// A message with its end.
pub fn message(value: &Value) -> Vec<u8> {
    let mut bytes = value.to_string().into_bytes();
    bytes.push(0);
    bytes
}

/// The name of a parameter that is missing, unknown, or of another type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InvalidParameter(pub String);

/// The parameters of a call while they are read. A null counts as missing.
#[derive(Debug)]
pub struct Parameters(Map<String, Value>);

impl From<Map<String, Value>> for Parameters {
    fn from(parameters: Map<String, Value>) -> Parameters {
        Parameters(parameters)
    }
}

/// # Errors
/// The parameter is of another type, or missing where it must be there.
impl Parameters {
    /// A text that may be missing.
    pub fn optional_text(&mut self, name: &str) -> Result<Option<String>, InvalidParameter> {
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(invalid(name)),
        }
    }

    /// A text.
    pub fn text(&mut self, name: &str) -> Result<String, InvalidParameter> {
        self.optional_text(name)?.ok_or_else(|| invalid(name))
    }

    /// True or false; false if it is missing.
    pub fn flag(&mut self, name: &str) -> Result<bool, InvalidParameter> {
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(false),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(_) => Err(invalid(name)),
        }
    }

    /// A whole number that may be missing.
    pub fn optional_number(&mut self, name: &str) -> Result<Option<u64>, InvalidParameter> {
        match self.0.remove(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => value.as_u64().map(Some).ok_or_else(|| invalid(name)),
        }
    }

    /// The number of a thread.
    pub fn thread(&mut self, name: &str) -> Result<u32, InvalidParameter> {
        let number = self.0.remove(name).and_then(|value| value.as_u64()?.try_into().ok());
        number.filter(|number| *number > 0).ok_or_else(|| invalid(name))
    }

    /// Texts by name; none if they are missing.
    pub fn texts(&mut self, name: &str) -> Result<Texts, InvalidParameter> {
        let texts = match self.0.remove(name) {
            None | Some(Value::Null) => return Ok(Texts::new()),
            Some(Value::Object(texts)) => texts,
            Some(_) => return Err(invalid(name)),
        };
        let text = |(key, value)| match value {
            Value::String(text) => Ok((key, text)),
            _ => Err(invalid(name)),
        };
        texts.into_iter().map(text).collect()
    }

    /// Refuses parameters that were not read.
    pub fn finish(self) -> Result<(), InvalidParameter> {
        self.0.keys().next().map_or(Ok(()), |unknown| Err(invalid(unknown)))
    }
}

fn invalid(name: &str) -> InvalidParameter {
    InvalidParameter(name.to_owned())
}
