//! Reads a folder of files into the state of a cluster: snapshots of `gpuc snapshot`, the output of
//! `kubectl get -o json` or `-o yaml`, must-gather folders and troubleshoot bundles.
//!
//! Files are recognized by their content. Descriptions of node pools by the clouds' command-line tools are read too;
//! other files that contain no objects of Kubernetes are ignored.

mod cloud;
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
    /// A file that could not be read, and whose kind is not known.
    unknown_failure: Option<String>,
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
            Ok(Content::Objects {
                items,
                extents,
                pools,
            }) => {
                self.state.cloud_pools.extend(pools);
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
                let reason = format!("{path}: {error}");
                match kind {
                    Some(kind) => {
                        self.failed.insert(kind, reason);
                    }
                    // It may contain objects of every kind.
                    None => self.unknown_failure = Some(reason),
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
            self.state.unread_logs = manifest.unread_logs;
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
            Some(_) if self.unknown_failure.is_some() => Completeness::Truncated {
                reason: self.unknown_failure.clone().unwrap_or_default(),
            },
            Some(extent) => extent.completeness(&self.namespaces(kind)),
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

    /// The namespaces of the pods or DaemonSets that were read, of which every cluster has some in `kube-system`; empty
    /// for other kinds, and for clusters without DaemonSets.
    fn namespaces(&self, kind: Kind) -> BTreeSet<&str> {
        match kind {
            Kind::Pod => (self.state.pods.items.iter())
                .map(|pod| pod.metadata.namespace.as_str())
                .collect(),
            Kind::DaemonSet => (self.state.daemon_sets.items.iter())
                .map(|it| it.metadata.namespace.as_str())
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The state in these files.
    fn read(files: &[(&str, &[u8])]) -> (ClusterState, Vec<ReadProblem>) {
        let paths: Vec<String> = files.iter().map(|(path, _)| (*path).to_owned()).collect();
        let load = |path: &str| {
            let found = files.iter().find(|(name, _)| *name == path);
            found
                .map(|(_, bytes)| bytes.to_vec())
                .ok_or_else(String::new)
        };
        read_files(&paths, &load)
    }

    const NODES: &str =
        r#"{"kind": "NodeList", "apiVersion": "v1", "items": [{"metadata": {"name": "a"}}]}"#;

    fn list(kind: &str, namespaces: &[&str]) -> String {
        let items = namespaces.iter().map(|namespace| {
            format!(r#"{{"metadata": {{"name": "a", "namespace": "{namespace}"}}}}"#)
        });
        let items: Vec<_> = items.collect();
        let group = if kind == "Pod" { "v1" } else { "apps/v1" };
        format!(
            r#"{{"kind": "{kind}List", "apiVersion": "{group}", "items": [{}]}}"#,
            items.join(", ")
        )
    }

    #[test]
    fn files_of_powershell_are_read() {
        let units: Vec<u16> = NODES.encode_utf16().collect();
        let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        let big: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
        for text in [
            [&[0xff, 0xfe][..], &little].concat(),
            [&[0xfe, 0xff][..], &big].concat(),
            [&[0xef, 0xbb, 0xbf][..], NODES.as_bytes()].concat(),
        ] {
            let (state, problems) = read(&[("nodes.json", &text)]);
            assert_eq!((state.nodes.items.len(), problems), (1, vec![]));
        }
    }

    #[test]
    fn lists_of_some_namespaces_are_incomplete() {
        for (kind, namespaces, is_complete) in [
            (Kind::Pod, &["ml", "kube-system"][..], true),
            (Kind::Pod, &["ml", "web"], false),
            (Kind::DaemonSet, &["ml"], false),
            (Kind::DaemonSet, &["gpu", "kube-system"], true),
            (Kind::DaemonSet, &[], true),
        ] {
            let text = list(kind.info().name, namespaces);
            let (state, _) = read(&[("a.json", text.as_bytes())]);
            assert_eq!(
                state.completeness(kind).is_complete(),
                is_complete,
                "{text}"
            );
        }
    }

    #[test]
    fn single_objects_are_a_list_only_in_a_must_gather() {
        let node = br#"{"kind": "Node", "apiVersion": "v1", "metadata": {"name": "a"}}"#;
        let (state, _) = read(&[("node.json", node)]);
        assert!(!state.nodes.completeness.is_complete());
        let (state, _) = read(&[("x/cluster-scoped-resources/core/nodes/a.json", node)]);
        assert_eq!(state.nodes.completeness, Completeness::Complete);
    }

    #[test]
    fn a_file_of_unknown_content_makes_every_kind_incomplete() {
        let cut = br#"{"kind": "List", "apiVersion": "v1", "items": [{"#;
        let (state, problems) = read(&[("nodes.json", NODES.as_bytes()), ("more.json", cut)]);
        assert_eq!(problems.len(), 1);
        assert!(!state.nodes.completeness.is_complete());
    }

    #[test]
    fn an_odd_object_does_not_hide_the_others() {
        for head in [r#""kind": "List""#, r#""kind": "PodList""#] {
            let pod = |name: &str, more: &str| {
                format!(
                    r#"{{"kind": "Pod", "apiVersion": "v1", "metadata": {{"name": "{name}", "namespace": "kube-system"}}{more}}}"#
                )
            };
            let odd = pod("odd", r#", "spec": {"nodeName": [1]}"#);
            let (first, last) = (pod("a", ""), pod("b", ""));
            let list =
                format!(r#"{{{head}, "apiVersion": "v1", "items": [{first}, {odd}, {last}]}}"#);
            let (state, problems) = read(&[("objects.json", list.as_bytes())]);
            assert_eq!(problems, []);
            let names: Vec<&str> = state
                .pods
                .items
                .iter()
                .map(|it| it.metadata.name.as_str())
                .collect();
            assert_eq!(names, ["a", "b"]);
            let reason = state.pods.completeness.to_string();
            assert!(
                reason.contains("`kube-system/odd` has a value of an unexpected type"),
                "{reason}"
            );
        }
    }

    #[test]
    fn an_empty_list_has_the_kind_of_its_file() {
        let empty = br#"{"apiVersion": "v1", "items": [], "kind": "List", "metadata": {"resourceVersion": ""}}"#;
        for (path, is_complete) in [
            ("case/persistentvolumes.json", true),
            ("persistentvolumes", true),
            ("objects.json", false),
            ("persistentvolumeclaims.json", false),
        ] {
            let (state, problems) = read(&[(path, empty)]);
            assert_eq!(problems, []);
            let found = state.completeness(Kind::PersistentVolume).is_complete();
            assert_eq!(found, is_complete, "{path}");
        }
    }

    #[test]
    fn problems_are_sentences_with_a_line() {
        for (path, text, expected) in [
            (
                "a.json",
                "{\"kind\": \"List\",\n\"items\": [{\n",
                "line 3: the JSON text ends early",
            ),
            (
                "a.json",
                "{\"kind\": \"List\",\n\"items\": [x]}",
                "line 2: the text is not valid JSON at column 11",
            ),
            (
                "a.json",
                "{\"kind\": \"List\",\n\"items\": 7}",
                "line 2: the value at column 10 is not of the type",
            ),
            (
                "a.json",
                "Error from server",
                "line 1: the text is not JSON",
            ),
            (
                "a.yaml",
                "kind: List\nitems:\n  - a: b\n   c: {\n",
                "line 4: the text is not valid YAML",
            ),
            (
                "a.yaml",
                "a: &a [x]\nb: [*a]\n",
                "aliases (`*name`) are not supported",
            ),
        ] {
            let (_, problems) = read(&[(path, text.as_bytes())]);
            let errors: Vec<&str> = problems.iter().map(|it| it.error.as_str()).collect();
            assert_eq!(errors.len(), 1, "{text}");
            assert!(errors[0].contains(expected), "{errors:?}");
        }
    }

    #[test]
    fn large_yaml_is_read_and_aliases_are_refused() {
        let item = "- metadata: {name: a, labels: {a: b}}\n  kind: Node\n  apiVersion: v1\n";
        let text = format!(
            "kind: List\napiVersion: v1\nitems:\n{}",
            item.repeat(40_000)
        );
        let (state, problems) = read(&[("a.yaml", text.as_bytes())]);
        // They have one name.
        assert_eq!((state.nodes.items.len(), problems), (1, vec![]));
        let (_, problems) = read(&[("a.yaml", b"a: &a [x]\nb: [*a, *a]\n")]);
        assert_eq!(problems.len(), 1);
        assert!(!problems[0].error.contains('\n'));
    }
}
