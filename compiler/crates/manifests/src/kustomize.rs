//! Kustomizations that patch the objects of other files: only their build result is applied.

use std::collections::BTreeSet;

use gpuc_syntax::diag::Report;
use gpuc_syntax::node::Node;
use gpuc_syntax::source::Sources;
use gpuc_syntax::yaml;

use super::object::Object;
use super::read::{Manifests, SkipReason};

/// The file names of kustomize.
///
/// Source: kubernetes-sigs/kustomize `api/konfig/general.go`, `RecognizedKustomizationFileNames` (from memory).
const FILE_NAMES: &[&str] = &["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// The keys of files and folders that a kustomization includes.
const INCLUDE_KEYS: &[&str] = &["resources", "bases", "components"];

/// The keys that change objects without naming them in this file.
const UNTARGETED_KEYS: &[&str] = &["components", "replacements", "transformers"];

/// A kustomization.
#[derive(Clone, Debug)]
pub(super) struct Kustomization {
    /// Its folder.
    folder: String,
    /// The files and folders that it includes.
    included: Vec<String>,
    /// The files of its patches.
    patch_files: Vec<String>,
    /// The targets of its patches.
    targets: Vec<Target>,
    /// Whether it sets the namespace of all objects.
    pub(super) sets_namespace: bool,
    /// Whether it adds labels, which may include those of selectors.
    pub(super) sets_labels: bool,
}

/// The target of a patch.
#[derive(Clone, Debug)]
enum Target {
    /// Objects of this kind and name, if set.
    Named(Option<String>, Option<String>),
    /// The objects that a file with a strategic merge patch names.
    File(String),
    /// All objects.
    Any,
}

/// Whether the file name is one of a kustomization.
pub(super) fn is_kustomization(path: &str) -> bool {
    FILE_NAMES.contains(&path.rsplit('/').next().unwrap_or(path))
}

impl Kustomization {
    /// Reads the document of a file.
    pub(super) fn from_document(path: &str, root: &Node) -> Self {
        let folder = path.rsplit_once('/').map_or("", |it| it.0).to_owned();
        let list = |key: &str| root.get(key).map_or(&[][..], Node::items).iter();
        let resolve = |text: &str| join_path(&folder, text);
        let included_files = INCLUDE_KEYS
            .iter()
            .flat_map(|key| list(key))
            .filter_map(Node::text);
        let included = included_files.map(resolve).collect();
        let (mut files, mut targets) = (Vec::new(), Vec::new());
        for patch in list("patches").chain(list("patchesJson6902")) {
            let file = patch.get("path").and_then(Node::text).map(resolve);
            files.extend(file.clone());
            targets.push(match (patch.get("target"), file) {
                (Some(target), _) => Target::from_selector(target),
                (None, Some(file)) => Target::File(file),
                (None, None) => Target::from_inline_patch(patch.get("patch")),
            });
        }
        for patch in list("patchesStrategicMerge") {
            let text = patch.text().unwrap_or_default();
            if text.contains('\n') {
                targets.push(Target::from_inline_patch(Some(patch)));
            } else {
                files.push(resolve(text));
                targets.push(Target::File(resolve(text)));
            }
        }
        if UNTARGETED_KEYS.iter().any(|key| list(key).next().is_some()) {
            targets.push(Target::Any);
        }
        let has_any = |keys: &[&str]| keys.iter().any(|key| root.get(key).is_some());
        Self {
            sets_namespace: has_any(&["namespace"]),
            sets_labels: has_any(&["commonLabels"])
                || list("labels")
                    .any(|it| it.get("includeSelectors").and_then(Node::text) == Some("true")),
            folder,
            included,
            patch_files: files,
            targets,
        }
    }
}

impl Target {
    fn from_selector(node: &Node) -> Self {
        // Both are regular expressions; most of them are plain words.
        let plain_pattern = |key: &str| {
            let text = node.get(key)?.text()?;
            let is_word = |c: char| c.is_ascii_alphanumeric() || c == '-';
            text.chars().all(is_word).then(|| text.to_owned())
        };
        Self::Named(plain_pattern("kind"), plain_pattern("name"))
    }

    /// The target of an inline patch.
    fn from_inline_patch(patch: Option<&Node>) -> Self {
        let (mut sources, mut report) = (Sources::default(), Report::default());
        let id = sources.add("", patch.and_then(Node::text).unwrap_or_default());
        let mut documents = yaml::parse_allow_empty(&sources, id, &mut report).into_iter();
        match (documents.next(), documents.next()) {
            (Some(only), None) => target_of_patch(&only.root).unwrap_or(Self::Any),
            _ => Self::Any,
        }
    }

    fn matches(&self, object: &Object, files: &[(String, String, Option<String>)]) -> bool {
        let named = |kind: Option<&str>, name: Option<&str>| {
            // A kustomization in between may have added a prefix or suffix to the name.
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

fn target_of_patch(root: &Node) -> Option<Target> {
    let kind = root.get("kind")?.text()?.to_owned();
    let name = root.get("metadata")?.get("name")?.text()?.to_owned();
    Some(Target::Named(Some(kind), Some(name)))
}

impl Manifests {
    /// The indices of the objects that a kustomization patches, and of those that are its patches.
    pub fn patched_objects(&self, sources: &Sources) -> BTreeSet<usize> {
        let mut found = BTreeSet::new();
        let path = |object: &Object| {
            let source = sources.get(object.root.span().source);
            source.map_or_else(String::new, |it| join_path("", it.path()))
        };
        let paths: Vec<_> = self.objects.iter().map(path).collect();
        // The objects of each file, including skipped patches.
        let objects = self.objects.iter().zip(&paths);
        let mut files: Vec<_> = objects
            .map(|(it, path)| (path.clone(), it.kind.clone(), it.name.clone()))
            .collect();
        files.extend(self.skipped.iter().filter_map(|it| {
            let SkipReason::Patch(title) = &it.reason else {
                return None;
            };
            let (kind, name) = title.split_once(' ').unwrap_or((title, ""));
            let name = (!name.is_empty()).then(|| name.to_owned());
            Some((join_path("", &it.path), kind.to_owned(), name))
        }));
        for layer in self
            .kustomizations
            .iter()
            .filter(|it| !it.targets.is_empty())
        {
            let mut reached = BTreeSet::new();
            self.collect_included(layer, &mut reached);
            for (index, object) in self.objects.iter().enumerate() {
                let is_patch = layer.patch_files.contains(&paths[index]);
                let mut targets = layer.targets.iter();
                let is_patched = reached.contains(paths[index].as_str())
                    && targets.any(|target| target.matches(object, &files));
                if is_patch || is_patched {
                    found.insert(index);
                }
            }
        }
        found
    }

    /// Collects the files that a kustomization includes, directly or through other kustomizations.
    fn collect_included<'m>(&'m self, layer: &'m Kustomization, reached: &mut BTreeSet<&'m str>) {
        for part in &layer.included {
            if !reached.insert(part) {
                continue;
            }
            for other in self.kustomizations.iter().filter(|it| it.folder == *part) {
                self.collect_included(other, reached);
            }
        }
    }
}

/// A path relative to a folder, normalized: without `.`, and without `..` after a folder.
fn join_path(folder: &str, path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let joined = if path.starts_with('/') || folder.is_empty() {
        path.to_owned()
    } else {
        format!("{folder}/{path}")
    };
    for part in joined.split('/').filter(|it| *it != ".") {
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
    fn paths_are_relative_to_folders() {
        for (folder, path, expected) in [
            ("overlays/prod", "../../base", "base"),
            ("", "./a.yaml", "a.yaml"),
            ("../x", "../../y//z/", "../../y/z"),
            ("/a/b", "../c.yaml", "/a/c.yaml"),
            ("a", "/etc", "/etc"),
        ] {
            assert_eq!(join_path(folder, path), expected, "{folder} {path}");
        }
    }
}
