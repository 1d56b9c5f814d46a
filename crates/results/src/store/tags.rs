//! Words that people give to a stored run: `tags.json` in its directory.

use std::io;

use serde::{Deserialize, Serialize};

use super::{Layout, RunDir, StoreError, TAGS_FILE, read_regular, write_json_atomically};

/// The schema of the file.
const SCHEMA: &str = "assay.tags/1";
/// Tags of a run at most.
pub const TAGS_MAX: usize = 20;
/// Characters of a tag at most.
pub const TAG_CHARS_MAX: usize = 40;

#[derive(Serialize, Deserialize)]
struct Tags {
    schema: String,
    tags: Vec<String>,
}

/// Why a word is not a tag.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TagError {
    /// A word that cannot be one.
    #[error(
        "'{0}' is not a tag: 1 to {TAG_CHARS_MAX} letters, digits, '.', ':', '/', '_', '-' and spaces between them"
    )]
    Word(String),
    /// There are enough.
    #[error("a run has {TAGS_MAX} tags at most")]
    TooMany,
}

/// A word as a tag, without spaces around it.
///
/// # Errors
/// [`TagError::Word`] where it cannot be one.
pub fn tag_of(word: &str) -> Result<String, TagError> {
    let tag = word.trim();
    let fits = |c: char| c.is_alphanumeric() || " .:/_-".contains(c);
    if tag.is_empty() || tag.chars().count() > TAG_CHARS_MAX || !tag.chars().all(fits) {
        return Err(TagError::Word(tag.chars().take(TAG_CHARS_MAX).collect()));
    }
    Ok(tag.to_owned())
}

/// The tags of a run, sorted; none where it has no such file, or one that is none.
pub fn load_tags(run: &RunDir) -> Vec<String> {
    let read = read_regular(&run.path().join(TAGS_FILE)).ok();
    let stored = read.and_then(|bytes| serde_json::from_slice::<Tags>(&bytes).ok());
    let stored = stored.filter(|stored| stored.schema == SCHEMA);
    let mut tags: Vec<String> =
        stored.into_iter().flat_map(|stored| stored.tags).filter_map(|tag| tag_of(&tag).ok()).collect();
    tags.sort();
    tags.dedup();
    tags.truncate(TAGS_MAX);
    tags
}

/// Keeps these tags with a run instead of those it has; without any, the file goes.
///
/// # Errors
/// When one is no tag, there are too many, or the system refuses.
pub fn save_tags(run: &RunDir, tags: &[String]) -> Result<Vec<String>, StoreError> {
    let path = run.path().join(TAGS_FILE);
    let mut tags = tags.iter().map(|tag| tag_of(tag)).collect::<Result<Vec<_>, _>>()?;
    tags.sort();
    tags.dedup();
    if tags.len() > TAGS_MAX {
        return Err(TagError::TooMany.into());
    }
    if tags.is_empty() {
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(StoreError::io("remove", &path)(error));
            }
            _ => return Ok(tags),
        }
    }
    write_json_atomically(&path, &Tags { schema: SCHEMA.to_owned(), tags: tags.clone() }, Layout::Pretty)?;
    Ok(tags)
}

/// Gives a run tags, or takes them away; answers those it has then.
///
/// # Errors
/// Those of [`save_tags`].
pub fn change_tags(run: &RunDir, changed: &[String], remove: bool) -> Result<Vec<String>, StoreError> {
    let changed = changed.iter().map(|tag| tag_of(tag)).collect::<Result<Vec<_>, _>>()?;
    let mut tags = load_tags(run);
    tags.retain(|known| !changed.contains(known));
    if !remove {
        tags.extend(changed);
    }
    save_tags(run, &tags)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_kept_sorted_and_go_with_the_last() {
        let root = tempfile::tempdir().unwrap();
        let run = RunDir::create(root.path(), "2026-01-02T03:04:05Z", "a", "ab12").unwrap();
        assert_eq!(load_tags(&run), Vec::<String>::new());
        let saved = save_tags(&run, &["new disk".to_owned(), " before ".to_owned(), "before".to_owned()]);
        assert_eq!(saved.unwrap(), ["before", "new disk"]);
        assert_eq!(load_tags(&run), ["before", "new disk"]);
        save_tags(&run, &[]).unwrap();
        assert!(!run.path().join(TAGS_FILE).exists());
        save_tags(&run, &[]).unwrap();
    }

    #[test]
    fn tags_are_added_and_taken_away() {
        let root = tempfile::tempdir().unwrap();
        let run = RunDir::create(root.path(), "2026-01-02T03:04:05Z", "a", "ab12").unwrap();
        let change = |words: &[&str], remove| {
            change_tags(&run, &words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>(), remove)
        };
        assert_eq!(change(&["b", "a", "b"], false).unwrap(), ["a", "b"]);
        assert_eq!(change(&[" a ", "unknown"], true).unwrap(), ["b"]);
        assert!(matches!(change(&["<"], false), Err(StoreError::Tag(TagError::Word(_)))));
        let many: Vec<String> = (0..TAGS_MAX).map(|n| n.to_string()).collect();
        assert!(matches!(change_tags(&run, &many, false), Err(StoreError::Tag(TagError::TooMany))));
        assert_eq!(load_tags(&run), ["b"]);
    }

    #[test]
    fn words_that_are_no_tags_are_refused() {
        for word in ["", "  ", "a\nb", "<b>", "a,b", &"x".repeat(41), "\u{1b}[1m"] {
            assert!(tag_of(word).is_err(), "{word:?}");
        }
        assert_eq!(tag_of(" größer 2.1 "), Ok("größer 2.1".to_owned()));
    }

    #[test]
    fn a_file_of_something_else_is_none() {
        let root = tempfile::tempdir().unwrap();
        let run = RunDir::create(root.path(), "2026-01-02T03:04:05Z", "a", "ab12").unwrap();
        for content in ["", "{}", r#"{"schema":"x","tags":["a"]}"#, r#"{"schema":"assay.tags/1","tags":[1]}"#]
        {
            std::fs::write(run.path().join(TAGS_FILE), content).unwrap();
            assert_eq!(load_tags(&run), Vec::<String>::new(), "{content}");
        }
    }
}
