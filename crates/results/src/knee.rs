//! The knee of a curve: from which rate on more rate costs more latency than it is worth.

/// One measured point of a curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CurvePoint {
    /// Operations a second that were completed.
    pub iops: f64,
    /// Mean time of one, nanoseconds: response time where arrivals were due at a time, else completion latency.
    pub mean_ns: f64,
}

/// Index of the knee: the point with the highest power, which is its rate over its mean time (Kleinrock 1979, "Power and
/// deterministic rules of thumb for probabilistic problems in computer communications"). Up to there the rate grows by a larger
/// share than the time, beyond it by a smaller one.
///
/// `None` with fewer than three points of positive rate and time, or where the highest power is at the lowest or the highest rate:
/// the knee is then not within what was measured. It is one of the points, so it is known as closely as they stand together.
#[must_use]
pub fn knee(points: &[CurvePoint]) -> Option<usize> {
    let usable = |point: &CurvePoint| {
        point.iops.is_finite() && point.mean_ns.is_finite() && point.iops > 0.0 && point.mean_ns > 0.0
    };
    let mut order: Vec<usize> = (0..points.len()).filter(|at| usable(&points[*at])).collect();
    order.sort_by(|a, b| points[*a].iops.total_cmp(&points[*b].iops));
    let power = |at: usize| points[at].iops / points[at].mean_ns;
    let place = (0..order.len()).max_by(|a, b| power(order[*a]).total_cmp(&power(order[*b])))?;
    (order.len() >= 3 && place > 0 && place + 1 < order.len()).then(|| order[place])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean time in a queue with one server that takes `service_ns` on average: `S / (1 - load)`.
    fn single_server(load: f64) -> CurvePoint {
        CurvePoint { iops: load * 1e4, mean_ns: 1e5 / (1.0 - load) }
    }

    #[test]
    fn a_single_server_has_its_knee_at_half_load() {
        let points: Vec<CurvePoint> = (1..=9).map(|tenth| single_server(f64::from(tenth) / 10.0)).collect();
        assert_eq!(knee(&points), Some(4));
        let mut shuffled = points;
        shuffled.swap(0, 4);
        assert_eq!(knee(&shuffled), Some(0));
    }

    #[test]
    fn a_knee_outside_of_what_was_measured_is_none() {
        let low: Vec<CurvePoint> = (1..=4).map(|tenth| single_server(f64::from(tenth) / 10.0)).collect();
        let high: Vec<CurvePoint> = (6..=9).map(|tenth| single_server(f64::from(tenth) / 10.0)).collect();
        assert_eq!((knee(&low), knee(&high), knee(&low[..2])), (None, None, None));
        let nothing = [CurvePoint { iops: 0.0, mean_ns: 0.0 }; 5];
        assert_eq!(knee(&nothing), None);
    }
}
