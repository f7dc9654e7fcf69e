//! Kubernetes objects.

use gpuc_syntax::node::{Node, Origin};

/// A Kubernetes object.
#[derive(Clone, Debug)]
pub struct Object {
    /// Its component, which is its folder below `manifests/`.
    pub component: String,
    /// Its identity.
    pub identity: Identity,
    /// The object.
    pub node: Node,
    /// Whether deleting it deletes machines with running pods, so that only users delete it.
    pub has_machines: bool,
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
            has_machines: false,
        }
    }

    /// The object, whose deletion deletes machines.
    #[must_use]
    pub fn with_machines(self) -> Self {
        Self {
            has_machines: true,
            ..self
        }
    }
}
