//! Texts of TOML: plans of Assay's own, and array models.

use assay_formats::native;
use assay_sim::Model;
use serde_json::Value;

use crate::Grammar;
use crate::random::Random;
use crate::tree::{Seen, read_or_any};

const REFERENCE: &str = include_str!("../../docs/formats/plan.md");
const SEEDS: [&str; 2] = [include_str!("../seeds/plan/basic"), include_str!("../seeds/plan/patterns")];
const MODELS: [&str; 2] =
    [include_str!("../seeds/model/cluster-4.toml"), include_str!("../seeds/model/two-brick.toml")];

fn of_toml(text: &str) -> Option<Value> {
    let table: toml::Table = text.parse().ok()?;
    // An empty text is an empty table.
    if table.is_empty() { None } else { serde_json::to_value(table).ok() }
}

/// TOML has whole numbers of 63 bits and no null.
fn to_toml(value: &Value) -> Option<String> {
    fn fits(value: &Value) -> bool {
        match value {
            Value::Null => false,
            Value::Number(number) => number.as_u64().is_none_or(|number| i64::try_from(number).is_ok()),
            Value::Array(list) => list.iter().all(fits),
            Value::Object(fields) => fields.values().all(fits),
            _ => true,
        }
    }
    fits(value).then(|| toml::to_string(value).ok()).flatten()
}

fn mutate(text: &str, seen: &Seen, random: &mut Random) -> String {
    let mut value = read_or_any(of_toml(text), seen, random);
    seen.change(&mut value, random);
    to_toml(&value).unwrap_or_else(|| text.to_owned())
}

/// Plans of Assay's own.
#[derive(Debug)]
pub struct NativePlan(Seen);

impl Default for NativePlan {
    /// What is shipped and documented has been seen.
    fn default() -> Self {
        let examples = REFERENCE.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
        let shipped = native::profiles().iter().map(|profile| profile.text);
        let texts = examples.chain(shipped).chain(SEEDS);
        let mut seen = Seen::of(texts.filter_map(of_toml).collect());
        // Of those that are parts of plans only the fields are of use.
        seen.documents
            .retain(|plan| to_toml(plan).is_some_and(|text| native::parse("fuzz", &text).0.is_some()));
        NativePlan(seen)
    }
}

impl Grammar for NativePlan {
    fn mutate(&self, text: &str, random: &mut Random) -> String {
        mutate(text, &self.0, random)
    }

    fn accepts(&self, text: &str) -> bool {
        native::parse("fuzz", text).0.is_some()
    }
}

/// Array models.
#[derive(Debug)]
pub struct ArrayModel(Seen);

impl Default for ArrayModel {
    fn default() -> Self {
        ArrayModel(Seen::of(MODELS.iter().filter_map(|text| of_toml(text)).collect()))
    }
}

impl Grammar for ArrayModel {
    fn mutate(&self, text: &str, random: &mut Random) -> String {
        mutate(text, &self.0, random)
    }

    fn accepts(&self, text: &str) -> bool {
        Model::from_toml(text).is_ok()
    }
}
