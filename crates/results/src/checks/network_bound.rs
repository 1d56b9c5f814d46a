//! `network-bound`: the network to the storage was full, so that the figure is that of the network.

use super::draft::{Draft, iops_lost, lost, percent};
use super::subject::{Subject, on_storage};
use crate::environment::NetworkPath;
use crate::evidence::InterfaceUse;
use crate::run::{Finding, FindingSeverity, JobResult, Run};

pub(super) const ID: &str = "network-bound";

/// An interface is full from this share of its speed on. Counted are whole frames; preamble and gap, which are not, take 1.6 %
/// with frames of 1500 bytes.
const FULL: f64 = 0.9;

/// A byte of data is at most so many on the wire: headers of Ethernet, IP, TCP and of the protocol, in frames of 1500 bytes.
const WITH_HEADERS: f64 = 1.1;
/// Other traffic is told from this share on: below it is what headers may take.
const OTHERS_MIN: f64 = 0.05;

pub(super) fn check(run: &Run) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    let mut unknown: Option<Finding> = None;
    for subject in on_storage(run) {
        let mut seen: Vec<&str> = Vec::new();
        for network in networks(&subject) {
            let Some(name) = network.interface.as_deref().filter(|name| !seen.contains(name)) else {
                continue;
            };
            seen.push(name);
            let used = subject.phase.evidence.interfaces.iter().find(|used| used.name == name);
            match (used, network.bits_per_s) {
                (Some(used), Some(speed)) => {
                    findings.extend(full(&subject, network, used, speed as f64 / 8.0))
                }
                _ => unknown = unknown.or_else(|| Some(not_known(&subject, network, name, used.is_some()))),
            }
        }
    }
    findings.extend(unknown);
    findings
}

/// The ways to servers on other hosts.
fn networks<'r>(subject: &Subject<'r>) -> Vec<&'r NetworkPath> {
    let all = subject.environments().into_iter().filter_map(|target| target.network.as_ref());
    all.filter(|network| network.on_this_host != Some(true)).collect()
}

fn full(subject: &Subject<'_>, network: &NetworkPath, used: &InterfaceUse, speed: f64) -> Option<Finding> {
    let (word, rate) = match used.received_bytes_per_s >= used.sent_bytes_per_s {
        true => ("received", used.received_bytes_per_s),
        false => ("sent", used.sent_bytes_per_s),
    };
    let share = rate / speed;
    if share < FULL {
        return None;
    }
    let message = format!(
        "{} {word} {}, {} of its {}: the network to {} was the limit",
        used.name,
        bits(rate * 8.0),
        percent(share),
        bits(speed * 8.0),
        network.server
    );
    let others = others_share(subject, word == "received", rate);
    let beyond = "the storage may be faster than the network by an unknown amount";
    let bias = match others {
        Some(share) => {
            format!("{} for other traffic of the interface; {beyond}", iops_lost(share))
        }
        None => format!("IOPS and bandwidth are those of the network; {beyond}"),
    };
    let finding = subject
        .draft(ID, FindingSeverity::Warning, message)
        .bias(bias)
        .effect(others.and_then(lost))
        .evidence("others_share", others)
        .evidence("interface", used.name.as_str())
        .evidence("share", share)
        .evidence("received_bytes_per_s", used.received_bytes_per_s)
        .evidence("sent_bytes_per_s", used.sent_bytes_per_s)
        .evidence("bits_per_s", network.bits_per_s)
        .advise(
            "measure the storage from its server, or through a faster network; for IOPS use smaller blocks",
        );
    Some(finding)
}

/// A speed as network links have it: `10 Gbit/s`, `9.52 Gbit/s`, `100 Mbit/s`.
fn bits(per_s: f64) -> String {
    let (value, unit) = if per_s < 1e9 { (per_s / 1e6, "Mbit/s") } else { (per_s / 1e9, "Gbit/s") };
    format!("{} {unit}", (value * 100.0).round() / 100.0)
}

/// Share of what the interface moved in this direction that was not of the phase's jobs, where it is above [`OTHERS_MIN`].
fn others_share(subject: &Subject<'_>, received: bool, rate: f64) -> Option<f64> {
    let of = |job: &JobResult| {
        let op = if received { &job.read } else { &job.write };
        op.as_ref().map_or(0.0, |op| op.bytes_per_s)
    };
    let own: f64 = subject.phase.jobs.iter().map(of).sum();
    let share = 1.0 - (own * WITH_HEADERS / rate).min(1.0);
    (OTHERS_MIN..0.99).contains(&share).then_some(share)
}

fn not_known(subject: &Subject<'_>, network: &NetworkPath, name: &str, counted: bool) -> Finding {
    let what = if counted { "its driver does not give its speed" } else { "it has no counters" };
    let message =
        format!("whether the network to {} was the limit is unknown: {name}: {what}", network.server);
    let draft = Draft::new(ID, FindingSeverity::Unchecked, message).evidence("at", subject.pointer.as_str());
    draft.advise("compare the bandwidth with what the network is known to carry")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::tests::{only, silent};
    use crate::fixture::run;

    /// A target on a server behind 10 Gbit/s of which so much was received.
    fn received(bytes_per_s: f64) -> Run {
        let mut run = run();
        run.environment.targets[0].network = Some(NetworkPath {
            server: "10.0.5.9".to_owned(),
            interface: Some("eth1".to_owned()),
            bits_per_s: Some(10_000_000_000),
            on_this_host: Some(false),
        });
        run.phases[0].evidence.interfaces = vec![InterfaceUse {
            name: "eth1".to_owned(),
            received_bytes_per_s: bytes_per_s,
            sent_bytes_per_s: 3e6,
        }];
        run
    }

    #[test]
    fn an_interface_at_its_speed() {
        let mut run = received(1.19e9);
        run.phases[0].jobs[0].read.as_mut().unwrap().bytes_per_s = 1.1e9;
        let finding = only(ID, &run);
        assert_eq!((finding.severity, finding.effect), (FindingSeverity::Warning, None));
        assert!(finding.bias_words().contains("unknown amount"), "{}", finding.bias_words());
        assert!(
            finding.message.contains("eth1 received 9.52 Gbit/s, 95 % of its 10 Gbit/s"),
            "{}",
            finding.message
        );
    }

    /// Half of what came over the interface was not the job's: that much at least is known.
    #[test]
    fn other_traffic_of_a_full_interface() {
        let mut run = received(1.1e9 + 0.11e9);
        run.phases[0].jobs[0].read.as_mut().unwrap().bytes_per_s = 0.55e9;
        let finding = only(ID, &run);
        assert!(
            finding
                .bias_words()
                .starts_with("IOPS low: without it up to 2.0 times as many for other traffic"),
            "{}",
            finding.bias_words()
        );
        assert!(finding.effect.is_some_and(|effect| (effect.low + 1.0).abs() < 1e-9), "{finding:?}");
    }

    #[test]
    fn an_interface_with_room_and_a_target_without_network() {
        silent(ID, &received(0.9e9));
        silent(ID, &run());
    }

    #[test]
    fn a_speed_that_nobody_knows_is_unchecked_once() {
        let mut run = received(1.19e9);
        run.environment.targets[0].network.as_mut().unwrap().bits_per_s = None;
        assert_eq!(only(ID, &run).severity, FindingSeverity::Unchecked);
    }

    #[test]
    fn a_server_on_this_host_is_not_reached_over_a_network() {
        let mut run = received(1.19e9);
        run.environment.targets[0].network.as_mut().unwrap().on_this_host = Some(true);
        silent(ID, &run);
    }
}
