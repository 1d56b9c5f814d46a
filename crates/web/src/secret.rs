//! Secrets: the token that lets somebody in, and what is made of it.

use sha2::{Digest as _, Sha256};

/// Characters of a token at least.
pub const TOKEN_CHARS_MIN: usize = 16;

/// What a client has to know to be let in.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

/// It is not printed by accident.
impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(..)")
    }
}

impl Token {
    /// A token of random bytes.
    pub fn of_random(bytes: [u8; 16]) -> Self {
        Token(hex(&bytes))
    }

    /// What a file holds, without the white space around it.
    ///
    /// # Errors
    /// In words, where it is too short or is no word of ASCII.
    pub fn of_text(text: &str) -> Result<Self, String> {
        let word = text.trim();
        if word.chars().count() < TOKEN_CHARS_MIN {
            return Err(format!(
                "the token has {} characters; {TOKEN_CHARS_MIN} are needed at least",
                word.chars().count()
            ));
        }
        if !word.chars().all(|c| c.is_ascii_graphic()) {
            return Err("a token is one word of ASCII letters, digits and punctuation".to_owned());
        }
        Ok(Token(word.to_owned()))
    }

    /// To be shown to who starts the program.
    pub fn shown(&self) -> &str {
        &self.0
    }

    /// Whether a client knows it.
    pub(crate) fn is(&self, word: &str) -> bool {
        same(&self.0, word)
    }
}

/// The secrets of one start of the program.
#[derive(Clone)]
pub(crate) struct Secrets {
    seed: [u8; 32],
}

impl Secrets {
    pub(crate) fn new(seed: [u8; 32]) -> Self {
        Secrets { seed }
    }

    fn of(&self, purpose: &str) -> String {
        let mut hash = Sha256::new();
        hash.update(self.seed);
        hash.update(purpose.as_bytes());
        hex(&hash.finalize())
    }

    /// What the cookie of somebody who was let in holds.
    pub(crate) fn session(&self) -> String {
        self.of("session")
    }

    /// By what the review of this number is confirmed.
    pub(crate) fn review(&self, number: u64) -> String {
        self.of(&format!("review {number}"))
    }

    /// What every form of our own pages sends along, and no page of others can read.
    pub(crate) fn form(&self) -> String {
        self.of("form")
    }
}

/// Compares by hashes: how long it takes does not tell how much is right.
pub(crate) fn same(a: &str, b: &str) -> bool {
    Sha256::digest(a.as_bytes()) == Sha256::digest(b.as_bytes())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Base64 of a SHA-256, as a policy names a script.
pub(crate) fn script_hash(script: &str) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digest = Sha256::digest(script.as_bytes());
    let mut text = String::new();
    for part in digest.chunks(3) {
        let bits =
            part.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - part.len()));
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= part.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_of_files_are_words_of_some_length() {
        assert!(Token::of_text("short\n").is_err());
        assert!(Token::of_text("two words that are long").is_err());
        let token = Token::of_text("  0123456789abcdef\n").unwrap();
        assert!(token.is("0123456789abcdef") && !token.is("0123456789abcdeF") && !token.is(""));
        assert_eq!(format!("{token:?}"), "Token(..)");
    }

    #[test]
    fn each_purpose_has_its_own_secret() {
        let (a, b) = (Secrets::new([1; 32]), Secrets::new([2; 32]));
        assert_ne!(a.session(), a.form());
        assert_ne!(a.session(), b.session());
        assert_eq!(a.form(), a.form());
    }

    #[test]
    fn the_hash_is_that_of_browsers() {
        // printf '' | sha256sum | xxd -r -p | base64
        assert_eq!(script_hash(""), "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
        assert_eq!(script_hash("alert(1)"), "bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI=");
    }
}
