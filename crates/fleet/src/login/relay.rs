//! The stderr of another machine's Assay, passed on as it comes, but for the message of its failure.

use std::io::{Read, Write};

/// What comes before the message of a failure on stderr where another machine's Assay reads it: ASCII's record separator.
pub const FAILURE_MARK: u8 = 0x1e;

/// Copies `from` to `to` until its end, and returns what came after the first [`FAILURE_MARK`]: why the Assay at the
/// other end failed. That is not copied, so that the user reads it once.
pub fn relay(mut from: impl Read, mut to: impl Write) -> String {
    let mut failure: Option<Vec<u8>> = None;
    let mut buffer = [0; 4096];
    loop {
        let got = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(got) => got,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        let mut bytes = &buffer[..got];
        if failure.is_none() {
            let end = bytes.iter().position(|&byte| byte == FAILURE_MARK);
            // A closed stderr has no reader.
            let _ = to.write_all(&bytes[..end.unwrap_or(got)]).and_then(|()| to.flush());
            let Some(end) = end else { continue };
            failure = Some(Vec::new());
            bytes = &bytes[end + 1..];
        }
        if let Some(message) = &mut failure {
            message.extend_from_slice(bytes);
        }
    }
    String::from_utf8_lossy(&failure.unwrap_or_default()).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_passes_and_the_failure_is_kept_back() {
        let mut shown = Vec::new();
        let text = b"\r\x1b[2K[1/2] reading\r\x1b[2K\x1eno such\n\x1e directory\n";
        assert_eq!(relay(&text[..], &mut shown), "no such\n\u{1e} directory");
        assert_eq!(shown, b"\r\x1b[2K[1/2] reading\r\x1b[2K");
    }

    #[test]
    fn without_a_failure_everything_passes() {
        let mut shown = Vec::new();
        assert_eq!(relay(&b"one\ntwo"[..], &mut shown), "");
        assert_eq!(shown, b"one\ntwo");
    }
}
