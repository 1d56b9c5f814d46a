//! Trees of files, the workloads on them, and their runs.

use assay_workload::job::{Caching, Job, Phase, PhaseKind, Rate, TreeWorkload};
use assay_workload::tree::{FileSelection, FileState};

use super::super::number::show;
use super::storage::{list, show_sizes, weighted};
use super::{Writer, skews};

impl Writer<'_> {
    /// One run over trees, with a file workload definition for each job and operation.
    pub(super) fn file_phase(&mut self, phase: &Phase, jobs: &[&Job]) {
        let format = format_words(phase, jobs);
        let mut names = Vec::new();
        let mut shares = Vec::new();
        for job in jobs {
            self.job_losses(job);
            let Some(tree) = &job.tree else { continue };
            let parts = if format.is_some() { vec![(String::new(), 1.0)] } else { operations(job, tree) };
            let total: f64 = parts.iter().map(|(_, w)| w).sum();
            let rate = if let Rate::Iops(rate) = job.rate { rate } else { 1.0 };
            for (operation, weight) in &parts {
                let name = self.workload_names.fresh(&job.name, "fwd");
                let threads =
                    (self.threads_of(job) * f64::from(job.outstanding_per_thread) * weight / total).round();
                let line = self.file_workload_line(&name, job, tree, operation, threads.max(1.0));
                names.push(name);
                shares.push((rate * weight / total, line));
            }
        }
        let rates: Vec<f64> = shares.iter().map(|(rate, _)| *rate).collect();
        let unequal = rates.iter().any(|rate| (rate - rates[0]).abs() > 1e-9 * rates[0]);
        for ((_, line), skew) in shares.into_iter().zip(skews(&rates)) {
            let skew = skew.filter(|_| unequal).map_or_else(String::new, |s| format!(",skew={s}"));
            self.fwds.push(line + &skew);
        }
        let run = self.run_names.fresh(&phase.name, "rd");
        let rate = self.file_rate(phase, jobs);
        let mut line = format!("rd={run},fwd={},fwdrate={rate}", list(&names));
        line += &format.map_or_else(String::new, |words| format!(",format={words}"));
        line += &self.run_tail(phase, jobs);
        self.rds.push(line);
    }

    fn file_rate(&mut self, phase: &Phase, jobs: &[&Job]) -> String {
        let fixed: Vec<f64> = jobs
            .iter()
            .filter_map(|job| match job.rate {
                Rate::Iops(rate) => Some(rate),
                _ => None,
            })
            .collect();
        if let Some(Rate::PercentOfMax(percent)) = jobs.first().map(|job| job.rate) {
            return format!("{}%", show(percent));
        }
        if jobs.iter().any(|job| matches!(job.rate, Rate::BytesPerS(_)))
            || (!fixed.is_empty() && fixed.len() < jobs.len())
        {
            let what = "its rates cannot be written together; it runs at the maximum";
            self.lose_of_phase(phase, "rates-differ", what, "give each job a rate in operations");
            return "max".to_owned();
        }
        if fixed.is_empty() { "max".to_owned() } else { show(fixed.iter().sum()) }
    }

    fn file_workload_line(
        &mut self,
        name: &str,
        job: &Job,
        tree: &TreeWorkload,
        operation: &str,
        threads: f64,
    ) -> String {
        let fsds: Vec<String> = job.targets.iter().map(|target| self.tree(target, tree)).collect();
        let mut line = format!("fwd={name},fsd={},threads={}", list(&fsds), show(threads));
        line += &format!(",xfersize={}", show_sizes(&job.pattern.read_sizes));
        line += &format!(",fileio={},fileselect={}", file_io(tree), file_select(tree));
        match operation.strip_prefix("rdpct=") {
            Some(percent) => line += &format!(",rdpct={percent}"),
            None if operation.is_empty() => {}
            None => line += &format!(",operation={operation}"),
        }
        if let Some(ios) = tree.stop_after_ios {
            line += &format!(",stopafter={ios}");
        } else if let Some(percent) = tree.stop_after_percent {
            line += &format!(",stopafter={}%", show(percent));
        }
        if let Some(target) = &tree.copy_to {
            line += &format!(",target={}", self.tree(target, tree));
        }
        let flags = super::open_flags(job.caching == Caching::Direct, &job.flush);
        if !flags.is_empty() {
            line += &format!(",openflags={}", list(&flags));
        }
        line += &self.host_words(job);
        line
    }

    /// The name of the tree of that shape below a target; a definition for each shape.
    fn tree(&mut self, target: &str, tree: &TreeWorkload) -> String {
        let path =
            self.workload.targets.iter().find(|t| t.name == target).map_or(target, |t| t.path.as_str());
        let anchor = self.path(path);
        let distribution = if tree.files_in_all_directories { ",distribution=all" } else { "" };
        let sizes = match tree.sizes[..] {
            [(mean, _)] if tree.sizes_around_mean => format!("({mean},0)"),
            _ => weighted(&tree.sizes),
        };
        let mut shape = format!(
            "anchor={anchor},depth={},width={},files={},sizes={sizes}{distribution}",
            tree.depth, tree.width, tree.files,
        );
        shape += &tree.total_bytes.map_or_else(String::new, |bytes| format!(",totalsize={bytes}"));
        shape += &tree.working_set_bytes.map_or_else(String::new, |bytes| format!(",workingsetsize={bytes}"));
        if tree.shared {
            shape += ",shared=yes";
        }
        if let Some(name) = self.trees.get(&shape) {
            return name.clone();
        }
        let name = self.tree_names.fresh(target, "fsd");
        self.tree_lines.push(format!("fsd={name},{shape}"));
        self.trees.insert(shape, name.clone());
        name
    }
}

fn file_io(tree: &TreeWorkload) -> &'static str {
    match (tree.random_io, tree.files_shared, tree.random_start, tree.delete_before_write) {
        (true, true, _, _) => "(random,shared)",
        (true, false, _, _) => "random",
        (false, _, true, _) => "seqnz",
        (false, _, false, true) => "(seq,delete)",
        (false, _, false, false) => "sequential",
    }
}

fn file_select(tree: &TreeWorkload) -> String {
    let order = match tree.file_selection {
        FileSelection::InOrder => "sequential".to_owned(),
        FileSelection::InOrderFromRandom => "seqnz".to_owned(),
        FileSelection::Once => "once".to_owned(),
        FileSelection::Random => "random".to_owned(),
        FileSelection::Skewed { midpoint } => format!("poisson,{}", show(midpoint)),
    };
    let state = match tree.file_state {
        FileState::Any => "",
        FileState::Full => ",full",
        FileState::Empty => ",empty",
        FileState::NotFull => ",notfull",
    };
    if order.contains(',') || !state.is_empty() { format!("({order}{state})") } else { order }
}

/// The `format=` words of a phase that makes or removes trees.
fn format_words(phase: &Phase, jobs: &[&Job]) -> Option<&'static str> {
    let has = |word: &str| {
        jobs.iter().filter_map(|j| j.tree.as_ref()).any(|t| t.operations.iter().any(|(o, _)| o == word))
    };
    match phase.kind {
        PhaseKind::Cleanup => Some("(clean,only)"),
        PhaseKind::Precondition if !has("create") => Some("(dir,only)"),
        PhaseKind::Precondition if has("delete") => Some("(yes,only)"),
        PhaseKind::Precondition => Some("(restart,only)"),
        _ => None,
    }
}

/// Operations with weights; reads and writes at random are one workload with a percentage.
fn operations(job: &Job, tree: &TreeWorkload) -> Vec<(String, f64)> {
    let weight = |name: &str| tree.operations.iter().filter(|(o, _)| o == name).map(|(_, w)| w).sum::<f64>();
    let (reads, writes) = (weight("read"), weight("write"));
    let both = reads > 0.0 && writes > 0.0;
    if both && tree.random_io && tree.operations.len() == 2 {
        return vec![(format!("rdpct={}", show((reads / (reads + writes) * 100.0).round())), 1.0)];
    }
    if tree.operations.is_empty() {
        let word = if job.pattern.mix.read_percent > 0.0 { "read" } else { "write" };
        return vec![(word.to_owned(), 1.0)];
    }
    tree.operations.clone()
}
