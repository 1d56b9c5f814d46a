//! Which figures of a test are compared.

use serde::{Deserialize, Serialize};

use super::MetricComparison;
use crate::run::{JobResult, LatencySummary};

/// A figure of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum MetricKind {
    /// Operations per second, all kinds together.
    Iops,
    /// Mean response time, where arrivals were intended at a time.
    ResponseMean,
    /// Its median.
    ResponseP50,
    /// Its 99th percentile.
    ResponseP99,
    /// Its 99.9th percentile.
    ResponseP999,
    /// Mean completion latency of reads, writes and trims together.
    CompletionMean,
    /// Its median.
    CompletionP50,
    /// Its 99th percentile.
    CompletionP99,
    /// Its 99.9th percentile.
    CompletionP999,
    /// CPU of the generator per operation.
    CpuPerIo,
}

impl MetricKind {
    /// All of them, in the order they are shown.
    pub const ALL: [MetricKind; 10] = [
        MetricKind::Iops,
        MetricKind::ResponseMean,
        MetricKind::ResponseP50,
        MetricKind::ResponseP99,
        MetricKind::ResponseP999,
        MetricKind::CompletionMean,
        MetricKind::CompletionP50,
        MetricKind::CompletionP99,
        MetricKind::CompletionP999,
        MetricKind::CpuPerIo,
    ];

    /// The words for a table.
    pub fn label(self) -> &'static str {
        match self {
            MetricKind::Iops => "IOPS",
            MetricKind::ResponseMean => "response time, mean",
            MetricKind::ResponseP50 => "response time, p50",
            MetricKind::ResponseP99 => "response time, p99",
            MetricKind::ResponseP999 => "response time, p99.9",
            MetricKind::CompletionMean => "completion latency, mean",
            MetricKind::CompletionP50 => "completion latency, p50",
            MetricKind::CompletionP99 => "completion latency, p99",
            MetricKind::CompletionP999 => "completion latency, p99.9",
            MetricKind::CpuPerIo => "CPU per I/O",
        }
    }

    /// The unit of its values.
    pub fn unit(self) -> &'static str {
        if self == MetricKind::Iops { "1/s" } else { "ns" }
    }

    /// Whether it is a latency, whose meaning depends on who measured it.
    pub fn is_latency(self) -> bool {
        !matches!(self, MetricKind::Iops | MetricKind::CpuPerIo)
    }

    /// What runs of one configuration are assumed to differ by where too few were stored to know it: the standard
    /// deviation of a run's figure on logarithms. Tails differ by more. Chosen above what was measured:
    /// `docs/methodology/compare.md`.
    pub fn assumed_spread(self) -> f64 {
        match self {
            MetricKind::ResponseP99 | MetricKind::CompletionP99 => 0.2,
            MetricKind::ResponseP999 | MetricKind::CompletionP999 => 0.3,
            _ => 0.1,
        }
    }

    /// Its value in one result; `None` where it was not measured.
    pub fn of(self, job: &JobResult) -> Option<f64> {
        let completion = Some(&job.total.completion_ns);
        let response = job.total.response_ns.as_ref();
        let mean = |latency: Option<&LatencySummary>| {
            latency.filter(|latency| latency.n > 0 && latency.mean > 0.0).map(|latency| latency.mean)
        };
        let ns = |value: Option<u64>| value.filter(|ns| *ns > 0).map(|ns| ns as f64);
        match self {
            MetricKind::Iops => (job.total.ios > 0).then_some(job.total.iops),
            MetricKind::ResponseMean => mean(response),
            MetricKind::ResponseP50 => ns(response?.p50),
            MetricKind::ResponseP99 => ns(response?.p99),
            MetricKind::ResponseP999 => ns(response?.p99_9),
            MetricKind::CompletionMean => mean(completion),
            MetricKind::CompletionP50 => ns(completion?.p50),
            MetricKind::CompletionP99 => ns(completion?.p99),
            MetricKind::CompletionP999 => ns(completion?.p99_9),
            MetricKind::CpuPerIo => Some(job.cpu_ns_per_io).filter(|ns| *ns > 0.0),
        }
    }
}

/// The figures worth a line: each is one more that can be wrong by chance. A mean stands in where there is no median,
/// and completion latencies give way where there are response times, which are what was asked about.
pub(super) fn chosen(mut all: Vec<MetricComparison>) -> Vec<MetricComparison> {
    let has = |all: &[MetricComparison], kind| all.iter().any(|metric| metric.metric == kind);
    if has(&all, MetricKind::ResponseP50) {
        all.retain(|metric| metric.metric != MetricKind::ResponseMean);
    }
    if has(&all, MetricKind::CompletionP50) {
        all.retain(|metric| metric.metric != MetricKind::CompletionMean);
    }
    if all.iter().any(|metric| matches!(metric.metric, MetricKind::ResponseP50 | MetricKind::ResponseMean)) {
        let completion = [
            MetricKind::CompletionMean,
            MetricKind::CompletionP50,
            MetricKind::CompletionP99,
            MetricKind::CompletionP999,
        ];
        all.retain(|metric| !completion.contains(&metric.metric));
    }
    all
}
