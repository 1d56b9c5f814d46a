//! `assay audit`: where the traffic of a workload lands on an array, what that does, and what repairs it.

mod args;
mod fix;
mod simulate;
pub(crate) mod source;
mod trace;

use assay_report::audit as shown;
use assay_report::terminal::{self, Mark, Section};
#[cfg(all(test, feature = "schema"))]
pub(crate) use assay_results::audit::Document;
#[cfg(not(all(test, feature = "schema")))]
use assay_results::audit::Document;
use assay_results::audit::{Array, Audit, Audited, Change, Planned, RepairedAudit, sentences};
use assay_sim::audit::{AuditOptions, Drawing, audit as audit_plan};
use assay_sim::{Model, model};
use serde::Serialize;

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::output::Outputs;
use crate::signals;

pub(crate) use args::{ARRAY_DEFAULT, AuditArgs, size_default};
use source::Source;

/// What was audited, and what a repair makes of it.
struct Subject {
    source: Source,
    model: Model,
    array: Array,
    audit: Audit,
    repaired: Option<Repaired>,
}

/// The repaired workload and its audit.
struct Repaired {
    source: Source,
    changes: Vec<Change>,
    audit: Audit,
}

impl Subject {
    /// As it is shown.
    fn audited(&self) -> Audited<'_> {
        let planned = |source, audit| -> Planned<'_> {
            let source: &Source = source;
            Planned { plan: &source.plan, audit }
        };
        Audited {
            name: &self.source.name,
            array: &self.array,
            assumed: &self.source.assumed,
            before: planned(&self.source, &self.audit),
            after: self.repaired.as_ref().map(|one| (planned(&one.source, &one.audit), &one.changes[..])),
        }
    }
}

pub(crate) fn audit(args: &AuditArgs, context: &Context) -> Result<Outcome, Failure> {
    if args.array == "list" {
        context.out(&arrays(context)?);
        return Ok(Outcome::Done);
    }
    let model = source::model(&args.array)?;
    if let Some(trace) = &args.trace {
        return trace::audit(trace, args, &model, &outputs(args)?, context);
    }
    let file = args.file.as_ref();
    let file =
        file.ok_or_else(|| Failure::usage("name a workload file to audit, or a trace with --trace"))?;
    let site = context.site(signals::stop_flag()?);
    if args.simulate {
        context.make_runs_root()?;
    }
    let source = Source::read(file, args, context)?;
    let outputs = outputs(args)?;
    let options = AuditOptions {
        cache_bytes: args.cache.iter().map(|bytes| bytes.0).collect(),
        ..AuditOptions::default()
    };
    let subject = subject(source, model, &options)?;
    let (audited, draw, style) = (subject.audited(), Drawing(&subject.model), &context.style);
    if let Some(path) = &args.fix {
        fix::write(&subject, path, &outputs, context)?;
    }
    if !args.json {
        context.out(&shown::text(&audited, &draw, style));
    }
    let simulation = match args.simulate {
        true => Some(simulate::run(&subject, args.bound_range, args.threads.into(), &site, context)?),
        false => None,
    };
    let simulated = simulation.as_ref().map(simulate::Simulation::shown);
    let page = args
        .html
        .as_ref()
        .map(|path| (path, shown::page(&audited, simulated.as_ref(), &draw, Context::version().version)));
    if args.json {
        let repaired = subject.repaired.as_ref();
        let repaired = repaired.map(|one| RepairedAudit::of(sentences(&one.changes), &one.audit));
        let mut document = Document::of(&subject.audit);
        (document.repaired, document.simulated) = (repaired, simulated);
        context.out(&json(&document)?);
    } else if let (Some(simulation), Some(simulated)) = (&simulation, &simulated) {
        context.out(&shown::simulated(&audited, simulated, simulation.directories(), style));
    }
    if let Some((path, page)) = page {
        outputs.write("--html", path, &page)?;
    }
    simulation.map_or(Ok(Outcome::Done), |simulation| simulation.outcome())
}

/// What is to be written, once it is known what was read.
fn outputs(args: &AuditArgs) -> Result<Outputs, Failure> {
    let files = [&args.file, &args.trace, &args.against].into_iter().flatten();
    let mut outputs = Outputs::new(args.force).reading(files).reading([&args.array]);
    if args.json {
        outputs.take_stdout("--json")?;
    }
    outputs.check("--fix", args.fix.as_deref())?;
    outputs.check("--html", args.html.as_deref())?;
    Ok(outputs)
}

/// The JSON document.
fn json(document: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string_pretty(document).map_err(Failure::failed)
}

/// The shipped arrays and what each stands for.
fn arrays(context: &Context) -> Result<String, Failure> {
    let mut sections = Vec::new();
    for shipped in model::SHIPPED {
        let model = Model::from_toml(shipped.toml).map_err(Failure::failed)?;
        let row = |name: &str, words| (name.to_owned(), words, Mark::Plain);
        let made_of = shown::describe(&model.array());
        let rows = vec![row("made of", made_of), row("stands for", model.description)];
        sections.push(terminal::sections(&[Section { title: model.name, rows }], &context.style));
    }
    Ok(sections.concat())
}

/// Audits a workload, and its repair where there is one.
fn subject(source: Source, model: Model, options: &AuditOptions) -> Result<Subject, Failure> {
    let audit = audit_plan(&source.plan, &model, options);
    if audit.jobs.is_empty() {
        return Err(Failure::usage(format!(
            "{} has no job with addresses: trees of files cannot be audited",
            source.name
        )));
    }
    let repaired = fix::repaired(&source, &model, &audit, options)?;
    Ok(Subject { array: model.array(), source, model, audit, repaired })
}
