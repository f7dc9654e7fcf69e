//! What the pods of every kind of workload have in common.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::NamedVolume;
use crate::Spanned;
use crate::config::{Quantity, TextMap};

/// Variables of an environment whose values stand in the cluster, by their names.
pub type ValuesFrom = BTreeMap<Spanned<String>, Spanned<ValueFrom>>;

/// What a workload says of its pods.
#[derive(Clone, Copy, Debug)]
pub struct Pods<'w> {
    /// The image.
    pub image: &'w Spanned<String>,
    /// The command.
    pub command: &'w [Spanned<String>],
    /// Its arguments.
    pub args: &'w [Spanned<String>],
    /// Its environment.
    pub env: &'w TextMap,
    /// More of it, from the cluster.
    pub env_value_from: &'w ValuesFrom,
    /// More of it, all entries at once.
    pub env_from: &'w [Spanned<EnvFrom>],
    /// The MIG profile.
    pub profile: Option<&'w Spanned<String>>,
    /// CPU cores.
    pub cpu: Option<&'w Spanned<Quantity>>,
    /// Main memory.
    pub memory: Option<&'w Spanned<Quantity>>,
    /// The size of `/dev/shm`.
    pub shared_memory: Option<&'w Spanned<Quantity>>,
    /// Volumes.
    pub volumes: &'w [Spanned<NamedVolume>],
    /// Secrets with logins to registries.
    pub image_pull_secrets: &'w [Spanned<String>],
    /// The service account.
    pub service_account: Option<&'w Spanned<String>>,
    /// As whom they run.
    pub run_as: Option<&'w RunAs>,
    /// How long they have to end.
    pub grace_seconds: Option<&'w Spanned<u32>>,
}

/// A kind of workload: the keys that all have, and its own.
macro_rules! kind {
    (
        $(#[$doc:meta])*
        $name:ident { $($(#[$field_doc:meta])* $field:ident: $kind:ty,)* }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        pub struct $name {
            /// The image, with a tag that names a version, or a digest.
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
            /// Its environment. What is written here goes before what gpuc sets.
            #[serde(default, skip_serializing_if = "TextMap::is_empty")]
            #[schemars(extend("examples" = [{"LOG_LEVEL": "info"}]))]
            pub env: TextMap,
            /// Variables whose values stand in a Secret or a `ConfigMap` of its namespace.
            #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
            #[schemars(extend("examples" = [{"HF_TOKEN": {"secret": {"name": "hugging-face", "key": "token"}}}]))]
            pub env_value_from: ValuesFrom,
            /// Secrets and `ConfigMaps` of its namespace whose entries are all variables.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            pub env_from: Vec<Spanned<EnvFrom>>,
            /// The MIG profile, on a pool with strategy `mixed`.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schemars(extend("examples" = ["1g.10gb"]))]
            pub profile: Option<Spanned<String>>,
            /// CPU cores for each pod: kept for it, and no more than these. Default: what is free.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub cpu: Option<Spanned<Quantity>>,
            /// Main memory for each pod: kept for it, and no more than this. Default: what is free.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub memory: Option<Spanned<Quantity>>,
            /// The size of `/dev/shm`, which counts as memory; `0` for the 64 MiB that every container has. Default: as
            /// much as the pod's memory allows where it has several GPUs or works on several nodes.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub shared_memory: Option<Spanned<Quantity>>,
            /// Volumes, each at its place.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            pub volumes: Vec<Spanned<NamedVolume>>,
            /// Secrets of its namespace with logins to registries.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            #[schemars(extend("examples" = [["registry-login"]]))]
            pub image_pull_secrets: Vec<Spanned<String>>,
            /// The `ServiceAccount` of its namespace that it runs as. Default: none, and no token is mounted.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schemars(extend("examples" = ["trainer"]))]
            pub service_account: Option<Spanned<String>>,
            /// The user and group that its processes have. Default: the image's.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub run_as: Option<RunAs>,
            /// How long a pod has to end by itself before it is killed, in seconds. Default: 30.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schemars(range(min = 1, max = 2_147_483_647))]
            pub grace_seconds: Option<Spanned<u32>>,
        }

        impl $name {
            /// What it says of its pods.
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

/// Where a variable's value stands.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ValueFrom {
    /// In a Secret.
    Secret(KeyOf),
    /// In a `ConfigMap`.
    ConfigMap(KeyOf),
}

/// An entry of a Secret or a `ConfigMap`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KeyOf {
    /// The name of the Secret or `ConfigMap`.
    pub name: Spanned<String>,
    /// The entry's key.
    pub key: Spanned<String>,
}

/// Something whose entries are all variables.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum EnvFrom {
    /// A Secret.
    Secret(Spanned<String>),
    /// A `ConfigMap`.
    ConfigMap(Spanned<String>),
}

/// The user and group of processes, by number.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunAs {
    /// The user; not root.
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub user: Spanned<u32>,
    /// The group. Default: the user's number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub group: Option<Spanned<u32>>,
    /// The group that owns the volumes. Default: `group`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 2_147_483_647))]
    pub volumes_group: Option<Spanned<u32>>,
}
