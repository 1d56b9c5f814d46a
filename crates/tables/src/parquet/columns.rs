//! Columns of few types, written in groups of rows without Arrow.

use std::fmt::Write as _;
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

/// A column of some rows.
pub(super) enum Column<'t> {
    Text(Vec<&'t str>),
    Flag(Vec<bool>),
    Count(Vec<u64>),
    /// `None`: too few operations to tell, or not known.
    KnownCount(Vec<Option<u64>>),
    Number(Vec<f64>),
    KnownNumber(Vec<Option<f64>>),
    /// Lists of the smallest latency of a bucket in nanoseconds, and its count.
    Histogram(Vec<Vec<(u64, u64)>>),
}

impl Column<'_> {
    fn schema(&self, name: &str) -> String {
        let unsigned = "(INTEGER(64,false))";
        match self {
            Column::Text(_) => format!("required binary {name} (STRING);"),
            Column::Flag(_) => format!("required boolean {name};"),
            Column::Count(_) => format!("required int64 {name} {unsigned};"),
            Column::KnownCount(_) => format!("optional int64 {name} {unsigned};"),
            Column::Number(_) => format!("required double {name};"),
            Column::KnownNumber(_) => format!("optional double {name};"),
            Column::Histogram(_) => format!(
                "required group {name} (LIST) {{ repeated group list {{ required group element {{ \
                 required int64 bucket_ns {unsigned}; required int64 count {unsigned}; }} }} }}"
            ),
        }
    }
}

/// A file that grows by groups of rows.
pub(super) struct Table {
    writer: SerializedFileWriter<Vec<u8>>,
}

impl Table {
    /// Without rows; `columns` say names and types.
    pub(super) fn new(columns: &[(&'static str, Column<'_>)]) -> Result<Self> {
        let mut schema = String::from("message assay { ");
        for (name, column) in columns {
            let _ = write!(schema, "{} ", column.schema(name));
        }
        schema.push('}');
        let schema = Arc::new(parse_message_type(&schema)?);
        let properties = WriterProperties::builder().set_compression(Compression::UNCOMPRESSED).build();
        Ok(Table { writer: SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))? })
    }

    /// Adds a group of rows.
    pub(super) fn write(&mut self, columns: Vec<(&'static str, Column<'_>)>) -> Result<()> {
        let mut group = self.writer.next_row_group()?;
        for (_, column) in columns {
            write_column(&mut group, column)?;
        }
        group.close().map(drop)
    }

    /// The file.
    pub(super) fn finish(self) -> Result<Vec<u8>> {
        self.writer.into_inner()
    }
}

type Group<'g> = SerializedRowGroupWriter<'g, Vec<u8>>;

fn write_column(group: &mut Group<'_>, column: Column<'_>) -> Result<()> {
    match column {
        Column::Text(values) => {
            let values: Vec<ByteArray> = values.into_iter().map(ByteArray::from).collect();
            let mut column = group.next_column()?.ok_or_else(missing)?;
            column.typed::<ByteArrayType>().write_batch(&values, None, None)?;
            column.close()
        }
        Column::Flag(values) => {
            let mut column = group.next_column()?.ok_or_else(missing)?;
            column.typed::<BoolType>().write_batch(&values, None, None)?;
            column.close()
        }
        Column::Count(values) => {
            let values: Vec<i64> = values.into_iter().map(bits).collect();
            integers(group, &values, None)
        }
        Column::KnownCount(values) => {
            let present: Vec<i64> = values.iter().flatten().copied().map(bits).collect();
            let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
            integers(group, &present, Some((&levels, None)))
        }
        Column::Number(values) => {
            let mut column = group.next_column()?.ok_or_else(missing)?;
            column.typed::<DoubleType>().write_batch(&values, None, None)?;
            column.close()
        }
        Column::KnownNumber(values) => {
            let present: Vec<f64> = values.iter().flatten().copied().collect();
            let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
            let mut column = group.next_column()?.ok_or_else(missing)?;
            column.typed::<DoubleType>().write_batch(&present, Some(&levels), None)?;
            column.close()
        }
        Column::Histogram(lists) => {
            let (defined, repeated) = levels(&lists);
            let of = |value: fn(&(u64, u64)) -> u64| -> Vec<i64> {
                lists.iter().flatten().map(|pair| bits(value(pair))).collect()
            };
            integers(group, &of(|pair| pair.0), Some((&defined, Some(&repeated))))?;
            integers(group, &of(|pair| pair.1), Some((&defined, Some(&repeated))))
        }
    }
}

/// Definition levels, and repetition levels where values are in lists.
type Levels<'l> = Option<(&'l [i16], Option<&'l [i16]>)>;

fn integers(group: &mut Group<'_>, values: &[i64], levels: Levels<'_>) -> Result<()> {
    let mut column = group.next_column()?.ok_or_else(missing)?;
    let (defined, repeated) = levels.map_or((None, None), |(defined, repeated)| (Some(defined), repeated));
    column.typed::<Int64Type>().write_batch(values, defined, repeated)?;
    column.close()
}

/// Definition and repetition levels: an empty list is one place without a value; 0 begins a row's list, 1 goes on.
fn levels(lists: &[Vec<(u64, u64)>]) -> (Vec<i16>, Vec<i16>) {
    let (mut defined, mut repeated) = (Vec::new(), Vec::new());
    for list in lists {
        defined.extend(std::iter::repeat_n(1, list.len()));
        repeated.extend((0..list.len()).map(|place| i16::from(place > 0)));
        if list.is_empty() {
            defined.push(0);
            repeated.push(0);
        }
    }
    (defined, repeated)
}

/// Parquet has unsigned numbers as the bits of signed ones.
fn bits(value: u64) -> i64 {
    value.cast_signed()
}

fn missing() -> parquet::errors::ParquetError {
    parquet::errors::ParquetError::General("fewer columns than the schema says".to_owned())
}
