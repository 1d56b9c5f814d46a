//! A coordinator that runs elsewhere, and a program that follows it: what it says while it measures, and its run at the end.
//!
//! A stream may break at any moment, and the next one begins from the start: the follower leaves out what it has seen. It may answer with
//! one byte, [`STOP`].

use crate::frame::{Frame, FrameError, FrameReader};

/// From the follower: stop, and keep what was measured.
pub const STOP: u8 = b's';
/// What is sent of a run in one frame.
pub const PIECE_BYTES: usize = 1 << 20;

/// What a coordinator tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// It said so on stderr; also sent with nothing, as a sign of life.
    Said(Vec<u8>),
    /// The next part of its run, as a bundle.
    Piece(Vec<u8>),
    /// It has ended, with this status; all parts came before.
    Ended(u8),
}

impl Told {
    /// As the frame with this number.
    pub fn encode(&self, number: u64) -> Vec<u8> {
        let (kind, bytes): (u8, &[u8]) = match self {
            Told::Said(bytes) => (0, bytes),
            Told::Piece(bytes) => (1, bytes),
            Told::Ended(status) => (2, std::slice::from_ref(status)),
        };
        Frame::Data { number, payload: [&[kind], bytes].concat() }.encode()
    }

    fn decode(payload: &[u8]) -> Option<Told> {
        Some(match payload.split_first()? {
            (0, bytes) => Told::Said(bytes.to_vec()),
            (1, bytes) => Told::Piece(bytes.to_vec()),
            (2, [status]) => Told::Ended(*status),
            _ => return None,
        })
    }
}

/// How a coordinator ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// The status of its process.
    pub status: u8,
    /// Its run as a bundle; empty: there is none.
    pub bundle: Vec<u8>,
}

/// What has come over one stream after the other.
#[derive(Debug)]
pub struct Follower {
    reader: FrameReader,
    /// Bytes of the longest bundle that is taken.
    bundle_bytes_max: usize,
    /// The number of the last frame of this stream.
    number: u64,
    /// Bytes that were passed on, and those that this stream has said again.
    shown: usize,
    said: usize,
    bundle: Vec<u8>,
}

impl Follower {
    /// Takes a run of so many bytes at most.
    pub fn new(bundle_bytes_max: usize) -> Self {
        let reader = FrameReader::default();
        Follower { reader, bundle_bytes_max, number: 0, shown: 0, said: 0, bundle: Vec::new() }
    }

    /// What comes next is another stream.
    pub fn begin(&mut self) {
        let Follower { bundle_bytes_max, shown, .. } = *self;
        *self = Follower { shown, ..Follower::new(bundle_bytes_max) };
    }

    /// Takes what has arrived, and passes on what was not said before.
    ///
    /// # Errors
    /// [`FrameError`]: this is no stream of a coordinator.
    pub fn take(&mut self, bytes: &[u8], say: &mut dyn FnMut(&[u8])) -> Result<Option<Ended>, FrameError> {
        self.reader.push(bytes);
        while let Some(frame) = self.reader.next_frame()? {
            let Frame::Data { number, payload } = frame else { return Err(FrameError::Content) };
            if number != self.number + 1 {
                return Err(FrameError::Gap { found: number, expected: self.number + 1 });
            }
            self.number = number;
            match Told::decode(&payload).ok_or(FrameError::Content)? {
                Told::Said(said) => self.pass_on(&said, say),
                Told::Piece(piece) => {
                    let length = self.bundle.len() + piece.len();
                    if length > self.bundle_bytes_max {
                        return Err(FrameError::TooLong { bytes: length as u64 });
                    }
                    self.bundle.extend(piece);
                }
                Told::Ended(status) => {
                    return Ok(Some(Ended { status, bundle: std::mem::take(&mut self.bundle) }));
                }
            }
        }
        Ok(None)
    }

    fn pass_on(&mut self, said: &[u8], say: &mut dyn FnMut(&[u8])) {
        let known = self.shown.saturating_sub(self.said).min(said.len());
        self.said += said.len();
        self.shown = self.shown.max(self.said);
        if known < said.len() {
            say(&said[known..]);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stream() -> Vec<u8> {
        let told = [
            Told::Said(b"one\n".to_vec()),
            Told::Said(Vec::new()),
            Told::Said(b"two\n".to_vec()),
            Told::Piece(vec![1; 100]),
            Told::Piece(vec![2; 50]),
            Told::Ended(3),
        ];
        (1..).zip(told).flat_map(|(number, told)| told.encode(number)).collect()
    }

    #[test]
    fn what_is_said_is_passed_on_once_wherever_a_stream_breaks() {
        let whole = stream();
        for cut in 0..whole.len() {
            let (mut follower, mut said) = (Follower::new(1000), Vec::new());
            let mut say = |bytes: &[u8]| said.extend_from_slice(bytes);
            assert_eq!(follower.take(&whole[..cut], &mut say), Ok(None), "{cut}");
            follower.begin();
            let ended = follower.take(&whole, &mut say).expect("a stream").expect("its end");
            assert_eq!((ended.status, ended.bundle.len()), (3, 150), "{cut}");
            assert_eq!(said, b"one\ntwo\n", "{cut}");
        }
    }

    #[test]
    fn what_cannot_be_is_an_error() {
        let mut ignore = |_: &[u8]| ();
        let long = Follower::new(149).take(&stream(), &mut ignore);
        assert_eq!(long, Err(FrameError::TooLong { bytes: 150 }));
        let gap = Follower::new(1000).take(&Told::Ended(0).encode(2), &mut ignore);
        assert_eq!(gap, Err(FrameError::Gap { found: 2, expected: 1 }));
        let other = Follower::new(1000).take(&Frame::Ack { received: 1 }.encode(), &mut ignore);
        assert_eq!(other, Err(FrameError::Content));
        let unknown = Frame::Data { number: 1, payload: vec![9] }.encode();
        assert_eq!(Follower::new(1000).take(&unknown, &mut ignore), Err(FrameError::Content));
    }

    proptest! {
        #[test]
        fn any_frames_do_no_harm(payloads in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..20), 0..20)) {
            let frames = (1..).zip(payloads).flat_map(|(number, payload)| Frame::Data { number, payload }.encode());
            let _ = Follower::new(64).take(&frames.collect::<Vec<u8>>(), &mut |_| ());
        }
    }
}
