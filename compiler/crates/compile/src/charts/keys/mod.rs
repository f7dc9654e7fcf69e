//! The schema of each chart's values: every key that it reads at the pinned version, with its type. Helm itself ignores
//! keys that no template reads.

mod format;
mod merge;
mod mismatch;
mod obsolete;

use std::sync::LazyLock;

use gpuc_syntax::diag::phrases;

pub use merge::merge;
pub use mismatch::{MismatchKind, ValueMismatch, unknown_keys};
pub use obsolete::ObsoleteKey;

/// The keys of a chart's values at one version.
#[derive(Debug)]
pub struct Keys {
    /// The chart's name.
    pub chart: &'static str,
    /// Its version in the chart repository.
    pub version: &'static str,
    /// The GitHub repository of its source.
    pub repository: &'static str,
    /// The tag or commit of that repository that was read.
    pub revision: &'static str,
    /// The date of that commit.
    pub date: &'static str,
    root: Vec<Key>,
}

/// A key and the keys below it.
#[derive(Debug)]
struct Key {
    name: &'static str,
    kind: Kind,
    children: Vec<Key>,
}

/// The type of a key's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A mapping with only the listed keys.
    Map,
    /// A mapping that the chart passes through.
    Free,
    /// A mapping from arbitrary names to strings.
    Texts,
    /// A list.
    List,
    /// Text.
    Text,
    /// A number.
    Number,
    /// True or false.
    Bool,
    /// Unknown: the chart's default does not show it.
    Any,
    /// The values of a subchart whose own list is embedded at the same version.
    Chart(&'static str),
    /// The values of a subchart without an embedded list.
    Subchart,
}

/// The result of looking up a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyLookup {
    /// The chart reads the key, which has this type.
    Known(Kind),
    /// The key is below a mapping that the chart passes through.
    Free,
    /// The chart does not read the key.
    Unknown {
        /// The number of leading parts of the path that the chart reads.
        parent: usize,
        /// The sibling key that was probably intended.
        closest: Option<&'static str>,
        /// The explanation of the key, if it is a common mistake.
        obsolete: Option<&'static ObsoleteKey>,
    },
}

macro_rules! embedded {
    ($($name:literal),* $(,)?) => {
        /// The embedded lists, by the chart's name.
        const EMBEDDED: &[(&str, &str)] = &[
            $(($name, include_str!(concat!($name, ".keys")))),*
        ];
    };
}

embedded![
    "aws-efa-k8s-device-plugin",
    "cluster-autoscaler",
    "dcgm-exporter",
    "dra-driver-nvidia-gpu",
    "gpu-operator",
    "jobset",
    "jupyterhub",
    "karpenter",
    "kube-prometheus-stack",
    "kubeflow-trainer",
    "kueue",
    "lws",
    "network-operator",
    "node-feature-discovery",
    "nvidia-device-plugin",
];

/// The parsed lists. Each is parsed on first use, because a build needs few of them.
static KEYS: LazyLock<Vec<(&str, LazyLock<Keys, Read>)>> = LazyLock::new(|| {
    (EMBEDDED.iter())
        .map(|&(chart, text)| {
            let read: Read = Box::new(move || format::read(text));
            (chart, LazyLock::new(read))
        })
        .collect()
});

type Read = Box<dyn FnOnce() -> Keys + Send>;

impl Keys {
    /// The keys of a chart.
    pub fn for_chart(chart: &str) -> Option<&'static Self> {
        let (_, keys) = KEYS.iter().find(|(name, _)| *name == chart)?;
        Some(keys)
    }

    /// The names of the charts that have a list.
    pub fn charts() -> impl Iterator<Item = &'static str> {
        EMBEDDED.iter().map(|(name, _)| *name)
    }

    /// Looks up a path.
    pub fn find(&self, path: &[&str]) -> KeyLookup {
        let mut found = find_below(&self.root, path);
        if let KeyLookup::Unknown { obsolete, .. } = &mut found {
            *obsolete = obsolete::find(self.chart, path);
        }
        found
    }

    /// All paths that end with `name`, to suggest the location of a misplaced key.
    pub fn paths_ending_with(&self, name: &str) -> Vec<Vec<&'static str>> {
        let (mut found, mut path) = (Vec::new(), Vec::new());
        collect_paths(&self.root, name, &mut path, &mut found);
        found
    }
}

fn find_below(keys: &[Key], path: &[&str]) -> KeyLookup {
    let Some((first, rest)) = path.split_first() else {
        return KeyLookup::Known(Kind::Map);
    };
    let Some(key) = keys.iter().find(|key| key.name == *first) else {
        return KeyLookup::Unknown {
            parent: 0,
            closest: phrases::closest_match(first, keys.iter().map(|key| key.name)),
            obsolete: None,
        };
    };
    if rest.is_empty() {
        return KeyLookup::Known(key.kind);
    }
    let below = match (key.kind, rest) {
        (Kind::Texts, [_]) => KeyLookup::Known(Kind::Text),
        (Kind::Map, _) => find_below(&key.children, rest),
        (Kind::Chart(chart), _) => find_in_subchart(&key.children, chart, rest),
        (Kind::Subchart, _) => match find_below(&key.children, rest) {
            KeyLookup::Unknown { .. } => KeyLookup::Free,
            found => found,
        },
        // A scalar has no keys below it. The wrong type of the value is reported separately.
        _ => KeyLookup::Free,
    };
    match below {
        KeyLookup::Unknown {
            parent,
            closest: nearest,
            obsolete,
        } => KeyLookup::Unknown {
            parent: parent + 1,
            closest: nearest,
            obsolete,
        },
        found => found,
    }
}

/// Looks up a path in a subchart: in the values that the parent chart sets, which can be more than the subchart's own
/// defaults show, and in the subchart's own list.
fn find_in_subchart(set: &[Key], chart: &str, path: &[&str]) -> KeyLookup {
    let subchart =
        Keys::for_chart(chart).expect("a list that names another one is embedded with it");
    match (find_below(set, path), find_below(&subchart.root, path)) {
        (
            KeyLookup::Unknown { parent, .. },
            KeyLookup::Unknown {
                parent: deeper,
                closest: nearest,
                obsolete,
            },
        ) => {
            let candidates =
                key_names_at(set, path, parent).chain(key_names_at(&subchart.root, path, deeper));
            let deepest = parent.max(deeper);
            let word = path.get(deepest).copied().unwrap_or_default();
            KeyLookup::Unknown {
                parent: deepest,
                closest: if parent == deeper {
                    phrases::closest_match(word, candidates)
                } else {
                    nearest
                },
                obsolete,
            }
        }
        (KeyLookup::Unknown { .. }, found) | (found, KeyLookup::Unknown { .. }) => found,
        (KeyLookup::Free, _) | (_, KeyLookup::Free) => KeyLookup::Free,
        // The type in the subchart's own list applies: a default of the parent chart can be narrower.
        (_, found) => found,
    }
}

/// The names of the keys at a depth of a path.
fn key_names_at<'k>(
    mut keys: &'k [Key],
    path: &[&str],
    depth: usize,
) -> impl Iterator<Item = &'static str> + 'k {
    for part in &path[..depth] {
        let key = keys.iter().find(|key| key.name == *part);
        keys = key.map_or(&[], |key| &key.children);
    }
    keys.iter().map(|key| key.name)
}

fn collect_paths(
    keys: &[Key],
    name: &str,
    path: &mut Vec<&'static str>,
    found: &mut Vec<Vec<&'static str>>,
) {
    for key in keys {
        path.push(key.name);
        if key.name == name {
            found.push(path.clone());
        }
        collect_paths(&key.children, name, path, found);
        if let Kind::Chart(chart) = key.kind {
            let subchart =
                Keys::for_chart(chart).expect("a list that names another one is embedded with it");
            collect_paths(&subchart.root, name, path, found);
        }
        path.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(chart: &str, path: &str) -> KeyLookup {
        let path: Vec<&str> = path.split('/').collect();
        Keys::for_chart(chart).unwrap().find(&path)
    }

    #[test]
    fn embedded_lists_are_valid() {
        for chart in Keys::charts() {
            let keys = Keys::for_chart(chart).unwrap();
            assert_eq!(keys.chart, chart);
            assert!(keys.root.len() > 8, "{chart}");
            for word in [keys.version, keys.repository, keys.revision, keys.date] {
                assert!(!word.is_empty(), "{chart}");
            }
        }
        assert!(Keys::for_chart("nginx").is_none());
    }

    #[test]
    fn keys_have_the_types_of_their_defaults() {
        let known = [
            ("nvidia-device-plugin", "config/map", Kind::Texts),
            ("nvidia-device-plugin", "config/map/a", Kind::Text),
            ("nvidia-device-plugin", "gfd/enabled", Kind::Bool),
            ("nvidia-device-plugin", "nvidiaDevRoot", Kind::Any),
            ("gpu-operator", "daemonsets/tolerations", Kind::List),
            ("gpu-operator", "devicePlugin/config/data", Kind::Texts),
            (
                "gpu-operator",
                "migManager/config/data/config.yaml",
                Kind::Text,
            ),
            ("gpu-operator", "dcgmExporter/config/name", Kind::Any),
            ("gpu-operator", "dcgmExporter/config/data", Kind::Text),
            ("dcgm-exporter", "customMetrics", Kind::Any),
            ("dcgm-exporter", "tolerations", Kind::List),
            (
                "kueue",
                "managerConfig/controllerManagerConfigYaml",
                Kind::Text,
            ),
            (
                "kubeflow-trainer",
                "runtimes/torchDistributed/enabled",
                Kind::Bool,
            ),
            ("jupyterhub", "singleuser/extraTolerations", Kind::List),
            ("jupyterhub", "singleuser/memory/limit", Kind::Any),
            ("karpenter", "settings/clusterName", Kind::Text),
        ];
        for (chart, path, kind) in known {
            assert_eq!(find(chart, path), KeyLookup::Known(kind), "{chart} {path}");
        }
    }

    #[test]
    fn passed_through_mappings_are_free() {
        for (chart, path) in [
            ("nvidia-device-plugin", "affinity/podAffinity/x"),
            (
                "nvidia-device-plugin",
                "nodeSelector/nvidia.com~1gpu.present",
            ),
            ("dcgm-exporter", "resources/limits/nvidia.com~1gpu"),
            ("jupyterhub", "hub/config/JupyterHub/admin_access"),
            ("kube-prometheus-stack", "grafana/persistence/enabled"),
            (
                "kube-prometheus-stack",
                "prometheus/prometheusSpec/storageSpec/emptyDir",
            ),
            ("cluster-autoscaler", "extraArgs/scale-down-unneeded-time"),
            ("nvidia-device-plugin", "nfd/worker/config/sources/usb"),
            ("nvidia-device-plugin", "global/anything"),
        ] {
            assert_eq!(find(chart, path), KeyLookup::Free, "{chart} {path}");
        }
    }

    #[test]
    fn subcharts_with_lists_are_searched() {
        for chart in [
            "nvidia-device-plugin/nfd",
            "gpu-operator/node-feature-discovery",
        ] {
            let (chart, key) = chart.split_once('/').unwrap();
            let path = |rest: &str| format!("{key}/{rest}");
            for (rest, kind) in [
                ("worker/tolerations", Kind::List),
                ("gc/enable", Kind::Bool),
                ("master/replicaCount", Kind::Number),
            ] {
                assert_eq!(
                    find(chart, &path(rest)),
                    KeyLookup::Known(kind),
                    "{chart} {rest}"
                );
            }
            let unknown = find(chart, &path("worker/toleration"));
            let wanted = KeyLookup::Unknown {
                parent: 2,
                closest: Some("tolerations"),
                obsolete: None,
            };
            assert_eq!(unknown, wanted, "{chart}");
        }
        let enabled = find("nvidia-device-plugin", "nfd/enabled");
        assert!(matches!(enabled, KeyLookup::Known(_)), "{enabled:?}");
        assert_eq!(
            find("gpu-operator", "nfd/enabled"),
            KeyLookup::Known(Kind::Bool)
        );
        let install = find("kubeflow-trainer", "jobset/controller/replicas");
        assert!(matches!(install, KeyLookup::Known(_)), "{install:?}");
    }

    #[test]
    fn unknown_keys_have_a_suggestion_or_explanation() {
        let found = find("nvidia-device-plugin", "config/maps");
        let wanted = KeyLookup::Unknown {
            parent: 1,
            closest: Some("map"),
            obsolete: None,
        };
        assert_eq!(found, wanted);
        for (chart, path) in [
            ("gpu-operator", "tolerations"),
            ("gpu-operator", "nodeSelector"),
            ("gpu-operator", "devicePlugin/config/map"),
            ("gpu-operator", "psp/enabled"),
            ("gpu-operator", "operator/defaultRuntime"),
            ("gpu-operator", "cdi/default"),
            ("gpu-operator", "driver/useOpenKernelModules"),
            ("jupyterhub", "singleuser/tolerations"),
            ("jupyterhub", "singleuser/extra_resource_limits"),
            ("karpenter", "settings/aws/clusterName"),
        ] {
            let KeyLookup::Unknown {
                obsolete: Some(_), ..
            } = find(chart, path)
            else {
                panic!("{chart} {path}: {:?}", find(chart, path));
            };
        }
    }

    #[test]
    fn misplaced_key_is_found_elsewhere() {
        let keys = Keys::for_chart("kueue").unwrap();
        let found = keys.paths_ending_with("featureGates");
        assert_eq!(found, [["controllerManager", "featureGates"]]);
    }
}
