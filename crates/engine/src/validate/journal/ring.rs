//! Records on their way from the threads of jobs to the writer: a ring with room for a fixed number of them.
//!
//! A thread that pushes takes the next number with one atomic addition, so that all records have one order. It is also an order in time: of
//! two records, the one with the lower number was pushed before the other one's push ended. Each place says which number it is free for, or
//! holds, as in Dmitry Vyukov's bounded queue.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Looks for room before sleeping between them.
const YIELDS: u32 = 100;
const NAP: Duration = Duration::from_micros(20);

/// A place for one record.
struct Place {
    /// The number of the record that it is free for; one more: it holds that record.
    turn: AtomicU64,
    words: [AtomicU64; 2],
}

pub(super) struct Ring {
    places: Box<[Place]>,
    next: AtomicU64,
}

impl Ring {
    /// With room for so many records: a power of two.
    pub(super) fn new(records: usize) -> Ring {
        let place = |number: usize| Place {
            turn: AtomicU64::new(number as u64),
            words: [AtomicU64::new(0), AtomicU64::new(0)],
        };
        Ring { places: (0..records.next_power_of_two()).map(place).collect(), next: AtomicU64::new(0) }
    }

    fn place(&self, number: u64) -> &Place {
        // The mask is within the length.
        &self.places[number as usize & (self.places.len() - 1)]
    }

    /// Adds a record; its number. Waits for room, unless `closed` is set: then nobody takes it.
    #[inline]
    pub(super) fn push(&self, words: [u64; 2], closed: &AtomicBool) -> u64 {
        let number = self.next.fetch_add(1, Ordering::SeqCst);
        let place = self.place(number);
        if place.turn.load(Ordering::Acquire) != number && !wait_for_turn(place, number, closed) {
            return number;
        }
        place.words[0].store(words[0], Ordering::Relaxed);
        place.words[1].store(words[1], Ordering::Relaxed);
        place.turn.store(number + 1, Ordering::Release);
        number
    }

    /// Takes record `number`, the one behind the last that was taken; `None`: it is not there yet. Of one thread only.
    pub(super) fn take(&self, number: u64) -> Option<[u64; 2]> {
        let place = self.place(number);
        if place.turn.load(Ordering::Acquire) != number + 1 {
            return None;
        }
        let words = [place.words[0].load(Ordering::Relaxed), place.words[1].load(Ordering::Relaxed)];
        place.turn.store(number + self.places.len() as u64, Ordering::Release);
        Some(words)
    }
}

/// Whether the place was free before the ring was closed.
#[cold]
fn wait_for_turn(place: &Place, number: u64, closed: &AtomicBool) -> bool {
    let mut looks = 0;
    while place.turn.load(Ordering::Acquire) != number {
        if closed.load(Ordering::Relaxed) {
            return false;
        }
        if looks < YIELDS {
            std::thread::yield_now();
        } else {
            std::thread::sleep(NAP);
        }
        looks += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::bounded::{PATIENCE, SetOnDrop};

    #[test]
    fn each_record_is_taken_once_in_the_order_of_each_thread() {
        const EACH: u64 = 20_000;
        const THREADS: u64 = 3;
        let (ring, closed) = (Ring::new(64), AtomicBool::new(false));
        let (ring, closed) = (&ring, &closed);
        let begun = Instant::now();
        std::thread::scope(|scope| {
            let _ended = SetOnDrop(closed);
            for thread in 0..THREADS {
                scope.spawn(move || {
                    let mut last = None;
                    for record in 0..EACH {
                        let number = ring.push([thread, record], closed);
                        assert!(last < Some(number), "numbers grow");
                        last = Some(number);
                    }
                });
            }
            let mut seen = [0; THREADS as usize];
            for number in 0..THREADS * EACH {
                let [thread, record] = loop {
                    match ring.take(number) {
                        Some(words) => break words,
                        None => {
                            assert!(begun.elapsed() < PATIENCE, "waited too long for record {number}");
                            std::thread::yield_now();
                        }
                    }
                };
                assert_eq!(seen[thread as usize], record, "thread {thread}");
                seen[thread as usize] += 1;
            }
            assert_eq!((seen, ring.take(THREADS * EACH)), ([EACH; THREADS as usize], None));
        });
    }

    #[test]
    fn who_waits_for_room_does_not_wait_for_ever() {
        let (ring, closed) = (Ring::new(2), AtomicBool::new(false));
        (0..2).for_each(|record| assert_eq!(ring.push([record, 0], &closed), record));
        std::thread::scope(|scope| {
            let _ended = SetOnDrop(&closed);
            let full = scope.spawn(|| ring.push([2, 0], &closed));
            std::thread::sleep(Duration::from_millis(5));
            assert!(!full.is_finished());
            assert_eq!(ring.take(0), Some([0, 0]));
            assert_eq!(full.join().unwrap(), 2);
            let full = scope.spawn(|| ring.push([3, 0], &closed));
            closed.store(true, Ordering::Relaxed);
            full.join().unwrap();
        });
        assert_eq!([ring.take(1), ring.take(2), ring.take(3)], [Some([1, 0]), Some([2, 0]), None]);
    }
}
