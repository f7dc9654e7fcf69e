//! Changes caused by another version of gpuc, a chart or an image: compares the committed tree with the tree that this
//! gpuc builds from the same input.

use std::collections::BTreeMap;

use gpuc_compile::compile::Compilation;
use gpuc_compile::lock::{LOCK_FILE, Lock};
use gpuc_model::plan::Identity;
use gpuc_syntax::diag::Report;
use gpuc_syntax::node::Node;
use gpuc_syntax::source::Sources;
use gpuc_syntax::yaml;
use serde_json::Value as Json;

use super::changes::deltas;
use super::classify::Setting;
use super::entities::{Key, Parts};
use super::fields::leaves;
use super::files::Contents;
use super::lines::lines;
use super::report::Change;

/// A committed tree.
pub struct Committed {
    /// The lock.
    pub lock: Lock,
    /// The lock's text.
    pub lock_text: String,
    /// The known files by path.
    pub files: BTreeMap<String, String>,
    /// The commit and the input that it was built from, if known and different from the base.
    pub made_of: Option<(String, Compilation)>,
}

/// The changes of an upgrade, and their reasons.
#[derive(Default)]
pub(super) struct Upgrade {
    pub(super) changes: Vec<Change>,
    pub(super) because: Vec<String>,
}

impl Committed {
    /// The files including the lock.
    pub(super) fn contents(&self) -> Contents<'_> {
        let runs = |path: &str| self.lock.executable.contains(path);
        let files = self.files.iter();
        let files = files.map(|(path, text)| (path.as_str(), (text.as_str(), runs(path))));
        files
            .chain([(LOCK_FILE, (self.lock_text.as_str(), false))])
            .collect()
    }
}

/// The differences between the committed tree and the tree that this gpuc builds from the same input.
pub(super) fn upgrade(committed: &Committed, before: &Compilation, first: usize) -> Upgrade {
    let (Some((tree, lock)), Some(plan)) = (&before.output, &before.plan) else {
        return Upgrade::default();
    };
    // The lock records the files that gpuc wrote; the actual files may have been edited since.
    let mut actual = committed.lock.clone();
    actual.files = digests(&committed.files);
    actual.from.clone_from(&lock.from);
    if actual == *lock {
        return Upgrade::default();
    }
    let was = of_files(&committed.contents(), &actual);
    let texts = tree
        .files()
        .map(|(path, file)| (path, (file.contents.as_str(), file.executable)));
    let mut is = of_files(&texts.collect(), lock);
    is.summary = plan.summary.clone();
    let mut was = was;
    was.summary = plan.summary.clone();
    // Unbuilt changes are reported by field if the input of the last build is known.
    let made_of = committed.made_of.as_ref();
    let built = made_of.and_then(|(_, built)| Some((Parts::of(built)?, Parts::of(before)?)));
    let is_stale = committed.lock.input != lock.input && built.is_none();
    if let Some((mut old, new)) = built {
        old.files(&actual);
        let gone = |key: &Key| matches!(key, Key::File(path) if !actual.files.contains_key(path) && path != LOCK_FILE);
        old.all.retain(|key, _| !gone(key));
        (was, is) = (old, new);
    }
    let setting = Setting {
        before: &was,
        after: &is,
        prunes: super::prunes(before),
        is_stale,
    };
    let found = deltas(&was, &is);
    let causes = vec![Vec::new(); found.len()];
    let mut because = moved(&committed.lock, &actual, lock);
    because.extend(made_of.map(|(commit, _)| {
        format!("the committed tree was last built from the input in {commit}")
    }));
    Upgrade {
        changes: lines(&setting, &found, &causes, &[], first),
        because,
    }
}

fn digests(files: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let digest = |text: &String| gpuc_compile::lock::digest(text.as_bytes());
    let digests = files
        .iter()
        .map(|(path, text)| (path.clone(), digest(text)));
    digests.collect()
}

/// The reasons of an upgrade, a sentence each.
fn moved(was: &Lock, actual: &Lock, is: &Lock) -> Vec<String> {
    let mut moved = Vec::new();
    if was.gpuc != is.gpuc {
        moved.push(format!("gpuc {} → {}", was.gpuc, is.gpuc));
    }
    for (release, pin) in &is.pins.charts {
        let old = was.pins.charts.get(release);
        if let Some(old) = old.filter(|old| *old != pin) {
            moved.push(format!(
                "chart {} of {release} {} → {}",
                pin.chart, old.version, pin.version
            ));
        }
    }
    let gone = was.pins.images.difference(&is.pins.images);
    for old in gone {
        let name = |image: &str| image.rsplit_once(':').map(|(name, _)| name.to_owned());
        let new = is
            .pins
            .images
            .difference(&was.pins.images)
            .find(|new| name(new) == name(old));
        if let Some(new) = new {
            moved.push(format!("image {old} → {new}"));
        }
    }
    for (pool, machine) in &is.pins.machines {
        let old = was.pins.machines.get(pool);
        if let Some(old) = old.filter(|old| *old != machine) {
            moved.push(format!("machine of {pool} {old} → {machine}"));
        }
    }
    if was.files != actual.files {
        moved.push("files of the committed tree were edited by hand".to_owned());
    }
    if was.input != is.input {
        moved.push(
            "the committed tree was not built from the base's input: only one of the two was \
            changed"
                .to_owned(),
        );
    }
    if moved.is_empty() {
        moved.push(
            "this gpuc generates other files than the gpuc of the same version that built the base"
                .to_owned(),
        );
    }
    moved
}

/// The entities of a tree of which only the files are known.
fn of_files(files: &Contents<'_>, lock: &Lock) -> Parts {
    let mut parts = Parts::default();
    for (path, (text, _)) in files {
        if path
            .rsplit_once('.')
            .is_none_or(|(_, ending)| ending != "yaml")
        {
            continue;
        }
        let Some(root) = read(path, text) else {
            continue;
        };
        let Some(key) = key(path, &root, lock) else {
            continue;
        };
        let is_release = matches!(key, Key::Release(_));
        let part = parts.all.entry(key).or_default();
        part.files.insert((*path).to_owned());
        let folder = path.split('/').nth(1).unwrap_or_default();
        folder.clone_into(&mut part.component);
        if is_release {
            let values = leaves(&root).into_iter();
            part.leaves
                .extend(values.map(|(path, leaf)| (format!("values.{path}"), leaf)));
        } else {
            part.leaves = leaves(&root);
        }
    }
    for (release, pin) in &lock.pins.charts {
        let part = parts.all.entry(Key::Release(release.clone())).or_default();
        part.chart = gpuc_compile::charts::of(&pin.chart);
        let version = super::fields::Leaf {
            value: Json::from(pin.version.clone()),
            inputs: Vec::new(),
        };
        part.leaves.insert("chart version".to_owned(), version);
    }
    parts.files(lock);
    parts
}

fn read(path: &str, text: &str) -> Option<Node> {
    let mut sources = Sources::default();
    let id = sources.add(path, text);
    let documents = yaml::parse(&sources, id, &mut Report::default());
    Some(documents.into_iter().next()?.root)
}

/// The entity that a file describes; `None` for files that are compared as text.
fn key(path: &str, root: &Node, lock: &Lock) -> Option<Key> {
    let folders: Vec<&str> = path.split('/').collect();
    let text = |node: &Node, key: &str| node.get(key).and_then(Node::text).map(str::to_owned);
    if let ["helm", release, "values.yaml"] = folders.as_slice() {
        let known = lock.pins.charts.contains_key(*release);
        return known.then(|| Key::Release((*release).to_owned()));
    }
    let api_version = text(root, "apiVersion")?;
    let metadata = root.get("metadata")?;
    let identity = Identity {
        kind: text(root, "kind")?,
        namespace: text(metadata, "namespace"),
        name: text(metadata, "name")?,
        api_version,
    };
    match folders.as_slice() {
        ["manifests", ..] => Some(Key::object(&identity)),
        ["flux" | "argocd", ..] => Some(Key::Sync(identity.kind, identity.name)),
        _ => None,
    }
}
