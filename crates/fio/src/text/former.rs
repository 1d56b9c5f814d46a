//! Files that fio wrote, or Assay in its place: what a script may have written again.
//!
//! A file is replaced only if all of it is what fio writes: a table of numbers or notes around a pasted report are the user's work.

use std::io::{self, BufRead, Read as _};

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::bins::FIO_BINS;

/// What the option of the report is called where its file is written.
pub const OUTPUT: &str = "--output";
/// What those of logs are called there.
pub const LOG: &str = "the log";

/// A larger report is none: it is read whole.
const REPORT_BYTES_MAX: u64 = 64 << 20;
/// A larger log is none: all its lines are looked at.
const LOG_BYTES_MAX: u64 = 1 << 30;
/// The longest line of a log: all buckets of a histogram, and room.
const LINE_BYTES_MAX: u64 = 1 << 16;

/// Whether a file is of the kind that `option` writes: of [`OUTPUT`] a report of fio, of any other a log; or empty. A script had
/// fio write it before, and has Assay write it now.
pub fn is_former(option: &str, file: &mut dyn BufRead) -> bool {
    let known = match option {
        OUTPUT => is_report(file),
        _ => is_log(file),
    };
    known.unwrap_or(false)
}

/// Whether each line is a line of one log.
fn is_log(file: &mut dyn BufRead) -> io::Result<bool> {
    let (mut line, mut columns) = (String::new(), 0);
    // What a line can be, as long as all lines are that.
    let mut histogram = true;
    let mut direction_at = vec![2, 3];
    let mut bytes = 0;
    loop {
        line.clear();
        match file.take(LINE_BYTES_MAX).read_line(&mut line)? {
            0 => return Ok(true),
            read => bytes += read as u64,
        }
        let words: Vec<&str> = line.trim_end_matches('\n').split(", ").collect();
        if columns == 0 {
            columns = words.len();
        }
        histogram &= is_of_histogram(&words);
        direction_at.retain(|at| is_of_log(&words, *at));
        if bytes > LOG_BYTES_MAX || words.len() != columns || !histogram && direction_at.is_empty() {
            return Ok(false);
        }
    }
}

/// Time, one value or mean and largest, direction, block size; then offset, priority and time of issue where they are asked for.
fn is_of_log(words: &[&str], direction_at: usize) -> bool {
    let behind = words.len().saturating_sub(direction_at + 2);
    let hexadecimal = |word: &str| {
        word.strip_prefix("0x")
            .is_some_and(|hex| !hex.is_empty() && hex.bytes().all(|b| b.is_ascii_hexdigit()))
    };
    let is_priority = |at: usize, word: &str| at >= direction_at + 2 && hexadecimal(word);
    words.len() > direction_at + 1
        && behind <= 3
        && is_direction(words[direction_at])
        && words.iter().enumerate().all(|(at, word)| is_number(word) || is_priority(at, word))
        // Blocks are whole sectors; means of a period have none.
        && words[direction_at + 1].parse::<u64>().is_ok_and(|bytes| bytes % 512 == 0)
}

/// Time, direction, block size, and the counts of all buckets.
fn is_of_histogram(words: &[&str]) -> bool {
    let buckets = words.len().saturating_sub(3);
    let coarseness = (0..=6).any(|by| FIO_BINS >> by == buckets);
    coarseness && is_direction(words[1]) && words.iter().all(|word| is_number(word))
}

fn is_direction(word: &str) -> bool {
    matches!(word, "0" | "1" | "2")
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether a file consists of reports: documents of JSON, terse lines, what fio prints for people.
fn is_report(file: &mut dyn BufRead) -> io::Result<bool> {
    let mut text = String::new();
    file.take(REPORT_BYTES_MAX + 1).read_to_string(&mut text)?;
    if text.len() as u64 > REPORT_BYTES_MAX {
        return Ok(false);
    }
    let (mut rest, mut reports, mut before) = (text.as_str(), 0, "");
    while !rest.is_empty() {
        if rest.starts_with('{') {
            let Some(length) = document(rest) else { return Ok(false) };
            rest = &rest[length..];
            reports += 1;
            continue;
        }
        let (line, behind) = rest.split_once('\n').unwrap_or((rest, ""));
        if is_terse(line) || is_heading(line) {
            reports += 1;
        } else if !(is_between(line) || line.starts_with(';') && before.starts_with("2;")) {
            return Ok(false);
        }
        (rest, before) = (behind, line);
    }
    Ok(reports > 0 || text.is_empty())
}

/// What a document has at its top. Anything else in it was added by hand.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(dead_code, reason = "only whether it is there is asked")]
struct Document {
    #[serde(rename = "fio version")]
    version: String,
    timestamp: IgnoredAny,
    timestamp_ms: Option<IgnoredAny>,
    time: IgnoredAny,
    #[serde(rename = "global options")]
    global: Option<IgnoredAny>,
    jobs: Option<Vec<IgnoredAny>>,
    client_stats: Option<Vec<IgnoredAny>>,
    disk_util: Option<Vec<IgnoredAny>>,
    assay: Option<IgnoredAny>,
}

/// The length of the document of fio that a text begins with.
fn document(text: &str) -> Option<usize> {
    let mut documents = serde_json::Deserializer::from_str(text).into_iter::<Document>();
    let first = documents.next()?.ok()?;
    let is_it = first.version.starts_with("fio-") && (first.jobs.is_some() || first.client_stats.is_some());
    is_it.then(|| documents.byte_offset())
}

/// Fields of a terse line: a head, those of each direction, the processor, depths and latencies; then nine of each disk, two of
/// errors, and a description.
fn is_terse(line: &str) -> bool {
    let (head, of_direction) = match line.as_bytes() {
        [b'2', b';', ..] => (4, 41),
        [b'3' | b'4', b';', ..] => (5, 41),
        [b'5', b';', ..] => (5, 47),
        _ => return false,
    };
    const BEHIND: usize = 34;
    let fields: Vec<&str> = line.split(';').collect();
    let is_count =
        |field: &str| !field.is_empty() && field.bytes().all(|b| b.is_ascii_digit() || b".%=-".contains(&b));
    let whole = |directions: usize| {
        let counted = head + directions * of_direction + BEHIND;
        let rest = fields.len().checked_sub(counted);
        rest.is_some_and(|rest| matches!(rest % 9, 0..=3))
            && fields[head - 2..counted].iter().all(|field| is_count(field))
    };
    let of_fio = head == 4 || fields.get(1).is_some_and(|version| version.starts_with("fio-"));
    of_fio && (1..=4).any(whole)
}

/// A line that only a report for people has.
fn is_heading(line: &str) -> bool {
    let job = line.contains(": (g=") && line.contains("ioengine=");
    let results = line.contains(": (groupid=") && line.contains("): err=");
    job || results || line.starts_with("Run status group ")
}

/// A line that stands between those: figures are indented and have `name: value=..` or columns.
fn is_between(line: &str) -> bool {
    let figures = |line: &str| {
        let values = line.split_once(':').map(|(_, values)| values.trim_start());
        line.starts_with('|')
            || values
                .is_some_and(|values| values.is_empty() || values.starts_with('[') || values.contains('='))
    };
    match line.strip_prefix(' ') {
        Some(indented) => figures(indented.trim_start()),
        None => {
            let begins = ["fio-", "fio: ", "note: ", "Starting ", "assay: ", "Disk stats (read/write):"];
            matches!(line, "" | "...")
                || begins.iter().any(|begin| line.starts_with(begin))
                || line.contains(": Laying out IO file")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str =
        "{\n  \"fio version\" : \"fio-3.33\",\n  \"timestamp\" : 1,\n  \"time\" : \"Mon\",\n  \"jobs\" : []";

    fn terse(version: u8, fields: usize) -> String {
        let of = if version == 2 { "" } else { "fio-3.33;" };
        let head = format!("{version};{of}a;0;0");
        head.clone() + &";1.0%".repeat(fields - head.split(';').count())
    }

    fn is(option: &str, text: &str) -> bool {
        is_former(option, &mut text.as_bytes())
    }

    #[test]
    fn a_report_is_one_from_its_first_to_its_last_line() {
        let heading = "a: (g=0): rw=read, bs=(R) 4096B-4096B, ioengine=psync, iodepth=1\n";
        let normal = "\na: (groupid=0, jobs=1): err= 0: pid=7: Mon\n  read: IOPS=10\n     | 1.00th=[ 9]\n";
        let lines = [(2, 161), (3, 121), (3, 130), (3, 132), (4, 171), (4, 166), (5, 189)];
        let mut reports = vec![
            String::new(),
            format!("{HEAD}\n}}\n"),
            format!("fio: note\n{HEAD}\n}}\n{HEAD},\n\"disk_util\" : [] }}\n"),
            format!("{heading}...\nfio-3.33\nStarting 2 processes\n{}\n{HEAD}}}\n{normal}", terse(3, 130)),
            terse(2, 161) + "\n;what it is\n",
        ];
        reports.extend(lines.map(|(version, fields)| terse(version, fields) + "\n"));
        for report in &reports {
            assert!(is(OUTPUT, report), "{report}");
            assert!(report.is_empty() || !is(LOG, report), "{report}");
        }
        for report in &reports[1..] {
            assert!(!is(OUTPUT, &format!("{report}my notes\n")), "{report}");
            assert!(!is(OUTPUT, &format!("my notes\n{report}")), "{report}");
        }
        for other in [
            "[global]\nrw=write\n",
            "{\"a\": 1}",
            "{ \"fio version\" : \"fio-3.33\", \"mine\" : 1 }",
            &format!("{HEAD}, \"mine\": 1 }}"),
            &format!("{HEAD}\n"),
            "2;b",
            "3;fio-3.33;mine;0;0\n",
            "3;fio-3.33;a;0;0;92;46000;11500;2;0;0;0.000000\n",
            "2024, 1, 2, 0\n",
            "dear diary",
            "\n\n",
            "\u{0}\u{1}",
        ] {
            assert!(!is(OUTPUT, other), "{other}");
        }
        assert!(!is_former(OUTPUT, &mut &b"\xff\xfe"[..]));
    }

    #[test]
    fn a_log_is_one_from_its_first_to_its_last_line() {
        let histogram = format!("1000, 0, 4096{}\n", ", 0".repeat(FIO_BINS >> 2));
        for log in [
            "",
            "1000, 2048, 0, 4096\n2000, 1, 1, 4096\n",
            "1000, 2048, 0, 4096, 0\n2000, 9, 2, 0, 0x0000\n",
            "1000, 2048, 0, 0, 512, 0x0000, 12345\n",
            "1000, 2048, 4000, 1, 0, 0\n2000, 1, 1, 0, 0, 0\n",
            &histogram,
        ] {
            assert!(is(LOG, log), "{log}");
            assert!(log.is_empty() || !is(OUTPUT, log), "{log}");
            assert!(!is(LOG, &format!("{log}precious\n")) && !is(LOG, &format!("precious\n{log}")));
        }
        for other in [
            "2024, 1, 2, 3\nprecious\n",
            "2024, 1, 2, 3\n",
            "12, 7, 3, 4, 5, 6, 7, 8\n",
            "1, 2\n",
            "1, x, 0, 4096\n",
            "1000, 2048, 0, 4096\n2000, 1, 1, 4096, 0\n",
            "1000, 2048, 0, 4096\n\n",
            "1000, 1, 4000, 0, 0\n2000, 4000, 1, 0, 7\n",
        ] {
            assert!(!is(LOG, other), "{other}");
        }
    }
}
