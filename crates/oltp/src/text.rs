//! Strings and numbers as the standard draws them (TPC-C 5.11, clauses 2.1.6 and 4.3.2).

use assay_workload::rng::Rng;

/// The syllables of last names, clause 4.3.2.3.
const SYLLABLES: [&str; 10] =
    ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];
/// What marks a tenth of the items, clause 4.3.3.1.
const ORIGINAL: &str = "ORIGINAL";
const LETTERS: &[u8; 52] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/// A whole number of `from` to `to`, both included.
pub(crate) fn between(rng: &mut Rng, from: i64, to: i64) -> i64 {
    from + rng.below((to - from + 1).max(1) as u64) as i64
}

/// Whether something of so many per cent happens.
pub(crate) fn percent(rng: &mut Rng, percent: u64) -> bool {
    rng.below(100) < percent
}

/// Appends `from` to `to` letters.
pub(crate) fn letters(rng: &mut Rng, text: &mut String, from: i64, to: i64) {
    let mut left = between(rng, from, to);
    while left > 0 {
        // Ten letters of one draw.
        let mut draw = rng.next_u64();
        for _ in 0..left.min(10) {
            text.push(char::from(LETTERS[(draw % 52) as usize]));
            draw /= 52;
        }
        left -= 10;
    }
}

/// Appends so many digits.
pub(crate) fn digits(rng: &mut Rng, text: &mut String, number: i64) {
    (0..number).for_each(|_| text.push(char::from(b'0' + rng.below(10) as u8)));
}

/// `i_data` and `s_data`: a tenth of them holds the word.
pub(crate) fn data(rng: &mut Rng, text: &mut String) {
    let start = text.len();
    letters(rng, text, 26, 50);
    if percent(rng, 10) {
        let place = start + rng.below((text.len() - start - ORIGINAL.len() + 1) as u64) as usize;
        text.replace_range(place..place + ORIGINAL.len(), ORIGINAL);
    }
}

/// Appends the last name of a number below 1000.
pub(crate) fn last_name(text: &mut String, number: i64) {
    for digit in [number / 100, number / 10 % 10, number % 10] {
        text.push_str(SYLLABLES[(digit % 10) as usize]);
    }
}

/// The constants of the non-uniform draws, one for each range, clause 2.1.6.1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct NuRand {
    pub(crate) last: i64,
    pub(crate) customer: i64,
    pub(crate) item: i64,
}

impl NuRand {
    /// Those of a load.
    pub(crate) fn of_load(rng: &mut Rng) -> Self {
        NuRand { last: between(rng, 0, 255), customer: between(rng, 0, 1023), item: between(rng, 0, 8191) }
    }

    /// Those of a run on a database that was loaded with `load_last`: the distance between the two constants of last names is fixed.
    pub(crate) fn of_run(rng: &mut Rng, load_last: i64) -> Self {
        let fits = |last: i64| {
            let distance = (last - load_last).abs();
            (65..=119).contains(&distance) && distance != 96 && distance != 112
        };
        let possible: Vec<i64> = (0..=255).filter(|last| fits(*last)).collect();
        let last = possible[rng.below(possible.len() as u64) as usize];
        NuRand { last, ..NuRand::of_load(rng) }
    }

    fn draw(rng: &mut Rng, a: i64, c: i64, from: i64, to: i64) -> i64 {
        ((between(rng, 0, a) | between(rng, from, to)) + c) % (to - from + 1) + from
    }

    /// The number of a last name, below `names`.
    pub(crate) fn last_name(&self, rng: &mut Rng, names: i64) -> i64 {
        Self::draw(rng, 255, self.last, 0, names - 1)
    }

    /// A customer of a district.
    pub(crate) fn customer(&self, rng: &mut Rng, customers: i64) -> i64 {
        Self::draw(rng, 1023, self.customer, 1, customers)
    }

    /// An item.
    pub(crate) fn item(&self, rng: &mut Rng, items: i64) -> i64 {
        Self::draw(rng, 8191, self.item, 1, items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_standard() {
        let name = |number| {
            let mut text = String::new();
            last_name(&mut text, number);
            text
        };
        assert_eq!([0, 371, 999].map(name), ["BARBARBAR", "PRICALLYOUGHT", "EINGEINGEING"]);
    }

    #[test]
    fn draws_stay_in_their_ranges_and_are_not_uniform() {
        let mut rng = Rng::new(1);
        let nurand = NuRand::of_load(&mut rng);
        let mut counts = vec![0_u32; 3001];
        for _ in 0..300_000 {
            counts[nurand.customer(&mut rng, 3000) as usize] += 1;
        }
        assert_eq!(counts[0], 0);
        // Uniform would be 100 +- 10 each.
        assert!(*counts.iter().max().unwrap() > 300, "{:?}", counts.iter().max());
        assert!((0..1000).all(|_| (1..=100_000).contains(&nurand.item(&mut rng, 100_000))));
        assert!((0..1000).all(|_| (0..30).contains(&nurand.last_name(&mut rng, 30))));
    }

    #[test]
    fn the_constants_of_a_run_are_apart_from_those_of_the_load() {
        for load in 0..=255 {
            let mut rng = Rng::new(load as u64);
            let distance = (NuRand::of_run(&mut rng, load).last - load).abs();
            assert!(
                (65..=119).contains(&distance) && distance != 96 && distance != 112,
                "{load}: {distance}"
            );
        }
    }

    #[test]
    fn a_tenth_of_the_data_is_original() {
        let mut rng = Rng::new(5);
        let with = (0..10_000).filter(|_| {
            let mut text = String::new();
            data(&mut rng, &mut text);
            assert!((26..=50).contains(&text.len()), "{text}");
            text.contains(ORIGINAL)
        });
        assert!((850..1150).contains(&with.count()));
    }
}
