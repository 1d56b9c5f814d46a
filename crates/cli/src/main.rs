//! `assay`: arguments, wiring, exit codes. The only place that prints and exits.

use std::process::ExitCode;

mod against;
mod apps;
mod asked;
mod audit;
mod baseline;
mod bench_self;
mod check;
mod cleanup;
mod command_line;
mod compare;
mod completion;
mod context;
mod convert;
mod coordinate;
mod crosscheck;
mod doctor;
mod explain;
mod exports;
mod failure;
mod fio_command;
mod fio_install;
mod foreign;
mod grid;
#[cfg(feature = "vm")]
mod guest;
mod help;
mod import;
mod in_pod;
mod input;
mod judge;
#[cfg(feature = "kube")]
mod kube;
mod languages;
mod live;
mod location;
#[cfg(feature = "mail")]
mod mail;
mod new;
#[cfg(feature = "oltp")]
mod oltp;
mod on;
mod options;
mod output;
mod pipe;
mod probe;
mod quick;
mod remote;
mod run;
mod runs;
#[cfg(all(test, feature = "schema"))]
mod schema;
#[cfg(feature = "tui")]
mod screen;
mod series;
#[cfg(feature = "web")]
mod serve;
mod shown;
mod signals;
mod simulated;
mod standing_consent;
mod status;
mod steps;
mod traced;
mod vdbench_command;
#[cfg(feature = "vm")]
mod vm;
mod wrong_words;

use assay_report::visible;

use command_line::Command;
use context::Context;
use failure::{Failure, Outcome};

#[global_allocator]
static MEMORY: assay_engine::memory::OrExit = assay_engine::memory::OrExit;

fn main() -> ExitCode {
    assay_engine::clock::begin();
    #[cfg(feature = "vm")]
    if guest::is_first_process() {
        guest::first_process();
    }
    if completion::answered(command_line::all) {
        return ExitCode::SUCCESS;
    }
    signals::outlive_file_limits();
    let words = command_line::words();
    let cli = match command_line::parse(&words) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version are errors to clap; they go to stdout and are none to us.
            let code = if error.use_stderr() { failure::USAGE } else { 0 };
            // A wrong word may hold what moves a cursor: it is said as it can be seen.
            let seen = words.iter().map(|word| visible(&word.to_string_lossy()).into_owned());
            if code != 0 {
                let seen: Vec<String> = seen.collect();
                wrong_words::print(&command_line::parse(&seen).err().unwrap_or(error), &seen);
                return ExitCode::from(code);
            }
            return match context::help_to_stdout(&error.render()) {
                Ok(()) => ExitCode::SUCCESS,
                Err(failure) => {
                    context::to_stderr(format_args!("error: {failure}\n"));
                    ExitCode::from(failure.code())
                }
            };
        }
    };
    let mut context = Context::new(&cli.global);
    match dispatch(cli.command, &mut context).and_then(|outcome| context.printed().map(|()| outcome)) {
        Ok(outcome) => ExitCode::from(outcome.code()),
        Err(failure) => {
            context.error(&failure);
            ExitCode::from(failure.code())
        }
    }
}

fn dispatch(command: Command, context: &mut Context) -> Result<Outcome, Failure> {
    match command {
        Command::Quick(args) => quick::quick(args, context),
        Command::Cleanup(args) => cleanup::cleanup(&args, context),
        Command::Compare(args) => compare::compare(&args, context),
        Command::Check(args) => check::check(&args, context),
        Command::Probe(args) => probe::probe(&args, context),
        Command::Judge(args) => judge::judge(&args, context),
        Command::Import(args) => import::import(&args, context),
        Command::Report(args) => check::report(&args, context),
        Command::Runs(args) => runs::runs(&args, context),
        #[cfg(feature = "web")]
        Command::Serve(args) => serve::serve(&args, context),
        #[cfg(not(feature = "web"))]
        Command::Serve(_) => Err(Failure::usage(command_line::NO_SERVE)),
        Command::Baseline(args) => baseline::baseline(&args, context),
        Command::Run(args) => run::run(&args, context),
        Command::Fio(args) => fio_command::fio(args, || command_line::help_of("fio"), context),
        Command::Vdbench(args) => vdbench_command::vdbench(args, context),
        Command::Crosscheck(args) => crosscheck::crosscheck(&args, context),
        Command::Audit(args) => audit::audit(&args, context),
        #[cfg(feature = "oltp")]
        Command::Oltp(args) => oltp::oltp(&args, context),
        #[cfg(not(feature = "oltp"))]
        Command::Oltp(_) => Err(Failure::usage(command_line::NO_OLTP)),
        Command::Plan(args) => run::plan(&args, context),
        Command::Grid(args) => grid::grid(&args, context),
        Command::New(args) => new::new(&args, context),
        Command::Convert(args) => convert::convert(&args, context),
        Command::Explain(args) => explain::explain(&args, context),
        Command::BenchSelf(args) => bench_self::bench_self(&args, context),
        #[cfg(feature = "kube")]
        Command::Kube(args) => kube::kube(&args, context),
        #[cfg(not(feature = "kube"))]
        Command::Kube(_) => Err(Failure::usage(command_line::NO_KUBE)),
        #[cfg(feature = "mail")]
        Command::Mail(args) => mail::mail(&args, context),
        #[cfg(not(feature = "mail"))]
        Command::Mail(_) => Err(Failure::usage(command_line::NO_MAIL)),
        #[cfg(feature = "vm")]
        Command::Vm(args) => vm::vm(&args, context),
        #[cfg(not(feature = "vm"))]
        Command::Vm(_) => Err(Failure::usage(command_line::NO_VM)),
        Command::Doctor(args) => doctor::doctor(&args, context),
        Command::Completions(args) => command_line::completions(&args, context),
        Command::Man(args) => command_line::man(&args, context),
        Command::Worker(args) => on::worker(&args, context),
    }
}
