//! What every command needs: how to speak, where runs are, which Assay this is.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, IsTerminal as _, Write};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, OnceLock};

use assay_engine::standard_streams::stdout_was_closed;
use assay_fleet::login::FAILURE_MARK;
use assay_host::HostRoot;
use assay_report::{Style, visible, visible_lines};
use assay_results::environment::AssayVersion;
use assay_results::store;
use assay_runner::{Kinds, Site};

use clap::builder::StyledStr;
use clap::{Args, ValueEnum};

use crate::failure::Failure;

/// `text` as one word of a shell, in quotes where it needs them.
pub(crate) fn shell_word(text: &str) -> Cow<'_, str> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "%+,-./:=@_".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.into(),
        false => assay_fleet::shell::quoted(text).into(),
    }
}

/// Options of every command.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// When to use colour
    #[arg(long, value_enum, default_value_t = Colour::Auto, global = true, help_heading = "Options of every command", value_name = "WHEN")]
    pub(crate) color: Colour,
    /// Print only results and errors
    #[arg(long, short, global = true, help_heading = "Options of every command")]
    pub(crate) quiet: bool,
    /// Print more: every note on a workload file, every finding with its evidence
    #[arg(long, short, global = true, help_heading = "Options of every command", conflicts_with = "quiet")]
    pub(crate) verbose: bool,
    /// Where runs are stored [default: $ASSAY_RUNS, else the user's data directory]
    #[arg(long, global = true, help_heading = "Options of every command", value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

/// When to use colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

/// Columns where nothing says.
const WIDTH_DEFAULT: usize = 100;

/// Set to `live` or `plain` where another machine's Assay reads our stderr over ssh: whether it shows a live line.
pub(crate) const SERVED_VARIABLE: &str = "ASSAY_SERVED";

/// How to speak and where things are.
#[derive(Debug)]
pub(crate) struct Context {
    /// How stdout looks.
    pub(crate) style: Style,
    /// How stderr looks.
    pub(crate) error_style: Style,
    /// Whether stderr is a terminal that a live line can be drawn on.
    pub(crate) live: bool,
    /// Say what is usually left out: notes on workload files, findings with their evidence.
    pub(crate) verbose: bool,
    /// Results and errors only.
    pub(crate) quiet: bool,
    /// Another machine's Assay started this one and takes the run away.
    pub(crate) served: bool,
    /// The machine.
    pub(crate) host: HostRoot,
    runs: Option<PathBuf>,
    /// Where runs are stored, where `--out` says it: a command that is proposed says it, too.
    out: Option<PathBuf>,
    /// Where Assay keeps what it has to remember.
    pub(crate) data: Option<PathBuf>,
    /// Where baselines and probes are kept: with the runs where ASSAY_RUNS names their directory.
    kept: Option<PathBuf>,
    /// Why stdout could not be written to.
    stdout_failed: OnceLock<String>,
}

impl Context {
    pub(crate) fn new(global: &Global) -> Self {
        let colour = |terminal: bool| match global.color {
            Colour::Always => true,
            Colour::Never => false,
            Colour::Auto => colour_wanted(terminal),
        };
        let width = columns();
        let unicode = !matches!(std::env::var("LC_ALL").as_deref(), Ok("C" | "POSIX"));
        let style = |terminal| Style { colour: colour(terminal), width, unicode };
        let home = std::env::var_os("HOME");
        let xdg = std::env::var_os("XDG_DATA_HOME");
        let assay_runs = std::env::var_os("ASSAY_RUNS");
        let runs = store::runs_root(assay_runs.as_deref(), xdg.as_deref(), home.as_deref());
        let data = store::data_root(xdg.as_deref(), home.as_deref());
        let named = assay_runs.filter(|value| !value.is_empty()).map(PathBuf::from);
        let served = std::env::var(SERVED_VARIABLE).ok();
        let terminal = io::stderr().is_terminal() || served.as_deref() == Some("live");
        Context {
            style: style(io::stdout().is_terminal()),
            error_style: style(io::stderr().is_terminal()),
            live: terminal && !global.quiet,
            quiet: global.quiet,
            served: served.is_some(),
            host: HostRoot::real(),
            verbose: global.verbose,
            runs: global.out.clone().or(runs),
            out: global.out.clone(),
            kept: named.or_else(|| data.clone()),
            data,
            stdout_failed: OnceLock::new(),
        }
    }

    /// The same that says nothing and shows nothing: for what is not the terminal's.
    #[cfg(feature = "web")]
    pub(crate) fn quietly(&self) -> Self {
        Context {
            style: self.style,
            error_style: self.error_style,
            live: false,
            verbose: false,
            quiet: true,
            served: false,
            host: self.host.clone(),
            runs: self.runs.clone(),
            out: self.out.clone(),
            data: self.data.clone(),
            kept: self.kept.clone(),
            stdout_failed: OnceLock::new(),
        }
    }

    /// Which Assay this is.
    pub(crate) fn version() -> AssayVersion {
        let commit = env!("ASSAY_COMMIT");
        AssayVersion {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            commit: (!commit.is_empty()).then(|| commit.to_owned()),
        }
    }

    /// What `--version` prints.
    pub(crate) fn version_line() -> String {
        format!("assay {} ({})", env!("CARGO_PKG_VERSION"), env!("ASSAY_COMMIT"))
    }

    /// `--out DIR` for a command that is proposed, a blank in front; nothing where this one had none. Absolute: it may be given elsewhere.
    pub(crate) fn out_words(&self) -> String {
        let Some(out) = &self.out else { return String::new() };
        let absolute = std::path::absolute(out).unwrap_or_else(|_| out.clone());
        format!(" --out {}", shell_word(&absolute.to_string_lossy()))
    }

    /// A run by its id, as words of a command that is proposed.
    pub(crate) fn run_words(&self, id: &str) -> String {
        format!("{id}{}", self.out_words())
    }

    /// Where runs are stored.
    pub(crate) fn runs_root(&self) -> Result<PathBuf, Failure> {
        let nowhere = || Failure::usage("nowhere to keep runs: set ASSAY_RUNS or HOME, or give --out DIR");
        let root = self.runs.clone().ok_or_else(nowhere)?;
        if root.exists() && !root.is_dir() {
            return Err(Failure::usage(format!(
                "{} is not a directory; runs are kept in the directory that --out or ASSAY_RUNS names",
                root.display()
            )));
        }
        Ok(root)
    }

    /// This machine, for what is carried out here until `stop` is set.
    pub(crate) fn site(&self, stop: Arc<AtomicBool>) -> Site {
        Site {
            kinds: Kinds::default(),
            host: self.host.clone(),
            store: self.runs.clone(),
            store_words: self.out_words(),
            engine_choices: self.data.as_ref().map(|data| data.join("engines")),
            version: Context::version(),
            stop,
        }
    }

    /// Makes the directory for runs, so that what is wrong with it is told before anything is measured.
    pub(crate) fn make_runs_root(&self) -> Result<(), Failure> {
        let root = self.runs_root()?;
        std::fs::create_dir_all(&root)
            .and_then(|()| rustix::fs::access(&root, rustix::fs::Access::WRITE_OK).map_err(Into::into))
            .map_err(|error| Failure::failed(format!("cannot keep runs in {}: {error}", root.display())))
    }

    /// Where saved baselines are kept.
    pub(crate) fn baselines_root(&self) -> Result<PathBuf, Failure> {
        self.kept
            .as_ref()
            .map(|kept| kept.join("baselines"))
            .ok_or_else(|| Failure::usage("nowhere to keep baselines: set ASSAY_RUNS, HOME or XDG_DATA_HOME"))
    }

    /// Where grids are kept.
    pub(crate) fn grids_root(&self) -> Result<PathBuf, Failure> {
        self.kept.as_ref().map(|kept| kept.join("grids")).ok_or_else(|| {
            Failure::usage("nowhere to keep grids: set ASSAY_RUNS, HOME or XDG_DATA_HOME, or --output")
        })
    }

    /// Where probes are kept.
    pub(crate) fn probes_root(&self) -> Result<PathBuf, Failure> {
        self.kept
            .as_ref()
            .map(|kept| kept.join("probes"))
            .ok_or_else(|| Failure::usage("nowhere to keep probes: set ASSAY_RUNS, HOME or XDG_DATA_HOME"))
    }

    /// Writes a result to stdout. A reader that went away is not an error; any other failure ends the program, see
    /// [`Context::printed`].
    pub(crate) fn out(&self, text: &str) {
        let end = if text.ends_with('\n') { "" } else { "\n" };
        let text = visible_lines(text, self.style.colour);
        let written = to_stdout(|stdout| write!(stdout, "{text}{end}"));
        if let Err(failure) = written {
            let _ = self.stdout_failed.set(failure.to_string());
        }
    }

    /// Whether everything that went to stdout could be written.
    ///
    /// # Errors
    /// [`Failure::Failed`] with the reason.
    pub(crate) fn printed(&self) -> Result<(), Failure> {
        self.stdout_failed.get().map_or(Ok(()), |why| Err(Failure::failed(why)))
    }

    /// Writes a result to stderr, where stdout is another's.
    pub(crate) fn report(&self, text: &str) {
        to_stderr(format_args!("{}", visible_lines(text, self.error_style.colour)));
    }

    /// Says on stderr what must be known whatever is to be left out.
    pub(crate) fn warn(&self, text: &str) {
        to_stderr(format_args!("{}\n", visible(text)));
    }

    /// Says something on stderr, unless quiet.
    pub(crate) fn say(&self, text: &str) {
        if !self.quiet {
            to_stderr(format_args!("{}\n", visible(text)));
        }
    }

    /// The same for what has to say something by itself: a launcher of workers.
    pub(crate) fn sayer(&self) -> assay_fleet::kube::Say {
        let quiet = self.quiet;
        assay_fleet::kube::Say::new(move |text| {
            if !quiet {
                to_stderr(format_args!("{}\n", visible(text)));
            }
        })
    }

    /// Says why the command failed, on stderr, in one line.
    pub(crate) fn error(&self, failure: &Failure) {
        let message = failure.to_string();
        let message = visible(&message);
        if self.served {
            to_stderr(format_args!("{}{message}", char::from(FAILURE_MARK)));
        } else if self.error_style.colour {
            to_stderr(format_args!("\x1b[1;31merror:\x1b[0m {message}\n"));
        } else {
            to_stderr(format_args!("error: {message}\n"));
        }
    }
}

/// Writes to stdout. A reader that went away is not an error.
///
/// # Errors
/// [`Failure::Failed`] where stdout cannot take it: a full file system.
pub(crate) fn to_stdout(content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let mut stdout = io::BufWriter::new(Stdout);
    let lost = |error: &dyn fmt::Display| Err(Failure::failed(format!("cannot write to stdout: {error}")));
    match content(&mut stdout).and_then(|()| stdout.flush()) {
        _ if stdout_was_closed() => lost(&"it is closed"),
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => lost(&error),
        _ => Ok(()),
    }
}

/// Writes what clap has to say to stdout.
///
/// # Errors
/// As [`to_stdout`].
pub(crate) fn help_to_stdout(help: &StyledStr) -> Result<(), Failure> {
    let colour = colour_wanted(io::stdout().is_terminal());
    to_stdout(|out| if colour { write!(out, "{}", help.ansi()) } else { write!(out, "{help}") })
}

/// Whether what goes to a terminal, or elsewhere, has colour where no option says.
fn colour_wanted(terminal: bool) -> bool {
    terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// The descriptor of stdout. That of the standard library does not tell where it cannot be written to at all.
struct Stdout;

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::io::write(io::stdout(), bytes)?)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes to stderr. Where that fails there is no one to tell, and nothing depends on it.
pub(crate) fn to_stderr(text: fmt::Arguments<'_>) {
    let mut stderr = io::stderr().lock();
    let _ = stderr.write_all(text.to_string().as_bytes()).and_then(|()| stderr.flush());
}

/// Width of the terminal on stdout or stderr, else COLUMNS, else a default.
fn columns() -> usize {
    let terminal = rustix::termios::tcgetwinsize(std::io::stdout())
        .or_else(|_| rustix::termios::tcgetwinsize(std::io::stderr()))
        .ok()
        .map(|size| usize::from(size.ws_col))
        .filter(|&columns| columns > 0);
    let asked = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    terminal.or(asked).unwrap_or(WIDTH_DEFAULT)
}
