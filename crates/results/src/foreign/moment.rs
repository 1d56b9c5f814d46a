//! Moments of a run in the spellings of other tools. Always UTC: a run does not say in which zone its reader lives.

use jiff::{SignedDuration, Timestamp, tz::TimeZone};

/// A moment; the start of 1970 where a text does not say one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment(Timestamp);

impl Moment {
    /// From RFC 3339.
    pub fn parse(text: &str) -> Self {
        Moment(text.parse().unwrap_or(Timestamp::UNIX_EPOCH))
    }

    /// Some time later; itself where that is beyond the calendar.
    pub fn plus_seconds(self, seconds: f64) -> Self {
        let later = SignedDuration::try_from_secs_f64(seconds)
            .ok()
            .and_then(|duration| self.0.checked_add(duration).ok());
        later.map_or(self, Moment)
    }

    /// Milliseconds since 1970; 0 before.
    pub fn unix_ms(self) -> u64 {
        u64::try_from(self.0.as_millisecond()).unwrap_or(0)
    }

    /// `Sat Nov 21 21:57:39 2026`.
    pub fn ctime(self) -> String {
        self.format("%a %b %e %H:%M:%S %Y")
    }

    /// By the letters of strftime.
    pub fn format(self, format: &str) -> String {
        self.0.to_zoned(TimeZone::UTC).strftime(format).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_spelled_as_others_do() {
        let moment = Moment::parse("2026-11-01T21:57:39Z").plus_seconds(1.5);
        assert_eq!(moment.ctime(), "Sun Nov  1 21:57:40 2026");
        assert_eq!(moment.unix_ms(), 1793570260500);
        assert_eq!(moment.format("%H:%M:%S%.3f"), "21:57:40.500");
    }

    #[test]
    fn nonsense_is_a_moment_too() {
        assert_eq!(Moment::parse("yesterday").unix_ms(), 0);
        assert_eq!(Moment::parse("").plus_seconds(f64::NAN), Moment::parse(""));
        assert_eq!(Moment::parse("").plus_seconds(1e300), Moment::parse(""));
    }
}
