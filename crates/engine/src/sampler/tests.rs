use std::sync::Mutex;

use super::*;

/// A thread that publishes what a test says: intervals, and the number it is in.
#[derive(Debug, Default)]
struct Thread {
    published: Mutex<Vec<CompletedInterval>>,
    current: Mutex<Option<u32>>,
    /// Published between the two looks at the thread, whichever is first.
    meanwhile: Mutex<Option<u32>>,
}

impl Thread {
    fn at(current: u32) -> Arc<Thread> {
        Arc::new(Thread { current: Mutex::new(Some(current)), ..Thread::default() })
    }

    fn publish(&self, index: u32, ios: u64) {
        let mut counts = JobCounts::default();
        counts.ops[0].ios = ios;
        let start_ns = 1000 + u64::from(index) * 100;
        self.published.lock().unwrap().push(CompletedInterval {
            index,
            start_ns,
            end_ns: start_ns + 100,
            counts,
        });
        *self.current.lock().unwrap() = Some(index + 1);
    }

    fn publish_meanwhile(&self) {
        let meanwhile = self.meanwhile.lock().unwrap().take();
        meanwhile.into_iter().for_each(|index| self.publish(index, 1));
    }
}

impl Intervals for Thread {
    fn take(&self) -> Vec<CompletedInterval> {
        let taken = std::mem::take(&mut *self.published.lock().unwrap());
        self.publish_meanwhile();
        taken
    }

    fn current(&self) -> Option<u32> {
        let current = *self.current.lock().unwrap();
        self.publish_meanwhile();
        current
    }
}

fn sampler(threads: &[&Arc<Thread>]) -> Sampler {
    let threads = threads.iter().map(|thread| (0, Arc::clone(thread) as Arc<dyn Intervals>)).collect();
    Sampler::new(threads, 0, 1000, vec![1000])
}

/// Numbers and counts of what is passed on by one look.
fn collected(sampler: &mut Sampler) -> Vec<(u32, u64)> {
    let mut seen = Vec::new();
    sampler.collect(&mut |event| {
        if let HostEvent::Interval(interval) = event {
            seen.push((interval.key.index, interval.counts.ops[0].ios));
        }
    });
    seen
}

#[test]
fn an_interval_waits_for_all_threads() {
    let (a, b) = (Thread::at(0), Thread::at(0));
    let mut sampler = sampler(&[&a, &b]);
    a.publish(0, 10);
    assert_eq!(collected(&mut sampler), []);
    b.publish(0, 5);
    assert_eq!(collected(&mut sampler), [(0, 15)]);
}

#[test]
fn what_is_published_during_a_look_is_not_taken_for_missing() {
    let (a, b) = (Thread::at(0), Thread::at(0));
    let mut sampler = sampler(&[&a, &b]);
    a.publish(0, 10);
    *b.meanwhile.lock().unwrap() = Some(0);
    let seen = [collected(&mut sampler), collected(&mut sampler)].concat();
    assert_eq!(seen, [(0, 11)], "one interval, in which both threads are");
}

#[test]
fn a_thread_that_hangs_does_not_silence_its_job() {
    let (a, b) = (Thread::at(0), Thread::at(0));
    let mut sampler = sampler(&[&a, &b]);
    let mut seen = Vec::new();
    for index in 0..6 {
        a.publish(index, 10);
        seen.extend(collected(&mut sampler));
    }
    assert_eq!(seen, [(0, 10), (1, 10), (2, 10), (3, 10)], "two periods late");
    // It comes back: what it has is added to what is open, and is one more interval of what has been passed on.
    b.publish(0, 3);
    b.publish(5, 4);
    assert_eq!(collected(&mut sampler), [(0, 3), (4, 10), (5, 14)]);
}
