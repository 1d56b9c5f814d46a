//! Words that are replaced in an option line before it is read: `${NAME}`, `$pagesize`, `$mb_memory`, `$ncpus`.

use assay_formats::loader::Loader;

use super::arith;
use super::lines::RawOption;
use super::report::Report;

/// fio copies a line into a buffer of this size while it replaces variables.
const LINE_CHARS_MAX: usize = 4096;
/// fio hands a line to `bc` only if it and its value stay below these lengths.
const BC_LINE_CHARS: usize = 128;
const BC_VALUE_CHARS: usize = 100;

/// What the keywords `$pagesize`, `$mb_memory` and `$ncpus` stand for. The parser never looks at the machine it runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct System {
    /// Bytes per page.
    pub page_size_bytes: u64,
    /// Memory of the machine in MiB, if known.
    pub memory_mib: Option<u64>,
    /// Number of processors, if known.
    pub cpus: Option<u32>,
}

impl Default for System {
    /// Pages of 4096 bytes, nothing else known: files that use `$mb_memory` or `$ncpus` are then refused.
    fn default() -> Self {
        Self { page_size_bytes: 4096, memory_mib: None, cpus: None }
    }
}

/// The option line with variables and keywords replaced; `None` where that failed and was reported.
pub(super) fn substitute(
    raw: &RawOption,
    loader: &dyn Loader,
    system: &System,
    report: &mut Report,
) -> Option<RawOption> {
    let line = raw.text();
    if !line.contains('$') {
        return Some(raw.clone());
    }
    let line = environment(&line, raw, loader, report)?;
    let (line, replaced) = keywords(line, raw, system, report)?;
    let line = if replaced { calculate(line, raw, report)? } else { line };
    // A variable may bring its own `=`, or stand where the name should be.
    let (name, value) = match line.split_once('=') {
        Some((name, value)) => (name.trim_end(), Some(value.to_owned())),
        None => (line.as_str(), None),
    };
    Some(RawOption { name: name.to_owned(), value, ..raw.clone() })
}

/// Replaces each `${NAME}` once; an unset variable is empty, an unterminated `${` is literal.
fn environment(line: &str, raw: &RawOption, loader: &dyn Loader, report: &mut Report) -> Option<String> {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(start) = rest.find("${") {
        let Some(length) = rest[start..].find('}') else { break };
        out.push_str(&rest[..start]);
        let name = &rest[start + 2..start + length];
        match loader.env(name) {
            Some(value) => out.push_str(&value),
            None => report.note(
                "fio-variable-unset",
                &raw.value_place(),
                format!("the environment variable {name} is not set, so it stands for nothing"),
                &format!("{name}=<value> in front of the command"),
            ),
        }
        rest = &rest[start + length + 1..];
        if out.len() > LINE_CHARS_MAX {
            let message =
                format!("with its variables replaced the line is longer than {LINE_CHARS_MAX} bytes");
            report.error("fio-line-too-long", &raw.name_place(), message, "");
            return None;
        }
    }
    out.push_str(rest);
    Some(out)
}

/// Replaces the keywords; tells whether one was there.
fn keywords(
    mut line: String,
    raw: &RawOption,
    system: &System,
    report: &mut Report,
) -> Option<(String, bool)> {
    let values = [
        ("$pagesize", Some(system.page_size_bytes)),
        ("$mb_memory", system.memory_mib),
        ("$ncpus", system.cpus.map(u64::from)),
    ];
    let mut replaced = false;
    for (keyword, value) in values {
        if !line.contains(keyword) {
            continue;
        }
        let Some(value) = value else {
            let message = format!("{keyword} depends on the machine, which is not known here");
            report.error("fio-keyword-unknown-here", &raw.value_place(), message, "write the number");
            return None;
        };
        line = line.replace(keyword, &value.to_string());
        replaced = true;
    }
    Some((line, replaced))
}

/// What fio has the program `bc` do with the value once a keyword was replaced.
fn calculate(line: String, raw: &RawOption, report: &mut Report) -> Option<String> {
    let Some((name, value)) = line.split_once('=') else { return Some(line) };
    let has_operator = line.contains(['+', '-', '*', '/']);
    if !has_operator || line.contains('\'') || line.len() >= BC_LINE_CHARS || value.len() > BC_VALUE_CHARS {
        return Some(line);
    }
    match arith::evaluate(value, arith::Units::None) {
        Some(result) => Some(format!("{name}={result:.0}")),
        None => {
            let message =
                format!("with its keyword replaced, `{value}` goes through bc, which cannot read it");
            let help = "write numbers without units, + - * / and parentheses";
            report.error("fio-bc-expression", &raw.value_place(), message, help);
            None
        }
    }
}

/// Replaces a `$keyword` wherever it stands, in whatever case.
pub(super) fn replace_keyword(format: &str, keyword: &str, value: &str) -> String {
    let lower = format.to_ascii_lowercase();
    let mut out = String::with_capacity(format.len());
    let mut from = 0;
    while let Some(found) = lower[from..].find(keyword) {
        out.push_str(&format[from..from + found]);
        out.push_str(value);
        from += found + keyword.len();
    }
    out.push_str(&format[from..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_formats::Position;
    use assay_formats::loader::MemoryLoader;

    fn run(line: &str) -> (Option<String>, Vec<&'static str>) {
        let mut loader = MemoryLoader::default();
        loader.env.insert("BS".into(), "8k".into());
        let system = System { page_size_bytes: 4096, memory_mib: Some(2000), cpus: Some(3) };
        let (name, value) = line.split_once('=').unwrap();
        let raw = RawOption {
            name: name.into(),
            value: Some(value.into()),
            at: Position { file: "f".into(), line: 1, column: 1 },
            value_column: 4,
        };
        let mut report = Report::default();
        let text = substitute(&raw, &loader, &system, &mut report).map(|raw| raw.text());
        (text, report.finish().iter().map(|d| d.id).collect())
    }

    #[test]
    fn variables() {
        assert_eq!(run("bs=${BS}").0.unwrap(), "bs=8k");
        assert_eq!(run("bs=${BS},${BS}").0.unwrap(), "bs=8k,8k");
        assert_eq!(run("bs=$BS").0.unwrap(), "bs=$BS");
        assert_eq!(run("bs=${BS").0.unwrap(), "bs=${BS");
        assert_eq!(run("bs=${NOPE}"), (Some("bs=".into()), vec!["fio-variable-unset"]));
    }

    #[test]
    fn keywords_and_the_calculator() {
        assert_eq!(run("size=8*$pagesize").0.unwrap(), "size=32768");
        assert_eq!(run("bs=$pagesize").0.unwrap(), "bs=4096");
        assert_eq!(run("size=10*1000*$mb_memory").0.unwrap(), "size=20000000");
        assert_eq!(run("numjobs=$ncpus").0.unwrap(), "numjobs=3");
        assert_eq!(run("directory=/mnt/$ncpus"), (None, vec!["fio-bc-expression"]));
        assert_eq!(run("size=2*4096").0.unwrap(), "size=2*4096");
    }
}
