//! How the tree is deployed to the cluster, and in which order.

use super::{Identity, Object};

/// A unit of deployment, which is deployed after its dependencies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The name of the release or the component.
    pub name: String,
    /// What the step deploys.
    pub kind: StepKind,
    /// Its dependencies, by name.
    pub dependencies: Vec<StepDependency>,
}

/// The kind of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StepKind {
    /// The objects of a component.
    Component,
    /// A Helm release.
    Release,
}

/// A dependency on another step.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StepDependency {
    /// The name of the other step.
    pub step: String,
    /// The reason, for messages: `it installs the CRD of kind ServiceMonitor`.
    pub reason: String,
}

/// How the tree is deployed to the cluster.
#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "a plan has only one, and its objects are on the heap"
)]
pub enum Delivery {
    /// `install.sh`, with helm and kubectl.
    Script,
    /// Flux or Argo CD, with these objects.
    Gitops {
        /// The name of the GitOps controller: `Flux`.
        tool: &'static str,
        /// The folder of the objects, below the cluster's folder. The root objects of the controller point at it.
        folder: &'static str,
        /// The objects, each in the subfolder of its component. Objects without a component are in `folder` itself and
        /// are registered with the controller first.
        objects: Vec<Object>,
        /// The instructions in the README.
        guide: Guide,
    },
}

impl Delivery {
    /// The identities of the controller's objects; empty for the script.
    pub fn identities(&self) -> Vec<Identity> {
        match self {
            Self::Script => Vec::new(),
            Self::Gitops { objects, .. } => objects
                .iter()
                .map(|object| object.identity.clone())
                .collect(),
        }
    }
}

/// How the tree is registered with a GitOps controller.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Guide {
    /// The repository's URL.
    pub repository: String,
    /// The branch.
    pub branch: String,
    /// The cluster's folder in the repository; empty for the repository root.
    pub path: String,
    /// The namespace of the controller.
    pub namespace: String,
    /// The Secret with the credentials for the repository.
    pub secret: Option<String>,
    /// The Secret with the credentials for the chart mirror.
    pub chart_secret: Option<String>,
    /// Whether the controller runs in another cluster.
    pub elsewhere: bool,
    /// Whether the controller renders charts itself, without Helm releases.
    pub renders: bool,
    /// The commands that detach the controller and keep everything that it deployed, run from the cluster's folder.
    pub leaving: &'static [&'static str],
}
