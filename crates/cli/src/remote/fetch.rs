//! Bringing a run back: its directory as a stream of named files.
//!
//! The stream is ours and not an archive's, because what comes from another machine must not choose where it is written:
//! a run is one directory with files in it, and names are taken only if they are plain.

use std::path::{Path, PathBuf};

use assay_results::store::{self, RunDir};
use assay_results::{RunEnd, checks};

use super::connection::{Connection, RemoteError, last_line};
use crate::context::Context;
use crate::failure::Failure;
use assay_fleet::program::CACHE;
use assay_runner::Finished;

/// The first line of the stream.
const STREAM: &[u8] = b"assay-files-1\n";
/// Files in a run directory at most.
const FILES_MAX: usize = 100;

/// A run directory in memory.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fetched {
    name: String,
    files: Vec<(String, Vec<u8>)>,
}

/// The run that was recorded there under `token`; `None`: there is none.
pub(super) fn fetch(connection: &Connection, token: &str) -> Result<Option<Fetched>, RemoteError> {
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
    let wrong =
        |why: &str| Failure::failed(format!("cannot bring the run back from {}: {why}", connection.host()));
    if !output.status.success() {
        return Err(wrong(&last_line(&output.stderr)).into());
    }
    Ok(parse(&output.stdout).map_err(wrong)?)
}

/// Removes what was recorded there. A failure leaves it to `assay cleanup`.
pub(super) fn forget(connection: &Connection, token: &str) {
    let script =
        format!("{CACHE}rm -rf \"$cache/runs/{token}\"\nrmdir \"$cache/runs\" 2>/dev/null\nexit 0\n");
    let _ = connection.output_regardless(&script);
}

fn parse(stream: &[u8]) -> Result<Option<Fetched>, &'static str> {
    let cut = "it arrived cut short";
    let start = stream.windows(STREAM.len()).position(|window| window == STREAM).ok_or(cut)?;
    let mut rest = &stream[start + STREAM.len()..];
    let mut fetched: Option<Fetched> = None;
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
            fetched = Some(Fetched { name: name.to_owned(), files: Vec::new() });
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

impl Fetched {
    /// Keeps the run among the runs here. One that was killed is made whole from its journal.
    pub(super) fn store(&self, host: &str, context: &Context) -> Result<Finished, Failure> {
        let directory = self.write(&context.runs_root()?)?;
        let opened = RunDir::open(&directory)
            .map_err(|error| Failure::failed(format!("what came from {host} is no run: {error}")))?;
        let run = match opened.read_run() {
            Ok(run) => run,
            Err(_) => {
                let mut run = store::recover(&directory).map_err(Failure::failed)?;
                checks::judge(&mut run);
                opened.write_run(&run).map_err(Failure::failed)?;
                run
            }
        };
        let (end, error) = (run.end.unwrap_or(RunEnd::Interrupted), run.error.clone());
        Ok(Finished { run, directory, end, error, lost: false, warnings: Vec::new(), store_error: None })
    }

    /// Writes the files beside their place and moves them there together.
    fn write(&self, root: &Path) -> Result<PathBuf, Failure> {
        let failed = |path: &Path| {
            let path = path.display().to_string();
            move |error: std::io::Error| Failure::failed(format!("cannot write {path}: {error}"))
        };
        let fresh = root.join(format!(".arriving-{:08x}", assay_runner::random_u64()? as u32));
        std::fs::create_dir_all(root).and_then(|()| std::fs::create_dir(&fresh)).map_err(failed(&fresh))?;
        let write =
            || self.files.iter().try_for_each(|(name, content)| std::fs::write(fresh.join(name), content));
        let directory = root.join(&self.name);
        let moved = write().and_then(|()| std::fs::rename(&fresh, &directory));
        moved.map_err(|error| {
            // Only what was made just now.
            let _ = std::fs::remove_dir_all(&fresh);
            failed(&directory)(error)
        })?;
        Ok(directory)
    }
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

    #[test]
    fn files_arrive_together_or_not_at_all() {
        let root = tempfile::tempdir().expect("a directory");
        let fetched = Fetched { name: "r".to_owned(), files: vec![("run.json".to_owned(), b"{}".to_vec())] };
        let path = fetched.write(root.path()).expect("written");
        assert_eq!(std::fs::read(path.join("run.json")).expect("there"), b"{}");
        assert!(fetched.write(root.path()).is_err(), "an existing run is not written over");
        assert_eq!(std::fs::read_dir(root.path()).expect("root").count(), 1, "nothing is left beside it");
    }
}
