//! Provisioning of the volumes of PersistentVolumeClaims.

use std::fmt;

use super::Cluster;

/// The reason why the volume of a claim is not provisioned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unbound {
    /// The claim has no StorageClass, and the cluster has no default.
    NoDefault,
    /// The StorageClass belongs to the cloud, and its CSI driver is not installed.
    NoDriver {
        /// The StorageClass.
        class: String,
        /// The missing addon.
        addon: &'static str,
    },
}

impl Cluster {
    /// The reason why the volume of a claim with this StorageClass is not provisioned, if that is certain. It is
    /// unknown for an existing cluster, and for a StorageClass with another name, which can be installed separately.
    pub fn unbound_reason(&self, class: Option<&str>) -> Option<Unbound> {
        let facts = self.cloud.facts().storage?;
        if !self.config.cloud.creates_cluster() {
            return None;
        }
        let storage = self.config.storage.as_ref();
        let Some(class) = class else {
            let has_default = storage.is_some_and(|it| it.default.is_some());
            return (!facts.has_default && !has_default).then_some(Unbound::NoDefault);
        };
        let addon = facts.classes_addon?;
        let is_installed = facts.addons(&self.config).contains_key(addon);
        let is_of_cloud = facts.classes.contains(&class);
        (is_of_cloud && !is_installed).then(|| Unbound::NoDriver {
            class: class.to_owned(),
            addon,
        })
    }

    /// A help that names the settings with which the volumes are provisioned.
    pub fn unbound_help(&self, unbound: &Unbound) -> String {
        let mut disks = self.cloud.facts().storage.iter().flat_map(|it| it.disks);
        let disk = disks.next().map_or("fast", |it| it.name);
        let storage = self.config.storage.iter();
        let mut classes = storage.flat_map(|it| &it.classes);
        match (unbound, classes.next()) {
            (Unbound::NoDefault, None) => format!(
                "add `storage: {{classes: [{{name: {disk}, volumes: {{disk: {{}}}}}}], default: {disk}}}` to the \
                 cluster's file"
            ),
            (Unbound::NoDefault, Some(class)) => format!(
                "set a StorageClass, or add `default: {}` to `storage` in the cluster's file",
                class.name
            ),
            (Unbound::NoDriver { .. }, _) => format!(
                "add `{{name: {disk}, volumes: {{disk: {{}}}}}}` to `storage.classes` in the cluster's file, and use \
                 the StorageClass `{disk}`"
            ),
        }
    }
}

/// Formats the reason as a clause that follows the problem and a colon.
impl fmt::Display for Unbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoDefault => {
                f.write_str("the claim names no StorageClass, and the cluster has no default")
            }
            Self::NoDriver { class, addon } => {
                write!(
                    f,
                    "the StorageClass `{class}` requires `{addon}`, which is not installed"
                )
            }
        }
    }
}
