//! Pod settings that all kinds of workloads share.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::NamedVolume;
use crate::Spanned;
use crate::config::{Quantity, TextMap};

/// Environment variables whose values are stored in the cluster, by name.
pub type ValuesFrom = BTreeMap<Spanned<String>, Spanned<ValueFrom>>;

/// The pod settings of a workload.
#[derive(Clone, Copy, Debug)]
pub struct Pods<'w> {
    /// The image.
    pub image: &'w Spanned<String>,
    /// The command.
    pub command: &'w [Spanned<String>],
    /// The command's arguments.
    pub args: &'w [Spanned<String>],
    /// Environment variables.
    pub env: &'w TextMap,
    /// Environment variables from single entries of Secrets and ConfigMaps.
    pub env_value_from: &'w ValuesFrom,
    /// Environment variables from all entries of Secrets and ConfigMaps.
    pub env_from: &'w [Spanned<EnvFrom>],
    /// The MIG profile.
    pub profile: Option<&'w Spanned<String>>,
    /// CPU cores.
    pub cpu: Option<&'w Spanned<Quantity>>,
    /// Memory.
    pub memory: Option<&'w Spanned<Quantity>>,
    /// The size of `/dev/shm`.
    pub shared_memory: Option<&'w Spanned<Quantity>>,
    /// Volumes.
    pub volumes: &'w [Spanned<NamedVolume>],
    /// Image pull secrets.
    pub image_pull_secrets: &'w [Spanned<String>],
    /// The service account.
    pub service_account: Option<&'w Spanned<String>>,
    /// The user and group of the processes.
    pub run_as: Option<&'w RunAs>,
    /// The termination grace period.
    pub grace_seconds: Option<&'w Spanned<u32>>,
}

/// Defines a kind of workload: the common keys and its own keys.
macro_rules! kind {
    (
        $(#[$doc:meta])*
        $name:ident { $($(#[$field_doc:meta])* $field:ident: $kind:ty,)* }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        pub struct $name {
            /// The container image, with a version tag or a digest.
            #[schemars(extend("examples" = ["registry.example.com/model:1.0.0"]))]
            pub image: Spanned<String>,
            $($(#[$field_doc])* pub $field: $kind,)*
            /// The command. Default: the image's.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            #[schemars(extend("examples" = [["python", "main.py"]]))]
            pub command: Vec<Spanned<String>>,
            /// The command's arguments. Default: the image's.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            #[schemars(extend("examples" = [["--epochs", "3"]]))]
            pub args: Vec<Spanned<String>>,
            /// Environment variables. They override variables that gpuc sets.
            #[serde(default, skip_serializing_if = "TextMap::is_empty")]
            #[schemars(extend("examples" = [{"LOG_LEVEL": "info"}]))]
            pub env: TextMap,
            /// Environment variables from entries of Secrets and ConfigMaps in the workload's namespace.
            #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
            #[schemars(extend("examples" = [{"HF_TOKEN": {"secret": {"name": "hugging-face", "key": "token"}}}]))]
            pub env_value_from: ValuesFrom,
            /// Secrets and ConfigMaps in the workload's namespace whose entries all become environment variables.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            pub env_from: Vec<Spanned<EnvFrom>>,
            /// The MIG profile, on a pool with strategy `mixed`.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schemars(extend("examples" = ["1g.10gb"]))]
            pub profile: Option<Spanned<String>>,
            /// The CPU request and limit of each pod, in cores. Default: none; the pod uses free CPU.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub cpu: Option<Spanned<Quantity>>,
            /// The memory request and limit of each pod. Default: none; the pod uses free memory.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub memory: Option<Spanned<Quantity>>,
            /// The size of `/dev/shm`, which counts as memory. `0` keeps the container default of 64 MiB. Default: the
            /// pod's memory limit if the pod has several GPUs or is part of a multi-node workload.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub shared_memory: Option<Spanned<Quantity>>,
            /// Volumes and their mount paths.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            pub volumes: Vec<Spanned<NamedVolume>>,
            /// Secrets in the workload's namespace with credentials for container registries.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            #[schemars(extend("examples" = [["registry-login"]]))]
            pub image_pull_secrets: Vec<Spanned<String>>,
            /// The pods' ServiceAccount, in the workload's namespace. Default: none, and no token is mounted.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schemars(extend("examples" = ["trainer"]))]
            pub service_account: Option<Spanned<String>>,
            /// The user and group of the container's processes. Default: the image's.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub run_as: Option<RunAs>,
            /// The termination grace period of the pods, in seconds. Default: 30.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schemars(range(min = 1, max = 2_147_483_647))]
            pub grace_seconds: Option<Spanned<u32>>,
        }

        impl $name {
            /// The settings of the pods.
            pub fn pods(&self) -> Pods<'_> {
                Pods {
                    image: &self.image,
                    command: &self.command,
                    args: &self.args,
                    env: &self.env,
                    env_value_from: &self.env_value_from,
                    env_from: &self.env_from,
                    profile: self.profile.as_ref(),
                    cpu: self.cpu.as_ref(),
                    memory: self.memory.as_ref(),
                    shared_memory: self.shared_memory.as_ref(),
                    volumes: &self.volumes,
                    image_pull_secrets: &self.image_pull_secrets,
                    service_account: self.service_account.as_ref(),
                    run_as: self.run_as.as_ref(),
                    grace_seconds: self.grace_seconds.as_ref(),
                }
            }
        }
    };
}

pub(super) use kind;

/// The source of an environment variable's value.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ValueFrom {
    /// An entry of a Secret.
    Secret(KeyOf),
    /// An entry of a ConfigMap.
    ConfigMap(KeyOf),
}

/// An entry of a Secret or a ConfigMap.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KeyOf {
    /// The name of the Secret or ConfigMap.
    pub name: Spanned<String>,
    /// The entry's key.
    pub key: Spanned<String>,
}

/// An object whose entries all become environment variables.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum EnvFrom {
    /// A Secret.
    Secret(Spanned<String>),
    /// A ConfigMap.
    ConfigMap(Spanned<String>),
}

/// The numeric user and group IDs of processes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunAs {
    /// The user ID; not root.
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub user: Spanned<u32>,
    /// The group ID. Default: the user ID.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub group: Option<Spanned<u32>>,
    /// The ID of the group that owns the volumes (`fsGroup`). Default: `group`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub volumes_group: Option<Spanned<u32>>,
}
