//! `gpuc.lock.json`: the generated files, their input, and the pinned charts and images.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use gpuc_syntax::tree::Tree;

/// The name of the lock file in a cluster's folder.
pub const LOCK_FILE: &str = "gpuc.lock.json";

/// The prefix of temporary files. A killed run can leave one behind; the next run deletes it.
pub const TEMPORARY_PREFIX: &str = ".gpuc-tmp-";

/// The files that gpuc owns in a cluster's folder. Only this file contains gpuc's version, so that an upgrade of gpuc
/// does not change other files without need.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    /// gpuc's version.
    pub gpuc: String,
    /// The digest of the input.
    pub input: String,
    /// The path of the input file relative to the cluster's folder, if it is the same on every machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The choices and pinned versions.
    #[serde(flatten)]
    pub pins: Pins,
    /// The executable files.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub executable: BTreeSet<String>,
    /// The digest of every file.
    pub files: BTreeMap<String, String>,
    /// During a run, and after a killed run: all digests that a file can have in addition to the one in `files`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub pending: BTreeMap<String, BTreeSet<String>>,
}

/// The choices and pinned versions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Pins {
    /// Charts, by release.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub charts: BTreeMap<String, ChartPin>,
    /// The images that the nodes pull, with their tags, and digests if set by the user.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub images: BTreeSet<String>,
    /// The images that a node completes, without a mirror: placeholders stand for what only the node determines.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub incomplete_images: BTreeMap<String, IncompleteImage>,
    /// The images that the nodes pull from a mirror, by their names in the public registries.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub mirrored_images: BTreeMap<String, String>,
    /// Machine types that gpuc selected, by pool.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub machines: BTreeMap<String, String>,
}

/// An image whose tag depends on the nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IncompleteImage {
    /// The same image in the mirror.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mirror: Option<String>,
    /// The meaning of the placeholders.
    pub unknown: String,
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
    /// The lock of a tree that this version of gpuc generates from an input with this digest.
    pub fn for_tree(tree: &Tree, input: String, pins: Pins) -> Self {
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

    /// Parses a lock. The error message does not contain the file name; the caller adds it.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.lines().any(|line| line.starts_with("<<<<<<<")) {
            return Err(
                "it contains merge conflict markers; use either side, then build again".to_owned(),
            );
        }
        let lock: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let paths = lock.files.keys().chain(lock.pending.keys());
        match paths.into_iter().find(|path| !is_valid_path(path)) {
            Some(path) => Err(format!("`{path}` is not a valid file path in this folder")),
            None => Ok(lock),
        }
    }

    /// The lock as deterministic text.
    pub fn to_json(&self) -> String {
        let text = serde_json::to_string_pretty(self).expect("a lock has only what JSON has");
        text + "\n"
    }

    /// The lock to write before the files: gpuc owns each file with either its old or its new contents.
    #[must_use]
    pub fn with_pending(&self, old: Option<&Self>) -> Self {
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

    /// Whether gpuc owns the file, or was about to write it.
    pub fn owns(&self, path: &str) -> bool {
        self.files.contains_key(path) || self.pending.contains_key(path)
    }

    /// Whether the file has contents that gpuc wrote or was about to write.
    pub fn has_written(&self, path: &str, digest: &str) -> bool {
        self.files.get(path).is_some_and(|known| known == digest)
            || self
                .pending
                .get(path)
                .is_some_and(|known| known.contains(digest))
    }

    /// All paths that gpuc owns.
    pub fn paths(&self) -> BTreeSet<&str> {
        let paths = self.files.keys().chain(self.pending.keys());
        paths.map(String::as_str).collect()
    }
}

/// The SHA-256 digest of bytes: `sha256:` and 64 hexadecimal digits.
pub fn digest(bytes: &[u8]) -> String {
    let mut text = String::from("sha256:");
    for byte in Sha256::digest(bytes) {
        write!(text, "{byte:02x}").expect("a String takes everything");
    }
    text
}

/// The first eight hexadecimal digits of the SHA-256 digest of a text, for names and annotations that change with it.
pub(crate) fn short_digest(text: &str) -> String {
    digest(text.as_bytes())["sha256:".len()..][..8].to_owned()
}

/// Whether a relative path is a valid path of a generated file inside its folder.
pub fn is_valid_path(path: &str) -> bool {
    let is_name =
        |name: &str| !matches!(name, "" | "." | "..") && !name.starts_with(TEMPORARY_PREFIX);
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
        Lock::for_tree(&tree, digest(b"input"), Pins::default())
    }

    #[test]
    fn a_digest_is_sha256() {
        // FIPS 180-2, appendix B.1.
        let abc = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(digest(b"abc"), abc);
    }

    #[test]
    fn lock_round_trips() {
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
            incomplete_images: BTreeMap::from([(
                "nvcr.io/nvidia/driver:595.91.07-<os>".to_owned(),
                IncompleteImage {
                    mirror: Some("registry.example/nvidia/driver:595.91.07-<os>".to_owned()),
                    unknown: "`<os>` is the operating system".to_owned(),
                },
            )]),
            mirrored_images: BTreeMap::from([(
                "registry.k8s.io/pause:3.10".to_owned(),
                "registry.example/pause:3.10".to_owned(),
            )]),
            machines: BTreeMap::from([("infer".to_owned(), "g6.xlarge".to_owned())]),
        };
        let lock = Lock::for_tree(&tree, digest(b""), pins);
        assert!(lock.executable.contains("cloud/apply.sh") && lock.executable.len() == 1);
        let text = lock.to_json();
        assert_eq!(Lock::parse(&text), Ok(lock));
        assert!(!text.contains("pending") && text.ends_with("}\n"), "{text}");
    }

    #[test]
    fn paths_outside_the_folder_are_errors() {
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
            assert!(error.contains("is not a valid file path"), "{error}");
        }
        assert!(is_valid_path("manifests/a/..b.yaml"));
    }

    #[test]
    fn invalid_locks_are_errors() {
        for (text, expected) in [
            ("", "EOF"),
            ("<<<<<<< ours\n{}", "conflict markers"),
            ("{\"gpuc\": 1}", "invalid type"),
            (
                "{\"gpuc\": \"1\", \"input\": \"\", \"files\": {}, \"more\": 1}",
                "unknown field `more`",
            ),
        ] {
            let error = Lock::parse(text).expect_err(text);
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn intent_owns_old_and_new_digests() {
        let old = lock(&[("a", "1"), ("b", "1"), ("same", "s")]);
        let new = lock(&[("a", "2"), ("c", "2"), ("same", "s")]);
        let intent = new.with_pending(Some(&old));
        for (path, text) in [
            ("a", "1"),
            ("a", "2"),
            ("b", "1"),
            ("c", "2"),
            ("same", "s"),
        ] {
            assert!(
                intent.has_written(path, &digest(text.as_bytes())),
                "{path} {text}"
            );
        }
        assert!(!intent.has_written("a", &digest(b"3")) && !intent.pending.contains_key("same"));
        let third = lock(&[("a", "3")]).with_pending(Some(&intent));
        for text in ["1", "2", "3"] {
            assert!(third.has_written("a", &digest(text.as_bytes())), "{text}");
        }
        assert_eq!(third.paths(), BTreeSet::from(["a", "b", "c", "same"]));
    }
}
