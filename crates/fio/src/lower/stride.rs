//! Where a sequential walk with gaps ends.
//!
//! fio (3.33, by its trace of I/Os) begins again where the next block would start behind the end of the file. It takes
//! the file as done where a block ends with the file, and where the next one starts in it and does not fit into the
//! region. A job that lasts for a time or transfers io_size begins a file that is done again; any other ends with it.

use assay_workload::job::Job;

use super::super::resolved::{BlockSizes, ResolvedJob};
use super::super::value::Size;
use super::targets::{is_device, per_file, share};
use super::{Lowering, Source};

/// One way through a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FilePass {
    ios: u64,
    /// Whether another one follows it, without anything else that asks for it.
    begins_again: bool,
}

impl FilePass {
    /// Through the first `region` bytes of a file of `file` bytes: blocks of `block` bytes with `skip` between them.
    fn new(region: u64, file: u64, block: u64, skip: u64) -> FilePass {
        let step = block.saturating_add(skip).max(1);
        let last = region.saturating_sub(block) / step * step;
        let begins_again = last + block < file && last.saturating_add(step) >= file;
        FilePass { ios: last / step + 1, begins_again }
    }

    /// The lap of a job whose file and block sizes are known.
    fn of(job: &ResolvedJob, block: u64, skip: u64) -> Option<FilePass> {
        let region = per_file(job)?;
        let zero = Size::Bytes(0);
        let whole = job.region().offset == zero && job.region().offset_increment == zero;
        let device =
            (0..job.files.len()).any(|index| job.files.name(index).is_some_and(|name| is_device(&name)));
        // Where the file goes on behind the region, no start is behind its end.
        let file = if whole && !device { share(job)? } else { u64::MAX };
        Some(FilePass::new(region, file, block, skip))
    }
}

/// The only block size of a job.
fn block(job: &ResolvedJob) -> Option<u64> {
    let mut sizes = job.access().direction.slots().iter().map(|slot| &job.access().sizes[*slot]);
    match sizes.next() {
        Some(BlockSizes::Fixed(bytes)) => {
            sizes.all(|other| *other == BlockSizes::Fixed(*bytes)).then_some(*bytes)
        }
        _ => None,
    }
}

impl Lowering<'_> {
    /// Whether a walk with gaps begins again at the end of the region, or ends the job there.
    pub(super) fn stride_wraps(&mut self, source: Source<'_>, skip: u64) -> bool {
        let job = source.job;
        if job.lifetime().time_based || job.region().io_size.is_some() {
            return true;
        }
        let Some(block) = block(job) else {
            let message = "blocks of several sizes with gaps begin again at the end of the region; fio may end there, \
                as the last one happens to fit";
            self.loss(source, "stride-of-sizes", "rw", message.to_owned(), "bs=<one size>");
            return true;
        };
        let Some(pass) = FilePass::of(job, block, skip) else {
            let message = "the walk begins again at the end of the region; fio ends the job there if a block ends with \
                it";
            self.loss(source, "stride-of-unknown-size", "rw", message.to_owned(), "size=<bytes>");
            return true;
        };
        // Several laps are counted in I/Os.
        pass.begins_again || job.lifetime().loops > 1
    }

    /// Limits a walk that ends with its file to as many laps as are asked for.
    pub(super) fn stride_laps(&mut self, source: Source<'_>, job: &mut Job, skip: u64) {
        let resolved = source.job;
        let life = resolved.lifetime();
        if life.time_based || resolved.region().io_size.is_some() || life.loops < 2 {
            return;
        }
        let Some(pass) = block(resolved).and_then(|block| FilePass::of(resolved, block, skip)) else {
            return;
        };
        if pass.begins_again {
            return;
        }
        if resolved.access().direction.slots().len() > 1 {
            let message =
                "reads and writes begin again each on their own, not together when one is at the end";
            self.loss(source, "stride-loops", "loops", message.to_owned(), "one job for each direction");
        }
        let ios = pass.ios.saturating_mul(resolved.files.len()).saturating_mul(life.loops);
        job.limits.ios = Some(job.limits.ios.map_or(ios, |limit| limit.min(ios)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What fio's trace of I/Os showed (KiB): size, block, gap; I/Os of a lap, and whether another one followed.
    #[test]
    fn laps_are_those_of_fio() {
        let kib = 1024;
        for (file, block, skip, ios, begins_again) in [
            (64, 4, 12, 4, true),
            (52, 4, 12, 4, false),
            (54, 4, 12, 4, true),
            (60, 8, 12, 3, true),
            (44, 8, 12, 2, false),
        ] {
            let region = (file - file % block) * kib;
            let pass = FilePass::new(region, file * kib, block * kib, skip * kib);
            assert_eq!(pass, FilePass { ios, begins_again }, "{file} {block} {skip}");
        }
        assert_eq!(
            FilePass::new(64 * kib, u64::MAX, 4 * kib, 12 * kib),
            FilePass { ios: 4, begins_again: false }
        );
    }
}
