//! One keyword of a definition: its spellings, what becomes of it, and how a shortened one is found.

use assay_formats::Affects;

use super::args::Args;
use super::sink::At;

/// Where a parameter was set last; `otherwise` where it was not.
pub(crate) fn placed(set: &[(&'static str, At)], key: &str, otherwise: At) -> At {
    set.iter().rev().find(|(name, _)| *name == key).map_or(otherwise, |(_, at)| *at)
}

/// An enumeration of which each value has a word.
macro_rules! worded {
    ($(#[$about:meta])* pub enum $type:ident { $($value:ident = $word:literal,)+ }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[expect(missing_docs, reason = "each variant is the word it stands for")]
        pub enum $type {
            $($value,)+
        }

        impl $type {
            const WORDS: &'static [(Self, &'static str)] = &[$((Self::$value, $word),)+];

            /// The word for it.
            #[must_use]
            pub fn word(self) -> &'static str {
                Self::WORDS[self as usize].1
            }
        }
    };
}
pub(crate) use worded;

/// The kinds of definitions, in the order in which a file must give them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Kind {
    General,
    Host,
    ReplayGroup,
    FileSystem,
    Storage,
    Workload,
    FileWorkload,
    Run,
}

impl Kind {
    /// All of them, in file order: the keyword that opens one, and how a message calls it.
    pub(crate) const ALL: [(Self, &'static str, &'static str); 8] = [
        (Self::General, "", "general parameters"),
        (Self::Host, "hd", "host definition (hd)"),
        (Self::ReplayGroup, "rg", "replay group (rg)"),
        (Self::FileSystem, "fsd", "file system definition (fsd)"),
        (Self::Storage, "sd", "storage definition (sd)"),
        (Self::Workload, "wd", "workload definition (wd)"),
        (Self::FileWorkload, "fwd", "file workload definition (fwd)"),
        (Self::Run, "rd", "run definition (rd)"),
    ];

    /// The kind that a keyword opens.
    pub(crate) fn opened_by(key: &str) -> Option<Self> {
        Self::ALL.iter().skip(1).find(|(_, opener, _)| *opener == key).map(|(kind, ..)| *kind)
    }

    /// How a message calls it.
    pub(crate) fn name(self) -> &'static str {
        Self::ALL[self as usize].2
    }
}

/// A definition of which the file sets parameters.
pub(crate) trait Definition: Sized + 'static {
    /// All its keywords, in the order in which a shortened one is matched.
    const KEYWORDS: &'static [Keyword<Self>];

    /// The keywords that were given, with their places.
    fn places(&mut self) -> &mut Vec<(&'static str, At)>;
}

/// A definition with a name: its struct, each field with the value it has where the file is silent (`Default`'s where none
/// is written), and its place among the definitions, whose keywords are the `KEYWORDS` of the module.
macro_rules! definition {
    ($(#[$about:meta])* pub struct $type:ident {
        $($(#[$doc:meta])* $visible:vis $field:ident: $of:ty $(= $value:expr)?,)*
    }) => {
        $(#[$about])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $type {
            /// Name.
            pub name: String,
            $($(#[$doc])* $visible $field: $of,)*
            /// Where it is defined.
            pub at: At,
            /// Places of what was set.
            pub set: Vec<(&'static str, At)>,
        }

        impl Default for $type {
            fn default() -> Self {
                $(let $field: $of = definition!(@value $($value)?);)*
                $type { name: String::new(), $($field,)* at: At::default(), set: Vec::new() }
            }
        }

        impl Named for $type {
            fn called(&self) -> (&'static str, &str) {
                (KEYWORDS[0].names[0], &self.name)
            }

            fn place(&self, key: &str) -> At {
                placed(&self.set, key, self.at)
            }
        }

        impl Definition for $type {
            const KEYWORDS: &'static [Keyword<Self>] = KEYWORDS;

            fn places(&mut self) -> &mut Vec<(&'static str, At)> {
                &mut self.set
            }
        }
    };
    (@value) => { Default::default() };
    (@value $value:expr) => { $value };
}
pub(crate) use definition;

/// A definition that messages can name.
pub(crate) trait Named {
    /// The keyword that opens it, and its name.
    fn called(&self) -> (&'static str, &str);

    /// Where a parameter was set last; where the definition begins if it was not.
    fn place(&self, key: &str) -> At;
}

/// What becomes of a keyword.
pub(crate) enum Effect<D> {
    /// It opens or names the definition.
    Opens,
    /// It sets something of the definition. What of that is not carried out is said where the workload is made.
    Sets(fn(&mut D, &mut Args<'_>)),
    /// It changes nothing about the measured load; the text says why.
    Inert(&'static str),
    /// It is lost.
    Lost {
        /// Of the diagnostic.
        id: &'static str,
        /// Whether another test is run without it, or only less is reported.
        affects: Affects,
        /// What does not happen.
        what: &'static str,
        /// The nearest equivalent.
        instead: &'static str,
    },
    /// vdbench refuses it too; the rule, and what to do.
    Refused(&'static str, &'static str),
}

/// One keyword with its other spellings.
pub(crate) struct Keyword<D> {
    /// Its spellings; places are kept under the first.
    pub(crate) names: &'static [&'static str],
    /// Whether it must be written in full.
    in_full: bool,
    pub(crate) effect: Effect<D>,
    /// A value that shows that it does something.
    #[cfg_attr(not(test), expect(dead_code, reason = "what the test of the table tries"))]
    pub(crate) sample: &'static str,
}

impl<D> Keyword<D> {
    const fn new(names: &'static [&'static str], sample: &'static str, effect: Effect<D>) -> Self {
        Keyword { names, in_full: false, effect, sample }
    }

    /// Does what the keyword does, or says that it does not.
    pub(crate) fn apply(&self, definition: &mut D, args: &mut Args<'_>) {
        match self.effect {
            Effect::Opens => {}
            Effect::Sets(set) => set(definition, args),
            Effect::Inert(why) => {
                let message = format!("`{}=` has no effect: {why}", args.name);
                args.note("no-effect", message, "");
            }
            Effect::Lost { id, affects, what, instead } => args.lost(id, affects, what, instead),
            Effect::Refused(rule, instead) => args.reject(0, rule, instead),
        }
    }
}

/// One that must be written in full.
pub(crate) const fn in_full<D>(mut keyword: Keyword<D>) -> Keyword<D> {
    keyword.in_full = true;
    keyword
}

/// One that is lost and only reports or watches: the same I/O is done without it.
pub(crate) const fn reporting<D>(mut keyword: Keyword<D>) -> Keyword<D> {
    if let Effect::Lost { affects, .. } = &mut keyword.effect {
        *affects = Affects::Report;
    }
    keyword
}

/// One that opens or names its definition.
pub(crate) const fn opens<D>(names: &'static [&'static str]) -> Keyword<D> {
    in_full(Keyword::new(names, "", Effect::Opens))
}

/// One that sets something, and a value that shows it.
pub(crate) const fn sets<D>(
    names: &'static [&'static str],
    sample: &'static str,
    set: fn(&mut D, &mut Args<'_>),
) -> Keyword<D> {
    Keyword::new(names, sample, Effect::Sets(set))
}

/// One without effect, and why.
pub(crate) const fn inert<D>(names: &'static [&'static str], why: &'static str) -> Keyword<D> {
    Keyword::new(names, "1", Effect::Inert(why))
}

/// One that is lost: the id of the diagnostic, what does not happen, and the nearest equivalent.
pub(crate) const fn lost<D>(
    names: &'static [&'static str],
    id: &'static str,
    what: &'static str,
    instead: &'static str,
) -> Keyword<D> {
    Keyword::new(names, "1", Effect::Lost { id, affects: Affects::Test, what, instead })
}

/// One that is refused: the rule it breaks, and what to do.
pub(crate) const fn refused<D>(
    names: &'static [&'static str],
    rule: &'static str,
    instead: &'static str,
) -> Keyword<D> {
    Keyword::new(names, "1", Effect::Refused(rule, instead))
}

pub(crate) fn names<D: Definition>() -> Vec<(&'static str, bool)> {
    D::KEYWORDS.iter().flat_map(|word| word.names.iter().map(|name| (*name, word.in_full))).collect()
}

/// The full name that `key` (lower case) stands for: the first one of which it is a prefix.
pub(crate) fn full_name(names: &[(&'static str, bool)], key: &str) -> Option<&'static str> {
    let full = names.iter().find(|(name, _)| *name == key);
    let prefix = || names.iter().find(|(name, exact)| key.len() >= 2 && !exact && name.starts_with(key));
    full.or_else(prefix).map(|(name, _)| *name)
}

/// The keyword that `key` (lower case) stands for, and its full name.
pub(crate) fn lookup<D: Definition>(key: &str) -> Option<(&'static Keyword<D>, &'static str)> {
    let name = full_name(&names::<D>(), key)?;
    D::KEYWORDS.iter().find(|word| word.names.contains(&name)).map(|word| (word, name))
}

/// What several definitions have, and none of them here.
pub(crate) const fn command<D>(names: &'static [&'static str], set: fn(&mut D, &mut Args<'_>)) -> Keyword<D> {
    in_full(sets(names, "/bin/true", set))
}

/// A command that is to be run before or after what it belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedCommand {
    /// The keyword.
    pub option: &'static str,
    /// As it was written.
    pub command: String,
    /// Where.
    pub at: At,
}

/// The command of a keyword, which nothing runs unless the user allows it.
pub(crate) fn wanted(option: &'static str, args: &mut Args<'_>) -> WantedCommand {
    args.lose("command", "the command is not run", "--allow-exec runs it");
    WantedCommand { option, command: args.word(), at: args.at }
}

/// The sets of duplicates.
pub(crate) const fn dedup_sets<D>() -> Keyword<D> {
    let names = &["dedupsets", "deduphotsets", "dedupflipflop"];
    let what = "the sets of duplicates are not kept, only their ratio and unit";
    lost(names, "dedup-sets", what, "give dedupratio= and dedupunit=")
}

/// What does in full what is lost.
pub(crate) const JUDGE: &str = "vdbench itself: assay judge -- vdbench -f <file>";

/// A trace to replay.
pub(crate) const fn replay<D>() -> Keyword<D> {
    in_full(lost(&["replay"], "replay", "no trace is replayed here", "import the trace with `assay run`"))
}
