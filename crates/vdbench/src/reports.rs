//! A run as the files that vdbench leaves in its output directory, for scripts and programs that read those.
//!
//! Layout and columns are those of vdbench 5.04.07. A phase is a run definition, its name without blanks; only phases
//! that measure are there. Response time is vdbench's: how long the thread waited for its I/O, which is our completion
//! latency; time waited for a late thread is in neither. Trims, which vdbench does not have, count as writes. Periods
//! of a ramp have rows like any other and are not in the averages, as in vdbench.
//!
//! Times of day are UTC and follow from the start of the run and the lengths of its phases.

mod flat;
mod histogram;
mod lines;
mod rows;

use assay_results::{Finding, FindingSeverity, Interval, Run, Verdict};

use self::rows::{Definition, definitions};
use assay_results::foreign::Moment;

/// The check that says whether data is what was written.
const DATA_CHECK: &str = "verify-failed";

/// What the parameter file says of its reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Reported {
    /// `interval=`, in seconds: a row for each; 0: a row for each reporting period.
    pub interval_s: u64,
    /// No `warmup=` is given: the first interval is left out of the averages, and start lines say nothing of it.
    pub first_left_out: bool,
}

/// File names and texts: `flatfile.html`, `totals.html`, `summary.html`, `histogram.html`, `status.html` and
/// `logfile.html`. `intervals` may be in any order; without them there are no rows but the averages.
pub fn vdbench_files(run: &Run, intervals: &[Interval]) -> Vec<(String, String)> {
    vdbench_files_as(run, intervals, Reported::default())
}

/// As [`vdbench_files`], with the rows that the parameter file asks for.
pub fn vdbench_files_as(run: &Run, intervals: &[Interval], how: Reported) -> Vec<(String, String)> {
    let definitions = definitions(run, intervals, how);
    let file = |name: &str, text: String| {
        let text = format!("<title>Vdbench {}/{name}</title><pre>\n{text}", escaped(&run.name));
        (name.to_owned(), text)
    };
    vec![
        file("flatfile.html", notes(run) + &flat::flatfile(run, &definitions)),
        file("totals.html", totals(run, &definitions)),
        file("summary.html", summary(run, &definitions)),
        file("histogram.html", notes(run) + &histogram::histograms(&definitions)),
        file("status.html", status(run, &definitions)),
        file("logfile.html", logfile(run, &definitions)),
    ]
}

/// What vdbench prints while it runs, for a run that has ended. `words` are those of its command line, `output` the directory
/// of its files; the last line is Assay's own.
pub fn console(run: &Run, intervals: &[Interval], how: Reported, words: &[String], output: &str) -> String {
    let definitions = definitions(run, intervals, how);
    let mut text = version(run);
    text.push_str("For documentation, see docs/formats/vdbench.md\n\n");
    let started = lines::time_of_day(Moment::parse(&run.started));
    words.iter().for_each(|word| text.push_str(&format!("{started} input argument scanned: '{word}'\n")));
    for definition in &definitions {
        text.push_str(&lines::start(definition));
        text.push('\n');
        for (index, row) in definition.rows.iter().enumerate() {
            if index % lines::ROWS_PER_HEADER == 0 {
                text.push_str(&lines::header(row.end));
            }
            text.push_str(&lines::row(row));
        }
        if definition.rows.is_empty() {
            text.push_str(&lines::header(definition.average.end));
        }
        text.push_str(&lines::row(&definition.average));
    }
    text.push_str(&format!("{} Output directory: {output}\n\n", done(run, &definitions).trim_end()));
    text.push_str(&verdict(run));
    text
}

/// The line of Assay behind vdbench's: how far the numbers can be trusted, and what speaks most against them. What became of data that
/// was to be compared is the first thing to say; vdbench's own line says only that the run ended.
fn verdict(run: &Run) -> String {
    let counted = |finding: &&Finding| finding.severity > FindingSeverity::Info;
    let compared = run.findings.iter().filter(counted).find(|finding| finding.id == DATA_CHECK);
    let doubted = run.findings.iter().filter(|_| run.verdict != Verdict::Valid);
    let why = compared.or_else(|| doubted.max_by_key(|finding| finding.severity));
    let why = why.map_or(String::new(), |finding| format!(": {}", finding.message));
    let line = format!("assay: {}{why} (assay check {})", run.verdict.word(), run.id);
    line.replace(char::is_control, " ") + "\n"
}

/// The line by which scripts tell the versions of the layout apart.
fn version(run: &Run) -> String {
    let version = escaped(&run.assay.version);
    format!("Vdbench distribution: vdbench50407 layout, written by Assay {version}\n")
}

/// All rows of all definitions.
fn summary(run: &Run, definitions: &[Definition<'_>]) -> String {
    let mut text = version(run) + &notes(run);
    for definition in definitions {
        text.push_str(&marked(&lines::start(definition)));
        for (index, row) in definition.rows.iter().enumerate() {
            if index % lines::ROWS_PER_HEADER == 0 {
                text.push_str(&lines::header(row.end));
            }
            text.push_str(&lines::row(row));
        }
        if definition.rows.is_empty() {
            text.push_str(&lines::header(definition.average.end));
        }
        text.push_str(&lines::row(&definition.average));
    }
    text.push_str(&done(run, definitions));
    text
}

/// The averages alone.
fn totals(run: &Run, definitions: &[Definition<'_>]) -> String {
    let mut text = notes(run);
    for definition in definitions {
        text.push_str(&marked(&lines::start(definition)));
        text.push_str(&lines::header(definition.average.end));
        text.push_str(&lines::row(&definition.average));
    }
    text.push_str(&done(run, definitions));
    text
}

/// The notes on the run as comments, which readers of these files pass over.
fn notes(run: &Run) -> String {
    run.notes.iter().map(|note| format!("* {}\n", escaped(note))).collect()
}

/// What happened when.
fn logfile(run: &Run, definitions: &[Definition<'_>]) -> String {
    let mut text = version(run);
    let started = lines::time_of_day(Moment::parse(&run.started));
    let mut say = |line: &str| text.push_str(&format!("{started} {line}\n"));
    say("Response times are completion latencies, from handing the operation over to its completion.");
    say("Times of day are UTC.");
    for note in &run.notes {
        say(&escaped(note));
    }
    for definition in definitions {
        text.push_str(&lines::start(definition));
        text.push('\n');
        text.push_str(&lines::header(definition.average.end));
        definition.rows.iter().for_each(|row| text.push_str(&lines::row(row)));
        text.push_str(&lines::row(&definition.average));
    }
    for finding in &run.findings {
        let place = finding.phase.as_deref().map_or(String::new(), |phase| format!(" {phase}:"));
        text.push_str(&escaped(&format!("{started} {}:{place} {}", finding.id, finding.message)));
        text.push('\n');
    }
    text.push_str(&done(run, definitions));
    text
}

/// The states that the author of vdbench promised to keep, separated by tabs.
fn status(run: &Run, definitions: &[Definition<'_>]) -> String {
    let start = Moment::parse(&run.started);
    let mut text = notes(run);
    let mut say = |moment: Moment, state: &str, definition: Option<&Definition<'_>>| {
        let of = definition.map_or(String::new(), |definition| {
            format!("\trd={}\tFor loops: {}", definition.name, definition.loops)
        });
        text.push_str(&format!("{}\t{state}{of}\n", lines::timestamp(moment)));
    };
    say(start, "Starting slaves", None);
    say(start, "Slaves connected", None);
    for definition in definitions {
        say(definition.start, "Starting", Some(definition));
        if definition.ramp_s > 0.0 {
            let warm = definition.start.plus_seconds(definition.ramp_s);
            say(warm, "Warmup done", Some(definition));
        }
        say(definition.average.end, "Workload done", Some(definition));
        say(definition.average.end, "Slaves done", Some(definition));
    }
    let end = start.plus_seconds(run.elapsed_s);
    say(end, "Shutting down slaves", None);
    say(end, "Vdbench complete", None);
    text
}

/// The last line.
fn done(run: &Run, definitions: &[Definition<'_>]) -> String {
    let end = Moment::parse(&run.started).plus_seconds(run.elapsed_s);
    let end = definitions.last().map_or(end, |last| last.average.end);
    let words = match run.end {
        Some(assay_results::RunEnd::Completed) => "Vdbench execution completed successfully.",
        _ => "Vdbench execution ended before its time; the rows above are what was measured.",
    };
    format!("{} {words}\n", lines::time_of_day(end))
}

/// A start line as browsers jump to it.
fn marked(line: &str) -> String {
    let anchor: String = line.chars().filter(char::is_ascii_digit).take(9).collect();
    format!("<a name=\"_{anchor}\"></a><i><b>{line}</b></i>\n")
}

/// Text that neither a browser nor a terminal takes for more than text, on one line.
fn escaped(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
