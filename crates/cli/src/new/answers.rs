//! What flags leave open: asked on a terminal, else the usual.

use std::io::{BufRead, IsTerminal as _};
use std::str::FromStr;

use assay_conduct::grid::{Cell, Common, DEFAULT, percent};

use super::NewArgs;
use crate::context::{Context, to_stderr};
use crate::failure::Failure;

/// Flags, and answers for what is missing where stdin and stderr are terminals.
pub(super) fn complete(args: &NewArgs, context: &Context) -> Result<(Common, Cell), Failure> {
    let terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal() && !context.quiet;
    let mut stdin = std::io::stdin().lock();
    let mut say = |text: &str| to_stderr(format_args!("{text}"));
    let mut asker = Asker { input: terminal.then_some(&mut stdin), say: &mut say };
    answers(args, &mut asker)
}

/// Asks, where there is a user to ask.
struct Asker<'a, R: BufRead> {
    input: Option<&'a mut R>,
    say: &'a mut dyn FnMut(&str),
}

impl<R: BufRead> Asker<'_, R> {
    /// `given`, else the answer, else `default`.
    fn ask<T>(
        &mut self,
        given: Option<T>,
        question: &str,
        default: &str,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, Failure> {
        if let Some(given) = given {
            return Ok(given);
        }
        loop {
            let answer = match &mut self.input {
                None => String::new(),
                Some(input) => {
                    let hint = if default.is_empty() { String::new() } else { format!(" [{default}]") };
                    (self.say)(&format!("{question}{hint}: "));
                    let mut line = String::new();
                    let read = input
                        .read_line(&mut line)
                        .map_err(|error| Failure::failed(format!("stdin: {error}")))?;
                    if read == 0 {
                        return Err(Failure::usage("no answer: the input ended"));
                    }
                    line.trim().to_owned()
                }
            };
            let word = if answer.is_empty() { default } else { &answer };
            match parse(word) {
                Ok(value) => return Ok(value),
                Err(why) if self.input.is_some() => (self.say)(&format!("  {why}\n")),
                Err(why) => return Err(Failure::usage(why)),
            }
        }
    }
}

fn answers<R: BufRead>(args: &NewArgs, asker: &mut Asker<'_, R>) -> Result<(Common, Cell), Failure> {
    let given = (!args.target.is_empty()).then(|| args.target.clone());
    let targets = asker.ask(given, "File or device to measure (several with commas)", "", |word| {
        let paths: Vec<String> =
            word.split(',').map(|path| path.trim().to_owned()).filter(|path| !path.is_empty()).collect();
        if paths.is_empty() {
            Err("--target is needed: the file or device to measure".to_owned())
        } else {
            Ok(paths)
        }
    })?;
    let files = targets.iter().any(|path| !path.starts_with("/dev/"));
    let size = match (args.size, files) {
        (given, true) => Some(asker.ask(given, "Size of each file", "1g", parsed)?),
        (given, false) => given,
    };
    let cell = if args.grid.is_some() {
        DEFAULT
    } else {
        Cell {
            block_size: asker.ask(args.block_size, "Bytes of each I/O", "4k", parsed)?,
            read: asker.ask(args.read, "Percentage of reads", "100", percent)?,
            random: asker.ask(args.random, "Per cent of random addresses", "100", percent)?,
            outstanding: asker.ask(args.outstanding, "Outstanding I/Os on each target", "8", depth)?,
        }
    };
    let common = Common {
        targets,
        size,
        working_set: args.working_set.unwrap_or(100.0),
        runtime: asker.ask(args.runtime, "Measured time", "60s", parsed)?,
        ramp: args.ramp,
        rate: args.rate,
        buffered: args.buffered,
    };
    Ok((common, cell))
}

fn parsed<T: FromStr<Err: ToString>>(word: &str) -> Result<T, String> {
    word.parse().map_err(|error: T::Err| error.to_string())
}

fn depth(word: &str) -> Result<u32, String> {
    let number = word.parse().ok().filter(|depth| (1..=65_536).contains(depth));
    number.ok_or_else(|| format!("'{word}' is not a number from 1 to 65536"))
}

#[cfg(test)]
mod tests {
    use assay_workload::units::{Bytes, Nanos};

    use super::*;
    use clap::Parser as _;

    #[derive(Debug, clap::Parser)]
    struct Line {
        #[command(flatten)]
        new: NewArgs,
    }

    fn flags(words: &[&str]) -> NewArgs {
        Line::try_parse_from([&["new"], words].concat()).expect("flags").new
    }

    fn asked(words: &[&str], answer: &str) -> (Result<(Common, Cell), Failure>, String) {
        let mut said = String::new();
        let mut say = |text: &str| said.push_str(text);
        let mut input = answer.as_bytes();
        let result = answers(&flags(words), &mut Asker { input: Some(&mut input), say: &mut say });
        (result, said)
    }

    #[test]
    fn what_is_not_given_is_asked_and_empty_answers_are_the_usual() {
        let (answers, said) = asked(&["--block-size", "8k"], "a.bin, b.bin\n20g\n70\n\n16\n\n");
        let (answers, cell) = answers.expect("answers");
        assert_eq!(answers.targets, ["a.bin", "b.bin"]);
        assert_eq!(answers.size, Some(Bytes(20 << 30)));
        let expected = Cell { block_size: Bytes(8192), read: 70.0, random: 100.0, outstanding: 16 };
        assert_eq!((cell, answers.runtime), (expected, Nanos::from_secs(60)));
        assert!(!said.contains("Bytes of each"), "{said}");
    }

    #[test]
    fn a_bad_answer_is_asked_again_and_an_end_is_an_error() {
        let (answers, said) = asked(&[], "/dev/sdx\n4q\n4k\n101\n50\n\n\n\n");
        let (answers, cell) = answers.expect("answers");
        assert_eq!((cell.read, answers.size), (50.0, None), "a device has its size");
        assert!(said.contains("not between 0 and 100"), "{said}");
        assert!(asked(&[], "a.bin\n").0.is_err());
    }

    #[test]
    fn without_a_terminal_only_the_target_is_needed() {
        let mut say = |_: &str| {};
        let mut silent = Asker::<&[u8]> { input: None, say: &mut say };
        let (answers, cell) = super::answers(&flags(&["--target", "a"]), &mut silent).expect("answers");
        assert_eq!((cell, answers.size), (DEFAULT, Some(Bytes(1 << 30))));
        assert!(super::answers(&flags(&[]), &mut silent).is_err());
    }
}
