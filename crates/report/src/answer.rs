//! The answer in three sentences, which stand above everything else: what the storage behaves like, the best that it did, and
//! whether to believe it.

use assay_results::Run;
use assay_results::answer::{Best, Fit, Likeness, Quoted, StorageKind, best, likeness, quoted};
use assay_results::run::Verdict;
use assay_results::search::{self, SearchAnswer};

use crate::findings::verdict_sentence;
use crate::{conditions as facts_of, format};

/// The sentences of a run.
pub(crate) fn answer(run: &Run) -> [String; 3] {
    let quoted = quoted(run);
    let digits = Digits { of_interval: run.plan.series.is_some() };
    [like(&quoted, digits), best_or_found(run, quoted, digits), verdict_sentence(run)]
}

/// How figures are rounded: as in the rows below, so that the two agree.
#[derive(Clone, Copy)]
struct Digits {
    /// The rows of a series have the digits that their interval carries; others have all.
    of_interval: bool,
}

impl Digits {
    fn iops(self, quoted: &Quoted<'_>) -> String {
        let value = quoted.row.figure.value;
        format::rounded(value, self.half_share(quoted).map(|share| share * value))
    }

    fn bandwidth(self, quoted: &Quoted<'_>) -> String {
        format::bandwidth_of(quoted.bytes_per_s, self.half_share(quoted))
    }

    /// Half of the interval of a figure, as a share of it.
    fn half_share(self, quoted: &Quoted<'_>) -> Option<f64> {
        let figure = &quoted.row.figure;
        let (low, high) = figure.interval.filter(|_| self.of_interval && figure.value > 0.0)?;
        Some((high - low) / 2.0 / figure.value)
    }
}

/// A kind in words, with its article.
fn words(kind: StorageKind) -> &'static str {
    match kind {
        StorageKind::Memory => "RAM or a cache",
        StorageKind::Nvme => "an NVMe SSD",
        StorageKind::SataSsd => "a SATA SSD",
        StorageKind::HardDisk => "a hard disk",
        StorageKind::Network => "network storage",
    }
}

/// `a, b or c`.
fn list(words: &[&str]) -> String {
    match words.split_last() {
        None => String::new(),
        Some((last, [])) => (*last).to_owned(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
    }
}

fn kinds(kinds: &[StorageKind]) -> String {
    list(&kinds.iter().map(|kind| words(*kind)).collect::<Vec<_>>())
}

fn like(quoted: &[Quoted<'_>], digits: Digits) -> String {
    if quoted.is_empty() {
        return "Kind of storage: cannot be told, nothing was measured.".to_owned();
    }
    if quoted.iter().all(|quoted| quoted.null) {
        return "No storage was used: the null engine answers at once, and the figures are those of the instrument.".to_owned();
    }
    let found = likeness(quoted);
    if !found.kinds.is_empty() {
        let doubt = if is_doubtful(&found) { "; all of them suspect" } else { "" };
        let figures = figures(&found, digits).join(", ");
        return format!("Behaves like {}: {figures}{doubt}.", kinds(&found.kinds));
    }
    let Likeness { read, durable, .. } = &found;
    match (read, durable) {
        (None, None) => {
            "Kind of storage: cannot be told. That takes small random reads or small durable writes that \
                         reached the storage."
                .to_owned()
        }
        (Some(fit), None) | (None, Some(fit)) => {
            let missing = if read.is_some() { "small durable writes" } else { "small random reads" };
            let fits = if fit.kinds.is_empty() { "no kind".to_owned() } else { kinds(&fit.kinds) };
            format!("Kind of storage: cannot be told. {} fits {fits}; {missing} are missing.", latency(fit))
        }
        (Some(read), Some(durable)) => {
            let as_of = |fit: &Fit<'_>| {
                let kinds =
                    if fit.kinds.is_empty() { "none that is known".to_owned() } else { kinds(&fit.kinds) };
                format!("{} as of {kinds}", latency(fit))
            };
            format!("Behaves like no single kind of storage: {}, {}.", as_of(read), as_of(durable))
        }
    }
}

/// Whether the kind is known by figures alone that something speaks against.
fn is_doubtful(found: &Likeness<'_>) -> bool {
    let fits = [&found.read, &found.durable, &found.sequential];
    fits.into_iter().flatten().all(|fit| fit.quoted.row.verdict != Verdict::Valid)
}

/// The figures that the kind is known by.
fn figures(found: &Likeness<'_>, digits: Digits) -> Vec<String> {
    let mut figures: Vec<String> = [&found.read, &found.durable].into_iter().flatten().map(latency).collect();
    figures.extend(
        found
            .sequential
            .as_ref()
            .map(|Fit { quoted, .. }| format!("{} ({})", digits.bandwidth(quoted), conditions(quoted))),
    );
    figures
}

fn latency(fit: &Fit<'_>) -> String {
    let p50 = fit.quoted.p50_ns.map_or_else(|| format::NOTHING.to_owned(), format::time_ns);
    format!("p50 {p50} ({})", conditions(&fit.quoted))
}

/// What the searches of a run found, whose steps are no best of anything, and the best of its other figures.
fn best_or_found(run: &Run, mut quoted: Vec<Quoted<'_>>, digits: Digits) -> String {
    let answers = search::answers(run);
    let mut parts: Vec<String> = answers.iter().map(|answer| found(answer, answers.len() > 1)).collect();
    let of_a_search = |quoted: &Quoted<'_>| {
        let jobs = || answers.iter().flat_map(|answer| &answer.phases).flat_map(|phase| &phase.jobs);
        jobs().any(|job| std::ptr::eq(job, quoted.job))
    };
    quoted.retain(|quoted| !of_a_search(quoted));
    if parts.is_empty() || !quoted.is_empty() {
        parts.push(best_of(&quoted, digits));
    }
    parts.join(" ")
}

/// The answer of a search in a sentence; `named`: with the phase, where there are several.
fn found(answer: &SearchAnswer<'_>, named: bool) -> String {
    let name = answer.phases.first().filter(|_| named).map(|phase| format!(" ({})", phase.name));
    let goal = format!("Highest rate with {}{}", answer.find, name.unwrap_or_default());
    let doubt = match answer.verdict {
        Verdict::Valid => "",
        Verdict::Suspect => "; its step is suspect",
        Verdict::Invalid | Verdict::Incomplete => "; its step is not valid",
    };
    let iops = |value: f64| format::rounded(value, None);
    match (&answer.rate, answer.lowest_iops) {
        // Some windows met it and some missed it, at every rate.
        (Some(rate), _) if rate.interval.is_some_and(|(low, _)| low <= 0.0) => {
            let high = rate.interval.map_or(rate.value, |(_, high)| high);
            format!(
                "{goal}: not known, between 0 and {} IOPS; {} met it in some windows, and no rate for certain{doubt}.",
                iops(high),
                iops(rate.value)
            )
        }
        (Some(rate), _) => {
            let between = rate.interval.map(|(low, high)| format!(" ({} to {})", iops(low), iops(high)));
            format!("{goal}: {} IOPS{}{doubt}.", iops(rate.value), between.unwrap_or_default())
        }
        (None, _) if answer.unmeasured => {
            format!(
                "{goal}: not known, the windows had too few operations for that figure; lengthen the runtime."
            )
        }
        (None, Some(lowest)) => {
            format!("{goal}: none found; not even {} IOPS meet it{doubt}.", format::rounded(lowest, None))
        }
        (None, None) => format!("{goal}: no rate found before the search ended."),
    }
}

/// Of which operations a median latency is where there are several, and of which latency where a rate was offered.
fn p50_of(quoted: &Quoted<'_>) -> &'static str {
    let mixed = quoted.job.read.is_some() && quoted.job.write.is_some();
    match (mixed, quoted.job.total.response_ns.is_some()) {
        (true, _) if quoted.is_of_reads() => " of the reads",
        (true, _) => " of the writes",
        (false, true) => " from submission on",
        (false, false) => "",
    }
}

fn best_of(quoted: &[Quoted<'_>], digits: Digits) -> String {
    if quoted.is_empty() {
        return "Best: nothing was measured.".to_owned();
    }
    let Some(Best { iops, bandwidth, latency, suspect_iops }) = best(quoted) else {
        return "Best: no figure is valid.".to_owned();
    };
    let mut parts: Vec<(String, &Quoted<'_>)> =
        iops.iter().map(|one| (format!("{} IOPS", digits.iops(one)), one)).collect();
    parts.extend(bandwidth.iter().map(|one| (digits.bandwidth(one), one)));
    parts.extend(
        latency
            .iter()
            .filter_map(|one| Some((format!("p50 {}{}", format::time_ns(one.p50_ns?), p50_of(one)), one))),
    );
    let alike: Vec<_> = parts.chunk_by(|a, b| std::ptr::eq(a.1.row, b.1.row)).collect();
    let parts: Vec<String> = alike
        .iter()
        .map(|alike| {
            let figures: Vec<&str> = alike.iter().map(|(words, _)| words.as_str()).collect();
            format!("{} ({})", figures.join(", "), conditions(alike[0].1))
        })
        .collect();
    let suspect = alike.first().is_some_and(|one| one[0].1.row.verdict == Verdict::Suspect);
    let doubt = match suspect_iops {
        _ if suspect => "; all of them suspect".to_owned(),
        Some(more) => format!("; a suspect figure is {} IOPS ({})", digits.iops(&more), conditions(&more)),
        None => String::new(),
    };
    let offered = alike.iter().flat_map(|alike| *alike).all(|(_, quoted)| quoted.is_offered());
    let head = if offered { "Best at the rates that were offered" } else { "Best" };
    format!("{head}: {}{doubt}.", parts.join("; "))
}

/// `70 % reads, 30 % writes`, with the trims where there are any.
fn mix_words(reads: f64, trims: f64) -> String {
    let writes = (1.0 - reads - trims).max(0.0);
    let mut shares = vec![(reads, "reads"), (writes, "writes")];
    if trims > 0.0 {
        shares.push((trims, "trims"));
        shares.retain(|(share, _)| *share > 0.0);
    }
    let words: Vec<String> =
        shares.iter().map(|(share, what)| format!("{:.0} % {what}", share * 100.0)).collect();
    words.join(", ")
}

/// `4 KiB random reads, 32 outstanding`.
fn conditions(quoted: &Quoted<'_>) -> String {
    let job = quoted.job;
    let placed = match quoted.random {
        Some(true) => "random ",
        Some(false) => "sequential ",
        None => "",
    };
    let durable = if quoted.durable { "durable " } else { "" };
    let what = match quoted.read_share {
        _ if quoted.only_reads() => format!("{placed}reads"),
        _ if quoted.only_writes() => format!("{placed}{durable}writes"),
        _ if quoted.only_trims() => format!("{placed}trims"),
        Some(reads) => format!("{placed}{}", mix_words(reads, quoted.trim_share)),
        None if !job.pattern.is_empty() => job.pattern.clone(),
        None => "mix not known".to_owned(),
    };
    let block = job.total.block_size;
    // The words of a pattern hold block sizes, too.
    let block = if block > 0 && (quoted.read_share.is_some() || job.pattern.is_empty()) {
        format!("{} ", format::bytes(block))
    } else {
        String::new()
    };
    let outstanding = if job.outstanding_io > 0 {
        format!(", {} outstanding", format::count(job.outstanding_io))
    } else {
        String::new()
    };
    let rate = job
        .evidence
        .offered_iops
        .map_or_else(String::new, |rate| format!(", {} IOPS offered", format::iops(rate)));
    let mean = facts_of::mean_request(job);
    let placed_unknown =
        (quoted.random.is_none() && quoted.read_share.is_some()).then(|| job.pattern.clone());
    let unknown: String = mean.into_iter().chain(placed_unknown).map(|fact| format!(", {fact}")).collect();
    format!("{block}{what}{unknown}{outstanding}{rate}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_results::run::Metric;

    #[test]
    fn the_headline_of_a_search_is_its_answer() {
        let mut answer = SearchAnswer {
            find: "p99<2ms".parse().expect("a goal"),
            phases: Vec::new(),
            rate: None,
            lowest_iops: Some(203.0),
            unmeasured: false,
            verdict: Verdict::Valid,
        };
        assert_eq!(
            found(&answer, false),
            "Highest rate with p99<2 ms: none found; not even 203 IOPS meet it."
        );
        answer.unmeasured = true;
        let unknown = found(&answer, false);
        assert!(unknown.contains("not known, the windows had too few operations"), "{unknown}");
        answer.unmeasured = false;
        answer.rate = Some(Metric {
            value: 500.0,
            unit: "IOPS".to_owned(),
            n: 3,
            interval: Some((500.0, 750.0)),
            basis: None,
        });
        answer.verdict = Verdict::Suspect;
        assert_eq!(
            found(&answer, false),
            "Highest rate with p99<2 ms: 500 IOPS (500 to 750); its step is suspect."
        );
    }
}
