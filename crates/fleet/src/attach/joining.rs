//! What a worker says first over its connection, and what it is answered. Nothing of it is believed before all of it was checked.

/// The first bytes.
const MARK: &[u8] = b"assay-join-1\n";
/// The token of the run.
pub const TOKEN_BYTES: usize = 32;
/// What tells one worker from all others, made by itself.
pub const WORKER_ID_BYTES: usize = 16;
/// Mark, token, worker, and the length of a name.
const HEAD_BYTES: usize = MARK.len() + TOKEN_BYTES + WORKER_ID_BYTES + 1;
/// The answer to those who are let in.
pub const WELCOME: u8 = 0;
/// The answer to those who are not; its length and a sentence follow.
pub const REFUSED: u8 = 1;

/// Who wants to join.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Join {
    /// What it was given.
    pub token: [u8; TOKEN_BYTES],
    /// The same each time it joins.
    pub worker: [u8; WORKER_ID_BYTES],
    /// What it wants to be called.
    pub name: String,
}

/// Bytes that are no request to join.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no request of a worker")]
pub struct NoJoin;

impl Join {
    /// Its bytes. A name that is too long is cut.
    pub fn encode(&self) -> Vec<u8> {
        let mut end = self.name.len().min(usize::from(u8::MAX));
        while !self.name.is_char_boundary(end) {
            end -= 1;
        }
        let name = &self.name.as_bytes()[..end];
        [MARK, &self.token, &self.worker, &[name.len() as u8], name].concat()
    }

    /// From what has come so far: the request and its length; `None`: not all of it is there.
    ///
    /// # Errors
    /// [`NoJoin`], as soon as it cannot become one.
    pub fn decode(bytes: &[u8]) -> Result<Option<(Join, usize)>, NoJoin> {
        let mark = bytes.len().min(MARK.len());
        if bytes[..mark] != MARK[..mark] {
            return Err(NoJoin);
        }
        let Some((head, rest)) = bytes.split_first_chunk::<HEAD_BYTES>() else { return Ok(None) };
        let Some(name) = rest.get(..usize::from(head[HEAD_BYTES - 1])) else { return Ok(None) };
        let name = std::str::from_utf8(name).map_err(|_| NoJoin)?;
        if name.is_empty() || name.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(NoJoin);
        }
        let (token, worker) = head[MARK.len()..HEAD_BYTES - 1].split_at(TOKEN_BYTES);
        let join = Join {
            token: token.try_into().map_err(|_| NoJoin)?,
            worker: worker.try_into().map_err(|_| NoJoin)?,
            name: name.to_owned(),
        };
        Ok(Some((join, HEAD_BYTES + name.len())))
    }

    /// Whether it has the token; it takes as long whatever is wrong.
    pub fn has(&self, token: &[u8; TOKEN_BYTES]) -> bool {
        self.token.iter().zip(token).fold(0, |apart, (one, other)| apart | (one ^ other)) == 0
    }
}

/// The answer that says why not.
pub fn refusal(why: &str) -> Vec<u8> {
    let why = &why.as_bytes()[..why.len().min(usize::from(u8::MAX))];
    [&[REFUSED, why.len() as u8], why].concat()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_request_arrives_however_it_is_cut() {
        let join = Join { token: [3; 32], worker: [4; 16], name: "node-7".to_owned() };
        let mut bytes = join.encode();
        for short in 0..bytes.len() {
            assert_eq!(Join::decode(&bytes[..short]), Ok(None), "{short}");
        }
        let length = bytes.len();
        bytes.extend(b"more");
        assert_eq!(Join::decode(&bytes), Ok(Some((join.clone(), length))));
        assert!(join.has(&[3; 32]) && !join.has(&[2; 32]));
    }

    #[test]
    fn what_is_no_request_is_known_at_once() {
        assert_eq!(Join::decode(b"GET / HTTP/1.1"), Err(NoJoin));
        let named = |name: &str| Join { token: [0; 32], worker: [0; 16], name: name.to_owned() }.encode();
        for name in ["", "a b", "\u{1b}[2J"] {
            assert_eq!(Join::decode(&named(name)), Err(NoJoin), "{name:?}");
        }
        assert!(
            matches!(Join::decode(&named(&"ä".repeat(200))), Ok(Some((join, _))) if join.name.len() == 254)
        );
    }

    proptest! {
        #[test]
        fn any_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..400), marked: bool) {
            let bytes = if marked { [MARK, &bytes].concat() } else { bytes };
            let _ = Join::decode(&bytes);
        }
    }
}
