//! Answers that are given later than they are known, or not before something is said.

use std::io;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Gives an answer: the one that is known, or an errno.
pub(crate) type Answer = Box<dyn FnOnce(Option<i32>) + Send>;

#[derive(Default)]
struct Waiting {
    due: Vec<(Instant, Answer)>,
    parked: Vec<Answer>,
    /// When the last of those that are answered one by one is.
    queue_end: Option<Instant>,
    ended: bool,
}

/// Answers that wait, and the thread that gives them.
#[derive(Default)]
pub(crate) struct Late {
    waiting: Mutex<Waiting>,
    changed: Condvar,
}

impl std::fmt::Debug for Late {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Late").field("parked", &self.parked()).finish_non_exhaustive()
    }
}

impl Late {
    pub(crate) fn start() -> io::Result<Arc<Late>> {
        let late = Arc::new(Late::default());
        let gives = Arc::clone(&late);
        thread::Builder::new().name("faultfs-late".to_owned()).spawn(move || gives.run())?;
        Ok(late)
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        let mut waiting = self.waiting();
        while !waiting.ended {
            let now = Instant::now();
            let mut next = Duration::from_secs(3600);
            let mut index = 0;
            while index < waiting.due.len() {
                let left = waiting.due[index].0.saturating_duration_since(now);
                if left.is_zero() {
                    (waiting.due.swap_remove(index).1)(None);
                } else {
                    next = next.min(left);
                    index += 1;
                }
            }
            waiting = self.changed.wait_timeout(waiting, next).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// To be given after `delay`.
    pub(crate) fn after(&self, delay: Duration, answer: Answer) {
        self.at(|_| Instant::now() + delay, answer);
    }

    /// To be given `service` after the last of those before it.
    pub(crate) fn queue(&self, service: Duration, answer: Answer) {
        let due = |waiting: &mut Waiting| {
            let now = Instant::now();
            let due = waiting.queue_end.map_or(now, |end| end.max(now)) + service;
            waiting.queue_end = Some(due);
            due
        };
        self.at(due, answer);
    }

    fn at(&self, due: impl FnOnce(&mut Waiting) -> Instant, answer: Answer) {
        let mut waiting = self.waiting();
        if waiting.ended {
            return answer(None);
        }
        let due = due(&mut waiting);
        waiting.due.push((due, answer));
        self.changed.notify_one();
    }

    /// To be given when [`Late::release`] says so.
    pub(crate) fn park(&self, answer: Answer) {
        let mut waiting = self.waiting();
        if waiting.ended {
            return answer(None);
        }
        waiting.parked.push(answer);
    }

    pub(crate) fn parked(&self) -> usize {
        self.waiting().parked.len()
    }

    pub(crate) fn release(&self) -> usize {
        let parked = std::mem::take(&mut self.waiting().parked);
        let count = parked.len();
        parked.into_iter().for_each(|answer| answer(None));
        count
    }

    /// All that wait are answered with an errno.
    pub(crate) fn fail(&self, errno: i32) {
        let mut waiting = self.waiting();
        let due = std::mem::take(&mut waiting.due).into_iter().map(|(_, answer)| answer);
        let all: Vec<Answer> = due.chain(std::mem::take(&mut waiting.parked)).collect();
        drop(waiting);
        all.into_iter().for_each(|answer| answer(Some(errno)));
    }

    /// Nothing waits from now on.
    pub(crate) fn end(&self) {
        self.waiting().ended = true;
        self.changed.notify_one();
        self.release();
        let due = std::mem::take(&mut self.waiting().due);
        due.into_iter().for_each(|(_, answer)| answer(None));
    }
}
