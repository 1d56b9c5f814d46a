//! One line per job and clone: what fio would run, in fio's own words.

use std::fmt::Write;

use super::resolved::*;
use super::table::{self, Effect, EngineEntry};
use super::value::Size;

/// Options that the line says in words of their own, or by its place in the list.
const TOLD: &str = "name description wait_for stonewall new_group group_reporting numjobs ioengine rw rwmixread bs \
     bsrange bssplit norandommap randseed randrepeat size directory filename filename_format nrfiles \
     iodepth direct kb_base";

impl ResolvedJob {
    /// The job on one line: its place, what no number is complete without, and whatever else is set, as it was written.
    pub fn resolved_line(&self) -> String {
        let mut line = Line(String::new());
        line.0.push_str(&format!("{}", self.thread_number));
        line.word("job", &self.name);
        if self.clones > 1 {
            line.word("clone", format!("{}/{}", self.clone_number, self.clones));
        }
        line.word("stage", self.stage);
        line.word("group", self.group);
        if let Some(waitee) = &self.wait_for {
            line.word("wait_for", waitee);
        }
        line.word("engine", self.engine());
        self.describe_private(&mut line);
        self.describe_access(&mut line);
        line.word("size", self.region().size.map_or_else(|| "all".to_owned(), size_text));
        self.describe_files(&mut line);
        line.word("iodepth", self.depth().effective);
        for entry in table::options().iter().filter(|entry| !TOLD.split(' ').any(|told| told == entry.name)) {
            if let Some(setting) = self.settings.get(entry.name)
                && !matches!(entry.effect, Effect::Inert(_))
            {
                line.word(entry.name, setting.written());
            }
        }
        line.word("direct", u8::from(self.durability().direct));
        line.0
    }

    fn describe_private(&self, line: &mut Line) {
        for entry in self.settings.engine().map_or(&[][..], EngineEntry::options) {
            if let Some(setting) = self.settings.private(entry.name) {
                line.word(entry.name, setting.written());
            }
        }
    }

    fn describe_access(&self, line: &mut Line) {
        let access = self.access();
        let word = match access.direction {
            Direction::Read => "read",
            Direction::Write => "write",
            Direction::Trim => "trim",
            Direction::ReadWrite => "rw",
            Direction::TrimWrite => "trimwrite",
        };
        let postfix = match access.postfix {
            Postfix::None => String::new(),
            Postfix::Stride(bytes) => format!(":{bytes}"),
            Postfix::Every(ios) => format!(":{ios}"),
        };
        line.word("rw", format!("{}{word}{postfix}", if access.random { "rand" } else { "" }));
        if access.direction == Direction::ReadWrite {
            line.word("rwmixread", access.read_percent);
        }
        line.word("bs", sizes_text(&access.sizes));
        if access.random {
            line.word("random_map", u8::from(access.random_map));
            line.word("seed", access.seed.map_or_else(|| "any".to_owned(), |seed| seed.to_string()));
        }
    }

    fn describe_files(&self, line: &mut Line) {
        match &self.files {
            FileSet::Named(names) => line.word("filename", names.join(":")),
            FileSet::Generated { count: 1, .. } => line.word("file", self.files.name(0).unwrap_or_default()),
            FileSet::Generated { count, .. } => {
                line.word("files", format!("{}..{count}", self.files.name(0).unwrap_or_default()));
            }
            FileSet::Taken { name } => line.word("no_file", name),
        }
    }
}

/// Words of one line.
struct Line(String);

impl Line {
    fn word(&mut self, name: &str, value: impl std::fmt::Display) {
        let text = value.to_string();
        // A line stays a line, and a word with blanks stays a word.
        if text.is_empty() || text.contains(|c: char| c.is_whitespace() || c.is_control() || c == '"') {
            let _ = write!(self.0, " {name}={text:?}");
        } else {
            let _ = write!(self.0, " {name}={text}");
        }
    }
}

fn size_text(size: Size) -> String {
    match size {
        Size::Bytes(bytes) => bytes.to_string(),
        Size::Percent(percent) => format!("{percent}%"),
        Size::Zones(zones) => format!("{zones}z"),
    }
}

/// Three sizes, or one where they are equal.
fn sizes_text(all: &PerDirection<BlockSizes>) -> String {
    let text = |sizes: &BlockSizes| match sizes {
        BlockSizes::Fixed(bytes) => bytes.to_string(),
        BlockSizes::Range { min, max } => format!("{min}-{max}"),
        BlockSizes::Split(parts) => {
            let list: Vec<String> =
                parts.iter().map(|part| format!("{}/{}", part.bytes, part.percent)).collect();
            list.join(":")
        }
    };
    if all.iter().all(|sizes| *sizes == all[0]) {
        return text(&all[0]);
    }
    all.iter().map(text).collect::<Vec<_>>().join(",")
}
