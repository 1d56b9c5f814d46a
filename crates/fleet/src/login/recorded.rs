//! Bringing a run back: its directory as a stream of named files.
//!
//! The stream is ours and not an archive's, because what comes from another machine must not choose where it is written:
//! a run is one directory with files in it, and names are taken only if they are plain.

use super::connection::{Connection, LoginError, last_line};
use crate::program::CACHE;

/// The first line of the stream.
const STREAM: &[u8] = b"assay-files-1\n";
/// Files in a run directory at most.
const FILES_MAX: usize = 100;

/// A run directory in memory.
#[derive(Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Its name.
    pub name: String,
    /// Names and contents of its files.
    pub files: Vec<(String, Vec<u8>)>,
}

/// The run that was recorded there under `token`; `None`: there is none.
///
/// # Errors
/// [`LoginError::Failed`]
pub fn fetch(connection: &Connection, token: &str) -> Result<Option<Recorded>, LoginError> {
    let script = format!(
        "{CACHE}cd \"$cache/runs/{token}\" || exit 1
printf '\\nassay-files-1\\n'
for run in *; do
    [ -d \"$run\" ] || continue
    printf 'run %s\\n' \"$run\"
    for file in \"$run\"/*; do
        [ -f \"$file\" ] || continue
        printf 'file %s %s\\n' \"$(($(wc -c <\"$file\")))\" \"${{file##*/}}\"
        cat \"$file\" || exit 1
    done
done
echo end
"
    );
    // What was measured is brought back also when the user wants to stop.
    let output = connection.output_regardless(&script)?;
    let wrong = |why: &str| {
        LoginError::Failed(format!("cannot bring the run back from {}: {why}", connection.host()))
    };
    if !output.status.success() {
        return Err(wrong(&last_line(&output.stderr)));
    }
    parse(&output.stdout).map_err(wrong)
}

/// Removes what was recorded there. A failure leaves it to `assay cleanup`.
pub fn forget(connection: &Connection, token: &str) {
    let script =
        format!("{CACHE}rm -rf \"$cache/runs/{token}\"\nrmdir \"$cache/runs\" 2>/dev/null\nexit 0\n");
    let _ = connection.output_regardless(&script);
}

fn parse(stream: &[u8]) -> Result<Option<Recorded>, &'static str> {
    let cut = "it arrived cut short";
    let start = stream.windows(STREAM.len()).position(|window| window == STREAM).ok_or(cut)?;
    let mut rest = &stream[start + STREAM.len()..];
    let mut fetched: Option<Recorded> = None;
    loop {
        let end = rest.iter().position(|&byte| byte == b'\n').ok_or(cut)?;
        let line = std::str::from_utf8(&rest[..end]).map_err(|_| "it names a file strangely")?;
        rest = &rest[end + 1..];
        if line == "end" {
            return Ok(fetched);
        }
        if let Some(name) = line.strip_prefix("run ") {
            if fetched.is_some() || !is_plain(name) {
                return Err("it names the run strangely");
            }
            fetched = Some(Recorded { name: name.to_owned(), files: Vec::new() });
            continue;
        }
        let file = line.strip_prefix("file ").and_then(|file| file.split_once(' '));
        let (Some((length, name)), Some(run)) = (file, &mut fetched) else { return Err(cut) };
        let length: usize = length.parse().map_err(|_| cut)?;
        if !is_plain(name) || run.files.len() >= FILES_MAX {
            return Err("it names a file strangely");
        }
        run.files.push((name.to_owned(), rest.get(..length).ok_or(cut)?.to_vec()));
        rest = &rest[length..];
    }
}

/// A name that stays in the directory it is put in, and is not hidden there.
fn is_plain(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    !name.is_empty() && name.len() <= 200 && !name.starts_with(['.', '-']) && name.chars().all(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stream(lines: &str) -> Vec<u8> {
        format!("motd\n\nassay-files-1\n{lines}").into_bytes()
    }

    #[test]
    fn a_run_is_a_directory_of_plain_files() {
        let fetched = parse(&stream("run 2025-quick-ab\nfile 3 run.json\na\nbfile 0 series.bin\nend\n"));
        let fetched = fetched.expect("understood").expect("a run");
        assert_eq!(fetched.name, "2025-quick-ab");
        assert_eq!(
            fetched.files,
            [("run.json".to_owned(), b"a\nb".to_vec()), ("series.bin".to_owned(), vec![])]
        );
        assert_eq!(parse(&stream("end\n")), Ok(None));
    }

    #[test]
    fn what_would_leave_the_directory_is_refused() {
        for lines in [
            "run ../../etc\nend\n",
            "run a/b\nend\n",
            "run .ssh\nend\n",
            "run r\nfile 1 ../x\nyend\n",
            "run r\nfile 1 .profile\nyend\n",
            "run r\nrun s\nend\n",
        ] {
            assert!(parse(&stream(lines)).is_err(), "{lines}");
        }
    }

    #[test]
    fn a_stream_that_ends_early_is_refused() {
        for lines in ["", "run r\n", "run r\nfile 9 a\nxend\n", "file 1 a\nxend\n", "run r\nfile x a\nend\n"]
        {
            assert_eq!(parse(&stream(lines)), Err("it arrived cut short"), "{lines}");
        }
        assert!(parse(b"no stream").is_err());
    }
}
