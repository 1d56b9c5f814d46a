//! A run in formats for other programs: spreadsheets, data frames, monitoring, viewers of histograms.

use std::path::{Path, PathBuf};

use assay_report::{hlog, openmetrics};
use assay_results::{Interval, Run};
use clap::Args;

use crate::failure::Failure;
use crate::output::Outputs;
use crate::{foreign, shown};

/// The ids of the options below.
pub(crate) const OPTIONS: [&str; 5] = ["xlsx", "parquet", "json", "hlog", "openmetrics"];

/// What to write for other programs.
#[derive(Debug, Clone, Default, Args)]
#[group(id = "exports", multiple = true)]
pub(crate) struct ExportArgs {
    /// Write a workbook: summary, a sheet per test with every interval, charts, conditions, findings
    #[arg(long, value_name = "FILE")]
    pub(crate) xlsx: Option<PathBuf>,
    /// Write intervals.parquet and histograms.parquet into a directory, for DuckDB, Polars or Spark
    #[arg(long, value_name = "DIR")]
    pub(crate) parquet: Option<PathBuf>,
    /// Write the run as one JSON document (schema: docs/schemas/run-1.json)
    #[arg(long, value_name = "FILE")]
    pub(crate) json: Option<PathBuf>,
    /// Write HdrHistogram's interval log
    #[arg(long, value_name = "FILE")]
    pub(crate) hlog: Option<PathBuf>,
    /// Write OpenMetrics text
    #[arg(long, value_name = "FILE")]
    pub(crate) openmetrics: Option<PathBuf>,
}

impl ExportArgs {
    /// Whether everything asked for can be written, as far as that can be told beforehand.
    pub(crate) fn check(&self, outputs: &mut Outputs) -> Result<(), Failure> {
        outputs.check("--xlsx", self.xlsx.as_deref())?;
        outputs.check_directory("--parquet", self.parquet.as_deref())?;
        outputs.check("--json", self.json.as_deref())?;
        outputs.check("--hlog", self.hlog.as_deref())?;
        outputs.check("--openmetrics", self.openmetrics.as_deref())
    }

    /// Writes what is asked for; the periods of the run are read from its directory, where there is one.
    pub(crate) fn write(
        &self,
        run: &Run,
        directory: Option<&Path>,
        outputs: &Outputs,
    ) -> Result<(), Failure> {
        let intervals = || directory.map(foreign::intervals_of).transpose().map(Option::unwrap_or_default);
        if let Some(path) = &self.xlsx {
            write_workbook(run, path, outputs)?;
        }
        if let Some(path) = &self.parquet {
            write_parquet(run, &intervals()?, path, outputs)?;
        }
        if let Some(path) = &self.json {
            outputs.write("--json", path, &(shown::json(run)? + "\n"))?;
        }
        if let Some(path) = &self.hlog {
            outputs.write("--hlog", path, &hlog::hlog(run, &intervals()?))?;
        }
        if let Some(path) = &self.openmetrics {
            outputs.write("--openmetrics", path, &openmetrics::openmetrics(run))?;
        }
        Ok(())
    }
}

#[cfg(feature = "tables")]
fn write_workbook(run: &Run, path: &Path, outputs: &Outputs) -> Result<(), Failure> {
    let file = assay_tables::workbook(run).map_err(Failure::failed)?;
    outputs.stream("--xlsx", path, |out| out.write_all(&file))
}

#[cfg(feature = "tables")]
fn write_parquet(run: &Run, intervals: &[Interval], path: &Path, outputs: &Outputs) -> Result<(), Failure> {
    let files = assay_tables::parquet_files(run, intervals).map_err(Failure::failed)?;
    outputs.write_directory("--parquet", path, &files)
}

#[cfg(not(feature = "tables"))]
fn write_workbook(_: &Run, _: &Path, _: &Outputs) -> Result<(), Failure> {
    Err(absent("--xlsx"))
}

#[cfg(not(feature = "tables"))]
fn write_parquet(_: &Run, _: &[Interval], _: &Path, _: &Outputs) -> Result<(), Failure> {
    Err(absent("--parquet"))
}

/// What is said of an option that this build does not have.
#[cfg(not(feature = "tables"))]
fn absent(option: &str) -> Failure {
    Failure::usage(format!(
        "this build has no {option}; build one with cargo build --release --features tables"
    ))
}
