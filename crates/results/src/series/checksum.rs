//! CRC-32C (Castagnoli), as in iSCSI (RFC 3720, appendix B.4).

/// The checksum of several pieces one behind the other.
pub(super) fn crc32c(pieces: &[&[u8]]) -> u32 {
    pieces.iter().fold(0, |crc, piece| crc32c::crc32c_append(crc, piece))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vectors_of_the_standard() {
        assert_eq!(crc32c(&[b"123456789"]), 0xE306_9283);
        assert_eq!(crc32c(&[&[0; 32]]), 0x8A91_36AA);
        assert_eq!(crc32c(&[&[0xFF; 16], &[0xFF; 16]]), 0x62A8_AB43);
    }
}
