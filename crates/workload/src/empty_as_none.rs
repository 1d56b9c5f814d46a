//! Text that may be missing and is stored as an empty string where it is: `#[serde(with = ..)]`.

use serde::{Deserialize as _, Deserializer, Serializer};

/// Writes the text, or an empty string.
///
/// # Errors
/// Those of the format.
pub fn serialize<S: Serializer>(text: &Option<String>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(text.as_deref().unwrap_or_default())
}

/// Reads the text; an empty string and null are none.
///
/// # Errors
/// Those of the format.
pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    Ok(Option::<String>::deserialize(from)?.filter(|text| !text.is_empty()))
}
