//! The two calculators of a job file: expressions in parentheses (units allowed) and what fio hands to `bc`.

/// What a unit letter means inside an expression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Units {
    /// Byte units with this base for `k`.
    Bytes {
        /// 1024 or 1000.
        kb_base: u32,
    },
    /// Time units; the result is in microseconds. A bare result counts in seconds if set.
    Time {
        /// Whether bare numbers are seconds.
        seconds: bool,
    },
    /// No units; division cuts off, as `bc` does with scale 0.
    None,
}

/// Deeper nesting is refused: nobody writes it, and each level is a stack frame.
const DEPTH_MAX: u32 = 64;

/// Evaluates a whole text; `None` where it does not follow the grammar, divides by zero or leaves the range of doubles.
pub(super) fn evaluate(text: &str, units: Units) -> Option<f64> {
    let mut parser = Parser { rest: text, units, depth: 0, unit_seen: false };
    let value = parser.sum()?;
    parser.blanks();
    if !parser.rest.is_empty() || !value.is_finite() {
        return None;
    }
    match units {
        Units::Time { seconds: true } if !parser.unit_seen => Some(value * 1e6),
        _ => Some(value),
    }
}

struct Parser<'a> {
    rest: &'a str,
    units: Units,
    depth: u32,
    unit_seen: bool,
}

impl Parser<'_> {
    fn blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn take(&mut self, wanted: &[char]) -> Option<char> {
        self.blanks();
        let found = self.rest.chars().next().filter(|c| wanted.contains(c))?;
        self.rest = &self.rest[found.len_utf8()..];
        Some(found)
    }

    fn sum(&mut self) -> Option<f64> {
        let mut value = self.product()?;
        while let Some(sign) = self.take(&['+', '-']) {
            let right = self.product()?;
            value = if sign == '+' { value + right } else { value - right };
        }
        Some(value)
    }

    fn product(&mut self) -> Option<f64> {
        let mut value = self.power()?;
        while let Some(sign) = self.take(&['*', '/', '%']) {
            let right = self.power()?;
            if sign != '*' && right == 0.0 {
                return None;
            }
            value = match sign {
                '*' => value * right,
                '/' if self.units == Units::None => (value / right).trunc(),
                '/' => value / right,
                _ => value % right,
            };
        }
        Some(value)
    }

    fn power(&mut self) -> Option<f64> {
        let base = self.signed()?;
        if self.take(&['^']).is_none() {
            return Some(base);
        }
        self.deeper(|parser| parser.power()).map(|exponent| base.powf(exponent))
    }

    fn signed(&mut self) -> Option<f64> {
        if self.take(&['-']).is_some() {
            return self.deeper(|parser| parser.signed()).map(|value| -value);
        }
        if self.take(&['(']).is_some() {
            let value = self.deeper(|parser| parser.sum())?;
            self.take(&[')'])?;
            return Some(value * self.unit());
        }
        self.number()
    }

    fn deeper(&mut self, inner: impl FnOnce(&mut Self) -> Option<f64>) -> Option<f64> {
        if self.depth >= DEPTH_MAX {
            return None;
        }
        self.depth += 1;
        let value = inner(self);
        self.depth -= 1;
        value
    }

    fn number(&mut self) -> Option<f64> {
        self.blanks();
        let hex = self.rest.starts_with("0x");
        let length = self
            .rest
            .bytes()
            .enumerate()
            .take_while(|(index, b)| match b {
                b'0'..=b'9' => true,
                b'.' => !hex,
                b'x' => hex && *index == 1,
                b'a'..=b'f' | b'A'..=b'F' => hex,
                _ => false,
            })
            .count();
        let (digits, rest) = self.rest.split_at(length);
        let value = if hex {
            #[expect(clippy::cast_precision_loss, reason = "sizes stay far below 2^53")]
            let value = u64::from_str_radix(digits.strip_prefix("0x")?, 16).ok()? as f64;
            value
        } else {
            digits.parse().ok()?
        };
        self.rest = rest;
        Some(value * self.unit())
    }

    /// The factor of the unit that stands here; 1 if none. An unknown word is left, and ends the expression with an error.
    fn unit(&mut self) -> f64 {
        let length = self.rest.bytes().take_while(u8::is_ascii_alphabetic).count();
        let word = self.rest[..length].to_ascii_lowercase();
        let factor = match self.units {
            Units::Bytes { kb_base } => byte_unit(&word, kb_base),
            Units::Time { .. } => time_unit(&word),
            Units::None => None,
        };
        match factor {
            Some(factor) if length > 0 => {
                self.rest = &self.rest[length..];
                self.unit_seen = true;
                factor
            }
            _ => 1.0,
        }
    }
}

fn byte_unit(word: &str, kb_base: u32) -> Option<f64> {
    if word == "b" {
        return Some(1.0);
    }
    let power = match word.bytes().next()? {
        b'k' => 1,
        b'm' => 2,
        b'g' => 3,
        b't' => 4,
        b'p' => 5,
        _ => return None,
    };
    let base = match &word[1..] {
        "" | "b" => f64::from(kb_base),
        "ib" => {
            if kb_base == 1024 {
                1000.0
            } else {
                1024.0
            }
        }
        _ => return None,
    };
    Some(base.powi(power))
}

fn time_unit(word: &str) -> Option<f64> {
    Some(match word {
        "us" | "usec" => 1.0,
        "ms" | "msec" => 1e3,
        "s" => 1e6,
        "m" => 60e6,
        "h" => 3600e6,
        "d" => 86400e6,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_precedence() {
        let bytes = |text| evaluate(text, Units::Bytes { kb_base: 1024 });
        assert_eq!(bytes("(2*4k)"), Some(8192.0));
        assert_eq!(bytes("(1+2*3)"), Some(7.0));
        assert_eq!(bytes("((1+2)*3)k"), Some(9216.0));
        assert_eq!(bytes("(2^3^2)"), Some(512.0));
        assert_eq!(bytes("(1/0)"), None);
        assert_eq!(bytes("(1"), None);
        assert_eq!(bytes("(4foo)"), None);
    }

    #[test]
    fn time_counts_in_seconds_unless_a_unit_stands() {
        let time = |text| evaluate(text, Units::Time { seconds: true });
        assert_eq!(time("(30+30)"), Some(60e6));
        assert_eq!(time("(500ms*3)"), Some(1.5e6));
    }

    #[test]
    fn bc_divides_whole_numbers() {
        assert_eq!(evaluate("7/2*2", Units::None), Some(6.0));
        assert_eq!(evaluate("10*1000*7983", Units::None), Some(79_830_000.0));
        assert_eq!(evaluate("8*4k", Units::None), None);
    }

    #[test]
    fn deep_nesting_is_refused_not_a_crash() {
        assert_eq!(evaluate(&"(".repeat(100_000), Units::None), None);
        assert_eq!(evaluate(&"-".repeat(100_000), Units::None), None);
        assert_eq!(evaluate(&format!("1{}", "^1".repeat(100_000)), Units::None), None);
    }
}
