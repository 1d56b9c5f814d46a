//! Series `assay-1`: our own answer to "how fast is this storage really".
//!
//! Fourteen cells, each measured in five short windows. A round visits every cell once in a seeded random order, so that a
//! drifting device, a neighbour or a burst credit hits all cells alike and shows up as spread, not as a difference between
//! cells. The steady state of a device takes hours: `--thorough`, or a plan file.

use assay_workload::job::{Caching, FlushPolicy, Job, Limits, OpenSync, Phase, Workload};
use assay_workload::pattern::{AccessPattern, Mix, Placement};
use assay_workload::rng::Rng;
use assay_workload::target::{Target, TargetKind};
use assay_workload::units::{Bytes, Nanos};

use super::{Prepared, SeriesError};

/// The word for `--series`.
pub const ID: &str = "assay-1";
/// The name of its one file.
pub const FILE: &str = "assay-1.data";

const K: u64 = 1024;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// How large the file is at most, and how small at least.
const FILE_MAX: u64 = 4 * GIB;
const FILE_MIN: u64 = 64 * MIB;
/// The share of the free space that may be used.
const FREE_SHARE: u64 = 4;

/// How long a window is and how often each cell is visited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Windows {
    /// Not measured, at the start of each window.
    pub ramp: Nanos,
    /// Measured.
    pub measured: Nanos,
    /// Windows of each cell.
    pub rounds: u32,
    /// Time the prefill may take.
    pub prefill_max: Nanos,
}

impl Windows {
    /// Under three minutes in all.
    pub const QUICK: Windows = Windows {
        ramp: Nanos(200_000_000),
        measured: Nanos(1_800_000_000),
        rounds: 5,
        prefill_max: Nanos::from_secs(15),
    };
    /// `--thorough`: half a minute a window, an hour in all.
    pub const THOROUGH: Windows = Windows {
        ramp: Nanos::from_secs(5),
        measured: Nanos::from_secs(30),
        rounds: 7,
        prefill_max: Nanos::from_secs(1800),
    };
}

/// One cell.
#[derive(Debug, Clone, Copy)]
struct Cell {
    name: &'static str,
    read_percent: f64,
    block: u64,
    random: bool,
    depth: u32,
    durable: bool,
}

const fn cell(name: &'static str, read_percent: f64, block: u64, random: bool, depth: u32) -> Cell {
    Cell { name, read_percent, block, random, depth, durable: false }
}

const CELLS: [Cell; 14] = [
    Cell {
        name: "4k durable writes, 1 outstanding",
        read_percent: 0.0,
        block: 4 * K,
        random: true,
        depth: 1,
        durable: true,
    },
    cell("4k random reads, 1 outstanding", 100.0, 4 * K, true, 1),
    cell("4k random reads, 32 outstanding", 100.0, 4 * K, true, 32),
    cell("4k random writes, 1 outstanding", 0.0, 4 * K, true, 1),
    cell("4k random writes, 32 outstanding", 0.0, 4 * K, true, 32),
    cell("4k random 70/30, 32 outstanding", 70.0, 4 * K, true, 32),
    cell("16k random reads, 1 outstanding", 100.0, 16 * K, true, 1),
    cell("16k random reads, 32 outstanding", 100.0, 16 * K, true, 32),
    cell("16k random writes, 32 outstanding", 0.0, 16 * K, true, 32),
    cell("16k random 70/30, 32 outstanding", 70.0, 16 * K, true, 32),
    cell("128k sequential reads, 8 outstanding", 100.0, 128 * K, false, 8),
    cell("128k sequential writes, 8 outstanding", 0.0, 128 * K, false, 8),
    cell("1m sequential reads, 8 outstanding", 100.0, MIB, false, 8),
    cell("1m sequential writes, 8 outstanding", 0.0, MIB, false, 8),
];

/// The names of the cells.
pub fn tests() -> Vec<&'static str> {
    CELLS.iter().map(|cell| cell.name).collect()
}

/// Typical IOPS of a kind of device in a cell: lower and upper end.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Typical {
    /// The cell.
    pub cell: &'static str,
    /// The published 7200 rpm disk, where it measured the same thing.
    pub hdd: Option<f64>,
    /// SATA SSD.
    pub sata_ssd: (f64, f64),
    /// NVMe SSD.
    pub nvme: (f64, f64),
}

const fn typical(cell: &'static str, hdd: Option<f64>, sata_ssd: (f64, f64), nvme: (f64, f64)) -> Typical {
    Typical { cell, hdd, sata_ssd, nvme }
}

/// Reference values. The ranges are what data sheets of consumer and data-centre drives of 2020-2024 state (the
/// Samsung 870 EVO and 980 PRO, the Intel D3-S4510 and P5510 among them), rounded; durable writes span drives without
/// and with power-loss protection. They are typical, not measured. The HDD value is storage-tuner-benchmark's test
/// `1 file, 16 threads, rnd 16k reads, posixaio`, whose depth is 1 in effect.
pub const TYPICAL: [Typical; 14] = [
    typical(CELLS[0].name, None, (500.0, 30_000.0), (1_000.0, 80_000.0)),
    typical(CELLS[1].name, None, (7_000.0, 13_000.0), (10_000.0, 22_000.0)),
    typical(CELLS[2].name, None, (70_000.0, 98_000.0), (200_000.0, 500_000.0)),
    typical(CELLS[3].name, None, (20_000.0, 36_000.0), (30_000.0, 80_000.0)),
    typical(CELLS[4].name, None, (30_000.0, 88_000.0), (100_000.0, 500_000.0)),
    typical(CELLS[5].name, None, (40_000.0, 80_000.0), (120_000.0, 450_000.0)),
    typical(CELLS[6].name, Some(171.0), (5_000.0, 9_000.0), (8_000.0, 18_000.0)),
    typical(CELLS[7].name, None, (25_000.0, 33_000.0), (100_000.0, 300_000.0)),
    typical(CELLS[8].name, None, (15_000.0, 31_000.0), (60_000.0, 250_000.0)),
    typical(CELLS[9].name, None, (18_000.0, 30_000.0), (70_000.0, 250_000.0)),
    typical(CELLS[10].name, None, (3_800.0, 4_300.0), (20_000.0, 55_000.0)),
    typical(CELLS[11].name, None, (3_000.0, 4_000.0), (8_000.0, 40_000.0)),
    typical(CELLS[12].name, None, (480.0, 535.0), (2_500.0, 7_000.0)),
    typical(CELLS[13].name, None, (400.0, 505.0), (1_000.0, 5_000.0)),
];

/// A kind of drive: its name, what it does from and to by cell, and where that is from.
pub type Drive = (&'static str, Vec<(&'static str, f64, f64)>, String);

/// Kinds of drives for the references of a table.
pub fn typical_drives() -> [Drive; 3] {
    let range = |of: fn(&Typical) -> (f64, f64)| {
        TYPICAL.iter().map(|cell| (cell.cell, of(cell).0, of(cell).1)).collect::<Vec<_>>()
    };
    let disk = TYPICAL.iter().filter_map(|cell| cell.hdd.map(|iops| (cell.cell, iops, iops))).collect();
    let sheet = "what data sheets of common drives of 2020-2024 state, rounded; typical, not measured here";
    let measured = "HDD: one 7200 rpm SATA disk (6 TB), published with storage-tuner-benchmark 2.1, where it measured the same thing.";
    [
        ("HDD", disk, measured.to_owned()),
        ("SATA SSD", range(|cell| cell.sata_ssd), format!("SATA SSD: {sheet}.")),
        ("NVMe", range(|cell| cell.nvme), format!("NVMe: {sheet}.")),
    ]
}

impl Cell {
    fn phase(&self, windows: &Windows) -> Phase {
        let placement = if self.random { Placement::random_independent() } else { Placement::sequential() };
        let pattern = AccessPattern::new(Mix::read_write(self.read_percent), self.block, placement);
        let job = Job::new(self.name, &["data"], pattern).with(|job| {
            job.outstanding_per_thread = self.depth;
            job.limits = Limits { time: Some(windows.measured), ..Limits::default() };
            job.ramp = windows.ramp;
            job.flush = FlushPolicy {
                open: if self.durable { OpenSync::Dsync } else { OpenSync::None },
                ..FlushPolicy::default()
            };
            job.caching = Caching::Auto;
        });
        Phase { drain_after: self.read_percent < 100.0, ..Phase::measure(self.name, vec![job]) }
    }
}

/// How large the file should be where `available` bytes are free and `existing` are already in it.
///
/// # Errors
/// [`SeriesError::NoSpace`] if not even the smallest useful file fits.
pub fn file_bytes(available: u64, existing: u64) -> Result<u64, SeriesError> {
    let wanted = ((available + existing) / FREE_SHARE).min(FILE_MAX).max(existing.min(FILE_MAX)) / MIB * MIB;
    if wanted < FILE_MIN {
        let needed = Bytes(FILE_MIN * FREE_SHARE);
        return Err(SeriesError::NoSpace { needed, available: Bytes(available) });
    }
    Ok(wanted)
}

/// The series over a file of `file_bytes` that has been filled, or one cell of it; `repeat` multiplies the rounds.
///
/// # Errors
/// [`SeriesError::UnknownTest`].
pub fn prepare(
    test: Option<&str>,
    repeat: u32,
    windows: &Windows,
    file_bytes: u64,
    seed: u64,
) -> Result<Prepared, SeriesError> {
    let chosen: Vec<&Cell> = CELLS.iter().filter(|cell| test.is_none_or(|name| name == cell.name)).collect();
    if chosen.is_empty() {
        return Err(SeriesError::UnknownTest { series: ID, name: test.unwrap_or_default().to_owned() });
    }
    let mut rng = Rng::new(seed);
    let mut phases = Vec::new();
    for _ in 0..windows.rounds * repeat.max(1) {
        let mut order: Vec<usize> = (0..chosen.len()).collect();
        rng.shuffle(&mut order);
        phases.extend(order.into_iter().map(|index| chosen[index].phase(windows)));
    }
    let expected_s = phases.len() as f64 * ((windows.ramp.0 + windows.measured.0) as f64 / 1e9 + 0.05);
    let target = Target {
        name: "data".to_owned(),
        path: FILE.to_owned(),
        kind: Some(TargetKind::File),
        size: Some(Bytes(file_bytes)),
    };
    Ok(Prepared {
        workload: Workload {
            name: "quick".to_owned(),
            seed: Some(seed),
            hosts: Vec::new(),
            targets: vec![target],
            phases,
        },
        files: Bytes(file_bytes),
        fixed_writes: Bytes(0),
        expected_s,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_is_visited_once_a_round_in_an_order_of_its_own() {
        let prepared = prepare(None, 1, &Windows::QUICK, GIB, 7).unwrap();
        let names: Vec<&str> = prepared.workload.phases.iter().map(|phase| phase.name.as_str()).collect();
        assert_eq!(names.len(), 5 * CELLS.len());
        let mut orders = std::collections::BTreeSet::new();
        for round in names.chunks(CELLS.len()) {
            let mut sorted = round.to_vec();
            sorted.sort_unstable();
            let mut all = super::tests();
            all.sort_unstable();
            assert_eq!(sorted, all);
            orders.insert(round.to_vec());
        }
        assert_eq!(orders.len(), 5, "no two rounds alike");
        assert!(prepared.expected_s < 160.0, "under three minutes with the prefill: {}", prepared.expected_s);
    }

    #[test]
    fn the_file_fits_the_space() {
        assert_eq!(file_bytes(100 * GIB, 0), Ok(4 * GIB));
        assert_eq!(file_bytes(GIB, 0), Ok(256 * MIB));
        assert_eq!(file_bytes(10 * MIB, 4 * GIB), Ok(4 * GIB), "what is there already is used again");
        assert!(file_bytes(100 * MIB, 0).is_err());
    }

    #[test]
    fn one_cell_can_be_chosen() {
        let prepared = prepare(Some(CELLS[1].name), 2, &Windows::QUICK, GIB, 7).unwrap();
        assert_eq!(prepared.workload.phases.len(), 10);
        assert!(prepare(Some("nonsense"), 1, &Windows::QUICK, GIB, 7).is_err());
    }

    #[test]
    fn typical_values_name_cells() {
        assert!(TYPICAL.iter().zip(CELLS).all(|(typical, cell)| typical.cell == cell.name));
    }
}
