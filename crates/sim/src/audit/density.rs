//! Where the traffic of a job lands, as stretches of even density.

/// A share of the traffic that is as good as none.
const NEVER: f64 = 1e-12;
/// Bytes whose popularity differs by less than this factor are put together.
const ALIKE: f64 = 1.002;

/// A stretch of a target that receives a share of the traffic evenly.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Span {
    /// First byte; between two bytes where a distribution's curve bends there.
    pub(crate) start: f64,
    /// Length in bytes.
    pub(crate) len: f64,
    /// Share of the requests, 0 to 1.
    pub(crate) share: f64,
    /// Share of its bytes that can be touched at all: below 1 where offsets are aligned to more than the block size.
    pub(crate) fill: f64,
}

impl Span {
    pub(crate) fn end(&self) -> f64 {
        self.start + self.len
    }
}

/// The traffic to one target.
#[derive(Debug, Clone, Default)]
pub(crate) struct TargetDensity {
    /// Index of the target in the plan.
    pub(crate) target: u16,
    /// They may overlap.
    pub(crate) spans: Vec<Span>,
}

/// Bytes that are equally popular, and the share of the traffic they receive together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Class {
    pub(crate) bytes: f64,
    pub(crate) share: f64,
}

/// The traffic of one operation of a job.
#[derive(Debug, Clone, Default)]
pub(crate) struct Density {
    pub(crate) targets: Vec<TargetDensity>,
    /// Popularity, where it is known better than the spans tell: hot blocks that are scattered.
    pub(crate) classes: Option<Vec<Class>>,
    /// What a share may be off by at most (three standard errors where it is random).
    pub(crate) error: f64,
}

impl Density {
    pub(crate) fn target(&mut self, target: u16) -> &mut Vec<Span> {
        let index = self.targets.iter().position(|density| density.target == target).unwrap_or_else(|| {
            self.targets.push(TargetDensity { target, spans: Vec::new() });
            self.targets.len() - 1
        });
        &mut self.targets[index].spans
    }

    /// The same without overlaps, for each target.
    pub(crate) fn flat(&self) -> Vec<TargetDensity> {
        let flat = self.targets.iter();
        flat.map(|density| TargetDensity { target: density.target, spans: flatten(&density.spans) }).collect()
    }

    /// Popularity classes of what has been made `flat`, most popular first.
    pub(crate) fn popularity(&self, flat: &[TargetDensity]) -> Vec<Class> {
        let mut classes = self.classes.clone().unwrap_or_else(|| {
            let spans = flat.iter().flat_map(|density| &density.spans);
            spans.map(|span| Class { bytes: span.len * span.fill, share: span.share }).collect()
        });
        // What is practically never accessed is not part of the traffic.
        classes.retain(|class| class.share > NEVER && class.bytes > 0.0);
        classes.sort_by(|a, b| (b.share * a.bytes).total_cmp(&(a.share * b.bytes)));
        let mut merged: Vec<Class> = Vec::new();
        for class in classes {
            match merged.last_mut() {
                Some(last) if last.share * class.bytes <= class.share * last.bytes * ALIKE => {
                    last.share += class.share;
                    last.bytes += class.bytes;
                }
                _ => merged.push(class),
            }
        }
        merged
    }
}

/// The same traffic without overlaps: cut where any stretch begins or ends, in order.
fn flatten(spans: &[Span]) -> Vec<Span> {
    // At each edge the density, and the density of touched bytes, changes by so much.
    let mut edges: Vec<(f64, f64, f64, i32)> = Vec::with_capacity(spans.len() * 2);
    for span in spans.iter().filter(|span| span.len > 0.0 && span.share > 0.0) {
        let density = span.share / span.len;
        edges.push((span.start, density, span.fill, 1));
        edges.push((span.end(), -density, -span.fill, -1));
    }
    edges.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let (mut flat, mut density, mut fill, mut open): (Vec<Span>, f64, f64, i32) = (Vec::new(), 0.0, 0.0, 0);
    for (index, edge) in edges.iter().enumerate() {
        density += edge.1;
        fill += edge.2;
        open += edge.3;
        let Some(next) = edges.get(index + 1) else { break };
        let len = next.0 - edge.0;
        // Sums of what was added and taken away again are not exactly zero.
        if open > 0 && len > 0.0 {
            flat.push(Span {
                start: edge.0,
                len,
                share: density.max(0.0) * len,
                fill: (fill / f64::from(open)).clamp(0.0, 1.0),
            });
        }
    }
    flat
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(start: f64, len: f64, share: f64) -> Span {
        Span { start, len, share, fill: 1.0 }
    }

    #[test]
    fn overlaps_add_up() {
        let flat = flatten(&[span(0.0, 100.0, 0.5), span(50.0, 100.0, 0.5)]);
        assert_eq!(flat, [span(0.0, 50.0, 0.25), span(50.0, 50.0, 0.5), span(100.0, 50.0, 0.25)]);
    }

    #[test]
    fn gaps_stay_empty_and_the_most_popular_come_first() {
        let mut density = Density::default();
        density.target(0).extend([span(0.0, 100.0, 0.2), span(1000.0, 10.0, 0.8)]);
        assert_eq!(
            density.popularity(&density.flat()),
            [Class { bytes: 10.0, share: 0.8 }, Class { bytes: 100.0, share: 0.2 }]
        );
    }
}
