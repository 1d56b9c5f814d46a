//! What coordinator and workers say to each other. Intervals go in the form of `series.bin`, everything else as JSON.

use assay_conduct::PhaseOutcome;
use assay_conduct::workplace::{Look, Part, Refused};
use assay_results::environment::{AssayVersion, Environment};
use assay_results::event::HungIo;
use assay_results::series::{decode_interval, encode_interval};
use assay_results::{HostEvent, Interval};
use assay_workload::PlannedPhase;
use assay_workload::resolve::Inventory;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// The first byte of a message in JSON.
const JSON: u8 = b'J';
/// The first byte of an interval.
const INTERVAL: u8 = b'I';

/// Which window of a phase, or what comes behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Beside {
    /// The idle window before it.
    IdleBefore,
    /// The idle window behind it.
    IdleAfter,
    /// Dirty data is written back, and nothing done for as long as the plan says.
    Settle,
}

/// What a coordinator asks for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Command {
    /// Look at targets.
    Look {
        /// Which.
        look: Look,
        /// The worker stops by itself when it has heard nothing for so long, milliseconds.
        lease_ms: u64,
    },
    /// Check a part of a plan, and set it up.
    Prepare {
        /// The part.
        part: Box<Part>,
    },
    /// Watch the devices, or settle.
    Beside {
        /// Index of the phase.
        phase: u32,
        /// What.
        what: Beside,
    },
    /// Get ready for a phase, and carry it out from the start that is told then.
    Execute {
        /// Its index.
        phase: u32,
        /// What it is by now.
        planned: Box<PlannedPhase>,
    },
    /// The start of the phase that is ready, on the worker's clock.
    Start {
        /// Nanoseconds.
        at_ns: u64,
    },
    /// End everything, and keep what was measured.
    Stop,
    /// Nothing more is wanted.
    Finish {
        /// Nothing was measured anywhere: what was made for it is removed.
        came_to_nothing: bool,
        /// The run failed.
        #[serde(default)]
        failed: bool,
    },
}

/// How a phase ended on a worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Ended {
    /// It ran to its end.
    Done,
    /// It was told to stop.
    Stopped,
    /// It could not go on.
    Failed {
        /// A sentence.
        why: String,
    },
}

impl From<PhaseOutcome> for Ended {
    fn from(outcome: PhaseOutcome) -> Self {
        match outcome {
            PhaseOutcome::Done => Ended::Done,
            PhaseOutcome::Stopped => Ended::Stopped,
            PhaseOutcome::Failed(why) => Ended::Failed { why },
            // A worker has no hosts of its own.
            PhaseOutcome::Lost(_) => Ended::Failed { why: "a host of a worker was lost".to_owned() },
        }
    }
}

/// What a worker is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// [`crate::frame::PROTOCOL`].
    pub protocol: u32,
    /// Which Assay it is.
    pub version: AssayVersion,
    /// Tells this process from one that was started again.
    pub instance: u64,
    /// The name of its machine.
    pub node: String,
}

/// What a worker tells.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "tell", rename_all = "snake_case")]
pub enum Report {
    /// The first message.
    Hello {
        /// What it is.
        hello: Hello,
    },
    /// What it found of the targets.
    Looked {
        /// By target name.
        inventory: Box<Inventory>,
    },
    /// The part is set up.
    Prepared {
        /// What the machine is.
        environment: Box<Environment>,
    },
    /// It will not do the last thing that was asked for.
    Refused {
        /// Why.
        refused: Refused,
    },
    /// All threads of the phase are ready; the start is waited for.
    Armed,
    /// Something happened. Intervals and hung I/Os come as messages of their own.
    Event {
        /// What.
        event: HostEvent,
    },
    /// As [`HostEvent::Hung`].
    Hung {
        /// The phase.
        phase: u32,
        /// The I/O.
        io: Option<Box<HungIo>>,
    },
    /// A phase, or what is beside it, has ended.
    Ended {
        /// How.
        ended: Ended,
    },
}

/// A message of a worker, as it is handed on.
#[derive(Debug, Clone, PartialEq)]
pub enum Told {
    /// Something that happened.
    Event(HostEvent),
    /// An answer.
    Report(Report),
}

impl Command {
    /// The payload of its frame.
    pub fn encode(&self) -> Vec<u8> {
        json(self)
    }

    /// From a payload; `None`: it makes no sense.
    pub fn decode(payload: &[u8]) -> Option<Self> {
        of_json(payload)
    }
}

impl Report {
    /// The payload of its frame.
    pub fn encode(&self) -> Vec<u8> {
        json(self)
    }
}

impl Told {
    /// The payload of an event's frame.
    pub fn encode_event(event: HostEvent) -> Vec<u8> {
        match event {
            HostEvent::Interval(interval) => of_interval(&interval),
            HostEvent::Hung { phase, io } => Report::Hung { phase, io }.encode(),
            event => Report::Event { event }.encode(),
        }
    }

    /// From a payload; `None`: it makes no sense.
    pub fn decode(payload: &[u8]) -> Option<Self> {
        if let [INTERVAL, rest @ ..] = payload {
            return decode_interval(rest)
                .map(|interval| Told::Event(HostEvent::Interval(Box::new(interval))));
        }
        Some(match of_json(payload)? {
            Report::Event { event } => Told::Event(event),
            Report::Hung { phase, io } => Told::Event(HostEvent::Hung { phase, io }),
            report => Told::Report(report),
        })
    }
}

fn of_interval(interval: &Interval) -> Vec<u8> {
    let mut payload = vec![INTERVAL];
    payload.extend(encode_interval(interval));
    payload
}

/// Messages are plain data with names for keys: writing them does not fail.
fn json(message: &impl Serialize) -> Vec<u8> {
    let mut payload = vec![JSON];
    payload.extend(serde_json::to_vec(message).unwrap_or_default());
    payload
}

fn of_json<T: DeserializeOwned>(payload: &[u8]) -> Option<T> {
    let [JSON, rest @ ..] = payload else { return None };
    serde_json::from_slice(rest).ok()
}

#[cfg(test)]
mod tests {
    use assay_results::{IntervalKey, JobCounts, JobOutcome};
    use assay_workload::units::Nanos;

    use super::*;

    #[test]
    fn every_event_arrives_as_it_was_sent() {
        let key = IntervalKey { phase: 1, job: 2, index: 3, ramp: false, start_ns: 4, length_ns: 5 };
        let mut counts = JobCounts::default();
        counts.ops[0].ios = 2;
        counts.ops[0].completion.record_n(70_000, 2);
        let io = assay_results::event::HungIo {
            job: "j".to_owned(),
            operation: "read".into(),
            target: "/t".to_owned(),
            offset_bytes: Some(4096),
            len_bytes: 4096,
            since: Nanos(1),
            outstanding_for: Nanos(2),
        };
        let events = [
            HostEvent::Interval(Box::new(Interval { key, counts })),
            HostEvent::Hung { phase: 0, io: Some(Box::new(io)) },
            HostEvent::Started { phase: 0, at_ns: u64::MAX },
            HostEvent::JobFinished { phase: 0, job: 0, outcome: Box::new(JobOutcome::default()) },
            HostEvent::Note { phase: None, id: "a".to_owned(), text: "b".to_owned() },
        ];
        for event in events {
            let payload = Told::encode_event(event.clone());
            assert_eq!(Told::decode(&payload), Some(Told::Event(event)));
        }
    }

    #[test]
    fn commands_and_answers_survive() {
        let look = Command::Look { look: Look::default(), lease_ms: 10_000 };
        assert_eq!(Command::decode(&look.encode()), Some(look));
        let ended = Report::Ended { ended: Ended::Failed { why: "no".to_owned() } };
        assert_eq!(Told::decode(&ended.encode()), Some(Told::Report(ended)));
        assert_eq!(Command::decode(b"J{}"), None);
        assert_eq!(Told::decode(b""), None);
        assert_eq!(Told::decode(b"I\x01"), None);
    }
}
