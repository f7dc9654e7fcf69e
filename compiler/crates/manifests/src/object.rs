//! A Kubernetes object in a manifest.

use gpuc_syntax::node::Node;

/// A Kubernetes object in a manifest.
#[derive(Clone, Debug)]
pub struct Object {
    /// The root mapping.
    pub root: Node,
    /// Its kind.
    pub kind: String,
    /// Its API group and version: `apps/v1`.
    pub api_version: String,
    /// Its name.
    pub name: Option<String>,
    /// Its namespace.
    pub namespace: Option<String>,
    /// Whether another object, such as a workflow, contains it as a text and creates it.
    pub is_embedded: bool,
}

impl Object {
    /// Its kind and name: `Deployment trainer`.
    pub fn title(&self) -> String {
        match &self.name {
            Some(name) => format!("{} {name}", self.kind),
            None => self.kind.clone(),
        }
    }

    /// Its API group; empty for the core group.
    pub(super) fn group(&self) -> &str {
        self.api_version.split_once('/').map_or("", |it| it.0)
    }

    /// Whether it is in exactly this API group.
    pub(super) fn is_in_group(&self, group: &str) -> bool {
        self.group() == group
    }
}
