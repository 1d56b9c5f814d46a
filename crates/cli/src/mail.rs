//! `assay mail`: a mail workload, Jetstress-like, on databases of its own.

use std::path::{Path, PathBuf};

use assay_mail::{Action, Mail, report};
use assay_results::RunEnd;
use assay_runner::{Request, Work};

use crate::asked::LoadedWorkload;
use crate::context::Context;
use crate::failure::{Failure, Outcome, outcome_of};
use crate::live::Live;
use crate::options::HowArgs;
use crate::output::Outputs;
use crate::run::{self, RunOptions};
use crate::signals;

#[derive(Debug, clap::Args)]
#[command(after_help = assay_mail::settings::help())]
pub(crate) struct MailArgs {
    /// build, run or check
    pub(crate) action: Action,
    /// The directory of the databases; one that does not exist is made
    pub(crate) directory: PathBuf,
    /// Settings, each name=value; see below
    pub(crate) settings: Vec<String>,
    #[command(flatten)]
    pub(crate) how: HowArgs,
}

pub(crate) fn mail(args: &MailArgs, context: &Context) -> Result<Outcome, Failure> {
    let how = RunOptions::usual(&args.how);
    if args.how.engine.is_some() {
        return Err(Failure::usage("--engine: the mail store does its I/O by itself; leave the option out"));
    }
    let workload = assay_mail::asked(args.action, &args.directory, &args.settings).map_err(Failure::usage)?;
    let (directory, notes) = (PathBuf::from("."), Vec::new());
    let (diagnostics, commands) = (Vec::new(), Vec::new());
    let mut asked = LoadedWorkload {
        format: None,
        workload,
        directory,
        notes,
        diagnostics,
        commands,
        directories: Vec::new(),
        work_dir: None,
    };
    if args.how.dry_run {
        return run::show_plan(&mut asked, &how, context);
    }
    // Refused before hours of measuring.
    let databases = Outputs::new(args.how.output.force).reading([&args.directory]);
    args.how.foreign.check(&mut args.how.output.checked(databases)?)?;
    let mut site = context.site(signals::stop_flag()?);
    site.kinds.native.push(std::sync::Arc::new(Mail::default()));
    let request = Request {
        watch: args.how.watch.into(),
        consent: args.how.allowed.named()?,
        ..Request::new(Work::Asked(asked.workload), Path::new("."))
    };
    let mut live = Live::new(context).on_screen(args.how.screen.live)?;
    let finished = run::recorded(request, &site, &mut live, context)?.finished;
    let begun = finished.run.phases.iter().any(|phase| phase.measured_s > 0.0);
    if finished.end == RunEnd::Failed && !begun && !args.how.output.json {
        // There is nothing to report: the error says everything.
        context.say(&format!("kept in {}", finished.directory.display()));
        return outcome_of(&finished, false);
    }
    if !args.how.output.json {
        context.out(&report::text(&finished.run));
    }
    let outcome = run::present(&finished, &args.how.output, Some(&args.how.foreign), context)?;
    report::failure(&finished.run).map_or(Ok(outcome), |why| Err(Failure::failed(why)))
}
