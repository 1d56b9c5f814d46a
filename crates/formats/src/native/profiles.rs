//! The plans that are shipped.

/// A plan that is part of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profile {
    /// What it is called on the command line.
    pub name: &'static str,
    /// One line on what it measures.
    pub summary: &'static str,
    /// The plan, with comments; [`super::parse`] reads it without remarks. It names 320 GiB in files and 5 minutes:
    /// [`assay_workload::scale`] fits it to less.
    pub text: &'static str,
}

/// Profiles by name and summary; each has its file.
macro_rules! shipped {
    ($($name:literal: $summary:literal),+ $(,)?) => {
        &[$(Profile {
            name: $name,
            summary: $summary,
            text: include_str!(concat!("../../profiles/", $name, ".toml")),
        }),+]
    };
}

/// The profiles of the I/O Test VM, 16 jobs with 32 outstanding I/Os each, in the order in which it runs them; then the tests of
/// SNIA's Solid State Storage Performance Test Specification.
/// Published with it are operation, block size, outstanding I/Os and jobs; file sizes and times are our choice.
pub fn profiles() -> &'static [Profile] {
    shipped! {
        "max-real-io": "sequential 8 KiB reads: the highest rate of a block size that applications use",
        "max-bandwidth": "sequential 1 MiB reads: the bytes a second the path carries",
        "real-life": "random 8 KiB, 80 % reads: the number to compare systems by",
        "silly-512b": "sequential 512-byte reads: why IOPS need their block size beside them",
        "snia-iops": "SNIA's IOPS test: 7 mixes x 8 block sizes until steady; up to a day, see --scale",
        "snia-throughput": "SNIA's throughput test: sequential 128 KiB and 1 MiB until steady",
        "snia-latency": "SNIA's latency test: one outstanding I/O, 3 mixes x 3 block sizes until steady",
        "snia-write-saturation": "SNIA's write saturation test: 4 KiB random writes of four times the capacity",
    }
}

/// The profile of that name.
pub fn profile(name: &str) -> Option<&'static Profile> {
    profiles().iter().find(|profile| profile.name == name)
}

#[cfg(test)]
mod tests {
    use assay_workload::PhaseKind;
    use assay_workload::pattern::{BlockSizes, Mix};
    use assay_workload::units::Nanos;

    use super::*;
    use crate::native::parse;

    #[test]
    fn each_profile_is_what_was_published() {
        let published = [
            ("max-real-io", Mix::READ, 8192, false),
            ("max-bandwidth", Mix::READ, 1 << 20, false),
            ("real-life", Mix::read_write(80.0), 8192, true),
            ("silly-512b", Mix::READ, 512, false),
        ];
        for (profile, (name, mix, block_bytes, random)) in profiles().iter().zip(published) {
            let (workload, said) = parse(name, profile.text);
            assert!(said.is_empty(), "{said:#?}");
            let workload = workload.expect("a profile without errors");
            assert_eq!((profile.name, workload.name.as_str()), (name, name));
            let size: u64 = workload.targets.iter().filter_map(|target| target.size).map(|size| size.0).sum();
            assert_eq!((workload.targets.len(), size), (16, 320 << 30));
            let [fill, measure] = workload.phases.as_slice() else { panic!("two phases") };
            assert_eq!((fill.jobs[0].pattern.mix, fill.jobs[0].limits.passes), (Mix::WRITE, Some(1)));
            let job = &measure.jobs[0];
            assert_eq!((job.threads, job.outstanding_per_thread), (16, 32));
            assert_eq!((job.pattern.mix, job.pattern.placement.is_random()), (mix, random));
            assert_eq!(job.pattern.read_sizes, BlockSizes::Fixed(block_bytes));
            assert_eq!(job.limits.time, Some(Nanos::from_secs(300)));
        }
    }

    #[test]
    fn profiles_are_found_by_name() {
        assert_eq!(profile("real-life"), Some(&profiles()[2]));
        assert_eq!(profile("real_life"), None);
    }

    #[test]
    fn the_tests_of_snia_have_their_matrices_and_end_when_steady() {
        let shapes = [
            ("snia-iops", 56, true),
            ("snia-throughput", 4, true),
            ("snia-latency", 9, true),
            ("snia-write-saturation", 1, false),
        ];
        for (name, points, steady) in shapes {
            let profile = profile(name).expect("it is shipped");
            let (workload, said) = parse(name, profile.text);
            assert!(said.is_empty(), "{said:#?}");
            let workload = workload.expect("a profile without errors");
            let measured: Vec<_> =
                workload.phases.iter().filter(|phase| phase.kind == PhaseKind::Measure).collect();
            assert_eq!(measured.len(), points, "{name}");
            assert!(measured.iter().all(|phase| phase.until.is_some() == steady), "{name}");
            let written: u32 = workload
                .phases
                .iter()
                .filter(|phase| phase.until.is_none())
                .filter_map(|phase| phase.jobs[0].limits.passes)
                .sum();
            assert_eq!(written, if steady { 2 } else { 4 }, "{name}: times the capacity");
        }
    }
}
