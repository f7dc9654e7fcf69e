//! `notebooks`: notebooks for people.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Quantity;
use crate::Spanned;

/// Notebooks for people.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Notebooks {
    /// `JupyterHub`, by the Zero to `JupyterHub` chart. How people log in stands in the chart's own values, at
    /// `charts.jupyterhub.values.hub.config`.
    JupyterHub(JupyterHub),
}

/// `JupyterHub`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct JupyterHub {
    /// What people choose from when they start a notebook. The first is chosen until they choose another.
    #[schemars(length(min = 1))]
    pub profiles: Vec<Spanned<NotebookProfile>>,
    /// The image of every notebook whose profile names none. It must have `jupyterhub-singleuser`. Default: the chart's
    /// sample, which has neither CUDA nor a framework.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["registry.example.com/notebook:1.0.0"]))]
    pub image: Option<Spanned<String>>,
    /// How long a notebook that nobody uses is left running, in minutes. It gives its GPU back then.
    #[serde(default = "idle_minutes")]
    #[schemars(range(min = 5, max = 10080))]
    pub idle_minutes: Spanned<u32>,
    /// The volumes of people's files, one for each of them. Default: 10 GiB each, of the cluster's default class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storage: Option<NotebookStorage>,
    /// A Secret in the namespace `jupyterhub` whose entries go before those that the chart makes up: the chart's
    /// `hub.existingSecret`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["hub-secrets"]))]
    pub secret: Option<Spanned<String>>,
    /// How the hub is reached.
    #[serde(default)]
    pub service: Spanned<NotebookService>,
}

fn idle_minutes() -> Spanned<u32> {
    Spanned::unwritten(60)
}

/// The volumes of people's files.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NotebookStorage {
    /// The size of each person's, in GiB.
    #[serde(rename = "sizeGiB")]
    #[schemars(range(min = 1, max = 65536))]
    pub size_gib: Spanned<u32>,
    /// Their `StorageClass`, and that of the hub's own volume. Default: the cluster's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["gp3"]))]
    pub class: Option<Spanned<String>>,
}

/// How the hub is reached.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum NotebookService {
    /// From inside the cluster: an ingress of your own or `kubectl port-forward` stands in front.
    #[default]
    ClusterIP,
    /// By a port of every node.
    NodePort,
    /// By a load balancer of the cloud. Without `proxy.https` in the chart's values, passwords cross it in the clear.
    LoadBalancer,
}

impl NotebookService {
    /// The word in the chart's values.
    pub fn word(self) -> &'static str {
        match self {
            Self::ClusterIP => "ClusterIP",
            Self::NodePort => "NodePort",
            Self::LoadBalancer => "LoadBalancer",
        }
    }
}

/// One choice of notebook.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NotebookProfile {
    /// What people see.
    #[schemars(extend("examples" = ["One H100", "CPU only"]))]
    pub name: Spanned<String>,
    /// The pool. Without it the notebook has no GPU, and runs on any nodes that have no taints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<Spanned<String>>,
    /// How many GPUs; with `profile`, slices; where GPUs are shared, shares. Default: 1 on a pool with GPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub gpus: Option<Spanned<u32>>,
    /// The MIG profile, on a pool with strategy `mixed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["1g.10gb"]))]
    pub profile: Option<Spanned<String>>,
    /// CPU cores: kept for the notebook, and no more than these. Default: what is free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Spanned<Quantity>>,
    /// Main memory: kept for the notebook, and no more than this. Default: 1 GiB is kept, and more is had while it is
    /// free.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Spanned<Quantity>>,
    /// Its image. Default: the image of all notebooks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = ["registry.example.com/torch-notebook:1.0.0"]))]
    pub image: Option<Spanned<String>>,
}
