//! What comes over the stream of a fleet, on either side.
//!
//! Input that begins with an odd byte is payloads, each behind a kind and two bytes of length; they get right heads, so that sessions and
//! messages are reached. Other input is the stream as it is, from the second byte on, and what a stranger says to a run that workers join.

#![no_main]

use assay_fleet::attach::joining::Join;
use assay_fleet::frame::{Frame, FrameReader};
use assay_fleet::message::{Command, Told};
use assay_fleet::session::Session;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    match data.split_first() {
        Some((kind, rest)) if kind % 2 == 1 => read(&framed(rest)),
        Some((_, rest)) => {
            read(rest);
            join(rest);
        }
        None => {}
    }
});

/// The request to join as it arrives, with its mark and without.
fn join(stream: &[u8]) {
    let marked = [b"assay-join-1\n", stream].concat();
    for bytes in [stream, &marked] {
        if let Ok(Some((join, length))) = Join::decode(bytes) {
            assert!(length <= bytes.len());
            assert_eq!(Join::decode(&join.encode()), Ok(Some((join, length))));
        }
    }
}

fn read(stream: &[u8]) {
    let (mut reader, mut session) = (FrameReader::default(), Session::default());
    session.send(b"kept".to_vec());
    for part in stream.chunks(977) {
        reader.push(part);
        while let Ok(Some(frame)) = reader.next_frame() {
            match frame {
                Frame::Data { number, payload } => {
                    let _ = Command::decode(&payload);
                    let _ = Told::decode(&payload);
                    let _ = session.receive(number, payload);
                }
                Frame::Ack { received } => session.acknowledge(received),
                Frame::Resume { received, .. } => session.resume(received),
                Frame::Ping { .. } | Frame::Pong { .. } => {}
            }
            while session.next_bytes().is_some() {}
        }
    }
}

fn framed(mut data: &[u8]) -> Vec<u8> {
    let (mut stream, mut number) = (Vec::new(), 0);
    while let [kind, low, high, rest @ ..] = data {
        let length = usize::from(u16::from_le_bytes([*low, *high])).min(rest.len());
        let (payload, behind) = rest.split_at(length);
        let received = length as u64;
        stream.extend(match kind % 4 {
            0 => Frame::Ack { received }.encode(),
            1 => Frame::Resume { instance: 0, received }.encode(),
            _ => {
                number += 1;
                Frame::Data { number, payload: payload.to_vec() }.encode()
            }
        });
        data = behind;
    }
    stream
}
