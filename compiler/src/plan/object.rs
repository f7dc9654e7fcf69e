//! What is put into a cluster: objects and Helm releases.

use crate::node::{Node, Origin};

/// A Kubernetes object.
#[derive(Clone, Debug)]
pub struct Object {
    /// The part of the cluster it belongs to: the folder below `manifests/`.
    pub component: String,
    /// What it is called.
    pub identity: Identity,
    /// The object.
    pub node: Node,
}

/// What a Kubernetes object is called.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity {
    /// The API group and version.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The namespace, for what has one.
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
}

impl Object {
    /// An object. Its identity is read from the object itself, so that they cannot differ.
    pub fn new(component: &str, object: &impl serde::Serialize, origin: Origin) -> Self {
        let node = Node::typed(object, origin);
        let text = |node: &Node, key: &str| {
            let text = node.get(key).and_then(Node::text);
            text.map(str::to_owned)
        };
        let metadata = node.get("metadata").cloned();
        let metadata = metadata.expect("every object of ours has metadata");
        let identity = Identity {
            api_version: text(&node, "apiVersion").expect("every object of ours has a version"),
            kind: text(&node, "kind").expect("every object of ours has a kind"),
            namespace: text(&metadata, "namespace"),
            name: text(&metadata, "name").expect("every object of ours has a name"),
        };
        Self {
            component: component.to_owned(),
            identity,
            node,
        }
    }
}

/// A Helm release.
#[derive(Clone, Debug)]
pub struct Release {
    /// The release's name.
    pub name: String,
    /// The chart.
    pub chart: &'static crate::chart::Chart,
    /// Where the chart is pulled from: its own repository, or the user's in front of it.
    pub repository: String,
    /// The namespace.
    pub namespace: String,
    /// The values: gpuc's own, and the user's over them.
    pub values: Node,
    /// The pools that it serves.
    pub pools: Vec<String>,
    /// The DaemonSets that it makes on the nodes of each of these pools, in its namespace.
    pub daemon_sets: Vec<String>,
}

impl Release {
    /// Whether the chart is pulled from a registry of images.
    pub fn is_oci(&self) -> bool {
        self.repository.starts_with("oci://")
    }

    /// The URL of the chart itself in a registry.
    pub fn oci_url(&self) -> String {
        format!("{}/{}", self.repository, self.chart.name)
    }

    /// The images that it runs, and those that it starts for people.
    pub fn images(&self) -> Vec<String> {
        let images = crate::chart::images::running(self.chart.name, &self.values);
        let images = images.into_iter().map(|image| image.reference);
        let started = crate::chart::images::started(self.chart.name, &self.values);
        images.chain(started).collect()
    }
}
