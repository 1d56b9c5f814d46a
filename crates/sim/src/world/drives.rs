//! The drives: where a piece of the address space lies, and how long it takes.

use assay_workload::rng::{Rng, derive_seed, splitmix64};

use super::faults::{Outage, Slowdown};
use super::station::Station;
use crate::model::{BackEnd, Drive, Fault, Hdd, Model, Protection, Ssd};
use assay_results::audit::StationLoad;

/// What is done to a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Write,
    /// Read, changed, written back: a partial write under parity.
    Rewrite,
}

/// A piece of one drive.
#[derive(Debug, Clone, Copy)]
struct Piece {
    offset: u64,
    len: u64,
    access: Access,
}

#[derive(Debug)]
enum Kind {
    Ssd { ssd: Ssd, read_ns_per_byte: f64, write_ns_per_byte: f64 },
    Hdd { hdd: Hdd, turn_ns: f64, head: u64 },
}

#[derive(Debug)]
struct DriveState {
    kind: Kind,
    /// When each server is free.
    free: Box<[u64]>,
    rng: Rng,
    station: Station,
    slow: Slowdown,
    down: Outage,
}

impl DriveState {
    fn new(model: &Model, drive: &Drive, index: u16, seed: u64) -> DriveState {
        let (kind, servers) = match drive {
            Drive::Ssd(ssd) => {
                let per_byte = |bytes_per_s: f64| 1e9 * f64::from(ssd.servers) / bytes_per_s;
                let kind = Kind::Ssd {
                    read_ns_per_byte: per_byte(ssd.read_bytes_per_s),
                    write_ns_per_byte: per_byte(ssd.write_bytes_per_s),
                    ssd: ssd.clone(),
                };
                (kind, ssd.servers)
            }
            Drive::Hdd(hdd) => (Kind::Hdd { hdd: hdd.clone(), turn_ns: 60e9 / hdd.rpm, head: 0 }, 1),
        };
        DriveState {
            kind,
            free: vec![0; usize::from(servers)].into_boxed_slice(),
            rng: Rng::new(derive_seed(seed, 1_000_000 + u64::from(index))),
            station: Station::new(),
            slow: Slowdown::new(model, |fault| match fault {
                Fault::SlowDrive { drive, factor, .. } if *drive == index => Some(*factor),
                _ => None,
            }),
            down: Outage::new(
                model,
                |fault| matches!(fault, Fault::FailedDrive { drive, .. } if *drive == index),
            ),
        }
    }

    /// When the first server is free.
    fn first_free_ns(&self) -> u64 {
        self.free.iter().copied().min().unwrap_or(0)
    }

    fn is_up(&self, now: u64) -> bool {
        self.down.is_empty() || self.down.at(now).is_none()
    }

    /// Serves a piece; when it is done.
    fn serve(&mut self, now: u64, piece: Piece) -> u64 {
        match &mut self.kind {
            Kind::Ssd { ssd, read_ns_per_byte, write_ns_per_byte } => {
                // Beyond 64 pieces a larger piece changes nothing but the cost of simulating it.
                let chunk = ssd.chunk.0.max(piece.len / 64);
                let (mut left, mut end) = (piece.len, now);
                while left > 0 {
                    let len = left.min(chunk);
                    left -= len;
                    let mut service = 0;
                    if piece.access != Access::Write {
                        service += ssd.read.draw_ns(&mut self.rng) + (len as f64 * *read_ns_per_byte) as u64;
                    }
                    if piece.access != Access::Read {
                        service +=
                            ssd.write.draw_ns(&mut self.rng) + (len as f64 * *write_ns_per_byte) as u64;
                    }
                    let service = self.slow.stretch(now, service);
                    let Some(server) = self.free.iter_mut().min_by_key(|free| **free) else { return now };
                    let start = now.max(*server);
                    *server = start + service;
                    self.station.visit(now, start, *server);
                    end = end.max(*server);
                }
                end
            }
            Kind::Hdd { hdd, turn_ns, head } => {
                let offset = piece.offset % hdd.capacity.0.max(1);
                let mut service = hdd.overhead.draw_ns(&mut self.rng) as f64;
                service += position_ns(hdd, *turn_ns, *head, offset, &mut self.rng);
                let depth = offset as f64 / hdd.capacity.0 as f64;
                let bytes_per_s =
                    hdd.outer_bytes_per_s + (hdd.inner_bytes_per_s - hdd.outer_bytes_per_s) * depth;
                service += piece.len as f64 * 1e9 / bytes_per_s;
                if piece.access == Access::Rewrite {
                    // The sector comes round again a revolution after it was read.
                    service += *turn_ns;
                }
                *head = offset + piece.len;
                let start = now.max(self.free[0]);
                self.free[0] = start + self.slow.stretch(now, service as u64);
                self.station.visit(now, start, self.free[0]);
                self.free[0]
            }
        }
    }
}

/// Seek and rotational delay from where the head is; none where the last request ended.
fn position_ns(hdd: &Hdd, turn_ns: f64, head: u64, offset: u64, rng: &mut Rng) -> f64 {
    if head == offset {
        return 0.0;
    }
    let distance = head.abs_diff(offset) as f64 / hdd.capacity.0 as f64;
    let (min, max) = (hdd.seek_min.0 as f64, hdd.seek_max.0 as f64);
    min + (max - min) * distance.min(1.0).sqrt() + rng.unit() * turn_ns
}

/// A request that no drive that is up can serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lost;

/// All drives.
#[derive(Debug)]
pub(crate) struct Drives {
    protection: Protection,
    drives: Vec<DriveState>,
    per_node: usize,
    segment: u64,
}

impl Drives {
    pub(crate) fn new(model: &Model, back_end: &BackEnd, seed: u64) -> Drives {
        let drive = |index| DriveState::new(model, &back_end.drive, index, seed);
        Drives {
            protection: back_end.protection.clone(),
            drives: (0..back_end.drives).map(drive).collect(),
            per_node: usize::from(back_end.drives / model.front_end.controllers).max(1),
            segment: model.front_end.segment.0,
        }
    }

    /// Reads or writes a piece of the address space at `now`; `node` holds the copy where there are several. When the last
    /// of the drives concerned is done.
    pub(crate) fn request(
        &mut self,
        now: u64,
        address: u64,
        len: u64,
        write: bool,
        node: usize,
    ) -> Result<u64, Lost> {
        let access = if write { Access::Write } else { Access::Read };
        let piece = Piece { offset: address, len, access };
        let count = self.drives.len();
        match self.protection {
            Protection::Raid0 { stripe } => self.striped(now, piece, stripe.0, 1),
            Protection::Raid1 => self.mirrored(now, piece, 0, count),
            Protection::Raid10 { stripe } => self.striped(now, piece, stripe.0, 2),
            Protection::Raid5 { stripe } => self.parity(now, piece, stripe.0),
            Protection::Spread { unit } => {
                let mut end = now;
                for (unit, part) in units(piece, unit.0) {
                    let mut state = unit;
                    let drive = even(splitmix64(&mut state), count);
                    end = end.max(self.mirrored(now, part, drive, 1)?);
                }
                Ok(end)
            }
            Protection::Replicated { .. } => {
                let mut state = address / self.segment;
                let within = even(splitmix64(&mut state), self.per_node);
                self.mirrored(now, piece, (node * self.per_node + within) % count, 1)
            }
        }
    }

    /// Over groups of `copies` drives, a stripe each.
    fn striped(&mut self, now: u64, piece: Piece, stripe: u64, copies: usize) -> Result<u64, Lost> {
        let groups = (self.drives.len() / copies) as u64;
        let mut end = now;
        for (unit, part) in units(piece, stripe) {
            let offset = unit / groups * stripe + part.offset % stripe;
            let first = (unit % groups) as usize * copies;
            end = end.max(self.mirrored(now, Piece { offset, ..part }, first, copies)?);
        }
        Ok(end)
    }

    /// On all of the drives from `first` on, or for a read on the one that is free first.
    fn mirrored(&mut self, now: u64, piece: Piece, first: usize, copies: usize) -> Result<u64, Lost> {
        let group = &mut self.drives[first..first + copies];
        if let [drive] = group {
            return if drive.is_up(now) { Ok(drive.serve(now, piece)) } else { Err(Lost) };
        }
        let up = group.iter_mut().filter(|drive| drive.is_up(now));
        let ends = if piece.access == Access::Read {
            up.min_by_key(|drive| drive.first_free_ns()).map(|drive| drive.serve(now, piece))
        } else {
            up.map(|drive| drive.serve(now, piece)).max()
        };
        ends.ok_or(Lost)
    }

    /// Rows of data units and one parity unit, whose drive goes backwards row by row.
    fn parity(&mut self, now: u64, piece: Piece, stripe: u64) -> Result<u64, Lost> {
        let count = self.drives.len() as u64;
        let data = count - 1;
        let row_bytes = data * stripe;
        let mut end = now;
        for (row, part) in units(piece, row_bytes) {
            let parity = (data - row % count) as usize;
            let full = part.len == row_bytes;
            let mut longest = 0;
            for (unit, mut unit_part) in units(part, stripe) {
                let column = (unit % data) as usize;
                let drive = if column < parity { column } else { column + 1 };
                unit_part.offset = row * stripe + unit_part.offset % stripe;
                longest = longest.max(unit_part.len);
                if part.access == Access::Write && !full {
                    unit_part.access = Access::Rewrite;
                }
                end = end.max(self.in_row(now, unit_part, drive)?);
            }
            if part.access == Access::Write && self.drives[parity].is_up(now) {
                let access = if full { Access::Write } else { Access::Rewrite };
                let whole = Piece { offset: row * stripe, len: longest, access };
                end = end.max(self.drives[parity].serve(now, whole));
            }
        }
        Ok(end)
    }

    /// A unit of a parity row: on its drive, or without it from all others.
    fn in_row(&mut self, now: u64, piece: Piece, drive: usize) -> Result<u64, Lost> {
        if self.drives[drive].is_up(now) {
            return Ok(self.drives[drive].serve(now, piece));
        }
        let mut end = now;
        for (index, other) in self.drives.iter_mut().enumerate().filter(|(index, _)| *index != drive) {
            debug_assert_ne!(index, drive);
            if !other.is_up(now) {
                return Err(Lost);
            }
            end = end.max(other.serve(now, Piece { access: Access::Read, ..piece }));
        }
        Ok(end)
    }

    pub(crate) fn reset(&mut self, now: u64) {
        self.drives.iter_mut().for_each(|drive| drive.station.reset(now, &drive.free));
    }

    pub(crate) fn loads(&self, from: u64, now: u64) -> Vec<StationLoad> {
        self.drives.iter().map(|drive| drive.station.load(from, now, &drive.free)).collect()
    }
}

/// A hash as an index below `count`, without a division.
fn even(hash: u64, count: usize) -> usize {
    ((u128::from(hash) * count as u128) >> 64) as usize
}

/// The parts of a piece by units of `unit` bytes, with the unit's number. A piece within one unit is its only part.
fn units(piece: Piece, unit: u64) -> impl Iterator<Item = (u64, Piece)> {
    let end = piece.offset + piece.len;
    let mut next = piece.offset;
    std::iter::from_fn(move || {
        if next >= end {
            return None;
        }
        let number = next / unit;
        let part = Piece { offset: next, len: ((number + 1) * unit).min(end) - next, access: piece.access };
        next += part.len;
        Some((number, part))
    })
}

#[cfg(test)]
mod tests;
