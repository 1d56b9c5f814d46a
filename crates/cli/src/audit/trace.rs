//! `assay audit --trace`: the same for what was recorded, and how like it a synthetic workload is.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;

use assay_formats::trace::{Dialect, Parser, TraceEvent, TraceOp};
use assay_report::landing::{self, Facts, Head, HeatMap, Landing, Part, bars, heat_map};
use assay_report::{format, terminal};
use assay_sim::Model;
use assay_sim::audit::{
    Audit, AuditOptions, Closeness, Comparison, HeatGrid, JobAudit, Profile, StreamAudit, audit_stream,
    beside_repeats,
};

use super::args::AuditArgs;
use super::document::{Compared, Document};
use super::source::Source;
use super::{pictures, tables};
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::input;
use crate::languages::TRACES;
use crate::output::Outputs;

/// Longer lines are in no trace.
const LINE_BYTES_MAX: u64 = 1 << 16;
/// Lines after which a file without an operation is no trace.
const LINES_LOOKED_AT: usize = 200;
/// Places that the heat map is made of.
const PLACES_MAX: usize = 1 << 19;
/// Operations drawn from a workload at most, to compare with.
const DRAWS_MAX: u64 = 2_000_000;

/// What a trace was counted as.
struct Counted {
    name: String,
    what: String,
    targets: Vec<(String, u64)>,
    stream: StreamAudit,
    profile: Profile,
    places: Places,
    ops: u64,
    timed: bool,
}

/// Every n-th operation, n so that they are not too many.
#[derive(Default)]
struct Places {
    kept: Vec<(u16, u64, u64)>,
    every: u64,
    seen: u64,
}

impl Places {
    fn add(&mut self, target: u16, offset: u64, at: u64) {
        self.every = self.every.max(1);
        if self.seen.is_multiple_of(self.every) {
            if self.kept.len() == PLACES_MAX {
                let mut index = 0;
                self.kept.retain(|_| {
                    index += 1;
                    index % 2 == 1
                });
                self.every *= 2;
            }
            self.kept.push((target, offset, at));
        }
        self.seen += 1;
    }
}

/// How many are outstanding, as far as a trace tells.
#[derive(Default)]
struct Outstanding {
    /// When those with a known latency end.
    ends: BinaryHeap<Reverse<u64>>,
    /// Those whose completion is an event of its own.
    open: u32,
    known: bool,
}

impl Outstanding {
    /// With the one that is issued now.
    fn issue(&mut self, op: &TraceOp) -> Option<u32> {
        if let Some(latency) = op.latency_ns {
            while self.ends.peek().is_some_and(|end| end.0 <= op.at_ns) {
                self.ends.pop();
            }
            self.ends.push(Reverse(op.at_ns.saturating_add(latency)));
            return Some(self.ends.len() as u32);
        }
        self.open = self.open.saturating_add(1);
        self.known.then_some(self.open)
    }

    fn complete(&mut self) {
        self.known = true;
        self.open = self.open.saturating_sub(1);
    }
}

/// Calls `each` for every line of a file, without its end; longer ones than any trace has are cut.
fn lines(path: &Path, mut each: impl FnMut(&str) -> bool) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::usage(format!("{}: {error}", path.display()));
    let mut reader = BufReader::with_capacity(1 << 20, File::open(path).map_err(failed)?);
    let mut line = Vec::with_capacity(256);
    loop {
        line.clear();
        let read = (&mut reader).take(LINE_BYTES_MAX).read_until(b'\n', &mut line).map_err(failed)?;
        if read == 0 || !each(&String::from_utf8_lossy(&line)) {
            return Ok(());
        }
    }
}

/// Whether a file is a trace: one of its first lines is an operation.
fn is_trace(path: &Path) -> Result<bool, Failure> {
    let mut parser = Parser::new("", TRACES);
    let mut left = LINES_LOOKED_AT;
    lines(path, |line| {
        parser.line(line);
        left -= 1;
        left > 0 && parser.ops() == 0
    })?;
    Ok(parser.ops() > 0)
}

/// Counts a trace, line by line.
fn count(path: &Path, model: &Model, context: &Context) -> Result<Counted, Failure> {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let mut parser = Parser::new(&path.to_string_lossy(), TRACES);
    let mut stream = StreamAudit::new(model, 0);
    let mut profile = Profile::new(model);
    let (mut places, mut outstanding) = (Places::default(), Outstanding::default());
    let (mut sizes, mut first_ns): (Vec<u64>, Option<u64>) = (Vec::new(), None);
    lines(path, |line| {
        match parser.line(line) {
            Some(TraceEvent::Issued(op)) => {
                while sizes.len() <= usize::from(op.target) {
                    stream.add_target();
                    sizes.push(0);
                }
                let size = &mut sizes[usize::from(op.target)];
                *size = op.offset_bytes.saturating_add(u64::from(op.len_bytes)).max(*size);
                let at = op.at_ns.saturating_sub(*first_ns.get_or_insert(op.at_ns));
                let timed = parser.dialect().is_some_and(Dialect::is_timed);
                let inside = outstanding.issue(&op);
                stream.add(op.target, op.kind, op.offset_bytes, op.len_bytes);
                let place = (op.target, op.offset_bytes, op.len_bytes);
                profile.add(model, place, op.kind, timed.then_some(at), inside);
                places.add(op.target, op.offset_bytes, if timed { at } else { parser.ops() - 1 });
            }
            Some(TraceEvent::Completed { .. }) => outstanding.complete(),
            None => {}
        }
        true
    })?;
    let segment = model.front_end.segment.0;
    let targets =
        parser.targets().iter().cloned().zip(sizes.into_iter().map(|size| size.next_multiple_of(segment)));
    let targets: Vec<(String, u64)> = targets.collect();
    let dialect = parser.dialect();
    let (ops, timed) = (parser.ops(), dialect.is_some_and(Dialect::is_timed));
    let what = dialect.map_or("", Dialect::describe).to_owned();
    input::say_all(&parser.finish(), false, context)?;
    Ok(Counted { name, what, targets, stream, profile, places, ops, timed })
}

/// What a trace is held against.
struct Against {
    name: String,
    what: &'static str,
    profile: Profile,
}

fn against(
    path: &Path,
    ops: u64,
    args: &AuditArgs,
    model: &Model,
    context: &Context,
) -> Result<Against, Failure> {
    if !path.is_file() {
        return Err(Failure::usage(format!("{} does not exist", path.display())));
    }
    if is_trace(path)? {
        let counted = count(path, model, context)?;
        return Ok(Against { name: counted.name, what: "trace", profile: counted.profile });
    }
    let source = Source::read(path, args, context)?;
    let phase = source.plan.phases.iter().position(|phase| phase.jobs.iter().any(|job| job.tree.is_none()));
    let profile = phase.and_then(|phase| Profile::of_phase(&source.plan, phase, model, ops.min(DRAWS_MAX)));
    let profile = profile.ok_or_else(|| {
        Failure::usage(format!("{} has no job with addresses to compare with", path.display()))
    })?;
    if source.plan.phases.len() > 1 {
        context.say(&format!("{}: only its first phase is compared", path.display()));
    }
    Ok(Against { name: source.name, what: "synthetic workload", profile })
}

/// The whole of it.
pub(super) fn audit(
    path: &Path,
    args: &AuditArgs,
    model: &Model,
    outputs: &Outputs,
    context: &Context,
) -> Result<Outcome, Failure> {
    let counted = count(path, model, context)?;
    let options = AuditOptions {
        cache_bytes: args.cache.iter().map(|bytes| bytes.0).collect(),
        ..AuditOptions::default()
    };
    let names: Vec<String> = counted.targets.iter().map(|target| target.0.clone()).collect();
    let audit = audit_stream(&counted.name, &names, &counted.stream, model, &options);
    let against =
        args.against.as_deref().map(|path| against(path, counted.ops, args, model, context)).transpose()?;
    let comparisons = against
        .as_ref()
        .map(|against| compare(&counted.profile, &against.profile, args, model, context))
        .transpose()?
        .unwrap_or_default();
    let page = page_of(&counted, &audit, against.as_ref(), &comparisons, model);
    if args.json {
        context.out(&json(&audit, against.as_ref(), &comparisons)?);
    } else {
        context.out(&text(&page, context));
    }
    if let Some(path) = &args.html {
        outputs.write("--html", path, &landing::page(&page))?;
    }
    Ok(Outcome::Done)
}

/// The comparison, with what captures of one program differ by where there are several.
fn compare(
    trace: &Profile,
    against: &Profile,
    args: &AuditArgs,
    model: &Model,
    context: &Context,
) -> Result<Vec<Comparison>, Failure> {
    let mut captures: Vec<Profile> = Vec::new();
    for path in &args.repeat {
        captures.push(count(path, model, context)?.profile);
    }
    let all: Vec<&Profile> = std::iter::once(trace).chain(&captures).collect();
    let pairs =
        all.iter().enumerate().flat_map(|(at, one)| all[at + 1..].iter().map(move |other| (one, other)));
    let repeats: Vec<Vec<Comparison>> = pairs.map(|(one, other)| one.compare(other)).collect();
    Ok(beside_repeats(trace.compare(against), &repeats))
}

fn json(audit: &Audit, against: Option<&Against>, comparisons: &[Comparison]) -> Result<String, Failure> {
    let comparison = against.map(|against| Compared {
        against: &against.name,
        dimensions: comparisons,
        fidelity: worst(comparisons),
    });
    Document::of(audit).compared(comparison).text()
}

/// What is shown, in the terminal and as a page.
fn page_of(
    counted: &Counted,
    audit: &Audit,
    against: Option<&Against>,
    comparisons: &[Comparison],
    model: &Model,
) -> Landing {
    let entries: Vec<&JobAudit> = audit.jobs.iter().collect();
    let mut parts = vec![Part {
        title: counted.name.clone(),
        words: tables::hottest(&entries, model),
        facts: vec![tables::jobs(&entries, model)],
        bars: audit.phases.iter().map(|phase| pictures::bars(phase, None, model)).collect(),
        heat: vec![map_of(counted)],
        charts: Vec::new(),
    }];
    parts.extend(against.map(|against| compared(counted, against, comparisons)));
    let sizes: Vec<String> = counted
        .targets
        .iter()
        .take(6)
        .map(|(name, size)| format!("{name} (up to {})", format::bytes(*size)))
        .collect();
    Landing {
        kind: "Assay · audit of a trace on an array model".to_owned(),
        title: format!("audit of the trace {}", counted.name),
        facts: vec![
            format!("{} of {}", counted.what, format::plural(counted.ops, "operation")),
            format!("array {}: {}", model.name, tables::describe(model)),
            format!("on {}", sizes.join(", ")),
        ],
        parts,
        findings: audit.findings.clone(),
        changes: Vec::new(),
        version: Context::version().version,
    }
}

fn map_of(counted: &Counted) -> HeatMap {
    let span = counted.places.kept.last().map_or(1, |place| place.2 + 1);
    let mut grid = HeatGrid::new(&counted.targets, span, pictures::ROWS, pictures::COLUMNS);
    counted.places.kept.iter().for_each(|(target, offset, at)| grid.add(*target, *offset, *at));
    let name = |part: f64| match counted.timed {
        true => format::seconds(span as f64 * part / 1e9),
        false => format::count((span as f64 * part) as u64),
    };
    let ticks = [0.0, 0.5, 1.0].map(|place| (place, name(place))).to_vec();
    let axis = if counted.timed { "time" } else { "operations" };
    pictures::of(&grid.finish(), "trace", "address space over time", ticks, axis)
}

/// The comparison as a table.
fn compared(counted: &Counted, against: &Against, comparisons: &[Comparison]) -> Part {
    let heads = vec![
        Head::words("dimension", 0),
        Head::number("distance", 0),
        Head::number("by chance", 2),
        Head::words("", 0),
        Head::words("trace", 0),
        Head::words(against.what, 0),
    ];
    let row = |one: &Comparison| {
        vec![
            one.dimension.name().to_owned(),
            one.distance.map_or_else(|| format::NOTHING.to_owned(), |distance| format!("{distance:.3}")),
            if one.distance.is_some() { format!("{:.3}", one.error) } else { String::new() },
            closeness_word(one.closeness).to_owned(),
            one.first.clone(),
            one.second.clone(),
        ]
    };
    let note = "Distance: the largest difference of the two distributions, 0 (the same) to 1 (nothing in common); of \
                burstiness 1 less the root of the ratio of dispersions. By chance: what exchanging parts of the two at random \
                exceeds in one case of twenty, or what captures given with --repeat differ by. Medians beside it.";
    Part {
        title: format!("{} against {}", counted.name, against.name),
        words: vec![verdict(comparisons)],
        facts: vec![Facts { heads, rows: comparisons.iter().map(row).collect(), note: note.to_owned() }],
        ..Part::default()
    }
}

fn closeness_word(closeness: Closeness) -> &'static str {
    match closeness {
        Closeness::Alike => "alike",
        Closeness::Unclear => "unclear",
        Closeness::Near => "near",
        Closeness::Different => "different",
        Closeness::Unknown => "not known",
    }
}

fn worst(comparisons: &[Comparison]) -> Closeness {
    comparisons.iter().map(|one| one.closeness).max().unwrap_or(Closeness::Unknown)
}

/// Whether one may stand for the other.
fn verdict(comparisons: &[Comparison]) -> String {
    let named = |closeness: Closeness| {
        let names =
            comparisons.iter().filter(|one| one.closeness == closeness).map(|one| one.dimension.name());
        names.collect::<Vec<_>>().join(", ")
    };
    let mut words = match worst(comparisons) {
        Closeness::Different => format!(
            "Fidelity: different. It cannot stand for the trace where these matter: {}.",
            named(Closeness::Different)
        ),
        Closeness::Near => format!(
            "Fidelity: near. It may stand for the trace; it is not quite like it in {}.",
            named(Closeness::Near)
        ),
        Closeness::Unclear => format!(
            "Fidelity: unclear. Each of the two varies too much in itself to tell a difference in {}; longer traces would.",
            named(Closeness::Unclear)
        ),
        Closeness::Alike => {
            "Fidelity: alike. It can stand for the trace in everything that was compared.".to_owned()
        }
        Closeness::Unknown => "Fidelity: not known; nothing could be compared.".to_owned(),
    };
    let unknown = named(Closeness::Unknown);
    if !unknown.is_empty() {
        words.push_str(&format!(" Not compared: {unknown}."));
    }
    words
}

/// Everything for a terminal.
fn text(page: &Landing, context: &Context) -> String {
    let style = &context.style;
    let mut text = landing::heading(&page.title, style);
    page.facts.iter().for_each(|words| text.push_str(&landing::words(words, 0, style)));
    for part in &page.parts {
        text.push('\n');
        text.push_str(&landing::heading(&part.title, style));
        part.words.iter().for_each(|words| text.push_str(&landing::words(words, 2, style)));
        part.facts.iter().for_each(|facts| text.push_str(&landing::facts(facts, style)));
        part.bars.iter().for_each(|one| text.push_str(&format!("\n{}", bars(one, style))));
        part.heat.iter().for_each(|map| text.push_str(&format!("\n{}", heat_map(map, style))));
    }
    text.push('\n');
    text.push_str(&terminal::findings(&page.findings, style));
    text
}
