//! A plan before it is run: what, where, how long, and what it writes.

use assay_workload::plan::{Offered, Pace, PlannedJob, PlannedPhase, describe_flush, describe_work};
use assay_workload::target::TargetKind;
use assay_workload::{PhaseKind, Plan};

use super::paragraph;
use crate::format;
use crate::text::{Column, Hang, Keep, Style, Table, Tone};

/// The plan as tables: targets, then phases with their jobs. `Plan::describe` has every seed and slice.
pub fn plan(plan: &Plan, style: &Style) -> String {
    let mut text = String::new();
    let series = plan.series.as_ref().map_or_else(String::new, |series| format!(", series {series}"));
    let title = format!("plan {}{series}, {}", plan.name, plan.describe_seed());
    paragraph(&mut text, Tone::Strong, &title, Hang { first: 0, rest: 2 }, style);
    push_hosts(&mut text, plan, style);
    push_targets(&mut text, plan, style);
    for phase in &plan.phases {
        // The further rounds of a block say nothing new.
        if phase.step.is_none_or(|step| step.round == 0) {
            push_phase(&mut text, phase, plan, style);
        }
    }
    text.push('\n');
    paragraph(&mut text, Tone::Plain, &totals(plan), Hang { first: 0, rest: 2 }, style);
    text
}

fn push_hosts(text: &mut String, plan: &Plan, style: &Style) {
    for host in &plan.hosts {
        let words = format!("host {}: {}", host.name, host.describe());
        paragraph(text, Tone::Plain, &words, Hang { first: 2, rest: 4 }, style);
    }
}

fn push_targets(text: &mut String, plan: &Plan, style: &Style) {
    let mut table = Table::new(vec![
        Column::words("target", Keep::Always),
        Column::words("", Keep::Always),
        Column::numbers("in use", Keep::Always),
        Column::words("before", Keep::IfRoom(1)),
        Column::words("path", Keep::Always),
    ])
    .indented(2);
    for target in &plan.targets {
        let kind = match target.kind {
            TargetKind::File => "file",
            TargetKind::BlockDevice => "block device",
            TargetKind::Directory => "directory",
            TargetKind::Null => "nothing",
        };
        let before =
            if target.existing_bytes == 0 { "new".to_owned() } else { format::bytes(target.existing_bytes) };
        table.row(vec![
            format!("{}{}", target.name, plan.on_host(target.host)).into(),
            kind.into(),
            format::bytes(target.size_bytes).into(),
            before.into(),
            if target.path == target.name { "" } else { target.path.as_str() }.into(),
        ]);
    }
    text.push_str(&table.render(style));
}

fn push_phase(text: &mut String, phase: &PlannedPhase, plan: &Plan, style: &Style) {
    let kind =
        if phase.kind == PhaseKind::Measure { String::new() } else { format!(" ({})", phase.kind.name()) };
    let time = phase.expected_time().map_or_else(
        || ", until it is done".to_owned(),
        |time| format!(", {}", format::seconds(time.as_secs_f64())),
    );
    let title = format!("phase {}{kind}{time}", phase.point.title(&phase.name));
    paragraph(text, Tone::Strong, &title, Hang { first: 0, rest: 2 }, style);
    for job in &phase.jobs {
        paragraph(text, Tone::Plain, &job_words(phase, job, plan), Hang { first: 2, rest: 4 }, style);
    }
    if let Some(step) = phase.step {
        let words = format!("repeated: {}", step.until.describe());
        paragraph(text, Tone::Dim, &words, Hang { first: 2, rest: 4 }, style);
    }
    if phase.drain_after {
        paragraph(text, Tone::Dim, "then dirty pages are written back", Hang::flat(2), style);
    }
}

fn job_words(phase: &PlannedPhase, job: &PlannedJob, plan: &Plan) -> String {
    let mut facts = vec![
        describe_work(job, phase.kind),
        format!(
            "{} × {} outstanding = {}",
            format::plural(job.slices.len() as u64, "thread"),
            job.outstanding_per_thread,
            format::count(job.outstanding_io())
        ),
        if job.direct { "direct".to_owned() } else { "buffered".to_owned() },
    ];
    facts.extend(pace_words(job.pace));
    facts.extend(plan.describe_hosts_of(job));
    if job.write_bytes_max() != Some(0) {
        facts.push(format!("writes {}", describe_flush(&job.flush)));
    }
    facts.push(format!("engine {}", job.describe_engine(phase.carried_by)));
    let facts = facts.join(", ");
    if job.name == phase.name { facts } else { format!("{}: {facts}", job.name) }
}

/// The rate at which operations are offered; `None`: as fast as they complete.
fn pace_words(pace: Pace) -> Option<String> {
    match pace {
        Pace::Closed => None,
        Pace::Open { offered: Offered::Iops(iops), .. } => {
            Some(format!("{} IOPS offered", format::iops(iops)))
        }
        Pace::Open { offered: Offered::BytesPerS(bytes), .. } => {
            Some(format!("{} offered", format::bandwidth(bytes)))
        }
        Pace::Open { offered: Offered::Each(rates), .. } => {
            Some(format!("{} IOPS offered", rates.describe()))
        }
        Pace::OfMax { percent, .. } => {
            Some(format!("{} % of the unlimited rate offered", format::significant(percent)))
        }
    }
}

/// How long it takes and what it writes, as far as that is known before.
fn totals(plan: &Plan) -> String {
    let known: u64 = plan
        .phases
        .iter()
        .filter_map(PlannedPhase::expected_time)
        .map(|time| time.0)
        .fold(0, u64::saturating_add);
    let open = plan.phases.iter().filter(|phase| phase.expected_time().is_none()).count();
    let mut words = format!(
        "{}, {}",
        format::plural(plan.phases.len() as u64, "phase"),
        format::seconds(known as f64 / 1e9)
    );
    if open > 0 {
        words += &format!(", and {} until done", format::plural(open as u64, "phase"));
    }
    let jobs = plan.phases.iter().flat_map(|phase| &phase.jobs);
    let written: Vec<Option<u64>> = jobs.map(PlannedJob::write_bytes_max).collect();
    let bounded: u64 = written.iter().flatten().fold(0, |sum, bytes| sum.saturating_add(*bytes));
    if written.contains(&None) {
        words += "; some jobs write until their time is up";
    }
    if bounded > 0 {
        words += &format!("; at most {} written by jobs that end by size", format::bytes(bounded));
    }
    words + &format!("; {} of memory.", format::bytes(plan.memory_bytes_max()))
}

/// What will be written, in a sentence for before it is: what is known to the byte, and for how long there is writing besides.
/// `None`: nothing is written.
pub fn writes_ahead(plan: &Plan) -> Option<String> {
    let (mut bytes, mut time_s) = (0_u64, 0.0);
    for phase in &plan.phases {
        let written: Vec<Option<u64>> = phase.jobs.iter().map(PlannedJob::write_bytes_max).collect();
        bytes = written.iter().flatten().fold(bytes, |sum, more| sum.saturating_add(*more));
        if written.contains(&None) {
            time_s += phase.expected_time().map_or(0.0, |time| time.as_secs_f64());
        }
    }
    let rounds = plan.phases.iter().any(|phase| phase.step.is_some_and(|step| step.round > 0));
    let most = if rounds { "at most " } else { "" };
    let known = (bytes > 0).then(|| format!("{} by size", format::bytes(bytes)));
    let timed =
        (time_s > 0.0).then(|| format!("as much as the storage takes in {most}{}", format::seconds(time_s)));
    let parts: Vec<String> = known.into_iter().chain(timed).collect();
    (!parts.is_empty()).then(|| format!("will write {}", parts.join(", and ")))
}
