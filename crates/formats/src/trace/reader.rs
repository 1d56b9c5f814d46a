//! A trace that is read once, line by line: a pipe holds nothing a second time.

use std::io::{self, BufRead as _, BufReader, Cursor, Read};

use super::{Begin, Parser};

/// Longer lines are in no trace.
const LINE_BYTES_MAX: u64 = 1 << 16;
/// Lines after which a file without an operation is no trace.
const LINES_LOOKED_AT: usize = 200;

/// What may be a trace, not read yet.
#[derive(Debug)]
pub struct TraceReader<R> {
    reader: BufReader<R>,
    /// What was read of it already.
    head: Vec<u8>,
}

impl<R: Read> TraceReader<R> {
    /// Nothing is read yet.
    pub fn new(from: R) -> Self {
        TraceReader { reader: BufReader::with_capacity(1 << 20, from), head: Vec::new() }
    }

    /// Adds its next line to `line`, cut if it is longer than any trace has; whether there is one.
    fn line(&mut self, line: &mut Vec<u8>) -> io::Result<bool> {
        Ok((&mut self.reader).take(LINE_BYTES_MAX).read_until(b'\n', line)? > 0)
    }

    /// Whether it is a trace in one of these languages: one of its first lines is an operation.
    ///
    /// # Errors
    /// What reading says.
    pub fn is_trace(&mut self, languages: &'static [Begin]) -> io::Result<bool> {
        let mut parser = Parser::new("", languages);
        let mut head = Vec::new();
        for _ in 0..LINES_LOOKED_AT {
            let begin = head.len();
            if !self.line(&mut head)? {
                break;
            }
            parser.line(&String::from_utf8_lossy(&head[begin..]));
            if parser.ops() > 0 {
                break;
            }
        }
        self.head = head;
        Ok(parser.ops() > 0)
    }

    /// All of it.
    pub fn whole(self) -> impl Read {
        Cursor::new(self.head).chain(self.reader)
    }

    /// Calls `each` for every line.
    ///
    /// # Errors
    /// What reading says.
    pub fn lines(mut self, mut each: impl FnMut(&str)) -> io::Result<()> {
        let head = std::mem::take(&mut self.head);
        head.split_inclusive(|byte| *byte == b'\n').for_each(|line| each(&String::from_utf8_lossy(line)));
        let mut line = Vec::with_capacity(256);
        while self.line(&mut line)? {
            each(&String::from_utf8_lossy(&line));
            line.clear();
        }
        Ok(())
    }
}
