//! The points of a phase: every combination of a sweep's values, and the rates of a curve.

use assay_workload::SweepPoint;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::document::JOBS_MAX;
use super::forms::number;
use super::job;
use super::key::{Form, Shape};
use super::node::{Entry, Fields};
use super::sink::{Sink, clip};

/// Keys of a job that a sweep cannot set.
pub(super) const NOT_SWEPT: &[&str] = &["name", "group"];

const SHARE: Form<f64> = number(f64::MIN_POSITIVE, 1000.0);
/// The values of a curve.
pub(super) const SHARES: Shape = Shape::List(&SHARE.shape);

/// One point: what it sets in each job, and what it is called.
pub(super) struct Point<'t> {
    /// Laid over each job of the phase.
    pub(super) settings: DeTable<'t>,
    /// Which it is.
    pub(super) point: SweepPoint,
}

impl<'t> Point<'t> {
    fn and(&self, key: &Spanned<std::borrow::Cow<'t, str>>, value: Spanned<DeValue<'t>>, word: &str) -> Self {
        let mut settings = self.settings.clone();
        settings.insert(key.clone(), value);
        Point { settings, point: self.point.with(word) }
    }
}

/// The points of a phase in the order in which they run: the first key of the sweep varies slowest, the curve fastest.
pub(super) fn points<'t>(sink: &mut Sink, phase: &Fields<'t>) -> Vec<Point<'t>> {
    let mut points = vec![Point { settings: DeTable::new(), point: SweepPoint::default() }];
    if let Some(entry) = phase.get("sweep") {
        points = swept(sink, entry, points);
    }
    if let Some(entry) = phase.get("curve") {
        points = curved(sink, entry, points);
    }
    points
}

fn swept<'t>(sink: &mut Sink, entry: Entry<'t>, mut points: Vec<Point<'t>>) -> Vec<Point<'t>> {
    let known: Vec<&str> = job::KEYS.names().into_iter().filter(|key| !NOT_SWEPT.contains(key)).collect();
    let DeValue::Table(table) = entry.value.get_ref() else {
        sink.wrong_type::<()>(entry, "a table such as { outstanding = [1, 4, 16] }");
        return points;
    };
    sink.check_keys(table, &known, "a sweep");
    let mut keys: Vec<_> = table.iter().collect();
    keys.sort_by_key(|(key, _)| key.span().start);
    for (key, value) in keys {
        let values = Entry { key: key.get_ref(), value }.elements();
        if values.is_empty() || points.len().saturating_mul(values.len()) > JOBS_MAX {
            let message = format!("a sweep of {} points x {} values", points.len(), values.len());
            sink.error("too-large", value.span(), message, format!("1 to {JOBS_MAX} points are possible"));
            return points;
        }
        let labels: Vec<String> =
            values.iter().map(|value| format!("{}={}", key.get_ref(), label(sink, *value))).collect();
        let grown = points.iter().flat_map(|point| {
            values.iter().zip(&labels).map(|(value, label)| point.and(key, value.value.clone(), label))
        });
        points = grown.collect();
    }
    points
}

/// A value as a word: as written, without quotes and blanks.
fn label(sink: &Sink, value: Entry<'_>) -> String {
    let text = value.as_str().unwrap_or_else(|| sink.text(value.span()));
    clip(text).chars().filter(|c| !c.is_whitespace()).collect()
}

/// Each point once without a limit, then at each per cent of what that reached.
fn curved<'t>(sink: &mut Sink, entry: Entry<'t>, points: Vec<Point<'t>>) -> Vec<Point<'t>> {
    let shares = entry.elements();
    let shares: Vec<f64> = shares.into_iter().filter_map(|share| SHARE.take(sink, share)).collect();
    if points.len().saturating_mul(shares.len() + 1) > JOBS_MAX {
        sink.error("too-large", entry.span(), "a curve of too many points", "");
        return points;
    }
    let rate = |word: String| {
        let key = Spanned::new(entry.span(), "rate".into());
        (key, Spanned::new(entry.span(), DeValue::String(word.into())))
    };
    let mut curve = Vec::with_capacity(points.len() * (shares.len() + 1));
    for point in &points {
        let (key, value) = rate("unlimited".to_owned());
        curve.push(point.and(&key, value, "curve=max"));
        for share in &shares {
            let (key, value) = rate(format!("{share}%"));
            curve.push(point.and(&key, value, &format!("curve={share}%")));
        }
    }
    curve
}
