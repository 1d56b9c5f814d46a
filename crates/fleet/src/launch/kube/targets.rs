//! Whether pods have the targets of a workload.

use assay_workload::target::TargetKind;
use assay_workload::units::Bytes;
use assay_workload::{Target, Workload};

use crate::kube::Options;
use crate::kube::options::VolumeMode;

/// Targets that are something: the null engine uses none.
pub(super) fn real(workload: &Workload) -> impl Iterator<Item = &Target> {
    workload.targets.iter().filter(|target| target.kind != Some(TargetKind::Null))
}

/// Refuses targets that a pod does not have, before anything is made.
pub(super) fn check(workload: &Workload, options: &Options) -> Result<(), String> {
    let targets: Vec<&Target> = real(workload).collect();
    let volumes = options.volumes as usize;
    match options.mode {
        VolumeMode::Block => {
            if let Some(target) = targets.iter().find(|target| target.kind == Some(TargetKind::Directory)) {
                return Err(format!(
                    "target '{}' is a directory, and volumes are block devices; use mode filesystem",
                    target.name
                ));
            }
            if targets.len() > volumes {
                return Err(format!(
                    "{} targets, and {volumes} volumes of each worker: a block device for each is needed (volumes={})",
                    targets.len(),
                    targets.len()
                ));
            }
        }
        VolumeMode::Filesystem => {
            let outside = |path: &str| path.starts_with('/') || path.split('/').any(|part| part == "..");
            if let Some(target) = targets.iter().find(|target| outside(&target.path)) {
                return Err(format!(
                    "target '{}' is {}, which is not in the volume of a worker: name it with a relative path",
                    target.name, target.path
                ));
            }
            for volume in 0..volumes {
                let on_it = targets.iter().skip(volume).step_by(volumes);
                let bytes: u64 = on_it.filter_map(|target| target.size).map(|size| size.0).sum();
                if bytes > options.size.0 {
                    return Err(format!(
                        "the targets of a volume take {}, and it has {}: ask for larger ones",
                        Bytes(bytes),
                        options.size
                    ));
                }
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn workload(paths: &[(&str, Option<u64>)]) -> Workload {
        let target = |(number, (path, size)): (usize, &(&str, Option<u64>))| Target {
            name: format!("t{number}"),
            path: (*path).to_owned(),
            kind: None,
            size: size.map(Bytes),
        };
        Workload { targets: paths.iter().enumerate().map(target).collect(), ..Workload::default() }
    }

    fn options(words: &str) -> Options {
        let mut options = Options::default();
        options.take(words).expect("options");
        options
    }

    #[test]
    fn targets_that_no_pod_has_are_refused() {
        let filesystem = options("size=1Gi");
        assert_eq!(check(&workload(&[("a", Some(1 << 29)), ("b", None)]), &filesystem), Ok(()));
        for (paths, expected) in [
            (&[("/dev/sda", None)][..], "t0' is /dev/sda, which is not in the volume"),
            (&[("../a", None)], "name it with a relative path"),
            (&[("a", Some(2 << 30))], "take 2 GiB, and it has 1 GiB"),
        ] {
            let why = check(&workload(paths), &filesystem).expect_err(expected);
            assert!(why.contains(expected), "{why}");
        }
        let why =
            check(&workload(&[("a", None), ("b", None)]), &options("mode=block")).expect_err("one volume");
        assert!(why.contains("2 targets, and 1 volumes") && why.contains("volumes=2"), "{why}");
        assert_eq!(
            check(&workload(&[("a", Some(1 << 30)), ("b", Some(1 << 30))]), &options("size=1Gi,volumes=2")),
            Ok(())
        );
    }
}
