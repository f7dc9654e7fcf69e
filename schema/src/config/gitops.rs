//! `gitops`: what brings the generated tree to the cluster.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Spanned;

/// What brings the generated tree to the cluster.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Gitops {
    /// Flux.
    Flux(GitSource),
    /// Argo CD.
    Argocd(GitSource),
}

/// Where the tree is committed.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GitSource {
    /// The repository's URL.
    #[schemars(extend("examples" = ["https://git.example.com/acme/gitops.git"]))]
    pub repository: Spanned<String>,
    /// The branch.
    #[schemars(extend("examples" = ["main"]))]
    pub branch: Spanned<String>,
    /// The cluster's folder in the repository.
    #[schemars(extend("examples" = ["clusters/ml-prod"]))]
    pub path: Spanned<String>,
}
