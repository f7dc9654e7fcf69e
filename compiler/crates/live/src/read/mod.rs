//! Reads a folder of files into the state of a cluster: snapshots of `gpuc snapshot`, the output of
//! `kubectl get -o json` or `-o yaml`, must-gather folders and troubleshoot bundles.
//!
//! Files are recognized by their content. Files that contain no objects of Kubernetes are ignored.

mod content;
mod logs;
mod manifest;

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

pub use manifest::{KindEntry, MANIFEST_FILE, Manifest, resource_name};

use crate::objects::{DaemonSet, Event, Node, Object, Pod};
use crate::state::{ClusterState, Completeness, Kind};
use content::{Content, Extent};

/// A problem with a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadProblem {
    /// The path in the folder.
    pub path: String,
    /// The error.
    pub error: String,
}

/// Loads the content of a file; an error is a text for people.
pub type Loader<'l> = dyn Fn(&str) -> Result<Vec<u8>, String> + Sync + 'l;

/// Reads the files at these paths, which contain `/`. Files with errors are reported, and the kind that such a file
/// belongs to is not complete.
pub fn read_files(paths: &[String], load: &Loader<'_>) -> (ClusterState, Vec<ReadProblem>) {
    let contents: Vec<_> = paths
        .par_iter()
        .map(|path| match load(path) {
            // Only the parsed objects are kept.
            Ok(bytes) => content::parse(path, &bytes),
            Err(error) => Err(content::Unreadable::new(path, error)),
        })
        .collect();
    let mut builder = StateBuilder::default();
    for (path, content) in paths.iter().zip(contents) {
        builder.add_content(path, content);
    }
    builder.finish()
}

/// One object of a file.
#[derive(Debug)]
enum Item {
    Node(Box<Node>),
    Pod(Box<Pod>),
    Event(Box<Event>),
    DaemonSet(Box<DaemonSet>),
    Other(Kind, Box<Object>),
}

/// Builds the state of a cluster from files, one after the other.
#[derive(Debug, Default)]
pub struct StateBuilder {
    state: ClusterState,
    problems: Vec<ReadProblem>,
    manifest: Option<Manifest>,
    extents: BTreeMap<Kind, Extent>,
    failed: BTreeMap<Kind, String>,
}

impl StateBuilder {
    /// Adds a file. An error is reported by [`Self::finish`].
    pub fn add(&mut self, path: &str, bytes: &[u8]) {
        self.add_content(path, content::parse(path, bytes));
    }

    /// The objects that were added. They are not sorted, and their completeness is not known yet.
    pub fn state(&self) -> &ClusterState {
        &self.state
    }

    fn add_content(&mut self, path: &str, content: Result<Content, content::Unreadable>) {
        match content {
            Ok(Content::Objects { items, extents }) => {
                for (kind, extent) in extents {
                    let known = self.extents.entry(kind).or_insert_with(|| extent.clone());
                    known.merge(extent);
                }
                for item in items {
                    self.add_item(item);
                }
            }
            Ok(Content::Log(log)) => self.state.logs.push(log),
            Ok(Content::Manifest(manifest)) => self.manifest = Some(manifest),
            Ok(Content::Ignored) => {}
            Err(content::Unreadable { kind, error }) => {
                if let Some(kind) = kind {
                    self.failed.insert(kind, format!("{path}: {error}"));
                }
                let path = path.to_owned();
                self.problems.push(ReadProblem { path, error });
            }
        }
    }

    fn add_item(&mut self, item: Item) {
        let state = &mut self.state;
        match item {
            Item::Node(node) => state.nodes.items.push(*node),
            Item::Pod(pod) => state.pods.items.push(*pod),
            Item::Event(event) => state.events.items.push(*event),
            Item::DaemonSet(daemon_set) => state.daemon_sets.items.push(*daemon_set),
            Item::Other(kind, object) => {
                let listing = state.others.entry(kind).or_default();
                listing.items.push(*object);
            }
        }
    }

    /// The state, and the files with errors.
    pub fn finish(mut self) -> (ClusterState, Vec<ReadProblem>) {
        self.state.sort();
        remove_duplicates(&mut self.state);
        if let Some(manifest) = &self.manifest {
            self.state.collected_at = manifest.collected_at();
            self.state
                .server_version
                .clone_from(&manifest.server_version);
        }
        let kinds: BTreeSet<Kind> = (crate::state::KINDS.iter().map(|info| info.kind)).collect();
        for kind in kinds {
            let completeness = self.completeness(kind);
            match kind {
                Kind::Node => self.state.nodes.completeness = completeness,
                Kind::Pod => self.state.pods.completeness = completeness,
                Kind::Event => self.state.events.completeness = completeness,
                Kind::DaemonSet => self.state.daemon_sets.completeness = completeness,
                other => {
                    let listing = self.state.others.entry(other).or_default();
                    listing.completeness = completeness;
                }
            }
        }
        (self.state, self.problems)
    }

    fn completeness(&self, kind: Kind) -> Completeness {
        if let Some(error) = self.failed.get(&kind) {
            let error = error.clone();
            return Completeness::Failed { error };
        }
        if let Some(manifest) = &self.manifest {
            return manifest.completeness(kind, self.count(kind));
        }
        match self.extents.get(&kind) {
            None => Completeness::NotRead,
            Some(extent) => extent.completeness(self.namespaces(kind)),
        }
    }

    fn count(&self, kind: Kind) -> usize {
        let state = &self.state;
        match kind {
            Kind::Node => state.nodes.items.len(),
            Kind::Pod => state.pods.items.len(),
            Kind::Event => state.events.items.len(),
            Kind::DaemonSet => state.daemon_sets.items.len(),
            other => state.objects(other).len(),
        }
    }

    /// The namespaces of the pods or events that were read. Every cluster has some in `kube-system`.
    fn namespaces(&self, kind: Kind) -> BTreeSet<&str> {
        match kind {
            Kind::Pod => (self.state.pods.items.iter())
                .map(|pod| pod.metadata.namespace.as_str())
                .collect(),
            _ => BTreeSet::new(),
        }
    }
}

/// Removes objects that several files contain. The lists are sorted.
fn remove_duplicates(state: &mut ClusterState) {
    macro_rules! dedup {
        ($list:expr) => {
            $list.dedup_by(|a, b| {
                (&a.metadata.namespace, &a.metadata.name)
                    == (&b.metadata.namespace, &b.metadata.name)
            })
        };
    }
    dedup!(state.nodes.items);
    dedup!(state.pods.items);
    dedup!(state.events.items);
    dedup!(state.daemon_sets.items);
    for listing in state.others.values_mut() {
        dedup!(listing.items);
    }
    state.logs.dedup();
}
