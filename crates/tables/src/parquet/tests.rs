use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::record::{Field, Row};
use assay_results::IntervalKey;
use assay_results::samples;
use assay_workload::pattern::OpKind;

use super::*;

fn rows(file: &[u8]) -> Vec<Row> {
    let reader = SerializedFileReader::new(bytes::Bytes::copy_from_slice(file)).expect("a Parquet file");
    reader.get_row_iter(None).expect("rows").map(|row| row.expect("a row")).collect()
}

fn field<'r>(row: &'r Row, name: &str) -> &'r Field {
    row.get_column_iter().find(|(known, _)| *known == name).expect("the column").1
}

#[test]
fn every_number_is_that_of_the_run() {
    let run = samples::stb_run();
    assert!(whole_rows(&run).iter().any(|row| row.histogram.is_some_and(|sparse| sparse.buckets.len() > 3)));
    assert_same(&run);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { cases: 32, ..Default::default() })]

    #[test]
    fn every_number_of_any_run(phases in proptest::collection::vec(samples::odd::phase(), 1..4)) {
        let mut run = samples::run("odd", "", phases);
        // Buckets that no histogram has are damage, and are told where a run is read.
        for op in run.phases.iter_mut().flat_map(|phase| &mut phase.jobs).flat_map(ops) {
            op.completion_histogram = None;
        }
        assert_same(&run);
    }
}

fn ops(job: &mut JobResult) -> Vec<&mut assay_results::run::OpResult> {
    let named = [job.read.as_mut(), job.write.as_mut(), job.trim.as_mut(), job.flush.as_mut()];
    named.into_iter().flatten().chain(job.ops.values_mut()).chain([&mut job.total]).collect()
}

fn assert_same(run: &Run) {
    let files = parquet_files(run, &[]).expect("files");
    let (found, wanted) = (rows(&files[0].1), whole_rows(run));
    assert_eq!(found.len(), wanted.len());
    for (row, whole) in found.iter().zip(&wanted) {
        let op = whole.record.op;
        assert_eq!(field(row, "iops"), &op.known_iops().map_or(Field::Null, Field::Double));
        assert_eq!(field(row, "bytes"), &Field::ULong(op.bytes));
        assert_eq!(field(row, "mean_ns"), &Field::Double(whole.latency.mean));
        assert_eq!(field(row, "p99_9_ns"), &whole.latency.p99_9.map_or(Field::Null, Field::ULong));
        assert_eq!(field(row, "phase"), &Field::Str(whole.record.phase.name.clone()));
        let Field::ListInternal(list) = field(row, "hist") else { panic!("a list") };
        let counts = list.elements().iter().map(|element| match element {
            Field::Group(pair) => match (field(pair, "bucket_ns"), field(pair, "count")) {
                (Field::ULong(bucket), Field::ULong(count)) => (*bucket, *count),
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        });
        let stored = whole.histogram.map(LatencyHistogram::from_sparse).unwrap_or_default();
        assert_eq!(counts.collect::<Vec<_>>(), buckets(&stored));
    }
}

#[test]
fn a_row_a_period_and_operation_and_none_without() {
    let run = samples::stb_run();
    let phase = run.phases.iter().find(|phase| !phase.jobs.is_empty()).expect("a phase");
    let job = phase.jobs[0].evidence.plan_jobs.first().copied();
    let files = parquet_files(&run, &[]).expect("files");
    assert!(rows(&files[1].1).is_empty());
    let Some(job) = job else { return };
    let key = IntervalKey {
        phase: phase.plan_phase,
        job,
        index: 3,
        ramp: false,
        start_ns: 3,
        length_ns: 1_000_000_000,
    };
    let mut counts = JobCounts::default();
    let write = counts.op_mut(OpKind::Write);
    (write.ios, write.bytes) = (2, 8192);
    write.completion.record_n(1_000_000, 2);
    let found = rows(&parquet_files(&run, &[Interval { key, counts }]).expect("files")[1].1);
    assert_eq!(found.len(), 1);
    assert_eq!(field(&found[0], "op"), &Field::Str("write".to_owned()));
    assert_eq!(field(&found[0], "block_size_bytes"), &Field::ULong(4096));
    assert_eq!(field(&found[0], "p99_ns"), &Field::ULong(1_000_000));
}
