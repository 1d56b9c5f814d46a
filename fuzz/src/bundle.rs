//! Runs as files to give away: the files of a run, each behind a line that says what becomes of it, from which the archive is made with
//! right checksums, so that what reads the files is reached.

use assay_results::store::Bundle;

use crate::Grammar;
use crate::random::Random;
use crate::stored::{Kind, Stored};

/// Between two files.
const SEPARATOR: char = '\x1e';
const NAMES: [&str; 6] =
    ["run.json", "plan.json", "journal.jsonl", "series.bin", "report.html", "../run.json"];
/// What a text of a stranger may hold to break out of a page or a terminal.
pub const EVIL: &str = "<x-evil>\u{1b}[2J\u{9b}2J\u{202e}\r\n|`\"'&";

/// A file of an archive.
struct Part {
    name: String,
    /// The manifest says another checksum.
    is_damaged: bool,
    content: Vec<u8>,
}

fn parts(text: &str) -> Vec<Part> {
    let part = |part: &str| {
        let (head, content) = part.split_once('\n')?;
        let (name, is_damaged) = head.strip_suffix('!').map_or((head, false), |name| (name, true));
        // The periods of a run are no text.
        let content = match name {
            "series.bin" => content.chars().map(|c| u32::from(c) as u8).collect(),
            _ => content.as_bytes().to_vec(),
        };
        Some(Part { name: name.to_owned(), is_damaged, content })
    };
    text.split(SEPARATOR).filter_map(part).collect()
}

fn header(name: &str, length: usize) -> [u8; 512] {
    let mut header = [0; 512];
    let name = &name.as_bytes()[..name.len().min(99)];
    header[..name.len()].copy_from_slice(name);
    header[124..135].copy_from_slice(format!("{length:011o}").as_bytes());
    header[148..156].fill(b' ');
    header[156] = b'0';
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..154].copy_from_slice(format!("{sum:06o}").as_bytes());
    header
}

/// The archive of a text.
pub fn archive(text: &str) -> Vec<u8> {
    let parts = parts(text);
    let id = |content: &[u8]| {
        serde_json::from_slice::<serde_json::Value>(content).ok()?["id"].as_str().map(str::to_owned)
    };
    let id = parts.iter().find(|part| part.name == "run.json").and_then(|part| id(&part.content));
    let of = |part: &Part| {
        let sum = crc32c::crc32c(&part.content).wrapping_add(u32::from(part.is_damaged));
        serde_json::json!({ "name": part.name, "bytes": part.content.len(), "crc32c": sum })
    };
    let files: Vec<serde_json::Value> = parts.iter().map(of).collect();
    let manifest =
        serde_json::json!({ "schema": "assay.bundle/1", "id": id.unwrap_or_default(), "files": files });
    let manifest = Part {
        name: "assay-bundle.json".to_owned(),
        is_damaged: false,
        content: manifest.to_string().into(),
    };
    let mut bytes = Vec::new();
    for part in std::iter::once(&manifest).chain(&parts) {
        bytes.extend(header(&part.name, part.content.len()));
        bytes.extend(&part.content);
        bytes.resize(bytes.len().next_multiple_of(512), 0);
    }
    bytes.resize(bytes.len() + 1024, 0);
    bytes
}

/// Archives, as texts.
#[derive(Debug)]
pub struct Bundles {
    run: Stored,
    journal: Stored,
    plan: Stored,
}

impl Default for Bundles {
    fn default() -> Self {
        Bundles {
            run: Stored::new(Kind::Run),
            journal: Stored::new(Kind::Journal),
            plan: Stored::new(Kind::Plan),
        }
    }
}

/// A string somewhere in a document, by something that would break out.
fn with_evil(content: &str, random: &mut Random) -> String {
    let ends: Vec<usize> = content.match_indices("\",").map(|(at, _)| at).collect();
    if ends.is_empty() {
        return content.to_owned();
    }
    let evil = serde_json::to_string(EVIL).expect("a text");
    let (before, behind) = content.split_at(*random.pick(&ends));
    format!("{before}{}{behind}", &evil[1..evil.len() - 1])
}

impl Bundles {
    fn content(&self, name: &str, content: &str, random: &mut Random) -> String {
        let (grammar, first): (&Stored, char) = match name {
            "run.json" => (&self.run, '0'),
            "journal.jsonl" => (&self.journal, '1'),
            "plan.json" => (&self.plan, '4'),
            _ => return random.with_another_number(content),
        };
        if random.one_in(4) {
            return with_evil(content, random);
        }
        grammar.mutate(&format!("{first}{content}"), random)[1..].to_owned()
    }
}

impl Grammar for Bundles {
    fn mutate(&self, text: &str, random: &mut Random) -> String {
        let mut files: Vec<(String, String)> = text
            .split(SEPARATOR)
            .filter_map(|part| part.split_once('\n'))
            .map(|(name, content)| (name.to_owned(), content.to_owned()))
            .collect();
        if !files.iter().any(|file| file.0 == "run.json") {
            files.push(("run.json".to_owned(), self.run.mutate("0", random)[1..].to_owned()));
        }
        let at = random.below(files.len());
        match random.below(16) {
            0 if files.len() > 1 => drop(files.remove(at)),
            1 => files.push(((*random.pick(&NAMES)).to_owned(), String::new())),
            2 => files[at].0.push('!'),
            3 => files[at].0 = (*random.pick(&NAMES)).to_owned(),
            _ => files[at].1 = self.content(&files[at].0.clone(), &files[at].1, random),
        }
        let parts: Vec<String> = files.iter().map(|(name, content)| format!("{name}\n{content}")).collect();
        parts.join(&SEPARATOR.to_string())
    }

    fn accepts(&self, text: &str) -> bool {
        Bundle::read(&archive(text)).is_ok()
    }
}
