//! Where a command that runs fio has fio's figures written.

use std::path::{Path, PathBuf};

/// How fio is told to write its figures as JSON, and where.
const FIO_FORMAT: &str = "--output-format";
const FIO_OUTPUT: &str = "--output";

/// The name of the program that does the work: behind wrappers such as sudo or taskset, fio is looked for.
pub fn program_of(command: &[String]) -> String {
    let base = |word: &String| Path::new(word).file_name().map(|name| name.to_string_lossy().into_owned());
    let names: Vec<String> = command.iter().filter_map(base).collect();
    let fio = names.iter().find(|name| *name == "fio");
    fio.or(names.first()).cloned().unwrap_or_else(|| "command".to_owned())
}

/// Where a command that is fio writes its figures as JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FioFigures {
    /// It writes none.
    None,
    /// On its standard output.
    OnStdout,
    /// In this file.
    In(PathBuf),
}

impl FioFigures {
    /// What the words of `command` say.
    pub fn of(command: &[String]) -> Self {
        if program_of(command) != "fio" {
            return FioFigures::None;
        }
        let value = |option: &str| {
            command.iter().enumerate().find_map(|(at, word)| match word.strip_prefix(option)? {
                "" => command.get(at + 1).cloned(),
                rest => rest.strip_prefix('=').map(str::to_owned),
            })
        };
        let json = value(FIO_FORMAT).is_some_and(|format| format.contains("json"));
        match (json, value(FIO_OUTPUT)) {
            (false, _) => FioFigures::None,
            (true, None) => FioFigures::OnStdout,
            (true, Some(path)) => FioFigures::In(PathBuf::from(path)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn fio_says_where_its_figures_are() {
        let of = |line: &str| FioFigures::of(&words(line));
        assert_eq!(of("fio --output-format=json+ a.fio"), FioFigures::OnStdout);
        assert_eq!(of("taskset -c 1 /usr/bin/fio --output-format json a.fio"), FioFigures::OnStdout);
        assert_eq!(of("fio a.fio --output-format=json --output=x.json"), FioFigures::In("x.json".into()));
        assert_eq!(of("fio a.fio"), FioFigures::None);
        assert_eq!(of("dd --output-format=json"), FioFigures::None);
        assert_eq!(program_of(&words("/usr/bin/dd if=/x")), "dd");
    }
}
