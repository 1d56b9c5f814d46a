//! The forms of values: numbers, sizes, times, rates and words, each read and written by one entry.

use assay_workload::SweepPoint;
use assay_workload::job::Rate;
use assay_workload::target::Extent;
use assay_workload::units::{Bytes, Nanos};
use toml::de::DeValue;
use toml_writer::{ToTomlValue as _, TomlStringBuilder};

use super::key::{Form, Shape};
use super::nearest::nearest;
use super::node::Entry;
use super::scalar::{self, regular, write_extent, write_number, write_rate, write_time};
use super::sink::{Sink, clip};
use super::words::{Word, names};

pub(super) const TEXT: Form<String> = Form {
    shape: Shape::Text,
    read: |sink, entry, _| sink.string(entry).map(str::to_owned),
    write: |text| quote(text),
};

pub(super) const POINT: Form<SweepPoint> = Form {
    shape: Shape::Text,
    read: |sink, entry, _| sink.string(entry).map(SweepPoint::new),
    write: |point| quote(point.as_str()),
};

/// Text that is not empty.
pub(super) const NAME: Form<String> = Form {
    shape: Shape::Name,
    read: |sink, entry, _| match sink.string(entry)? {
        "" => sink.bad_value(entry, "an empty string names nothing", ""),
        text => Some(text.to_owned()),
    },
    write: |text| quote(text),
};

pub(super) const FLAG: Form<bool> = Form {
    shape: Shape::Flag,
    read: |sink, entry, _| match entry.value.get_ref().as_bool() {
        None => sink.wrong_type(entry, "true or false"),
        flag => flag,
    },
    write: bool::to_string,
};

/// A whole number within bounds.
pub(super) const fn count(min: u64, max: u64) -> Form<u64> {
    Form { shape: Shape::Count(min, max), read: read_count, write: |number| write_count(*number) }
}

/// A whole number within bounds that are those of 32 bits or closer.
pub(super) const fn count_u32(min: u32, max: u32) -> Form<u32> {
    Form {
        shape: Shape::Count(min as u64, max as u64),
        read: |sink, entry, shape| u32::try_from(read_count(sink, entry, shape)?).ok(),
        write: u32::to_string,
    }
}

/// TOML's own integers end at 2^63 - 1, so a string of digits counts, too.
fn read_count(sink: &mut Sink, entry: Entry<'_>, shape: &Shape) -> Option<u64> {
    let number = match entry.value.get_ref() {
        DeValue::Integer(number) => u64::from_str_radix(number.as_str(), number.radix()).ok(),
        DeValue::String(text) if text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok(),
        _ => return sink.wrong_type(entry, "a whole number"),
    };
    let Shape::Count(min, max) = *shape else { return number };
    match number {
        Some(number) if (min..=max).contains(&number) => Some(number),
        _ => sink.bad_value(entry, "out of range", &format!("{min} to {max} are possible")),
    }
}

/// A whole number; as a string where it is beyond TOML's integers.
pub(super) fn write_count(number: u64) -> String {
    if i64::try_from(number).is_ok() { number.to_string() } else { quote(&number.to_string()) }
}

/// A finite number within bounds.
pub(super) const fn number(min: f64, max: f64) -> Form<f64> {
    Form { shape: Shape::Number(min, max), read: read_number, write: |number| write_number(*number) }
}

pub(super) const PERCENT: Form<f64> = number(0.0, 100.0);
pub(super) const POSITIVE: Form<f64> = number(f64::MIN_POSITIVE, f64::MAX);

fn read_number(sink: &mut Sink, entry: Entry<'_>, shape: &Shape) -> Option<f64> {
    let text = match entry.value.get_ref() {
        DeValue::Integer(number) if number.radix() == 10 => number.as_str(),
        DeValue::Float(number) => number.as_str(),
        _ => return sink.wrong_type(entry, "a number"),
    };
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
    let Shape::Number(min, max) = *shape else { return number };
    if let Some(number) = number.filter(|number| (min..=max).contains(number)) {
        return Some(number);
    }
    let help = match (min == f64::MIN_POSITIVE, max == f64::MAX) {
        (true, true) => "it must be above 0".to_owned(),
        (true, false) => format!("it must be above 0 and at most {max}"),
        (false, true) => format!("it must be at least {min}"),
        (false, false) => format!("{min} to {max} are possible"),
    };
    sink.bad_value(entry, "out of range", &help)
}

/// Bytes: a whole number, or a string with a unit.
pub(super) const SIZE: Form<u64> =
    Form { shape: Shape::Size, read: read_size, write: |size| quote_size(*size) };

fn read_size(sink: &mut Sink, entry: Entry<'_>, _: &Shape) -> Option<u64> {
    match entry.value.get_ref() {
        DeValue::Integer(_) => read_count(sink, entry, &Shape::Count(0, u64::MAX)),
        DeValue::String(text) => {
            sink.checked(entry, scalar::size(text), "sizes look like 4096, \"4k\", \"1.5GiB\"")
        }
        _ => sink.wrong_type(entry, "a size such as 4096 or \"4k\""),
    }
}

pub(super) fn quote_size(bytes: u64) -> String {
    quote(&Bytes(bytes).short())
}

/// A size that a block may have.
pub(super) const BLOCK_SIZE: Form<u64> = Form {
    shape: Shape::BlockSize,
    read: |sink, entry, shape| {
        let size = read_size(sink, entry, shape)?;
        sink.checked(entry, scalar::check_block_size(size), "")
    },
    write: |size| quote_size(*size),
};

/// A number of seconds, or a string with a unit.
pub(super) const TIME: Form<Nanos> = Form {
    shape: Shape::Time,
    read: |sink, entry, _| {
        let text = match entry.value.get_ref() {
            DeValue::Integer(number) if number.radix() == 10 => number.as_str(),
            DeValue::Float(number) => number.as_str(),
            DeValue::String(text) => text,
            _ => return sink.wrong_type(entry, "a time such as 30 (seconds) or \"250us\""),
        };
        sink.checked(entry, scalar::time(text), "times look like 30 (seconds), \"250us\", \"5m\"")
    },
    write: |time| quote(&write_time(*time)),
};

/// A size, or per cent of a target.
pub(super) const EXTENT: Form<Extent> = Form {
    shape: Shape::Any(&[
        Shape::Size,
        Shape::Matching(concat!(r"^\s*", regular!(number), r"\s*%\s*$"), "25%"),
    ]),
    read: |sink, entry, shape| match entry.value.get_ref() {
        DeValue::String(text) => {
            sink.checked(entry, scalar::extent(text), "extents look like \"10g\" or \"25%\"")
        }
        _ => read_size(sink, entry, shape).map(Extent::Bytes),
    },
    write: |extent| quote(&write_extent(*extent)),
};

/// A number is operations a second.
pub(super) const RATE: Form<Rate> = Form {
    shape: Shape::Any(&[
        Shape::Number(f64::MIN_POSITIVE, f64::MAX),
        Shape::Matching(
            concat!(
                r"^\s*(unlimited|",
                regular!(number),
                r"\s*([iI][oO][pP][sS]|%|([kKmMgGtTpP]|[kKmMgGtTpP]?[iI]?[bB])/[sS])?|",
                r"\s*",
                regular!(number),
                r"\s*(read|write|trim)(\s*,\s*",
                regular!(number),
                r"\s*(read|write|trim)){0,2})\s*$"
            ),
            "100MiB/s",
        ),
    ]),
    read: |sink, entry, _| match entry.value.get_ref() {
        DeValue::Integer(_) | DeValue::Float(_) => POSITIVE.take(sink, entry).map(Rate::Iops),
        _ => sink.parsed(entry, scalar::rate, scalar::RATE_FORMS),
    },
    write: |rate| write_rate(*rate).unwrap_or_else(|| quote("unlimited")),
};

/// One of the words for `T`.
pub(super) const fn word<T: Word>() -> Form<T> {
    Form {
        shape: Shape::Words(names::<T>),
        read: |sink, entry, _| read_word(sink, entry),
        write: |it| quote(it.word()),
    }
}

fn read_word<T: Word>(sink: &mut Sink, entry: Entry<'_>) -> Option<T> {
    let all = names::<T>();
    let known = all.join(", ");
    let Some(text) = entry.as_str() else {
        return sink.wrong_type(entry, &format!("one of the words {known}"));
    };
    T::from_word(text).or_else(|| {
        let help = match nearest(text, &all) {
            Some(near) => format!("the nearest is '{near}'; known are {known}"),
            None => format!("known are {known}"),
        };
        sink.bad_value(entry, &format!("'{}' is not known", clip(text)), &help)
    })
}

/// A TOML basic string: `"` around it, whatever it holds.
pub(super) fn quote(text: &str) -> String {
    TomlStringBuilder::new(text).as_basic().to_toml_value()
}
