//! How included files and environment values reach a parser that must not touch the system.

use std::collections::BTreeMap;

/// What a parser may ask of the outside: the text of an included file and the value of an environment variable.
pub trait Loader {
    /// The text of the file `path`, or `None` where it does not exist.
    ///
    /// # Errors
    /// A sentence that says why an existing file could not be read (permission, not UTF-8, too large).
    fn load(&self, path: &str) -> Result<Option<String>, String>;

    /// The bytes of the file `path`, which need not be text.
    ///
    /// # Errors
    /// As [`Loader::load`].
    fn load_bytes(&self, path: &str) -> Result<Option<Vec<u8>>, String> {
        Ok(self.load(path)?.map(String::into_bytes))
    }

    /// The value of an environment variable, `None` where unset.
    fn env(&self, name: &str) -> Option<String>;
}

/// Files and variables held in memory: for tests, fuzzing and for files that came over a wire.
#[derive(Debug, Clone, Default)]
pub struct MemoryLoader {
    /// Path to text.
    pub files: BTreeMap<String, String>,
    /// Variable to value.
    pub env: BTreeMap<String, String>,
}

impl Loader for MemoryLoader {
    fn load(&self, path: &str) -> Result<Option<String>, String> {
        Ok(self.files.get(path).cloned())
    }

    fn env(&self, name: &str) -> Option<String> {
        self.env.get(name).cloned()
    }
}
