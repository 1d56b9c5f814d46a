//! `assay audit`: where the traffic of a workload lands on an array, what that does, and what repairs it.

mod args;
mod audited;
mod document;
mod fix;
mod output;
mod pictures;
mod simulate;
pub(crate) mod source;
mod tables;
mod trace;

use assay_sim::Model;
use assay_sim::audit::{AuditOptions, audit as audit_plan};

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::output::Outputs;
use crate::signals;

pub(crate) use args::{ARRAY_DEFAULT, AuditArgs, SIZE_DEFAULT, size_default};
use audited::Audited;
#[cfg(all(test, feature = "schema"))]
pub(crate) use document::Document;
use source::Source;

pub(crate) fn audit(args: &AuditArgs, context: &Context) -> Result<Outcome, Failure> {
    if args.array == "list" {
        context.out(&tables::arrays(context)?);
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
    let audited = audited(source, model, &options)?;
    if let Some(path) = &args.fix {
        fix::write(&audited, path, &outputs, context)?;
    }
    if !args.json {
        context.out(&output::text(&audited, context));
    }
    let simulation = match args.simulate {
        true => Some(simulate::run(&audited, args.bound_range, args.threads.into(), &site, context)?),
        false => None,
    };
    if args.json {
        context.out(&document::json(&audited, simulation.as_ref())?);
    } else if let Some(simulation) = &simulation {
        context.out(&output::simulated(&audited, simulation, context));
    }
    if let Some(path) = &args.html {
        outputs.write("--html", path, &output::page(&audited, simulation.as_ref()))?;
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

/// Audits a workload, and its repair where there is one.
fn audited(source: Source, model: Model, options: &AuditOptions) -> Result<Audited, Failure> {
    let audit = audit_plan(&source.plan, &model, options);
    if audit.jobs.is_empty() {
        return Err(Failure::usage(format!(
            "{} has no job with addresses: trees of files cannot be audited",
            source.name
        )));
    }
    let repaired = fix::repaired(&source, &model, &audit, options)?;
    Ok(Audited { source, model, audit, repaired })
}
