//! What is said of a command line that clap refuses: its message, with the fix for what people type who know other tools.

use std::path::Path;

use assay_formats::terms::{self, Found};
use assay_report::visible;
use clap::error::{ContextKind, ErrorKind};

/// Options by which other tools are told where their result goes.
const RESULTS: [&str; 7] = ["-o", "--output", "--html", "--csv", "--md", "--xlsx", "--fio-json"];

/// Prints a refusal of the words of a command line on stderr.
pub(crate) fn print(error: &clap::Error, words: &[String]) {
    let coloured = std::io::IsTerminal::is_terminal(&std::io::stderr());
    let text = error.render();
    let text = if coloured { text.ansi().to_string() } else { text.to_string() };
    // Rust's words for numbers that are none.
    let text = text.replace("invalid digit found in string", "it is not a whole number");
    let text = text.replace("invalid float literal", "it is not a number such as 10 or 2.5");
    let mut lines: Vec<&str> = text.lines().collect();
    // One of many options is missing: which there are, stands in the usage below.
    if let Some(at) = lines.iter().position(|line| line.trim_start().starts_with("<--") && line.contains('|'))
    {
        lines[at] = "  an output: --html, --xlsx, --csv, --md, --json, --parquet, ..";
    }
    // How to pass an option as a value is no help to who meant an option.
    if let Some(at) = lines.iter().position(|line| line.contains("as a value, use '")) {
        lines.drain(at..(at + 2).min(lines.len()));
    }
    let fix = fix(error, words).map(|fix| format!("  tip: {fix}\n"));
    if let Some(fix) = &fix {
        lines.insert(1.min(lines.len()), fix);
        lines.insert(1, "");
    }
    crate::context::to_stderr(format_args!("{}\n", lines.join("\n").replace("\n\n\n", "\n\n")));
}

/// The fix, where one is known.
fn fix(error: &clap::Error, words: &[String]) -> Option<String> {
    let wrong = |kind| error.get(kind).map(|value| value.to_string());
    let command = words.get(1).map_or("", String::as_str);
    match error.kind() {
        ErrorKind::InvalidSubcommand => {
            let word = wrong(ContextKind::InvalidSubcommand)?;
            let alone = error.get(ContextKind::SuggestedSubcommand).is_none();
            let list = alone.then(|| "'assay --help' lists the commands".to_owned());
            let of_file = || format!("a workload file is run with 'assay run {}'", visible(&word));
            Path::new(&word).is_file().then(of_file).or(list)
        }
        ErrorKind::UnknownArgument => {
            let word = wrong(ContextKind::InvalidArg)?;
            let option = word.split('=').next().unwrap_or_default();
            of_option(command, option)
        }
        ErrorKind::MissingRequiredArgument => {
            let missing = wrong(ContextKind::InvalidArg)?;
            let run = missing.contains("<RUN>");
            let outputs = missing.contains("--html");
            match (run, outputs) {
                (true, true) => Some("for example: assay report last --html result.html".to_owned()),
                (_, true) => Some(
                    "name what to write, for example --html result.html; 'assay runs show RUN' shows a run here".to_owned(),
                ),
                (true, _) => Some("'assay runs' lists the runs; the newest is 'last'".to_owned()),
                _ => None,
            }
        }
        _ => None,
    }
}

/// What to do instead of giving this option to this command.
fn of_option(command: &str, option: &str) -> Option<String> {
    let Some(name) = option.strip_prefix('-').map(|name| name.trim_start_matches('-')) else {
        let judge = "the command to judge stands behind '--': assay judge -- fio job.fio";
        return (command == "judge").then(|| judge.to_owned());
    };
    if command.starts_with('-') {
        return Some(format!("options stand behind a command: assay run FILE {option} .."));
    }
    if ["run", "fio", "crosscheck"].contains(&command) && RESULTS.contains(&option) {
        return Some(
            "the result is kept, and written by 'assay report last --html FILE' (or --csv, --md, ..)"
                .to_owned(),
        );
    }
    let of_fio = matches!(terms::find(name), Found::Terms(terms) if terms.iter().any(|term| term.fio.iter().any(|own| own == name)));
    (["run", "plan", "audit", "crosscheck"].contains(&command) && of_fio).then(|| {
        format!("'assay {command}' reads {name} from its FILE; options of fio are taken by 'assay fio', and 'assay new' writes a FILE")
    })
}
