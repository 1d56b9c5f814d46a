use assay_workload::operation::{Counted, OpId};
use assay_workload::pattern::OpKind;
use proptest::prelude::*;

use super::*;
use crate::fixture::{SECOND, interval};
use crate::histogram::LatencyHistogram;
use crate::interval::JobCounts;

/// 125 seconds of two jobs, the first 5 s of one of them ramp.
fn intervals() -> Vec<Interval> {
    intervals_of(125)
}

fn intervals_of(seconds: u32) -> Vec<Interval> {
    let mut list = Vec::new();
    for second in 0..seconds {
        for job in 0..2 {
            let kind = if job == 0 { OpKind::Read } else { OpKind::Write };
            let mut one = interval(job, second, kind, 20 + u64::from(second));
            one.key.ramp = job == 1 && second < 5;
            one.counts.op_mut(OpKind::Fdatasync).ios = u64::from(job);
            one.counts.lateness.record(u64::from(second) << 33);
            list.push(one);
        }
    }
    list
}

fn written(intervals: &[Interval]) -> Vec<u8> {
    let mut writer = SeriesWriter::new(Vec::new()).unwrap();
    intervals.iter().for_each(|interval| writer.append(interval).unwrap());
    writer.finish().unwrap()
}

fn total(intervals: &[Interval]) -> JobCounts {
    let mut counts = JobCounts::default();
    intervals.iter().for_each(|interval| counts.merge(&interval.counts));
    counts
}

#[test]
fn what_is_written_is_read() {
    let content = read_level(written(&intervals()).as_slice(), Level::Period).unwrap();
    assert_eq!(content.intervals, intervals());
    assert_eq!((content.tail.lost_bytes, content.tail.damaged_frames), (0, 0));
}

#[test]
fn an_interval_that_comes_in_parts_is_one() {
    // A thread that was late: its part of second 8 comes after second 12 of the others, in another ten seconds.
    let mut list = intervals_of(25);
    let late = interval(0, 8, OpKind::Read, 5);
    list.insert(26, late.clone());
    let bytes = written(&list);
    let mut whole = intervals_of(25);
    whole[16].merge(&late);
    let periods = read_level(bytes.as_slice(), Level::Period).unwrap().intervals;
    assert_eq!(periods, whole);
    let of_read = |list: &[Interval]| -> Vec<(u32, u64)> {
        let read = list.iter().filter(|interval| interval.key.job == 0);
        read.map(|interval| (interval.key.index, interval.counts.op(OpKind::Read).ios)).collect()
    };
    // Also where the file ends before the sums that are open.
    for (file, index) in [(bytes, 0), (written(&list[..30]), 1)] {
        let sums = read_level(file.as_slice(), Level::TenSeconds).unwrap().intervals;
        let expected = if index == 0 { &list[..] } else { &list[..30] };
        assert_eq!(total(&sums), total(expected));
        let mut slots: Vec<u32> = of_read(&sums).into_iter().map(|(slot, _)| slot).collect();
        slots.sort_unstable();
        assert_eq!(slots, (0..slots.len() as u32).collect::<Vec<_>>(), "each ten seconds once");
    }
}

#[test]
fn named_operations_are_kept_in_periods_and_sums() {
    let mut list = intervals();
    for interval in &mut list {
        let mkdir = interval.counts.named_mut(OpId::new(0), Counted::InTotal);
        (mkdir.ios, mkdir.bytes) = (3, 0);
        mkdir.completion.record(1000 + u64::from(interval.key.index));
        interval.counts.named_mut(OpId::new(127), Counted::Beside).ios = 2;
    }
    let bytes = written(&list);
    assert_eq!(read_level(bytes.as_slice(), Level::Period).unwrap().intervals, list);
    let sums = read_level(bytes.as_slice(), Level::Minute).unwrap().intervals;
    assert_eq!(total(&sums), total(&list));
    let all = total(&list);
    assert_eq!(all.named.iter().map(|named| named.counts.ios).collect::<Vec<_>>(), [3 * 250, 2 * 250]);
    let reads_and_writes: u64 = all.ops[..3].iter().map(|op| op.ios).sum();
    assert_eq!(all.data_ios(), reads_and_writes + 3 * 250, "what came along is not asked for");
}

#[test]
fn sums_hold_the_same_counts() {
    let bytes = written(&intervals());
    for (level, number) in [(Level::TenSeconds, 13 + 14), (Level::Minute, 3 + 4)] {
        let sums = read_level(bytes.as_slice(), level).unwrap().intervals;
        assert_eq!(sums.len(), number, "{level:?}");
        assert_eq!(total(&sums), total(&intervals()));
    }
    let first = read_level(bytes.as_slice(), Level::Minute).unwrap().intervals.remove(0);
    assert_eq!((first.key.index, first.key.start_ns, first.key.length_ns), (0, 0, 60 * SECOND));
}

#[test]
fn a_torn_file_is_read_up_to_the_tear_on_every_level() {
    let bytes = written(&intervals());
    for cut in [HEADER_BYTES, HEADER_BYTES + 3, bytes.len() / 2, bytes.len() - 1] {
        let periods = read_level(&bytes[..cut], Level::Period).unwrap();
        assert_eq!(periods.intervals, intervals()[..periods.intervals.len()]);
        assert_eq!(periods.tail.valid_bytes + periods.tail.lost_bytes, cut as u64);
        let again = read_level(&bytes[..periods.tail.valid_bytes as usize], Level::Period).unwrap();
        assert_eq!((again.intervals, again.tail.lost_bytes), (periods.intervals.clone(), 0));
        for level in Level::SUMS {
            let sums = read_level(&bytes[..cut], level).unwrap();
            assert_eq!(total(&sums.intervals), total(&periods.intervals), "{level:?} cut at {cut}");
        }
    }
}

#[test]
fn a_flipped_bit_costs_one_frame() {
    let mut bytes = written(&intervals());
    bytes[HEADER_BYTES + 8 + 20] ^= 4;
    let content = read_level(bytes.as_slice(), Level::Period).unwrap();
    assert_eq!(content.intervals, intervals()[1..]);
    assert_eq!((content.tail.damaged_frames, content.tail.lost_bytes), (1, 0));
}

#[test]
fn a_damaged_length_ends_it() {
    let mut bytes = written(&intervals());
    bytes[HEADER_BYTES] ^= 1;
    let content = read_level(bytes.as_slice(), Level::Period).unwrap();
    assert_eq!((content.intervals.len(), content.tail.valid_bytes), (0, HEADER_BYTES as u64));
    assert_eq!(content.tail.lost_bytes, (bytes.len() - HEADER_BYTES) as u64);
}

#[test]
fn long_periods_stand_for_themselves() {
    let mut one = interval(0, 0, OpKind::Read, 9);
    one.key.length_ns = 15 * SECOND;
    let mut two = one.clone();
    (two.key.index, two.key.start_ns) = (1, 15 * SECOND);
    let bytes = written(&[one.clone(), two.clone()]);
    assert_eq!(read_level(bytes.as_slice(), Level::TenSeconds).unwrap().intervals, [one, two]);
    assert_eq!(read_level(bytes.as_slice(), Level::Minute).unwrap().intervals.len(), 1);
}

#[test]
fn other_files_are_refused() {
    let with_version = |major: u16| {
        let mut header = SeriesEncoder::header();
        header[8..10].copy_from_slice(&major.to_le_bytes());
        let crc = checksum::crc32c(&[&header[..12]]);
        header[12..].copy_from_slice(&crc.to_le_bytes());
        header
    };
    assert!(SeriesReader::open(with_version(MAJOR).as_slice()).is_ok());
    let error = SeriesReader::open(with_version(2).as_slice()).unwrap_err();
    assert!(matches!(error, SeriesError::OtherMajor { found: 2 }), "{error}");
    for other in [&b""[..], b"ASSAYSER", b"{\"not\": \"a series file, but long enough\"}"] {
        assert!(matches!(SeriesReader::open(other).unwrap_err(), SeriesError::NotASeries));
    }
}

#[test]
fn an_unknown_kind_of_frame_is_left_out() {
    let mut bytes = SeriesEncoder::header();
    let payload = [77_u8, 1, 2, 3];
    let length = 4_u32.to_le_bytes();
    bytes.extend(length);
    bytes.extend(checksum::crc32c(&[&length, &payload]).to_le_bytes());
    bytes.extend(payload);
    bytes.extend(&written(&intervals()[..1])[HEADER_BYTES..]);
    let mut reader = SeriesReader::open(bytes.as_slice()).unwrap();
    assert_eq!(reader.next_frame().unwrap().unwrap().interval, intervals()[0]);
    while reader.next_frame().unwrap().is_some() {}
    assert_eq!(reader.tail().damaged_frames, 0);
}

/// Frames with a right checksum around any payload: what a checksum alone does not keep out.
fn framed(payloads: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = SeriesEncoder::header();
    for payload in payloads {
        let length = (payload.len() as u32).to_le_bytes();
        bytes.extend(length);
        bytes.extend(checksum::crc32c(&[&length, payload]).to_le_bytes());
        bytes.extend(payload);
    }
    bytes
}

fn histogram() -> impl Strategy<Value = LatencyHistogram> {
    prop::collection::vec((any::<u64>(), 1_u64..1 << 40), 0..20).prop_map(|values| {
        let mut histogram = LatencyHistogram::new();
        // Sums above 2^64 ns (585 years) are not kept exactly.
        values.iter().for_each(|(value, count)| histogram.record_n(value >> 24, count >> 20));
        histogram
    })
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..600)) {
        let mut with_header = SeriesEncoder::header();
        with_header.extend(&bytes);
        for input in [&bytes, &with_header] {
            for level in [Level::Period, Level::TenSeconds, Level::Minute] {
                let _ = read_level(input.as_slice(), level);
            }
        }
    }

    #[test]
    fn any_payload_is_read_without_harm(
        payloads in prop::collection::vec(prop::collection::vec(prop_oneof![0_u8..6, any::<u8>()], 0..80), 0..6)
    ) {
        let bytes = framed(&payloads);
        for level in [Level::Period, Level::TenSeconds, Level::Minute] {
            let content = read_level(bytes.as_slice(), level).unwrap();
            prop_assert_eq!(content.tail.valid_bytes, bytes.len() as u64);
            let _ = total(&content.intervals);
        }
    }

    #[test]
    fn any_interval_survives(
        (phase, job, index, ramp) in any::<(u32, u32, u32, bool)>(),
        (start_ns, length_ns, errors, busy_slot_ns) in any::<(u64, u64, u64, u64)>(),
        histograms in prop::collection::vec(histogram(), 4),
    ) {
        let mut one = Interval {
            key: crate::IntervalKey { phase, job, index, ramp, start_ns, length_ns },
            counts: JobCounts { errors, busy_slot_ns, lateness: histograms[0].clone(), ..JobCounts::default() },
        };
        one.counts.ops[1].completion = histograms[1].clone();
        one.counts.ops[1].response = histograms[2].clone();
        one.counts.ops[3].submit = histograms[3].clone();
        let mut reader = SeriesReader::open(std::io::Cursor::new(written(std::slice::from_ref(&one)))).unwrap();
        prop_assert_eq!(reader.next_frame().unwrap().unwrap().interval, one);
    }

    #[test]
    fn a_tear_anywhere_keeps_what_is_before(cut in 0_usize..4000) {
        let intervals = intervals_of(6);
        let bytes = written(&intervals);
        let cut = cut.min(bytes.len());
        if let Ok(content) = read_level(&bytes[..cut], Level::Period) {
            prop_assert_eq!(&content.intervals[..], &intervals[..content.intervals.len()]);
            prop_assert_eq!(content.tail.valid_bytes + content.tail.lost_bytes, cut as u64);
        } else {
            prop_assert!(cut < HEADER_BYTES);
        }
    }
}
