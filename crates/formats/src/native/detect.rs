//! Which of the three formats a text is, by what stands in it.

use std::fmt;

use toml::de::{DeTable, DeValue};

use super::TEXT_BYTES_MAX;
use super::sink::clip;

/// How much of a text is looked at.
const BYTES_MAX: usize = 1 << 20;

/// The formats of workload files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    /// A fio job file.
    Fio,
    /// A vdbench parameter file.
    Vdbench,
    /// Assay's own plan, see [`super::parse`].
    Native,
}

impl Format {
    /// All of them, in the order in which help texts list them.
    pub const ALL: [Format; 3] = [Format::Fio, Format::Vdbench, Format::Native];

    /// The word for `--format` and `--to`.
    pub fn name(self) -> &'static str {
        match self {
            Format::Fio => "fio",
            Format::Vdbench => "vdbench",
            Format::Native => "toml",
        }
    }

    /// The format of that word.
    pub fn from_name(name: &str) -> Option<Format> {
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
pub struct Detection {
    /// The format.
    pub format: Format,
    /// Why, as a clause: `line 3 is the section header [job1]`.
    pub reason: String,
    /// Whether the text itself says so. Otherwise it is a guess that a message about a bad file should mention.
    pub sure: bool,
}

/// Tells the formats apart by content; by the ending of `name` only where the content says nothing.
///
/// A plan is known by `[[target]]`, `[[job]]`, `[[phase]]` or `assay = 1`, or by being TOML with a target; a vdbench file
/// by its first definition (`sd=`, `wd=`, `rd=`, ..), a fio job file by its first section header, whichever comes first.
pub fn detect(name: &str, text: &str) -> Detection {
    let mut end = text.len().min(BYTES_MAX);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let start = text[..end].trim_start_matches('\u{feff}');
    let lines = || start.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    let sure = |format, reason| Detection { format, reason, sure: true };
    if let Some((number, line)) = lines().find(|(_, line)| is_native(line)) {
        return sure(Format::Native, format!("line {number} is {}", clip(line)));
    }
    if is_native_document(text) {
        return sure(Format::Native, "it is TOML with targets or jobs of a plan".to_owned());
    }
    for (number, line) in lines() {
        if let Some(key) = vdbench_definition(line) {
            return sure(Format::Vdbench, format!("line {number} is a definition that begins with {key}="));
        }
        if let Some(section) = fio_section(line) {
            return sure(Format::Fio, format!("line {number} is the section header {}", clip(section)));
        }
    }
    for (number, line) in lines() {
        if let Some(option) = fio_option(line) {
            return sure(Format::Fio, format!("line {number} sets the fio option {option}"));
        }
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

/// Whether only a plan has such a line.
fn is_native(line: &str) -> bool {
    let header = line.split('#').next().unwrap_or_default().trim_end();
    let version = line.strip_prefix("assay").is_some_and(|rest| rest.trim_start().starts_with('='));
    version || ["[[target]]", "[[job]]", "[[phase]]", "[[phase.job]]"].contains(&header)
}

/// Whether the text is TOML with the parts of a plan, as inline tables: those have no telling lines.
fn is_native_document(text: &str) -> bool {
    if text.len() > TEXT_BYTES_MAX || !["target", "job", "phase"].iter().any(|word| text.contains(word)) {
        return false;
    }
    let Ok(root) = DeTable::parse(text) else { return false };
    let holds = |value: &DeValue<'_>, key: &str| match value {
        DeValue::Table(table) => table.contains_key(key),
        DeValue::Array(list) => {
            list.iter().any(|value| value.get_ref().as_table().is_some_and(|t| t.contains_key(key)))
        }
        _ => false,
    };
    let part =
        |name: &str, key: &str| root.get_ref().get(name).is_some_and(|value| holds(value.get_ref(), key));
    part("target", "path") || part("job", "block_size") || part("phase", "job")
}

/// The keyword of a line that begins a vdbench definition.
fn vdbench_definition(line: &str) -> Option<&'static str> {
    let key = line.split_once('=')?.0;
    ["sd", "wd", "rd", "fsd", "fwd", "hd", "rg"].into_iter().find(|known| key.eq_ignore_ascii_case(known))
}

/// The header of a section of a fio job file: `[name]`, perhaps with a comment behind it.
fn fio_section(line: &str) -> Option<&str> {
    let inside = line.strip_prefix('[')?;
    let end = inside.find(']')?;
    let plain = end > 0 && !inside.starts_with('[');
    plain.then(|| &line[..end + 2])
}

/// The option that a line of a section-less fio file (one that others include) sets.
fn fio_option(line: &str) -> Option<&'static str> {
    const OPTIONS: &[&str] = &[
        "bs",
        "blocksize",
        "direct",
        "directory",
        "filename",
        "group_reporting",
        "include",
        "iodepth",
        "ioengine",
        "norandommap",
        "numjobs",
        "ramp_time",
        "randrepeat",
        "readwrite",
        "runtime",
        "rw",
        "rwmixread",
        "size",
        "stonewall",
        "time_based",
        "verify",
    ];
    let word = line.split(['=', ' ', '\t']).next().unwrap_or_default();
    OPTIONS.iter().copied().find(|option| *option == word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::profiles;

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
