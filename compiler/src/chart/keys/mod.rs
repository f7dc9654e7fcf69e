//! What a chart's values may be: every key that it reads at the pinned version, and what each of them holds. Helm
//! itself ignores a key that no template reads.

mod dead;
mod format;
mod merge;
mod misfit;

use std::sync::LazyLock;

use crate::diag::words;

pub use dead::Dead;
pub use merge::merge;
pub use misfit::{Misfit, Wrong, unknown_keys};

/// The keys of a chart's values at one version.
#[derive(Debug)]
pub struct Keys {
    /// The chart's name.
    pub chart: &'static str,
    /// The version that it has in its repository of charts.
    pub version: &'static str,
    /// The GitHub repository that it is made in.
    pub repository: &'static str,
    /// The tag or commit of that repository that was looked at.
    pub revision: &'static str,
    /// The date of that commit.
    pub date: &'static str,
    root: Vec<Key>,
}

/// A key and what stands below it.
#[derive(Debug)]
struct Key {
    name: &'static str,
    kind: Kind,
    below: Vec<Key>,
}

/// What a key holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A mapping with the keys that are listed and no others.
    Map,
    /// A mapping that is handed on as it is.
    Free,
    /// A mapping of any names to texts.
    Texts,
    /// A list.
    List,
    /// Text.
    Text,
    /// A number.
    Number,
    /// True or false.
    Bool,
    /// The chart's default says nothing of it.
    Any,
    /// The values of a chart inside this one, whose own list is embedded at that very version.
    Chart(&'static str),
    /// The values of a chart inside this one of which nothing more is known.
    Subchart,
}

/// What a chart makes of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The chart reads it, and this is what it holds.
    Known(Kind),
    /// It stands below something that the chart hands on as it is.
    Free,
    /// The chart reads no such key.
    Unknown {
        /// How many parts of the path it does read.
        parent: usize,
        /// The key beside it that was probably meant.
        nearest: Option<&'static str>,
        /// What is known of the key, if people often write it.
        dead: Option<&'static Dead>,
    },
}

macro_rules! embedded {
    ($($name:literal),* $(,)?) => {
        /// Every list, by the chart's name.
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

/// Read once each: a build needs few of them.
static KEYS: LazyLock<Vec<(&str, LazyLock<Keys, Read>)>> = LazyLock::new(|| {
    let lists = EMBEDDED.iter();
    lists
        .map(|&(chart, text)| {
            let read: Read = Box::new(move || format::read(text));
            (chart, LazyLock::new(read))
        })
        .collect()
});

type Read = Box<dyn FnOnce() -> Keys + Send>;

impl Keys {
    /// The keys of a chart.
    pub fn of(chart: &str) -> Option<&'static Self> {
        let (_, keys) = KEYS.iter().find(|(name, _)| *name == chart)?;
        Some(keys)
    }

    /// The names of the charts that there is a list of.
    pub fn charts() -> impl Iterator<Item = &'static str> {
        EMBEDDED.iter().map(|(name, _)| *name)
    }

    /// What the chart makes of a path.
    pub fn find(&self, path: &[&str]) -> Found {
        let mut found = walk(&self.root, path);
        if let Found::Unknown { dead, .. } = &mut found {
            *dead = dead::find(self.chart, path);
        }
        found
    }

    /// Every path whose last part is `name`, for a key that stands in the wrong place.
    pub fn elsewhere(&self, name: &str) -> Vec<Vec<&'static str>> {
        let (mut found, mut path) = (Vec::new(), Vec::new());
        collect(&self.root, name, &mut path, &mut found);
        found
    }
}

fn walk(keys: &[Key], path: &[&str]) -> Found {
    let Some((first, rest)) = path.split_first() else {
        return Found::Known(Kind::Map);
    };
    let Some(key) = keys.iter().find(|key| key.name == *first) else {
        return Found::Unknown {
            parent: 0,
            nearest: words::nearest(first, keys.iter().map(|key| key.name)),
            dead: None,
        };
    };
    if rest.is_empty() {
        return Found::Known(key.kind);
    }
    let below = match (key.kind, rest) {
        (Kind::Texts, [_]) => Found::Known(Kind::Text),
        (Kind::Map, _) => walk(&key.below, rest),
        (Kind::Chart(chart), _) => in_chart(&key.below, chart, rest),
        (Kind::Subchart, _) => match walk(&key.below, rest) {
            Found::Unknown { .. } => Found::Free,
            found => found,
        },
        // Nothing stands below a text or a number, and whoever sees the value there says so.
        _ => Found::Free,
    };
    match below {
        Found::Unknown {
            parent,
            nearest,
            dead,
        } => Found::Unknown {
            parent: parent + 1,
            nearest,
            dead,
        },
        found => found,
    }
}

/// The chart around it sets some values of the one inside, which may be more than that one's own defaults tell of.
fn in_chart(set: &[Key], chart: &str, path: &[&str]) -> Found {
    let inside = Keys::of(chart).expect("a list that names another one is embedded with it");
    match (walk(set, path), walk(&inside.root, path)) {
        (
            Found::Unknown { parent, .. },
            Found::Unknown {
                parent: deeper,
                nearest,
                dead,
            },
        ) => {
            let candidates = keys_at(set, path, parent).chain(keys_at(&inside.root, path, deeper));
            let deepest = parent.max(deeper);
            let word = path.get(deepest).copied().unwrap_or_default();
            Found::Unknown {
                parent: deepest,
                nearest: if parent == deeper {
                    words::nearest(word, candidates)
                } else {
                    nearest
                },
                dead,
            }
        }
        (Found::Unknown { .. }, found) | (found, Found::Unknown { .. }) => found,
        (Found::Free, _) | (_, Found::Free) => Found::Free,
        // A default that the chart around it sets is narrower than what the one inside takes.
        (_, found) => found,
    }
}

/// The names of the keys that stand at a depth of a path.
fn keys_at<'k>(
    mut keys: &'k [Key],
    path: &[&str],
    depth: usize,
) -> impl Iterator<Item = &'static str> + 'k {
    for part in &path[..depth] {
        let key = keys.iter().find(|key| key.name == *part);
        keys = key.map_or(&[], |key| &key.below);
    }
    keys.iter().map(|key| key.name)
}

fn collect(
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
        collect(&key.below, name, path, found);
        if let Kind::Chart(chart) = key.kind {
            let inside =
                Keys::of(chart).expect("a list that names another one is embedded with it");
            collect(&inside.root, name, path, found);
        }
        path.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(chart: &str, path: &str) -> Found {
        let path: Vec<&str> = path.split('/').collect();
        Keys::of(chart).unwrap().find(&path)
    }

    #[test]
    fn every_list_is_read_and_is_of_its_chart() {
        for chart in Keys::charts() {
            let keys = Keys::of(chart).unwrap();
            assert_eq!(keys.chart, chart);
            assert!(keys.root.len() > 8, "{chart}");
            for word in [keys.version, keys.repository, keys.revision, keys.date] {
                assert!(!word.is_empty(), "{chart}");
            }
        }
        assert!(Keys::of("nginx").is_none());
    }

    #[test]
    fn defaults_say_what_a_key_holds() {
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
            assert_eq!(find(chart, path), Found::Known(kind), "{chart} {path}");
        }
    }

    #[test]
    fn what_is_handed_on_may_hold_anything() {
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
            assert_eq!(find(chart, path), Found::Free, "{chart} {path}");
        }
    }

    #[test]
    fn a_chart_inside_is_looked_into_where_its_list_is_at_hand() {
        for chart in [
            "nvidia-device-plugin/nfd",
            "gpu-operator/node-feature-discovery",
        ] {
            let (chart, inside) = chart.split_once('/').unwrap();
            let path = |rest: &str| format!("{inside}/{rest}");
            for (rest, kind) in [
                ("worker/tolerations", Kind::List),
                ("gc/enable", Kind::Bool),
                ("master/replicaCount", Kind::Number),
            ] {
                assert_eq!(
                    find(chart, &path(rest)),
                    Found::Known(kind),
                    "{chart} {rest}"
                );
            }
            let unknown = find(chart, &path("worker/toleration"));
            let wanted = Found::Unknown {
                parent: 2,
                nearest: Some("tolerations"),
                dead: None,
            };
            assert_eq!(unknown, wanted, "{chart}");
        }
        let enabled = find("nvidia-device-plugin", "nfd/enabled");
        assert!(matches!(enabled, Found::Known(_)), "{enabled:?}");
        assert_eq!(
            find("gpu-operator", "nfd/enabled"),
            Found::Known(Kind::Bool)
        );
        let install = find("kubeflow-trainer", "jobset/controller/replicas");
        assert!(matches!(install, Found::Known(_)), "{install:?}");
    }

    #[test]
    fn an_unknown_key_has_a_neighbour_or_a_story() {
        let found = find("nvidia-device-plugin", "config/maps");
        let wanted = Found::Unknown {
            parent: 1,
            nearest: Some("map"),
            dead: None,
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
            let Found::Unknown { dead: Some(_), .. } = find(chart, path) else {
                panic!("{chart} {path}: {:?}", find(chart, path));
            };
        }
    }

    #[test]
    fn a_key_in_the_wrong_place_is_found_elsewhere() {
        let keys = Keys::of("kueue").unwrap();
        let found = keys.elsewhere("featureGates");
        assert_eq!(found, [["controllerManager", "featureGates"]]);
    }
}
