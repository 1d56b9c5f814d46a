//! The plans that are shipped.

/// A plan that is part of the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Profile {
    /// What it is called on the command line.
    pub name: &'static str,
    /// One line on what it measures.
    pub summary: &'static str,
    /// The plan, with comments; [`super::parse`] reads it without remarks. It names 320 GiB in files and 5 minutes:
    /// [`super::scale_to`] and [`super::override_runtime`] fit it to less.
    pub text: &'static str,
}

/// The profiles of the I/O Test VM: 16 jobs with 32 outstanding I/Os each, in the order in which it runs them.
/// Published with it are operation, block size, outstanding I/Os and jobs; file sizes and times are our choice.
pub fn profiles() -> &'static [Profile] {
    const PROFILES: &[Profile] = &[
        Profile {
            name: "max-real-io",
            summary: "sequential 8 KiB reads: the highest rate of a block size that applications use",
            text: include_str!("../../profiles/max-real-io.toml"),
        },
        Profile {
            name: "max-bandwidth",
            summary: "sequential 1 MiB reads: the bytes a second the path carries",
            text: include_str!("../../profiles/max-bandwidth.toml"),
        },
        Profile {
            name: "real-life",
            summary: "random 8 KiB, 80 % reads: the number to compare systems by",
            text: include_str!("../../profiles/real-life.toml"),
        },
        Profile {
            name: "silly-512b",
            summary: "sequential 512-byte reads: why IOPS need their block size beside them",
            text: include_str!("../../profiles/silly-512b.toml"),
        },
    ];
    PROFILES
}

/// The profile of that name.
pub fn profile(name: &str) -> Option<&'static Profile> {
    profiles().iter().find(|profile| profile.name == name)
}

#[cfg(test)]
mod tests {
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
        assert_eq!(profiles().len(), published.len());
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
}
