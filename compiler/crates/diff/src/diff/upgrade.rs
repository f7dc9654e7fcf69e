//! Changes caused by another version of gpuc, a chart or an image: compares the committed tree with the tree that this
//! gpuc builds from the same input.

use std::collections::BTreeMap;

use gpuc_compile::compile::Compilation;
use gpuc_compile::lock::{LOCK_FILE, Lock};
use gpuc_model::plan::{Delivery, Identity};
use gpuc_syntax::diag::Report;
use gpuc_syntax::node::Node;
use gpuc_syntax::source::Sources;
use gpuc_syntax::yaml;
use serde_json::Value as Json;

use super::changes::find_deltas;
use super::classify::DiffContext;
use super::entities::{Entities, EntityKey};
use super::fields::leaf_fields;
use super::files::FileContents;
use super::grouping::group_changes;
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
    pub built_from: Option<(String, Compilation)>,
}

/// The changes of an upgrade, and their reasons.
#[derive(Default)]
pub(super) struct Upgrade {
    pub(super) changes: Vec<Change>,
    pub(super) reasons: Vec<String>,
}

impl Committed {
    /// The files including the lock.
    pub(super) fn contents(&self) -> FileContents<'_> {
        let is_executable = |path: &str| self.lock.executable.contains(path);
        let files = self.files.iter();
        let files = files.map(|(path, text)| (path.as_str(), (text.as_str(), is_executable(path))));
        files
            .chain([(LOCK_FILE, (self.lock_text.as_str(), false))])
            .collect()
    }
}

/// The differences between the committed tree and the tree that this gpuc builds from the same input.
pub(super) fn find_upgrade(committed: &Committed, before: &Compilation, first: usize) -> Upgrade {
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
    let mut old_entities = entities_of_files(&committed.contents(), &actual);
    let texts = tree
        .files()
        .map(|(path, file)| (path, (file.contents.as_str(), file.executable)));
    let mut new_entities = entities_of_files(&texts.collect(), lock);
    new_entities.summary = plan.summary.clone();
    old_entities.summary = plan.summary.clone();
    // Unbuilt changes are reported by field if the input of the last build is known.
    let made_of = committed.built_from.as_ref();
    let built = made_of.and_then(|(_, built)| {
        Some((
            Entities::from_compilation(built)?,
            Entities::from_compilation(before)?,
        ))
    });
    let is_stale = committed.lock.input != lock.input && built.is_none();
    if let Some((mut old, new)) = built {
        old.add_files(&actual);
        let is_deleted = |key: &EntityKey| match key {
            EntityKey::File(path) => path != LOCK_FILE && !actual.files.contains_key(path),
            _ => false,
        };
        old.by_key.retain(|key, _| !is_deleted(key));
        (old_entities, new_entities) = (old, new);
    }
    let setting = DiffContext {
        before: &old_entities,
        after: &new_entities,
        prunes_removed: prunes_removed(before),
        lacks_input: is_stale,
    };
    let found = find_deltas(&old_entities, &new_entities);
    let causes = vec![Vec::new(); found.len()];
    let mut reasons = upgrade_reasons(&committed.lock, &actual, lock);
    reasons.extend(made_of.map(|(commit, _)| {
        format!("the committed tree was last built from the input in {commit}")
    }));
    Upgrade {
        changes: group_changes(&setting, &found, &causes, &[], first),
        reasons,
    }
}

/// Whether objects removed from the tree are pruned from the cluster.
fn prunes_removed(compilation: &Compilation) -> bool {
    let plan = compilation.plan.as_ref();
    plan.is_some_and(|plan| matches!(plan.delivery, Delivery::Gitops { .. }))
}

fn digests(files: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let digest = |text: &String| gpuc_compile::lock::digest(text.as_bytes());
    let digests = files
        .iter()
        .map(|(path, text)| (path.clone(), digest(text)));
    digests.collect()
}

/// The reasons of an upgrade, a sentence each.
fn upgrade_reasons(committed: &Lock, actual: &Lock, built: &Lock) -> Vec<String> {
    let mut moved = Vec::new();
    if committed.gpuc != built.gpuc {
        moved.push(format!("gpuc {} → {}", committed.gpuc, built.gpuc));
    }
    for (release, pin) in &built.pins.charts {
        let old = committed.pins.charts.get(release);
        if let Some(old) = old.filter(|old| *old != pin) {
            moved.push(format!(
                "chart {} of {release} {} → {}",
                pin.chart, old.version, pin.version
            ));
        }
    }
    let gone = committed.pins.images.difference(&built.pins.images);
    for old in gone {
        let name = |image: &str| image.rsplit_once(':').map(|(name, _)| name.to_owned());
        let new = built
            .pins
            .images
            .difference(&committed.pins.images)
            .find(|new| name(new) == name(old));
        if let Some(new) = new {
            moved.push(format!("image {old} → {new}"));
        }
    }
    for (pool, machine) in &built.pins.machines {
        let old = committed.pins.machines.get(pool);
        if let Some(old) = old.filter(|old| *old != machine) {
            moved.push(format!("machine of {pool} {old} → {machine}"));
        }
    }
    if committed.files != actual.files {
        moved.push("files of the committed tree were edited by hand".to_owned());
    }
    if committed.input != built.input {
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
fn entities_of_files(files: &FileContents<'_>, lock: &Lock) -> Entities {
    let mut entities = Entities::default();
    for (path, (text, _)) in files {
        if path
            .rsplit_once('.')
            .is_none_or(|(_, ending)| ending != "yaml")
        {
            continue;
        }
        let Some(root) = parse_file(path, text) else {
            continue;
        };
        let Some(key) = entity_key(path, &root, lock) else {
            continue;
        };
        let is_release = matches!(key, EntityKey::Release(_));
        let entity = entities.by_key.entry(key).or_default();
        entity.files.insert((*path).to_owned());
        let folder = path.split('/').nth(1).unwrap_or_default();
        folder.clone_into(&mut entity.component);
        if is_release {
            let values = leaf_fields(&root).into_iter();
            entity
                .fields
                .extend(values.map(|(path, leaf)| (format!("values.{path}"), leaf)));
        } else {
            entity.fields = leaf_fields(&root);
        }
    }
    for (release, pin) in &lock.pins.charts {
        let entity = entities
            .by_key
            .entry(EntityKey::Release(release.clone()))
            .or_default();
        entity.chart = gpuc_compile::charts::chart_named(&pin.chart);
        let version = super::fields::FieldValue {
            value: Json::from(pin.version.clone()),
            inputs: Vec::new(),
        };
        entity.fields.insert("chart version".to_owned(), version);
    }
    entities.add_files(lock);
    entities
}

fn parse_file(path: &str, text: &str) -> Option<Node> {
    let mut sources = Sources::default();
    let id = sources.add(path, text);
    let documents = yaml::parse(&sources, id, &mut Report::default());
    Some(documents.into_iter().next()?.root)
}

/// The entity that a file describes; `None` for files that are compared as text.
fn entity_key(path: &str, root: &Node, lock: &Lock) -> Option<EntityKey> {
    let folders: Vec<&str> = path.split('/').collect();
    let text = |node: &Node, key: &str| node.get(key).and_then(Node::text).map(str::to_owned);
    if let ["helm", release, "values.yaml"] = folders.as_slice() {
        let known = lock.pins.charts.contains_key(*release);
        return known.then(|| EntityKey::Release((*release).to_owned()));
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
        ["manifests", ..] => Some(EntityKey::for_object(&identity)),
        ["flux" | "argocd", ..] => Some(EntityKey::ControllerObject(identity.kind, identity.name)),
        _ => None,
    }
}
