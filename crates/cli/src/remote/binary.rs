//! Assay's own program on another machine: under its checksum in the user's cache, so that it is copied once.

use std::fs::File;
use std::io::Read;

use sha2::{Digest as _, Sha256};

use super::connection::{Connection, RemoteError, last_line};
use super::script::quoted;
use crate::context::Context;
use crate::failure::Failure;

/// The running program.
const OWN: &str = "/proc/self/exe";
/// Hexadecimal digits of the checksum in a copy's name.
const NAME_DIGITS: usize = 16;

/// Sets `cache` to the directory that everything of ours in a home lies in.
pub(super) const CACHE: &str = "cache=\"${XDG_CACHE_HOME:-${HOME:?}/.cache}/assay\"\n";

/// A function `checksum FILE`: its SHA-256 somewhere in a line, or nothing where no program knows how.
pub(super) const CHECKSUM: &str = "checksum() {
    sha256sum <\"$1\" 2>/dev/null || shasum -a 256 <\"$1\" 2>/dev/null || openssl dgst -sha256 <\"$1\" 2>/dev/null
}\n";

/// The running program, read once.
#[derive(Debug)]
pub(super) struct Binary {
    bytes: u64,
    checksum: String,
    /// Whether it needs nothing but a kernel.
    fixed: bool,
}

impl Binary {
    /// Reads the running program.
    pub(super) fn own() -> Result<Self, Failure> {
        let read_error = |error| Failure::failed(format!("cannot read {OWN}: {error}"));
        let mut content = Vec::new();
        File::open(OWN).and_then(|mut file| file.read_to_end(&mut content)).map_err(read_error)?;
        let digest = Sha256::digest(&content);
        Ok(Binary {
            bytes: content.len() as u64,
            checksum: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
            fixed: !has_interpreter(&content),
        })
    }

    /// The name of its copy.
    pub(super) fn name(&self) -> String {
        format!("assay-{}", &self.checksum[..NAME_DIGITS])
    }

    /// Its SHA-256 in hexadecimal digits.
    pub(super) fn checksum(&self) -> &str {
        &self.checksum
    }

    /// Copies it to where [`Binary::name`] is looked for, and sees whether it runs there. `there`: it lies there
    /// already, with its checksum.
    ///
    /// # Errors
    /// Inside: why it does not run there, as a clause. The copy is then gone again.
    pub(super) fn settle(
        &self,
        connection: &Connection,
        there: bool,
        context: &Context,
    ) -> Result<Result<(), String>, RemoteError> {
        let host = connection.host();
        if !there {
            let size = assay_workload::units::Bytes(self.bytes);
            context.say(&format!("copying Assay ({size}) to {host}; assay cleanup removes it again"));
            let own =
                File::open(OWN).map_err(|error| Failure::failed(format!("cannot read {OWN}: {error}")))?;
            let output = connection.output(&self.push_script(), Some(own))?;
            if !output.status.success() {
                let why = last_line(&output.stderr);
                return Err(Failure::failed(format!("cannot copy Assay to {host}: {why}")).into());
            }
        }
        let output = connection.output(&self.try_script(), None)?;
        let said = String::from_utf8_lossy(&output.stdout);
        if output.status.success() && said.trim() == Context::version_line() {
            return Ok(Ok(()));
        }
        let why = match (output.status.success(), self.fixed) {
            (true, _) => format!("it calls itself '{}'", said.trim()),
            (false, true) => last_line(&output.stderr),
            (false, false) => format!(
                "{} (this build needs libraries of its own kind; 'make release' builds one that does not)",
                last_line(&output.stderr)
            ),
        };
        Ok(Err(why))
    }

    fn push_script(&self) -> String {
        let (name, bytes, checksum) = (quoted(&self.name()), self.bytes, &self.checksum);
        format!(
            "{CACHE}{CHECKSUM}umask 077
mkdir -p \"$cache/bin\" || exit 1
final=\"$cache/bin/\"{name}
fresh=\"$final.$$\"
trap 'rm -f \"$fresh\"' EXIT
trap 'exit 1' HUP INT TERM
cat >\"$fresh\" || exit 1
[ \"$(($(wc -c <\"$fresh\")))\" -eq {bytes} ] || {{ echo 'it did not arrive whole' >&2; exit 1; }}
case \"$(checksum \"$fresh\")\" in
    '' | *{checksum}*) ;;
    *) echo 'its checksum changed on the way' >&2; exit 1 ;;
esac
chmod 700 \"$fresh\" && mv -f \"$fresh\" \"$final\"
"
        )
    }

    fn try_script(&self) -> String {
        let name = quoted(&self.name());
        format!(
            "{CACHE}final=\"$cache/bin/\"{name}
\"$final\" --version && exit 0
status=$?
rm -f \"$final\"
exit $status
"
        )
    }
}

/// Whether an ELF file asks for a dynamic linker: it has a program header of type `PT_INTERP`. `false` for what is no
/// 64-bit little-endian ELF file.
fn has_interpreter(file: &[u8]) -> bool {
    const PT_INTERP: u32 = 3;
    let number = |at: usize, bytes: usize| -> Option<u64> {
        let field = file.get(at..at.checked_add(bytes)?)?;
        Some(field.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    };
    if !file.starts_with(b"\x7fELF\x02\x01") {
        return false;
    }
    // e_phoff, e_phentsize, e_phnum of the ELF header (System V ABI, chapter 4).
    let (Some(table), Some(step), Some(count)) = (number(32, 8), number(54, 2), number(56, 2)) else {
        return false;
    };
    (0..count).any(|index| number((table + index * step) as usize, 4) == Some(u64::from(PT_INTERP)))
}

#[cfg(test)]
mod tests {
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
        let binary = Binary { bytes: 3, checksum: format!("{:064x}", 0xabc), fixed: true };
        assert_eq!(binary.name(), "assay-0000000000000000");
        assert!(binary.push_script().contains(&format!("*{}*", binary.checksum())));
    }
}
