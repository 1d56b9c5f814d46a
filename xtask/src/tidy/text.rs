//! Rules over plain text: length and size of files, machine paths, words that mark unfinished work.

use super::Finding;

/// The longest a source file may be, in lines.
const FILE_LINES_MAX: usize = 800;

/// The largest a committed file may be, in bytes.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Directories that belong to one person's or one machine's file system. With a final slash, the directory
/// itself is fine: the mount point of all homes is one like any other.
const MACHINE_PATHS: &[&str] = &[
    concat!("/wo", "rk"),
    concat!("/ro", "ot"),
    concat!("/ho", "me/"),
    concat!("/Us", "ers/"),
    concat!("/tmp/bash", "_jobs"),
];

const UNFINISHED: &[&str] = &[concat!("TO", "DO"), concat!("FIX", "ME")];

/// `file-length`, `machine-path` and `unfinished`.
pub(super) fn check(path: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let lines = text.lines().count();
    if lines > FILE_LINES_MAX && (path.ends_with(".rs") || path.ends_with(".sh")) {
        let message = format!("{lines} lines, at most {FILE_LINES_MAX}; one idea a file");
        findings.push(Finding::new(path, 0, "file-length", message));
    }
    for (index, line) in text.lines().enumerate() {
        if let Some(found) = MACHINE_PATHS.iter().find(|needle| holds_path(line, needle)) {
            let message = format!("'{found}' is a path of one machine");
            findings.push(Finding::new(path, index + 1, "machine-path", message));
        }
        if let Some(found) = UNFINISHED.iter().find(|needle| holds_word(line, needle)) {
            let message = format!("'{found}': finish it, or say what is missing in the documentation");
            findings.push(Finding::new(path, index + 1, "unfinished", message));
        }
    }
    findings
}

/// `file-size`.
pub(super) fn check_size(path: &str, bytes: u64) -> Option<Finding> {
    let message = || format!("{bytes} bytes, at most {FILE_BYTES_MAX}");
    (bytes > FILE_BYTES_MAX).then(|| Finding::new(path, 0, "file-size", message()))
}

/// Whether `needle` stands in `line` as the beginning of an absolute path, and not within a longer one.
fn holds_path(line: &str, needle: &str) -> bool {
    line.match_indices(needle).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + needle.len()..].chars().next();
        let inside = |c: char| c.is_alphanumeric() || "_-.~*{}<>)]$".contains(c);
        let continues = |c: char| c.is_alphanumeric() || "_-@".contains(c);
        !before.is_some_and(inside) && (needle.ends_with('/') || !after.is_some_and(continues))
    })
}

fn holds_word(line: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !before.is_some_and(part) && !after.is_some_and(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(text: &str) -> Vec<(usize, &'static str)> {
        check("docs/a.md", text).into_iter().map(|finding| (finding.line, finding.rule)).collect()
    }

    #[test]
    fn paths_of_a_machine_are_found() {
        for path in MACHINE_PATHS {
            let name = if path.ends_with('/') { "ann" } else { "" };
            for text in
                [format!("see {path}{name}"), format!("\"{path}{name}/x\""), format!("file://{path}{name}")]
            {
                assert_eq!(rules(&format!("fine\n{text}")), [(2, "machine-path")], "{text}");
            }
        }
    }

    #[test]
    fn paths_that_only_look_like_them_are_not() {
        let begins_like_one = MACHINE_PATHS[0].to_owned() + "loads";
        let in_an_address = format!("https://host{}/x", MACHINE_PATHS[1]);
        let mount_point = format!("mounted on {}", MACHINE_PATHS[2].trim_end_matches('/'));
        for text in ["reads/workload", "crates/workload", &begins_like_one, &in_an_address, &mount_point] {
            assert_eq!(rules(text), [], "{text}");
        }
    }

    #[test]
    fn unfinished_work_is_found_as_a_word_only() {
        for word in UNFINISHED {
            assert_eq!(rules(&format!("// {word}: later")), [(1, "unfinished")]);
            assert_eq!(rules(&format!("MAS{word}S")), []);
        }
    }

    #[test]
    fn source_files_have_a_length_and_pages_have_none() {
        let long = "\n".repeat(FILE_LINES_MAX + 1);
        assert_eq!(check("a.rs", &long)[0].rule, "file-length");
        assert!(check("a.rs", &"\n".repeat(FILE_LINES_MAX)).is_empty());
        assert!(check("a.md", &long).is_empty());
    }

    #[test]
    fn large_files_are_found() {
        assert!(check_size("a.bin", FILE_BYTES_MAX).is_none());
        assert_eq!(check_size("a.bin", FILE_BYTES_MAX + 1).map(|finding| finding.rule), Some("file-size"));
    }
}
