//! `gitops`: the GitOps controller that deploys the generated tree.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Spanned;

/// The GitOps controller that deploys the generated tree.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Gitops {
    /// Flux.
    Flux(Flux),
    /// Argo CD.
    Argocd(Argocd),
}

/// Flux: the repository that contains the tree, and how Flux reads it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Flux {
    /// The URL of the repository: `https://` or `ssh://`.
    #[schemars(extend("examples" = ["https://git.example.com/acme/gitops.git"]))]
    pub repository: Spanned<String>,
    /// The branch.
    #[schemars(extend("examples" = ["main"]))]
    pub branch: Spanned<String>,
    /// The cluster's folder in the repository.
    #[schemars(extend("examples" = ["clusters/ml-prod"]))]
    pub path: Spanned<String>,
    /// The Secret with the credentials for the repository, in Flux's namespace. Not needed for a public repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["gitops-credentials"]))]
    pub secret: Option<Spanned<String>>,
    /// The Secret with the credentials for `mirror.charts`, in Flux's namespace and of the type
    /// `kubernetes.io/dockerconfigjson`. Not needed if the registry allows anonymous pulls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["mirror-credentials"]))]
    pub chart_secret: Option<Spanned<String>>,
    /// Flux's namespace.
    #[serde(default = "flux_namespace")]
    #[schemars(extend("examples" = ["flux-system"]))]
    pub namespace: Spanned<String>,
}

/// Argo CD: the repository that contains the tree, and the cluster that Argo CD deploys it to.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Argocd {
    /// The URL of the repository. A private repository must already be registered with Argo CD.
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
    /// Argo CD's namespace.
    #[serde(default = "argocd_namespace")]
    #[schemars(extend("examples" = ["argocd"]))]
    pub namespace: Spanned<String>,
}

fn flux_namespace() -> Spanned<String> {
    Spanned::without_span("flux-system".to_owned())
}

fn argocd_namespace() -> Spanned<String> {
    Spanned::without_span("argocd".to_owned())
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

    /// The name of the destination cluster, for a controller that can deploy to other clusters. Empty for the
    /// controller's own cluster.
    pub fn destination_cluster(&self) -> Option<&str> {
        match self {
            Self::Flux(_) => None,
            Self::Argocd(argocd) => {
                let name = argocd.cluster.as_ref();
                Some(name.map_or("", |name| name.value.as_str()))
            }
        }
    }

    /// The namespace of the GitOps controller.
    pub fn namespace(&self) -> &Spanned<String> {
        match self {
            Self::Flux(flux) => &flux.namespace,
            Self::Argocd(argocd) => &argocd.namespace,
        }
    }
}
