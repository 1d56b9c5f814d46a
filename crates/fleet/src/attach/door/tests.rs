//! The port, with workers and strangers of this process.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown};

use super::*;
use crate::attach::{JoinError, Ticket, Visitor};
use crate::worker::Stream;

const WAIT: Duration = Duration::from_secs(20);

fn door(workers: usize) -> (Door, Ticket) {
    let authority = Authority::new().expect("certificates");
    let door = Door::open((Ipv4Addr::LOCALHOST, 0).into(), workers, &authority).expect("a port");
    (door, authority.ticket)
}

fn visitor(door: &Door, ticket: &Ticket, name: &str) -> Visitor {
    Visitor::new(&door.address.to_string(), ticket, name).expect("a ticket")
}

/// What a stranger gets who says `bytes`: all that comes until the connection is closed.
fn answer(door: &Door, bytes: &[u8]) -> Vec<u8> {
    let mut stranger = TcpStream::connect(door.address).expect("connected");
    stranger.set_read_timeout(Some(WAIT)).expect("set");
    let mut got = Vec::new();
    let _ = stranger.write_all(bytes).and_then(|()| stranger.read_to_end(&mut got));
    got
}

#[test]
fn what_goes_in_comes_out_and_a_worker_comes_again() {
    let (door, ticket) = door(1);
    let visitor = visitor(&door, &ticket, "n1");
    let mut streams = visitor.join(WAIT).expect("let in");
    let joined = door.joined();
    assert_eq!(joined[0].1, "n1");
    for round in 0..3_u8 {
        let Stream { mut input, mut output } = streams().expect("a connection");
        let mut ours = door.take(&joined[0].0, WAIT).expect("the other end of it");
        let sent: Vec<u8> = (0..300_000_u32).map(|n| (n % 251) as u8 ^ round).collect();
        let (there, back) = (sent.clone(), sent.clone());
        let writer = std::thread::spawn(move || output.write_all(&there).map(|()| output));
        let mut got = vec![0; sent.len()];
        ours.read_exact(&mut got).expect("all of it");
        assert!(got == sent, "as it was");
        let _output = writer.join().expect("no panic").expect("written");
        let mut other = ours.try_clone().expect("cloned");
        let writer = std::thread::spawn(move || other.write_all(&back));
        input.read_exact(&mut got).expect("all of it");
        assert!(got == sent, "as it was");
        writer.join().expect("no panic").expect("written");
        // The coordinator cuts it off, and the worker notices.
        ours.shutdown(Shutdown::Both).expect("cut");
        drop(ours);
        assert_eq!(input.read(&mut got).unwrap_or(0), 0);
    }
    assert_eq!(door.joined().len(), 1, "it is the same worker");
}

#[test]
fn what_a_worker_says_last_goes_out_before_it_ends() {
    let (door, ticket) = door(1);
    let visitor = visitor(&door, &ticket, "n1");
    let mut streams = visitor.join(WAIT).expect("let in");
    let mut stream = streams().expect("a connection");
    stream.output.write_all(&[7; 100_000]).expect("written");
    visitor.end();
    let mut got = Vec::new();
    let mut ours = door.take(&door.joined()[0].0, WAIT).expect("the other end of it");
    ours.read_to_end(&mut got).expect("to the end");
    assert_eq!(got, [7; 100_000]);
}

#[test]
fn a_token_of_another_run_and_one_worker_too_many_are_refused_with_a_reason() {
    let (door, ticket) = door(1);
    let refused = |ticket: &Ticket| match visitor(&door, ticket, "n").join(Duration::ZERO).err() {
        Some(JoinError::Refused { why, .. }) => why,
        other => panic!("{other:?}"),
    };
    let other_token = Ticket { token: [0; 32], ..ticket.clone() };
    assert_eq!(refused(&other_token), "the token is not that of this run");
    let _first = visitor(&door, &ticket, "n1").join(WAIT).expect("let in");
    assert_eq!(refused(&ticket), "the run has its 1 workers");
}

#[test]
fn who_has_no_certificate_of_the_run_is_not_listened_to() {
    let (door, ticket) = door(1);
    // Another run's certificate: neither side believes the other.
    let (_other_door, other) = self::door(1);
    let stranger = visitor(&door, &other, "n").join(Duration::ZERO).err().expect("not let in");
    assert!(matches!(stranger, JoinError::Unreachable { .. }), "{stranger:?}");
    // One that believes the run, and shows a certificate that is not of it.
    let mixed = Ticket { certificate: other.certificate, key: other.key, ..ticket.clone() };
    let stranger = visitor(&door, &mixed, "n").join(Duration::ZERO).err().expect("not let in");
    assert!(matches!(stranger, JoinError::Unreachable { .. }), "{stranger:?}");
    // No TLS at all, with the right token.
    let join = Join { token: ticket.token, worker: [1; 16], name: "n".to_owned() }.encode();
    let got = answer(&door, &join);
    assert!(!got.starts_with(&[WELCOME]), "{got:?}");
    assert!(door.joined().is_empty());
    // The door is as it was.
    let _streams = visitor(&door, &ticket, "n1").join(WAIT).expect("let in");
    assert_eq!(door.joined().len(), 1);
}

#[test]
fn bytes_of_strangers_do_no_harm() {
    let (door, ticket) = door(1);
    let mut seed = 7_u64;
    let mut random = move || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as u8
    };
    // The head of a TLS handshake in front of half of them.
    for case in 0..200 {
        let mut bytes: Vec<u8> = (0..random()).map(|_| random()).collect();
        if case % 2 == 0 {
            bytes.splice(0..0, [22, 3, 1, 0, random(), 1, 0, 0, random()]);
        }
        let mut stranger = TcpStream::connect(door.address).expect("connected");
        let _ = stranger.write_all(&bytes);
    }
    // More of them at once than there is room for.
    let crowd: Vec<TcpStream> =
        (0..STRANGERS_MAX * 2).map(|_| TcpStream::connect(door.address).expect("connected")).collect();
    std::thread::sleep(Duration::from_millis(200));
    drop(crowd);
    let _streams = visitor(&door, &ticket, "n1").join(WAIT).expect("let in");
    assert_eq!(door.joined().len(), 1);
}
