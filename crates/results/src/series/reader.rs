//! Reading a series, whatever state it is in.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io::{self, Read};

use super::checksum::crc32c;
use super::pyramid::{Pyramid, Track, slot_of, track_of};
use super::{FRAME_BYTES_MAX, Frame, HEADER_BYTES, Level, MAGIC, MAJOR, SeriesError, codec};
use crate::interval::{Interval, IntervalKey};

/// What was not readable.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tail {
    /// Bytes from the start to the end of the last frame that was whole: where a torn file is to be cut.
    pub valid_bytes: u64,
    /// Bytes behind them.
    pub lost_bytes: u64,
    /// Frames before them that did not match their checksum, or made no sense, and were left out.
    pub damaged_frames: u64,
}

/// Reads frame by frame. Never panics and never takes more memory than one frame may need, whatever the bytes are.
#[derive(Debug)]
pub struct SeriesReader<R: Read> {
    input: R,
    payload: Vec<u8>,
    tail: Tail,
    ended: bool,
}

/// What lay at the current position.
enum Raw {
    /// A frame with the checksum it says; its payload is in the buffer.
    Whole,
    /// A frame of which all bytes are there, but not with that checksum; its length with the prefix.
    Mismatch(u64),
    /// Less than a frame: so many bytes were read.
    Torn(u64),
    End,
}

impl<R: Read> SeriesReader<R> {
    /// Reads the header.
    ///
    /// # Errors
    /// Where the file is not a series, or one of another major version, or on read errors.
    pub fn open(mut input: R) -> Result<Self, SeriesError> {
        let mut header = Vec::with_capacity(HEADER_BYTES);
        input.by_ref().take(HEADER_BYTES as u64).read_to_end(&mut header)?;
        if header.len() < HEADER_BYTES || header[..8] != MAGIC {
            return Err(SeriesError::NotASeries);
        }
        if crc32c(&[&header[..12]]).to_le_bytes() != header[12..] {
            return Err(SeriesError::NotASeries);
        }
        let found = u16::from_le_bytes([header[8], header[9]]);
        if found != MAJOR {
            return Err(SeriesError::OtherMajor { found });
        }
        let tail = Tail { valid_bytes: HEADER_BYTES as u64, ..Tail::default() };
        Ok(SeriesReader { input, payload: Vec::new(), tail, ended: false })
    }

    /// The next frame; `None` at the end of what is readable.
    ///
    /// # Errors
    /// Read errors only. Damage ends the series or leaves a frame out: see [`SeriesReader::tail`].
    pub fn next_frame(&mut self) -> io::Result<Option<Frame>> {
        while self.next_payload()? {
            match codec::decode_head(&self.payload) {
                None => self.tail.damaged_frames += u64::from(codec::is_known(&self.payload)),
                Some(head) => match head.decode() {
                    Some(frame) => return Ok(Some(frame)),
                    None => self.tail.damaged_frames += 1,
                },
            }
        }
        Ok(None)
    }

    /// What was not readable; complete once [`SeriesReader::next_frame`] has said `None`.
    pub fn tail(&self) -> Tail {
        self.tail
    }

    /// Reads the payload of the next whole frame into the buffer; false at the end.
    ///
    /// A frame that does not match its checksum is left out if a whole one follows where it ends; else its length is not
    /// to be trusted either, and the series ends before it.
    fn next_payload(&mut self) -> io::Result<bool> {
        if self.ended {
            return Ok(false);
        }
        let mut skipped = 0;
        let lost = match self.read_raw()? {
            Raw::Whole => return Ok(true),
            Raw::Mismatch(bytes) => {
                skipped = bytes;
                match self.read_raw()? {
                    Raw::Whole => {
                        self.tail.valid_bytes += skipped;
                        self.tail.damaged_frames += 1;
                        return Ok(true);
                    }
                    Raw::Mismatch(bytes) | Raw::Torn(bytes) => bytes,
                    Raw::End => 0,
                }
            }
            Raw::Torn(bytes) => bytes,
            Raw::End => 0,
        };
        self.ended = true;
        self.tail.lost_bytes = skipped + lost + io::copy(&mut self.input, &mut io::sink())?;
        Ok(false)
    }

    fn read_raw(&mut self) -> io::Result<Raw> {
        let mut prefix = Vec::with_capacity(8);
        self.input.by_ref().take(8).read_to_end(&mut prefix)?;
        let &[a, b, c, d, ref crc @ ..] = prefix.as_slice() else {
            return Ok(if prefix.is_empty() { Raw::End } else { Raw::Torn(prefix.len() as u64) });
        };
        let length = u32::from_le_bytes([a, b, c, d]);
        if crc.len() < 4 || length > FRAME_BYTES_MAX {
            return Ok(Raw::Torn(prefix.len() as u64));
        }
        self.payload.clear();
        let read = self.input.by_ref().take(u64::from(length)).read_to_end(&mut self.payload)? as u64;
        if read < u64::from(length) {
            return Ok(Raw::Torn(8 + read));
        }
        if crc32c(&[&prefix[..4], &self.payload]).to_le_bytes() != *crc {
            return Ok(Raw::Mismatch(8 + read));
        }
        self.tail.valid_bytes += 8 + read;
        Ok(Raw::Whole)
    }
}

/// All intervals of one level, those of all hosts.
#[derive(Debug, Clone, PartialEq)]
pub struct LevelContent {
    /// In the order of the file, each period or sum once; of sums that a torn file lacks, at the end.
    pub intervals: Vec<Interval>,
    /// What was not readable.
    pub tail: Tail,
}

/// Reads one level. Periods are decoded only where the file lacks their sum, because it was cut before it was written;
/// a period that is as long as the sum stands for itself.
///
/// # Errors
/// As [`SeriesReader::open`], and read errors.
pub fn read_level<R: Read>(input: R, level: Level) -> Result<LevelContent, SeriesError> {
    let mut reader = SeriesReader::open(input)?;
    let mut merged = Merged::default();
    // Payloads of periods that no sum has followed yet, by what they are summed with.
    let mut waiting: BTreeMap<_, Vec<(u32, Vec<u8>)>> = BTreeMap::new();
    let mut damaged = 0;
    while reader.next_payload()? {
        let Some(head) = codec::decode_head(&reader.payload) else { continue };
        let key: IntervalKey = head.key;
        if head.level == level {
            if let Some(list) = waiting.get_mut(&track_of(head.host, &key)) {
                list.retain(|(slot, _)| *slot != key.index);
            }
        } else if head.level != Level::Period {
            continue;
        } else if let Some(slot) = slot_of(level, &key) {
            waiting.entry(track_of(head.host, &key)).or_default().push((slot, reader.payload.clone()));
            continue;
        }
        match head.decode() {
            Some(frame) => merged.add(frame),
            None => damaged += 1,
        }
    }
    let mut pyramid = Pyramid::default();
    let mut rebuilt: Vec<Frame> = Vec::new();
    for payload in waiting.into_values().flatten().map(|(_, payload)| payload) {
        match codec::decode_head(&payload).and_then(codec::Head::decode) {
            Some(frame) => pyramid.add_at(level, frame.host, &frame.interval, &mut rebuilt),
            None => damaged += 1,
        }
    }
    rebuilt.extend(pyramid.finish());
    rebuilt.into_iter().for_each(|frame| merged.add(frame));
    let mut tail = reader.tail();
    tail.damaged_frames += damaged;
    Ok(LevelContent { intervals: merged.intervals, tail })
}

/// Intervals of one level, each period or sum once.
#[derive(Debug, Default)]
struct Merged {
    intervals: Vec<Interval>,
    places: BTreeMap<(Level, Track, u32), usize>,
}

impl Merged {
    /// Adds `interval` to the part of its period that is there, if one is.
    fn add(&mut self, Frame { host, level, interval }: Frame) {
        match self.places.entry((level, track_of(host, &interval.key), interval.key.index)) {
            Entry::Occupied(place) => self.intervals[*place.get()].merge(&interval),
            Entry::Vacant(place) => {
                place.insert(self.intervals.len());
                self.intervals.push(interval);
            }
        }
    }
}
