//! Cutting a stream of text into JSON documents and what stands between them.

/// Documents longer than this are cut off: fio's are a few hundred kilobytes.
const DOCUMENT_BYTES_MAX: usize = 256 << 20;

/// Takes text as it comes; gives documents when they are whole.
#[derive(Debug, Default)]
pub(super) struct Splitter {
    document: Vec<u8>,
    depth: u32,
    in_string: bool,
    escaped: bool,
    /// Everything outside of documents.
    pub(super) said: Vec<u8>,
}

impl Splitter {
    /// Adds bytes; returns the documents that they complete.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> Vec<String> {
        let mut whole = Vec::new();
        for &byte in bytes {
            if self.depth == 0 && byte != b'{' {
                self.said.push(byte);
                continue;
            }
            if self.document.len() < DOCUMENT_BYTES_MAX {
                self.document.push(byte);
            }
            self.step(byte);
            if self.depth == 0 {
                whole.push(String::from_utf8_lossy(&self.document).into_owned());
                self.document.clear();
            }
        }
        whole
    }

    fn step(&mut self, byte: u8) {
        if self.in_string {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_string = false,
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' => self.depth += 1,
            b'}' => self.depth -= 1,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_found_however_the_text_is_cut() {
        let text = b"fio: note\n{\"a\": {\"b\": \"}{\\\"\"}}\n\n{ }\ntail";
        for step in 1..text.len() {
            let mut splitter = Splitter::default();
            let found: Vec<String> = text.chunks(step).flat_map(|part| splitter.feed(part)).collect();
            assert_eq!(found, ["{\"a\": {\"b\": \"}{\\\"\"}}", "{ }"], "{step}");
            assert_eq!(splitter.said, b"fio: note\n\n\n\ntail");
        }
    }

    #[test]
    fn a_document_that_ends_early_is_none() {
        let mut splitter = Splitter::default();
        assert!(splitter.feed(b"{\"a\": {").is_empty());
        assert!(splitter.feed(b"}").is_empty());
    }
}
