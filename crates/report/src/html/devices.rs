//! What was asked, and what the devices did.

use assay_results::Run;
use assay_results::run::{DeviceTruth, PhaseResult};
use maud::{Markup, html};

use super::table::number;
use crate::format;
use crate::svg::share_bar;

/// Devices that transferred what was asked, within this share of it, need no row of their own.
const ALIKE: f64 = 0.05;
/// Up to so many phases are shown in full.
const SHOWN_MAX: usize = 4;
/// Of more, so many at most that differ.
const LISTED_MAX: usize = 12;

/// A row per phase whose device counters could be read, and why others could not. Many phases stand behind a line that says how
/// many differ: first those whose devices transferred most beyond what was asked, or least of it.
pub(super) fn truth(run: &Run) -> Markup {
    let known: Vec<(&PhaseResult, &DeviceTruth)> =
        run.phases.iter().filter_map(|phase| Some((phase, phase.device.as_ref()?))).collect();
    let mut reasons: Vec<&str> =
        known.iter().filter_map(|(_, device)| device.unknown_because.as_deref()).collect();
    reasons.sort_unstable();
    reasons.dedup();
    let notes = html! {
        ul .notes {
            li { "Counted over the whole phase, ramp included. Devices count the I/O of all processes: what exceeds the requested bytes is read-ahead, metadata, write-back of older data, or other processes." }
            @for reason in &reasons { li { "Not known: " (reason) } }
        }
    };
    html! {
        @if !known.is_empty() {
            section #devices {
                h2 { "What was asked, and what the devices did" }
                @if known.len() <= SHOWN_MAX { (table(&known)) (notes) } @else { (folded(&known, &notes)) }
            }
        }
    }
}

/// Many phases: how many differ, and behind it those that differ most.
fn folded(known: &[(&PhaseResult, &DeviceTruth)], notes: &Markup) -> Markup {
    let mut differ: Vec<_> = known.iter().copied().filter(|(_, device)| !is_alike(device)).collect();
    differ.sort_by_key(|(_, device)| std::cmp::Reverse(bytes_apart(device)));
    let (shown, rest) = differ.split_at(differ.len().min(LISTED_MAX));
    html! {
        p {
            "Of " (format::plural(known.len() as u64, "phase")) ", the devices transferred what was asked within "
            (format::percent(ALIKE)) " in " (format::count((known.len() - differ.len()) as u64))
            ", and more or less in " (format::count(differ.len() as u64)) "."
        }
        @if !shown.is_empty() {
            details {
                summary { @if rest.is_empty() { "Where they differ" } @else { "Where they differ most" } }
                (table(shown))
                @if !rest.is_empty() {
                    p .dim { "Not listed, with smaller differences: " (format::plural(rest.len() as u64, "phase")) ". All counters are in the run's JSON." }
                }
                (notes)
            }
        }
    }
}

/// Bytes transferred beyond, or short of, what was asked.
fn bytes_apart(device: &DeviceTruth) -> u64 {
    let apart = |asked: u64, at_device: Option<u64>| at_device.map_or(0, |bytes| bytes.abs_diff(asked));
    let read = apart(device.asked_read_bytes, device.device_read_bytes);
    read.saturating_add(apart(device.asked_written_bytes, device.device_written_bytes))
}

/// Whether the devices transferred what was asked in both directions.
fn is_alike(device: &DeviceTruth) -> bool {
    let near = |asked: u64, at_device: Option<u64>| {
        at_device.is_some_and(|bytes| bytes.abs_diff(asked) as f64 <= asked as f64 * ALIKE)
    };
    !device.asked_unknown
        && near(device.asked_read_bytes, device.device_read_bytes)
        && near(device.asked_written_bytes, device.device_written_bytes)
}

fn table(phases: &[(&PhaseResult, &DeviceTruth)]) -> Markup {
    html! {
        table .rows .devices {
            thead { tr {
                th scope="col" { "phase" }
                th scope="col" { "direction" }
                th .n scope="col" { "asked" }
                th .n scope="col" { "by this process" }
                th .n scope="col" { "at the devices" }
                th scope="col" { "devices against asked (line: 100 %)" }
                th .n scope="col" { "mean in flight" }
            } }
            tbody { @for (phase, device) in phases { (rows(phase, device)) } }
        }
    }
}

fn rows(phase: &PhaseResult, device: &DeviceTruth) -> Markup {
    let directions = [
        ("read", device.asked_read_bytes, device.process_read_bytes, device.device_read_bytes),
        ("written", device.asked_written_bytes, device.process_written_bytes, device.device_written_bytes),
    ];
    let shown: Vec<_> = directions
        .into_iter()
        .filter(|(_, asked, _, at_device)| *asked > 0 || at_device.is_some_and(|bytes| bytes > 0))
        .collect();
    let depth = device.device_depth_mean.map_or_else(String::new, format::significant);
    let bytes = |value: Option<u64>| value.map_or_else(|| format::NOTHING.to_owned(), format::bytes);
    html! {
        @for (index, (what, asked, process, at_device)) in shown.iter().enumerate() {
            tr .sub[index > 0] {
                th scope="row" {
                    (phase.name)
                    @if !device.devices.is_empty() { p .conditions { span { (device.devices.join(", ")) } } }
                }
                td data-h="direction" { (what) }
                (number("asked", &if *asked == 0 && device.asked_unknown { format::NOTHING.to_owned() } else { format::bytes(*asked) }))
                (number("by this process", &bytes(*process)))
                (number("at the devices", &bytes(*at_device)))
                td .plot data-h="devices against asked" { (against(*asked, *at_device, what)) }
                (number("mean in flight", if index == 0 { &depth } else { "" }))
            }
        }
    }
}

/// What the devices did as a bar, with a line where what was asked ends; nothing where nothing was asked.
fn against(asked: u64, at_device: Option<u64>, what: &str) -> Markup {
    let Some(at_device) = at_device else { return html! {} };
    if asked == 0 {
        return html! { span .interval { "nothing asked" } };
    }
    let ratio = at_device as f64 / asked as f64;
    let words = format!("{} of what was asked was {what} at the devices", format::percent(ratio));
    html! {
        (share_bar(ratio, usize::from(what != "read"), &words))
        span .interval { (format::percent(ratio)) }
    }
}
