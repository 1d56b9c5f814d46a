//! fio's object `steadystate`: what a job was watched for, and how far its last seconds were from it.

use assay_results::run::{JobResult, SeriesPoint};
use assay_workload::units::Nanos;

use super::document::{Json, Object};
use crate::reporting::JobReporting;

/// `time` is how long the job was to run at most. `None`: it was not watched.
pub(super) fn steady(job: &JobResult, how: &JobReporting, time: Option<Nanos>) -> Option<Object> {
    let (rule, window_s) = how.steady.as_ref()?;
    let points = window(&job.series, *window_s as f64);
    let values = |of: &dyn Fn(&SeriesPoint) -> f64| points.iter().map(of).collect::<Vec<f64>>();
    let (rates, bytes) = (values(&|point| point.iops), values(&|point| point.bytes_per_s));
    let watched = match rule.as_str() {
        rule if rule.starts_with("iops") => &rates,
        _ => &bytes,
    };
    let (deviation, slope) = (deviation_percent(watched), slope_percent(watched));
    let criterion = if rule.contains("_slope") { slope } else { deviation };
    let attained = time.is_none_or(|time| job.measured_s < time.as_secs_f64() * 0.999);
    let whole =
        |values: &[f64]| Json::List(values.iter().map(|value| Json::from(value.max(0.0) as u64)).collect());
    let data = Object::new()
        .with("bw_mean", mean(&bytes) as u64)
        .with("iops_mean", mean(&rates) as u64)
        .with("iops", whole(&rates))
        .with("bw", whole(&bytes));
    Some(
        Object::new()
            .with("ss", rule.as_str())
            .with("duration", *window_s)
            .with("attained", u64::from(attained))
            .with("criterion", format!("{criterion:.6}%"))
            .with("max_deviation", deviation)
            .with("slope", slope)
            .with("data", data),
    )
}

/// The points of the last seconds.
fn window(series: &[SeriesPoint], seconds: f64) -> &[SeriesPoint] {
    let end = series.last().map_or(0.0, |point| point.start_s + point.length_s);
    let first = series.iter().position(|point| point.start_s + 0.5 * point.length_s >= end - seconds);
    series.get(first.unwrap_or(0)..).unwrap_or_default()
}

fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// The largest distance from the mean, in per cent of it.
fn deviation_percent(values: &[f64]) -> f64 {
    let mean = mean(values);
    let largest = values.iter().map(|value| (value - mean).abs()).fold(0.0, f64::max);
    if mean > 0.0 { 100.0 * largest / mean } else { 0.0 }
}

/// By how much of the mean the values change from one to the next, in per cent, either way.
fn slope_percent(values: &[f64]) -> f64 {
    let middle = (values.len() as f64 - 1.0) / 2.0;
    let mean = mean(values);
    let at = |(index, value): (usize, &f64)| (index as f64 - middle, value - mean);
    let products: f64 = values.iter().enumerate().map(at).map(|(x, y)| x * y).sum();
    let squares: f64 = values.iter().enumerate().map(at).map(|(x, _)| x * x).sum();
    if squares > 0.0 && mean > 0.0 { (100.0 * products / squares / mean).abs() } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deviation_and_slope_are_of_the_mean() {
        assert_eq!(deviation_percent(&[90.0, 100.0, 110.0]), 10.0);
        assert_eq!(slope_percent(&[90.0, 100.0, 110.0]), 10.0);
        assert_eq!(slope_percent(&[5.0]), 0.0);
        assert_eq!(deviation_percent(&[]), 0.0);
    }
}
