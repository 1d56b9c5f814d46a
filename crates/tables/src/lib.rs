//! A run as a workbook (`xlsx`) and as Parquet: binary formats with heavy libraries of their own, in a crate of their own so that the
//! lean build is without them. Pure functions of a run and its reporting periods.

mod parquet;
mod workbook;

pub use crate::parquet::{ParquetError, parquet_files};
pub use crate::workbook::{WorkbookError, workbook};
