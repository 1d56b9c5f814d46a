//! Documents that refer to each other's definitions (`plan-1.json#/$defs/Traits`) where each would have its own copy.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

/// What a reference within its document begins with.
const LOCAL: &str = "#/$defs/";

fn definitions(document: &Value) -> Option<&Map<String, Value>> {
    document.get("$defs")?.as_object()
}

fn file_of(document: &Value) -> &str {
    document["$id"].as_str().unwrap_or_default()
}

/// Calls `found` with every reference in `at`, but for the definitions of a document.
fn references<'v>(at: &'v Value, found: &mut dyn FnMut(&'v str)) {
    match at {
        Value::Array(list) => list.iter().for_each(|value| references(value, found)),
        Value::Object(fields) => {
            fields.get("$ref").and_then(Value::as_str).into_iter().for_each(&mut *found);
            let others = fields.iter().filter(|(name, _)| *name != "$defs");
            others.for_each(|(_, value)| references(value, found));
        }
        _ => {}
    }
}

/// Replaces references to definitions by what `new` gives for their names.
fn refer(at: &mut Value, new: &dyn Fn(&str) -> Option<String>) {
    match at {
        Value::Array(list) => list.iter_mut().for_each(|value| refer(value, new)),
        Value::Object(fields) => {
            if let Some(Value::String(to)) = fields.get_mut("$ref")
                && let Some(other) = to.strip_prefix(LOCAL).and_then(new)
            {
                *to = other;
            }
            fields.values_mut().for_each(|value| refer(value, new));
        }
        _ => {}
    }
}

/// Drops the definitions that nothing refers to.
fn prune(document: &mut Value) {
    let mut reached = BTreeSet::new();
    let mut open = vec![&*document];
    while let Some(at) = open.pop() {
        references(at, &mut |to| {
            if let Some(name) = to.strip_prefix(LOCAL)
                && reached.insert(name.to_owned())
            {
                open.extend(definitions(document).and_then(|all| all.get(name)));
            }
        });
    }
    if let Some(all) = document.get_mut("$defs").and_then(Value::as_object_mut) {
        all.retain(|name, _| reached.contains(name));
    }
}

/// The definitions of `document` that `owner` has alike, with all that they refer to.
fn shared<'d>(document: &'d Value, owner: &Value) -> BTreeSet<&'d str> {
    let (Some(own), Some(theirs)) = (definitions(document), definitions(owner)) else {
        return BTreeSet::new();
    };
    let alike = own.iter().filter(|(name, value)| theirs.get(*name) == Some(value));
    let mut names: BTreeSet<&str> = alike.map(|(name, _)| name.as_str()).collect();
    loop {
        let differs = |name: &&str| {
            let mut others = false;
            references(&own[*name], &mut |to| {
                others |= to.strip_prefix(LOCAL).is_some_and(|to| !names.contains(to));
            });
            others
        };
        let gone: Vec<&str> = names.iter().copied().filter(differs).collect();
        if gone.is_empty() {
            return names;
        }
        names.retain(|name| !gone.contains(name));
    }
}

/// Whether `definition` is that of the type which `owner` describes, whose field `schema` is narrower there.
fn is_whole(definition: &Value, owner: &Value) -> bool {
    let fields = |of: &Value| {
        let fields = of["properties"].as_object().into_iter().flatten();
        fields.filter(|(name, _)| *name != "schema").map(|(_, value)| value.clone()).collect::<Vec<_>>()
    };
    ["description", "required"].iter().all(|word| definition[word] == owner[word])
        && fields(definition) == fields(owner)
}

/// Each document with references in place of what one before it has: a document as a whole, or definitions.
pub(super) fn linked(mut documents: Vec<Value>) -> Vec<Value> {
    for at in 0..documents.len() {
        let (owners, rest) = documents.split_at_mut(at);
        let original = rest[0].clone();
        let whole = |name: &str| {
            let same = |owner: &&Value| owner["title"] == name && is_whole(&original["$defs"][name], owner);
            owners.iter().find(same).map(|owner| file_of(owner).to_owned())
        };
        refer(&mut rest[0], &whole);
        prune(&mut rest[0]);
    }
    let mut result = Vec::with_capacity(documents.len());
    for (at, document) in documents.iter().enumerate() {
        let mut home: BTreeMap<&str, &str> = BTreeMap::new();
        for owner in &documents[..at] {
            shared(document, owner).into_iter().for_each(|name| {
                home.entry(name).or_insert(file_of(owner));
            });
        }
        let mut linked = document.clone();
        refer(&mut linked, &|name| Some(format!("{}{LOCAL}{name}", home.get(name)?)));
        prune(&mut linked);
        result.push(linked);
    }
    result
}
