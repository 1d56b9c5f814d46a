//! What comes over the stream of a fleet, on either side.
//!
//! Input that begins with `=` is a conversation, a message a line: it gets frames with right heads, so that sessions and messages are reached.
//! Other input is the stream as it is.

#![no_main]

use std::sync::LazyLock;

use assay_fleet::frame::{Frame, FrameReader};
use assay_fleet::message::{Command, Told};
use assay_fleet::session::Session;
use assay_fuzz::fleet::{Conversation, stream};
use assay_fuzz::{Grammar, Input, random::Random, share};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

static GRAMMAR: LazyLock<Marked> = LazyLock::new(Marked::default);

/// Conversations behind their mark.
#[derive(Debug, Default)]
struct Marked(Conversation);

impl Grammar for Marked {
    fn mutate(&self, text: &str, random: &mut Random) -> String {
        format!("={}", self.0.mutate(text.strip_prefix('=').unwrap_or(""), random))
    }

    fn accepts(&self, text: &str) -> bool {
        text.strip_prefix('=').is_some_and(|text| self.0.accepts(text))
    }
}

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    assay_fuzz::mutate(&*GRAMMAR, Input { data, size, max_size, seed, of_bytes: fuzzer_mutate })
});

fuzz_target!(|data: &[u8]| {
    let is_accepted = match data.strip_prefix(b"=") {
        Some(text) => read(&stream(&String::from_utf8_lossy(text))),
        None => read(data),
    };
    share::count(is_accepted);
});

/// Whether a message came, and all that came made sense.
fn read(bytes: &[u8]) -> bool {
    let (mut reader, mut session) = (FrameReader::default(), Session::default());
    session.send(b"kept".to_vec());
    let (mut messages, mut senseless) = (0_u64, 0_u64);
    for part in bytes.chunks(977) {
        reader.push(part);
        while let Ok(Some(frame)) = reader.next_frame() {
            match frame {
                Frame::Data { number, payload } => {
                    let makes_sense = of_command(&payload) | of_worker(&payload);
                    messages += 1;
                    senseless += u64::from(!makes_sense);
                    let _ = session.receive(number, payload);
                }
                Frame::Ack { received } => session.acknowledge(received),
                Frame::Resume { received, .. } => session.resume(received),
                Frame::Ping { .. } | Frame::Pong { .. } => {}
            }
            while session.next_bytes().is_some() {}
        }
    }
    messages > 0 && senseless == 0
}

/// What is understood is written as what is understood as the same.
fn of_command(payload: &[u8]) -> bool {
    let command = Command::decode(payload);
    if let Some(command) = &command {
        assert!(Command::decode(&command.encode()).is_some(), "{command:?}");
    }
    command.is_some()
}

fn of_worker(payload: &[u8]) -> bool {
    let told = Told::decode(payload);
    match &told {
        Some(Told::Event(event)) => {
            assert!(Told::decode(&Told::encode_event(event.clone())).is_some(), "{event:?}");
        }
        Some(Told::Report(report)) => assert!(Told::decode(&report.encode()).is_some(), "{report:?}"),
        None => {}
    }
    told.is_some()
}
