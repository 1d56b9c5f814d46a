//! From the text behind `=` to a [`Value`], by the shape in the option table.

use std::sync::Arc;

use assay_formats::loader::Loader;
use assay_formats::near::nearest;

use super::distribution;
use super::lines::RawOption;
use super::number::{self, NumberError, Quantity};
use super::pattern;
use super::report::Report;
use super::table::{Effect, Entry, Kind};
use super::value::{Size, SteadyCriterion, Value};

const STEADY_METRICS: &[&str] = &["iops", "iops_slope", "bw", "bw_slope", "lat", "lat_slope"];

/// Reads one value. A failure is in the report and is `None`.
pub(super) struct ValueReader<'a> {
    /// The option.
    pub(super) entry: &'static Entry,
    /// Its line.
    pub(super) raw: &'a RawOption,
    /// 1024 or 1000.
    pub(super) kb_base: u32,
    /// For patterns that name a file.
    pub(super) loader: &'a dyn Loader,
    /// Where remarks go.
    pub(super) report: &'a mut Report,
}

impl ValueReader<'_> {
    /// Reads the value; `previous` is what the option held before, which some shapes add to.
    pub(super) fn read(&mut self, previous: Option<&Value>) -> Option<Value> {
        if let Effect::Refused(instead) = self.entry.effect {
            let message = format!("fio no longer has the option {}", self.entry.name);
            self.report.error("option-removed", &self.raw.name_place(), message, instead);
            return None;
        }
        let text = self.raw.value.as_deref();
        match (&self.entry.kind, text) {
            (Kind::Flag, None) => return Some(Value::Flag(true)),
            (Kind::OptionalText | Kind::Any, _) => return Some(Value::Text(text.unwrap_or("").to_owned())),
            _ => {}
        }
        let Some(text) = text else {
            return self.refuse("it needs a value", "");
        };
        match &self.entry.kind {
            Kind::Text | Kind::Files if text.is_empty() => self.refuse("its value is empty", ""),
            Kind::Text => {
                self.explain_blank(text);
                Some(Value::Text(text.to_owned()))
            }
            Kind::Files => self.files(text),
            Kind::Flag | Kind::Bool => self.boolean(text),
            Kind::Int => self.integer(text, false).map(Value::Number),
            Kind::LastInt => self.integer(text, true).map(Value::Number),
            Kind::Triple => self.triple(text, previous),
            Kind::Size => self.size(text),
            Kind::Seconds => self.time(text, true).map(Value::Micros),
            Kind::Micros => self.time(text, false).map(Value::Micros),
            Kind::TimeSpan => self.span(text, true),
            Kind::ByteSpan => self.span(text, false),
            Kind::Ranges => self.ranges(text, previous),
            Kind::Word(words) => self.word(text, words),
            Kind::Words(words) => self.words(text, words),
            Kind::Floats => self.floats(text),
            Kind::Split => {
                self.explained(distribution::bssplit(text, self.kb_base), |all| Value::Splits(Box::new(all)))
            }
            Kind::Distribution => self.explained(distribution::distribution(text, self.kb_base), |found| {
                Value::Distribution(Box::new(found))
            }),
            Kind::Pattern => {
                self.explained(pattern::parse(text, self.loader), |found| Value::Pattern(Arc::new(found)))
            }
            Kind::Cpus => self.explained(cpus(text), Value::Cpus),
            Kind::ErrorGroups => self.explained(error_groups(text), |all| Value::Errors(Box::new(all))),
            Kind::Steady => self.steady(text),
            Kind::OptionalText | Kind::Any => None,
        }
    }

    fn refuse<T>(&mut self, rule: &str, help: &str) -> Option<T> {
        let message = format!("fio cannot read `{}`: {rule}", self.raw.text());
        self.report.error("bad-value", &self.raw.value_place(), message, help);
        None
    }

    fn note(&mut self, id: &'static str, message: impl Into<String>, help: &str) {
        self.report.note(id, &self.raw.value_place(), message, help);
    }

    fn explained<T>(&mut self, result: Result<T, String>, wrap: impl FnOnce(T) -> Value) -> Option<Value> {
        match result {
            Ok(value) => Some(wrap(value)),
            Err(why) => self.refuse(&why, ""),
        }
    }

    fn explain_blank(&mut self, text: &str) {
        if text.starts_with(|c: char| c.is_whitespace()) {
            let message = format!("the blank belongs to the value \"{text}\"");
            self.note("fio-blank-in-value", message, "remove the blanks round =");
        }
    }

    fn files(&mut self, text: &str) -> Option<Value> {
        self.explain_blank(text);
        let names = split_names(text);
        if names.is_empty() {
            return self.refuse("it names no file", "");
        }
        let rooted = names.iter().filter(|name| name.starts_with('/')).count();
        if rooted > 0 && rooted < names.len() {
            let message = format!(
                "a colon separates file names: fio reads {} names, {}",
                names.len(),
                names.join(" and ")
            );
            self.note("fio-colon-splits-names", message, "write \\: for a colon inside a name");
        }
        for keyword in ["$jobname", "$jobnum", "$filenum"] {
            if text.contains(keyword) {
                let message =
                    format!("{keyword} is replaced in filename_format only; here it is part of the name");
                self.note("fio-keyword-in-filename", message, "use filename_format");
            }
        }
        Some(Value::Files(Arc::new(names)))
    }

    fn boolean(&mut self, text: &str) -> Option<Value> {
        let help = "fio knows 1 and 0, not words";
        let Ok((value, _)) = number::leading_integer(text) else {
            return self.refuse("it has to be 0 or 1", help);
        };
        if self.entry.kind == Kind::Bool && !(0..=1).contains(&value) {
            return self.refuse("it has to be 0 or 1", help);
        }
        Some(Value::Flag(value != 0))
    }

    /// Explains what the number means where that is not what it seems to say.
    fn explain(&mut self, quantity: &Quantity, text: &str, unit: &str) {
        let value = quantity.value;
        let quirks = &quantity.quirks;
        if quirks.fraction {
            let message = format!("fio has no fractions: `{text}` is {value}{unit}");
            self.note("fio-fraction-cut", message, "write it in a smaller unit");
        }
        if quirks.unit_lost_by_blank {
            let message =
                format!("the blank before the number makes fio lose its unit: `{text}` is {value}{unit}");
            self.note("fio-unit-lost", message, "remove the blanks round =");
        }
        if quirks.binary_unit_flipped {
            let message =
                format!("with kb_base=1024 a unit like KiB counts in thousands: `{text}` is {value}{unit}");
            self.note("fio-kib-is-1000", message, "write k, m, g for powers of 1024");
        }
        if !quirks.ignored.is_empty() {
            let (id, help) = if unit.contains('µ') {
                ("fio-time-unit-unknown", "fio's units are us, ms, s, m, h, d")
            } else {
                ("fio-suffix-ignored", "")
            };
            self.note(id, format!("fio does not know `{}`: `{text}` is {value}{unit}", quirks.ignored), help);
        }
        if quirks.arithmetic {
            let message = format!("`{text}` is {value}{unit}; not every build of fio evaluates expressions");
            self.note("fio-arithmetic", message, "");
        }
    }

    fn number(&mut self, text: &str) -> Option<Quantity> {
        match number::bytes(text, self.kb_base) {
            Ok(quantity) => {
                self.explain(&quantity, text, "");
                Some(quantity)
            }
            Err(error) => self.refuse_number(text, error),
        }
    }

    fn refuse_number<T>(&mut self, text: &str, error: NumberError) -> Option<T> {
        let rule = if text.is_empty() {
            "it needs a number".to_owned()
        } else {
            format!("`{text}` is no number: {}", error.rule())
        };
        self.refuse(&rule, "")
    }

    /// Checks percent sign and range.
    fn checked(&mut self, quantity: Quantity) -> Option<i64> {
        if quantity.percent {
            return self
                .refuse("a percentage is possible for size, io_size, offset and offset_increment only", "");
        }
        let (min, max) = (self.entry.min, self.entry.max);
        if (min..=max).contains(&quantity.value) {
            return Some(quantity.value);
        }
        let rule = if quantity.value < min {
            format!("the minimum is {min}")
        } else {
            format!("the maximum is {max}")
        };
        self.refuse(&rule, "")
    }

    fn integer(&mut self, text: &str, last: bool) -> Option<i64> {
        let pieces = number::pieces(text);
        let chosen = if last { pieces.last() } else { pieces.first() };
        let piece = chosen.map_or("", |piece| piece.text);
        if pieces.len() > 1 {
            let which = if last { "last" } else { "first" };
            let message = format!("{} has one value; of `{text}` fio keeps the {which}", self.entry.name);
            self.note("fio-list-cut", message, "");
        }
        let quantity = self.number(piece)?;
        self.checked(quantity)
    }

    fn triple(&mut self, text: &str, previous: Option<&Value>) -> Option<Value> {
        let mut slots = match previous {
            Some(Value::Triple(slots)) => *slots,
            _ => [None; 3],
        };
        let pieces = number::pieces(text);
        if pieces.len() > 1 && !text.contains(',') {
            let name = self.entry.name;
            let help = if name == "bs" {
                "a range is bsrange=low-high"
            } else {
                "separate read, write and trim by commas"
            };
            let message =
                format!("`{text}` is no range: fio reads it as {name} for reads, then for writes and trims");
            self.note("fio-not-a-range", message, help);
        }
        let mut any = false;
        for (index, piece) in pieces.iter().enumerate() {
            if piece.text.is_empty() && pieces.len() > 1 {
                continue;
            }
            let value = match number::bytes(piece.text, self.kb_base) {
                Ok(quantity) => {
                    self.explain(&quantity, piece.text, "");
                    self.checked(quantity)?
                }
                Err(_) if pieces.len() > 1 && (any || piece.more) => {
                    let message = format!("fio skips `{}`, which is no number", piece.text);
                    self.note("fio-piece-ignored", message, "");
                    continue;
                }
                Err(error) => return self.refuse_number(piece.text, error),
            };
            any = true;
            let end = if piece.more { index + 1 } else { 3 };
            for slot in slots.iter_mut().take(end).skip(index) {
                *slot = Some(value.unsigned_abs());
            }
        }
        if !any {
            return self.refuse("it needs a number", "");
        }
        Some(Value::Triple(slots))
    }

    fn size(&mut self, text: &str) -> Option<Value> {
        if text.ends_with('z') {
            return match number::leading_integer(text) {
                Ok((value, _)) if value >= 0 => Some(Value::Size(Size::Zones(value.unsigned_abs()))),
                _ => self.refuse("a zone count is digits and a z", ""),
            };
        }
        let pieces = number::pieces(text);
        if pieces.len() > 1 {
            let message = format!("{} has one value; of `{text}` fio keeps the last", self.entry.name);
            self.note("fio-list-cut", message, "");
        }
        let quantity = self.number(pieces.last().map_or("", |piece| piece.text))?;
        if quantity.percent {
            return match u8::try_from(quantity.value) {
                Ok(percent @ 0..=100) => Some(Value::Size(Size::Percent(percent))),
                _ => self.refuse("a percentage lies between 0 and 100", ""),
            };
        }
        let value = self.checked(quantity)?;
        Some(Value::Size(Size::Bytes(value.unsigned_abs())))
    }

    fn time(&mut self, text: &str, seconds: bool) -> Option<u64> {
        match number::time_us(text, seconds) {
            Ok(quantity) if quantity.value < 0 => self.refuse("a time cannot be negative", ""),
            Ok(quantity) => {
                self.explain(&quantity, text, " µs");
                Some(quantity.value.unsigned_abs())
            }
            Err(error) => self.refuse_number(text, error),
        }
    }

    fn span(&mut self, text: &str, is_time: bool) -> Option<Value> {
        let pieces = number::pieces(text);
        let mut ends = [0; 2];
        for (index, piece) in pieces.iter().take(2).enumerate() {
            let value = if is_time {
                self.time(piece.text, true)?
            } else {
                let quantity = self.number(piece.text)?;
                self.checked(quantity)?.unsigned_abs()
            };
            ends[index] = value;
        }
        if pieces.len() == 1 {
            ends[1] = ends[0];
        }
        Some(Value::Span(ends[0].min(ends[1]), ends[0].max(ends[1])))
    }

    fn ranges(&mut self, text: &str, previous: Option<&Value>) -> Option<Value> {
        let mut slots = match previous {
            Some(Value::Ranges(slots)) => *slots,
            _ => [None; 3],
        };
        let parts: Vec<&str> = text.trim_end_matches(',').splitn(3, ',').collect();
        for (index, part) in parts.iter().enumerate() {
            let Some((low, high)) = part.split_once('-').or_else(|| part.split_once(':')) else {
                return self.refuse("a range is low-high", "one block size is bs=");
            };
            let low = self.number(low)?;
            let low = self.checked(low)?.unsigned_abs();
            let high = self.number(high)?;
            let high = self.checked(high)?.unsigned_abs();
            let end = if index + 1 < parts.len() { index + 1 } else { 3 };
            for slot in slots.iter_mut().take(end).skip(index) {
                *slot = Some((low.min(high), low.max(high)));
            }
        }
        Some(Value::Ranges(slots))
    }

    fn unknown_word(&mut self, word: &str, words: &'static [&'static str]) -> Option<Value> {
        let place = self.raw.value_place();
        let trimmed = word.trim();
        let help = if words.contains(&trimmed) {
            "fio takes the blank as part of the word; remove the blanks round =".to_owned()
        } else {
            match nearest(trimmed, words.iter().copied()) {
                Some(near) => format!("did you mean {near}? known are {}", words.join(", ")),
                None => format!("known are {}", words.join(", ")),
            }
        };
        let message =
            format!("fio cannot read `{}`: {} has no value `{word}`", self.raw.text(), self.entry.name);
        self.report.error("bad-value", &place, message, &help);
        None
    }

    fn word(&mut self, text: &str, words: &'static [&'static str]) -> Option<Value> {
        let end = text.find([':', ',']).unwrap_or(text.len());
        let (word, rest) = text.split_at(end);
        let Some(found) = words.iter().find(|known| **known == word) else {
            return self.unknown_word(word, words);
        };
        if rest.starts_with(',') {
            self.note("fio-list-cut", format!("of `{text}` fio keeps `{word}`"), "");
        }
        Some(Value::Word(found, rest.strip_prefix(':').map(str::to_owned)))
    }

    fn words(&mut self, text: &str, words: &'static [&'static str]) -> Option<Value> {
        let (list, rest) = match text.split_once(':') {
            Some((list, rest)) => (list, Some(rest.to_owned())),
            None => (text, None),
        };
        let mut found = Vec::new();
        for word in list.split(',') {
            match words.iter().find(|known| **known == word) {
                Some(known) => found.push(*known),
                None => return self.unknown_word(word, words),
            }
        }
        Some(Value::Words(found, rest))
    }

    fn floats(&mut self, text: &str) -> Option<Value> {
        let mut list = Vec::new();
        for piece in text.split(':') {
            let Some(value) = distribution::leading_float(piece) else {
                return self.refuse(&format!("`{piece}` is no number"), "separate numbers by colons");
            };
            list.push(value);
        }
        if list.len() > 20 {
            return self.refuse("the list holds at most 20 numbers", "");
        }
        if text.contains(',') {
            let message = format!("numbers are separated by colons; of `{text}` fio keeps {list:?}");
            self.note("fio-list-cut", message, "");
        }
        Some(Value::Floats(list))
    }

    fn steady(&mut self, text: &str) -> Option<Value> {
        let (word, rest) = match text.split_once(':') {
            Some((word, rest)) => (word, Some(rest)),
            None => (text, None),
        };
        let Some(metric) = STEADY_METRICS.iter().copied().find(|known| *known == word) else {
            return self.unknown_word(word, STEADY_METRICS);
        };
        let Some(rest) = rest else {
            return self.refuse("a limit has to follow the metric, as in iops:5%", "");
        };
        let Some(limit) = distribution::leading_float(rest) else {
            return self.refuse(&format!("`{rest}` is no number"), "");
        };
        Some(Value::Steady(SteadyCriterion { metric, limit, percent: rest.contains('%') }))
    }
}

/// Names separated by colons; `\:` is a colon.
pub(super) fn split_names(text: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut name = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\\' if chars.peek() == Some(&':') => {
                name.push(':');
                chars.next();
            }
            ':' => names.push(std::mem::take(&mut name)),
            _ => name.push(c),
        }
    }
    names.push(name);
    names.retain(|name| !name.is_empty());
    names
}

/// `0,2-5`.
fn cpus(text: &str) -> Result<Vec<u32>, String> {
    /// More processors than any machine has.
    const CPU_MAX: u32 = 4095;
    let mut list = Vec::new();
    for piece in text.trim().split([',', ':']) {
        let (low, high) = piece.split_once('-').unwrap_or((piece, piece));
        let number = |text: &str| {
            text.trim()
                .parse::<u32>()
                .ok()
                .filter(|cpu| *cpu <= CPU_MAX)
                .ok_or_else(|| format!("`{text}` is no processor number"))
        };
        list.extend(number(low)?..=number(high)?);
        if list.len() > CPU_MAX as usize {
            return Err("the list is too long".to_owned());
        }
    }
    Ok(list)
}

/// `EIO:ENOSPC,EIO,` for reads, writes, verification.
fn error_groups(text: &str) -> Result<[Vec<String>; 3], String> {
    /// Errors per group; more than there are errno values that a disk returns.
    const ERRORS_MAX: usize = 64;
    let mut groups = [const { Vec::new() }; 3];
    for (group, part) in groups.iter_mut().zip(text.split(',')) {
        *group =
            part.split(':').filter(|name| !name.is_empty()).map(str::to_owned).take(ERRORS_MAX + 1).collect();
        if group.len() > ERRORS_MAX {
            return Err(format!("a group has at most {ERRORS_MAX} errors"));
        }
    }
    Ok(groups)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_split_at_bare_colons() {
        assert_eq!(split_names("/dev/a:/dev/b"), ["/dev/a", "/dev/b"]);
        assert_eq!(split_names(r"/dev/dsk/foo@3,0\:c:x"), ["/dev/dsk/foo@3,0:c", "x"]);
        assert_eq!(split_names("a::b:"), ["a", "b"]);
    }

    #[test]
    fn cpu_lists() {
        assert_eq!(cpus("0,2-4").unwrap(), [0, 2, 3, 4]);
        assert!(cpus("x").is_err());
        assert!(cpus("0-4000000000").is_err());
    }

    #[test]
    fn ignored_errors_have_three_groups() {
        assert_eq!(
            error_groups("EIO:ENOSPC,,5").unwrap(),
            [vec!["EIO".to_owned(), "ENOSPC".into()], vec![], vec!["5".into()]]
        );
    }
}
