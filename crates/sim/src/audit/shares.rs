//! From where traffic lands to who serves it.

use super::density::{Class, Density, Span, TargetDensity};
use crate::model::FrontEnd;

/// Hash layouts have no period; up to so many segments are asked one by one, beyond that the layout is taken as even.
const SEGMENTS_MAX: u64 = 1 << 22;

/// A segment of a target and its share of the traffic.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Hot {
    pub(crate) target: u16,
    pub(crate) segment: u64,
    pub(crate) share: f64,
}

/// The share of each core. Every target starts at a segment of the first core.
pub(crate) fn of_cores(density: &Density, front_end: &FrontEnd) -> Vec<f64> {
    let mut shares = vec![0.0; front_end.cores() as usize];
    for span in density.targets.iter().flat_map(|density| &density.spans) {
        add_span(&mut shares, span, front_end);
    }
    shares
}

fn add_span(shares: &mut [f64], span: &Span, front_end: &FrontEnd) {
    if span.len <= 0.0 || span.share <= 0.0 {
        return;
    }
    let segment = front_end.segment.0 as f64;
    let turn = segment * shares.len() as f64;
    let density = span.share / span.len;
    let mut left = *span;
    if front_end.is_periodic() {
        // Whole turns are even.
        let turns = (span.len / turn).floor();
        let even = density * turns * segment;
        shares.iter_mut().for_each(|share| *share += even);
        left.len -= turns * turn;
    } else if span.len / segment > SEGMENTS_MAX as f64 {
        let even = span.share / shares.len() as f64;
        shares.iter_mut().for_each(|share| *share += even);
        return;
    }
    let mut at = left.start;
    while at < left.end() {
        let index = (at / segment).floor();
        let end = ((index + 1.0) * segment).min(left.end());
        if end <= at {
            break;
        }
        shares[front_end.core_of(index as u64) as usize] += density * (end - at);
        at = end;
    }
}

/// The shares of controllers, from those of their cores.
pub(crate) fn of_controllers(cores: &[f64], front_end: &FrontEnd) -> Vec<f64> {
    let mut shares = vec![0.0; usize::from(front_end.controllers)];
    for (core, share) in cores.iter().enumerate() {
        shares[front_end.controller_of(core as u32) as usize] += share;
    }
    shares
}

/// The `count` segments with the largest shares.
pub(crate) fn hottest(flat: &[TargetDensity], front_end: &FrontEnd, count: usize) -> Vec<Hot> {
    let segment = front_end.segment.0 as f64;
    let mut hot: Vec<Hot> = Vec::new();
    for target in flat {
        let mut open: Option<Hot> = None;
        for span in &target.spans {
            let first = (span.start / segment).floor();
            let last = ((span.end() / segment).ceil() - 1.0).max(first);
            // All segments that lie within a stretch are alike: as many as are asked for and the ends stand for them.
            let near = (0..=count).map(|index| first + index as f64).take_while(|index| *index < last);
            for index in near.chain([last]) {
                let part = span.end().min((index + 1.0) * segment) - span.start.max(index * segment);
                let share = part.max(0.0) / span.len * span.share;
                match &mut open {
                    Some(one) if one.segment == index as u64 => one.share += share,
                    _ => {
                        hot.extend(open.replace(Hot { target: target.target, segment: index as u64, share }))
                    }
                }
            }
            // What is kept is bounded, however many stretches there are.
            if hot.len() > 64 * (count + 2) {
                keep(&mut hot, count);
            }
        }
        hot.extend(open);
    }
    keep(&mut hot, count);
    hot
}

fn keep(hot: &mut Vec<Hot>, count: usize) {
    hot.sort_by(|a, b| {
        b.share.total_cmp(&a.share).then(a.target.cmp(&b.target)).then(a.segment.cmp(&b.segment))
    });
    hot.dedup_by(|a, b| a.target == b.target && a.segment == b.segment);
    hot.truncate(count);
}

/// The fewest bytes that hold each of these shares of the traffic.
pub(crate) fn working_set(classes: &[Class], quantiles: &[f64]) -> Vec<u64> {
    let total: f64 = classes.iter().map(|class| class.share).sum();
    let of = |quantile: f64| {
        let (mut share, mut bytes) = (0.0, 0.0);
        for class in classes {
            let wanted = quantile * total - share;
            if class.share >= wanted {
                return (bytes + class.bytes * wanted / class.share) as u64;
            }
            share += class.share;
            bytes += class.bytes;
        }
        bytes as u64
    };
    quantiles.iter().map(|&quantile| of(quantile)).collect()
}
