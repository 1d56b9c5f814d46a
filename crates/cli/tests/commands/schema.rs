//! Documents against the published schemas.

use serde_json::Value;

#[path = "../../../results/src/schema/validator.rs"]
mod validator;

/// Asserts that `document` is what `docs/schemas/NAME.json` says.
#[track_caller]
pub(crate) fn validate(name: &str, document: &Value) {
    let wrong = validator::validate(&format!("{name}.json"), document);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
