//! Words of results that are no setting of any tool: verdicts, column heads, findings of audits.

/// A word that output shows, in its spellings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word {
    /// As shown; the first is its name.
    pub names: &'static [&'static str],
    /// What it means, in a sentence or two.
    pub meaning: &'static str,
}

const fn word(names: &'static [&'static str], meaning: &'static str) -> Word {
    Word { names, meaning }
}

/// Verdicts and severities, then columns, then figures, then findings of audits.
pub const WORDS: &[Word] = &[
    word(&["valid"], "Verdict of a run: no check found a reason to doubt its figures."),
    word(
        &["suspect"],
        "Verdict of a run: at least one finding is a warning; a figure may be off by as much as that finding states.",
    ),
    word(
        &["invalid"],
        "Verdict of a run, and severity of a finding: a figure does not mean what it seems to. Do not quote it.",
    ),
    word(
        &["incomplete"],
        "Verdict of a run that was stopped, failed, or lost a host. What was measured until then is kept.",
    ),
    word(
        &["verdict"],
        "One word for a run: valid, suspect, invalid or incomplete. For a comparison: better, worse, equivalent or no evidence.",
    ),
    word(&["info"], "Severity of a finding: worth knowing; the figures stand."),
    word(
        &["unchecked"],
        "Severity of a finding: whether the figure is affected could not be determined here, and why. It does not change the verdict.",
    ),
    word(
        &["warning"],
        "Severity of a finding: a figure may be off by as much as stated. The run is suspect.",
    ),
    word(&["severity"], "How grave a finding is: info, unchecked, warning or invalid."),
    word(
        &["bias"],
        "The range by which one cause may have moved a figure, such as `IOPS 0-7 % high`. It is a bound, not an estimate; the biases of several findings do not add up.",
    ),
    word(&["evidence"], "The numbers that a finding rests on, with their place in run.json."),
    word(
        &["better"],
        "Verdict of a comparison: the second side is better by at least the relevant difference, beyond run-to-run variation.",
    ),
    word(
        &["worse"],
        "Verdict of a comparison: the second side is worse by at least the relevant difference, beyond run-to-run variation.",
    ),
    word(
        &["equivalent"],
        "Verdict of a comparison: the difference lies within the equivalence margin (5 % unless set otherwise).",
    ),
    word(
        &["no evidence", "inconclusive", "undecided"],
        "Verdict of a comparison: the runs show neither a relevant difference nor equivalence. It does not mean that both are the same.",
    ),
    word(
        &["no difference shown", "they differ", "too few pairs", "not comparable"],
        "Verdicts of `assay crosscheck`: whether the native engine and fio gave the same figure, from interleaved pairs of runs.",
    ),
    word(
        &["alike", "near", "different", "unclear"],
        "Verdicts of `assay audit --trace A --against B`: how far two streams are apart in their worst dimension, beside what chance makes.",
    ),
    word(&["change"], "Second side against the first, in per cent of the first."),
    word(
        &["interval"],
        "In a table: the confidence interval of the figure, with the level it reaches. In a plan or a series: the time over which counts are kept (`assay explain interval_s` for vdbench's and fio's words).",
    ),
    word(
        &["p", "p-value"],
        "The probability of a difference as large as this one if there were none. Up to 5 % counts as significant.",
    ),
    word(&["why"], "The reason for the verdict of a row."),
    word(&["spread"], "Highest less lowest of the repetitions, over their median."),
    word(&["n"], "How many values, runs or operations a figure rests on."),
    word(
        &["knee"],
        "The point of a curve with the highest power, which is rate over mean time: beyond it latency grows faster than throughput. It is a measured point, and none is named where the highest power is at an end.",
    ),
    word(
        &["point"],
        "One step of a curve, a sweep or a search: a rate, a share of the maximum, or a value of a loop.",
    ),
    word(&["test"], "A phase of a series such as `assay-1` or `stb-2.1`."),
    word(
        &["outst."],
        "Outstanding I/Os in total, as asked for: threads times the I/Os that each keeps in flight.",
    ),
    word(&["like"], "The class of device whose published figures this one is nearest to."),
    word(
        &["typical", "% HDD", "%"],
        "The figure as a share of the reference named in the head of the column.",
    ),
    word(&["MiB/s", "bandwidth", "bytes_per_s"], "Bytes moved a second; 1 MiB is 1 048 576 bytes."),
    word(&["block"], "Mean size of the operations."),
    word(
        &["mean", "min", "max", "stddev"],
        "Arithmetic mean, lowest, highest and standard deviation of the operations' times. One slow operation sets the maximum; prefer a percentile.",
    ),
    word(&["p99, log scale"], "The 99th percentile as a bar whose length is its logarithm."),
    word(&["flush p99"], "99th percentile of the time that a flush (fsync, fdatasync) took."),
    word(
        &["median IOPS", "median p99 completion latency", "median p99 response time"],
        "Median over the repetitions of a test.",
    ),
    word(
        &["p50 completion latency", "p99 completion latency"],
        "Percentile of the time from submission to completion.",
    ),
    word(
        &["p50 response time", "p99 response time"],
        "Percentile of the time from scheduled arrival to completion.",
    ),
    word(
        &["latency"],
        "Which time the row's percentiles are of: completion latency (from submission) or response time (from scheduled arrival).",
    ),
    word(&["phase, job", "phase and job"], "The phase, and the job within it, that a row is about."),
    word(&["operation", "op"], "read, write, trim, or a flush."),
    word(
        &["conditions"],
        "What a figure was measured under: pattern, outstanding I/Os, engine, caching, durability, time, workers.",
    ),
    word(&["in use"], "Bytes of the target that the plan uses."),
    word(
        &["before"],
        "In a plan: size of the target before the run. In an audit: the figure before the repair.",
    ),
    word(
        &["after", "IOPS before", "completion before", "lost", "added"],
        "Of `assay audit --simulate --bound-range`: the figure before and after the repair, the IOPS lost, and the latency added.",
    ),
    word(
        &["bound share"],
        "Share of the processing of a request that only the core which owns its address can do.",
    ),
    word(&["others"], "Utilisation of the cores other than the busiest."),
    word(&["path"], "Where the target is."),
    word(&["host"], "The machine, container or process that submitted I/O."),
    word(&["cached"], "Share of the bytes read that no device served."),
    word(&["start"], "How long after the first host this one began."),
    word(&["id"], "The identifier of a run; the beginning is enough where it is unique."),
    word(&["started", "date"], "When it was made, in UTC."),
    word(&["took"], "How long the run took, with everything around the measured phases."),
    word(&["name"], "What it is called: a run, a baseline, a target or a job."),
    word(&["device"], "The block device under the target, by the kernel's name."),
    word(
        &["series"],
        "A built-in set of tests whose figures are compared with each other: `assay-1`, `stb-2.1`.",
    ),
    word(&["profile", "what it does"], "A built-in workload of `assay run --profile`."),
    word(
        &["term", "check", "what it catches", "vdbench", "fio", "SNIA", "Assay"],
        "Columns of `assay explain`: what a thing is called by each tool, and what each check catches.",
    ),
    word(&["figure"], "A measured quantity, such as IOPS."),
    word(
        &["ns per I/O", "user ns", "system ns"],
        "Of `assay bench-self`: time and CPU that Assay itself takes for an I/O on nothing.",
    ),
    word(&["of job"], "Share of the job's operations that are of this kind."),
    word(
        &["busiest core"],
        "Share of the requests that the core with the most of them owns, on the array model.",
    ),
    word(&["× mean"], "The busiest core's share over that of an even load; 1 is balanced."),
    word(&["50 % in", "90 % in", "99 % in"], "The least data that gets this share of the requests."),
    word(
        &["hits own cache", "hits cache", "cache hits"],
        "Share of the reads that an LRU cache of that size would answer.",
    ),
    word(&["in a row"], "Requests that follow each other without a gap, on average."),
    word(&["crossing"], "Share of the requests that two segments of the array serve."),
    word(&["known"], "How an audit knows a figure: computed, or drawn from the generator."),
    word(
        &["dimension", "distance", "by chance", "trace"],
        "Of a comparison of streams: what is compared, how far they are apart (0 to 1), what chance makes of it, and the figures of both.",
    ),
    word(
        &["quiet window", "idle window", "quiet_before", "quiet_after"],
        "Half a second before and after a phase in which Assay does nothing, so that what the devices do is other processes' I/O.",
    ),
    word(
        &["few-cores-at-a-time"],
        "Finding of an audit: what is outstanding of a sequential walk covers fewer segments than the array has cores.",
    ),
    word(&["crossing-segments"], "Finding of an audit: 5 % of the requests or more are two for the array."),
    word(&["misaligned-offsets"], "Finding of an audit: offsets are no multiples of 4 KiB."),
    word(
        &["overlapping-walks"],
        "Finding of an audit: threads walk the same range from its start, so that all but the first find cached data.",
    ),
    word(
        &["content-imbalance"],
        "Finding of an audit: equal blocks go to one core of an array that places data by content.",
    ),
    word(
        &["re-reads p10", "re-reads p50", "first touches p50", "first touches p10", "bytes read in between"],
        "Of `assay probe`: times of reads of chunks read before and of chunks never read, by how many bytes were read in between. Where re-reads become as slow as first touches, a cache ends.",
    ),
    word(&["A", "B"], "The two sides of a comparison, in the order in which they were named."),
    word(
        &["fio / Assay"],
        "Of `assay crosscheck`: fio's figure over that of the native engine, as the median of the pairs.",
    ),
    word(&["of"], "Which time the percentiles of the row are of: completion latency or response time."),
    word(
        &["debug"],
        "vdbench: prints more of what the program does, and changes nothing about the load. Assay ignores it.",
    ),
    word(
        &["disk_util"],
        "fio: whether it prints the utilisation of the disks. Assay always records the counters of the devices below a target (device_busy_share, device_depth_mean).",
    ),
];
