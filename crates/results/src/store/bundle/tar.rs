//! The little of ustar (POSIX.1-1988) that bundles need: plain files with short names.

const BLOCK: usize = 512;
/// More entries than this are refused.
const ENTRIES_MAX: usize = 16;
const SIZE: std::ops::Range<usize> = 124..136;
const CHECKSUM: std::ops::Range<usize> = 148..156;

/// An archive of files, which `tar xf` unpacks.
pub(super) fn write(files: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, content) in files {
        out.extend(header(name, content.len()));
        out.extend(content);
        out.resize(out.len().next_multiple_of(BLOCK), 0);
    }
    out.resize(out.len() + 2 * BLOCK, 0);
    out
}

fn header(name: &str, length: usize) -> [u8; BLOCK] {
    let mut header = [0; BLOCK];
    let mut put = |at: usize, text: &str| header[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, name);
    put(100, "0000644");
    put(108, "0000000");
    put(116, "0000000");
    put(SIZE.start, &format!("{length:011o}"));
    put(136, "00000000000");
    put(CHECKSUM.start, "        ");
    put(156, "0");
    put(257, "ustar");
    put(263, "00");
    let sum = checksum(&header);
    header[CHECKSUM].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    header
}

/// The sum of all bytes, those of the checksum counted as blanks.
fn checksum(header: &[u8]) -> u32 {
    let of =
        |(at, byte): (usize, &u8)| if CHECKSUM.contains(&at) { u32::from(b' ') } else { u32::from(*byte) };
    header.iter().enumerate().map(of).sum()
}

/// The files of an archive. Anything but plain files is refused.
pub(super) fn read(bytes: &[u8]) -> Result<Vec<(&str, &[u8])>, &'static str> {
    let mut entries = Vec::new();
    let mut rest = bytes;
    loop {
        let (header, behind) = rest.split_at_checked(BLOCK).ok_or("it ends too early")?;
        if header.iter().all(|byte| *byte == 0) {
            return Ok(entries);
        }
        if octal(&header[CHECKSUM]) != Some(u64::from(checksum(header))) {
            return Err("a header is damaged");
        }
        if !matches!(header[156], b'0' | 0) {
            return Err("it holds something that is no plain file");
        }
        if entries.len() == ENTRIES_MAX {
            return Err("it holds too many files");
        }
        let name = header[..100].split(|byte| *byte == 0).next().unwrap_or_default();
        let name = std::str::from_utf8(name).map_err(|_| "a name is not text")?;
        let length = octal(&header[SIZE])
            .and_then(|length| usize::try_from(length).ok())
            .ok_or("a length is no number")?;
        let (content, behind) = behind.split_at_checked(length).ok_or("it ends too early")?;
        let padding = length.next_multiple_of(BLOCK) - length;
        rest = behind.get(padding..).ok_or("it ends too early")?;
        entries.push((name, content));
    }
}

fn octal(field: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(field).ok()?.trim_matches(|c| c == '\0' || c == ' ');
    u64::from_str_radix(text, 8).ok()
}
