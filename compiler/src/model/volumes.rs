//! Whether anything makes the volumes that claims ask for.

use std::fmt;

use super::Cluster;

/// Why nothing makes the volume of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unbound {
    /// The claim names no class, and the cluster has no default.
    NoDefault,
    /// The class is the cloud's own, and what makes its volumes is not installed.
    NoDriver {
        /// The class.
        class: String,
        /// What is not installed.
        addon: &'static str,
    },
}

impl Cluster {
    /// Why nothing makes the volume of a claim of this class, where that is certain of what the file makes: of a
    /// cluster that others made nobody knows, and a class of another name somebody may bring.
    pub fn unbound(&self, class: Option<&str>) -> Option<Unbound> {
        let facts = self.cloud.facts().storage?;
        if !self.written.cloud.creates_cluster() {
            return None;
        }
        let storage = self.written.storage.as_ref();
        let Some(class) = class else {
            let has_default = storage.is_some_and(|it| it.default.is_some());
            return (!facts.has_default && !has_default).then_some(Unbound::NoDefault);
        };
        let addon = facts.classes_need?;
        let is_installed = facts.addons(&self.written).contains_key(addon);
        let is_own = facts.classes.contains(&class);
        (is_own && !is_installed).then(|| Unbound::NoDriver {
            class: class.to_owned(),
            addon,
        })
    }

    /// What to write into the file so that volumes are made.
    pub fn binding(&self, unbound: &Unbound) -> String {
        let mut disks = self.cloud.facts().storage.iter().flat_map(|it| it.disks);
        let disk = disks.next().map_or("fast", |it| it.name);
        let storage = self.written.storage.iter();
        let mut classes = storage.flat_map(|it| &it.classes);
        match (unbound, classes.next()) {
            (Unbound::NoDefault, None) => format!(
                "write into the cluster's file `storage: {{classes: [{{name: {disk}, volumes: {{disk: {{}}}}}}], \
                 default: {disk}}}`"
            ),
            (Unbound::NoDefault, Some(class)) => format!(
                "name a class, or write `default: {}` into the `storage` of the cluster's file",
                class.name
            ),
            (Unbound::NoDriver { .. }, _) => format!(
                "write `{{name: {disk}, volumes: {{disk: {{}}}}}}` into the `storage.classes` of the cluster's file, \
                 and name the class `{disk}`"
            ),
        }
    }
}

/// It prints as what follows «nothing makes the volume: ».
impl fmt::Display for Unbound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoDefault => {
                f.write_str("the claim names no StorageClass, and the cluster has no default")
            }
            Self::NoDriver { class, addon } => {
                write!(
                    f,
                    "the StorageClass `{class}` needs `{addon}`, which nothing installs"
                )
            }
        }
    }
}
