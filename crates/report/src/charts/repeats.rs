//! How alike repetitions are.

use assay_results::Run;

use super::tick_name;
use crate::format;
use crate::repeats::repeats;
use crate::svg::{Axis, COLOURS, Chart, Line, Scale};

/// Each repetition as a share of the median of its test, all tests over each other; `None` where nothing was repeated.
pub(crate) fn repetitions(run: &Run) -> Option<Chart> {
    let repeats = repeats(run)?;
    let reach = repeats.reach() * 100.0;
    let longest = repeats.shares.iter().map(|(_, shares)| shares.len()).max()?;
    let drawn = &repeats.shares[..repeats.shares.len().min(COLOURS)];
    let line = |(colour, (name, shares)): (usize, &(String, Vec<f64>))| Line {
        name: name.clone(),
        colour,
        points: shares.iter().enumerate().map(|(at, share)| ((at + 1) as f64, Some(share * 100.0))).collect(),
        marked: true,
        ..Line::default()
    };
    let hints = (0..longest).map(|at| {
        let of = |(name, shares): &(String, Vec<f64>)| {
            shares.get(at).map(|share| format!("{name} {} %", format::significant(share * 100.0)))
        };
        let words = drawn.iter().filter_map(of).collect::<Vec<_>>().join("; ");
        let place = (at + 1) as f64;
        (place, place, format!("repetition {}: {words}", at + 1))
    });
    let left_out = repeats.shares.len() - drawn.len();
    let more = if left_out > 0 { format!(" {left_out} more are in the table only.") } else { String::new() };
    Some(Chart {
        id: "repetitions".to_owned(),
        title: "Repetitions against their median".to_owned(),
        description: format!(
            "IOPS of each of {longest} repetitions, per cent of the median of their test. None is further from it than {}.{more}",
            format::percent(furthest(drawn))
        ),
        x: Axis {
            unit: 1.0,
            label: "repetition".to_owned(),
            scale: Scale::Linear { low: 1.0, high: longest as f64 },
            ticks: places(longest),
        },
        y: Axis::new("% of the median", Scale::Linear { low: 100.0 - reach, high: 100.0 + reach }, tick_name),
        lines: drawn.iter().enumerate().map(line).collect(),
        hints: hints.collect(),
        marks: Vec::new(),
    })
}

fn furthest(drawn: &[(String, Vec<f64>)]) -> f64 {
    drawn.iter().flat_map(|(_, shares)| shares).map(|share| (share - 1.0).abs()).fold(0.0, f64::max)
}

/// Ticks at whole repetitions, at most ten of them.
fn places(longest: usize) -> Vec<(f64, String)> {
    (1..=longest).step_by(longest.div_ceil(10)).map(|at| (at as f64, at.to_string())).collect()
}
