//! What only shows when the options of a job are seen together: refusals of fio at job start, and its traps.

use std::collections::BTreeMap;

use assay_formats::Position;

use super::distribution::Distribution;
use super::expand::{Names, clone_count};
use super::job_file::JobFile;
use super::report::Report;
use super::resolve::{Given, resolve};
use super::resolved::{BlockSizes, Direction, FileSet, ResolvedJob};
use super::section::{JOBS_MAX, JobSection, place};
use super::table;
use super::value::Size;

/// Checks every job of a file.
pub(super) fn check(file: &JobFile, report: &mut Report) {
    clones(file, report);
    if report.has_errors() {
        return;
    }
    waits(file, report);
    let mut names = Names::default();
    let mut said = SaidOnce::default();
    for section in &file.jobs {
        let files = names.files(section, 0, false);
        let job = resolve(section, files, false);
        let mut check = Check { section, job: &job, report, said: &mut said };
        check.refusals();
        check.pacing();
        check.depth();
        check.ends();
        check.randomness();
        check.sharing(&mut names);
        check.zones();
    }
}

/// At least one clone each, and fio's limit on all together.
fn clones(file: &JobFile, report: &mut Report) {
    let mut total = 0_usize;
    for section in &file.jobs {
        let count = Given::look(&section.settings).number("numjobs", 1);
        let place = place(section, "numjobs");
        if count < 1 {
            report.error("numjobs-zero", &place, "numjobs has to be at least 1".to_owned(), "");
        }
        total = total.saturating_add(usize::try_from(count).unwrap_or(0));
        if total > JOBS_MAX {
            let message = format!("with their clones there are more than {JOBS_MAX} jobs");
            return report.error("too-many-jobs", &place, message, "");
        }
    }
}

/// `wait_for` names one earlier job.
fn waits(file: &JobFile, report: &mut Report) {
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    for section in &file.jobs {
        let read = Given::look(&section.settings);
        let name = read.text("name").unwrap_or(&section.name);
        if let Some(waitee) = read.text("wait_for") {
            let place = place(section, "wait_for");
            if waitee == name {
                report.error("wait-for-self", &place, format!("[{name}] waits for itself"), "");
            } else {
                match seen.get(waitee).copied().unwrap_or(0) {
                    0 => {
                        let message = format!("no job above is named `{waitee}`");
                        report.error(
                            "wait-for-unknown",
                            &place,
                            message,
                            "name= changes the name to wait for",
                        );
                    }
                    1 => {}
                    _ => {
                        let message = format!("more than one job is named `{waitee}`");
                        report.error("wait-for-ambiguous", &place, message, "name them apart");
                    }
                }
            }
        }
        *seen.entry(name).or_default() += 1;
    }
}

/// Remarks about one line in [global] are made once, not for every job.
#[derive(Default)]
struct SaidOnce(std::collections::HashSet<(&'static str, Position)>);

struct Check<'a> {
    section: &'a JobSection,
    job: &'a ResolvedJob,
    report: &'a mut Report,
    said: &'a mut SaidOnce,
}

impl Check<'_> {
    fn note(&mut self, id: &'static str, option: &str, what: impl Into<String>, help: &str) {
        let place = place(self.section, option);
        if self.said.0.insert((id, place.at.clone())) {
            self.report.note(id, &place, what, help);
        }
    }

    fn error(&mut self, id: &'static str, option: &str, what: impl Into<String>, help: &str) {
        self.report.error(id, &place(self.section, option), what, help);
    }

    /// What fio refuses when the job is added.
    fn refusals(&mut self) {
        let pacing = self.job.pacing();
        let bytes = pacing.rate_bytes_per_s.iter().any(Option::is_some);
        let ios = pacing.rate_iops.iter().any(Option::is_some);
        if bytes && ios {
            self.error("rate-twice", "rate_iops", "rate and rate_iops exclude each other", "keep one");
        }
        let block = self.job.access().min_bytes();
        if let Some(Size::Bytes(size)) = self.job.region().size
            && size < block
        {
            let message = format!("size is {size} bytes, less than one block of {block}");
            self.error("size-below-block", "size", message, "");
        }
        if self.job.given().settings.get("zonesize").is_some()
            && self.job.given().word("zonemode", "").0 == "none"
        {
            let message = "zonesize is set with zonemode=none";
            self.error("zonesize-without-mode", "zonesize", message, "zonemode=strided");
        }
    }

    fn pacing(&mut self) {
        let pacing = self.job.pacing();
        if !pacing.is_limited() {
            if self.job.given().settings.get("rate_process").is_some() {
                let message = "without a rate, rate_process does nothing";
                self.note("fio-rate-process-without-rate", "rate_process", message, "rate_iops=<n>");
            }
            return;
        }
        let used = self.job.access().direction.slots();
        let below = used.iter().any(|slot| {
            pacing.rate_bytes_per_s[*slot]
                .is_some_and(|rate| rate < self.job.access().sizes[*slot].min_bytes())
        });
        if pacing.poisson && below {
            let message =
                "fio dies (division by zero, exit status 0) where a Poisson rate is below one block a second"
                    .to_owned();
            self.note("fio-poisson-below-block", "rate", message, "rate_iops=<n>");
        }
        let varying = |slot: &&usize| !matches!(self.job.access().sizes[**slot], BlockSizes::Fixed(_));
        let counted = |slot: &&usize| match pacing.poisson {
            false => pacing.rate_iops[**slot].is_some(),
            true => pacing.rate_bytes_per_s[**slot].is_some(),
        };
        if used.iter().filter(varying).any(|slot| counted(&slot)) {
            let (option, message) = match pacing.poisson {
                false => ("rate_iops", "fio turns rate_iops into bytes with the smallest of the block sizes"),
                true => ("rate", "fio turns a Poisson rate into I/Os with the smallest of the block sizes"),
            };
            self.note("fio-rate-with-sizes", option, message.to_owned(), "");
        }
    }

    fn depth(&mut self) {
        let depth = self.job.depth();
        let engine = self.job.engine();
        if depth.asked > 1 && depth.effective == 1 {
            let message = format!("{engine} is synchronous: one I/O is in flight, not {}", depth.asked);
            self.note("fio-depth-on-sync-engine", "iodepth", message, "ioengine=io_uring or numjobs=<n>");
        } else if engine == "libaio" && depth.asked > 1 && !self.job.durability().direct {
            let message = "buffered libaio waits inside the submission: about one I/O is in flight";
            self.note("fio-buffered-libaio", "iodepth", message, "direct=1");
        }
    }

    fn ends(&mut self) {
        let read = self.job.given();
        if read.flag("time_based", false) && self.job.lifetime().runtime_us == 0 {
            let message = "without a runtime fio switches time_based off";
            self.note("fio-time-based-without-runtime", "time_based", message, "runtime=<seconds>");
        }
        if super::resolve::verifies(read)
            && self.job.lifetime().time_based
            && self.job.access().direction == Direction::Write
            && read.flag("do_verify", true)
            && read.number("verify_backlog", 0) == 0
        {
            let message = "a time_based writer never comes to its verify pass";
            self.note("fio-verify-never-reached", "verify", message, "verify_backlog=<n>, or no time_based");
        }
        if self.job.stage_delays() {
            let message = "startdelay counts from the start of the whole run, not from the stonewall";
            self.note("fio-startdelay-from-run-start", "startdelay", message, "");
        }
    }

    fn randomness(&mut self) {
        let access = self.job.access();
        if !access.random && self.job.given().settings.get("percentage_random").is_some() {
            let message = "percentage_random does nothing for sequential rw";
            let help = "rw=randread, randwrite or randrw";
            self.note("fio-percentage-random-ignored", "percentage_random", message, help);
        }
        if access.random
            && access.distribution != Distribution::Random
            && self.job.given().settings.get("norandommap").is_none()
        {
            let message = "this distribution switches the random map off: not every block is visited";
            self.note("fio-distribution-without-map", "random_distribution", message, "");
        }
        let moved = (0..3).any(|slot| {
            access.align_bytes[slot].is_some_and(|align| align != access.sizes[slot].min_bytes())
        });
        if access.random && moved {
            let message = "ba that differs from the smallest block switches the random map off";
            self.note("fio-blockalign-without-map", "ba", message, "");
        }
    }

    /// Clones on one file, and clones that find their name taken.
    fn sharing(&mut self, names: &mut Names) {
        let clones = clone_count(self.section, false);
        if clones < 2 {
            return;
        }
        let mut idle = 0;
        for clone in (1..clones).rev() {
            if let FileSet::Taken { .. } = names.files(self.section, clone, false) {
                idle += 1;
            }
        }
        if idle > 0 {
            let message =
                format!("{idle} of {clones} clones find their file name taken and do no I/O in fio");
            let help = "filename= shares a file, $jobnum separates them";
            self.note("fio-clones-without-file", "filename_format", message, help);
        }
        let shared = matches!(self.job.files, FileSet::Named(_));
        if shared && !self.job.access().random && self.job.region().offset_increment == Size::Bytes(0) {
            let message = format!("{clones} clones walk over the same region of the same file, side by side");
            let help = "offset_increment=<size> gives each its own";
            self.note("fio-clones-share-region", "filename", message, help);
        }
    }

    fn zones(&mut self) {
        let region = self.job.region();
        let sizes = [
            ("size", region.size),
            ("io_size", region.io_size),
            ("offset", Some(region.offset)),
            ("offset_increment", Some(region.offset_increment)),
        ];
        for (option, size) in sizes {
            if matches!(size, Some(Size::Zones(_))) {
                let place = place(self.section, option);
                let message = format!("{option} in zones needs a zoned device, which is not driven");
                let help = "write the bytes";
                self.report.loss("zones-not-known", table::affects(option), &place, message, help);
            }
        }
    }
}

impl ResolvedJob {
    /// Whether a delay meets a stonewall, which people take to be its start.
    fn stage_delays(&self) -> bool {
        self.lifetime().start_delay_us.1 > 0 && self.given().flag("stonewall", false)
    }
}
