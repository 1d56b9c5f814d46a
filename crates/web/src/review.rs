//! What was shown before a run is started: only that is started, and once.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use crate::secret::Secrets;
use crate::station::{Proposal, Wanted};

/// Reviews that wait for their confirmation; older ones are void.
const REVIEWS_MAX: usize = 32;

/// Reviews that were shown and not confirmed yet, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Reviews(Mutex<Shown>);

#[derive(Debug, Default)]
struct Shown {
    /// How many there were.
    count: u64,
    open: VecDeque<Review>,
}

/// One of them.
#[derive(Debug)]
pub(crate) struct Review {
    word: String,
    /// What was asked for.
    pub(crate) wanted: Wanted,
    /// What it would do, as it was shown.
    pub(crate) proposal: Proposal,
}

impl Review {
    /// Whether `now` does to the targets what was shown. Draws, such as seeds, and estimates of time may differ.
    pub(crate) fn shows(&self, now: &Proposal) -> bool {
        let shown = &self.proposal;
        (&shown.title, &shown.writes, &shown.targets) == (&now.title, &now.writes, &now.targets)
    }
}

impl Reviews {
    /// Notes what a page is about to show, and gives the word by which that can be started.
    pub(crate) fn show(&self, secrets: &Secrets, wanted: &Wanted, proposal: &Proposal) -> String {
        let mut shown = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        shown.count += 1;
        let word = secrets.review(shown.count);
        let review = Review { word: word.clone(), wanted: wanted.clone(), proposal: proposal.clone() };
        shown.open.push_back(review);
        if shown.open.len() > REVIEWS_MAX {
            shown.open.pop_front();
        }
        word
    }

    /// What was shown with this word, which is void from now on; `None`: nothing was, or it was started already.
    pub(crate) fn take(&self, word: &str) -> Option<Review> {
        let mut shown = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = shown.open.iter().position(|review| review.word == word)?;
        shown.open.remove(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_review_is_good_for_one_start() {
        let (reviews, secrets) = (Reviews::default(), Secrets::new([1; 32]));
        let wanted = Wanted::Quick { directory: "/d".to_owned(), series: "s".to_owned(), test: None };
        let proposal = Proposal {
            title: "t".to_owned(),
            writes: None,
            targets: Vec::new(),
            expected_s: Some(1.0),
            plan: "seed 1".to_owned(),
        };
        let word = reviews.show(&secrets, &wanted, &proposal);
        assert!(reviews.take("").is_none());
        let review = reviews.take(&word).expect("it was shown");
        assert_eq!(review.wanted, wanted);
        assert!(review.shows(&Proposal { plan: "seed 2".to_owned(), expected_s: None, ..proposal.clone() }));
        assert!(!review.shows(&Proposal { writes: Some("writes".to_owned()), ..proposal.clone() }));
        assert!(reviews.take(&word).is_none(), "once");
        for _ in 0..REVIEWS_MAX {
            reviews.show(&secrets, &wanted, &proposal);
        }
        let first = reviews.show(&secrets, &wanted, &proposal);
        for _ in 0..REVIEWS_MAX {
            reviews.show(&secrets, &wanted, &proposal);
        }
        assert!(reviews.take(&first).is_none(), "an old one is void");
    }
}
