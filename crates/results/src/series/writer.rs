//! Writing a series.

use std::io::{self, Write};

use super::checksum::crc32c;
use super::pyramid::Pyramid;
use super::{FRAME_BYTES_MAX, Frame, Level, MAGIC, MAJOR, MINOR, codec};
use crate::event::HostId;
use crate::interval::Interval;

/// Makes the bytes of a series; the caller decides what to do when they cannot be stored.
#[derive(Debug, Default)]
pub struct SeriesEncoder {
    pyramid: Pyramid,
}

impl SeriesEncoder {
    /// With no interval seen.
    pub fn new() -> Self {
        Self::default()
    }

    /// The bytes a file begins with.
    pub fn header() -> Vec<u8> {
        let mut header = MAGIC.to_vec();
        header.extend(MAJOR.to_le_bytes());
        header.extend(MINOR.to_le_bytes());
        header.extend(crc32c(&[&header]).to_le_bytes());
        header
    }

    /// The frame of an interval, and behind it the sums that it completes. All of it belongs into the file or nothing.
    pub fn encode(&mut self, host: HostId, interval: &Interval) -> Vec<u8> {
        let mut out = Vec::with_capacity(2048);
        let mut sums = Vec::new();
        self.pyramid.add(host, interval, &mut sums);
        // A sum stands behind the periods in it, and before the one that opens the next.
        sums.iter().for_each(|frame| put_frame(frame.host, frame.level, &frame.interval, &mut out));
        put_frame(host, Level::Period, interval, &mut out);
        out
    }

    /// The frames of the sums that are still open: the end of the file.
    pub fn finish(&mut self) -> Vec<u8> {
        let mut out = Vec::new();
        let sums: Vec<Frame> = self.pyramid.finish();
        sums.iter().for_each(|frame| put_frame(frame.host, frame.level, &frame.interval, &mut out));
        out
    }
}

fn put_frame(host: HostId, level: Level, interval: &Interval, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend([0; 8]);
    codec::encode(host, level, interval, out);
    // Histograms are of fixed size, so no frame reaches the limit.
    let length = (out.len() - start - 8) as u32;
    debug_assert!(length <= FRAME_BYTES_MAX);
    let length = length.to_le_bytes();
    let crc = crc32c(&[&length, &out[start + 8..]]);
    out[start..start + 4].copy_from_slice(&length);
    out[start + 4..start + 8].copy_from_slice(&crc.to_le_bytes());
}

/// Writes a series to anything that takes bytes.
#[derive(Debug)]
pub struct SeriesWriter<W: Write> {
    encoder: SeriesEncoder,
    out: W,
}

impl<W: Write> SeriesWriter<W> {
    /// Writes the header.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn new(mut out: W) -> io::Result<Self> {
        out.write_all(&SeriesEncoder::header())?;
        Ok(SeriesWriter { encoder: SeriesEncoder::new(), out })
    }

    /// Writes one interval of the only host, in one call of `out`.
    ///
    /// # Errors
    /// Those of `out`; part of the frame may then have been written.
    pub fn append(&mut self, interval: &Interval) -> io::Result<()> {
        self.out.write_all(&self.encoder.encode(HostId::FIRST, interval))
    }

    /// Writes the open sums and hands back `out`, flushed.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.write_all(&self.encoder.finish())?;
        self.out.flush()?;
        Ok(self.out)
    }
}
