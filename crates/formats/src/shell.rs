//! Words for command lines that are shown to be pasted.

/// `word` as it can be pasted into a shell.
pub fn pasted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-:@,+=%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_can_be_pasted() {
        assert_eq!(pasted("db1:/srv/a-b"), "db1:/srv/a-b");
        assert_eq!(pasted("it's $x"), r"'it'\''s $x'");
        assert_eq!(pasted(""), "''");
    }
}
