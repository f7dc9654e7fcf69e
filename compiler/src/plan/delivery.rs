//! In which order it gets there, and by what.

use super::{Identity, Object};

/// Something that is put into the cluster as one: what it needs is there before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Its name: that of the release or the component.
    pub name: String,
    /// What it is.
    pub what: What,
    /// What must be there before, by name.
    pub needs: Vec<Need>,
}

/// What a step puts into the cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    /// The objects of a component.
    Component,
    /// A Helm release.
    Release,
}

/// That a step comes after another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Need {
    /// The other step's name.
    pub step: String,
    /// Why, in words: `it brings the kind ServiceMonitor`.
    pub because: String,
}

/// What brings the tree to the cluster.
#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "a plan has one, and its objects lie elsewhere anyway"
)]
pub enum Delivery {
    /// `install.sh`, with helm and kubectl.
    Script,
    /// Flux or Argo CD, by these objects: the folder each set stands in, below the cluster's, and the set.
    Gitops {
        /// The tool, in words: `Flux`.
        tool: &'static str,
        /// The folder of the objects, below the cluster's: what the tool's own configuration points at.
        folder: &'static str,
        /// The objects, each in the folder that its component names, below that one. Those of no component stand in it
        /// and are what the tool is told of first.
        objects: Vec<Object>,
        /// What the tree's README says of it.
        guide: Guide,
    },
}

impl Delivery {
    /// What the objects of the tool are called; the script has none.
    pub fn identities(&self) -> Vec<Identity> {
        match self {
            Self::Script => Vec::new(),
            Self::Gitops { objects, .. } => objects.iter().map(|it| it.identity.clone()).collect(),
        }
    }
}

/// How a tool is told of the tree.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Guide {
    /// The repository's URL.
    pub repository: String,
    /// The branch.
    pub branch: String,
    /// The cluster's folder in the repository; empty for the repository itself.
    pub path: String,
    /// The namespace that the tool runs in.
    pub namespace: String,
    /// The Secret that it reads the repository with.
    pub secret: Option<String>,
    /// The Secret that it pulls charts from their mirror with.
    pub chart_secret: Option<String>,
    /// Whether it runs in another cluster.
    pub elsewhere: bool,
    /// Whether Helm knows nothing of the charts that it brings.
    pub renders: bool,
    /// The commands by which it leaves all that runs as it is, run from the cluster's folder as it has that.
    pub leaving: &'static [&'static str],
}
