//! A JSON document as fio prints it: members in their order, two blanks of indentation, blanks around the colon, six
//! digits behind the point. Scripts that look for a line of text find it.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};

/// Larger numbers than any reader takes without an exponent are cut to this.
const FLOAT_MAX: f64 = 1e18;

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Json {
    Null,
    Bool(bool),
    Int(u64),
    /// Six digits behind the point; 0 where it is not a number.
    Float(f64),
    Text(String),
    List(Vec<Json>),
    Object(Object),
}

/// Members in their order.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Object(pub(super) Vec<(String, Json)>);

impl Object {
    pub(super) fn new() -> Self {
        Self::default()
    }

    pub(super) fn put(&mut self, name: impl Into<String>, value: impl Into<Json>) {
        self.0.push((name.into(), value.into()));
    }

    /// As [`Object::put`], for building in one expression.
    pub(super) fn with(mut self, name: impl Into<String>, value: impl Into<Json>) -> Self {
        self.put(name, value);
        self
    }
}

impl From<u64> for Json {
    fn from(value: u64) -> Self {
        Json::Int(value)
    }
}

impl From<f64> for Json {
    fn from(value: f64) -> Self {
        Json::Float(value)
    }
}

impl From<bool> for Json {
    fn from(value: bool) -> Self {
        Json::Bool(value)
    }
}

impl From<&str> for Json {
    fn from(value: &str) -> Self {
        Json::Text(value.to_owned())
    }
}

impl From<String> for Json {
    fn from(value: String) -> Self {
        Json::Text(value)
    }
}

impl From<Object> for Json {
    fn from(value: Object) -> Self {
        Json::Object(value)
    }
}

impl From<Vec<Json>> for Json {
    fn from(value: Vec<Json>) -> Self {
        Json::List(value)
    }
}

impl Json {
    /// The document, with a line end behind it.
    pub(super) fn print(&self) -> String {
        let mut text = Vec::new();
        let mut serializer = Serializer::with_formatter(&mut text, AsFio(PrettyFormatter::new()));
        // Keys are text, and memory takes everything.
        let _ = self.serialize(&mut serializer);
        text.push(b'\n');
        String::from_utf8_lossy(&text).into_owned()
    }
}

impl Serialize for Json {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Json::Null => serializer.serialize_unit(),
            Json::Bool(value) => serializer.serialize_bool(*value),
            Json::Int(value) => serializer.serialize_u64(*value),
            Json::Float(value) if value.is_nan() => serializer.serialize_f64(0.0),
            Json::Float(value) => serializer.serialize_f64(value.clamp(-FLOAT_MAX, FLOAT_MAX)),
            Json::Text(value) => serializer.serialize_str(value),
            Json::List(items) => serializer.collect_seq(items),
            Json::Object(object) => {
                serializer.collect_map(object.0.iter().map(|(name, value)| (name, value)))
            }
        }
    }
}

/// serde_json's layout, but for the blanks around the colon and the digits.
struct AsFio(PrettyFormatter<'static>);

impl Formatter for AsFio {
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        write!(writer, "{value:.6}")
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_array(writer)
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array(writer)
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_array_value(writer, first)
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array_value(writer)
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object(writer)
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object(writer)
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(writer, first)
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b" : ")
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object_value(writer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_looks_as_fio_prints_it() {
        let inner = Object::new().with("a", 1_u64).with("b", 2.5).with("c", f64::NAN);
        let list = vec![Json::from("x\"\n"), Json::Null, Json::from(true), Json::from(vec![])];
        let document = Json::from(Object::new().with("o", inner).with("l", list));
        let text = document.print();
        assert_eq!(
            text,
            "{\n  \"o\" : {\n    \"a\" : 1,\n    \"b\" : 2.500000,\n    \"c\" : 0.000000\n  },\n  \"l\" : [\n    \"x\\\"\\n\",\n    null,\n    true,\n    []\n  ]\n}\n"
        );
        assert!(serde_json::from_str::<serde_json::Value>(&text).is_ok());
    }
}
