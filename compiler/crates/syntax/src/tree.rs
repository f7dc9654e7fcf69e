//! The generated files, in memory.

use std::collections::BTreeMap;

/// Files by their path below the output folder, with `/` between folders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    files: BTreeMap<String, TreeFile>,
}

/// A generated file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeFile {
    /// The contents.
    pub contents: String,
    /// Whether the file is executable.
    pub executable: bool,
}

impl Tree {
    /// Adds a regular file.
    pub fn add(&mut self, path: impl Into<String>, contents: String) {
        self.insert(path.into(), contents, false);
    }

    /// Adds an executable file.
    pub fn add_script(&mut self, path: impl Into<String>, contents: String) {
        self.insert(path.into(), contents, true);
    }

    fn insert(&mut self, path: String, contents: String, executable: bool) {
        let file = TreeFile {
            contents,
            executable,
        };
        let before = self.files.insert(path, file);
        assert!(before.is_none(), "two generated files have the same path");
    }

    /// The files, by path.
    pub fn files(&self) -> impl Iterator<Item = (&str, &TreeFile)> {
        self.files.iter().map(|(path, file)| (path.as_str(), file))
    }

    /// One file.
    pub fn get(&self, path: &str) -> Option<&TreeFile> {
        self.files.get(path)
    }

    /// The number of files.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Whether there are no files.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }
}
