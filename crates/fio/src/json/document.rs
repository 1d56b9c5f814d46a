//! A JSON document as fio prints it: members in their order, two blanks of indentation, blanks around the colon, six
//! digits behind the point. Scripts that look for a line of text find it.

use std::fmt::Write as _;

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
        let mut text = String::new();
        self.write(&mut text, 0);
        text.push('\n');
        text
    }

    fn write(&self, text: &mut String, depth: usize) {
        match self {
            Json::Null => text.push_str("null"),
            Json::Bool(value) => text.push_str(if *value { "true" } else { "false" }),
            Json::Int(value) => {
                let _ = write!(text, "{value}");
            }
            Json::Float(value) => {
                let shown = if value.is_nan() { 0.0 } else { value.clamp(-FLOAT_MAX, FLOAT_MAX) };
                let _ = write!(text, "{shown:.6}");
            }
            Json::Text(value) => text.push_str(&quoted(value)),
            Json::List(items) => {
                let entries = items.iter().map(|item| (None, item));
                write_entries(text, depth, ('[', ']'), entries);
            }
            Json::Object(object) => {
                let entries = object.0.iter().map(|(name, value)| (Some(name.as_str()), value));
                write_entries(text, depth, ('{', '}'), entries);
            }
        }
    }
}

fn write_entries<'j>(
    text: &mut String,
    depth: usize,
    (open, close): (char, char),
    entries: impl Iterator<Item = (Option<&'j str>, &'j Json)>,
) {
    text.push(open);
    let mut first = true;
    for (name, value) in entries {
        text.push_str(if first { "\n" } else { ",\n" });
        first = false;
        text.push_str(&"  ".repeat(depth + 1));
        if let Some(name) = name {
            text.push_str(&quoted(name));
            text.push_str(" : ");
        }
        value.write(text, depth + 1);
    }
    if !first {
        text.push('\n');
        text.push_str(&"  ".repeat(depth));
    }
    text.push(close);
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
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
