use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Instant;

use assay_conduct::workplace::Look;

use super::*;
use crate::frame::{Frame, FrameReader, PREAMBLE};
use crate::session::Session;
use crate::worker::toy::{Toy, note, part};

/// How long something may take that takes a moment.
const PATIENCE: Duration = Duration::from_secs(60);

/// A worker in this process, and a coordinator made of frames.
struct Pair {
    streams: Sender<UnixStream>,
    stream: UnixStream,
    session: Session,
    reader: FrameReader,
    /// The preamble is behind us on this stream.
    spoken: bool,
    worker: JoinHandle<Served>,
    stop: Arc<AtomicBool>,
    ended: Arc<Mutex<Vec<bool>>>,
}

/// How a worker ended, which it has to do by itself.
#[track_caller]
fn ended(worker: JoinHandle<Served>) -> Served {
    let started = Instant::now();
    while !worker.is_finished() {
        assert!(started.elapsed() < PATIENCE, "waited too long for the worker's end");
        std::thread::sleep(Duration::from_millis(1));
    }
    worker.join().expect("no panic")
}

fn connected(streams: &Sender<UnixStream>) -> UnixStream {
    let (ours, theirs) = UnixStream::pair().expect("a pair");
    streams.send(theirs).expect("taken");
    ours.set_read_timeout(Some(Duration::from_millis(20))).expect("set");
    ours
}

impl Pair {
    fn new(hangs: bool) -> Self {
        let (streams, incoming): (_, Receiver<UnixStream>) = channel();
        let (stop, ended) = (Arc::<AtomicBool>::default(), Arc::<Mutex<Vec<bool>>>::default());
        let (toy_stop, toy_ended) = (Arc::clone(&stop), Arc::clone(&ended));
        let worker = std::thread::spawn(move || {
            let mut toy = Toy { stop: toy_stop, hangs, ended: toy_ended };
            let next = move || {
                let stream = incoming.recv().ok()?;
                let output = Box::new(stream.try_clone().ok()?);
                Some(Stream { input: Box::new(stream), output })
            };
            serve(&mut toy, Box::new(next)).expect("served")
        });
        let stream = connected(&streams);
        let mut pair = Pair {
            streams,
            stream,
            session: Session::default(),
            reader: FrameReader::default(),
            spoken: false,
            worker,
            stop,
            ended,
        };
        pair.session.send_urgent(&Frame::Resume { instance: 0, received: 0 });
        pair
    }

    fn command(&mut self, command: &Command) {
        self.session.send(command.encode());
    }

    fn flush(&mut self) {
        while let Some(bytes) = self.session.next_bytes() {
            // A worker that is gone is noticed when it is listened to.
            let _ = self.stream.write_all(&bytes);
        }
    }

    /// What comes within a moment.
    fn hear(&mut self) -> Vec<Told> {
        self.flush();
        let mut buffer = [0; 4096];
        let Ok(got) = self.stream.read(&mut buffer) else { return Vec::new() };
        let mut bytes = &buffer[..got];
        if !self.spoken {
            bytes = bytes.strip_prefix(PREAMBLE).expect("the worker says first what it is");
            self.spoken = true;
        }
        self.reader.push(bytes);
        let mut told = Vec::new();
        while let Some(frame) = self.reader.next_frame().expect("frames") {
            match frame {
                Frame::Data { number, payload } => {
                    let payload = self.session.receive(number, payload).expect("no gap");
                    told.extend(payload.map(|payload| Told::decode(&payload).expect("a message")));
                }
                Frame::Ack { received } => self.session.acknowledge(received),
                _ => {}
            }
        }
        told
    }

    /// Listens until `enough`, but not for ever: everything that came.
    fn listen(&mut self, enough: impl Fn(&[Told]) -> bool) -> Vec<Told> {
        let (started, mut told) = (Instant::now(), Vec::new());
        while !enough(&told) {
            assert!(started.elapsed() < PATIENCE, "waited too long; came: {told:?}");
            told.extend(self.hear());
        }
        told
    }

    /// Breaks the stream, and makes another.
    fn reconnect(&mut self) {
        self.stream = connected(&self.streams);
        (self.reader, self.spoken) = (FrameReader::default(), false);
        self.session.resume(0);
        self.session.send_urgent(&Frame::Resume { instance: 0, received: self.session.received() });
    }

    fn execute(&mut self) {
        self.command(&Command::Look { look: Look::default(), lease_ms: 60_000 });
        self.command(&Command::Prepare { part: Box::new(part()) });
        let planned = Box::new(part().plan.phases[0].clone());
        self.command(&Command::Execute { phase: 0, planned });
        self.listen(|told| told.contains(&Told::Report(Report::Armed)));
        self.command(&Command::Start { at_ns: 77 });
    }
}

fn is_end(told: &Told) -> bool {
    matches!(told, Told::Report(Report::Ended { .. }))
}

fn notes(told: &[Told]) -> Vec<HostEvent> {
    let of = |told: &Told| match told {
        Told::Event(event @ HostEvent::Note { .. }) => Some(event.clone()),
        _ => None,
    };
    told.iter().filter_map(of).collect()
}

#[test]
fn a_phase_starts_when_it_is_told_and_is_acknowledged_to_its_end() {
    let mut pair = Pair::new(false);
    pair.execute();
    let told = pair.listen(|told| told.iter().any(is_end));
    assert!(told.contains(&Told::Event(HostEvent::Started { phase: 0, at_ns: 77 })));
    assert_eq!(notes(&told), (0..100).map(note).collect::<Vec<_>>());
    assert_eq!(told.last(), Some(&Told::Report(Report::Ended { ended: Ended::Done })));
    pair.command(&Command::Finish { came_to_nothing: false, failed: false });
    let started = Instant::now();
    while !pair.worker.is_finished() {
        assert!(started.elapsed() < PATIENCE, "waited too long for the worker's end");
        pair.hear();
    }
    assert_eq!(ended(pair.worker), Served::Finished);
    assert_eq!(*pair.ended.lock().expect("whole"), [false]);
}

#[test]
fn nothing_is_lost_over_streams_that_break() {
    let mut pair = Pair::new(false);
    pair.execute();
    pair.flush();
    // Part of it came over the first stream, and was not acknowledged.
    let mut told = pair.hear();
    pair.reconnect();
    told.extend(pair.hear());
    pair.reconnect();
    told.extend(pair.listen(|told| told.iter().any(is_end)));
    assert_eq!(notes(&told), (0..100).map(note).collect::<Vec<_>>());
}

#[test]
fn what_is_refused_comes_with_its_reason() {
    let mut pair = Pair::new(false);
    let look = Look { directory: PathBuf::from("/nowhere"), ..Look::default() };
    pair.command(&Command::Look { look, lease_ms: 60_000 });
    let refused = |told: &Told| match told {
        Told::Report(Report::Refused { refused }) => Some(refused.clone()),
        _ => None,
    };
    let told = pair.listen(|told| told.iter().any(|told| refused(told).is_some()));
    let message = "/nowhere is no place".to_owned();
    assert_eq!(told.iter().find_map(refused), Some(Refused { message, is_request: true }));
}

#[test]
fn a_worker_whose_coordinator_is_silent_stops_by_itself() {
    let mut pair = Pair::new(true);
    pair.execute();
    pair.command(&Command::Look { look: Look::default(), lease_ms: 300 });
    pair.flush();
    // The lease is for when the worker listens: it is busy, and what it was sent last waits.
    pair.listen(|told| !notes(told).is_empty());
    assert!(!pair.stop.load(Ordering::Relaxed));
    drop(pair.streams);
    let stream = pair.stream;
    stream.shutdown(std::net::Shutdown::Write).expect("closed");
    assert_eq!(ended(pair.worker), Served::Abandoned);
    assert!(pair.stop.load(Ordering::Relaxed));
    assert_eq!(*pair.ended.lock().expect("whole"), [false], "something was measured");
}

#[test]
fn a_lease_that_ran_out_stops_what_goes_on() {
    let mut pair = Pair::new(true);
    pair.command(&Command::Look { look: Look::default(), lease_ms: 300 });
    pair.command(&Command::Prepare { part: Box::new(part()) });
    let planned = Box::new(part().plan.phases[0].clone());
    pair.command(&Command::Execute { phase: 0, planned });
    pair.listen(|told| told.contains(&Told::Report(Report::Armed)));
    // Nothing is sent any more, although the stream is open.
    assert_eq!(ended(pair.worker), Served::Abandoned);
}

#[test]
fn a_worker_that_is_told_nonsense_gives_the_stream_up() {
    let pair = Pair::new(false);
    let mut stream = pair.stream;
    stream.write_all(&[0xFF; 64]).expect("sent");
    drop(pair.streams);
    assert_eq!(ended(pair.worker), Served::Abandoned);
    assert_eq!(*pair.ended.lock().expect("whole"), [true], "nothing was measured");
}
