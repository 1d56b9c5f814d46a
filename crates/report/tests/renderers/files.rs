//! Files for other programs, and for people who write.

use assay_report::csv::csv;
use assay_report::md::markdown;

use crate::support::{assay_run, hdd, mixed_run, op, stb_run, typical};

#[test]
fn a_row_per_job_and_operation() {
    let text = csv(&mixed_run());
    let columns: Vec<usize> = split(&text).iter().map(Vec::len).collect();
    assert!(columns.iter().all(|n| *n == columns[0]), "{columns:?}");
    insta::assert_snapshot!(text);
}

#[test]
fn what_is_written_can_be_read_back() {
    let mut run = mixed_run();
    run.phases[1].jobs[0].name = "a \"b\",\nc".to_owned();
    let rows = split(&csv(&run));
    let job = rows[0].iter().position(|name| name == "job").expect("a column of jobs");
    let iops = rows[0].iter().position(|name| name == "iops").expect("a column of IOPS");
    assert_eq!(rows[3][job], "a \"b\",\\nc", "a record is a line");
    assert_eq!(rows[3][iops].parse::<f64>().expect("a number"), 42_000.0);
}

/// A reader of RFC 4180 by hand.
pub(crate) fn split(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => cell.extend(chars.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut cell)),
            '\n' if !quoted => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            c => cell.push(c),
        }
    }
    rows
}

#[test]
fn markdown_of_each_kind_of_run() {
    insta::assert_snapshot!("markdown_phases", markdown(&mixed_run(), &[]));
    insta::assert_snapshot!("markdown_stb", markdown(&stb_run(), &[hdd()]));
    insta::assert_snapshot!("markdown_assay", markdown(&assay_run(), &typical()));
}

#[test]
fn operations_on_files_and_directories_have_their_rows() {
    let mut run = mixed_run();
    let job = &mut run.phases[1].jobs[0];
    job.ops.insert("create".to_owned(), op(700.0, 0, 90_000, 30.0));
    let rows = split(&csv(&run));
    let column = rows[0].iter().position(|name| name == "operation").unwrap();
    let job = rows[0].iter().position(|name| name == "job").unwrap();
    let operations = rows.iter().filter(|row| row[job] == "oltp").map(|row| row[column].as_str());
    assert_eq!(operations.collect::<Vec<_>>(), ["read", "write", "create", "total"]);
    assert!(markdown(&run, &[]).contains("| create |"), "{}", markdown(&run, &[]));
}
