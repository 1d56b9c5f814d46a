//! Files that fio wrote, or Assay in its place: what a script may have written again.

/// Lines that are looked at.
const LINES_MAX: usize = 400;

/// Whether a file that begins with `head` is a report or a log of fio, or empty: one that a script had fio write before, and has
/// Assay write now.
pub fn is_report(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    text.is_empty()
        || text.contains("\"fio version\" : \"fio-")
        || text.lines().take(LINES_MAX).any(is_of_fio)
}

fn is_of_fio(line: &str) -> bool {
    let terse = ["3;fio-", "4;fio-", "5;fio-"].iter().any(|start| line.starts_with(start));
    let normal = line.contains(": (groupid=") && line.contains("): err=");
    let head = line.contains(": (g=") && line.contains("ioengine=");
    terse || normal || head || is_old_terse(line) || is_of_log(line)
}

/// Version 2 of the terse report has no name of the program, but its number of fields.
fn is_old_terse(line: &str) -> bool {
    line.starts_with("2;") && line.matches(';').count() > 100
}

/// Time, value, direction, block size: all numbers.
fn is_of_log(line: &str) -> bool {
    let mut words = line.split(", ");
    let mut number = || {
        words.next().is_some_and(|word| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let first_three = number() && number() && number();
    first_three && number()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_fio_writes_is_a_report() {
        for head in [
            "",
            "{\n  \"fio version\" : \"fio-3.33\",\n",
            "fio: note\n{\n  \"fio version\" : \"fio-3.33\"",
            "3;fio-3.33;a;0;0;92;46000;11500;2;0;0;0.000000",
            "a: (g=0): rw=read, bs=(R) 4096B-4096B, ioengine=psync, iodepth=1\n",
            "\na: (groupid=0, jobs=1): err= 0: pid=7: Mon\n",
            "1000, 2048, 0, 4096, 0\n",
        ] {
            assert!(is_report(head.as_bytes()), "{head}");
        }
        for head in [
            "[global]\nrw=write\n",
            "{\"a\": 1}",
            "2;b",
            "1, 2\n",
            "1, x, 0, 4096\n",
            "dear diary",
            "\u{0}\u{1}",
        ] {
            assert!(!is_report(head.as_bytes()), "{head}");
        }
    }
}
