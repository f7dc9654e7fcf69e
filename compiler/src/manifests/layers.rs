//! Kustomizations that patch what other files hold: only what is built of them is applied.

use std::collections::BTreeSet;

use crate::diag::Report;
use crate::node::Node;
use crate::source::Sources;
use crate::yaml;

use super::read::{Manifests, Object, Why};

/// What kustomize calls its files.
///
/// Source: kubernetes-sigs/kustomize `api/konfig/general.go`, `RecognizedKustomizationFileNames` (from memory).
const NAMES: &[&str] = &["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// What a kustomization puts together.
const PARTS: &[&str] = &["resources", "bases", "components"];

/// What changes objects without naming them here.
const ANY: &[&str] = &["components", "replacements", "transformers"];

/// A kustomization.
#[derive(Clone, Debug)]
pub(super) struct Layer {
    /// Its folder.
    folder: String,
    /// The files and folders that it puts together.
    parts: Vec<String>,
    /// The files of its patches.
    files: Vec<String>,
    /// What it patches.
    targets: Vec<Target>,
}

/// What a patch is for.
#[derive(Clone, Debug)]
enum Target {
    /// Objects of this kind and name, as far as both are said.
    Named(Option<String>, Option<String>),
    /// What the file says, which is a patch by itself.
    File(String),
    /// Whatever there is.
    Any,
}

/// Whether a file is a kustomization by its name.
pub(super) fn is_one(path: &str) -> bool {
    NAMES.contains(&path.rsplit('/').next().unwrap_or(path))
}

impl Layer {
    /// Reads the document of a file.
    pub(super) fn read(path: &str, root: &Node) -> Self {
        let folder = path.rsplit_once('/').map_or("", |it| it.0).to_owned();
        let list = |key: &str| root.get(key).map_or(&[][..], Node::items).iter();
        let at = |text: &str| join(&folder, text);
        let parts = PARTS
            .iter()
            .flat_map(|key| list(key))
            .filter_map(Node::text);
        let parts = parts.map(at).collect();
        let (mut files, mut targets) = (Vec::new(), Vec::new());
        for patch in list("patches").chain(list("patchesJson6902")) {
            let file = patch.get("path").and_then(Node::text).map(at);
            files.extend(file.clone());
            targets.push(match (patch.get("target"), file) {
                (Some(target), _) => Target::of(target),
                (None, Some(file)) => Target::File(file),
                (None, None) => Target::inline(patch.get("patch")),
            });
        }
        for patch in list("patchesStrategicMerge") {
            let text = patch.text().unwrap_or_default();
            if text.contains('\n') {
                targets.push(Target::inline(Some(patch)));
            } else {
                files.push(at(text));
                targets.push(Target::File(at(text)));
            }
        }
        if ANY.iter().any(|key| list(key).next().is_some()) {
            targets.push(Target::Any);
        }
        Self {
            folder,
            parts,
            files,
            targets,
        }
    }
}

impl Target {
    fn of(node: &Node) -> Self {
        // Both are regular expressions; most are only words.
        let word = |key: &str| {
            let text = node.get(key)?.text()?;
            let is_word = |c: char| c.is_ascii_alphanumeric() || c == '-';
            text.chars().all(is_word).then(|| text.to_owned())
        };
        Self::Named(word("kind"), word("name"))
    }

    /// What a patch in a text is for.
    fn inline(patch: Option<&Node>) -> Self {
        let (mut sources, mut report) = (Sources::default(), Report::default());
        let id = sources.add("", patch.and_then(Node::text).unwrap_or_default());
        let mut documents = yaml::documents(&sources, id, &mut report).into_iter();
        match (documents.next(), documents.next()) {
            (Some(only), None) => of_patch(&only.root).unwrap_or(Self::Any),
            _ => Self::Any,
        }
    }

    fn is(&self, object: &Object, files: &[(String, String, Option<String>)]) -> bool {
        let named = |kind: Option<&str>, name: Option<&str>| {
            // A layer between may have put something before the name, or behind it.
            let own = object.name.as_deref().unwrap_or_default();
            kind.is_none_or(|kind| kind == object.kind) && name.is_none_or(|it| it.contains(own))
        };
        match self {
            Self::Named(kind, name) => named(kind.as_deref(), name.as_deref()),
            Self::File(file) => {
                let mut own = files.iter().filter(|it| it.0 == *file).peekable();
                own.peek().is_none() || own.any(|it| named(Some(&it.1), it.2.as_deref()))
            }
            Self::Any => true,
        }
    }
}

fn of_patch(root: &Node) -> Option<Target> {
    let kind = root.get("kind")?.text()?.to_owned();
    let name = root.get("metadata")?.get("name")?.text()?.to_owned();
    Some(Target::Named(Some(kind), Some(name)))
}

impl Manifests {
    /// The objects that a kustomization patches, and those that are its patches: by their index.
    pub fn layered(&self, sources: &Sources) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        let path = |object: &Object| {
            let source = sources.get(object.root.span().source);
            source.map_or_else(String::new, |it| join("", it.path()))
        };
        let paths: Vec<_> = self.objects.iter().map(path).collect();
        // What each file holds, patches that are passed over among it.
        let objects = self.objects.iter().zip(&paths);
        let mut files: Vec<_> = objects
            .map(|(it, path)| (path.clone(), it.kind.clone(), it.name.clone()))
            .collect();
        files.extend(self.passed_over.iter().filter_map(|it| {
            let Why::Patch(title) = &it.why else {
                return None;
            };
            let (kind, name) = title.split_once(' ').unwrap_or((title, ""));
            let name = (!name.is_empty()).then(|| name.to_owned());
            Some((join("", &it.path), kind.to_owned(), name))
        }));
        for layer in self.layers.iter().filter(|it| !it.targets.is_empty()) {
            let mut reached = BTreeSet::new();
            self.reach(layer, &mut reached);
            for (index, object) in self.objects.iter().enumerate() {
                let is_patch = layer.files.contains(&paths[index]);
                let mut targets = layer.targets.iter();
                let is_patched = reached.contains(paths[index].as_str())
                    && targets.any(|target| target.is(object, &files));
                if is_patch || is_patched {
                    found.insert(index);
                }
            }
        }
        found
    }

    /// The files that a kustomization puts together, through others in their folders.
    fn reach<'m>(&'m self, layer: &'m Layer, reached: &mut BTreeSet<&'m str>) {
        for part in &layer.parts {
            if !reached.insert(part) {
                continue;
            }
            for other in self.layers.iter().filter(|it| it.folder == *part) {
                self.reach(other, reached);
            }
        }
    }
}

/// A path as seen from a folder, without `.` and without `..` where a folder stands before it.
fn join(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let whole = if path.starts_with('/') || folder.is_empty() {
        path.to_owned()
    } else {
        format!("{folder}/{path}")
    };
    for part in whole.split('/').filter(|it| *it != ".") {
        match parts.last() {
            Some(last) if part == ".." && *last != ".." && !last.is_empty() => {
                parts.pop();
            }
            _ if part.is_empty() && !parts.is_empty() => {}
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_seen_from_folders() {
        for (folder, path, expected) in [
            ("overlays/prod", "../../base", "base"),
            ("", "./a.yaml", "a.yaml"),
            ("../x", "../../y//z/", "../../y/z"),
            ("/a/b", "../c.yaml", "/a/c.yaml"),
            ("a", "/etc", "/etc"),
        ] {
            assert_eq!(join(folder, path), expected, "{folder} {path}");
        }
    }
}
