//! From text to sections of raw option lines: comments, headers, includes. Nothing is interpreted here.

use assay_formats::Position;
use assay_formats::diagnostic::clip;
use assay_formats::loader::Loader;

use super::report::{Report, WordPosition};
use super::table;

/// fio reads lines into a buffer of this size and splits a longer one at that point, in the middle of a word.
const LINE_BYTES_MAX: usize = 8192;
/// Larger texts are no job files.
const TEXT_BYTES_MAX: usize = 16 << 20;
/// Includes inside includes inside ...
const INCLUDE_DEPTH_MAX: usize = 16;
/// Longer words are no name of an option.
const NAME_CHARS_MAX: usize = 40;
/// Option lines of one job file with all includes; bounds includes that multiply.
const OPTIONS_MAX: usize = 100_000;

/// One option line.
#[derive(Debug, Clone)]
pub(super) struct RawOption {
    /// What stands left of `=`, without trailing blanks.
    pub(super) name: String,
    /// What stands right of `=`, with leading blanks, without trailing ones; `None` for a bare word.
    pub(super) value: Option<String>,
    /// Position of the name.
    pub(super) at: Position,
    /// Column of the first character of the value, from 1; 0 where there is none.
    pub(super) value_column: u32,
}

impl RawOption {
    /// The option as fio prints it in messages.
    pub(super) fn text(&self) -> String {
        match &self.value {
            Some(value) => format!("{}={value}", self.name),
            None => self.name.clone(),
        }
    }

    /// Where remarks about the name point.
    pub(super) fn name_place(&self) -> WordPosition {
        WordPosition { at: self.at.clone(), word: self.name.clone() }
    }

    /// Where remarks about the value point.
    pub(super) fn value_place(&self) -> WordPosition {
        match &self.value {
            Some(value) => WordPosition {
                at: Position { column: self.value_column, ..self.at.clone() },
                word: value.clone(),
            },
            None => self.name_place(),
        }
    }
}

/// One `[section]` with its lines, includes already inserted.
#[derive(Debug, Clone)]
pub(super) struct RawSection {
    /// The name between the brackets.
    pub(super) name: String,
    /// Position of the `[`.
    pub(super) at: Position,
    /// The option lines in order.
    pub(super) options: Vec<RawOption>,
}

impl RawSection {
    /// fio compares the first six letters only.
    pub(super) fn is_global(&self) -> bool {
        self.name.starts_with("global")
    }
}

/// Reads a job file into sections.
pub(super) fn read(name: &str, text: &str, loader: &dyn Loader, report: &mut Report) -> Vec<RawSection> {
    let mut reader = Reader { loader, report, sections: Vec::new(), stack: Vec::new(), options: 0 };
    reader.file(name, text);
    reader.sections
}

struct Reader<'a> {
    loader: &'a dyn Loader,
    report: &'a mut Report,
    sections: Vec<RawSection>,
    /// Names of the files being read, outermost first.
    stack: Vec<String>,
    options: usize,
}

impl Reader<'_> {
    fn file(&mut self, name: &str, text: &str) {
        let start =
            WordPosition { at: Position { file: name.to_owned(), line: 1, column: 0 }, word: String::new() };
        if text.len() > TEXT_BYTES_MAX {
            let message =
                format!("a job file of {} bytes is not read; the limit is {TEXT_BYTES_MAX}", text.len());
            return self.report.error("file-too-large", &start, message, "");
        }
        if let Some(at) = text.bytes().position(|b| b == 0) {
            let before = &text[..at];
            let line_start = before.rfind('\n').map_or(0, |end| end + 1);
            let number = |count: usize| u32::try_from(count + 1).unwrap_or(u32::MAX);
            let line = number(before.bytes().filter(|byte| *byte == b'\n').count());
            let column = number(before[line_start..].chars().count());
            let at = Position { file: name.to_owned(), line, column };
            let message = "this is not a text file: it holds a zero byte".to_owned();
            return self.report.error("binary-file", &WordPosition { at, word: String::new() }, message, "");
        }
        self.stack.push(name.to_owned());
        for (index, line) in text.split('\n').enumerate() {
            let at = Position {
                file: name.to_owned(),
                line: u32::try_from(index + 1).unwrap_or(u32::MAX),
                column: 0,
            };
            if self.report.is_full() || !self.line(line, at) {
                break;
            }
        }
        self.stack.pop();
    }

    /// Reads one line; false ends the file.
    fn line(&mut self, line: &str, mut at: Position) -> bool {
        if line.len() > LINE_BYTES_MAX {
            let message = format!("this line has {} bytes; fio reads at most {LINE_BYTES_MAX}", line.len());
            self.report.error("line-too-long", &WordPosition { at, word: String::new() }, message, "");
            return true;
        }
        let front = line.trim_start_matches(is_blank);
        let indent = line.len() - front.len();
        at.column = u32::try_from(line[..indent].chars().count() + 1).unwrap_or(u32::MAX);
        if front.is_empty() || front.starts_with([';', '#']) {
            return true;
        }
        let body = self.cut_comment(front, &at);
        if let Some(rest) = body.strip_prefix('[') {
            return self.header(rest, body, at);
        }
        if self.sections.is_empty() {
            let place = WordPosition { at, word: body.to_owned() };
            let shown = if is_name(name_of(body)) {
                format!("option <{}>", clip(body))
            } else {
                "this line".to_owned()
            };
            let message = format!("{shown} stands outside of a [job] section");
            self.report.error("option-outside-section", &place, message, "put [global] or [name] above it");
            // fio stops here, and each further line would say the same.
            return false;
        }
        if body.starts_with("include") {
            return self.include(body, &at);
        }
        self.option(body, at);
        true
    }

    /// Cuts at the first `;` and then at the first `#`, inside values too, and drops trailing blanks.
    fn cut_comment<'t>(&mut self, front: &'t str, at: &Position) -> &'t str {
        let end = front.find([';', '#']).unwrap_or(front.len());
        let body = front[..end].trim_end_matches(is_blank);
        let inside_word = front[..end].ends_with(|c| !is_blank(c)) && end < front.len();
        if inside_word && body.contains('=') {
            let place = WordPosition { at: at.clone(), word: front.trim_end_matches(is_blank).to_owned() };
            let message = format!("the value ends at the comment sign: fio reads `{body}`");
            let help = "file names with ; or # cannot be written in a job file";
            self.report.note("fio-comment-inside-value", &place, message, help);
        }
        body
    }

    fn header(&mut self, rest: &str, body: &str, at: Position) -> bool {
        if self.stack.len() > 1 {
            let place = WordPosition { at, word: body.to_owned() };
            let message = "an included file holds options only, no [section]";
            self.report.error("section-in-include", &place, message, "");
            return false;
        }
        let mut name: String = rest.chars().take(255).collect();
        let last = name.pop();
        let place = WordPosition { at: at.clone(), word: body.to_owned() };
        if last != Some(']') {
            let message =
                format!("fio drops the last character of a header, so this section is named \"{name}\"");
            self.report.note("fio-header-without-bracket", &place, message, "close the header with ]");
        }
        if name != name.trim() {
            let message = format!("blanks belong to the section name \"{name}\"");
            self.report.note("fio-blank-in-section-name", &place, message, "");
        }
        if name.starts_with("global") && name != "global" {
            let message = format!("[{name}] starts with `global`, so it sets defaults and is not a job");
            let help = "name the job differently if it should run";
            self.report.note("fio-global-prefix", &place, message, help);
        }
        self.sections.push(RawSection { name, at, options: Vec::new() });
        true
    }

    fn option(&mut self, body: &str, at: Position) {
        self.options += 1;
        if self.options > OPTIONS_MAX {
            if self.options == OPTIONS_MAX + 1 {
                let message = format!("more than {OPTIONS_MAX} option lines with all includes");
                self.report.error("too-many-options", &WordPosition { at, word: String::new() }, message, "");
            }
            return;
        }
        let (name, value) = match body.split_once('=') {
            Some((name, value)) => (name.trim_end_matches(is_blank), Some(value)),
            None => (body, None),
        };
        let value_column = value.map_or(0, |_| {
            let before = body.split('=').next().map_or(0, |left| left.chars().count());
            at.column.saturating_add(u32::try_from(before + 1).unwrap_or(u32::MAX))
        });
        let option = RawOption { name: name.to_owned(), value: value.map(str::to_owned), at, value_column };
        if let Some(section) = self.sections.last_mut() {
            section.options.push(option);
        }
    }

    /// `include FILE`: the name starts at the ninth byte, whatever the eighth is.
    fn include(&mut self, body: &str, at: &Position) -> bool {
        // Counts as a line, so that includes without options are bounded too.
        self.options += 1;
        let file = body.get("include".len() + 1..).unwrap_or("");
        let place = WordPosition { at: at.clone(), word: body.to_owned() };
        if !file.is_empty() && !body["include".len()..].starts_with(is_blank) {
            let message = format!("any line that starts with `include` includes a file, here `{file}`");
            self.report.note("fio-include-prefix", &place, message, "");
        }
        if self.stack.iter().any(|open| open == file) {
            let message = format!("`{file}` includes itself");
            self.report.error("include-cycle", &place, message, "");
            return true;
        }
        if self.stack.len() >= INCLUDE_DEPTH_MAX {
            let message = format!("includes are nested deeper than {INCLUDE_DEPTH_MAX}");
            self.report.error("include-too-deep", &place, message, "");
            return true;
        }
        match self.load(file) {
            Ok(Some((_, text))) if !holds_options(&text) => {
                // It may be a file that its reader has no right to see: nothing of it is shown.
                let message = format!("the included file `{file}` holds no option of fio");
                self.report.error("include-without-options", &place, message, "name a file of option lines");
            }
            Ok(Some((name, text))) => {
                if self.options <= OPTIONS_MAX {
                    self.file(&name, &text);
                }
            }
            Ok(None) => {
                let message = format!("the included file `{file}` does not exist");
                let help = "fio runs the job without it and fails at the end";
                self.report.error("include-missing", &place, message, help);
            }
            Err(why) => {
                let message = format!("the included file `{file}` cannot be read: {why}");
                self.report.error("include-unreadable", &place, message, "");
            }
        }
        true
    }

    /// Tries the name as written, then beside the including file.
    fn load(&self, file: &str) -> Result<Option<(String, String)>, String> {
        if file.is_empty() {
            return Ok(None);
        }
        if let Some(text) = self.loader.load(file)? {
            return Ok(Some((file.to_owned(), text)));
        }
        let beside = self.stack.last().and_then(|including| including.rsplit_once('/'));
        let Some((directory, _)) = beside else { return Ok(None) };
        let name = format!("{directory}/{file}");
        if self.stack.contains(&name) {
            return Err("it includes itself".to_owned());
        }
        Ok(self.loader.load(&name)?.map(|text| (name, text)))
    }
}

/// What stands left of `=`.
fn name_of(body: &str) -> &str {
    body.split('=').next().unwrap_or(body).trim_matches(is_blank)
}

/// Whether a word may be the name of an option.
fn is_name(word: &str) -> bool {
    word.len() <= NAME_CHARS_MAX && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

/// Whether a text may be included: it has an option of fio, an include or a header, or nothing but comments.
fn holds_options(text: &str) -> bool {
    let lines = text.lines().map(|line| line.trim_matches(is_blank));
    let mut lines = lines.filter(|line| !line.is_empty() && !line.starts_with([';', '#'])).peekable();
    let is_known = |line: &str| {
        let name = name_of(line);
        line.starts_with("include")
            || line.starts_with('[')
            || table::core(name).is_some()
            || !table::engines_with(name).is_empty()
    };
    lines.peek().is_none() || lines.any(is_known)
}

/// What fio trims: blanks and control characters.
fn is_blank(c: char) -> bool {
    c.is_ascii_whitespace() || c.is_ascii_control()
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_formats::loader::MemoryLoader;

    fn read_text(text: &str) -> (Vec<RawSection>, Vec<assay_formats::Diagnostic>) {
        let mut report = Report::default();
        let sections = read("a.fio", text, &MemoryLoader::default(), &mut report);
        (sections, report.finish())
    }

    fn ids(diagnostics: &[assay_formats::Diagnostic]) -> Vec<&'static str> {
        diagnostics.iter().map(|d| d.id).collect()
    }

    #[test]
    fn comments_are_cut_anywhere() {
        let (sections, said) = read_text("; c\n  # d\n[a] # name\r\nfilename=/a#b\r\nrw=read ; x\n");
        assert_eq!(sections[0].name, "a");
        assert_eq!(sections[0].options[0].value.as_deref(), Some("/a"));
        assert_eq!(sections[0].options[1].value.as_deref(), Some("read"));
        assert_eq!(ids(&said), ["fio-comment-inside-value"]);
    }

    #[test]
    fn headers_lose_their_last_character() {
        let (sections, _) = read_text("[ j ]\n[j]]\n[k\n[globalx]\n");
        let names: Vec<_> = sections.iter().map(|s| s.name.as_str()).collect();
        assert_eq!(names, [" j ", "j]", "", "globalx"]);
        assert!(sections[3].is_global());
    }

    #[test]
    fn columns_count_characters() {
        let (sections, _) = read_text("[a]\n\t größe =4k\n");
        let option = &sections[0].options[0];
        assert_eq!((option.at.line, option.at.column, option.value_column), (2, 3, 10));
        assert_eq!(option.name, "größe");
    }

    #[test]
    fn options_before_a_section_are_refused() {
        let (sections, said) = read_text("bs=4k\nrw=read\n[a]\n");
        assert!(sections.is_empty());
        assert_eq!(ids(&said), ["option-outside-section"]);
    }

    #[test]
    fn includes_are_inserted_and_found_beside_the_file() {
        let mut loader = MemoryLoader::default();
        loader.files.insert("d/inc.fio".into(), "bs=8k\n".into());
        let mut report = Report::default();
        let sections = read("d/a.fio", "[a]\ninclude inc.fio\nrw=read\n", &loader, &mut report);
        assert!(!report.has_errors());
        let option = &sections[0].options[0];
        assert_eq!((option.name.as_str(), option.at.file.as_str()), ("bs", "d/inc.fio"));
        assert_eq!(sections[0].options[1].name, "rw");
    }

    #[test]
    fn cycles_missing_files_and_sections_in_includes_are_errors() {
        let mut loader = MemoryLoader::default();
        loader.files.insert("b".into(), "include a\n".into());
        loader.files.insert("a".into(), "[a]\ninclude b\n".into());
        loader.files.insert("s".into(), "[x]\n".into());
        for (text, id) in [
            ("[a]\ninclude b\n", "include-cycle"),
            ("[a]\ninclude nope\n", "include-missing"),
            ("[a]\ninclude s\n", "section-in-include"),
            ("[a]\ninclude\n", "include-missing"),
        ] {
            let mut report = Report::default();
            read("a", text, &loader, &mut report);
            assert_eq!(ids(&report.finish()), [id], "{text}");
        }
    }

    #[test]
    fn doubling_includes_stay_bounded() {
        let mut loader = MemoryLoader::default();
        for level in 0..15 {
            let next = format!("include f{}\n", level + 1).repeat(40);
            loader.files.insert(format!("f{level}"), format!("bs=4k\n{next}"));
        }
        loader.files.insert("f15".into(), "bs=4k\n".into());
        let mut report = Report::default();
        read("top", "[a]\ninclude f0\n", &loader, &mut report);
        assert!(report.has_errors());
    }

    #[test]
    fn large_and_binary_files_are_refused() {
        assert_eq!(ids(&read_text(&"x".repeat(17 << 20)).1), ["file-too-large"]);
        assert_eq!(ids(&read_text("[a]\n\0\n").1), ["binary-file"]);
        assert_eq!(ids(&read_text(&format!("[a]\n{}\n", "x".repeat(9000))).1), ["line-too-long"]);
    }
}
