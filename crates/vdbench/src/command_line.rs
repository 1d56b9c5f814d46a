//! vdbench's own command line: `vdbench -f FILE .. -o DIR -e SECONDS ..`. Pure data; nothing is looked at.

use super::number::parse_number;
use super::options::Options;

/// What the words ask for.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CommandLine {
    /// `-f`: the parameter files, read as one.
    pub files: Vec<String>,
    /// `-o`: the output directory.
    pub output: OutputDirectory,
    /// `-s`: list the runs and do nothing.
    pub simulate: bool,
    /// What changes the meaning of the files.
    pub options: Options,
    /// What is understood and has no effect here: the word and why.
    pub without_effect: Vec<(String, &'static str)>,
    /// What is not done here although another test would be run with it: the word, and what to use instead.
    pub lost: Vec<(String, &'static str)>,
}

/// Where results go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutputDirectory {
    /// Its name, as written.
    pub name: String,
    /// What becomes of a directory that is there.
    pub again: Again,
}

/// What becomes of an output directory that is there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Again {
    /// Its files are replaced.
    #[default]
    Replaced,
    /// `+`: the next of NAME, NAME001, NAME002 .. is used.
    Numbered,
    /// `.tod`: the time of day is part of the name.
    Dated,
}

impl Default for OutputDirectory {
    fn default() -> Self {
        OutputDirectory { name: "output".to_owned(), again: Again::Replaced }
    }
}

/// Largest number of seconds.
const SECONDS_MAX: u64 = 1 << 40;

/// Reads the words behind the program's name.
///
/// # Errors
/// One sentence that names the word and what to write.
pub fn parse_command_line(words: &[String]) -> Result<CommandLine, String> {
    let mut line = CommandLine::default();
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        if word.starts_with('+') {
            let first = word.trim_start_matches('+').to_owned();
            let extra = std::iter::once(first).filter(|word| !word.is_empty());
            line.options.extra.extend(extra.chain(words.by_ref().cloned()));
        } else if let Some(flag) = word.strip_prefix('-') {
            let mut next = || words.next_if(|next| !next.starts_with('-') && !next.starts_with('+')).cloned();
            line.flag(word, flag, &mut next)?;
        } else if let Some((name, value)) = word.split_once('=') {
            line.options.variables.push((name.to_owned(), value.to_owned()));
        } else {
            return Err(format!("'{word}': a parameter file stands behind -f, a variable is name=value"));
        }
    }
    if line.files.is_empty() {
        return Err("no parameter file is named: -f FILE".to_owned());
    }
    Ok(line)
}

impl CommandLine {
    fn flag(
        &mut self,
        word: &str,
        flag: &str,
        next: &mut dyn FnMut() -> Option<String>,
    ) -> Result<(), String> {
        let (letter, attached) = flag.split_at(flag.chars().next().map_or(0, char::len_utf8));
        let mut value = || match attached {
            "" => next().ok_or_else(|| format!("'{word}' needs a value")),
            attached => Ok(attached.to_owned()),
        };
        match letter {
            "f" => {
                self.files.push(value()?);
                while let Some(more) = next() {
                    // A variable may stand behind the files.
                    match more.split_once('=') {
                        Some((name, value)) => {
                            self.options.variables.push((name.to_owned(), value.to_owned()))
                        }
                        None => self.files.push(more),
                    }
                }
            }
            "o" => self.output = output(&value()?),
            "e" => self.options.elapsed_s = Some(seconds(word, &value()?)?),
            "i" => self.options.interval_s = Some(seconds(word, &value()?)?),
            "w" => self.options.warmup_s = Some(seconds(word, &value()?)?),
            "r" => self.options.restart_at = Some(value()?),
            "s" if attached.is_empty() => self.simulate = true,
            "v" | "j" => self.validation(word, letter, attached)?,
            "m" if attached == "b" => self.idle(word, "MB/sec is 1024**2, as without it"),
            "m" => {
                value()?;
                self.idle(word, "threads need no JVMs");
            }
            "p" => {
                value()?;
                self.idle(word, "no port is used");
            }
            "d" | "k" => self.idle(word, "it only changes what vdbench itself reports"),
            "l" => {
                let _ = next();
                self.lost.push((word.to_owned(), "assay run FILE --repeat N"));
            }
            "c" => self.lost.push((word.to_owned(), "format=yes in the run definition")),
            "t" => return Err(format!("'{word}': there is no built-in test here; 'assay quick' is one")),
            _ => {
                let known = "-f -o -e -i -w -r -s -v -j -m -p -l -d -k, name=value and + extra";
                return Err(format!("'{word}' is no option of vdbench; available: {known}"));
            }
        }
        Ok(())
    }

    fn idle(&mut self, word: &str, why: &'static str) {
        self.without_effect.push((word.to_owned(), why));
    }

    /// `-v`, `-vr`, `-vw`, `-vt`, `-j`, `-jr` ..: what `validate=` and `journal=` say in a file.
    fn validation(&mut self, word: &str, letter: &str, attached: &str) -> Result<(), String> {
        let known: &[(&str, &str, &str)] = match letter {
            "v" => &[
                ("", "validate", "yes"),
                ("r", "validate", "read"),
                ("w", "validate", "no_preread"),
                ("t", "validate", "time"),
            ],
            _ => &[
                ("", "journal", "yes"),
                ("r", "journal", "recover"),
                ("ro", "journal", "only"),
                ("n", "journal", "noflush"),
                ("m", "journal", "maponly"),
            ],
        };
        let Some((_, name, value)) = known.iter().find(|(word, ..)| *word == attached) else {
            let all: Vec<String> = known.iter().map(|(word, ..)| format!("-{letter}{word}")).collect();
            return Err(format!("'{word}' is no option of vdbench; available: {}", all.join(", ")));
        };
        self.options.variables.push(((*name).to_owned(), (*value).to_owned()));
        Ok(())
    }
}

/// `dir`, `dir+` or `dir.tod`.
fn output(word: &str) -> OutputDirectory {
    let (name, again) = match (word.strip_suffix('+'), word.strip_suffix(".tod")) {
        (Some(name), _) => (name, Again::Numbered),
        (None, Some(name)) => (name, Again::Dated),
        (None, None) => (word, Again::Replaced),
    };
    OutputDirectory { name: name.to_owned(), again }
}

/// A number of seconds; `m` and `h` are units of time here, as in `elapsed=`.
fn seconds(word: &str, value: &str) -> Result<u64, String> {
    let wrong = || format!("'{word} {value}': a number of seconds is expected, as in -e 60");
    let number = parse_number(value, true).filter(|number| !number.percent).ok_or_else(wrong)?;
    if number.value >= 0.0 && number.value <= SECONDS_MAX as f64 {
        Ok(number.value as u64)
    } else {
        Err(wrong())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Result<CommandLine, String> {
        let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        parse_command_line(&words)
    }

    #[test]
    fn each_word_is_taken_as_vdbench_takes_it() {
        let line = parsed("-fa.parm b.parm lun=/x -o out+ -e 60 -i5 -w 1m -vr -jn -m 4 -d86 + xfersize=8k")
            .expect("taken");
        assert_eq!(line.files, ["a.parm", "b.parm"]);
        assert_eq!(line.output, OutputDirectory { name: "out".to_owned(), again: Again::Numbered });
        let options = &line.options;
        assert_eq!((options.elapsed_s, options.interval_s, options.warmup_s), (Some(60), Some(5), Some(60)));
        assert_eq!(options.extra, ["xfersize=8k"]);
        let variables: Vec<String> =
            options.variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(variables, ["lun=/x", "validate=read", "journal=noflush"]);
        assert_eq!(line.without_effect.len(), 2);
        assert_eq!(parsed("-f p -o r.tod").expect("taken").output.again, Again::Dated);
        assert!(parsed("-s -f p").expect("taken").simulate);
        assert_eq!(parsed("-f p -c -l 3").expect("taken").lost.len(), 2);
    }

    #[test]
    fn a_wrong_word_is_one_sentence() {
        for (line, expected) in [
            ("", "-f FILE"),
            ("p.parm", "stands behind -f"),
            ("-f p -e soon", "a number of seconds"),
            ("-f p -e", "needs a value"),
            ("-f p -vz", "available: -v, -vr, -vw, -vt"),
            ("-f p -x", "no option of vdbench"),
            ("-t", "assay quick"),
        ] {
            let error = parsed(line).expect_err(line);
            assert!(error.contains(expected), "{line}: {error}");
        }
    }
}
