//! fio's text log of I/O, versions 2 and 3.
//!
//! After the head `fio version N iolog` a line is `FILE ACTION [OFFSET LENGTH]`; version 3 puts milliseconds before it. Actions
//! on files (`add`, `open`, `close`) carry no I/O; `wait` lets time pass in version 2 (microseconds).

use assay_workload::pattern::OpKind;

use super::{Problem, Targets, TraceEvent, TraceFormat, TraceOp, length, number};

/// The parser's state.
#[derive(Debug)]
pub(super) struct Iolog {
    version: u8,
    /// Pauses so far, nanoseconds.
    waited_ns: u64,
}

impl Iolog {
    /// Of the first line of a log, if it is one.
    pub(super) fn of_head(text: &str) -> Option<Iolog> {
        let mut words = text.split_whitespace();
        if words.next()? != "fio" || words.next()? != "version" {
            return None;
        }
        let version = words.next()?.parse().ok()?;
        (words.next()? == "iolog" && matches!(version, 2 | 3)).then_some(Iolog { version, waited_ns: 0 })
    }

    pub(super) fn format(&self) -> TraceFormat {
        if self.version == 3 { TraceFormat::IologV3 } else { TraceFormat::IologV2 }
    }

    pub(super) fn line(
        &mut self,
        text: &str,
        index: u64,
        targets: &mut Targets,
    ) -> Result<Option<TraceEvent>, Problem> {
        let (at_ns, rest) = self.time(text, index)?;
        let (file, action, numbers) = split(rest).ok_or_else(|| {
            let help = "a line is FILE ACTION [OFFSET LENGTH], version 3 with milliseconds before it";
            Problem::new(rest, "no action in this line", help)
        })?;
        let kind = match action {
            "add" | "open" | "close" | "unlink" => return Ok(None),
            "wait" => {
                let us = numbers.first().map_or(Ok(0), |word| number(word, "time"))?;
                self.waited_ns = self.waited_ns.saturating_add(us.saturating_mul(1000));
                return Ok(None);
            }
            "read" => OpKind::Read,
            "write" => OpKind::Write,
            "trim" => OpKind::Trim,
            "sync" => OpKind::Fsync,
            "datasync" | "sync_file_range" => OpKind::Fdatasync,
            other => {
                let message = format!("an action '{}' is not known", super::clip(other));
                let help = "known are add, open, close, wait, read, write, trim, sync and datasync";
                return Err(Problem::new(other, message, help));
            }
        };
        let number_at =
            |index: usize| numbers.get(index).copied().unwrap_or(if kind.is_flush() { "0" } else { "" });
        Ok(Some(TraceEvent::Issued(TraceOp {
            at_ns: at_ns.saturating_add(self.waited_ns),
            target: targets.index(file)?,
            kind,
            offset_bytes: number(number_at(0), "offset")?,
            len_bytes: length(number_at(1))?,
            latency_ns: None,
        })))
    }

    /// The time of a line, and what stands behind it.
    fn time<'t>(&self, text: &'t str, index: u64) -> Result<(u64, &'t str), Problem> {
        if self.version == 2 {
            return Ok((index, text.trim()));
        }
        let text = text.trim_start();
        let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
        Ok((number(word, "time")?.saturating_mul(1_000_000), rest.trim()))
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
