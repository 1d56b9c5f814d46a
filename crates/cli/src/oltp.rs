//! `assay oltp`: a load derived from TPC-C on SQLite and PostgreSQL. Its options are those of the crate's table.

use std::os::unix::process::CommandExt as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use assay_oltp::{Given, OPTIONS, OptionWords, Outside, Verb, WHERE, Watcher};
use assay_runner::{Request, Work};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

use crate::context::Context;
use crate::failure::{Failure, Outcome};
use crate::live::{self, Live};
use crate::options::{OutputArgs, ScreenArgs};
use crate::output::Outputs;
use crate::{apps, run, signals};

#[derive(Debug)]
pub(crate) struct OltpArgs {
    verb: Verb,
    given: Given,
    /// Of a run.
    output: Option<OutputArgs>,
    screen: ScreenArgs,
}

fn options_of(verb: Verb) -> impl Iterator<Item = &'static OptionWords> {
    OPTIONS.iter().filter(move |words| words.of.contains(&verb))
}

impl Args for OltpArgs {
    fn augment_args(command: Command) -> Command {
        let option = |words: &OptionWords| {
            let arg = Arg::new(words.name).help(words.help);
            let arg = if words.name == WHERE { arg } else { arg.long(words.name) };
            words.value.map_or(arg.clone().action(ArgAction::SetTrue), |value| arg.value_name(value))
        };
        let verbs = Verb::ALL.map(|verb| {
            let one = Command::new(verb.name()).args(options_of(verb).map(option));
            if verb == Verb::Run { ScreenArgs::augment_args(OutputArgs::augment_args(one)) } else { one }
                .about(verb.about())
        });
        command.subcommand_required(true).arg_required_else_help(true).subcommands(verbs)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for OltpArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let found = Verb::ALL.into_iter().find_map(|v| Some((v, matches.subcommand_matches(v.name())?)));
        let missing = || clap::Error::new(clap::error::ErrorKind::MissingSubcommand);
        let (verb, own) = found.ok_or_else(missing)?;
        let text = |words: &OptionWords| match words.value {
            Some(_) => own.get_one::<String>(words.name).cloned(),
            None => own.get_flag(words.name).then(String::new),
        };
        let given = options_of(verb).filter_map(|words| Some((words.name, text(words)?))).collect();
        let output = (verb == Verb::Run).then(|| OutputArgs::from_arg_matches(own)).transpose()?;
        let screen = (verb == Verb::Run).then(|| ScreenArgs::from_arg_matches(own)).transpose()?;
        Ok(OltpArgs { verb, given, output, screen: screen.unwrap_or_default() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        Self::from_arg_matches(matches).map(|args| *self = args)
    }
}

impl From<assay_oltp::Error> for Failure {
    fn from(error: assay_oltp::Error) -> Self {
        match error {
            assay_oltp::Error::Interrupted => Failure::Interrupted,
            error if error.is_request() => Failure::usage(error),
            error => Failure::failed(error),
        }
    }
}

/// Starts this program anew where a URL among its words holds a password, which every user of the machine could read in the list of
/// processes: it goes on in the environment. Where that fails, everything goes on as it is.
fn hide_password(given: &Given) {
    let Some((word, url, password)) = given.password_in_url() else { return };
    let Ok(program) = std::env::current_exe() else { return };
    let mut words = std::env::args_os();
    let mut again = std::process::Command::new(program);
    if let Some(name) = words.next() {
        again.arg0(name);
    }
    let words = words.map(|other| if other == word { url.clone().into() } else { other });
    let _ = again.args(words).env("PGPASSWORD", password).exec();
}

pub(crate) fn oltp(args: &OltpArgs, context: &Context) -> Result<Outcome, Failure> {
    hide_password(&args.given);
    let mut site = context.site(signals::stop_flag()?);
    let stop = Arc::clone(&site.stop);
    let stopped = move || stop.load(Ordering::Relaxed);
    let here = apps::here(context, args.output.as_ref().is_some_and(|output| output.force))?;
    let mut said = live::stages(context);
    let mut watcher = Watcher { progress: &mut |progress| said(&progress), stopped: &stopped };
    match args.verb {
        Verb::Build => context.out(&assay_oltp::build(&args.given, &here, &mut watcher)?),
        Verb::Check => {
            let report = match assay_oltp::crash_rounds(&args.given)? {
                None => assay_oltp::check(&args.given, &here, &mut |what| context.say(what), &stopped)?,
                Some(rounds) => {
                    let program = |words: &[String]| {
                        let mut command = std::process::Command::new(std::env::current_exe()?);
                        command.args(words);
                        Ok(command)
                    };
                    let mut say = |what: &str| context.say(what);
                    let mut outside = Outside { program: &program, say: &mut say, stopped: &stopped };
                    assay_oltp::crash(&args.given, &here, rounds, &mut outside)?
                }
            };
            context.out(&report.text());
            if report.failed() > 0 {
                return Err(Failure::failed(format!("{} of the checks do not hold", report.failed())));
            }
        }
        Verb::Run => {
            let output = args.output.as_ref().ok_or_else(|| Failure::usage("no options of a run"))?;
            output.checked(Outputs::new(output.force).reading(args.given.ledger()))?;
            context.make_runs_root()?;
            let prepared = assay_oltp::prepare_run(&args.given, &here, &mut watcher)?;
            prepared.notes.iter().for_each(|note| context.say(note));
            site.kinds.native.push(Arc::new(prepared.kind));
            let request = Request::new(Work::Asked(prepared.workload), &prepared.directory);
            let mut live = Live::new(context).on_screen(args.screen.live)?;
            let done = run::recorded(request, &site, &mut live, context)?;
            return run::present(&done.finished, output, None, context);
        }
    }
    Ok(Outcome::Done)
}
