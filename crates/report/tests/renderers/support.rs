//! References made by hand beside the runs of `results::samples`.

use assay_report::quick::{Reference, ReferenceIops};
pub(crate) use assay_results::samples::*;

/// The baseline of the original, with its footnote.
pub(crate) fn hdd() -> Reference {
    Reference {
        name: "hdd".to_owned(),
        iops: TESTS.iter().map(|test| (test.0.to_owned(), ReferenceIops::Measured(test.4))).collect(),
        footnotes: vec![
            "6 TB SATA HGST HUS726060ALE610, XFS, Linux 4.9.88, recorded with storage-tuner-benchmark 2.1.0-rc1; write cache on and nobarrier: its flushes did not reach the medium.".to_owned(),
        ],
    }
}

/// The typical ranges.
pub(crate) fn typical() -> Vec<Reference> {
    ["HDD", "SATA SSD", "NVMe"]
        .iter()
        .enumerate()
        .map(|(index, name)| Reference {
            name: (*name).to_owned(),
            iops: CELLS
                .iter()
                .map(|cell| {
                    (
                        cell.0.to_owned(),
                        ReferenceIops::Typical { low: cell.5[index].0, high: cell.5[index].1 },
                    )
                })
                .collect(),
            footnotes: vec!["typical of such devices, from data sheets; not measured here".to_owned()],
        })
        .collect()
}
