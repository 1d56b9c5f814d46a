//! OpenMetrics for those who have a Prometheus: the newest run of each plan, and the run that goes on.

use std::fmt::Write as _;

use assay_report::openmetrics;
use assay_results::Run;

use crate::now::{Current, Now};

/// The media type of the format.
pub(crate) const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// Plans whose newest run is told.
pub(crate) const PLANS_MAX: usize = 20;

/// The document.
pub(crate) fn document(runs: &[Run], now: &Now) -> String {
    let runs: Vec<&Run> = runs.iter().collect();
    openmetrics::of_runs(&runs, &now.look(live))
}

/// The run that goes on; only that there is none, where there is none.
fn live(current: Option<&Current>) -> String {
    let mut text = String::new();
    let current = current.filter(|current| current.ended.is_none());
    let mut family = |name: &str, unit: &str, help: &str, value: Option<f64>| {
        let _ = writeln!(text, "# TYPE {name} gauge");
        if !unit.is_empty() {
            let _ = writeln!(text, "# UNIT {name} {unit}");
        }
        let _ = writeln!(text, "# HELP {name} {help}.");
        if let Some(value) = value.filter(|value| value.is_finite()) {
            let _ = writeln!(text, "{name} {value}");
        }
    };
    let point = current.and_then(|current| current.live.newest());
    let seconds = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e9);
    let progress = current.and_then(|current| current.live.progress(current.now()));
    family("assay_live", "", "Whether a run goes on", Some(f64::from(u8::from(current.is_some()))));
    family("assay_live_iops", "", "Operations a second in the last period", point.map(|point| point.iops));
    family(
        "assay_live_bandwidth_bytes",
        "bytes",
        "Bytes a second in the last period",
        point.map(|point| point.bytes_per_s),
    );
    for (name, value) in [
        ("assay_live_p50_seconds", point.and_then(|point| point.p50_ns)),
        ("assay_live_p99_seconds", point.and_then(|point| point.p99_ns)),
        ("assay_live_p99_9_seconds", point.and_then(|point| point.p99_9_ns)),
    ] {
        family(name, "seconds", "Percentile of completion latency in the last period", seconds(value));
    }
    family("assay_live_done_ratio", "ratio", "How much of the run is done", progress.map(|(done, _)| done));
    family("assay_live_left_seconds", "seconds", "Time left by the plan", progress.map(|(_, left)| left));
    let hung = current.map(|current| f64::from(u8::from(current.live.hung.is_some())));
    family("assay_live_hung", "", "Whether an operation hangs", hung);
    let findings = current.map(|current| current.live.findings.len() as f64);
    family("assay_live_findings", "", "Kinds of findings in the phases that have ended", findings);
    text
}

#[cfg(test)]
mod tests {
    use assay_results::samples;

    use super::*;

    /// What stands in the queries of the dashboard.
    fn names(dashboard: &str) -> Vec<&str> {
        let words = dashboard.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        words.filter(|word| word.starts_with("assay_")).collect()
    }

    #[test]
    fn the_dashboard_shows_metrics_that_are_there() {
        let dashboard = include_str!("../../../docs/grafana-dashboard.json");
        let parsed: serde_json::Value = serde_json::from_str(dashboard).unwrap();
        assert!(parsed["panels"].as_array().is_some_and(|panels| panels.len() > 3));
        let text = document(&[samples::mixed_run()], &Now::new());
        let known: Vec<&str> = text
            .lines()
            .filter_map(|line| match line.strip_prefix("# TYPE ") {
                Some(family) => family.split(' ').next(),
                None => line.split(['{', ' ']).next(),
            })
            .collect();
        let names = names(dashboard);
        assert!(names.len() > 8, "{names:?}");
        for name in names {
            assert!(known.contains(&name), "no metric {name} in\n{text}");
        }
    }
}
