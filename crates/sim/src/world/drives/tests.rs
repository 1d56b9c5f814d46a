use super::*;
use crate::Service;
use crate::model::{Size, Span};
use crate::service::Time;

const KIB: u64 = 1024;

fn ssd(read_ns: u64, write_ns: u64) -> Drive {
    Drive::Ssd(Ssd {
        servers: 1,
        read: Service::Constant(Time(read_ns)),
        write: Service::Constant(Time(write_ns)),
        chunk: Size(1 << 20),
        read_bytes_per_s: 1e18,
        write_bytes_per_s: 1e18,
    })
}

fn drives(count: u16, protection: Protection, faults: Vec<Fault>) -> Drives {
    let back_end = BackEnd { drives: count, protection, drive: ssd(100, 10) };
    let model = Model { faults, back_end: Some(back_end.clone()), ..Model::default() };
    Drives::new(&model, &back_end, 1)
}

fn served(drives: &Drives) -> Vec<u64> {
    drives.loads(0, 1).iter().map(|load| load.served).collect()
}

fn failed(drive: u16) -> Fault {
    Fault::FailedDrive { drive, during: Span::default() }
}

#[test]
fn raid0_deals_stripes_out() {
    let mut drives = drives(3, Protection::Raid0 { stripe: Size(64 * KIB) }, vec![]);
    // Stripes 1, 2, 3, 4: drives 1, 2, 0, 1, the last after the first.
    assert_eq!(drives.request(0, 64 * KIB, 256 * KIB, false, 0), Ok(200));
    assert_eq!(served(&drives), [1, 2, 1]);
}

#[test]
fn raid10_reads_from_the_free_mirror_and_writes_both() {
    let mut drives = drives(4, Protection::Raid10 { stripe: Size(64 * KIB) }, vec![]);
    assert_eq!(drives.request(0, 0, 4096, false, 0), Ok(100));
    assert_eq!(drives.request(0, 0, 4096, false, 0), Ok(100), "the other mirror is free");
    assert_eq!(served(&drives), [1, 1, 0, 0]);
    assert_eq!(drives.request(0, 64 * KIB, 4096, true, 0), Ok(10));
    assert_eq!(served(&drives), [1, 1, 1, 1]);
}

#[test]
fn raid1_survives_all_but_the_last() {
    let mut one_left = drives(2, Protection::Raid1, vec![failed(0)]);
    assert_eq!(one_left.request(0, 1 << 30, 4096, false, 0), Ok(100));
    assert_eq!(served(&one_left), [0, 1]);
    let mut none_left = drives(2, Protection::Raid1, vec![failed(0), failed(1)]);
    assert_eq!(none_left.request(0, 0, 4096, true, 0), Err(Lost));
}

#[test]
fn raid5_rewrites_parts_of_a_row_and_writes_full_rows() {
    let protection = || Protection::Raid5 { stripe: Size(64 * KIB) };
    let mut small = drives(4, protection(), vec![]);
    // Row 0: parity on drive 3, data on 0, 1, 2.
    assert_eq!(small.request(0, 64 * KIB, 4096, true, 0), Ok(110));
    assert_eq!(served(&small), [0, 1, 0, 1]);
    let mut full = drives(4, protection(), vec![]);
    // Row 1: parity on drive 2.
    assert_eq!(full.request(0, 192 * KIB, 192 * KIB, true, 0), Ok(10));
    assert_eq!(served(&full), [1, 1, 1, 1]);
    let mut degraded = drives(4, protection(), vec![failed(0)]);
    assert_eq!(degraded.request(0, 0, 4096, false, 0), Ok(100));
    assert_eq!(served(&degraded), [0, 1, 1, 1], "rebuilt from the others");
}

#[test]
fn raid5_spreads_parity_and_data_evenly() {
    let mut drives = drives(5, Protection::Raid5 { stripe: Size(64 * KIB) }, vec![]);
    for unit in 0..20 {
        assert!(drives.request(0, unit * 64 * KIB, 4096, true, 0).is_ok());
    }
    assert_eq!(served(&drives), [8, 8, 8, 8, 8]);
}

#[test]
fn spread_is_even_under_any_pattern() {
    let mut drives = drives(10, Protection::Spread { unit: Size(4096) }, vec![]);
    for block in 0..10_000 {
        assert!(drives.request(0, block * 4096, 4096, false, 0).is_ok());
    }
    assert!(served(&drives).iter().all(|count| (850..1150).contains(count)), "{:?}", served(&drives));
}

#[test]
fn a_failure_ends_when_its_time_does() {
    let during = Span { from: Time(10), to: Time(20) };
    let mut drives =
        drives(1, Protection::Raid0 { stripe: Size(KIB) }, vec![Fault::FailedDrive { drive: 0, during }]);
    let mut at = |now| drives.request(now, 0, 512, false, 0).is_ok();
    assert_eq!([at(9), at(10), at(19), at(20)], [true, false, false, true]);
}

#[test]
fn a_large_request_is_spread_over_the_servers_of_an_ssd() {
    let drive = Drive::Ssd(Ssd {
        servers: 4,
        read: Service::Constant(Time(100)),
        write: Service::Constant(Time(10)),
        chunk: Size(16 * KIB),
        // 16 KiB take 1000 ns on one of four servers.
        read_bytes_per_s: 16.0 * 1024.0 * 4.0 * 1e6,
        write_bytes_per_s: 1e18,
    });
    let back_end = BackEnd { drives: 1, protection: Protection::Raid1, drive };
    let model = Model { back_end: Some(back_end.clone()), ..Model::default() };
    let mut drives = Drives::new(&model, &back_end, 1);
    assert_eq!(drives.request(0, 0, 64 * KIB, false, 0), Ok(1100));
    assert_eq!(drives.request(0, 0, 80 * KIB, false, 0), Ok(3300));
}

fn hdd() -> (Hdd, Drives) {
    let hdd = Hdd {
        rpm: 6000.0,
        capacity: Size(1 << 40),
        seek_min: Time(1_000_000),
        seek_max: Time(15_000_000),
        outer_bytes_per_s: 200e6,
        inner_bytes_per_s: 100e6,
        overhead: Service::ZERO,
    };
    let back_end = BackEnd { drives: 1, protection: Protection::Raid1, drive: Drive::Hdd(hdd.clone()) };
    let model = Model { back_end: Some(back_end.clone()), ..Model::default() };
    (hdd, Drives::new(&model, &back_end, 1))
}

#[test]
fn a_disk_reads_in_sequence_at_its_transfer_rate_and_slower_inside() {
    let (_, mut drives) = hdd();
    let len = 200_000;
    assert_eq!(drives.request(0, 0, len, false, 0), Ok(1_000_000));
    assert_eq!(drives.request(0, len, len, false, 0), Ok(2_000_000), "no seek, no rotation");
    let middle = 1 << 39;
    let there = drives.request(10_000_000_000, middle, 1, false, 0).unwrap();
    let end = drives.request(there, middle + 1, 150_000, false, 0).unwrap();
    assert_eq!(end - there, 1_000_000, "150 MB/s in the middle");
}

/// Uniform random: the seek is min + (max - min) E sqrt(|x - y|), with E sqrt = 8/15, and half a turn of 10 ms.
#[test]
fn random_reads_of_a_disk_take_the_mean_they_should() {
    let (hdd, mut drives) = hdd();
    let mut rng = Rng::new(8);
    let (n, mut now) = (50_000, 0);
    for _ in 0..n {
        now = drives.request(now, rng.below(hdd.capacity.0 - 4096), 4096, false, 0).unwrap();
    }
    let transfer = 4096.0 * 10.0 * std::f64::consts::LN_2;
    let expected = 1e6 + 14e6 * 8.0 / 15.0 + 5e6 + transfer;
    let mean = now as f64 / f64::from(n);
    assert!((mean / expected - 1.0).abs() < 0.01, "{mean} for {expected}");
}
