//! Everything about vdbench 5.04.07: its parameter files and run lists, its flat files and reports, each read and written:
//! the language as the tool really reads it, not only as its manual says. One entry a keyword (`Definition::KEYWORDS` of each
//! kind of definition) says what becomes of it.
//!
//! [`parse`] reads text into a [`ParameterFile`]: one typed object for each definition, with templates
//! (`sd=default`), wildcards, ranges, `count=`, includes, variables and host repetition resolved. [`expand`] lists the
//! runs in order, as `vdbench -s` does. Nothing here touches the system, and any input ends: text, definitions,
//! references and runs are bounded ([`Limits`]).
//!
//! What Assay cannot do the way vdbench does it is a diagnostic with its place and the nearest equivalent.

mod access;
mod args;
mod build;
mod checks;
mod command_line;
mod expand;
mod file;
mod file_system;
mod file_workload;
mod general;
mod host;
mod import;
mod keyword;
mod keywords;
mod link;
mod loops;
mod lower;
mod number;
mod objects;
mod options;
mod ranges;
mod reader;
mod recognise;
mod reports;
pub mod resolve;
mod run;
mod sink;
mod storage;
mod word;
mod workload_def;
mod write;

pub use access::{Amount, Bound, OpenFlags, Seek, Sizes, Span};
pub use command_line::{Again, CommandLine, OutputDirectory, parse_command_line};
pub use expand::{ExpandedRun, RunKind, RunRate, curve_rate, expand};
pub use file::ParameterFile;
pub use file_system::FileSystemDef;
pub use file_workload::{FileIo, FileOperation, FileWorkloadDef};
pub use general::{DataErrors, Dedup, General, Validation};
pub use host::HostDef;
pub use import::{ImportError, import};
pub use loops::{Loop, LoopKind, LoopValue, loop_u64};
pub use lower::lower;
pub use number::Number;
pub use options::{Limits, Options};
pub use recognise::recognise;
pub use reports::{Reported, console, vdbench_files, vdbench_files_as};
pub use run::{Arrivals, Format, Rates, RunDef, StorageChoice};
pub use sink::At;
pub use storage::{Lun, StorageDef};
pub use workload_def::WorkloadDef;
pub use write::write;

use assay_formats::diagnostic::Diagnostic;
use assay_formats::loader::Loader;
use sink::Sink;

/// Reads one parameter file. The file is `None` where an error makes it unusable; the diagnostics say why.
///
/// `name` is how messages call the text, and where includes without a directory are looked for.
pub fn parse(
    name: &str,
    text: &str,
    options: &Options,
    loader: &dyn Loader,
) -> (Option<ParameterFile>, Vec<Diagnostic>) {
    parse_files(&[(name, text)], options, loader)
}

/// Reads several parameter files as one, as `-f file1 file2` does: pairs of name and text.
pub fn parse_files(
    files: &[(&str, &str)],
    options: &Options,
    loader: &dyn Loader,
) -> (Option<ParameterFile>, Vec<Diagnostic>) {
    let mut sink = Sink::default();
    let params = reader::read(files, options, loader, &mut sink);
    let objects = objects::group(params, &options.limits, &mut sink);
    let mut file = build::build(objects, options, &mut sink);
    file.simulated_max_rate = options.simulated_max_rate;
    file.hotband_corrected = options.hotband_corrected;
    file.local_names.clone_from(&options.local_names);
    file.limits = options.limits;
    link::link(&mut file, options, &mut sink);
    checks::check(&mut file, options, &mut sink);
    file.files.clone_from(&sink.files);
    let usable = !sink.has_errors();
    (usable.then_some(file), sink.finish())
}

/// Whether a text looks like a vdbench parameter file: for telling formats apart before parsing.
#[must_use]
pub fn looks_like(text: &str) -> bool {
    let defines = |line: &str| {
        let line = line.trim_start().to_ascii_lowercase();
        ["sd=", "wd=", "rd=", "fsd=", "fwd=", "hd="].iter().any(|key| line.starts_with(key))
    };
    text.lines().take(10_000).any(defines)
}
