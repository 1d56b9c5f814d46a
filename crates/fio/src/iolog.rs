//! fio's text log of I/O, versions 2 and 3.
//!
//! After the head `fio version N iolog` a line is `FILE ACTION [OFFSET LENGTH]`; version 3 puts microseconds since the start
//! before it (fio's documents name no unit; it writes microseconds, and a replay waits by them). Actions on files (`add`,
//! `open`, `close`) carry no I/O. `wait` of version 2 carries no time that can be relied on: fio's documents say microseconds
//! since the `wait` before, and a replay takes it as milliseconds since the start.

use assay_formats::trace::{
    Dialect, LineResult, Problem, Targets, TraceEvent, TraceOp, clip, length, number,
};
use assay_workload::pattern::OpKind;

/// The reader of a trace that begins as a log of fio does.
pub fn iolog(text: &str) -> Option<(Box<dyn Dialect>, bool)> {
    Some((Box::new(Iolog::of_head(text)?), true))
}

/// The parser's state.
#[derive(Debug)]
struct Iolog {
    version: u8,
}

impl Iolog {
    /// Of the first line of a log, if it is one.
    fn of_head(text: &str) -> Option<Iolog> {
        let mut words = text.split_whitespace();
        if words.next()? != "fio" || words.next()? != "version" {
            return None;
        }
        let version = words.next()?.parse().ok()?;
        (words.next()? == "iolog" && matches!(version, 2 | 3)).then_some(Iolog { version })
    }

    /// The time of a line, and what stands behind it.
    fn time<'t>(&self, text: &'t str, index: u64) -> Result<(u64, &'t str), Problem> {
        if self.version == 2 {
            return Ok((index, text.trim()));
        }
        let text = text.trim_start();
        let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        Ok((number(word, "time")?.saturating_mul(1000), rest.trim()))
    }
}

impl Dialect for Iolog {
    fn describe(&self) -> &'static str {
        if self.version == 3 { "fio iolog version 3" } else { "fio iolog version 2, without times" }
    }

    fn is_timed(&self) -> bool {
        self.version == 3
    }

    fn line(&mut self, text: &str, index: u64, targets: &mut Targets) -> LineResult {
        let (at_ns, rest) = self.time(text, index)?;
        let (file, action, numbers) = split(rest).ok_or_else(|| {
            let help = "a line is FILE ACTION [OFFSET LENGTH], version 3 with microseconds before it";
            Problem::new(rest, "no action in this line", help)
        })?;
        let kind = match action {
            "add" | "open" | "close" | "unlink" | "wait" => return Ok(None),
            "read" => OpKind::Read,
            "write" => OpKind::Write,
            "trim" => OpKind::Trim,
            "sync" => OpKind::Fsync,
            "datasync" | "sync_file_range" => OpKind::Fdatasync,
            other => {
                let message = format!("an action '{}' is not known", clip(other));
                let help = "known are add, open, close, wait, read, write, trim, sync and datasync";
                return Err(Problem::new(other, message, help));
            }
        };
        let number_at =
            |index: usize| numbers.get(index).copied().unwrap_or(if kind.is_flush() { "0" } else { "" });
        Ok(Some(TraceEvent::Issued(TraceOp {
            at_ns,
            target: targets.index(file)?,
            kind,
            offset_bytes: number(number_at(0), "offset")?,
            len_bytes: length(number_at(1))?,
            latency_ns: None,
        })))
    }
}

/// File, action and numbers. File names may hold blanks: the action is the last word before the numbers.
fn split(text: &str) -> Option<(&str, &str, Vec<&str>)> {
    let mut rest = text;
    let mut numbers = Vec::with_capacity(2);
    while numbers.len() < 2
        && let Some((before, word)) = rest.rsplit_once(char::is_whitespace)
        && word.bytes().all(|byte| byte.is_ascii_digit())
    {
        numbers.insert(0, word);
        rest = before.trim_end();
    }
    let (file, action) = rest.rsplit_once(char::is_whitespace)?;
    Some((file.trim_end(), action, numbers))
}

#[cfg(test)]
mod tests {
    use assay_formats::Diagnostic;
    use assay_formats::trace::Trace;
    use proptest::prelude::*;

    use super::*;

    fn parse(name: &str, text: &str) -> (Option<Trace>, Vec<Diagnostic>) {
        assay_formats::trace::parse(name, text, &[iolog])
    }

    fn issued(trace: &Trace) -> Vec<TraceOp> {
        let op = |event: &TraceEvent| match event {
            TraceEvent::Issued(op) => Some(*op),
            TraceEvent::Completed { .. } => None,
        };
        trace.events.iter().filter_map(op).collect()
    }

    fn op(at_ns: u64, target: u16, kind: OpKind, offset_bytes: u64, len_bytes: u32) -> TraceOp {
        TraceOp { at_ns, target, kind, offset_bytes, len_bytes, latency_ns: None }
    }

    #[test]
    fn iologs_of_both_versions() {
        let text = "fio version 2 iolog\n/dev/a b add\n/dev/a b open\n/dev/a b read 4096 512\n/dev/a b wait 250\n/dev/a b write 0 8192\n/dev/a b close\n";
        let (trace, said) = parse("t", text);
        let trace = trace.unwrap();
        assert_eq!(trace.language, "fio iolog version 2, without times");
        assert_eq!(trace.targets, ["/dev/a b"]);
        assert_eq!(issued(&trace), [op(0, 0, OpKind::Read, 4096, 512), op(1, 0, OpKind::Write, 0, 8192)]);
        assert!(said.is_empty(), "{said:?}");

        // Microseconds: fio 3.33 wrote lines such as these of 200 reads a second, the last of them behind 2 s.
        let text =
            "fio version 3 iolog\n0 f add\n157 f trim 0 4096\n5913 g sync 0 0\n1995130 f read 1048576 4096\n";
        let trace = parse("t", text).0.unwrap();
        let expected = [
            op(157_000, 0, OpKind::Trim, 0, 4096),
            op(5_913_000, 1, OpKind::Fsync, 0, 0),
            op(1_995_130_000, 0, OpKind::Read, 1 << 20, 4096),
        ];
        assert_eq!(issued(&trace), expected);
    }

    #[test]
    fn a_thousand_bad_lines_are_counted() {
        let text = "fio version 3 iolog\n".to_owned() + &"1 f jump 0 0\n".repeat(1000) + "2 f read 0 4096\n";
        let (trace, said) = parse("t", &text);
        assert_eq!(trace.unwrap().events.len(), 1);
        assert!(said.last().unwrap().message.contains("992 more"), "{said:?}");
    }

    proptest! {
        /// Whatever the text, there is an answer, and every operation is within bounds.
        #[test]
        fn no_text_breaks_it(
            head in prop_oneof![
                Just("fio version 2 iolog\n"), Just("fio version 3 iolog\n"),
            ],
            body in "([0-9]{1,22}[ ,.+-]?|read |write |R,|[ \\t\\n,]|8,0 |\\PC){0,60}",
        ) {
            let text = format!("{head}{body}");
            let (trace, said) = parse("t", &text);
            if let Some(trace) = trace {
                for op in issued(&trace) {
                    prop_assert!(usize::from(op.target) < trace.targets.len());
                    prop_assert!(op.offset_bytes.checked_add(u64::from(op.len_bytes)).is_some());
                }
            } else {
                prop_assert!(!said.is_empty());
            }
        }
    }
}
