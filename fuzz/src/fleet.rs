//! What coordinator and workers say to each other, a message a line, from which frames with right heads are made.
//!
//! `J{..}` is a message in JSON; `I` an interval, a byte a character; `A5` says that five messages have come, `R5` the same at the start of
//! a stream, and `P5` asks for the clock.

use assay_fleet::frame::Frame;
use assay_fleet::message::{Command, Report, Told};
use assay_results::event::HungIo;
use assay_results::{HostEvent, Interval, IntervalKey, JobCounts};
use serde_json::{Value, json};

use crate::Grammar;
use crate::random::Random;
use crate::tree::{Seen, read_or_any};

const RUN: &str = include_str!("../seeds/stored/run");

/// The payload of a line that is a message.
pub fn payload(line: &str) -> Option<Vec<u8>> {
    match line.as_bytes().first()? {
        b'J' => Some(line.into()),
        b'I' => Some(line.chars().map(|character| u32::from(character) as u8).collect()),
        _ => None,
    }
}

/// The line of a payload.
fn line_of(payload: &[u8]) -> String {
    // No byte may end the line.
    let character = |byte: &u8| if *byte == b'\n' { '\u{10a}' } else { char::from(*byte) };
    match payload.first() {
        Some(b'J') => String::from_utf8_lossy(payload).into_owned(),
        _ => payload.iter().map(character).collect(),
    }
}

/// The stream of a text.
pub fn stream(text: &str) -> Vec<u8> {
    let (mut stream, mut number) = (Vec::new(), 0);
    for line in text.split('\n') {
        if let Some(payload) = payload(line) {
            number += 1;
            stream.extend(Frame::Data { number, payload }.encode());
            continue;
        }
        let Some((kind, rest)) = line.split_at_checked(1) else { continue };
        let received = rest.parse().unwrap_or(0);
        stream.extend(match kind {
            "A" => Frame::Ack { received }.encode(),
            "R" => Frame::Resume { instance: 0, received }.encode(),
            "P" => Frame::Ping { id: received }.encode(),
            _ => Frame::Pong { id: received, at_ns: 1 }.encode(),
        });
    }
    stream
}

/// A message of each kind.
fn messages() -> Vec<Value> {
    let run: Value = serde_json::from_str(&RUN[1..]).expect("a run");
    let (plan, environment) = (&run["plan"], &run["environment"]);
    let hung = HungIo {
        job: "j".to_owned(),
        operation: "read".into(),
        target: "/t".to_owned(),
        offset_bytes: Some(4096),
        len_bytes: 4096,
        since: assay_workload::units::Nanos(1),
        outstanding_for: assay_workload::units::Nanos(2),
    };
    let target = json!({ "name": "data", "path": "data.bin", "kind": "file", "size": 1_048_576 });
    let look = json!({ "directory": "/d", "targets": [{ "target": target, "leaves_engine_open": true }], "engine": null });
    let part = json!({
        "plan": plan, "consent": ["/dev/x"], "really": false, "watch": "all", "run": { "name": "r", "host": 1 },
    });
    let event = |event: HostEvent| json!({ "tell": "event", "event": event });
    vec![
        json!({ "do": "look", "look": look, "lease_ms": 10_000 }),
        json!({ "do": "prepare", "part": part }),
        json!({ "do": "beside", "phase": 0, "what": "idle_before" }),
        json!({ "do": "execute", "phase": 0, "planned": plan["phases"][0] }),
        json!({ "do": "start", "at_ns": 12_345_678_901_234_u64 }),
        json!({ "do": "stop" }),
        json!({ "do": "finish", "came_to_nothing": true }),
        json!({
            "tell": "hello",
            "hello": { "protocol": 1, "version": environment["assay"], "instance": 5, "node": "n" },
        }),
        json!({ "tell": "looked", "inventory": assay_workload::resolve::Inventory::default() }),
        json!({ "tell": "prepared", "environment": environment }),
        json!({ "tell": "refused", "refused": { "message": "no", "is_request": true } }),
        json!({ "tell": "armed" }),
        json!({ "tell": "ended", "ended": { "outcome": "failed", "why": "gone" } }),
        json!({ "tell": "hung", "phase": 0, "io": hung }),
        event(HostEvent::Started { phase: 0, at_ns: 7 }),
        event(HostEvent::Note { phase: None, id: "drain".to_owned(), text: "t".to_owned() }),
        event(HostEvent::JobFinished { phase: 0, job: 0, outcome: Box::default() }),
        event(HostEvent::Counters { phase: 0, record: Box::default() }),
        event(HostEvent::Clock(assay_results::event::HostClock { offset_ns: -5, error_ns: 9 })),
    ]
}

fn interval(random: &mut Random) -> String {
    let key = IntervalKey {
        phase: random.below(3) as u32,
        job: random.below(3) as u32,
        index: random.below(9) as u32,
        ramp: random.one_in(2),
        start_ns: random.next(),
        length_ns: random.number(1_000_000_000),
    };
    let mut counts = JobCounts::default();
    let ops = random.below(counts.ops.len());
    counts.ops[ops].ios = random.number(7);
    for _ in 0..random.below(5) {
        let ns = random.number(70_000);
        counts.ops[ops].completion.record_n(ns, 1 + random.below(9) as u64);
    }
    line_of(&Told::encode_event(HostEvent::Interval(Box::new(Interval { key, counts }))))
}

fn is_message(payload: &[u8]) -> bool {
    Command::decode(payload).is_some() || Told::decode(payload).is_some()
}

/// Conversations.
#[derive(Debug)]
pub struct Conversation(Seen);

impl Default for Conversation {
    fn default() -> Self {
        let messages = messages();
        for message in &messages {
            assert!(is_message(format!("J{message}").as_bytes()), "{message}");
        }
        assert!(is_message(&Report::Armed.encode()));
        Conversation(Seen::of(messages))
    }
}

impl Conversation {
    fn message(&self, line: &str, random: &mut Random) -> String {
        if line.starts_with('I') {
            return self.changed_interval(line, random);
        }
        let read = line.strip_prefix('J').and_then(|json| serde_json::from_str(json).ok());
        let mut value = read_or_any(read, &self.0, random);
        self.0.change(&mut value, random);
        format!("J{value}")
    }

    /// Another one, or a byte of it changed.
    fn changed_interval(&self, line: &str, random: &mut Random) -> String {
        let mut payload = payload(line).unwrap_or_default();
        if random.one_in(2) || payload.len() < 2 {
            return interval(random);
        }
        let at = 1 + random.below(payload.len() - 1);
        payload[at] = random.next() as u8;
        line_of(&payload)
    }
}

impl Grammar for Conversation {
    fn mutate(&self, text: &str, random: &mut Random) -> String {
        let mut lines: Vec<String> =
            text.split('\n').filter(|line| !line.is_empty()).map(str::to_owned).collect();
        if lines.is_empty() {
            lines.push(format!("J{}", random.pick(&self.0.documents)));
        }
        let at = random.below(lines.len());
        match random.below(10) {
            0 if lines.len() > 1 => drop(lines.remove(at)),
            1 => lines.insert(at, format!("J{}", random.pick(&self.0.documents))),
            2 => lines.insert(at, interval(random)),
            3 => lines.insert(at, format!("{}{}", random.pick(&["A", "R", "P", "Q"]), random.below(12))),
            4 => lines.insert(at, lines[at].clone()),
            _ => lines[at] = self.message(&lines[at], random),
        }
        lines.join("\n")
    }

    /// Each message makes sense, and there is one.
    fn accepts(&self, text: &str) -> bool {
        let mut payloads = text.split('\n').filter_map(payload).peekable();
        payloads.peek().is_some() && payloads.all(|payload| is_message(&payload))
    }
}
