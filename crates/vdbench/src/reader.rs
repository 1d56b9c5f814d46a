//! From text to parameters: comments, quotes, variables, continuation and `include=`.

use std::collections::BTreeSet;

use super::options::Options;
use super::sink::{At, Sink};
use super::word::{Ch, Param, Word, split_params};
use assay_formats::loader::Loader;

/// Reads every file in turn and gives the parameters in the order of the text.
pub(crate) fn read(
    files: &[(&str, &str)],
    options: &Options,
    loader: &dyn Loader,
    sink: &mut Sink,
) -> Vec<Param> {
    let mut reader = Reader::new(options, loader, sink);
    for (name, text) in files {
        reader.file(name, text, None);
        reader.end_of_line();
    }
    reader.finish()
}

/// Whether a text may be included: a line of it begins with `name=value`, or it has nothing but comments.
fn holds_parameters(text: &str) -> bool {
    let lines = text.lines().map(str::trim);
    let mut lines = lines.filter(|line| !line.is_empty() && !line.starts_with(['/', '#', '*'])).peekable();
    let is_parameter = |line: &str| {
        line.split_once('=').is_some_and(|(name, value)| {
            !name.is_empty()
                && !value.is_empty()
                && !value.starts_with('=')
                && name.chars().all(|c| c.is_ascii_alphanumeric() || "_-$".contains(c))
        })
    };
    lines.peek().is_none() || lines.any(is_parameter)
}

struct Reader<'r> {
    options: &'r Options,
    loader: &'r dyn Loader,
    sink: &'r mut Sink,
    /// Variables, longest name first, so that `$size` is never read as `$s` followed by `ize`.
    variables: Vec<(&'r str, &'r str)>,
    used: BTreeSet<&'r str>,
    extra: Vec<Param>,
    params: Vec<Param>,
    /// Characters of a logical line that is not complete yet.
    pending: Vec<Ch>,
    depth: usize,
    /// The logical line under way defines a run, and `+` words go behind it.
    line_is_run: bool,
    continuing: bool,
    budget: usize,
    stopped: bool,
}

impl<'r> Reader<'r> {
    fn new(options: &'r Options, loader: &'r dyn Loader, sink: &'r mut Sink) -> Self {
        let mut variables: Vec<(&str, &str)> = options
            .variables
            .iter()
            .map(|(n, v)| (n.as_str(), v.as_str()))
            .filter(|(n, _)| !n.is_empty())
            .collect();
        variables.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        let extra = params_of(&options.extra, sink);
        let budget = options.limits.text_bytes;
        Self {
            options,
            loader,
            sink,
            variables,
            used: BTreeSet::new(),
            extra,
            params: Vec::new(),
            pending: Vec::new(),
            depth: 0,
            line_is_run: false,
            continuing: false,
            budget,
            stopped: false,
        }
    }

    /// `parent` is the file whose `include=` named this one.
    fn file(&mut self, name: &str, text: &str, parent: Option<&str>) {
        let id = self.sink.add_file(name);
        if !self.admit(name, text, id) {
            return;
        }
        for (index, raw) in text.split('\n').enumerate() {
            let number = u32::try_from(index + 1).unwrap_or(u32::MAX);
            let line = raw.trim_matches(|c: char| c <= ' ');
            if self.stopped || line.starts_with("eof") {
                return;
            }
            if line.is_empty() || line.starts_with(['/', '#', '*']) {
                continue;
            }
            let indent = raw.chars().take_while(|c| *c <= ' ').count();
            let at =
                |i: usize| At { file: id, line: number, column: u32::try_from(indent + i + 1).unwrap_or(0) };
            let chars = line.chars().enumerate().map(|(i, c)| Ch { c, quoted: false, at: at(i) }).collect();
            if line.starts_with("include=") {
                self.include(chars, name, parent);
            } else {
                self.line(chars);
            }
        }
    }

    /// Refuses text that is no parameter file, before any work is spent on it.
    fn admit(&mut self, name: &str, text: &str, id: u32) -> bool {
        let at = At { file: id, line: 1, column: 0 };
        if let Some(offset) = text.find('\0') {
            let line = text[..offset].bytes().filter(|b| *b == b'\n').count() + 1;
            let line_start = text[..offset].rfind('\n').map_or(0, |end| end + 1);
            let column = text[line_start..offset].chars().count() + 1;
            let number = |count| u32::try_from(count).unwrap_or(u32::MAX);
            let at = At { file: id, line: number(line), column: number(column) };
            let message = format!("`{name}` holds a zero byte: it is not a text file");
            self.sink.error("not-text", at, "", message, "name a vdbench parameter file");
            return false;
        }
        if text.len() > self.budget {
            let limit = self.options.limits.text_bytes;
            let message = format!("`{name}` is too large: parameter files may hold {limit} bytes in all");
            self.sink.error("too-large", at, "", message, "split the file");
            self.stopped = true;
            return false;
        }
        self.budget -= text.len();
        true
    }

    fn include(&mut self, chars: Vec<Ch>, includer: &str, parent: Option<&str>) {
        let at = chars.first().map(|ch| ch.at);
        let chars = cut_comment(&unquote(self.substitute(chars), self.sink), self.sink);
        let path: String = chars.iter().skip("include=".len()).map(|ch| ch.c).collect();
        if path.is_empty() {
            self.sink.error("empty-value", at, "include", "`include=` names no file", "name a file");
            return;
        }
        if let Some(parent) = parent {
            let cyclic = [includer, parent].iter().any(|seen| file_name(seen) == file_name(&path));
            let (id, what) = if cyclic {
                ("cyclic-include", "includes itself, directly or through another file")
            } else {
                ("nested-include", "stands in a file that is itself included; includes do not nest")
            };
            let message = format!("`include={path}` {what}");
            self.sink.error(id, at, &path, message, "put the include into the first file");
            return;
        }
        for candidate in candidates(&path, includer) {
            match self.loader.load(&candidate) {
                Ok(None) => {}
                Ok(Some(text)) if !holds_parameters(&text) => {
                    // It may be a file that its reader has no right to see: nothing of it is shown.
                    let message = format!("the included file `{candidate}` holds no parameter of vdbench");
                    let help = "name a file of parameters: name=value";
                    self.sink.error("include-without-parameters", at, &path, message, help);
                    return;
                }
                Ok(Some(text)) => return self.file(&candidate, &text, Some(includer)),
                Err(reason) => {
                    let message = format!("cannot read the included file `{candidate}`: {reason}");
                    self.sink.error("include-unreadable", at, &path, message, "check the file");
                    return;
                }
            }
        }
        let message = format!("the included file `{path}` does not exist");
        let help = "a name without a directory is looked for beside the including file, in the directory above it, \
                    and in the current directory";
        self.sink.error("include-missing", at, &path, message, help);
    }

    fn line(&mut self, chars: Vec<Ch>) {
        let chars = cut_comment(&unquote(self.substitute(chars), self.sink), self.sink);
        self.check_unset(&chars);
        for ch in &chars {
            if ch.is('(') {
                self.depth += 1;
            } else if ch.is(')') {
                self.depth = self.depth.saturating_sub(1);
            }
        }
        let goes_on = chars.last().is_some_and(|ch| ch.is(','));
        self.pending.extend(chars);
        if self.pending.len() > self.options.limits.line_chars {
            let at = self.pending.first().map(|ch| ch.at);
            let message = "a list goes on for too many lines";
            self.sink.error("too-large", at, "", message, "close the parenthesis or split the list");
            self.pending.clear();
            self.depth = 0;
        }
        // Outside a list the parameters of a continued line can be taken at once: order is all that matters.
        if !goes_on || self.depth == 0 {
            self.flush();
        }
        if !goes_on {
            self.end_of_line();
        }
    }

    fn flush(&mut self) {
        let chars = std::mem::take(&mut self.pending);
        self.depth = 0;
        let params = split_params(&chars, self.sink);
        if !self.continuing {
            self.line_is_run = params.first().is_some_and(|p| p.key.text.eq_ignore_ascii_case("rd"));
        }
        self.continuing = true;
        self.params.extend(params);
    }

    fn end_of_line(&mut self) {
        if !self.pending.is_empty() {
            self.flush();
        }
        if self.continuing && self.line_is_run {
            self.params.extend(self.extra.iter().cloned());
        }
        self.continuing = false;
        self.line_is_run = false;
    }

    /// Replaces `$name` and `!name` by plain text, without delimiters, as the language does.
    fn substitute(&mut self, chars: Vec<Ch>) -> Vec<Ch> {
        if self.variables.is_empty() || !chars.iter().any(|ch| matches!(ch.c, '$' | '!')) {
            return chars;
        }
        let mut out = Vec::with_capacity(chars.len());
        let mut i = 0;
        while i < chars.len() {
            let hit = matches!(chars[i].c, '$' | '!')
                .then(|| self.variables.iter().find(|(name, _)| starts_with(&chars[i + 1..], name)))
                .flatten();
            let Some(&(name, value)) = hit else {
                out.push(chars[i]);
                i += 1;
                continue;
            };
            self.used.insert(name);
            if value.len() > self.budget {
                let at = chars[i].at;
                let message = format!("the value of `${name}` makes the parameter file too large");
                self.sink.error("too-large", at, name, message, "shorten the value");
                self.stopped = true;
                return out;
            }
            self.budget -= value.len();
            out.extend(value.chars().map(|c| Ch { c, ..chars[i] }));
            i += 1 + name.chars().count();
        }
        out
    }

    fn check_unset(&mut self, chars: &[Ch]) {
        for (i, ch) in chars.iter().enumerate() {
            if !ch.is('$') && !ch.is('!') {
                continue;
            }
            let name: String = chars[i + 1..]
                .iter()
                .map(|ch| ch.c)
                .take_while(|c| c.is_alphanumeric() || *c == '_')
                .collect();
            if name.starts_with("host") || name.is_empty() {
                continue;
            }
            let word = format!("{}{name}", ch.c);
            let message = format!("the variable `{word}` has no value");
            if i > 0 && chars[i - 1].is('=') {
                let help = format!("add {name}=VALUE to the command line");
                self.sink.error("unset-variable", ch.at, &word, message, &help);
            } else if ch.c == '$' {
                let message = format!("{message} and is taken literally");
                let help = format!("add {name}=VALUE to the command line if it is meant as a variable");
                self.sink.note("literal-variable", ch.at, &word, message, &help);
            }
        }
    }

    fn finish(mut self) -> Vec<Param> {
        let mut parameters = Vec::new();
        for (name, value) in &self.options.variables {
            if self.used.contains(name.as_str()) || self.stopped {
                continue;
            }
            if GENERAL_WORDS.contains(&name.as_str()) {
                parameters.push(format!("{name}={value}"));
                continue;
            }
            let message = format!("`{name}=` was given, but no line uses `${name}`");
            self.sink.error("unused-variable", None, name, message, "remove it, or use it in the file");
        }
        let mut params = params_of(&parameters, self.sink);
        params.append(&mut self.params);
        params
    }
}

/// Variables that are parameters of the file where no line uses them: what vdbench's options `-v` and `-j` say of any file.
const GENERAL_WORDS: [&str; 3] = ["validate", "journal", "data_errors"];

/// Words of the command line as parameters.
fn params_of(words: &[String], sink: &mut Sink) -> Vec<Param> {
    if words.is_empty() {
        return Vec::new();
    }
    let id = sink.add_file("command line");
    let text = words.join(",");
    let at = |i: usize| At { file: id, line: 1, column: u32::try_from(i + 1).unwrap_or(0) };
    let chars: Vec<Ch> = text.chars().enumerate().map(|(i, c)| Ch { c, quoted: false, at: at(i) }).collect();
    split_params(&chars, sink)
}

fn starts_with(chars: &[Ch], name: &str) -> bool {
    let mut rest = chars.iter();
    name.chars().all(|c| rest.next().is_some_and(|ch| ch.c == c))
}

/// Removes quotes and marks what stood inside them. A backslash is an ordinary character.
fn unquote(chars: Vec<Ch>, sink: &mut Sink) -> Vec<Ch> {
    let mut open: Option<At> = None;
    let mut out = Vec::with_capacity(chars.len());
    for ch in chars {
        if ch.c == '"' {
            open = if open.is_some() { None } else { Some(ch.at) };
        } else {
            out.push(Ch { quoted: open.is_some(), ..ch });
        }
    }
    if let Some(at) = open {
        sink.error("unterminated-quote", at, "\"", "this quote is never closed", "add the closing quote");
    }
    out
}

/// Drops everything from the first blank on, and says so where that looks unintended.
fn cut_comment(chars: &[Ch], sink: &mut Sink) -> Vec<Ch> {
    let Some(end) = chars.iter().position(|ch| ch.is(' ') || ch.is('\t')) else {
        return chars.to_vec();
    };
    let rest: String = chars[end..].iter().map(|ch| ch.c).collect();
    let rest = rest.trim();
    let commented = rest.starts_with(['*', '#', '/']);
    if !commented && (rest.contains('=') || chars[..end].last().is_some_and(|ch| ch.is(','))) {
        let message = "a blank starts a comment: what follows on this line is ignored";
        let help = "remove the blank, or put the text into quotes";
        sink.note("blank-starts-comment", chars[end].at, rest, message, help);
    }
    if chars[end].c == '\t' {
        let message = "a tab is taken as a blank here; vdbench itself rejects this line";
        sink.note("tab-as-blank", chars[end].at, "", message, "use a blank");
    }
    chars[..end].to_vec()
}

fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// Where an included file may be: beside the including file, one directory up, and the current directory.
fn candidates(path: &str, includer: &str) -> Vec<String> {
    let directory = includer.rfind('/').map(|i| &includer[..i]);
    let mut all = Vec::new();
    if path.starts_with('/') {
        return vec![path.to_owned()];
    }
    if let Some(directory) = directory {
        all.push(format!("{directory}/{path}"));
        all.push(match directory.rfind('/') {
            Some(i) => format!("{}/{path}", &directory[..i]),
            None => format!("{directory}/../{path}"),
        });
    }
    all.push(path.to_owned());
    all
}

/// The text of a word with one substitution of `from` by `to`.
pub(crate) fn replaced(word: &Word, from: &str, to: &str) -> Word {
    Word { text: word.text.replace(from, to), ..word.clone() }
}
