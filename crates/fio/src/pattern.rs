//! `buffer_pattern` and `verify_pattern`: bytes written as text, hex, decimal, files and the block offset.

use assay_formats::loader::Loader;

/// Longer patterns are refused; fio 3.33 stops at 512 bytes, later ones allow whole files.
const PATTERN_BYTES_MAX: usize = 64 << 10;

/// The bytes of a pattern.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Pattern {
    /// The bytes, repeated over the buffer.
    pub(crate) bytes: Vec<u8>,
    /// Positions in `bytes` of eight bytes that stand for the block's offset, little endian (`%o`).
    pub(crate) offset_at: Vec<usize>,
}

/// Reads a pattern: any sequence of `"text"`, `'file'`, `0x..`, decimal numbers and `%o`.
///
/// # Errors
/// A sentence that names what cannot be read.
pub(super) fn parse(text: &str, loader: &dyn Loader) -> Result<Pattern, String> {
    let mut pattern = Pattern::default();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        rest = match first {
            '"' => quoted(rest, '"', |inner| {
                pattern.bytes.extend_from_slice(inner.as_bytes());
                Ok(())
            })?,
            '\'' => quoted(rest, '\'', |name| {
                let content = loader
                    .load_bytes(name)
                    .map_err(|why| format!("the file '{name}' cannot be read: {why}"))?
                    .ok_or_else(|| format!("the file '{name}' does not exist"))?;
                pattern.bytes.extend_from_slice(&content);
                Ok(())
            })?,
            '%' => {
                let after =
                    rest.strip_prefix("%o").ok_or_else(|| format!("`{rest}`: the only format is %o"))?;
                pattern.offset_at.push(pattern.bytes.len());
                pattern.bytes.extend_from_slice(&[0; 8]);
                after
            }
            _ => number(rest, &mut pattern.bytes)?,
        };
        if pattern.bytes.len() > PATTERN_BYTES_MAX {
            return Err(format!("a pattern has at most {PATTERN_BYTES_MAX} bytes"));
        }
    }
    if pattern.bytes.is_empty() {
        return Err("a pattern needs at least one byte".to_owned());
    }
    Ok(pattern)
}

fn quoted(text: &str, quote: char, mut take: impl FnMut(&str) -> Result<(), String>) -> Result<&str, String> {
    let inner = &text[1..];
    let end = inner.find(quote).ok_or_else(|| format!("the quote in `{text}` is not closed"))?;
    take(&inner[..end])?;
    Ok(&inner[end + 1..])
}

/// Hex digits become bytes in written order; a decimal number becomes its bytes, lowest first, as few as needed.
fn number<'t>(text: &'t str, out: &mut Vec<u8>) -> Result<&'t str, String> {
    let refuse = || format!("`{text}` is neither \"text\", 'file', 0x.., a number nor %o");
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        let length = hex.bytes().take_while(u8::is_ascii_hexdigit).count();
        if length == 0 {
            return Err(refuse());
        }
        let (digits, rest) = hex.split_at(length);
        // An odd number of digits: the first one is a byte of its own.
        let (lone, pairs) = digits.split_at(length % 2);
        let digit = |b: u8| char::from(b).to_digit(16).unwrap_or(0) as u8;
        out.extend(lone.bytes().map(digit));
        out.extend(pairs.as_bytes().chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])));
        return Ok(rest);
    }
    let (value, used) = super::number::leading_integer(&text.replace("0x", "  ")).map_err(|_| refuse())?;
    let value = i32::try_from(value).map_err(|_| format!("`{text}` does not fit into 32 bits"))?;
    let bytes = value.to_le_bytes();
    let needed = if value < 0 { 4 } else { 4 - bytes.iter().rev().take_while(|b| **b == 0).count() };
    out.extend_from_slice(&bytes[..needed.max(1)]);
    Ok(&text[used..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_formats::loader::MemoryLoader;

    fn bytes(text: &str) -> Result<Vec<u8>, String> {
        let mut loader = MemoryLoader::default();
        loader.files.insert("p".into(), "file".into());
        parse(text, &loader).map(|pattern| pattern.bytes)
    }

    #[test]
    fn pieces_concatenate() {
        assert_eq!(bytes("0xdeadbeef").unwrap(), [0xde, 0xad, 0xbe, 0xef]);
        assert_eq!(bytes("0xabc").unwrap(), [0x0a, 0xbc]);
        assert_eq!(bytes("\"abc\"-12").unwrap(), [b'a', b'b', b'c', 0xf4, 0xff, 0xff, 0xff]);
        assert_eq!(bytes("300").unwrap(), [0x2c, 0x01]);
        assert_eq!(bytes("0").unwrap(), [0]);
        assert_eq!(bytes("'p'\"x\"").unwrap(), b"filex");
    }

    #[test]
    fn offset_format_takes_eight_bytes() {
        let pattern = parse("\"ab\"%o", &MemoryLoader::default()).unwrap();
        assert_eq!((pattern.bytes.len(), pattern.offset_at), (10, vec![2]));
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for text in ["", "abc", "\"abc", "'missing'", "0x", "%x", "99999999999", "1 0x"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }
}
