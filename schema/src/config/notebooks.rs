//! `notebooks`: interactive notebooks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Quantity;
use crate::Spanned;

/// Interactive notebooks.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Notebooks {
    /// JupyterHub, installed by the Zero to JupyterHub chart. Configure authentication in the chart's values, at
    /// `charts.jupyterhub.values.hub.config`.
    JupyterHub(JupyterHub),
}

/// JupyterHub.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct JupyterHub {
    /// The profiles that users can select when they start a notebook. The first one is the default.
    #[schemars(length(min = 1))]
    pub profiles: Vec<Spanned<NotebookProfile>>,
    /// The image of notebooks whose profile has no `image`. It must contain `jupyterhub-singleuser`. Default: the
    /// chart's sample image, without CUDA and frameworks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["registry.example.com/notebook:1.0.0"]))]
    pub image: Option<Spanned<String>>,
    /// The time after which an idle notebook is stopped and its GPU released, in minutes.
    #[serde(default = "idle_minutes")]
    #[schemars(range(min = 5, max = 10080))]
    pub idle_minutes: Spanned<u32>,
    /// The volumes for users' files, one per user. Default: 10 GiB each, of the cluster's default `StorageClass`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<NotebookStorage>,
    /// A Secret in the namespace `jupyterhub` whose entries override those that the chart generates. It becomes the
    /// chart's value `hub.existingSecret`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["hub-secrets"]))]
    pub secret: Option<Spanned<String>>,
    /// How the hub is exposed.
    #[serde(default)]
    pub service: Spanned<NotebookService>,
}

fn idle_minutes() -> Spanned<u32> {
    Spanned::without_span(60)
}

/// The volumes for users' files.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NotebookStorage {
    /// The size of each user's volume, in GiB.
    #[serde(rename = "sizeGiB")]
    #[schemars(range(min = 1, max = 65536))]
    pub size_gib: Spanned<u32>,
    /// The `StorageClass` of these volumes and of the hub's own volume. Default: the cluster's default class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["gp3"]))]
    pub class: Option<Spanned<String>>,
}

/// How the hub is exposed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum NotebookService {
    /// Inside the cluster. Use your own ingress or `kubectl port-forward` for access from outside.
    #[default]
    ClusterIP,
    /// On a port of every node.
    NodePort,
    /// With a load balancer of the cloud. Without `proxy.https` in the chart's values, passwords are sent unencrypted.
    LoadBalancer,
}

impl NotebookService {
    /// The Kubernetes Service type, as used in the chart's values.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClusterIP => "ClusterIP",
            Self::NodePort => "NodePort",
            Self::LoadBalancer => "LoadBalancer",
        }
    }
}

/// A profile that users can select.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NotebookProfile {
    /// The name that is shown to users.
    #[schemars(extend("examples" = ["One H100", "CPU only"]))]
    pub name: Spanned<String>,
    /// The pool. If unset, the notebook has no GPU and runs on any node without taints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<Spanned<String>>,
    /// The number of GPUs; with `profile`, MIG devices; on a pool with time-slicing or MPS, replicas. Default: 1 on a
    /// pool with GPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub gpus: Option<Spanned<u32>>,
    /// The MIG profile, on a pool with strategy `mixed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["1g.10gb"]))]
    pub profile: Option<Spanned<String>>,
    /// The CPU request and limit, in cores. Default: none; the notebook uses free CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Spanned<Quantity>>,
    /// The memory request and limit. Default: a request of 1 GiB and no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Spanned<Quantity>>,
    /// The profile's image. Default: the hub's `image`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["registry.example.com/torch-notebook:1.0.0"]))]
    pub image: Option<Spanned<String>>,
}
