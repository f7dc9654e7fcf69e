//! `gitops`: what brings the generated tree to the cluster.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Spanned;

/// What brings the generated tree to the cluster.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Gitops {
    /// Flux.
    Flux(Flux),
    /// Argo CD.
    Argocd(Argocd),
}

/// Flux: where the tree is committed, and how Flux gets at it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Flux {
    /// The repository's URL: `https://` or `ssh://`.
    #[schemars(extend("examples" = ["https://git.example.com/acme/gitops.git"]))]
    pub repository: Spanned<String>,
    /// The branch.
    #[schemars(extend("examples" = ["main"]))]
    pub branch: Spanned<String>,
    /// The cluster's folder in the repository.
    #[schemars(extend("examples" = ["clusters/ml-prod"]))]
    pub path: Spanned<String>,
    /// The Secret that Flux reads the repository with, in Flux's namespace. Without it the repository is public.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["gitops-credentials"]))]
    pub secret: Option<Spanned<String>>,
    /// The Secret that Flux pulls charts from `mirror.charts` with, in Flux's namespace and of the type
    /// `kubernetes.io/dockerconfigjson`. Without it everybody may pull them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["mirror-credentials"]))]
    pub chart_secret: Option<Spanned<String>>,
    /// The namespace that Flux runs in.
    #[serde(default = "flux_namespace")]
    #[schemars(extend("examples" = ["flux-system"]))]
    pub namespace: Spanned<String>,
}

/// Argo CD: where the tree is committed, and which cluster Argo CD brings it to.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Argocd {
    /// The repository's URL. Argo CD must know it already if it is not public.
    #[schemars(extend("examples" = ["https://git.example.com/acme/gitops.git"]))]
    pub repository: Spanned<String>,
    /// The branch.
    #[schemars(extend("examples" = ["main"]))]
    pub branch: Spanned<String>,
    /// The cluster's folder in the repository.
    #[schemars(extend("examples" = ["clusters/ml-prod"]))]
    pub path: Spanned<String>,
    /// The cluster's name in Argo CD. Default: the cluster that Argo CD itself runs in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["ml-prod"]))]
    pub cluster: Option<Spanned<String>>,
    /// The namespace that Argo CD runs in.
    #[serde(default = "argocd_namespace")]
    #[schemars(extend("examples" = ["argocd"]))]
    pub namespace: Spanned<String>,
}

fn flux_namespace() -> Spanned<String> {
    Spanned::unwritten("flux-system".to_owned())
}

fn argocd_namespace() -> Spanned<String> {
    Spanned::unwritten("argocd".to_owned())
}

impl Gitops {
    /// The repository's URL.
    pub fn repository(&self) -> &Spanned<String> {
        match self {
            Self::Flux(flux) => &flux.repository,
            Self::Argocd(argocd) => &argocd.repository,
        }
    }

    /// The branch.
    pub fn branch(&self) -> &Spanned<String> {
        match self {
            Self::Flux(flux) => &flux.branch,
            Self::Argocd(argocd) => &argocd.branch,
        }
    }

    /// The cluster's folder in the repository.
    pub fn path(&self) -> &Spanned<String> {
        match self {
            Self::Flux(flux) => &flux.path,
            Self::Argocd(argocd) => &argocd.path,
        }
    }

    /// What the tool calls the cluster that it brings the tree to, where that may be another one than its own: empty
    /// for its own.
    pub fn brought_to(&self) -> Option<&str> {
        match self {
            Self::Flux(_) => None,
            Self::Argocd(argocd) => {
                let name = argocd.cluster.as_ref();
                Some(name.map_or("", |name| name.value.as_str()))
            }
        }
    }

    /// The namespace that the tool runs in.
    pub fn namespace(&self) -> &Spanned<String> {
        match self {
            Self::Flux(flux) => &flux.namespace,
            Self::Argocd(argocd) => &argocd.namespace,
        }
    }
}
