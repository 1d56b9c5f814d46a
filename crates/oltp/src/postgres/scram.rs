//! SCRAM-SHA-256 (RFC 5802, RFC 7677), the client's side, without channel binding. Passwords are taken as they are: SASLprep changes
//! none that is ASCII.

use sha2::{Digest as _, Sha256};

const BLOCK: usize = 64;
const GS2_HEADER: &str = "n,,";
/// More rounds than this are refused: the server decides how long the client works.
const ROUNDS_MAX: u32 = 10_000_000;

type Hash = [u8; 32];

fn sha256(parts: &[&[u8]]) -> Hash {
    let mut digest = Sha256::new();
    parts.iter().for_each(|part| digest.update(part));
    digest.finalize().into()
}

fn hmac(key: &[u8], parts: &[&[u8]]) -> Hash {
    let mut block = [0; BLOCK];
    if key.len() > BLOCK {
        block[..32].copy_from_slice(&sha256(&[key]));
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let padded = block.map(|byte| byte ^ 0x36);
    let inner: Vec<&[u8]> = std::iter::once(&padded[..]).chain(parts.iter().copied()).collect();
    let inner = sha256(&inner);
    sha256(&[&block.map(|byte| byte ^ 0x5c), &inner])
}

/// PBKDF2 of one block.
fn salted(password: &[u8], salt: &[u8], rounds: u32) -> Hash {
    let mut last = hmac(password, &[salt, &1_u32.to_be_bytes()]);
    let mut sum = last;
    for _ in 1..rounds {
        last = hmac(password, &[&last]);
        sum.iter_mut().zip(last).for_each(|(sum, byte)| *sum ^= byte);
    }
    sum
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(super) fn to_base64(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let n = (0..3).fold(0_u32, |n, at| n << 8 | u32::from(chunk.get(at).copied().unwrap_or(0)));
        for at in 0..4 {
            let letter = ALPHABET[(n >> (18 - 6 * at)) as usize & 63];
            text.push(if at <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

fn from_base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let (mut bits, mut n) = (0_u32, 0);
    for letter in text.trim_end_matches('=').bytes() {
        let value = ALPHABET.iter().position(|known| *known == letter)?;
        (bits, n) = (bits << 6 | value as u32, n + 6);
        if n >= 8 {
            n -= 8;
            bytes.push((bits >> n) as u8);
            bits &= (1 << n) - 1;
        }
    }
    Some(bytes)
}

/// An exchange that was begun.
pub(super) struct Scram {
    password: String,
    first_bare: String,
    nonce: String,
    server_signature: Hash,
}

impl Scram {
    /// `nonce` is new for each exchange and has no comma.
    pub(super) fn new(password: &str, nonce: &str) -> Self {
        Scram {
            password: password.to_owned(),
            first_bare: format!("n=,r={nonce}"),
            nonce: nonce.to_owned(),
            server_signature: [0; 32],
        }
    }

    pub(super) fn first(&self) -> String {
        format!("{GS2_HEADER}{}", self.first_bare)
    }

    /// The answer to the server's first message; `None`: that is none.
    pub(super) fn answer(&mut self, server_first: &str) -> Option<String> {
        let field = |name: &str| server_first.split(',').find_map(|part| part.strip_prefix(name));
        let (nonce, salt) = (field("r=")?, from_base64(field("s=")?)?);
        let rounds: u32 = field("i=")?.parse().ok().filter(|rounds| (1..=ROUNDS_MAX).contains(rounds))?;
        if !nonce.starts_with(&self.nonce) {
            return None;
        }
        let without_proof = format!("c={},r={nonce}", to_base64(GS2_HEADER.as_bytes()));
        let message = format!("{},{server_first},{without_proof}", self.first_bare);
        let salted = salted(self.password.as_bytes(), &salt, rounds);
        let client_key = hmac(&salted, &[b"Client Key"]);
        let signature = hmac(&sha256(&[&client_key]), &[message.as_bytes()]);
        let mut proof = client_key;
        proof.iter_mut().zip(signature).for_each(|(key, byte)| *key ^= byte);
        self.server_signature = hmac(&hmac(&salted, &[b"Server Key"]), &[message.as_bytes()]);
        Some(format!("{without_proof},p={}", to_base64(&proof)))
    }

    /// Whether the server knows the password, too.
    pub(super) fn is_verified(&self, server_final: &str) -> bool {
        let signature =
            server_final.split(',').find_map(|part| part.strip_prefix("v=")).and_then(from_base64);
        signature.is_some_and(|signature| signature == self.server_signature)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of RFC 7677, section 3, whose client names a user.
    #[test]
    fn the_published_exchange_comes_out() {
        let mut scram = Scram::new("pencil", "rOprNGfwEbeRWgbNEkqO");
        scram.first_bare = "n=user,r=rOprNGfwEbeRWgbNEkqO".to_owned();
        let answer = scram
            .answer("r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096")
            .unwrap();
        let proof = "p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=";
        assert_eq!(answer, format!("c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,{proof}"));
        assert!(scram.is_verified("v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="));
        assert!(!scram.is_verified("v=7rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="));
        assert_eq!(scram.answer("r=other,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"), None);
    }

    #[test]
    fn base64_both_ways() {
        for bytes in [&b""[..], b"a", b"ab", b"abc", b"abcd", &[0, 255, 1, 254, 2]] {
            assert_eq!(from_base64(&to_base64(bytes)).unwrap(), bytes);
        }
        assert_eq!(to_base64(b"n,,"), "biws");
        assert_eq!(from_base64("a*"), None);
    }
}
