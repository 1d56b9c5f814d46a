//! Whole numbers in as few bytes as they need (LEB128): seven bits a byte, the lowest first, the top bit set on all but the last.

/// Appends a number.
pub(crate) fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a number of either sign: small ones of both take one byte (zigzag).
pub(crate) fn put_signed(out: &mut Vec<u8>, value: i64) {
    put(out, (value.wrapping_shl(1) ^ (value >> 63)) as u64);
}

/// Takes a number from the front; `None` at the end, or where it has more than 64 bits.
pub(crate) fn take(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let bits = u64::from(byte & 0x7F);
        if shift == 63 && bits > 1 {
            return None;
        }
        value |= bits << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// Takes a number that [`put_signed`] appended.
pub(crate) fn take_signed(bytes: &mut &[u8]) -> Option<i64> {
    let value = take(bytes)?;
    Some((value >> 1) as i64 ^ -((value & 1) as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_put_is_taken() {
        let numbers = [0, 1, 127, 128, 16_383, 16_384, u64::from(u32::MAX), u64::MAX];
        let signed = [0, -1, 1, 63, -64, 64, i64::MAX, i64::MIN];
        let mut bytes = Vec::new();
        numbers.iter().for_each(|number| put(&mut bytes, *number));
        signed.iter().for_each(|number| put_signed(&mut bytes, *number));
        let mut rest = &bytes[..];
        assert_eq!(numbers.map(|_| take(&mut rest)), numbers.map(Some));
        assert_eq!(signed.map(|_| take_signed(&mut rest)), signed.map(Some));
        assert_eq!((take(&mut rest), take(&mut &[0xFF; 10][..])), (None, None));
    }

    #[test]
    fn small_numbers_of_both_signs_take_one_byte() {
        for number in -64..64 {
            let mut bytes = Vec::new();
            put_signed(&mut bytes, number);
            assert_eq!(bytes.len(), 1, "{number}");
        }
    }
}
