//! The languages of workload files, of results and of traces, joined: what one is recognised by, read with and written
//! with. Each is known in full by its own crate; only this module knows all of them.

mod detect;
mod lines;

use assay_formats::trace::{self, Begin};
use assay_formats::{Diagnostic, native};
use assay_results::Run;
use assay_workload::Workload;

pub(crate) use detect::{Format, detect};
pub(crate) use lines::lines_of;

/// The languages of traces; the first that takes the first line counts, and blkparse takes any.
pub(crate) const TRACES: &[Begin] = &[assay_fio::iolog, trace::csv, trace::blkparse];

/// A workload in a language, and what the language cannot say.
pub(crate) fn write(workload: &Workload, to: Format) -> (String, Vec<Diagnostic>) {
    match to {
        Format::Fio => assay_fio::write(workload),
        Format::Vdbench => assay_vdbench::write(workload),
        Format::Native => (native::write(workload), Vec::new()),
    }
}

/// What a comment line begins with.
pub(crate) fn comment_mark(format: Format) -> char {
    match format {
        Format::Vdbench => '*',
        Format::Fio => ';',
        Format::Native => '#',
    }
}

/// The line by which editors find the schema of a plan, which `assay new --schema` writes beside it; empty for other languages.
pub(crate) fn schema_line(format: Format) -> String {
    match format {
        Format::Native => format!("#:schema ./{}\n", native::SCHEMA_FILE),
        Format::Fio | Format::Vdbench => String::new(),
    }
}

/// Why a text is not a result that can be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ImportError {
    #[error("this is neither fio's JSON nor a flat file of vdbench")]
    Unknown,
    #[error(transparent)]
    Fio(#[from] assay_fio::ImportError),
    #[error(transparent)]
    Vdbench(#[from] assay_vdbench::ImportError),
}

/// A result of another tool as a run; `None`: the text is of none that is known.
pub(crate) fn import_known(text: &str) -> Option<Result<Run, ImportError>> {
    let of_fio = || Some(assay_fio::import(text)?.map_err(ImportError::from));
    let of_vdbench = || Some(assay_vdbench::import(text)?.map_err(ImportError::from));
    of_fio().or_else(of_vdbench)
}

/// As [`import_known`], where the text is to be a result.
pub(crate) fn import(text: &str) -> Result<Run, ImportError> {
    import_known(text).unwrap_or(Err(ImportError::Unknown))
}
