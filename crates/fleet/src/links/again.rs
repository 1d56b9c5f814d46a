//! Connections that are made anew, each on a thread of its own: what makes them waits.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use crate::launch::Connection;

/// Connects again to a worker, by its number.
pub(crate) type Again = Arc<dyn Fn(usize) -> io::Result<Connection> + Send + Sync>;

/// How long it is waited after a connection that could not be made.
const PAUSE_NS: u64 = 500_000_000;

type Made = (usize, io::Result<Connection>);

/// Makes connections anew.
pub(super) struct Reconnect {
    again: Again,
    made: Receiver<Made>,
    tell: Sender<Made>,
    under_way: BTreeMap<usize, JoinHandle<()>>,
    /// When those are tried again that failed.
    not_before_ns: BTreeMap<usize, u64>,
}

impl Reconnect {
    pub(super) fn new(again: Again) -> Self {
        let (tell, made) = channel();
        Reconnect { again, made, tell, under_way: BTreeMap::new(), not_before_ns: BTreeMap::new() }
    }

    /// Begins to connect to a worker, unless that goes on or has just failed.
    pub(super) fn ask(&mut self, worker: usize, now_ns: u64) {
        let waits = self.not_before_ns.get(&worker).is_some_and(|until_ns| now_ns < *until_ns);
        if waits || self.under_way.contains_key(&worker) {
            return;
        }
        self.not_before_ns.insert(worker, now_ns + PAUSE_NS);
        let (again, tell) = (Arc::clone(&self.again), self.tell.clone());
        let connect = move || drop(tell.send((worker, again(worker))));
        // Where no thread can be had, it is asked for again.
        if let Ok(thread) = std::thread::Builder::new().name("assay-reconnect".to_owned()).spawn(connect) {
            self.under_way.insert(worker, thread);
        }
    }

    /// What came of those that were begun.
    pub(super) fn made(&mut self) -> Vec<Made> {
        let made: Vec<Made> = self.made.try_iter().collect();
        for (worker, _) in &made {
            let thread = self.under_way.remove(worker);
            thread.map(JoinHandle::join);
        }
        made
    }
}

impl Drop for Reconnect {
    fn drop(&mut self) {
        // They hold what holds the workers, which goes with the run.
        while let Some((_, thread)) = self.under_way.pop_first() {
            let _ = thread.join();
        }
    }
}
