//! The tagged directory on a machine where only a shell can make it.

use std::collections::BTreeMap;

use assay_conduct::series::WORK_DIR;
use assay_host::workdir::{LEDGER_FILE, MARKER_FILE, TAG_FILE, TAG_SIGNATURE};
use assay_results::environment::FileSystem;

use super::connection::{Connection, LoginError, last_line};
use super::machine::ANSWER;
use crate::shell::quoted;

/// Where the files of a series lie.
#[derive(Debug, Default, PartialEq)]
pub struct TaggedDirectory {
    /// A word of the shell.
    word: String,
    /// Whether the directory that was named is itself the tagged one.
    is_place: bool,
    /// Whether it was made just now.
    made: bool,
    free_bytes: u64,
    total_bytes: u64,
    source: String,
    /// Sizes of the files in it.
    files: BTreeMap<String, u64>,
}

impl TaggedDirectory {
    /// Makes the directory in `place`, a word of the shell, or takes the one that is there.
    ///
    /// # Errors
    /// [`LoginError`]
    pub fn make(connection: &Connection, place: &str) -> Result<Self, LoginError> {
        let output = connection.output(&script(place), None)?;
        let host = connection.host();
        match output.status.code() {
            Some(0) => {}
            Some(2) => {
                return Err(LoginError::Refused(format!("{host}: {}", last_line(&output.stderr))));
            }
            _ => return Err(LoginError::Failed(format!("{host}: {}", last_line(&output.stderr)))),
        }
        let work = TaggedDirectory::parse(&output.stdout, place);
        work.ok_or_else(|| LoginError::Failed(format!("{host} does not tell what its disk holds")))
    }

    fn parse(answer: &[u8], place: &str) -> Option<Self> {
        let answer = String::from_utf8_lossy(answer);
        let mut lines = answer.lines().skip_while(|line| line.trim_end() != ANSWER);
        lines.next()?;
        let mut work =
            TaggedDirectory { word: place.to_owned(), is_place: true, ..TaggedDirectory::default() };
        for (name, value) in lines.filter_map(|line| line.split_once('=')) {
            match name {
                "work" => {
                    work.is_place = false;
                    work.word = format!("{place}/{WORK_DIR}");
                }
                "made" => work.made = true,
                "space" => (work.source, work.total_bytes, work.free_bytes) = space(value)?,
                "file" => {
                    let (bytes, file) = value.split_once(' ')?;
                    work.files.insert(file.to_owned(), bytes.parse().ok()?);
                }
                _ => {}
            }
        }
        (work.total_bytes > 0).then_some(work)
    }

    /// The directory as a word of the shell.
    pub fn word(&self) -> &str {
        &self.word
    }

    /// The directory as people write it; `dir` is what the user wrote.
    pub fn shown(&self, dir: &str) -> String {
        let dir = if dir.is_empty() { "~" } else { dir.trim_end_matches('/') };
        if self.is_place { dir.to_owned() } else { format!("{dir}/{WORK_DIR}") }
    }

    /// Bytes for files: free ones, and those of the files that are there already.
    pub fn usable_bytes(&self) -> u64 {
        self.free_bytes.saturating_add(self.files.values().sum())
    }

    /// The size of a file; 0 where it is not there.
    pub fn existing_bytes(&self, name: &str) -> u64 {
        self.files.get(name).copied().unwrap_or(0)
    }

    /// What `df` says of it.
    pub fn file_system(&self) -> Option<FileSystem> {
        Some(FileSystem {
            source: self.source.clone(),
            total_bytes: Some(self.total_bytes),
            available_bytes: Some(self.free_bytes),
            ..FileSystem::default()
        })
    }

    /// Takes back a directory that nothing was measured in. A failure leaves it to `assay cleanup`.
    pub fn remove_if_made(&self, connection: &Connection) {
        if self.made {
            let script = format!(
                "cd {} && rm -f test.*.0 {MARKER_FILE} {TAG_FILE} && cd .. && rmdir {WORK_DIR}\n",
                self.word
            );
            let _ = connection.output_regardless(&script);
        }
    }
}

/// Device, size and free space of a line of `df -Pk`; the device may have blanks in its name.
fn space(line: &str) -> Option<(String, u64, u64)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let capacity = words.iter().rposition(|word| word.ends_with('%') && word.len() > 1)?;
    let kibibytes = |back: usize| words.get(capacity.checked_sub(back)?)?.parse::<u64>().ok();
    let source = words.get(..capacity.checked_sub(3)?)?.join(" ");
    Some((source, kibibytes(3)?.saturating_mul(1024), kibibytes(1)?.saturating_mul(1024)))
}

fn script(place: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!(
        "{}place={place}
[ -e \"$place\" ] || {{ echo \"$place does not exist\" >&2; exit 2; }}
[ -d \"$place\" ] || {{ echo \"$place is not a directory; quick measures the file system below one\" >&2; exit 2; }}
echo {ANSWER}
work=\"$place\"
if ! ours \"$place\"; then
    echo work=
    work=\"$place/{WORK_DIR}\"
    if [ -e \"$work\" ] || [ -h \"$work\" ]; then
        ours \"$work\" || {{ echo \"$work exists and was not made by Assay; choose another place, or remove it yourself\" >&2; exit 2; }}
    else
        mkdir \"$work\" || exit 1
        printf '%s\\n' '{TAG_SIGNATURE}' '# Made by Assay, a storage benchmark: test data without worth. assay cleanup removes it.' >\"$work/{TAG_FILE}\" &&
            printf '{{\"schema\":\"assay.dir/1\",\"version\":\"{version}\",\"purpose\":\"quick\",\"directory\":{{\"inode\":%s}}}}\\n' \"$(inode_of \"$work\")\" >\"$work/{MARKER_FILE}\" || exit 1
        echo made=
    fi
fi
echo space=$(df -Pk \"$work\" | sed -n '$p')
for file in \"$work\"/test.*.0; do
    [ -f \"$file\" ] && echo \"file=$(($(wc -c <\"$file\"))) ${{file##*/}}\"
done
exit 0
",
        ours_function()
    )
}

/// A function `ours DIRECTORY`, true for a directory that carries both tags, as [`assay_host::workdir`] defines them: the
/// marker names its inode (a shell cannot ask for more everywhere). `inode_of DIRECTORY` prints that.
fn ours_function() -> String {
    format!(
        "inode_of() {{ set -- $(ls -di -- \"$1\"); echo \"$1\"; }}
ours() {{
    [ -d \"$1\" ] && [ ! -h \"$1\" ] || return 1
    for tag in {MARKER_FILE} {TAG_FILE}; do
        [ -f \"$1/$tag\" ] && [ ! -h \"$1/$tag\" ] || return 1
    done
    grep -q '\"schema\":\"assay.dir/' \"$1/{MARKER_FILE}\" && grep -q \"\\\"inode\\\":$(inode_of \"$1\")[,}}]\" \"$1/{MARKER_FILE}\" && grep -q '^{TAG_SIGNATURE}' \"$1/{TAG_FILE}\"
}}\n"
    )
}

/// The command of a shell that removes test files by their names, and a tagged directory only when nothing else is left in it: `directory`
/// or those in it. It ends with 2 where `directory` is none.
pub fn cleanup_command(directory: &str) -> String {
    let script = format!(
        "{}place={directory}
clean() {{
    rm -f -- \"$1\"/test.*.0 \"$1\"/assay-1.data
    for left in \"$1\"/* \"$1\"/.[!.]*; do
        case \"${{left##*/}}\" in
            {MARKER_FILE} | {TAG_FILE} | {LEDGER_FILE}) ;;
            *) if [ -e \"$left\" ] || [ -h \"$left\" ]; then echo \"kept $1: $left is not a test file\"; kept=1; return; fi ;;
        esac
    done
    rm -f -- \"$1/{LEDGER_FILE}\" \"$1/{TAG_FILE}\" && rm -f -- \"$1/{MARKER_FILE}\"
    rmdir -- \"$1\" && echo \"removed $1\" || kept=1
}}
[ -d \"$place\" ] || {{ echo 'is not a directory' >&2; exit 2; }}
found= kept=
if ours \"$place\"; then
    found=1; clean \"$place\"
else
    for one in \"$place\"/*; do
        if ours \"$one\"; then found=1; clean \"$one\"; fi
    done
fi
[ -n \"$found\" ] || echo \"nothing to remove: no directory that Assay made in $place\"
[ -z \"$kept\" ] || {{ echo \"could not remove all that Assay made in $place\" >&2; exit 1; }}
",
        ours_function()
    );
    format!("/bin/sh -c {}", quoted(&script))
}

#[cfg(test)]
mod tests {
    use assay_host::workdir::WorkDir;

    use super::*;

    #[test]
    fn the_space_is_found_whatever_the_names_are() {
        let linux = "/dev/vda 263174212 189406240 63641684 75% /";
        assert_eq!(space(linux), Some(("/dev/vda".to_owned(), 263_174_212 << 10, 63_641_684 << 10)));
        let spaced = "map auto home 10 4 6 40% /Volumes/my 50 % disk";
        assert_eq!(space(spaced), Some(("map auto home".to_owned(), 10 << 10, 6 << 10)));
        assert_eq!(space("nothing"), None);
        assert_eq!(space("1 2%"), None);
    }

    fn run(script: &str) -> std::process::Output {
        std::process::Command::new("/bin/sh").args(["-c", script]).output().expect("sh")
    }

    #[test]
    fn the_shell_makes_a_directory_that_the_library_takes_for_ours() {
        let parent = tempfile::tempdir().expect("a directory");
        let place = quoted(&parent.path().to_string_lossy());
        let output = run(&script(&place));
        assert!(output.status.success(), "{output:?}");
        let work = TaggedDirectory::parse(&output.stdout, &place).expect("understood");
        let path = parent.path().join(WORK_DIR);
        assert!(work.made && assay_host::workdir::is_assay_dir(&path));
        std::fs::write(path.join("test.0.0"), [0; 1000]).expect("written");
        let again = TaggedDirectory::parse(&run(&script(&place)).stdout, &place).expect("understood");
        assert!(!again.made);
        assert_eq!((again.existing_bytes("test.0.0"), again.existing_bytes("test.1.0")), (1000, 0));
        let itself = quoted(&path.to_string_lossy());
        let itself = TaggedDirectory::parse(&run(&script(&itself)).stdout, &itself).expect("understood");
        assert!(itself.is_place);
    }

    #[test]
    fn what_is_there_and_not_ours_is_refused() {
        let parent = tempfile::tempdir().expect("a directory");
        std::fs::create_dir(parent.path().join(WORK_DIR)).expect("made");
        let output = run(&script(&quoted(&parent.path().to_string_lossy())));
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains("was not made by Assay"));
        let nowhere = quoted(&parent.path().join("nowhere").to_string_lossy());
        assert_eq!(run(&script(&nowhere)).status.code(), Some(2));
    }

    #[test]
    fn the_shell_knows_our_directories_as_the_library_does() {
        let parent = tempfile::tempdir().expect("a directory");
        let made = parent.path().join("it's ours");
        drop(WorkDir::create(&made, "1", "quick").expect("made"));
        let ours = |path: &std::path::Path| {
            let script = format!("{}ours {}", ours_function(), quoted(&path.to_string_lossy()));
            std::process::Command::new("/bin/sh").args(["-c", &script]).status().expect("sh").success()
        };
        assert!(ours(&made));
        assert!(!ours(parent.path()));
        let copy = parent.path().join("copy");
        let cp = std::process::Command::new("cp").arg("-a").arg(&made).arg(&copy).status();
        assert!(cp.expect("cp").success() && !ours(&copy), "a copy is none");
        let link = parent.path().join("link");
        std::os::unix::fs::symlink(&made, &link).expect("link");
        assert!(!ours(&link), "a link to one is none");
        std::fs::write(made.join(TAG_FILE), "Signature: something else\n").expect("written");
        assert!(!ours(&made));
    }
}
