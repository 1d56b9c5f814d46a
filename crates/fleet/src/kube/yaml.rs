//! Objects as YAML, as people read and keep them: block style, strings quoted where they would be something else.

use std::fmt::Write as _;

use serde_json::Value;

/// Several objects as one file.
pub fn documents<'v>(objects: impl IntoIterator<Item = &'v Value>) -> String {
    let mut text = String::new();
    for object in objects {
        text.push_str("---\n");
        block(object, 0, &mut text);
    }
    text
}

fn block(value: &Value, depth: usize, to: &mut String) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let _ = write!(to, "{:1$}{2}:", "", depth, scalar(&Value::String(name.clone())));
                below(member, depth + 2, to);
            }
        }
        Value::Array(items) => {
            for item in items {
                let at = to.len();
                match item {
                    Value::Object(members) if !members.is_empty() => {
                        block(item, depth + 2, to);
                        // The first member stands behind the dash.
                        to.replace_range(at + depth..at + depth + 2, "- ");
                    }
                    other => {
                        let _ = writeln!(to, "{:1$}- {2}", "", depth, scalar(other));
                    }
                }
            }
        }
        other => {
            let _ = writeln!(to, "{:1$}{2}", "", depth, scalar(other));
        }
    }
}

fn below(member: &Value, depth: usize, to: &mut String) {
    let nested = match member {
        Value::Object(members) => !members.is_empty(),
        Value::Array(items) => !items.is_empty(),
        _ => false,
    };
    if nested {
        to.push('\n');
        block(member, depth, to);
    } else {
        let _ = writeln!(to, " {}", scalar(member));
    }
}

/// JSON is YAML; what reads as a plain word stays one.
fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) if is_plain(text) => text.clone(),
        other => other.to_string(),
    }
}

fn is_plain(text: &str) -> bool {
    const WORDS: [&str; 8] = ["true", "false", "yes", "no", "on", "off", "null", "~"];
    let starts = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/');
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '/');
    starts && text.chars().all(fits) && !WORDS.contains(&text.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn objects_are_blocks() {
        let object = json!({
            "kind": "Role", "metadata": {"labels": {}, "name": "a"}, "on": "true", "n": 3, "version": "1",
            "rules": [{"apiGroups": [""], "verbs": ["get", "list"]}, {"resources": ["pods"]}],
        });
        let expected = "---\nkind: Role\nmetadata:\n  labels: {}\n  name: a\nn: 3\n\"on\": \"true\"\nrules:\n  - apiGroups:\n      - \"\"\n    \
                        verbs:\n      - get\n      - list\n  - resources:\n      - pods\nversion: \"1\"\n";
        assert_eq!(documents([&object]), expected);
    }
}
