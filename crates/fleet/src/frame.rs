//! Frames: what goes over a stream of bytes, with its length and a checksum.
//!
//! `length u32, crc32c u32, body`, little endian; the checksum is of length and body. A body is a kind, its numbers, and for messages the
//! payload. Nothing is taken on trust: memory grows with what has arrived, not with what a length announces.

/// The first bytes that a worker sends, behind whatever a login prints before.
pub const PREAMBLE: &[u8] = b"\nassay-worker-1\n";
/// The version of the protocol: frames and messages.
pub const PROTOCOL: u32 = 1;
/// A longer body is an error on either side. The plan of one host and its largest interval are far below.
pub const BODY_BYTES_MAX: usize = 32 << 20;

/// A longer message has no frame: a kind and a number go before it.
pub const PAYLOAD_BYTES_MAX: usize = BODY_BYTES_MAX - 9;

const HEAD_BYTES: usize = 8;

/// What goes over a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// A message. Numbers go up by one, from 1; it is kept by the sender until it is acknowledged.
    Data {
        /// Its number.
        number: u64,
        /// The message.
        payload: Vec<u8>,
    },
    /// All messages up to this number were received.
    Ack {
        /// The number.
        received: u64,
    },
    /// The first frame on a stream: which messages of the other side were received before, so that it sends the others again.
    Resume {
        /// Which worker process is meant; 0: whichever answers.
        instance: u64,
        /// As in [`Frame::Ack`].
        received: u64,
    },
    /// Asks for the other side's clock.
    Ping {
        /// Comes back with the answer.
        id: u64,
    },
    /// The answer.
    Pong {
        /// Of the question.
        id: u64,
        /// The clock when it was answered.
        at_ns: u64,
    },
}

/// Why bytes are no frames.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// Longer than any frame.
    #[error("a frame of {bytes} bytes; {BODY_BYTES_MAX} are possible")]
    TooLong {
        /// What its head says.
        bytes: u64,
    },
    /// Damaged on the way, or no frame at all.
    #[error("a frame with a wrong checksum")]
    Checksum,
    /// Of a kind that is not known, or cut short.
    #[error("a frame that makes no sense")]
    Content,
    /// A message is missing.
    #[error("message {found} came where {expected} was expected")]
    Gap {
        /// The number that came.
        found: u64,
        /// The next number.
        expected: u64,
    },
}

impl Frame {
    /// Its bytes.
    pub fn encode(&self) -> Vec<u8> {
        let (kind, numbers, payload): (u8, &[u64], &[u8]) = match self {
            Frame::Data { number, payload } => (0, &[*number], payload),
            Frame::Ack { received } => (1, &[*received], &[]),
            Frame::Resume { instance, received } => (2, &[*instance, *received], &[]),
            Frame::Ping { id } => (3, &[*id], &[]),
            Frame::Pong { id, at_ns } => (4, &[*id, *at_ns], &[]),
        };
        let length = 1 + numbers.len() * 8 + payload.len();
        let mut out = Vec::with_capacity(HEAD_BYTES + length);
        out.extend((length as u32).to_le_bytes());
        out.extend([0; 4]);
        out.push(kind);
        numbers.iter().for_each(|number| out.extend(number.to_le_bytes()));
        out.extend(payload);
        let sum = checksum(&out[..4], &out[HEAD_BYTES..]);
        out[4..HEAD_BYTES].copy_from_slice(&sum.to_le_bytes());
        out
    }

    fn decode(body: &[u8]) -> Option<Frame> {
        let (kind, rest) = body.split_first()?;
        let number = |at: usize| -> Option<u64> {
            let bytes = rest.get(at * 8..at * 8 + 8)?;
            Some(u64::from_le_bytes(bytes.try_into().ok()?))
        };
        let of_length = |numbers: usize| (rest.len() == numbers * 8).then_some(());
        Some(match kind {
            0 => Frame::Data { number: number(0)?, payload: rest[8..].to_vec() },
            1 => of_length(1).and(Some(Frame::Ack { received: number(0)? }))?,
            2 => of_length(2).and(Some(Frame::Resume { instance: number(0)?, received: number(1)? }))?,
            3 => of_length(1).and(Some(Frame::Ping { id: number(0)? }))?,
            4 => of_length(2).and(Some(Frame::Pong { id: number(0)?, at_ns: number(1)? }))?,
            _ => return None,
        })
    }
}

fn checksum(length: &[u8], body: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(length), body)
}

/// Takes bytes as they come, and gives frames.
#[derive(Debug, Default)]
pub struct FrameReader {
    buffer: Vec<u8>,
    /// What was given already.
    done: usize,
}

impl FrameReader {
    /// Takes what has arrived.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.done > 0 && self.done * 2 >= self.buffer.len() {
            self.buffer.drain(..self.done);
            self.done = 0;
        }
        self.buffer.extend_from_slice(bytes);
    }

    /// The next frame; `None`: not all of it has arrived.
    ///
    /// # Errors
    /// [`FrameError`]; nothing of the stream can be used any more.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, FrameError> {
        let rest = &self.buffer[self.done..];
        let Some((head, behind)) = rest.split_first_chunk::<HEAD_BYTES>() else { return Ok(None) };
        let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
        let length = word(0) as usize;
        if length > BODY_BYTES_MAX {
            return Err(FrameError::TooLong { bytes: length as u64 });
        }
        let Some(body) = behind.get(..length) else { return Ok(None) };
        if checksum(&head[..4], body) != word(4) {
            return Err(FrameError::Checksum);
        }
        let frame = Frame::decode(body).ok_or(FrameError::Content)?;
        self.done += HEAD_BYTES + length;
        Ok(Some(frame))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn frames() -> Vec<Frame> {
        vec![
            Frame::Resume { instance: 7, received: 0 },
            Frame::Data { number: 1, payload: b"hello".to_vec() },
            Frame::Data { number: 2, payload: Vec::new() },
            Frame::Ack { received: 2 },
            Frame::Ping { id: 9 },
            Frame::Pong { id: 9, at_ns: u64::MAX },
        ]
    }

    #[test]
    fn frames_come_out_as_they_went_in_however_they_are_cut() {
        let bytes: Vec<u8> = frames().iter().flat_map(Frame::encode).collect();
        for piece in [1, 3, 7, bytes.len()] {
            let (mut reader, mut found) = (FrameReader::default(), Vec::new());
            for part in bytes.chunks(piece) {
                reader.push(part);
                while let Some(frame) = reader.next_frame().expect("frames") {
                    found.push(frame);
                }
            }
            assert_eq!(found, frames(), "pieces of {piece}");
        }
    }

    #[test]
    fn the_longest_message_has_a_frame() {
        for (more, fits) in [(0, true), (1, false)] {
            let mut reader = FrameReader::default();
            reader.push(&Frame::Data { number: 1, payload: vec![7; PAYLOAD_BYTES_MAX + more] }.encode());
            assert_eq!(reader.next_frame().is_ok(), fits);
        }
    }

    #[test]
    fn damage_and_lengths_that_cannot_be_are_errors() {
        let mut bytes = frames()[1].encode();
        bytes[10] ^= 1;
        let mut reader = FrameReader::default();
        reader.push(&bytes);
        assert_eq!(reader.next_frame(), Err(FrameError::Checksum));
        let mut reader = FrameReader::default();
        reader.push(&[0xFF; 8]);
        assert_eq!(reader.next_frame(), Err(FrameError::TooLong { bytes: u64::from(u32::MAX) }));
    }

    proptest! {
        #[test]
        fn any_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut reader = FrameReader::default();
            reader.push(&bytes);
            while let Ok(Some(_)) = reader.next_frame() {}
        }
    }
}
