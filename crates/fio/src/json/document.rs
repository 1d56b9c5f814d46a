//! A JSON document as fio prints it: members in their order, two blanks of indentation, blanks around the colon, six
//! digits behind the point. Scripts that look for a line of text find it.

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

macro_rules! from {
    ($($kind:ident($of:ty)),*) => {
        $(impl From<$of> for Json {
            fn from(value: $of) -> Self {
                Json::$kind(value)
            }
        })*
    };
}

from!(Int(u64), Float(f64), Bool(bool), Text(String), List(Vec<Json>), Object(Object));

impl From<&str> for Json {
    fn from(value: &str) -> Self {
        Json::Text(value.to_owned())
    }
}

impl Json {
    /// The document, with a line end behind it.
    pub(super) fn print(&self) -> String {
        self.text(0) + "\n"
    }

    fn text(&self, depth: usize) -> String {
        match self {
            Json::Null => "null".to_owned(),
            Json::Bool(value) => value.to_string(),
            Json::Int(value) => value.to_string(),
            Json::Float(value) if value.is_nan() => format!("{:.6}", 0.0),
            Json::Float(value) => format!("{:.6}", value.clamp(-FLOAT_MAX, FLOAT_MAX)),
            Json::Text(value) => quoted(value),
            Json::List(items) => block(['[', ']'], depth, items.iter().map(|item| item.text(depth + 1))),
            Json::Object(Object(members)) => {
                let member =
                    |(name, value): &(String, Json)| format!("{} : {}", quoted(name), value.text(depth + 1));
                block(['{', '}'], depth, members.iter().map(member))
            }
        }
    }
}

/// Text as JSON has it.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// What stands between two brackets, a line each.
fn block([open, close]: [char; 2], depth: usize, parts: impl Iterator<Item = String>) -> String {
    let indent = "  ".repeat(depth);
    let parts: Vec<String> = parts.map(|part| format!("\n{indent}  {part}")).collect();
    if parts.is_empty() {
        format!("{open}{close}")
    } else {
        format!("{open}{}\n{indent}{close}", parts.join(","))
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
