//! Where the traffic of hit areas and hotbands lands, beside what was measured with vdbench's own address trace.
//!
//! 16 GiB, 4 KiB blocks, segments of 1 MiB, segment k on core k mod 8.

use assay_workload::ops::{Generator, OpBlock, OpSource as _, SiteSpec};
use assay_workload::{ActiveRange, Plan};
use serde_json::Value;
use std::io::Write as _;

use crate::support::Place;

const SEGMENT_BYTES: u64 = 1 << 20;
const CORES: usize = 8;
const OPS: usize = 1_000_000;

/// Shares in per cent, and the busiest core against the mean.
#[derive(Debug)]
struct Shares {
    first_mib: f64,
    busiest_mib: f64,
    busiest_core: f64,
    max_over_mean: f64,
}

/// The shares of a parameter file's only job, from its plan's operations.
fn shares(storage: &str, workload: &str, words: &[&str]) -> Shares {
    let place = Place::new();
    // A file that is there, without blocks: the plan of one that is not would need as much free space.
    let file = std::fs::File::create(place.path().join("a.dat")).expect("a file");
    file.set_len(16 << 30).expect("a file without blocks");
    let text = format!(
        "sd=sd1,lun=a.dat,size=16g{storage}\nwd=w,sd=sd1,xfersize=4k,{workload}\nrd=r,wd=w,iorate=max,elapsed=4\n"
    );
    place.file("parm", &text);
    let document = place.assay(&[&["plan", "parm", "--json", "--seed", "3"], words].concat()).done();
    let document: Value = serde_json::from_str(&document).expect("JSON");
    let plan: Plan = serde_json::from_value(document["plan"].clone()).expect("a plan");
    let job = &plan.phases.last().expect("a phase").jobs[0];
    let slice = &job.slices[0];
    let range =
        ActiveRange { offset_bytes: slice.sites[0].offset_bytes, length_bytes: slice.sites[0].length_bytes };
    let sites = [SiteSpec { target: 0, range }];
    let mut source = Generator::new(&job.pattern, &sites, job.selection, slice.seed, None, None);
    let mut segments = vec![0_u32; (16 << 30) / SEGMENT_BYTES as usize];
    let (mut block, mut done) = (OpBlock::default(), 0);
    while done < OPS {
        source.fill(&mut block);
        for op in &block.ops[..block.len] {
            segments[(op.offset_bytes / SEGMENT_BYTES) as usize] += 1;
        }
        done += block.len;
    }
    let percent = |count: u32| 100.0 * f64::from(count) / done as f64;
    let mut cores = [0; CORES];
    segments.iter().enumerate().for_each(|(segment, count)| cores[segment % CORES] += count);
    let busiest_core = percent(cores.iter().copied().max().unwrap_or(0));
    Shares {
        first_mib: percent(segments[0]),
        busiest_mib: percent(segments.iter().copied().max().unwrap_or(0)),
        busiest_core,
        max_over_mean: busiest_core * CORES as f64 / 100.0,
    }
}

#[test]
fn hit_areas_and_hotbands_land_where_vdbench_puts_them() {
    // Storage, workload, words, and of vdbench: per cent on the first MiB, on the busiest core, and that over the mean.
    let corrected: &[&str] = &["--hotband", "corrected"];
    type Case<'a> = (&'a str, &'a str, &'a [&'a str], Option<f64>, f64, f64);
    let cases: [Case<'_>; 5] = [
        ("", "rhpct=75", &[], Some(75.0), 78.1, 6.25),
        (",hitarea=8m", "rhpct=75", &[], Some(9.4), 12.5, 1.0),
        ("", "hotband=(0,100)", &[], Some(32.7), 39.8, 3.19),
        ("", "hotband=(0,100)", corrected, None, 12.6, 1.01),
        ("", "seekpct=100", &[], None, 12.5, 1.0),
    ];
    for (storage, workload, words, first, core, ratio) in cases {
        let found = shares(storage, workload, words);
        let line = format!(
            "{workload}{storage} {}: first MiB {:.1} % (vdbench {}), busiest MiB {:.1} %, busiest core {:.1} % ({core}), max/mean {:.2} ({ratio})\n",
            words.join(" "),
            found.first_mib,
            first.map_or("-".to_owned(), |first| first.to_string()),
            found.busiest_mib,
            found.busiest_core,
            found.max_over_mean,
        );
        let _ = std::io::stderr().write_all(line.as_bytes());
        if let Some(first) = first {
            assert!((found.first_mib - first).abs() < 0.3, "{line}");
            assert!(found.busiest_mib >= found.first_mib, "{line}");
        }
        assert!((found.busiest_core - core).abs() < 0.3, "{line}");
        assert!((found.max_over_mean - ratio).abs() < 0.03, "{line}");
    }
}
