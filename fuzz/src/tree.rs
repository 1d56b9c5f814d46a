//! Texts that are trees of values (JSON, TOML): a value becomes another one of its type, and what stands under a name somewhere may
//! stand under it elsewhere.

use serde_json::{Map, Number, Value};

use crate::random::Random;

/// What was seen in texts of a language.
#[derive(Debug, Default)]
pub struct Seen {
    /// Whole texts.
    pub documents: Vec<Value>,
    /// Names with values that stood under them.
    fields: Vec<(String, Value)>,
}

impl Seen {
    /// Of these texts.
    pub fn of(documents: Vec<Value>) -> Self {
        let mut seen = Seen::default();
        documents.iter().for_each(|document| seen.note(document));
        seen.documents = documents;
        seen
    }

    fn note(&mut self, value: &Value) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    self.fields.push((name.clone(), value.clone()));
                    self.note(value);
                }
            }
            Value::Array(list) => list.iter().for_each(|element| self.note(element)),
            _ => {}
        }
    }

    fn under(&self, name: &str) -> Vec<&Value> {
        self.fields.iter().filter(|field| field.0 == name).map(|field| &field.1).collect()
    }

    /// Changes one place of `value`.
    pub fn change(&self, value: &mut Value, random: &mut Random) {
        self.change_below(None, value, random);
    }

    /// Down a random path: as often near the top as far below.
    fn change_below(&self, name: Option<&str>, place: &mut Value, random: &mut Random) {
        let further = random.below(4) > 0;
        match place {
            Value::Object(fields) if further && !fields.is_empty() => {
                let at = random.below(fields.len());
                if let Some((name, value)) = fields.iter_mut().nth(at) {
                    self.change_below(Some(name), value, random);
                }
            }
            Value::Array(list) if further && !list.is_empty() => {
                let at = random.below(list.len());
                self.change_below(name, &mut list[at], random);
            }
            _ => self.change_here(name, place, random),
        }
    }

    fn change_here(&self, name: Option<&str>, place: &mut Value, random: &mut Random) {
        let known = name.map_or_else(Vec::new, |name| self.under(name));
        if !known.is_empty() && random.one_in(3) {
            *place = (*random.pick(&known)).clone();
            return;
        }
        match place {
            Value::Bool(flag) => *flag = !*flag,
            Value::Number(number) => *number = another(number, random),
            Value::String(text) => *text = random.with_another_number(text),
            Value::Array(list) => change_list(list, random),
            Value::Object(fields) => self.change_fields(fields, random),
            Value::Null => {}
        }
    }

    fn change_fields(&self, fields: &mut Map<String, Value>, random: &mut Random) {
        if random.one_in(3) && !fields.is_empty() {
            let name = fields.keys().nth(random.below(fields.len())).cloned();
            name.and_then(|name| fields.remove(&name));
        } else if !self.fields.is_empty() {
            let (name, value) = random.pick(&self.fields);
            fields.insert(name.clone(), value.clone());
        }
    }
}

fn another(number: &Number, random: &mut Random) -> Number {
    if let Some(whole) = number.as_u64() {
        return random.number(whole).into();
    }
    let old = number.as_f64().unwrap_or(0.0);
    let new = match random.below(8) {
        0 => 0.0,
        1 => old * 1e9,
        2 => old / 1e9,
        3 => 1.0,
        4 => 100.0,
        5 => f64::MIN_POSITIVE,
        6 => random.next() as f64 / u64::MAX as f64,
        _ => old * 1.5,
    };
    Number::from_f64(new).unwrap_or_else(|| 1.into())
}

fn change_list(list: &mut Vec<Value>, random: &mut Random) {
    let (at, other) = (random.below(list.len()), random.below(list.len()));
    match random.below(4) {
        _ if list.is_empty() => {}
        0 => drop(list.remove(at)),
        1 | 2 => list.insert(at, list[other].clone()),
        _ => list.swap(at, other),
    }
}

/// One of the values that are read as a whole text, where `text` is none.
pub fn read_or_any(read: Option<Value>, seen: &Seen, random: &mut Random) -> Value {
    match read {
        Some(value) if !random.one_in(50) => value,
        _ => random.pick(&seen.documents).clone(),
    }
}
