//! The tagged directory on a machine where only a shell can make it.

use std::collections::BTreeMap;

use assay_host::workdir::{MARKER_FILE, TAG_FILE, TAG_SIGNATURE};
use assay_results::environment::FileSystem;

use super::super::cleanup::ours_function;
use super::super::connection::{Connection, RemoteError, last_line};
use super::super::{ANSWER, RemoteDirectory};
use crate::failure::Failure;
use crate::series::WORK_DIR;

/// Where the files lie.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Work {
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

impl Work {
    /// Makes the directory in `place`, a word of the shell, or takes the one that is there.
    pub(super) fn make(connection: &Connection, place: &str) -> Result<Self, RemoteError> {
        let output = connection.output(&script(place), None)?;
        let host = connection.host();
        match output.status.code() {
            Some(0) => {}
            Some(2) => {
                return Err(Failure::usage(format!("{host}: {}", last_line(&output.stderr))).into());
            }
            _ => return Err(Failure::failed(format!("{host}: {}", last_line(&output.stderr))).into()),
        }
        let work = Work::parse(&output.stdout, place);
        work.ok_or_else(|| Failure::failed(format!("{host} does not tell what its disk holds")).into())
    }

    fn parse(answer: &[u8], place: &str) -> Option<Self> {
        let answer = String::from_utf8_lossy(answer);
        let mut lines = answer.lines().skip_while(|line| line.trim_end() != ANSWER);
        lines.next()?;
        let mut work = Work { word: place.to_owned(), is_place: true, ..Work::default() };
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
    pub(super) fn word(&self) -> &str {
        &self.word
    }

    /// The directory as people write it.
    pub(super) fn shown(&self, there: RemoteDirectory<'_>) -> String {
        let dir = if there.dir.is_empty() { "~" } else { there.dir.trim_end_matches('/') };
        if self.is_place { dir.to_owned() } else { format!("{dir}/{WORK_DIR}") }
    }

    /// Bytes for files: free ones, and those of the files that are there already.
    pub(super) fn usable_bytes(&self) -> u64 {
        self.free_bytes.saturating_add(self.files.values().sum())
    }

    /// The size of a file; 0 where it is not there.
    pub(super) fn existing_bytes(&self, name: &str) -> u64 {
        self.files.get(name).copied().unwrap_or(0)
    }

    /// What `df` says of it.
    pub(super) fn file_system(&self) -> Option<FileSystem> {
        Some(FileSystem {
            source: self.source.clone(),
            total_bytes: Some(self.total_bytes),
            available_bytes: Some(self.free_bytes),
            ..FileSystem::default()
        })
    }

    /// Takes back a directory that nothing was measured in. A failure leaves it to `assay cleanup`.
    pub(super) fn remove_if_made(&self, connection: &Connection) {
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

#[cfg(test)]
mod tests {
    use super::*;
    use assay_fleet::shell::quoted;

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
        let work = Work::parse(&output.stdout, &place).expect("understood");
        let path = parent.path().join(WORK_DIR);
        assert!(work.made && assay_host::workdir::is_assay_dir(&path));
        std::fs::write(path.join("test.0.0"), [0; 1000]).expect("written");
        let again = Work::parse(&run(&script(&place)).stdout, &place).expect("understood");
        assert!(!again.made);
        assert_eq!((again.existing_bytes("test.0.0"), again.existing_bytes("test.1.0")), (1000, 0));
        let itself = quoted(&path.to_string_lossy());
        let itself = Work::parse(&run(&script(&itself)).stdout, &itself).expect("understood");
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
}
