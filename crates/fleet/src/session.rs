//! One side of a conversation: messages with numbers, kept until they are acknowledged, so that a stream that breaks can be replaced
//! by another without losing one. It does no I/O.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::frame::{Frame, FrameError};

/// Messages of one side, and what it has received of the other.
#[derive(Debug, Default)]
pub struct Session {
    /// The number of the last message.
    last: u64,
    /// Messages that are not acknowledged, oldest first, as frames.
    kept: VecDeque<(u64, Arc<[u8]>)>,
    /// How many of `kept` were handed out on this stream.
    handed: usize,
    /// Frames that are not kept, to go first.
    urgent: VecDeque<Arc<[u8]>>,
    /// The number up to which all messages were received.
    received: u64,
    /// What the other side was told of that.
    acknowledged: u64,
}

impl Session {
    /// Adds a message.
    pub fn send(&mut self, payload: Vec<u8>) {
        self.last += 1;
        let frame = Frame::Data { number: self.last, payload }.encode();
        self.kept.push_back((self.last, frame.into()));
    }

    /// Adds a frame that need not arrive, and goes before messages.
    pub fn send_urgent(&mut self, frame: &Frame) {
        self.urgent.push_back(frame.encode().into());
    }

    /// The bytes that go out next; `None`: there is nothing to send.
    pub fn next_bytes(&mut self) -> Option<Arc<[u8]>> {
        if let Some(frame) = self.urgent.pop_front() {
            return Some(frame);
        }
        if self.acknowledged < self.received {
            self.acknowledged = self.received;
            return Some(Frame::Ack { received: self.received }.encode().into());
        }
        let (_, frame) = self.kept.get(self.handed)?;
        self.handed += 1;
        Some(Arc::clone(frame))
    }

    /// Whether the other side has acknowledged all messages.
    pub fn is_delivered(&self) -> bool {
        self.kept.is_empty()
    }

    /// Whether the other side was sent that all its messages were received.
    pub fn has_acknowledged(&self) -> bool {
        self.acknowledged == self.received
    }

    /// What was received, for a [`Frame::Resume`].
    pub fn received(&self) -> u64 {
        self.received
    }

    /// Takes a message of the other side; `None`: it had come before.
    ///
    /// # Errors
    /// [`FrameError::Gap`].
    pub fn receive(&mut self, number: u64, payload: Vec<u8>) -> Result<Option<Vec<u8>>, FrameError> {
        let expected = self.received + 1;
        if number > expected {
            return Err(FrameError::Gap { found: number, expected });
        }
        if number < expected {
            // Its acknowledgement was lost with the stream.
            self.acknowledged = 0;
            return Ok(None);
        }
        self.received = number;
        Ok(Some(payload))
    }

    /// The other side has all messages up to `received`.
    pub fn acknowledge(&mut self, received: u64) {
        while self.kept.front().is_some_and(|(number, _)| *number <= received) {
            self.kept.pop_front();
            self.handed = self.handed.saturating_sub(1);
        }
    }

    /// Goes on over another stream: the other side has all messages up to `received`, and gets the others again.
    pub fn resume(&mut self, received: u64) {
        self.acknowledge(received);
        (self.handed, self.acknowledged) = (0, self.received);
        self.urgent.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::FrameReader;

    /// Carries all of `from` to `to`, of which only `frames` arrive.
    fn carry(from: &mut Session, to: &mut Session, frames: usize) -> Vec<Vec<u8>> {
        let mut reader = FrameReader::default();
        let mut arrived = Vec::new();
        for sent in std::iter::from_fn(|| from.next_bytes()).collect::<Vec<_>>().iter().take(frames) {
            reader.push(sent);
        }
        while let Some(frame) = reader.next_frame().expect("frames") {
            match frame {
                Frame::Data { number, payload } => {
                    arrived.extend(to.receive(number, payload).expect("no gap"));
                }
                Frame::Ack { received } => to.acknowledge(received),
                _ => {}
            }
        }
        arrived
    }

    #[test]
    fn nothing_is_lost_and_nothing_comes_twice_over_a_stream_that_breaks() {
        let (mut worker, mut coordinator) = (Session::default(), Session::default());
        (0..5_u8).for_each(|n| worker.send(vec![n]));
        assert_eq!(carry(&mut worker, &mut coordinator, 3), [[0], [1], [2]]);
        // The stream breaks with two messages and the acknowledgement on the way.
        assert!(!worker.is_delivered());
        worker.resume(coordinator.received());
        coordinator.resume(0);
        worker.send(vec![5]);
        assert_eq!(carry(&mut worker, &mut coordinator, 9), [[3], [4], [5]]);
        assert_eq!(carry(&mut coordinator, &mut worker, 9), Vec::<Vec<u8>>::new());
        assert!(worker.is_delivered());
    }

    #[test]
    fn what_came_before_is_acknowledged_again() {
        let (mut worker, mut coordinator) = (Session::default(), Session::default());
        worker.send(vec![1]);
        carry(&mut worker, &mut coordinator, 1);
        // The acknowledgement is lost, and the worker knows no better.
        while coordinator.next_bytes().is_some() {}
        worker.resume(0);
        assert!(carry(&mut worker, &mut coordinator, 1).is_empty());
        carry(&mut coordinator, &mut worker, 1);
        assert!(worker.is_delivered());
    }

    #[test]
    fn a_gap_is_an_error() {
        let mut session = Session::default();
        assert_eq!(session.receive(2, Vec::new()), Err(FrameError::Gap { found: 2, expected: 1 }));
    }
}
