//! What a worker needs to join a run, as text of one line for a file or a variable.

use std::fmt::Write as _;

/// The first word of the text.
const MARK: &str = "assay-join-1";
/// A longer part is no certificate and no key of ours.
const PART_BYTES_MAX: usize = 4096;

/// What a worker needs to join a run.
#[derive(Clone, PartialEq, Eq)]
pub struct Ticket {
    /// The certificate of the run's authority, DER.
    pub(super) authority: Vec<u8>,
    /// The certificate of workers, DER.
    pub(super) certificate: Vec<u8>,
    /// Its key, PKCS #8.
    pub(super) key: Vec<u8>,
    /// The token of the run.
    pub(super) token: [u8; 32],
}

impl std::fmt::Debug for Ticket {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Ticket")
    }
}

/// That a text is no ticket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this is not what a run wrote for its workers: one line that begins with '{MARK}:'")]
pub struct BadTicket;

impl Ticket {
    /// As text.
    pub fn to_text(&self) -> String {
        let mut text = MARK.to_owned();
        for part in [&self.authority[..], &self.certificate, &self.key, &self.token] {
            text.push(':');
            for byte in part {
                let _ = write!(text, "{byte:02x}");
            }
        }
        text
    }

    /// From text.
    ///
    /// # Errors
    /// [`BadTicket`].
    pub fn parse(text: &str) -> Result<Self, BadTicket> {
        let mut parts = text.trim().split(':');
        if parts.next() != Some(MARK) {
            return Err(BadTicket);
        }
        let mut part = || parts.next().and_then(bytes).ok_or(BadTicket);
        let (authority, certificate, key, token) = (part()?, part()?, part()?, part()?);
        let token = token.try_into().map_err(|_| BadTicket)?;
        if parts.next().is_some() {
            return Err(BadTicket);
        }
        Ok(Ticket { authority, certificate, key, token })
    }
}

/// The bytes of hexadecimal digits.
fn bytes(digits: &str) -> Option<Vec<u8>> {
    if digits.is_empty() || !digits.len().is_multiple_of(2) || digits.len() > 2 * PART_BYTES_MAX {
        return None;
    }
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pair = |pair: &[u8]| Some((digit(pair[0])? << 4 | digit(pair[1])?) as u8);
    digits.as_bytes().chunks_exact(2).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_survives_as_text_and_nothing_else_is_one() {
        let ticket =
            Ticket { authority: vec![1, 2], certificate: vec![0xab], key: vec![0, 255], token: [7; 32] };
        let text = ticket.to_text();
        assert!(text.starts_with("assay-join-1:0102:ab:00ff:0707"), "{text}");
        assert_eq!(Ticket::parse(&format!("{text}\n")), Ok(ticket));
        for bad in
            ["", "assay-join-1", &text[..text.len() - 2], &format!("{text}:00"), &text.replace("ab", "x-")]
        {
            assert_eq!(Ticket::parse(bad), Err(BadTicket), "{bad}");
        }
    }
}
