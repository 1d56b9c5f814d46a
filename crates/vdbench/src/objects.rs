//! Groups parameters into definitions, in the order the language demands, and repeats those that name `$host`.

use super::keyword::Kind;
use super::options::Limits;
use super::reader::replaced;
use super::sink::Sink;
use super::word::{Param, Word};

/// All parameters of one definition; the first one names it, except for general parameters.
#[derive(Debug, Clone)]
pub(crate) struct Object {
    pub(crate) kind: Kind,
    pub(crate) params: Vec<Param>,
}

/// Cuts the parameters into definitions. A definition ends only where the next one begins.
pub(crate) fn group(params: Vec<Param>, limits: &Limits, sink: &mut Sink) -> Vec<Object> {
    let mut objects = vec![Object { kind: Kind::General, params: Vec::new() }];
    let mut current = Kind::General;
    let mut furthest = Kind::General;
    let lines = line_keys(&params);
    for (param, line) in params.into_iter().zip(lines) {
        let key = param.key.text.to_ascii_lowercase();
        let opens = opened(current, &key, line.first, line.defines_elsewhere);
        let Some(kind) = opens else {
            if let Some(last) = objects.last_mut() {
                last.params.push(param);
            }
            continue;
        };
        if kind < furthest {
            let message = format!("a {} cannot follow a {}", kind.name(), furthest.name());
            let help =
                "definitions must come in the order general, hd, fsd, sd, wd, fwd, rd; move this line up";
            sink.error("wrong-order", param.key.at, &param.key.text, message, help);
        }
        if objects.len() > limits.definitions {
            let message = format!("more than {} definitions", limits.definitions);
            sink.error("too-large", param.key.at, "", message, "split the file");
            break;
        }
        furthest = furthest.max(kind);
        current = kind;
        objects.push(Object { kind, params: vec![param] });
    }
    objects
}

/// What the line of a parameter says about it.
#[derive(Clone, Copy)]
struct LineKey {
    /// First parameter of its line.
    first: bool,
    /// The line also holds a keyword that only a new definition of this kind can hold.
    defines_elsewhere: bool,
}

/// For each parameter, whether it starts its line and whether the line must be a definition of its own.
fn line_keys(params: &[Param]) -> Vec<LineKey> {
    let same = |a: &Param, b: &Param| (a.key.at.file, a.key.at.line) == (b.key.at.file, b.key.at.line);
    let mut out = Vec::with_capacity(params.len());
    let mut start = 0;
    while start < params.len() {
        let end =
            params[start..].iter().position(|p| !same(p, &params[start])).map_or(params.len(), |n| start + n);
        let has = |key: &str| params[start..end].iter().any(|p| p.key.text.eq_ignore_ascii_case(key));
        let first = params[start].key.text.to_ascii_lowercase();
        let telling = match first.as_str() {
            "sd" => has("lun"),
            "fsd" => has("anchor"),
            "hd" => has("system"),
            _ => false,
        };
        out.extend(
            (start..end).map(|i| LineKey { first: i == start, defines_elsewhere: i == start && telling }),
        );
        start = end;
    }
    out
}

/// The kind of definition that `key` opens while one of `current` is open; `None` where it is a parameter.
fn opened(current: Kind, key: &str, first: bool, defines_elsewhere: bool) -> Option<Kind> {
    let kind = match key {
        // An old spelling of a host definition.
        "host" if matches!(current, Kind::General | Kind::Host) => Kind::Host,
        _ => Kind::opened_by(key)?,
    };
    if defines_elsewhere && first && kind < current {
        return Some(kind);
    }
    let parameter = match current {
        Kind::General | Kind::Host | Kind::FileSystem => false,
        Kind::ReplayGroup => kind == Kind::Storage && !first,
        Kind::Storage => kind == Kind::Host,
        Kind::Workload => matches!(kind, Kind::Storage | Kind::Host),
        Kind::FileWorkload => matches!(kind, Kind::FileSystem | Kind::Host),
        Kind::Run => matches!(kind, Kind::Storage | Kind::Workload | Kind::FileSystem | Kind::FileWorkload),
    };
    (!parameter).then_some(kind)
}

/// Emits each definition that mentions `$host`, `!host` or `#host` once for every host label.
pub(crate) fn repeat_for_hosts(
    objects: Vec<Object>,
    labels: &[String],
    limits: &Limits,
    sink: &mut Sink,
) -> Vec<Object> {
    let mut out = Vec::with_capacity(objects.len());
    let mut budget = limits.text_bytes;
    for object in objects {
        let Some(first) = object.params.first().filter(|_| mentions(&object.params)) else {
            out.push(object);
            continue;
        };
        let on_first_line =
            |p: &&Param| (p.key.at.file, p.key.at.line) == (first.key.at.file, first.key.at.line);
        let repeats = object.params.iter().filter(on_first_line).any(|p| mentions(std::slice::from_ref(p)));
        let size: usize = object.params.iter().flat_map(|p| &p.values).map(|v| v.text.len() + 64).sum();
        for (index, label) in labels.iter().enumerate() {
            if out.len() >= limits.definitions || size > budget {
                let message = "host repetition makes too many definitions";
                let help = "use fewer hosts or definitions";
                sink.error("too-large", first.key.at, &first.key.text, message, help);
                return out;
            }
            budget -= size;
            out.push(with_host(&object, label, index, labels.len()));
            if !repeats {
                break;
            }
        }
    }
    out
}

fn mentions(params: &[Param]) -> bool {
    let hit = |w: &Word| ["$host", "!host", "#host"].iter().any(|m| w.text.contains(m));
    params.iter().any(|p| p.values.iter().any(hit))
}

fn with_host(object: &Object, label: &str, index: usize, hosts: usize) -> Object {
    let word = |w: &Word| {
        let w = replaced(w, "#hosts", &hosts.to_string());
        let w = replaced(&w, "#host", &index.to_string());
        replaced(&replaced(&w, "$host", label), "!host", label)
    };
    let param = |p: &Param| Param { values: p.values.iter().map(word).collect(), ..p.clone() };
    Object { kind: object.kind, params: object.params.iter().map(param).collect() }
}
