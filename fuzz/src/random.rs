//! Draws that follow from libFuzzer's seed alone, so that a run can be repeated.

/// Sebastiano Vigna's splitmix64.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The draws of a seed.
    pub fn new(seed: u32) -> Self {
        Random(u64::from(seed))
    }

    /// Any number.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        x ^ (x >> 31)
    }

    /// A number below `end`; 0 where there is none.
    pub fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }

    /// True with probability 1 in this number.
    pub fn one_in(&mut self, number: usize) -> bool {
        self.below(number) == 0
    }

    /// One of a list that is not empty.
    pub fn pick<'t, T>(&mut self, list: &'t [T]) -> &'t T {
        &list[self.below(list.len())]
    }

    /// A whole number near `old`, or one at which programs err.
    pub fn number(&mut self, old: u64) -> u64 {
        const ODD: &[u64] = &[
            0,
            1,
            2,
            3,
            7,
            8,
            16,
            64,
            99,
            100,
            101,
            255,
            256,
            511,
            512,
            1000,
            4095,
            4096,
            65_535,
            65_536,
            1 << 20,
            u32::MAX as u64 - 1,
            u32::MAX as u64,
            1 << 32,
            1 << 40,
            i64::MAX as u64,
            u64::MAX,
        ];
        match self.below(8) {
            0 => old.saturating_add(1),
            1 => old.saturating_sub(1),
            2 => old.saturating_mul(2),
            3 => old / 2,
            4 => old.saturating_mul(10),
            5 => self.next() % 100,
            _ => *self.pick(ODD),
        }
    }

    /// `text` with one of its numbers changed; the same where it has none.
    pub fn with_another_number(&mut self, text: &str) -> String {
        let bytes = text.as_bytes();
        let is_start =
            |at: &usize| bytes[*at].is_ascii_digit() && (*at == 0 || !bytes[*at - 1].is_ascii_digit());
        let starts: Vec<usize> = (0..bytes.len()).filter(is_start).collect();
        if starts.is_empty() {
            return text.to_owned();
        }
        let start = *self.pick(&starts);
        let length = bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (before, rest) = text.split_at(start);
        let (old, behind) = rest.split_at(length);
        format!("{before}{}{behind}", self.number(old.parse().unwrap_or(0)))
    }
}
