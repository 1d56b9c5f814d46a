//! What makes results of two images comparable: the kernel, the program and the plans. If one of them changes, the suite is another one.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Hexadecimal digits of an id.
const DIGITS: usize = 12;

/// What an image says of itself, in `/assay/image.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Image {
    /// The suite's id, of kernel, program and plans.
    pub suite: String,
    /// The kernel's package and version.
    pub kernel: String,
    /// SHA-256 of the program.
    pub program: String,
    /// The version that the program says.
    pub assay: String,
    /// The GUID of the disk that it starts from.
    pub disk: [u8; 16],
    /// The modules in the order in which they are loaded, by their names in `/assay/modules`.
    pub modules: Vec<String>,
}

/// The id of a suite of these parts, each a name and its bytes.
pub fn id(parts: &[(&str, &[u8])]) -> String {
    let mut all = Sha256::new();
    for (name, content) in parts {
        all.update(format!("{name} {}\n", content.len()));
        all.update(Sha256::digest(content));
    }
    let digest = all.finalize();
    digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>()[..DIGITS].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_makes_another_suite() {
        let one = id(&[("kernel", b"a"), ("program", b"b")]);
        assert_eq!(one, id(&[("kernel", b"a"), ("program", b"b")]));
        assert_ne!(one, id(&[("kernel", b"ab"), ("program", b"")]));
        assert_ne!(one, id(&[("kernel", b"a"), ("program", b"c")]));
        assert_eq!(one.len(), DIGITS);
    }
}
