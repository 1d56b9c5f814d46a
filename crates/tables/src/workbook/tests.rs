use std::io::Cursor;

use assay_results::run::LatencySummary;
use assay_results::samples;
use calamine::{Data, Reader, Xlsx};

use super::*;

fn open(run: &Run) -> Xlsx<Cursor<Vec<u8>>> {
    Xlsx::new(Cursor::new(workbook(run).expect("a workbook"))).expect("a readable one")
}

#[test]
fn every_number_is_that_of_the_run() {
    assert_same(&samples::stb_run());
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 24, ..Default::default() })]

    #[test]
    fn every_number_of_any_run(phases in proptest::collection::vec(samples::odd::phase(), 1..4)) {
        assert_same(&samples::run("odd", "", phases));
    }
}

fn assert_same(run: &Run) {
    let mut book = open(run);
    let sheet = book.worksheet_range("Figures").expect("all figures");
    let rows: Vec<&[Data]> = sheet.rows().collect();
    let head = rows.iter().position(|row| row[0] == Data::String("phase".to_owned())).expect("a head");
    let column =
        |name: &str| rows[head].iter().position(|cell| *cell == Data::String(name.to_owned())).expect("it");
    let number = |cell: &Data| match cell {
        Data::Float(value) => Some(*value),
        Data::Int(value) => Some(*value as f64),
        _ => None,
    };
    let wanted = records(run);
    for (row, record) in rows[head + 1..].iter().zip(&wanted) {
        let at = |name: &str| number(&row[column(name)]);
        assert_eq!(at("IOPS"), record.op.known_iops());
        assert_eq!(at("bytes"), Some(record.op.bytes as f64));
        assert_eq!(at("completion latency, n").unwrap_or(0.0), record.op.completion_ns.n as f64);
        // What was measured of no operation is no number.
        let known = |latency: LatencySummary, ns: Option<u64>| ns.filter(|_| latency.n > 0).map(|ns| ns as f64);
        let completion = record.op.completion_ns;
        assert_eq!(at("completion latency, p99, ns"), known(completion, completion.p99));
        let response = record.op.response_ns.and_then(|latency| known(latency, latency.p50));
        assert_eq!(at("response time, p50, ns"), response);
    }
    assert_eq!(rows.len(), head + 1 + wanted.len());
}

#[test]
fn a_sheet_a_measured_job_with_all_its_periods() {
    let run = samples::stb_run();
    let mut book = open(&run);
    let tests = tests_of(&run);
    let names = book.sheet_names();
    assert_eq!(names.len(), tests.len().min(SHEETS_MAX) + 4);
    for (name, test) in names[2..].iter().zip(&tests) {
        let sheet = book.worksheet_range(name).expect("a sheet");
        let periods = sheet.rows().skip_while(|row| row[0] != Data::String("repeat".to_owned())).skip(1);
        let found: Vec<f64> = periods
            .filter_map(|row| match row.get(3) {
                Some(Data::Float(iops)) => Some(*iops),
                _ => None,
            })
            .collect();
        let wanted = test.iter().flat_map(|(_, job)| &job.series).map(|point| point.iops);
        assert_eq!(found, wanted.collect::<Vec<_>>());
    }
}

#[test]
fn the_summary_has_a_row_a_figure() {
    let run = samples::assay_run();
    let mut book = open(&run);
    let sheet = book.worksheet_range("Summary").expect("a summary");
    let rows: Vec<&[Data]> = sheet.rows().collect();
    let head = rows.iter().position(|row| row[0] == Data::String("figure".to_owned())).expect("a head");
    assert!(!run.rows.is_empty());
    for (cells, row) in rows[head + 1..].iter().zip(&run.rows) {
        assert_eq!(cells[0], Data::String(row.name.clone()));
        assert_eq!(cells[2], Data::Float(row.figure.value));
        let bound = row.figure.interval.map_or(Data::Empty, |interval| Data::Float(interval.0));
        assert_eq!(cells[4], bound);
    }
}

#[test]
fn names_are_texts_and_sheets_have_names_of_their_own() {
    let mut run = samples::stb_run();
    run.name = "=1+1\u{1b}[2J".to_owned();
    for phase in &mut run.phases {
        phase.name = "a/b:c*?[d]'".repeat(9);
    }
    let mut book = open(&run);
    let sheet = book.worksheet_range("Summary").expect("a summary");
    assert_eq!(sheet.get((0, 0)), Some(&Data::String("=1+1[2J".to_owned())));
    let mut used = BTreeSet::new();
    assert_eq!(sheet_name("Read", &mut used), "Read");
    assert_eq!(sheet_name("read", &mut used), "read~2");
    assert_eq!(sheet_name("", &mut used), "test");
}
