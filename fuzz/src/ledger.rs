//! Ledgers of tagged directories, a line of JSON each, without their digests.

use assay_workload::tree::TreeWorkload;
use serde_json::{Value, json};

use crate::Grammar;
use crate::random::Random;
use crate::tree::{Seen, read_or_any};

/// Stands for the inode and the birth time of the file that is there.
pub const PLACEHOLDER: u64 = 777;

/// Ledgers.
#[derive(Debug)]
pub struct Ledgers(Seen);

impl Default for Ledgers {
    fn default() -> Self {
        let tree = TreeWorkload {
            width: 2,
            depth: 2,
            files: 3,
            sizes: vec![(4096, 1.0), (8192, 2.0)],
            total_bytes: Some(1 << 20),
            ..TreeWorkload::default()
        };
        let identity = json!({ "inode": PLACEHOLDER, "born_ns": PLACEHOLDER });
        let left = json!({ "bytes": 4, "modified_ns": 1_700_000_000_000_000_000_i64 });
        Ledgers(Seen::of(vec![
            json!({ "file": { "name": "mine", "identity": identity, "left": left } }),
            json!({ "file": { "name": "mine", "identity": { "inode": PLACEHOLDER } } }),
            json!({ "file": { "name": "precious", "identity": { "inode": 1, "device": [8, 1] } } }),
            json!({ "tree": tree }),
            json!({ "work": { "from_ns": 0, "until_ns": i64::MAX } }),
            json!({ "work": { "from_ns": 1_700_000_000_000_000_000_i64, "lease_ns": i64::MAX } }),
            json!({ "later": {} }),
        ]))
    }
}

impl Grammar for Ledgers {
    fn mutate(&self, text: &str, random: &mut Random) -> String {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        if lines.is_empty() {
            lines.push(random.pick(&self.0.documents).to_string());
        }
        let at = random.below(lines.len());
        match random.below(8) {
            0 if lines.len() > 1 => drop(lines.remove(at)),
            1 | 2 => lines.insert(at, random.pick(&self.0.documents).to_string()),
            3 => lines.insert(at, lines[at].clone()),
            _ => {
                let mut value = read_or_any(serde_json::from_str(&lines[at]).ok(), &self.0, random);
                self.0.change(&mut value, random);
                lines[at] = value.to_string();
            }
        }
        lines.join("\n")
    }

    fn accepts(&self, text: &str) -> bool {
        !text.is_empty() && text.lines().all(|line| serde_json::from_str::<Value>(line).is_ok())
    }
}
