//! An OVA: a tar of the OVF descriptor, its checksums and the disks, in this order (DSP0243, section 7 and annex).

use std::io::{self, Write};

use sha2::{Digest as _, Sha256};

const BLOCK: usize = 512;

/// Writes a tar (ustar) of `files` in their order; all are of the second `seconds` after 1970.
///
/// # Errors
/// What the writer says; a name of more than 100 bytes, or a file of 8 GiB or more, which the format has no room for.
pub fn write(files: &[(String, Vec<u8>)], seconds: u64, out: &mut dyn Write) -> io::Result<()> {
    for (name, content) in files {
        out.write_all(&header(name, content.len() as u64, seconds)?)?;
        out.write_all(content)?;
        out.write_all(&[0; BLOCK][..content.len().next_multiple_of(BLOCK) - content.len()])?;
    }
    out.write_all(&[0; 2 * BLOCK])
}

/// The manifest of the descriptor and the disks: a line of SHA-256 a file.
pub fn manifest(files: &[(String, Vec<u8>)]) -> String {
    let line = |(name, content): &(String, Vec<u8>)| format!("SHA256({name})= {}\n", hex(content));
    files.iter().map(line).collect()
}

/// The SHA-256 of bytes in hexadecimal digits.
pub fn hex(content: &[u8]) -> String {
    Sha256::digest(content).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn header(name: &str, bytes: u64, seconds: u64) -> io::Result<Vec<u8>> {
    if name.len() > 100 || bytes >= 8 << 30 {
        return Err(io::Error::other(format!("{name} does not fit into a tar archive")));
    }
    let mut header = vec![0; BLOCK];
    let mut put = |at: usize, text: &str| header[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, name);
    put(100, "0000644");
    put(108, "0000000");
    put(116, "0000000");
    put(124, &format!("{bytes:011o}"));
    put(136, &format!("{seconds:011o}"));
    put(148, "        ");
    put(156, "0");
    put(257, "ustar\x0000");
    let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    Ok(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tar_lists_it_in_order() {
        let files = [("a.ovf".to_owned(), b"text".to_vec()), ("b.vmdk".to_owned(), vec![7; 1000])];
        let mut archive = Vec::new();
        write(&files, 1_700_000_000, &mut archive).expect("written");
        assert_eq!(archive.len() % BLOCK, 0);
        let mut tar = std::process::Command::new("tar");
        tar.args(["-tf", "-"]).stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut child = tar.spawn().expect("tar");
        child.stdin.take().expect("its input").write_all(&archive).expect("taken");
        let said = child.wait_with_output().expect("ended");
        assert!(said.status.success());
        assert_eq!(String::from_utf8_lossy(&said.stdout), "a.ovf\nb.vmdk\n");
        let line = manifest(&files[..1]);
        assert!(
            line.starts_with("SHA256(a.ovf)= 982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a"),
            "{line}"
        );
        assert!(write(&[("x".repeat(101), Vec::new())], 0, &mut Vec::new()).is_err());
    }
}
