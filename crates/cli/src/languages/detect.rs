//! Which of the three formats a text is, by what stands in it.

use std::fmt;

use assay_formats::native;
use assay_formats::recognise::Clue;

/// The formats of workload files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Format {
    /// A fio job file.
    Fio,
    /// A vdbench parameter file.
    Vdbench,
    /// Assay's own plan, see [`native::parse`].
    Native,
}

impl Format {
    /// All of them, in the order in which help texts list them.
    pub(crate) const ALL: [Format; 3] = [Format::Fio, Format::Vdbench, Format::Native];

    /// The word for `--format` and `--to`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Format::Fio => "fio",
            Format::Vdbench => "vdbench",
            Format::Native => "toml",
        }
    }

    /// What in a text speaks for it.
    fn recognise(self, text: &str) -> Option<Clue> {
        match self {
            Format::Fio => assay_fio::recognise(text),
            Format::Vdbench => assay_vdbench::recognise(text),
            Format::Native => native::recognise(text),
        }
    }

    /// The format of that word.
    pub(crate) fn from_name(name: &str) -> Option<Format> {
        Format::ALL.into_iter().find(|format| format.name() == name)
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::Fio => "fio job file",
            Format::Vdbench => "vdbench parameter file",
            Format::Native => "Assay plan",
        })
    }
}

/// What a text is taken for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Detection {
    /// The format.
    pub(crate) format: Format,
    /// Why, as a clause: `line 3 is the section header [job1]`.
    pub(crate) reason: String,
    /// Whether the text itself says so. Otherwise it is a guess that a message about a bad file should mention.
    pub(crate) sure: bool,
}

/// Tells the formats apart by content; by the ending of `name` only where the content says nothing.
///
/// A plan is known by `[[target]]`, `[[job]]`, `[[phase]]` or `assay = 1`, or by being TOML with a target; a vdbench file
/// by its first definition (`sd=`, `wd=`, `rd=`, ..), a fio job file by its first section header, whichever comes first.
pub(crate) fn detect(name: &str, text: &str) -> Detection {
    let clues = Format::ALL.into_iter().filter_map(|format| Some((format.recognise(text)?, format)));
    if let Some((clue, format)) = clues.min_by_key(|(clue, _)| (clue.weight, clue.line)) {
        return Detection { format, reason: clue.reason, sure: true };
    }
    let by_name = match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("toml") => Some(Format::Native),
        Some("fio" | "job" | "ini") => Some(Format::Fio),
        Some("vdb" | "vdbench" | "parm" | "param") => Some(Format::Vdbench),
        _ => None,
    };
    let (format, reason) = match by_name {
        Some(format) => (format, "nothing in it tells, so its name decides"),
        None => (Format::Fio, "neither its content nor its name tells, so it is read as the commonest kind"),
    };
    Detection { format, reason: reason.to_owned(), sure: false }
}

#[cfg(test)]
mod tests {
    use assay_formats::native::profiles;
    use assay_formats::recognise::BYTES_MAX;

    use super::*;

    #[test]
    fn each_format_is_known_by_its_telling_line() {
        let cases = [
            ("# c\n[defaults]\nop = \"read\"\n[[job]] # one\n", Format::Native, "line 4 is [[job]] # one"),
            ("assay = 1\nname = \"x\"\n", Format::Native, "line 1 is assay = 1"),
            (
                "target = [{ name = \"a\", path = \"b\" }]\n",
                Format::Native,
                "it is TOML with targets or jobs of a plan",
            ),
            ("[job]\nblock_size = \"4k\"", Format::Native, "it is TOML with targets or jobs of a plan"),
            ("[job]\nrw=read\n", Format::Fio, "line 1 is the section header [job]"),
            ("[target]\nsize=4096\n", Format::Fio, "line 1 is the section header [target]"),
            ("; c\n\n[global] ; x\n", Format::Fio, "line 3 is the section header [global]"),
            ("bs=4k\nsd=1", Format::Vdbench, "line 2 is a definition that begins with sd="),
            (
                "* c\nmessagescan=no\nSD=sd1,lun=/dev/x\n",
                Format::Vdbench,
                "line 3 is a definition that begins with sd=",
            ),
            ("ioengine=libaio\n", Format::Fio, "line 1 sets the fio option ioengine"),
            ("\u{feff}[global]\n", Format::Fio, "line 1 is the section header [global]"),
        ];
        for (text, format, reason) in cases {
            let expected = Detection { format, reason: reason.to_owned(), sure: true };
            assert_eq!(detect("x", text), expected, "{text}");
        }
    }

    #[test]
    fn the_first_definition_or_section_decides() {
        assert_eq!(detect("x", "[a]\nsd=1\n").format, Format::Fio);
        assert_eq!(detect("x", "sd=1,lun=[a]\n[a]\n").format, Format::Vdbench);
    }

    #[test]
    fn the_name_decides_only_where_nothing_else_does() {
        for (name, format) in [
            ("a.toml", Format::Native),
            ("a.parm", Format::Vdbench),
            ("a.fio", Format::Fio),
            ("a", Format::Fio),
        ] {
            let detection = detect(name, "nothing to see\n");
            assert_eq!((detection.format, detection.sure), (format, false), "{name}");
        }
        assert_eq!(detect("a.toml", "[x]\nrw=read").format, Format::Fio);
    }

    #[test]
    fn profiles_are_plans_and_words_are_known() {
        assert!(profiles().iter().all(|profile| detect("x", profile.text).format == Format::Native));
        assert!(Format::ALL.iter().all(|format| Format::from_name(format.name()) == Some(*format)));
    }

    #[test]
    fn a_text_that_is_cut_within_a_character_is_no_matter() {
        let text = format!("{}é[x]", "a".repeat(BYTES_MAX - 1));
        assert!(!detect("x", &text).sure);
    }
}
