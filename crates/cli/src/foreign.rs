//! Runs in the words of other tools: fio's JSON and logs, vdbench's files.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use assay_fio::{FioLogOptions, LogPrefix, LoggedIo, Program, fio_json_with, fio_logs};
use assay_results::series::{Level, read_level};
use assay_results::{Interval, Run, store};
use assay_vdbench::{Reported, console, vdbench_files_as};
use clap::Args;

use crate::failure::Failure;
use crate::output::Outputs;
use crate::status::{self, Begun};

/// The ids of the options below.
pub(crate) const OPTIONS: [&str; 4] = ["fio_json", "fio_json_plus", "fio_logs", "vdbench"];

/// What to write for readers that know other tools.
#[derive(Debug, Clone, Default, Args)]
#[group(id = "foreign", multiple = true)]
pub(crate) struct ForeignArgs {
    /// Write fio's JSON
    #[arg(long, value_name = "FILE")]
    pub(crate) fio_json: Option<PathBuf>,
    /// Write fio's JSON+, with the counts of all latency buckets
    #[arg(long, value_name = "FILE")]
    pub(crate) fio_json_plus: Option<PathBuf>,
    /// Write fio's bw, iops and lat logs into a directory, named as fio-plot wants them
    #[arg(long, value_name = "DIR")]
    pub(crate) fio_logs: Option<PathBuf>,
    /// Write vdbench's flatfile, summary, totals and histogram into a directory
    #[arg(long, value_name = "DIR")]
    pub(crate) vdbench: Option<PathBuf>,
    /// What the options of the program fio ask for.
    #[arg(skip)]
    pub(crate) program: Option<Box<Program>>,
    /// The words of vdbench's command line, whose console lines are printed.
    #[arg(skip)]
    pub(crate) vdbench_words: Option<Vec<String>>,
    /// What the parameter file says of these and of the files.
    #[arg(skip)]
    pub(crate) vdbench_reported: Reported,
    /// Where its reports have gone while the run went on.
    #[arg(skip)]
    pub(crate) begun: Begun,
    /// The I/Os that its logs have each a line for.
    #[arg(skip)]
    pub(crate) ios: Arc<OnceLock<Vec<LoggedIo>>>,
}

impl ForeignArgs {
    /// The first option that was given.
    pub(crate) fn first(&self) -> Option<&'static str> {
        let given = [
            ("--fio-json", self.fio_json.is_some()),
            ("--fio-json-plus", self.fio_json_plus.is_some()),
            ("--fio-logs", self.fio_logs.is_some()),
            ("--vdbench", self.vdbench.is_some()),
        ];
        given.into_iter().find_map(|(option, is_given)| is_given.then_some(option))
    }

    /// Writes what is asked for; the periods of the run are read from its directory, where there is one.
    pub(crate) fn write(
        &self,
        run: &Run,
        directory: Option<&Path>,
        outputs: &Outputs,
    ) -> Result<(), Failure> {
        if self.is_empty() {
            return Ok(());
        }
        let intervals = directory.map(intervals_of).transpose()?.unwrap_or_default();
        if let Some(path) = &self.fio_json {
            outputs.write("--fio-json", path, &fio_json_with(run, &intervals, false))?;
        }
        if let Some(path) = &self.fio_json_plus {
            outputs.write("--fio-json-plus", path, &fio_json_with(run, &intervals, true))?;
        }
        if let Some(path) = &self.fio_logs {
            let options = FioLogOptions { prefix: LogPrefix::FioPlot, ..FioLogOptions::default() };
            outputs.write_directory("--fio-logs", path, &fio_logs(run, &intervals, &options))?;
        }
        if let Some(path) = &self.vdbench {
            outputs.write_directory(
                "--vdbench",
                path,
                &vdbench_files_as(run, &intervals, self.vdbench_reported),
            )?;
            if let Some(words) = &self.vdbench_words {
                let shown = std::path::absolute(path).unwrap_or_else(|_| path.clone());
                let text =
                    console(run, &intervals, self.vdbench_reported, words, &shown.display().to_string());
                outputs.write("the console", Path::new("-"), &text)?;
            }
        }
        let Some(program) = &self.program else { return Ok(()) };
        let outputs = outputs.of_fio();
        let mut begun = self.begun.get().is_some();
        let ios = self.ios.get().map_or(&[][..], Vec::as_slice);
        let mut documents = program.documents(run, &intervals, ios, begun).into_iter();
        // The report is the first.
        documents.try_for_each(|(option, path, text)| match std::mem::take(&mut begun) {
            true => status::append(&self.begun, &outputs, &path, &text),
            false => match assay_fio::compressed_log(&path.to_string_lossy(), &text) {
                Some(log) => outputs.stream(option, &path, |out| out.write_all(&log)),
                None => outputs.write(option, &path, &text),
            },
        })
    }

    /// Whether everything asked for can be written, as far as that can be told before there is anything to write.
    pub(crate) fn check(&self, outputs: &mut Outputs) -> Result<(), Failure> {
        outputs.check("--fio-json", self.fio_json.as_deref())?;
        outputs.check("--fio-json-plus", self.fio_json_plus.as_deref())?;
        outputs.check_directory("--fio-logs", self.fio_logs.as_deref())?;
        outputs.check_directory("--vdbench", self.vdbench.as_deref())?;
        let Some(program) = &self.program else { return Ok(()) };
        let mut outputs = outputs.of_fio();
        program.paths().iter().try_for_each(|(option, path)| outputs.check(option, Some(path)))
    }

    /// Whether the report of another tool takes the place of Assay's.
    pub(crate) fn reports(&self) -> bool {
        self.vdbench_words.is_some() || self.program.as_ref().is_some_and(|program| program.reports())
    }

    fn is_empty(&self) -> bool {
        let paths = [&self.fio_json, &self.fio_json_plus, &self.fio_logs, &self.vdbench];
        self.program.is_none() && paths.iter().all(|path| path.is_none())
    }
}

/// The reporting periods of a stored run; none where it has no series, as one that was imported.
pub(crate) fn intervals_of(directory: &Path) -> Result<Vec<Interval>, Failure> {
    let path = directory.join(store::SERIES_FILE);
    let file = match store::open_regular(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Failure::failed(format!("{}: {error}", path.display()))),
    };
    let level = read_level(std::io::BufReader::new(file), Level::Period)
        .map_err(|error| Failure::failed(format!("{}: {error}", path.display())))?;
    Ok(level.intervals)
}
