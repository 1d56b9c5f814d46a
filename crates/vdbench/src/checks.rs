//! Rules over whole definitions and runs, and the traps that a reader should know of.

use std::collections::BTreeSet;

use assay_workload::distribution::hotband_head_share;
use assay_workload::pattern::OpKind;

use super::access::{Amount, Seek, Sizes, Span};
use super::expand::count;
use super::file::ParameterFile;
use super::number::{show, show_size};
use super::options::Options;
use super::resolve::{shares, workloads};
use super::run::{Rates, RunDef, StorageChoice};
use super::sink::Sink;
use super::{StorageDef, WorkloadDef};

/// Checks everything that needs more than one parameter.
pub(crate) fn check(file: &mut ParameterFile, options: &Options, sink: &mut Sink) {
    storages(file, sink);
    for wd in &file.workloads {
        workload(wd, file, sink);
    }
    file_definitions(file, sink);
    let mut total = 0u64;
    let mut budget = options.limits.references;
    for rd in &file.runs {
        run(file, rd, &mut budget, sink);
        if budget == 0 {
            let message = "the runs refer to too many definitions in all";
            sink.error("too-large", rd.at, &rd.name, message, "use fewer runs or definitions");
            return;
        }
        total = total.saturating_add(count(file, rd));
    }
    if file.runs.is_empty() && !sink.has_errors() {
        let message = "the file defines no run";
        let help = "add a line such as rd=run1,wd=wd*,iorate=max,elapsed=60,interval=1";
        sink.error("no-run", None, "", message, help);
    }
    if total > options.limits.runs as u64 {
        let message =
            format!("the file expands to {total} runs; at most {} are allowed", options.limits.runs);
        let help = "shorten the lists of the loops";
        sink.error("too-large", file.runs.first().map(|r| r.at), "", message, help);
    }
    file.unformatted = unformatted(file, options);
}

fn storages(file: &ParameterFile, sink: &mut Sink) {
    let validating = file.general.validation.is_some();
    for sd in &file.storages {
        if sd.luns.is_empty() {
            let message = format!("no lun name specified for sd `{}`", sd.name);
            let help = "add lun=; a blank before it makes it a comment";
            sink.error("lun-missing", sd.at, &sd.name, message, help);
        }
        name_rule(&sd.name, "sd", validating, sd.at, sink);
        if let Some(lun) = sd.luns.iter().find(|l| l.path.starts_with("/dev/shm/")) {
            let message = format!("`{}` counts as a raw device: its first block is never touched", lun.path);
            let help = "use a path outside /dev for a plain file";
            sink.note("dev-shm-is-raw", sd.at, &lun.path, message, help);
        }
        if let Some(lun) = sd.luns.iter().find(|l| l.path.contains(['[', '?'])) {
            let message = format!("`{}` is taken as one path: patterns are not expanded", lun.path);
            let help = "list the devices, or use count=(1,8) with lun=/dev/x*";
            sink.note("no-globbing", sd.at, &lun.path, message, help);
        }
    }
}

fn name_rule(name: &str, kind: &str, validating: bool, at: super::At, sink: &mut Sink) {
    const VALIDATED_NAME_CHARS: usize = 8;
    if name == "concat" {
        let message = "the name `concat` is reserved";
        sink.error("bad-name", at, name, message, "choose another name");
    }
    if validating && name.chars().count() > VALIDATED_NAME_CHARS {
        let message = format!("with data validation the name of an {kind} has at most 8 characters");
        sink.error("bad-name", at, name, message, "shorten the name");
    }
}

fn workload(wd: &WorkloadDef, file: &ParameterFile, sink: &mut Sink) {
    if wd.stride.is_some()
        && matches!(wd.seek, Seek::Sequential | Seek::UntilEnd | Seek::SequentialFromRandom)
    {
        let message = format!("wd `{}`: stride needs random access, seekpct above 0", wd.name);
        sink.error("stride-needs-seek", wd.at, &wd.name, message, "give seekpct=100");
    }
    if let Sizes::Uniform { align, .. } = wd.transfer
        && let Some(sd) =
            wd.storages.iter().filter_map(|i| file.storages.get(*i)).find(|sd| sd.align != align)
    {
        let message =
            format!("xfersize=(min,max,align) of wd `{}` needs align={align} on sd `{}`", wd.name, sd.name);
        sink.note("align-must-match", wd.at, &wd.name, message, "vdbench refuses the file without it");
    }
    if let Some(band) = wd.hot_band {
        hotband(wd, band, file, sink);
    }
    hit_area(wd, file, sink);
}

/// Where a hotband sends its traffic, which is not what its manual says.
fn hotband(wd: &WorkloadDef, band: Span, file: &ParameterFile, sink: &mut Sink) {
    const HEAD_BYTES: u64 = 1 << 20;
    /// For a band whose size is not known.
    const BAND_BYTES: u64 = 16 << 30;
    let size = wd.storages.iter().find_map(|i| file.storages.get(*i)?.size);
    let known = band.bytes_of(size);
    let bytes = known.unwrap_or(BAND_BYTES);
    let percent = |corrected: bool| {
        let share = |kind| hotband_head_share(HEAD_BYTES, bytes, corrected, kind);
        let reads = wd.read_pct / 100.0;
        let all = reads * share(OpKind::Read) + (1.0 - reads) * share(OpKind::Write);
        format!("{:.1} %", 100.0 * all)
    };
    let (faithful, repaired) = (percent(false), percent(true));
    let of = if known.is_some() { "the band" } else { "a band of 16 GiB" };
    let writes = if wd.read_pct < 100.0 { "; writes are as hot, 1 % of the band further in" } else { "" };
    let (id, message, help) = if file.hotband_corrected {
        let message = format!(
            "hotband with its units repaired sends {repaired} of the traffic to the first MiB of {of}, {faithful} as in vdbench{writes}"
        );
        ("hotband-corrected", message, "--hotband faithful does as vdbench does")
    } else {
        let message = format!(
            "hotband sends {faithful} of the traffic to the first MiB of {of}, by a unit error of 1000 in vdbench; {repaired} without it{writes}"
        );
        let help =
            "kept as it is; --hotband corrected repairs it, or one wd for each core with bounds 1 MiB apart";
        ("hotband-unit-error", message, help)
    };
    sink.note(id, wd.at, &wd.name, format!("wd `{}`: {message}", wd.name), help);
}

/// A hit area that is small against what one core or controller serves.
fn hit_area(wd: &WorkloadDef, file: &ParameterFile, sink: &mut Sink) {
    const LARGE_BYTES: u64 = 64 << 20;
    let hits = wd.read_hit_pct.max(wd.write_hit_pct);
    let small = |sd: &&StorageDef| matches!(sd.hit_area, Amount::Bytes(n) if n < LARGE_BYTES);
    let Some(sd) =
        wd.storages.iter().filter_map(|i| file.storages.get(*i)).find(small).filter(|_| hits >= 1.0)
    else {
        return;
    };
    if let Amount::Bytes(bytes) = sd.hit_area {
        let size = show_size(bytes as f64);
        let message = format!(
            "wd `{}`: {} % of the I/Os go to the first {size} of each sd, which a few cores of an array may serve alone",
            wd.name,
            show(hits)
        );
        sink.note("small-hit-area", wd.at, &wd.name, message, "set hitarea to a multiple of cores x 1m");
    }
}

fn file_definitions(file: &ParameterFile, sink: &mut Sink) {
    let validating = file.general.validation.is_some();
    let mut anchors = BTreeSet::new();
    for fsd in &file.file_systems {
        name_rule(&fsd.name, "fsd", validating, fsd.at, sink);
        if fsd.anchor.is_empty() {
            let message = format!("fsd `{}` has no anchor", fsd.name);
            sink.error("anchor-missing", fsd.at, &fsd.name, message, "add anchor=/directory");
        }
        anchors.insert(fsd.anchor.trim_end_matches('/').to_owned() + "/");
        if let Some(total) = fsd.total_bytes.filter(|total| *total > fsd.tree_bytes()) {
            let message = format!(
                "fsd `{}`: totalsize={} is more than the whole tree has, {}",
                fsd.name,
                show_size(total as f64),
                show_size(fsd.tree_bytes() as f64)
            );
            let help = "more depth=, width=, files= or sizes=, or a smaller totalsize=";
            sink.error("totalsize-above-tree", fsd.at, &fsd.name, message, help);
        }
    }
    for fsd in &file.file_systems {
        let own = fsd.anchor.trim_end_matches('/').to_owned() + "/";
        // Sorted order puts everything below a directory right behind it.
        let nested =
            anchors.range(own.clone()..).nth(1).filter(|next| next.starts_with(&own) && own.len() > 1);
        if let Some(inner) = nested {
            let message = format!("the anchor `{inner}` lies inside the anchor `{own}`");
            sink.error("nested-anchor", fsd.at, &fsd.anchor, message, "give each tree its own directory");
        }
    }
    for fwd in &file.file_workloads {
        if fwd.file_systems.is_empty() && fwd.file_system_words.is_empty() {
            let message = format!("fwd `{}` names no fsd", fwd.name);
            sink.error("fsd-missing", fwd.at, &fwd.name, message, "add fsd=");
        }
        if fwd.read_pct.is_some() && !fwd.io.random {
            let message = format!(
                "fwd `{}`: rdpct with sequential file access is refused by vdbench 5.04.07",
                fwd.name
            );
            sink.note("rdpct-needs-random", fwd.at, &fwd.name, message, "accepted here; write fileio=random");
        }
    }
}

fn run(file: &ParameterFile, rd: &RunDef, budget: &mut usize, sink: &mut Sink) {
    let definitions = workloads(file, rd);
    *budget = budget.saturating_sub(definitions.len() + rd.file_workloads.len() + rd.loops.len());
    let raw = !definitions.is_empty();
    let files = !rd.file_workloads.is_empty();
    if raw && files {
        let message = format!("rd `{}` mixes wd and fwd", rd.name);
        let help = "use one run for devices and another one for file systems";
        sink.error("mixed-run", rd.at, &rd.name, message, help);
    }
    if !raw && !files && rd.words.iter().all(Vec::is_empty) {
        let message = format!("rd `{}` names no workload", rd.name);
        sink.error("no-workload", rd.at, &rd.name, message, "add wd=, sd= or fwd=");
    }
    times(rd, sink);
    rate(rd, files, sink);
    if raw {
        raw_run(file, rd, &definitions, budget, sink);
    }
    if files {
        let skews: Vec<f64> =
            rd.file_workloads.iter().filter_map(|i| file.file_workloads.get(*i)).map(|f| f.skew).collect();
        skew(rd, &skews, sink);
        if rd.format.is_some_and(|f| !f.no && !f.clean && !f.restart) && shared_tree(file, rd) {
            let message = format!("rd `{}` formats a shared fsd in one step", rd.name);
            let help = "vdbench wants format=(clean,only) and then format=(restart,only)";
            sink.note("shared-format", rd.at, &rd.name, message, help);
        }
    }
}

fn shared_tree(file: &ParameterFile, rd: &RunDef) -> bool {
    let fwds = rd.file_workloads.iter().filter_map(|i| file.file_workloads.get(*i));
    fwds.take(1000).any(|fwd| {
        fwd.file_systems.iter().take(1000).filter_map(|i| file.file_systems.get(*i)).any(|fsd| fsd.shared)
    })
}

fn times(rd: &RunDef, sink: &mut Sink) {
    let (elapsed, interval) = (rd.elapsed_s, rd.interval_s);
    if interval == 0 {
        return;
    }
    let rule = if elapsed / interval < 2 {
        "elapsed must be at least two intervals"
    } else if elapsed % interval != 0 {
        "elapsed must be a multiple of interval"
    } else if !rd.warmup_s.is_multiple_of(interval) {
        "warmup must be a multiple of interval"
    } else {
        return;
    };
    let message = format!(
        "rd `{}`: {rule} (elapsed={elapsed}, interval={interval}, warmup={}, in seconds)",
        rd.name, rd.warmup_s
    );
    sink.error("bad-interval", rd.at, &rd.name, message, "adjust elapsed=, interval= or warmup=");
}

fn rate(rd: &RunDef, files: bool, sink: &mut Sink) {
    let (rate, keyword) = if files { (&rd.file_rate, "fwdrate") } else { (&rd.rate, "iorate") };
    let Some(rate) = rate else {
        let message = format!("rd `{}` has no {keyword}", rd.name);
        sink.error("rate-missing", rd.at, &rd.name, message, "add max, a number, a list or curve");
        return;
    };
    if let Rates::Values(values) = rate {
        if rd.arrivals.variable && values.len() % 2 != 0 {
            let message = format!("rd `{}`: distribution=variable needs pairs of rate and seconds", rd.name);
            sink.error("bad-value", rd.at, &rd.name, message, "write iorate=(100,10,200,10)");
        }
        if values.iter().any(|n| n.percent) {
            let message = format!("rd `{}`: a percentage is of the last maximum that a run reached", rd.name);
            sink.note("percent-of-max", rd.at, &rd.name, message, "");
        }
    }
    if let Some(Amount::Percent(p)) = rd.max_data {
        let message = format!(
            "rd `{}`: maxdata below 100 counts in sizes of all targets: {} x",
            rd.name,
            show(p / 100.0)
        );
        sink.note("maxdata-multiples", rd.at, &rd.name, message, "give a unit for an amount of data");
    }
}

fn raw_run(
    file: &ParameterFile,
    rd: &RunDef,
    definitions: &[&WorkloadDef],
    budget: &mut usize,
    sink: &mut Sink,
) {
    let own = rd.storages.is_some() || rd.storage_choice != StorageChoice::Together;
    if let Some(wd) = definitions.iter().find(|wd| wd.storage_words.is_empty() && !own) {
        let message = format!("wd `{}` names no sd, and neither does rd `{}`", wd.name, rd.name);
        sink.error("sd-missing", wd.at, &wd.name, message, "add sd=");
    }
    if rd.storage_choice != StorageChoice::Together {
        let wide: usize = definitions.iter().map(|wd| wd.storages.len()).sum();
        *budget = budget.saturating_sub(wide);
    }
    if rd.storage_choice != StorageChoice::Together {
        let message =
            format!("rd `{}`: one run for each set of sds; vdbench may name these runs otherwise", rd.name);
        sink.note("storage-sets", rd.at, &rd.name, message, "");
    }
    if let Some(wd) = definitions.iter().find(|wd| wd.threads.is_some() && !file.general.concatenate_sds) {
        let message = format!("wd `{}`: threads= has an effect with concatenatesds=yes only", wd.name);
        sink.note("wd-threads", wd.at, &wd.name, message, "give threads in the sd or rd");
    }
    let skews: Vec<f64> = definitions.iter().filter(|wd| wd.rate.is_none()).map(|wd| wd.skew).collect();
    skew(rd, &skews, sink);
    if definitions.iter().any(|wd| wd.rate.is_some())
        && let Some(wd) = definitions.iter().find(|wd| wd.priority.is_none())
    {
        let message =
            format!("rd `{}`: iorate= in a wd needs priority= in every wd, `{}` has none", rd.name, wd.name);
        sink.error("priority-missing", wd.at, &wd.name, message, "add priority=1, 2, ..");
    }
    if definitions.len() > 1
        && let Some(wd) = definitions.iter().find(|wd| wd.streams.is_some())
    {
        let message = format!("rd `{}`: a wd with streams must be alone in its run", rd.name);
        sink.error("streams-alone", wd.at, &wd.name, message, "give it a run of its own");
    }
    let direct = |wd: &&WorkloadDef| rd.open_flags.is_some() || wd.open_flags.is_some();
    if !definitions.iter().all(direct) {
        raw_needs_flags(file, rd, definitions, sink);
    }
}

/// vdbench refuses a raw device without an open flag; here it is opened through the page cache, which is said.
fn raw_needs_flags(file: &ParameterFile, rd: &RunDef, definitions: &[&WorkloadDef], sink: &mut Sink) {
    let flagless =
        |sd: &&StorageDef| sd.open_flags.is_none() && sd.luns.iter().any(|l| l.path.starts_with("/dev/"));
    let own = rd.storages.iter().flatten();
    let used = definitions
        .iter()
        .take(100)
        .filter(|wd| wd.open_flags.is_none())
        .flat_map(|wd| wd.storages.iter().take(100));
    let chosen: Vec<&usize> = if rd.storages.is_some() { own.take(1000).collect() } else { used.collect() };
    if let Some(sd) = chosen.into_iter().filter_map(|i| file.storages.get(*i)).find(flagless) {
        let message =
            format!("sd `{}` is a raw device without openflags: vdbench refuses it on Linux", sd.name);
        let help = "add openflags=o_direct; without it the page cache answers";
        sink.note("raw-needs-openflags", sd.at, &sd.name, message, help);
    }
}

fn skew(rd: &RunDef, skews: &[f64], sink: &mut Sink) {
    if skews.is_empty() {
        return;
    }
    if let Err(sum) = shares(skews) {
        let open = skews.iter().filter(|s| **s == 0.0).count();
        let rule =
            if open > 0 { format!(", and {open} workloads share what is left") } else { String::new() };
        let message =
            format!("rd `{}`: the skew of its workloads totals {}, not 100{rule}", rd.name, show(sum));
        let help = "adjust skew=; workloads without one share the remainder";
        sink.error("skew-not-100", rd.at, &rd.name, message, help);
    }
}

/// File SDs that a run uses and that do not exist with their full size.
fn unformatted(file: &ParameterFile, options: &Options) -> Vec<usize> {
    let mut workloads_used = BTreeSet::new();
    let mut used = BTreeSet::new();
    for rd in &file.runs {
        match &rd.storages {
            Some(own) => used.extend(own.iter().copied()),
            None => workloads_used.extend(rd.workloads.iter().copied()),
        }
        if rd.storage_choice != StorageChoice::Together && rd.workloads.is_empty() {
            used.extend(0..file.storages.len());
        }
    }
    for wd in workloads_used.iter().filter_map(|i| file.workloads.get(*i)) {
        used.extend(wd.storages.iter().copied());
    }
    let missing = |sd: &StorageDef| {
        let enough =
            |path: &str, size: u64| options.existing_files.get(path).is_some_and(|have| *have >= size);
        !sd.is_raw() && sd.size.is_some_and(|size| sd.luns.iter().any(|l| !enough(&l.path, size)))
    };
    let formats = file.general.format_sds != Some(false);
    used.into_iter().filter(|i| formats && file.storages.get(*i).is_some_and(missing)).collect()
}
