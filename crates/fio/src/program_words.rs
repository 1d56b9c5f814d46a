//! What else fio's program answers: help on options and engines, and which of its words are Assay's own.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::Path;

use assay_formats::near::nearest;
use assay_formats::terms::{self, Found};

use super::program::{self, Argument};
use super::table::{self, Effect, EngineFate, Entry, Kind};

/// Columns up to the colons.
const COLUMNS: usize = 20;

/// `--cmdhelp=NAME`: what an option of a job file takes, and what becomes of it here; without a name, or with `all`, a line
/// for each.
///
/// # Errors
/// Where there is no such option, with the nearest one.
pub(super) fn option_help(name: Option<&str>) -> Result<String, String> {
    let Some(name) = name.filter(|name| !name.is_empty() && *name != "all") else {
        return Ok(table::options().iter().map(line).collect());
    };
    match table::core(name) {
        Some(entry) => Ok(page(entry)),
        None => {
            let near = nearest(name, table::names(None));
            let near = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
            Err(format!("fio has no option '{name}'{near}"))
        }
    }
}

/// `--enghelp[=ENGINE]`: fio's engines and what does their I/O here, or the options of one.
///
/// # Errors
/// Where there is no such engine, with the nearest one.
pub(super) fn engine_help(asked: Option<&str>) -> Result<String, String> {
    let Some(asked) = asked.filter(|asked| !asked.is_empty()) else {
        let mut text = String::from("Available IO engines:\n");
        for engine in table::engines() {
            let _ = writeln!(text, "\t{}", engine.name);
        }
        return Ok(text);
    };
    let (name, option) = asked.split_once(',').map_or((asked, None), |(name, option)| (name, Some(option)));
    let Some(engine) = table::engine(name) else {
        let near = nearest(name, table::engines().iter().map(|engine| engine.name));
        let near = near.map_or(String::new(), |near| format!("; did you mean {near}?"));
        return Err(format!("fio has no engine '{name}'{near}"));
    };
    if let Some(option) = option {
        let found = engine.options().iter().find(|entry| entry.is_named(option));
        return found.map(page).ok_or_else(|| format!("the engine {name} has no option '{option}'"));
    }
    let here = match engine.fate {
        EngineFate::Native(own) => format!("Assay's engine {own}"),
        _ => "not run by Assay; assay run --engine fio gives it to fio itself".to_owned(),
    };
    let mut text = row("here", &here);
    engine.options().iter().for_each(|entry| text.push_str(&line(entry)));
    Ok(text)
}

fn row(name: &str, value: &str) -> String {
    format!("{name:>COLUMNS$}: {value}\n")
}

/// What an option is, in a line.
fn line(entry: &Entry) -> String {
    row(entry.name, &title(entry))
}

/// Its meaning where Assay explains it, else what becomes of it.
fn title(entry: &Entry) -> String {
    let own = |term: &&&terms::Term| term.fio.first().is_some_and(|name| name == entry.name);
    match terms::find(entry.name) {
        Found::Terms(found) => found.iter().find(own).map_or_else(|| fate(entry), |term| term.title.clone()),
        Found::Word(_) | Found::Nearest(_) => fate(entry),
    }
}

fn fate(entry: &Entry) -> String {
    match entry.effect {
        Effect::Rule(_) => "as in fio".to_owned(),
        Effect::Inert(why) => why.to_owned(),
        Effect::Lost { what, instead: "" } => format!("not honoured: {what}"),
        Effect::Lost { what, instead } => format!("not honoured: {what} ({instead})"),
        Effect::Refused(instead) => format!("fio no longer has it; {instead}"),
    }
}

/// All that the table has of an option.
fn page(entry: &Entry) -> String {
    let mut text = line(entry);
    if !entry.aliases.is_empty() {
        text.push_str(&row("alias", &entry.aliases.join(", ")));
    }
    let (kind, words) = kind(&entry.kind);
    text.push_str(&row("type", kind));
    if matches!(entry.kind, Kind::Int | Kind::LastInt) {
        let max = if entry.max == i64::MAX { "unlimited".to_owned() } else { entry.max.to_string() };
        text.push_str(&row("range", &format!("min={}, max={max}", entry.min)));
    }
    for (index, word) in words.iter().enumerate() {
        text.push_str(&row(if index == 0 { "valid values" } else { "" }, word));
    }
    text.push_str(&row("here", &fate(entry)));
    text
}

/// The shape of a value, and its words.
fn kind(kind: &Kind) -> (&'static str, &[&'static str]) {
    match kind {
        Kind::Text => ("string (opt=bla)", &[]),
        Kind::OptionalText => ("string, may be left out (opt=bla)", &[]),
        Kind::Flag => ("no argument (opt)", &[]),
        Kind::Bool => ("boolean value (opt=1)", &[]),
        Kind::Int | Kind::LastInt => ("integer value (opt=100)", &[]),
        Kind::Triple => ("integer values for reads, writes, trims (opt=4k,8k,16k)", &[]),
        Kind::Size => ("bytes or per cent (opt=10m, opt=50%)", &[]),
        Kind::Seconds => ("time, in seconds without a unit (opt=10s)", &[]),
        Kind::Micros => ("time, in microseconds without a unit (opt=10ms)", &[]),
        Kind::TimeSpan => ("time or range of times (opt=1s-5s)", &[]),
        Kind::ByteSpan => ("bytes or range of bytes (opt=1m-4m)", &[]),
        Kind::Ranges => ("ranges of bytes for reads, writes, trims (opt=4k-16k,4k-8k)", &[]),
        Kind::Word(words) => ("one of these words (opt=word)", words),
        Kind::Words(words) => ("some of these words (opt=word,word)", words),
        Kind::Floats => ("list of numbers (opt=5.9:9.9)", &[]),
        Kind::Split => ("sizes with per cents (opt=4k/60:64k/40)", &[]),
        Kind::Distribution => ("distribution (opt=zipf:1.2)", &[]),
        Kind::Files => ("file names (opt=a:b)", &[]),
        Kind::Pattern => ("bytes (opt=0xff, opt=\"text\")", &[]),
        Kind::Cpus => ("list of processors (opt=0,2-5)", &[]),
        Kind::ErrorGroups => {
            ("names of errors of reads, writes, verification (opt=EIO,EIO:ENOSPC,EILSEQ)", &[])
        }
        Kind::Steady => ("metric and limit (opt=iops_slope:0.3%)", &[]),
        Kind::Any => ("any value", &[]),
    }
}

/// The words of a command line in the order that Assay reads them: by the name `fio` they are those of `assay fio` with fio's usual
/// report, and options of Assay that stand among those of fio come before them. `own` says of a name, without its hyphens, whether
/// it is one of Assay's, and whether it takes a value. What fio has under the same name is fio's.
pub fn in_order(mut words: Vec<OsString>, own: &dyn Fn(&str) -> Option<bool>) -> Vec<OsString> {
    if words.first().is_some_and(|name| Path::new(name).file_name() == Some("fio".as_ref())) {
        words.splice(1..1, ["fio", "--output-format=normal"].map(OsString::from));
    }
    if words.get(1).is_none_or(|command| command != "fio") {
        return words;
    }
    let rest = words.split_off(2);
    words.extend(separate(rest, own));
    words
}

/// Own options before others.
fn separate(words: Vec<OsString>, own: &dyn Fn(&str) -> Option<bool>) -> Vec<OsString> {
    let (mut mine, mut others) = (Vec::new(), Vec::new());
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        let Some(body) =
            word.to_str().and_then(|word| word.strip_prefix("--")).filter(|body| !body.is_empty())
        else {
            others.push(word);
            continue;
        };
        let (name, attached) = body.split_once('=').map_or((body, false), |(name, _)| (name, true));
        let of_fio = program::option(name).is_some() || table::core(name).is_some();
        let (side, takes_next) = match own(name).filter(|_| !of_fio) {
            Some(takes_value) => (&mut mine, takes_value),
            None => (&mut others, wants_next(name)),
        };
        let next = if takes_next && !attached { words.next() } else { None };
        side.push(word);
        side.extend(next);
    }
    mine.extend(others);
    mine
}

/// Whether an option of fio takes its value from the next word if none is attached.
pub(super) fn wants_next(name: &str) -> bool {
    match (program::option(name), table::core(name)) {
        (Some(entry), _) => entry.argument == Argument::Required,
        (None, Some(entry)) => !matches!(entry.kind, Kind::Flag | Kind::OptionalText),
        (None, None) => !table::is_engine_flag(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn separated(line: &str) -> String {
        let own = |name: &str| match name {
            "json" | "strict" | "readonly" => Some(false),
            "html" | "destroy-data" => Some(true),
            _ => None,
        };
        let words = ["assay", "fio"].into_iter().chain(line.split(' ')).map(OsString::from).collect();
        let ordered: Vec<OsString> = in_order(words, &own).split_off(2);
        ordered.join(" ".as_ref()).into_string().expect("text")
    }

    #[test]
    fn own_options_come_first_with_their_values() {
        for (line, ordered) in [
            ("--name=a --json --rw=read", "--json --name=a --rw=read"),
            ("--name a --html x.html --rw read j.fio", "--html x.html --name a --rw read j.fio"),
            ("--name --json --strict", "--strict --name --json"),
            ("--thread --json --destroy-data=/dev/x", "--json --destroy-data=/dev/x --thread"),
            ("--readonly - --output --json", "--readonly - --output --json"),
            ("--write_bw_log --json", "--json --write_bw_log"),
            ("--fixedbufs --json --hipri --strict", "--json --strict --fixedbufs --hipri"),
        ] {
            assert_eq!(separated(line), ordered, "{line}");
        }
        let by_name =
            in_order(["/usr/bin/fio", "j.fio", "--json"].map(OsString::from).to_vec(), &|_| Some(false));
        assert_eq!(by_name, ["/usr/bin/fio", "fio", "--json", "--output-format=normal", "j.fio"]);
    }

    #[test]
    fn help_names_values_and_what_becomes_of_them() {
        let page = option_help(Some("readwrite")).unwrap();
        assert!(page.contains("alias: readwrite") && page.contains("valid values: read\n"), "{page}");
        assert!(option_help(Some("iodepht")).unwrap_err().contains("did you mean iodepth?"));
        let all = option_help(None).unwrap();
        assert!(all.lines().count() > 200 && all.contains("iodepth: "), "{all}");
        assert!(engine_help(None).unwrap().contains("\tlibaio\n"));
        let engine = engine_help(Some("libaio")).unwrap();
        assert!(engine.contains("userspace_reap: "), "{engine}");
        assert!(engine_help(Some("libaoi")).unwrap_err().contains("libaio"));
    }
}
