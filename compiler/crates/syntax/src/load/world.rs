//! Access to files.

use std::collections::BTreeMap;

/// The path of standard input. A file with this name is written as `./<stdin>`.
pub const STDIN: &str = "<stdin>";

/// A source of files. The library itself does not open files.
pub trait World {
    /// The bytes of a file.
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError>;

    /// Whether the file `from` may have the base `base`, with the reason if not: messages quote lines of bases, which a
    /// stranger's file must not choose freely.
    fn check_base(&self, _from: &str, _base: &str) -> Result<(), String> {
        Ok(())
    }
}

/// The reason why a file cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadError {
    /// The file does not exist.
    NotFound,
    /// Another reason, as reported by the system.
    Other(String),
}

/// Files in memory.
#[derive(Clone, Debug, Default)]
pub struct MemoryFiles {
    files: BTreeMap<String, Vec<u8>>,
}

impl MemoryFiles {
    /// One file.
    pub fn with_file(path: &str, text: &str) -> Self {
        std::iter::once((path, text)).collect()
    }

    /// Adds a file, or replaces one.
    pub fn insert(&mut self, path: &str, bytes: &[u8]) {
        self.files.insert(path.to_owned(), bytes.to_vec());
    }
}

impl<'a> FromIterator<(&'a str, &'a str)> for MemoryFiles {
    fn from_iter<I: IntoIterator<Item = (&'a str, &'a str)>>(files: I) -> Self {
        let mut all = Self::default();
        for (path, text) in files {
            all.insert(path, text.as_bytes());
        }
        all
    }
}

impl World for MemoryFiles {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        self.files.get(path).cloned().ok_or(ReadError::NotFound)
    }
}
