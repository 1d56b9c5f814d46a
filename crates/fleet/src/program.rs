//! Assay's own program on another machine: under its checksum in the user's cache, so that it is copied once.

use std::fs::File;
use std::io::{self, Read as _};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use crate::shell::quoted;

/// The running program.
pub const OWN: &str = "/proc/self/exe";
/// What a process prints, on a line of its own, when it wants the program on its standard input.
pub const NEEDS_BINARY: &[u8] = b"\nassay-needs-binary\n";
/// Hexadecimal digits of the checksum in a copy's name.
const NAME_DIGITS: usize = 16;

/// Sets `cache` to the directory that everything of ours in a home lies in.
pub const CACHE: &str = "cache=\"${XDG_CACHE_HOME:-${HOME:?}/.cache}/assay\"\n";

/// A function `checksum FILE`: its SHA-256 somewhere in a line, or nothing where no program knows how.
pub const CHECKSUM: &str = "checksum() {
    sha256sum <\"$1\" 2>/dev/null || shasum -a 256 <\"$1\" 2>/dev/null || openssl dgst -sha256 <\"$1\" 2>/dev/null
}\n";

/// The running program, read once.
#[derive(Debug, Clone)]
pub struct Program {
    content: Arc<[u8]>,
    checksum: String,
}

impl Program {
    /// Reads the running program.
    ///
    /// # Errors
    /// What the system says.
    pub fn own() -> io::Result<Self> {
        let mut content = Vec::new();
        File::open(OWN)?.read_to_end(&mut content)?;
        Ok(Program::of(content))
    }

    fn of(content: Vec<u8>) -> Self {
        let digest = Sha256::digest(&content);
        let checksum = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        Program { content: content.into(), checksum }
    }

    /// Its bytes.
    pub fn content(&self) -> &Arc<[u8]> {
        &self.content
    }

    /// The name of its copy.
    pub fn name(&self) -> String {
        format!("assay-{}", &self.checksum[..NAME_DIGITS])
    }

    /// Its SHA-256 in hexadecimal digits.
    pub fn checksum(&self) -> &str {
        &self.checksum
    }

    /// Whether it needs nothing but a kernel.
    pub fn is_static(&self) -> bool {
        !has_interpreter(&self.content)
    }

    /// A script that takes it from its standard input, and puts it to where [`Program::name`] is looked for.
    pub fn push_script(&self) -> String {
        format!("{}{}", self.prologue(), self.receive("cat"))
    }

    /// A script that becomes a worker; where the program is not there with its checksum, it asks for it ([`NEEDS_BINARY`]) first.
    pub fn worker_script(&self) -> String {
        let (checksum, bytes) = (&self.checksum, self.content.len());
        let mark = String::from_utf8_lossy(NEEDS_BINARY).trim().to_owned();
        format!(
            "{}found=
[ -x \"$final\" ] && found=$(checksum \"$final\")
case \"$found\" in
    *{checksum}*) ;;
    *)
        printf '\\n%s\\n' {mark}
{}        trap - EXIT HUP INT TERM
        ;;
esac
exec \"$final\" worker
",
            self.prologue(),
            self.receive(&format!("head -c {bytes}"))
        )
    }

    fn prologue(&self) -> String {
        format!("{CACHE}{CHECKSUM}umask 077\nfinal=\"$cache/bin/\"{}\n", quoted(&self.name()))
    }

    /// Lines that make the copy of what `read` reads.
    fn receive(&self, read: &str) -> String {
        let (bytes, checksum) = (self.content.len(), &self.checksum);
        format!(
            "mkdir -p \"$cache/bin\" || exit 1
fresh=\"$final.$$\"
trap 'rm -f \"$fresh\"' EXIT
trap 'exit 1' HUP INT TERM
{read} >\"$fresh\" || exit 1
[ \"$(($(wc -c <\"$fresh\")))\" -eq {bytes} ] || {{ echo 'it did not arrive whole' >&2; exit 1; }}
case \"$(checksum \"$fresh\")\" in
    '' | *{checksum}*) ;;
    *) echo 'its checksum changed on the way' >&2; exit 1 ;;
esac
chmod 700 \"$fresh\" && mv -f \"$fresh\" \"$final\" || exit 1
"
        )
    }
}

/// Whether an ELF file asks for a dynamic linker.
fn has_interpreter(file: &[u8]) -> bool {
    interpreter(file).is_some()
}

/// The path of the dynamic linker that an ELF file asks for: its program header of type `PT_INTERP`. `None` for what is no
/// 64-bit little-endian ELF file.
pub(crate) fn interpreter(file: &[u8]) -> Option<String> {
    const PT_INTERP: u32 = 3;
    let number = |at: usize, bytes: usize| -> Option<u64> {
        let field = file.get(at..at.checked_add(bytes)?)?;
        Some(field.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    };
    if !file.starts_with(b"\x7fELF\x02\x01") {
        return None;
    }
    // e_phoff, e_phentsize, e_phnum of the ELF header (System V ABI, chapter 4).
    let (table, step, count) = (number(32, 8)?, number(54, 2)?, number(56, 2)?);
    let headers = (0..count).map(|index| (table + index * step) as usize);
    let header = headers.into_iter().find(|at| number(*at, 4) == Some(u64::from(PT_INTERP)))?;
    // p_offset and p_filesz.
    let (at, bytes) = (number(header + 8, 8)? as usize, number(header + 32, 8)? as usize);
    let path = file.get(at..at.checked_add(bytes)?)?;
    Some(String::from_utf8_lossy(path.strip_suffix(b"\0").unwrap_or(path)).into_owned())
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn the_linker_is_found_in_an_elf_header() {
        let mut file = vec![0_u8; 64 + 2 * 56];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (file[32], file[54], file[56]) = (64, 56, 2);
        (file[64], file[64 + 56]) = (1, 6);
        assert!(!has_interpreter(&file));
        file[64 + 56] = 3;
        assert!(has_interpreter(&file));
        assert!(!has_interpreter(b"#!/bin/sh"));
        assert!(!has_interpreter(&file[..60]));
    }

    #[test]
    fn a_copy_is_named_by_its_checksum() {
        let program = Program::of(b"abc".to_vec());
        assert_eq!(program.name(), "assay-ba7816bf8f01cfea");
        assert!(program.push_script().contains(&format!("*{}*", program.checksum())));
    }

    /// What the script prints with `cache` as its home, when it is given `input`.
    fn worker(program: &Program, cache: &std::path::Path, input: &[u8]) -> String {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", &program.worker_script()]).env("XDG_CACHE_HOME", cache);
        let mut child = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("sh");
        // A script that wants nothing may have ended before.
        let _ = child.stdin.take().expect("its input").write_all(input);
        String::from_utf8(child.wait_with_output().expect("ended").stdout).expect("text")
    }

    #[test]
    fn the_program_is_asked_for_once_and_again_when_it_was_changed() {
        let program = Program::of(b"#!/bin/sh\necho ran \"$@\"; cat\n".to_vec());
        let cache = tempfile::tempdir().expect("a directory");
        let input = [program.content(), &b"frames"[..]].concat();
        assert_eq!(worker(&program, cache.path(), &input), "\nassay-needs-binary\nran worker\nframes");
        assert_eq!(worker(&program, cache.path(), b"frames"), "ran worker\nframes");
        let copy = cache.path().join("assay/bin").join(program.name());
        std::fs::write(&copy, "#!/bin/sh\necho another\n").expect("written");
        assert_eq!(worker(&program, cache.path(), &input), "\nassay-needs-binary\nran worker\nframes");
        let cut = &program.content()[..9];
        std::fs::remove_file(&copy).expect("removed");
        assert_eq!(worker(&program, cache.path(), cut), "\nassay-needs-binary\n");
        assert_eq!(std::fs::read_dir(cache.path().join("assay/bin")).expect("there").count(), 0);
    }
}
