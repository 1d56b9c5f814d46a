//! Text for a shell on another machine that means there what it says here.
//!
//! Two shells read it: the user's login shell, of whatever kind, and `/bin/sh`. The login shell sees one word in single
//! quotes with nothing in it that any shell treats specially there; `printf %b` turns it back into the script that
//! `/bin/sh` reads. In the script, values stand in single quotes.

use std::ffi::OsString;
use std::path::Path;

/// The variable that names another command than `ssh`.
pub const SSH_VARIABLE: &str = "ASSAY_SSH";

/// The words of the command to use for ssh.
pub fn ssh_program(named: Option<OsString>) -> Vec<OsString> {
    let named = named.unwrap_or_default();
    // A file of that name, blanks and all, or words.
    if Path::new(&named).is_file() {
        return vec![named];
    }
    let words: Vec<OsString> = named.to_string_lossy().split_whitespace().map(OsString::from).collect();
    if words.is_empty() { vec![OsString::from("ssh")] } else { words }
}

/// `text` as one word of `sh`: in single quotes, each single quote within as `'\''`. Any character but NUL.
pub fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The command line that runs `script` in `/bin/sh`, whichever shell it passes through. The script's standard input is
/// that of the ssh session.
pub fn command_line(script: &str) -> String {
    let mut encoded = String::with_capacity(script.len() * 2);
    for byte in script.bytes() {
        match byte {
            b'a'..=b'z'
            | b'A'..=b'Z'
            | b'0'..=b'9'
            | b' '
            | b'/'
            | b'.'
            | b','
            | b':'
            | b'_'
            | b'-'
            | b'=' => {
                encoded.push(char::from(byte));
            }
            other => encoded.push_str(&format!("\\0{other:03o}")),
        }
    }
    format!("exec /bin/sh -c 'eval \"$(printf %b \"{encoded}\")\"'")
}

/// A directory as the user wrote it after `host:`, as a word of `sh` that begins with `/` or `./`: empty is the home
/// directory, `~` and `~/x` are in it, and so is what is not absolute.
///
/// # Errors
/// `~name`, which only a shell can look up, and NUL.
pub fn directory_word(dir: &str) -> Result<String, String> {
    if dir.contains('\0') {
        return Err("a path cannot contain NUL".to_owned());
    }
    if dir.starts_with('/') {
        return Ok(quoted(dir));
    }
    match dir.strip_prefix('~') {
        Some("") => Ok("\"${HOME:?}\"".to_owned()),
        Some(rest) => match rest.strip_prefix('/') {
            Some(below) => Ok(in_home(below)),
            None => Err(format!("'{dir}': another user's home is not looked up; give the path (or ./{dir})")),
        },
        None if dir.is_empty() => Ok("\"${HOME:?}\"".to_owned()),
        None => Ok(in_home(dir.strip_prefix("./").unwrap_or(dir))),
    }
}

fn in_home(below: &str) -> String {
    format!("\"${{HOME:?}}\"/{}", quoted(below))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// What every layer may mistake for something else.
    const HARD: [&str; 12] = [
        "a b",
        "it's",
        "\"double\"",
        "$(touch x)`id`$HOME",
        "line\nbreak\n",
        "-rf",
        "back\\slash\\0101\\n%s",
        "日本 ü",
        "~",
        "*?[a]{b,c}",
        "!!;&|<>#",
        "\t\u{1}\u{7f}",
    ];

    fn shell(line: &str) -> Vec<u8> {
        let output = Command::new("/bin/sh").args(["-c", line]).env("HOME", "/h").output().expect("sh");
        assert!(output.status.success(), "{output:?}");
        output.stdout
    }

    #[test]
    fn the_variable_is_a_file_or_words() {
        let words = |text: &str| ssh_program(Some(text.into()));
        assert_eq!(words("ssh -p 2222"), ["ssh", "-p", "2222"]);
        assert_eq!(words("  "), ["ssh"]);
        assert_eq!(ssh_program(None), ["ssh"]);
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("my ssh");
        std::fs::write(&file, "").expect("written");
        assert_eq!(ssh_program(Some(file.clone().into())), [file.into_os_string()]);
    }

    #[test]
    fn any_text_arrives_as_it_is() {
        for text in HARD {
            let line = command_line(&format!("printf '%s|' {}", quoted(text)));
            assert_eq!(String::from_utf8_lossy(&shell(&line)), format!("{text}|"));
        }
    }

    #[test]
    fn the_login_shell_sees_nothing_special() {
        let line = command_line(&HARD.map(quoted).join(" "));
        let inner =
            line.strip_prefix("exec /bin/sh -c '").and_then(|rest| rest.strip_suffix('\'')).expect("form");
        assert!(!inner.contains(['\'', '\n', '!', '`', '~', '*', '{']), "{inner}");
        assert!(inner.is_ascii());
    }

    #[test]
    fn directories_are_absolute_or_below_home() {
        let cases = [
            ("", "/h"),
            ("~", "/h"),
            ("~/a b", "/h/a b"),
            ("/srv/$x", "/srv/$x"),
            ("rel/it's", "/h/rel/it's"),
            ("./~", "/h/~"),
            ("-x", "/h/-x"),
            ("with:colon", "/h/with:colon"),
        ];
        for (dir, expected) in cases {
            let word = directory_word(dir).expect("a directory");
            let line = command_line(&format!("printf %s {word}"));
            assert_eq!(String::from_utf8_lossy(&shell(&line)), expected, "{dir}");
        }
        assert!(directory_word("~else/x").is_err());
        assert!(directory_word("a\0b").is_err());
    }
}
