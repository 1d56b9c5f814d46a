//! What was asked, and what the devices did.

use assay_results::Run;
use assay_results::run::{DeviceTruth, PhaseResult};
use maud::{Markup, html};

use super::table::number;
use crate::format;
use crate::svg::against_bar;

/// Devices that transferred what was asked, within this share of it, need no row of their own.
const ALIKE: f64 = 0.05;
/// So few phases are shown in full, and of more those that differ most.
const SHOWN_MAX: usize = 5;

/// A row per phase whose device counters could be read, and why others could not. Of many phases only those are open
/// whose devices transferred more or less than was asked.
pub(super) fn truth(run: &Run) -> Markup {
    let known: Vec<(&PhaseResult, &DeviceTruth)> =
        run.phases.iter().filter_map(|phase| Some((phase, phase.device.as_ref()?))).collect();
    let mut reasons: Vec<&str> =
        known.iter().filter_map(|(_, device)| device.unknown_because.as_deref()).collect();
    reasons.dedup();
    let (alike, mut differ): (Vec<_>, Vec<_>) =
        known.iter().copied().partition(|(_, device)| known.len() > SHOWN_MAX && is_alike(device));
    differ.sort_by_key(|(_, device)| std::cmp::Reverse(bytes_apart(device)));
    let less = differ.split_off(differ.len().min(SHOWN_MAX));
    html! {
        @if !known.is_empty() {
            section #devices {
                h2 { "What was asked, and what the devices did" }
                @if !differ.is_empty() { (table(&differ)) }
                @if !less.is_empty() {
                    details {
                        summary { (format::plural(less.len() as u64, "phase")) " in which the difference is smaller" }
                        (table(&less))
                    }
                }
                @if !alike.is_empty() {
                    details {
                        summary {
                            (format::plural(alike.len() as u64, "phase")) " in which the devices transferred what was asked, within "
                            (format::percent(ALIKE))
                        }
                        (table(&alike))
                    }
                }
                ul .notes {
                    li { "Counted over the whole phase, ramp included. Devices count the I/O of all processes: what exceeds the requested bytes is read-ahead, metadata, write-back of older data, or other processes." }
                    @for reason in reasons { li { "Not known: " (reason) } }
                }
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
                th scope="col" {}
                th .n scope="col" { "asked" }
                th .n scope="col" { "by this process" }
                th .n scope="col" { "at the devices" }
                th scope="col" { "devices against asked" }
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
                td data-h="" { (what) }
                (number("asked", &if *asked == 0 && device.asked_unknown { format::NOTHING.to_owned() } else { format::bytes(*asked) }))
                (number("by this process", &bytes(*process)))
                (number("at the devices", &bytes(*at_device)))
                td .plot data-h="devices against asked" { (against(*asked, *at_device, what)) }
                (number("mean in flight", if index == 0 { &depth } else { "" }))
            }
        }
    }
}

/// What the devices did as a bar, with a line where what was asked ends.
fn against(asked: u64, at_device: Option<u64>, what: &str) -> Markup {
    let Some(at_device) = at_device else { return html! {} };
    let ratio = at_device as f64 / asked as f64;
    let words = if asked == 0 {
        format!("{} {what} that nobody asked for here", format::bytes(at_device))
    } else {
        format!("{} of what was asked was {what} at the devices", format::percent(ratio))
    };
    html! {
        (against_bar(at_device as f64, asked as f64, if what == "read" { 0 } else { 1 }, &words))
        @if asked > 0 { span .interval { (format::percent(ratio)) } }
    }
}
