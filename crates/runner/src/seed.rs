//! Random numbers of the system, for seeds and identifiers.

use std::io::Read as _;

use crate::error::RunError;

/// A new random number.
///
/// # Errors
/// [`RunError::Random`].
pub fn random_u64() -> Result<u64, RunError> {
    let mut bytes = [0; 8];
    let file = std::fs::File::open("/dev/urandom");
    file.and_then(|mut file| file.read_exact(&mut bytes)).map_err(RunError::Random)?;
    Ok(u64::from_le_bytes(bytes))
}

/// A seed that a person can type.
///
/// # Errors
/// [`RunError::Random`].
pub fn random_seed() -> Result<u64, RunError> {
    random_u64().map(|seed| seed % 1_000_000_000)
}
