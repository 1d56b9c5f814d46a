//! Values that several definitions share: transfer sizes, parts of a target, seek modes, open flags.

use super::args::{Args, to_u64};
use super::number::Number;

/// Transfer or file sizes in bytes.
#[derive(Debug, Clone, PartialEq)]
pub enum Sizes {
    /// One size.
    Fixed(u64),
    /// Sizes with their shares in percent, which sum to 100.
    Mixed(Vec<(u64, f64)>),
    /// Uniform between `min` and `max` in steps of `align`: what a list of exactly three numbers means.
    Uniform {
        /// Smallest size.
        min: u64,
        /// Largest size.
        max: u64,
        /// Step and alignment.
        align: u64,
    },
    /// Random sizes around an average: `(avg,0)` of a file system definition.
    Around(u64),
}

impl Sizes {
    /// The mean of many.
    pub(crate) fn mean_bytes(&self) -> f64 {
        match self {
            Self::Fixed(n) | Self::Around(n) => *n as f64,
            Self::Mixed(list) => list.iter().map(|(n, percent)| *n as f64 * percent / 100.0).sum(),
            Self::Uniform { min, max, .. } => (*min as f64 + *max as f64) / 2.0,
        }
    }

    /// The largest size that can occur.
    #[must_use]
    pub fn largest(&self) -> u64 {
        match self {
            Self::Fixed(n) | Self::Around(n) => *n,
            Self::Mixed(list) => list.iter().map(|(n, _)| *n).max().unwrap_or(0),
            Self::Uniform { max, .. } => *max,
        }
    }
}

/// A bound of a `range=` or `hotband=`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// Percent of the target's size; above 100 it goes on at the start.
    Percent(f64),
    /// Bytes from the start.
    Bytes(u64),
}

/// A part of a target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Span {
    /// Where it begins.
    pub low: Bound,
    /// Where it ends.
    pub high: Bound,
}

impl Span {
    /// How many bytes it holds of a target of `size` bytes; without a size only where both bounds are in bytes.
    pub(crate) fn bytes_of(&self, size: Option<u64>) -> Option<u64> {
        let place = |bound: Bound| match bound {
            Bound::Percent(percent) => size.map(|size| to_u64(size as f64 * percent / 100.0)),
            Bound::Bytes(bytes) => Some(size.map_or(bytes, |size| bytes.min(size))),
        };
        Some(place(self.high)?.saturating_sub(place(self.low)?))
    }
}

/// An amount that may be given in bytes or in percent of a target.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Amount {
    /// Bytes.
    Bytes(u64),
    /// Percent of the target.
    Percent(f64),
}

/// `seekpct=`: how the next address is chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Seek {
    /// For each I/O an independent coin: a new random address with this probability in percent, else the next one.
    Random(f64),
    /// One cursor from the start of the range, wrapping.
    Sequential,
    /// One cursor from a random place, wrapping.
    SequentialFromRandom,
    /// One pass from start to end, then the workload is done.
    UntilEnd,
    /// Exponentially falling from the start of the range; the language calls it poisson.
    Poisson {
        /// Mean distance is the range divided by this.
        midpoint: f64,
    },
}

/// Flags with which a target is opened.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OpenFlags {
    /// `o_direct`, `directio`.
    pub direct: bool,
    /// `o_dsync`, `o_rsync`, `o_sync`: all of them are `O_DSYNC` on x86.
    pub dsync: bool,
    /// `o_sync` was written, which is stronger by name than by effect.
    pub named_sync: bool,
    /// `fsync`: once, when the target is closed.
    pub fsync_at_close: bool,
    /// Bits given in hexadecimal.
    pub raw: u32,
}

/// `openflags=`.
pub(crate) fn open_flags(args: &mut Args<'_>) -> Option<OpenFlags> {
    let mut flags = OpenFlags::default();
    for (i, word) in args.words().iter().enumerate() {
        match word.to_ascii_lowercase().as_str() {
            "o_direct" | "directio" => flags.direct = true,
            "o_dsync" | "o_rsync" => flags.dsync = true,
            "o_sync" => (flags.dsync, flags.named_sync) = (true, true),
            "fsync" => flags.fsync_at_close = true,
            hex if hex.starts_with("0x") => match u32::from_str_radix(&hex[2..], 16) {
                Ok(bits) => flags.raw |= bits,
                Err(_) => return args.refuse(i, "not a hexadecimal number", "write 0x4000 or o_direct"),
            },
            _ => {
                let help = "use o_direct, directio, o_dsync, o_sync, o_rsync, fsync or 0x..";
                return args.refuse(i, "unknown open flag", help);
            }
        }
    }
    if flags.named_sync {
        let message = "`o_sync` opens with O_DSYNC on x86 here as in vdbench: file metadata is not forced";
        args.note("o-sync-is-dsync", message, "0x101000 asks for the full O_SYNC on x86");
    }
    Some(flags)
}

/// `range=` and `hotband=`.
pub(crate) fn span(args: &mut Args<'_>) -> Option<Span> {
    let numbers = args.numbers()?;
    let [low, high] = numbers[..] else {
        return args.refuse(0, "expected (low,high)", "write range=(0,50)");
    };
    let low = bound(low, 100.0);
    let high = bound(high, 200.0);
    let ordered = match (low, high) {
        (Bound::Percent(a), Bound::Percent(b)) => a < b && b - a <= 100.0 && a >= 0.0,
        (Bound::Bytes(a), Bound::Bytes(b)) => a < b,
        _ => true,
    };
    if !ordered {
        let rule = "low must be below high, and a wrapping range must be at most 100 % wide";
        return args.refuse(1, rule, "swap the bounds");
    }
    Some(Span { low, high })
}

fn bound(number: Number, percent_up_to: f64) -> Bound {
    if number.percent || number.value <= percent_up_to {
        Bound::Percent(number.value)
    } else {
        Bound::Bytes(to_u64(number.value))
    }
}

/// `hitarea=`, `maxdata=` and the like.
pub(crate) fn amount(number: Number) -> Amount {
    if number.percent { Amount::Percent(number.value) } else { Amount::Bytes(to_u64(number.value)) }
}

const SECTOR: u64 = 512;

/// `xfersize=` of a workload: one size, sizes with percentages, or (min,max,align).
pub(crate) fn transfer_sizes(args: &mut Args<'_>) -> Option<Sizes> {
    let numbers = args.numbers()?;
    let sizes = match numbers[..] {
        [] => return None,
        [one] => Sizes::Fixed(to_u64(one.value)),
        [min, max, align] => {
            let [min, max, align] = [min, max, align].map(|n| to_u64(n.value));
            if min > max || align == 0 {
                let rule = "three numbers are (min,max,align) with min at most max";
                return args.refuse(0, rule, "give sizes with percentages");
            }
            let message = format!(
                "a list of three numbers means any size from {min} to {max} bytes in steps of {align}, not three sizes"
            );
            let help = "for three sizes write (s1,p1,s2,p2,s3,p3) with percentages";
            args.note("three-number-xfersize", message, help);
            Sizes::Uniform { min, max, align }
        }
        _ => Sizes::Mixed(distribution(args, &numbers)?),
    };
    let bad = match &sizes {
        // Of a single size the real tool asks no sectors.
        Sizes::Fixed(n) | Sizes::Around(n) => (*n == 0).then_some(0),
        Sizes::Mixed(list) => list.iter().position(|(n, _)| n % SECTOR != 0 || *n == 0).map(|i| 2 * i),
        Sizes::Uniform { min, max, align } => {
            [*min, *max, *align].iter().position(|n| n % SECTOR != 0 || *n == 0)
        }
    };
    if let Some(value) = bad {
        let rule = "the transfer sizes of a list must be multiples of 512 above 0";
        return args.refuse(value, rule, "write 512, 4k, 1m");
    }
    Some(sizes)
}

/// `sizes=` of a file system: one size, sizes with percentages, or (average,0).
pub(crate) fn file_sizes(args: &mut Args<'_>) -> Option<Sizes> {
    let numbers = args.numbers()?;
    match numbers[..] {
        [one] => Some(Sizes::Fixed(to_u64(one.value))),
        [average, zero] if zero.value == 0.0 => Some(Sizes::Around(to_u64(average.value))),
        _ => Some(Sizes::Mixed(distribution(args, &numbers)?)),
    }
}

/// Pairs of size and percent whose percentages sum to 100, rounded.
pub(crate) fn distribution(args: &mut Args<'_>, numbers: &[Number]) -> Option<Vec<(u64, f64)>> {
    if !numbers.len().is_multiple_of(2) {
        return args.refuse(numbers.len() - 1, "this size has no percentage", "write (4k,50,8k,50)");
    }
    let list: Vec<(u64, f64)> = numbers.chunks(2).map(|p| (to_u64(p[0].value), p[1].value)).collect();
    let sum: f64 = list.iter().map(|(_, p)| p).sum();
    if sum.round() != 100.0 || list.iter().any(|(_, p)| *p < 0.0) {
        let rule = format!("the percentages sum to {}, not to 100", super::number::show(sum));
        return args.refuse(1, &rule, "adjust the percentages; a list alternates size and percentage");
    }
    Some(list)
}

/// `seekpct=` of a workload.
pub(crate) fn seek(args: &mut Args<'_>) -> Option<Seek> {
    let word = args.lower();
    if let Some(first) = args.values.first().and_then(|v| v.number) {
        return match first.value {
            -1.0 => Some(Seek::UntilEnd),
            0.0 => Some(Seek::Sequential),
            p if p > 0.0 && p <= 100.0 => {
                if p < 100.0 {
                    let message = format!(
                        "seekpct={} is a coin for each I/O: sequential stretches have a random length, {} I/Os on average",
                        super::number::show(p),
                        super::number::show((1000.0 / p).round() / 10.0)
                    );
                    args.note("seekpct-is-a-coin", message, "use streams or stride for fixed stretches");
                }
                Some(Seek::Random(p))
            }
            _ => {
                let rule = "must be between 0 and 100, or -1 for one pass";
                args.refuse(0, rule, "100 is random, 0 is sequential")
            }
        };
    }
    match word.as_str() {
        "eof" => Some(Seek::UntilEnd),
        "seqnz" => Some(Seek::SequentialFromRandom),
        "poisson" => {
            let midpoint = args.values.get(1).and_then(|v| v.number).map_or(3.0, |n| n.value);
            if midpoint <= 0.0 {
                return args.refuse(1, "the midpoint must be above 0", "write (poisson,3)");
            }
            let message = "`poisson` addresses fall off exponentially from the start of the range";
            args.note("poisson-is-exponential", message, "");
            Some(Seek::Poisson { midpoint })
        }
        w if w.starts_with("seq") => Some(Seek::Sequential),
        w if w.starts_with("rand") => Some(Seek::Random(100.0)),
        _ => args.refuse(0, "unknown seek mode", "use 0..100, random, seq, seqnz, eof or poisson"),
    }
}
