//! The screen and the serial line, at the same time: a person may sit at either.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, channel};

use assay_report::visible_lines;

const PLACES: &[&str] = &["/dev/tty1", "/dev/ttyS0", "/dev/hvc0"];

/// What is said goes everywhere; a line is taken from wherever it comes.
pub(super) struct Console {
    places: Vec<Mutex<File>>,
    lines: Receiver<String>,
}

impl Console {
    pub(super) fn open() -> Self {
        let (send, lines) = channel();
        let mut places = Vec::new();
        for path in PLACES {
            // One that has no hardware behind it refuses to be written to.
            let opened = OpenOptions::new().read(true).write(true).open(path);
            let Some(file) = opened.ok().filter(|file| rustix::termios::tcgetattr(file).is_ok()) else {
                continue;
            };
            if let Ok(input) = file.try_clone() {
                let send = send.clone();
                std::thread::spawn(move || {
                    for line in BufReader::new(input).lines().map_while(Result::ok) {
                        if send.send(line).is_err() {
                            break;
                        }
                    }
                });
            }
            places.push(Mutex::new(file));
        }
        Console { places, lines }
    }

    /// Says something everywhere.
    pub(super) fn say(&self, text: &str) {
        let text = visible_lines(text, false);
        for place in &self.places {
            if let Ok(mut place) = place.lock() {
                let _ = writeln!(place, "{text}");
            }
        }
    }

    /// Whether a line was typed since this was asked last.
    pub(super) fn pressed(&self) -> bool {
        self.lines.try_iter().count() > 0
    }

    /// Asks, and waits for a line.
    pub(super) fn ask(&self, question: &str) -> String {
        for place in &self.places {
            if let Ok(mut place) = place.lock() {
                let _ = write!(place, "{question}").and_then(|()| place.flush());
            }
        }
        let Ok(line) = self.lines.recv() else {
            // Nobody can answer: the machine stays on for those who look at its channels.
            loop {
                std::thread::park();
            }
        };
        line.trim().to_owned()
    }
}
