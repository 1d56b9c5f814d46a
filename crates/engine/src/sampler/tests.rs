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

/// What is passed on of a job, added up by number: counts, extent, and whether it is of the ramp.
type Merged = BTreeMap<u32, (u64, u64, u64, bool)>;

fn merge(into: &mut Merged, event: HostEvent) {
    let HostEvent::Interval(interval) = event else { return };
    let key = &interval.key;
    let end_ns = key.start_ns + key.length_ns;
    let known = into.entry(key.index).or_insert((0, key.start_ns, end_ns, key.ramp));
    known.0 += interval.counts.ops[0].ios;
    (known.1, known.2) = (known.1.min(key.start_ns), known.2.max(end_ns));
    assert_eq!(known.3, key.ramp, "interval {} is of the ramp or it is not", key.index);
}

/// The same intervals of three threads, as the real driver takes them (a look at everybody once a period) and as the
/// simulated one does (a look at the thread that has ended one): one late, one missing for so long that its interval comes
/// twice, two of the ramp.
#[test]
fn real_and_simulated_time_pass_on_the_same() {
    // What each thread publishes, period by period.
    let published: [[&[u32]; 3]; 8] = [
        [&[0], &[], &[0]],
        [&[1], &[0], &[]],
        [&[2], &[1], &[]],
        [&[3], &[2], &[]],
        [&[4], &[3], &[]],
        [&[5], &[4, 5], &[]],
        [&[6], &[6], &[1, 2, 3]],
        [&[], &[], &[6]],
    ];
    let pass_on = |simulated: bool| {
        let threads = [(); 3].map(|()| Thread::at(0));
        let taken = threads.iter().map(|thread| (0, Arc::clone(thread) as Arc<dyn Intervals>)).collect();
        let mut sampler = Sampler::new(taken, 0, 1000, vec![1200]);
        let (mut merged, mut events) = (Merged::new(), 0);
        let mut sink = |event| {
            events += 1;
            merge(&mut merged, event);
        };
        for period in published {
            for (number, (thread, indices)) in threads.iter().zip(period).enumerate() {
                for &index in indices {
                    thread.publish(index, 1 << number);
                    if simulated {
                        sampler.collect_from(number, &mut sink);
                    }
                }
            }
            if !simulated {
                sampler.collect(&mut sink);
            }
        }
        for (number, thread) in threads.iter().enumerate() {
            *thread.current.lock().unwrap() = None;
            if simulated {
                sampler.collect_from(number, &mut sink);
            }
        }
        if !simulated {
            sampler.collect(&mut sink);
            sampler.finish(&mut sink);
        }
        (merged, events)
    };
    let ((real, real_events), (simulated, simulated_events)) = (pass_on(false), pass_on(true));
    assert_eq!(real, simulated);
    let counts: Vec<u64> = real.values().map(|entry| entry.0).collect();
    assert_eq!(counts, [7, 7, 7, 7, 3, 3, 7], "nothing is lost and nothing counted twice");
    assert_eq!(real.values().filter(|entry| entry.3).count(), 2, "of the ramp");
    assert_eq!(simulated_events, 7, "in virtual time each interval comes once");
    assert!(real_events > simulated_events, "in real time a thread that hangs is not waited for");
}
