//! Kubernetes objects and Helm releases.

use gpuc_syntax::node::{Node, Origin};

use super::Chart;

/// A Kubernetes object.
#[derive(Clone, Debug)]
pub struct Object {
    /// Its component, which is its folder below `manifests/`.
    pub component: String,
    /// Its identity.
    pub identity: Identity,
    /// The object.
    pub node: Node,
}

/// The identity of a Kubernetes object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity {
    /// The API group and version.
    pub api_version: String,
    /// The kind.
    pub kind: String,
    /// The namespace; `None` for cluster-scoped objects.
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
}

impl Object {
    /// Creates an object. Its identity is derived from the object itself, so that they cannot differ.
    pub fn new(component: &str, object: &impl serde::Serialize, origin: Origin) -> Self {
        let node = Node::from_serializable(object, origin);
        let text = |node: &Node, key: &str| {
            let text = node.get(key).and_then(Node::text);
            text.map(str::to_owned)
        };
        let metadata = node.get("metadata").cloned();
        let metadata = metadata.expect("every object has metadata");
        let identity = Identity {
            api_version: text(&node, "apiVersion").expect("every object has a version"),
            kind: text(&node, "kind").expect("every object has a kind"),
            namespace: text(&metadata, "namespace"),
            name: text(&metadata, "name").expect("every object has a name"),
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
    pub chart: &'static Chart,
    /// The repository that the chart is pulled from: that of its publisher, or the user's mirror.
    pub repository: String,
    /// The namespace.
    pub namespace: String,
    /// The values: those of gpuc, overridden by those in the file.
    pub values: Node,
    /// The pools that it applies to.
    pub pools: Vec<String>,
    /// The DaemonSets that it runs on the nodes of each of these pools, in its namespace.
    pub daemon_sets: Vec<String>,
}

impl Release {
    /// Whether the chart is pulled from an OCI registry.
    pub fn is_oci(&self) -> bool {
        self.repository.starts_with("oci://")
    }

    /// The URL of the chart in an OCI registry.
    pub fn oci_url(&self) -> String {
        format!("{}/{}", self.repository, self.chart.name)
    }
}
