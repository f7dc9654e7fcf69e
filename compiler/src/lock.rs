//! `gpuc.lock.json`: what gpuc wrote, from what, and which charts and images stand in it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::tree::Tree;

/// The name of the lock file in a cluster's folder.
pub const LOCK_FILE: &str = "gpuc.lock.json";

/// How temporary files begin. A run that was killed may leave one; the next run removes it.
pub const TEMPORARY: &str = ".gpuc-tmp-";

/// What gpuc owns in a cluster's folder.
///
/// gpuc's version stands here alone, so that an upgrade of gpuc touches only the files that it changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    /// gpuc's version.
    pub gpuc: String,
    /// The digest of the input.
    pub input: String,
    /// The file that the input was in, as seen from the cluster's folder, where that is the same on every machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// What was chosen or pinned.
    #[serde(flatten)]
    pub pins: Pins,
    /// The files that can be run.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub executable: BTreeSet<String>,
    /// The digest of every file.
    pub files: BTreeMap<String, String>,
    /// While a run writes, and after one that was killed: every digest that a file may have beside the one in `files`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub pending: BTreeMap<String, BTreeSet<String>>,
}

/// What was chosen or pinned.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pins {
    /// Charts, by release.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub charts: BTreeMap<String, ChartPin>,
    /// Images with their tags, and digests where the user gave one.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub images: BTreeSet<String>,
    /// Machine types that gpuc chose, by pool.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub machines: BTreeMap<String, String>,
}

/// A chart at a version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChartPin {
    /// The chart.
    pub chart: String,
    /// The repository's URL.
    pub repository: String,
    /// The version, as the repository spells it.
    pub version: String,
}

impl Lock {
    /// The lock of a tree made by this gpuc from an input with this digest.
    pub fn of(tree: &Tree, input: String, pins: Pins) -> Self {
        let executable = tree.files().filter(|(_, file)| file.executable);
        let files = tree.files();
        Self {
            gpuc: env!("CARGO_PKG_VERSION").to_owned(),
            input,
            from: None,
            pins,
            executable: executable.map(|(path, _)| path.to_owned()).collect(),
            files: files
                .map(|(path, file)| (path.to_owned(), digest(file.contents.as_bytes())))
                .collect(),
            pending: BTreeMap::new(),
        }
    }

    /// Reads a lock. The error says in words what is wrong; the caller names the file.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.lines().any(|line| line.starts_with("<<<<<<<")) {
            return Err(
                "it has conflict markers of a merge; take either side, then build again".to_owned(),
            );
        }
        let lock: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let paths = lock.files.keys().chain(lock.pending.keys());
        match paths.into_iter().find(|path| !is_inside(path)) {
            Some(path) => Err(format!("`{path}` is no path of a file in this folder")),
            None => Ok(lock),
        }
    }

    /// The lock as text, the same for the same lock.
    pub fn to_json(&self) -> String {
        let text = serde_json::to_string_pretty(self).expect("a lock has only what JSON has");
        text + "\n"
    }

    /// The lock to put down before files are written: whichever of old and new a file holds then, it is gpuc's.
    #[must_use]
    pub fn intent(&self, old: Option<&Self>) -> Self {
        let mut intent = self.clone();
        intent.files = old.map(|old| old.files.clone()).unwrap_or_default();
        intent.pending = old.map(|old| old.pending.clone()).unwrap_or_default();
        for (path, digest) in &self.files {
            if intent.files.get(path) != Some(digest) {
                let digests = intent.pending.entry(path.clone()).or_default();
                digests.insert(digest.clone());
            }
        }
        intent
    }

    /// Whether gpuc wrote the file, or was about to.
    pub fn owns(&self, path: &str) -> bool {
        self.files.contains_key(path) || self.pending.contains_key(path)
    }

    /// Whether the file is as gpuc wrote it, or was about to.
    pub fn wrote(&self, path: &str, digest: &str) -> bool {
        self.files.get(path).is_some_and(|known| known == digest)
            || self
                .pending
                .get(path)
                .is_some_and(|known| known.contains(digest))
    }

    /// Every path that gpuc owns.
    pub fn paths(&self) -> BTreeSet<&str> {
        let paths = self.files.keys().chain(self.pending.keys());
        paths.map(String::as_str).collect()
    }
}

/// The digest of bytes: `sha256:` and 64 digits.
pub fn digest(bytes: &[u8]) -> String {
    let mut text = String::from("sha256:");
    for byte in Sha256::digest(bytes) {
        write!(text, "{byte:02x}").expect("a String takes everything");
    }
    text
}

/// Whether a path leads to a generated file below the folder it is seen from, whatever stands in it.
pub fn is_inside(path: &str) -> bool {
    let is_name = |name: &str| !matches!(name, "" | "." | "..") && !name.starts_with(TEMPORARY);
    !path.contains(['\\', '\0']) && path != LOCK_FILE && path.split('/').all(is_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lock(files: &[(&str, &str)]) -> Lock {
        let mut tree = Tree::default();
        for (path, contents) in files {
            tree.add(*path, (*contents).to_owned());
        }
        Lock::of(&tree, digest(b"input"), Pins::default())
    }

    #[test]
    fn a_digest_is_sha256() {
        // FIPS 180-2, appendix B.1.
        let abc = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(digest(b"abc"), abc);
    }

    #[test]
    fn a_lock_is_read_back_as_it_was_written() {
        let mut tree = Tree::default();
        tree.add_script("cloud/apply.sh", "exit\n".to_owned());
        tree.add("README.md", "# a\n".to_owned());
        let pin = ChartPin {
            chart: "gpu-operator".to_owned(),
            repository: "https://helm.ngc.nvidia.com/nvidia".to_owned(),
            version: "v25.3.0".to_owned(),
        };
        let pins = Pins {
            charts: BTreeMap::from([("gpu-operator".to_owned(), pin)]),
            images: BTreeSet::from(["registry.example/gpuc-runtime:1".to_owned()]),
            machines: BTreeMap::from([("infer".to_owned(), "g6.xlarge".to_owned())]),
        };
        let lock = Lock::of(&tree, digest(b""), pins);
        assert!(lock.executable.contains("cloud/apply.sh") && lock.executable.len() == 1);
        let text = lock.to_json();
        assert_eq!(Lock::parse(&text), Ok(lock));
        assert!(!text.contains("pending") && text.ends_with("}\n"), "{text}");
    }

    #[test]
    fn a_lock_that_leads_out_of_its_folder_is_refused() {
        for path in [
            "../a",
            "/etc/passwd",
            "a/../../b",
            "a//b",
            "./a",
            "",
            "gpuc.lock.json",
            "a\\b",
            "x/.gpuc-tmp-1",
        ] {
            let mut files = lock(&[]);
            files.files.insert(path.to_owned(), digest(b""));
            let error = Lock::parse(&files.to_json()).expect_err(path);
            assert!(error.contains("is no path"), "{error}");
        }
        assert!(is_inside("manifests/a/..b.yaml"));
    }

    #[test]
    fn what_is_no_lock_is_refused_in_words() {
        for (text, part) in [
            ("", "EOF"),
            ("<<<<<<< ours\n{}", "conflict markers"),
            ("{\"gpuc\": 1}", "invalid type"),
            (
                "{\"gpuc\": \"1\", \"input\": \"\", \"files\": {}, \"more\": 1}",
                "unknown field `more`",
            ),
        ] {
            let error = Lock::parse(text).expect_err(text);
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn an_intent_takes_old_and_new_for_its_own() {
        let old = lock(&[("a", "1"), ("b", "1"), ("same", "s")]);
        let new = lock(&[("a", "2"), ("c", "2"), ("same", "s")]);
        let intent = new.intent(Some(&old));
        for (path, text) in [
            ("a", "1"),
            ("a", "2"),
            ("b", "1"),
            ("c", "2"),
            ("same", "s"),
        ] {
            assert!(
                intent.wrote(path, &digest(text.as_bytes())),
                "{path} {text}"
            );
        }
        assert!(!intent.wrote("a", &digest(b"3")) && !intent.pending.contains_key("same"));
        let third = lock(&[("a", "3")]).intent(Some(&intent));
        for text in ["1", "2", "3"] {
            assert!(third.wrote("a", &digest(text.as_bytes())), "{text}");
        }
        assert_eq!(third.paths(), BTreeSet::from(["a", "b", "c", "same"]));
    }
}
