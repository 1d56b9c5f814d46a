//! Dirty pages: admitted while there is room, written to the drives in the background.

use assay_workload::rng::Rng;

use super::pages::PageSet;
use crate::model::{Cache, Policy, WriteBack};
use crate::service::Timing;

/// A run of pages to write to the drives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) first: u64,
    pub(crate) pages: u32,
}

/// The write side of a cache.
#[derive(Debug)]
pub(crate) struct DirtyPages {
    pages: PageSet,
    pages_max: usize,
    destage_above: usize,
    run_max: u32,
    /// Pages on their way to the drives; they hold their room until they are there.
    leaving: usize,
    outstanding: u32,
    outstanding_max: u32,
    pub(crate) service: Timing,
    pub(crate) absorbed: u64,
    pub(crate) destaged: u64,
    pub(crate) stalled: u64,
}

impl DirtyPages {
    pub(crate) fn new(cache: &Cache, write_back: &WriteBack) -> DirtyPages {
        let pages_max = (write_back.dirty_max.0 / cache.page.0).max(1) as usize;
        DirtyPages {
            pages: PageSet::new(pages_max, Policy::Fifo),
            pages_max,
            destage_above: (pages_max as f64 * write_back.destage_above) as usize,
            run_max: (write_back.destage_max.0 / cache.page.0).clamp(1, 1 << 16) as u32,
            leaving: 0,
            outstanding: 0,
            outstanding_max: write_back.destage_outstanding,
            service: Timing::from(&write_back.service),
            absorbed: 0,
            destaged: 0,
            stalled: 0,
        }
    }

    /// The most pages one write may have; larger ones go to the drives directly.
    pub(crate) fn write_pages_max(&self) -> u64 {
        self.pages_max as u64 / 2
    }

    pub(crate) fn len(&self) -> usize {
        self.pages.len() + self.leaving
    }

    pub(crate) fn contains(&self, page: u64) -> bool {
        self.pages.contains(page)
    }

    /// Takes the pages in if there is room for those that are not dirty yet.
    pub(crate) fn admit(&mut self, pages: std::ops::RangeInclusive<u64>, rng: &mut Rng) -> bool {
        let new = pages.clone().filter(|page| !self.pages.contains(*page)).count();
        if self.len() + new > self.pages_max {
            return false;
        }
        for page in pages {
            if self.pages.contains(page) {
                self.absorbed += 1;
            } else {
                self.pages.insert(page, rng);
            }
        }
        true
    }

    /// The oldest dirty page and the dirty ones behind it, if it is time to write some.
    pub(crate) fn next_run(&mut self) -> Option<Run> {
        if self.outstanding >= self.outstanding_max || self.len() <= self.destage_above {
            return None;
        }
        let first = self.pages.pop_oldest()?;
        let mut pages = 1;
        while pages < self.run_max && self.pages.remove(first + u64::from(pages)) {
            pages += 1;
        }
        self.leaving += pages as usize;
        self.outstanding += 1;
        Some(Run { first, pages })
    }

    /// A run has reached the drives.
    pub(crate) fn destaged(&mut self, pages: u32) {
        self.leaving -= pages as usize;
        self.outstanding -= 1;
        self.destaged += u64::from(pages);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Service;
    use crate::model::Size;

    fn dirty_pages(destage_above: f64) -> DirtyPages {
        let write_back = WriteBack {
            dirty_max: Size(10 * 4096),
            service: Service::ZERO,
            destage_above,
            destage_outstanding: 2,
            destage_max: Size(4 * 4096),
        };
        let cache = Cache {
            size: Size(1 << 20),
            page: Size(4096),
            policy: Policy::Lru,
            hit: Service::ZERO,
            miss: Service::ZERO,
            write_allocate: true,
            write_back: None,
        };
        DirtyPages::new(&cache, &write_back)
    }

    #[test]
    fn room_is_held_until_pages_have_reached_the_drives() {
        let mut rng = Rng::new(1);
        let mut dirty = dirty_pages(0.0);
        assert!(dirty.admit(0..=5, &mut rng) && dirty.admit(100..=103, &mut rng));
        assert!(!dirty.admit(200..=200, &mut rng));
        assert!(dirty.admit(3..=4, &mut rng), "dirty already");
        assert_eq!(dirty.absorbed, 2);
        assert_eq!(dirty.next_run(), Some(Run { first: 0, pages: 4 }));
        assert_eq!(dirty.next_run(), Some(Run { first: 4, pages: 2 }));
        assert_eq!(dirty.next_run(), None, "two at a time");
        assert!(!dirty.admit(200..=200, &mut rng));
        dirty.destaged(4);
        assert!(dirty.admit(200..=203, &mut rng));
        assert_eq!(dirty.next_run(), Some(Run { first: 100, pages: 4 }));
    }

    #[test]
    fn below_its_threshold_nothing_is_written() {
        let mut rng = Rng::new(1);
        let mut dirty = dirty_pages(0.5);
        assert!(dirty.admit(0..=4, &mut rng));
        assert_eq!(dirty.next_run(), None);
        assert!(dirty.admit(50..=50, &mut rng));
        assert_eq!(dirty.next_run(), Some(Run { first: 0, pages: 4 }));
    }
}
