//! `assay audit --trace`: the same for what was recorded, and how like it a synthetic workload is.

use std::io::{self, ErrorKind, Read};
use std::path::Path;

use assay_formats::trace::{Dialect, Parser, TraceEvent, TraceReader};
use assay_report::audit::trace::{Traced, rendered, worst};
use assay_results::audit::{Compared, Comparison, Document};
use assay_sim::Model;
use assay_sim::audit::{AuditOptions, Capture, Profile, Recorded, audit_stream, beside_repeats};

use super::args::AuditArgs;
use super::source::Source;
use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::input;
use crate::languages::TRACES;
use crate::output::Outputs;
use crate::pipe;

/// Operations drawn from a workload at most, to compare with.
const DRAWS_MAX: u64 = 2_000_000;

/// What a trace was counted as.
struct Counted<'m> {
    name: String,
    what: String,
    targets: Vec<(String, u64)>,
    capture: Capture<'m>,
    ops: u64,
    timed: bool,
}

/// A file to be read once, and its path.
type Opened<'p> = (&'p Path, TraceReader<Box<dyn Read>>);

fn open(path: &Path) -> Result<Opened<'_>, Failure> {
    let path = input::named(path);
    let opened = pipe::open(path).map_err(|error| match error.kind() {
        ErrorKind::NotFound => Failure::usage(format!("{} does not exist", path.display())),
        _ => unread(path)(error),
    });
    Ok((path, TraceReader::new(opened?)))
}

fn unread(path: &Path) -> impl Fn(io::Error) -> Failure {
    move |error| Failure::usage(format!("{}: {error}", path.display()))
}

/// Counts a trace, line by line.
fn count<'m>((path, trace): Opened<'_>, model: &'m Model, context: &Context) -> Result<Counted<'m>, Failure> {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let mut parser = Parser::new(&path.to_string_lossy(), TRACES);
    let mut capture = Capture::new(model);
    let read = trace.lines(|line| match parser.line(line) {
        Some(TraceEvent::Issued(op)) => {
            let timed = parser.dialect().is_some_and(Dialect::is_timed);
            let place = (op.target, op.offset_bytes, op.len_bytes);
            let (kind, at_ns, latency_ns) = (op.kind, op.at_ns, op.latency_ns);
            capture.issue(&Recorded { kind, place, at_ns, latency_ns }, timed);
        }
        Some(TraceEvent::Completed { .. }) => capture.complete(),
        None => {}
    });
    read.map_err(unread(path))?;
    let targets = parser.targets().iter().cloned().zip(capture.sizes()).collect();
    let dialect = parser.dialect();
    let (ops, timed) = (parser.ops(), dialect.is_some_and(Dialect::is_timed));
    let what = dialect.map_or("", Dialect::describe).to_owned();
    input::say_all(&parser.finish(), false, context)?;
    Ok(Counted { name, what, targets, capture, ops, timed })
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
    let (named, mut opened) = open(path)?;
    if opened.is_trace(TRACES).map_err(unread(named))? {
        let counted = count((named, opened), model, context)?;
        return Ok(Against { name: counted.name, what: "trace", profile: counted.capture.profile });
    }
    let input = input::read_opened(named, opened.whole(), &args.reading)?;
    let source = Source::of_input(path, input, args, context)?;
    let phase = source.plan.phases.iter().position(|phase| phase.jobs.iter().any(|job| job.is_blocks()));
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
    let counted = count(open(path)?, model, context)?;
    let options = AuditOptions {
        cache_bytes: args.cache.iter().map(|bytes| bytes.0).collect(),
        ..AuditOptions::default()
    };
    let names: Vec<String> = counted.targets.iter().map(|target| target.0.clone()).collect();
    let audit = audit_stream(&counted.name, &names, &counted.capture.stream, model, &options);
    let against =
        args.against.as_deref().map(|path| against(path, counted.ops, args, model, context)).transpose()?;
    let compared = against
        .as_ref()
        .map(|against| compare(&counted.capture.profile, &against.profile, args, model, context));
    let comparisons = compared.transpose()?.unwrap_or_default();
    let traced = Traced {
        name: &counted.name,
        what: &counted.what,
        targets: &counted.targets,
        ops: counted.ops,
        heat: counted.capture.heat(&counted.targets),
        timed: counted.timed,
        array: &model.array(),
        audit: &audit,
        against: against.as_ref().map(|against| (&*against.name, against.what, &comparisons[..])),
    };
    let (text, page) = rendered(traced, &context.style, Context::version().version);
    if args.json {
        let mut document = Document::of(&audit);
        document.comparison = against.as_ref().map(|against| Compared {
            against: &against.name,
            dimensions: &comparisons,
            fidelity: worst(&comparisons),
        });
        context.out(&super::json(&document)?);
    } else {
        context.out(&text);
    }
    if let Some(path) = &args.html {
        outputs.write("--html", path, &page)?;
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
        captures.push(count(open(path)?, model, context)?.capture.profile);
    }
    let all: Vec<&Profile> = std::iter::once(trace).chain(&captures).collect();
    let pairs =
        all.iter().enumerate().flat_map(|(at, one)| all[at + 1..].iter().map(move |other| (one, other)));
    let repeats: Vec<Vec<Comparison>> = pairs.map(|(one, other)| one.compare(other)).collect();
    Ok(beside_repeats(trace.compare(against), &repeats))
}
