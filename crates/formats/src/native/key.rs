//! One entry for each key of the format: its name, what it takes, how it is read and written, its sentence and default.
//!
//! The parser, the writer, the reference (docs/formats/plan.md) and the schema that editors use come from these entries.

use super::node::{Entry, Fields};
use super::sink::Sink;

/// What the values of a key look like, for the schema and for the bounds of the parser.
#[derive(Clone, Copy)]
pub(super) enum Shape {
    Text,
    /// Text that is not empty.
    Name,
    Flag,
    /// A whole number; a string of digits counts, too.
    Count(u64, u64),
    /// A number; from `f64::MIN_POSITIVE` on: above 0.
    Number(f64, f64),
    Size,
    BlockSize,
    Time,
    /// Text of a regular form: the pattern, as JSON Schema has it, and an example.
    Matching(&'static str, &'static str),
    Words(fn() -> Vec<&'static str>),
    Table(fn() -> Vec<&'static About>),
    /// A table of names, each with a text that is not empty.
    Names,
    /// A table of texts, numbers and flags; this key is required.
    Settings(&'static str),
    /// A table by its name among the definitions of the schema.
    Defined(&'static str),
    /// The other one, but not 0.
    NotZero(&'static Shape),
    /// A table of the keys of a job that `[defaults]` may have.
    Defaults,
    /// A table of keys of a job, each with one value or a list.
    Sweep,
    /// A list of values, or one that stands for itself.
    List(&'static Shape),
    Any(&'static [Shape]),
}

/// How a table treats a key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    Required,
    /// Required; the reader of the table reports it when it is missing.
    Reported,
    Optional,
    /// Optional, and the word `none` takes back what `[defaults]` has.
    OrNone,
}

/// What a key is, apart from the type it is read into.
pub(super) struct About {
    pub(super) name: &'static str,
    pub(super) shape: Shape,
    pub(super) need: Need,
    /// The default, in Markdown; empty where there is none.
    pub(super) default: &'static str,
    /// What it means, in Markdown.
    pub(super) doc: &'static str,
    /// Keys that only together say something: a table that has one of them takes none from the tables below it.
    pub(super) together: &'static [&'static str],
}

/// A key of a table that is read into a `T`.
pub(super) struct Key<T: 'static> {
    pub(super) about: About,
    pub(super) read: fn(&mut Sink, Entry<'_>, &mut T),
    /// The value as TOML; `None` where it is that of the second argument, the default.
    pub(super) write: fn(&T, &T) -> Option<String>,
}

/// A form of values: how they look, how they are read, and how they are written so that they read back the same.
pub(super) struct Form<V: 'static> {
    pub(super) shape: Shape,
    pub(super) read: fn(&mut Sink, Entry<'_>, &Shape) -> Option<V>,
    pub(super) write: fn(&V) -> String,
}

impl<V> Form<V> {
    pub(super) fn take(&self, sink: &mut Sink, entry: Entry<'_>) -> Option<V> {
        (self.read)(sink, entry, &self.shape)
    }
}

/// An entry of a table: how the field is treated, name, form, field, default, sentence.
///
/// `set` is written if it is not the default, `always` even then, and `must` is required. `some` is an `Option`, `none` is one that
/// the word `none` takes back, `need` one that is required. A `part` is read and written by the code of its
/// table, and so are the `jobs` that it must have.
macro_rules! key {
    (jobs $name:literal, $shape:expr, $default:literal, $doc:literal) => {
        Key { about: key!(@about jobs $name, $shape, $default, $doc, &[]), ..key!(part $name, $shape, $default, $doc) }
    };
    (part $name:literal, $shape:expr, $default:literal, $doc:literal) => {
        Key {
            about: key!(@about part $name, $shape, $default, $doc, &[]),
            read: |_, _, _| {},
            write: |_, _| None,
        }
    };
    ($how:ident $name:literal, $form:expr, $($field:ident).+, $default:literal, $doc:literal) => {
        key!($how $name, $form, $($field).+, $default, $doc, &[])
    };
    ($how:ident $name:literal, $form:expr, $($field:ident).+, $default:literal, $doc:literal, $together:expr) => {
        Key {
            about: key!(@about $how $name, $form.shape, $default, $doc, $together),
            read: |sink, entry, made| key!(@read $how, sink, entry, $form, made.$($field).+),
            write: |it, base| key!(@write $how, $form, it.$($field).+, base.$($field).+),
        }
    };
    (@about $how:ident $name:literal, $shape:expr, $default:literal, $doc:literal, $together:expr) => {
        About {
            name: $name,
            shape: $shape,
            need: key!(@need $how),
            default: $default,
            doc: $doc,
            together: $together,
        }
    };
    (@need jobs) => { Need::Reported };
    (@need must) => { Need::Required };
    (@need need) => { Need::Required };
    (@need none) => { Need::OrNone };
    (@need $how:ident) => { Need::Optional };
    (@read none, $sink:expr, $entry:expr, $form:expr, $place:expr) => {
        $place = if $entry.is("none") { None } else { $form.take($sink, $entry) }
    };
    (@read some, $sink:expr, $entry:expr, $form:expr, $place:expr) => {
        $place = $form.take($sink, $entry)
    };
    (@read need, $sink:expr, $entry:expr, $form:expr, $place:expr) => {
        $place = $form.take($sink, $entry)
    };
    (@read $how:ident, $sink:expr, $entry:expr, $form:expr, $place:expr) => {
        if let Some(value) = $form.take($sink, $entry) {
            $place = value;
        }
    };
    (@write set, $form:expr, $value:expr, $default:expr) => {
        ($value != $default).then(|| ($form.write)(&$value))
    };
    (@write some, $form:expr, $value:expr, $default:expr) => {{
        let _ = &$default;
        $value.as_ref().map($form.write)
    }};
    (@write none, $form:expr, $value:expr, $default:expr) => { key!(@write some, $form, $value, $default) };
    (@write need, $form:expr, $value:expr, $default:expr) => { key!(@write some, $form, $value, $default) };
    (@write $how:ident, $form:expr, $value:expr, $default:expr) => {{
        let _ = &$default;
        Some(($form.write)(&$value))
    }};
}
pub(super) use key;

/// The keys of one kind of table.
pub(super) struct Table<T: 'static> {
    /// What it is called in messages: `a job`.
    pub(super) who: &'static str,
    /// One that is right, for messages.
    pub(super) example: &'static str,
    pub(super) sections: &'static [&'static [Key<T>]],
}

impl<T> Table<T> {
    pub(super) fn keys(&self) -> impl Iterator<Item = &'static Key<T>> {
        self.sections.iter().copied().flatten()
    }

    pub(super) fn about(&self) -> Vec<&'static About> {
        self.keys().map(|key| &key.about).collect()
    }

    pub(super) fn names(&self) -> Vec<&'static str> {
        self.keys().map(|key| key.about.name).collect()
    }

    /// Reads the fields into `made`, which has the defaults; whether none that is required is missing.
    pub(super) fn fill(&self, sink: &mut Sink, fields: &Fields<'_>, made: &mut T) -> bool {
        for key in self.keys() {
            if let Some(entry) = fields.of(&key.about) {
                (key.read)(sink, entry, made);
            }
        }
        let required = self.keys().filter(|key| key.about.need == Need::Required);
        let required: Vec<&str> = required.map(|key| key.about.name).collect();
        sink.require(fields, &required, self.who, self.example)
    }

    /// A value that is a table, over `made`, which has the defaults.
    pub(super) fn read(&self, sink: &mut Sink, entry: Entry<'_>, mut made: T) -> Option<T> {
        let fields = sink.table(entry, &self.names(), self.who)?;
        self.fill(sink, &fields, &mut made).then_some(made)
    }

    /// The keys with their values, without those that have the default.
    pub(super) fn pairs(&self, it: &T, default: &T) -> Vec<(&'static str, String)> {
        self.keys().filter_map(|key| Some((key.about.name, (key.write)(it, default)?))).collect()
    }

    /// The same as an inline table.
    pub(super) fn inline(&self, it: &T, default: &T) -> String {
        let pairs: Vec<String> =
            self.pairs(it, default).iter().map(|(key, value)| format!("{key} = {value}")).collect();
        format!("{{ {} }}", pairs.join(", "))
    }
}
