//! Settings that the pods of a chart read once, when they start. A change of them must also change something that
//! restarts the pods.

use gpuc_syntax::node::{self, Node, Scalar};
use serde_json::{Value, json};

use super::keys::merge;
use crate::lock::short_digest;

/// Settings that are read once.
#[derive(Debug)]
pub struct ReadOnce {
    /// The chart.
    pub chart: &'static str,
    /// The path of the settings in its values.
    pub settings: &'static [&'static str],
    /// What restarts the pods.
    pub restart: Restart,
    /// Where the behavior was read.
    pub source: &'static str,
}

/// What restarts the pods that read settings once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restart {
    /// The settings become a ConfigMap, whose name is in the template of the pods. gpuc appends a digest of the
    /// settings to its name, which has this path, if the chart creates it.
    Name(&'static [&'static str]),
    /// gpuc writes a digest of the settings to an annotation of the pods. The annotations have this path.
    Annotation(&'static [&'static str]),
    /// The chart itself writes a checksum to the template of the pods.
    Chart,
    /// The component watches the settings, or gets them by another name for each change.
    Unneeded,
}

/// The annotation of pods with a digest of the settings that their containers read once.
pub const START_CONFIG: &str = "gpuc.dev/start-config";

/// The settings of every chart that are read once.
pub const READ_ONCE: &[ReadOnce] = &[
    ReadOnce {
        chart: "dcgm-exporter",
        settings: &["customMetrics"],
        restart: Restart::Annotation(&["podAnnotations"]),
        source: "NVIDIA/dcgm-exporter@d5e5f51 deployment/values.yaml: a ConfigMap with a fixed name, mounted with \
                 subPath, which the kubelet never updates; 2026-11-26",
    },
    ReadOnce {
        chart: "gpu-operator",
        settings: &["dcgmExporter", "config", "data"],
        restart: Restart::Name(&["dcgmExporter", "config", "name"]),
        source: "NVIDIA/gpu-operator@a22dbf671 controllers/object_controls.go, TransformDCGMExporter: mounted with \
                 subPath; 2026-11-26",
    },
    ReadOnce {
        chart: "gpu-operator",
        settings: &["devicePlugin", "config", "data"],
        restart: Restart::Name(&["devicePlugin", "config", "name"]),
        source: "NVIDIA/k8s-device-plugin@1b826acc6 cmd/config-manager/main.go (read at the start and when the label \
                 of the node changes), NVIDIA/gpu-operator@a22dbf671 controllers/object_controls.go, \
                 handleDevicePluginConfig; 2026-11-26",
    },
    ReadOnce {
        chart: "gpu-operator",
        settings: &["migManager", "config", "data"],
        restart: Restart::Name(&["migManager", "config", "name"]),
        source: "NVIDIA/mig-parted@bd7160f4 cmd/nvidia-mig-manager/main.go (read at the start and when the label of \
                 the node changes; NVIDIA/mig-parted#108), NVIDIA/gpu-operator@a22dbf671 \
                 controllers/object_controls.go, TransformMIGManager; 2026-11-26",
    },
    ReadOnce {
        chart: "kueue",
        settings: &["managerConfig", "controllerManagerConfigYaml"],
        restart: Restart::Chart,
        source: "kubernetes-sigs/kueue@v0.19.2 charts/kueue/templates/manager/manager.yaml, \
                 charts.kueue.x-k8s.io/config-checksum; 2026-11-26",
    },
    ReadOnce {
        chart: "kubeflow-trainer",
        settings: &["manager", "config"],
        restart: Restart::Annotation(&["manager", "podAnnotations"]),
        source: "kubeflow/trainer@v2.3.0 charts/kubeflow-trainer/templates/manager/deployment.yaml: a ConfigMap with a \
                 fixed name, mounted with subPath; 2026-11-27",
    },
    ReadOnce {
        chart: "lws",
        settings: &["gangSchedulingManagement"],
        restart: Restart::Annotation(&["podAnnotations"]),
        source: "kubernetes-sigs/lws@060ab4d charts/lws/templates/manager/deployment.yaml, as for kubeflow-trainer; \
                 2026-11-27",
    },
    ReadOnce {
        chart: "node-feature-discovery",
        settings: &["master", "config"],
        restart: Restart::Chart,
        source: "kubernetes-sigs/node-feature-discovery@76e6cc8cc deployment/helm/node-feature-discovery/templates, \
                 checksum/config; 2026-11-26",
    },
    ReadOnce {
        chart: "node-feature-discovery",
        settings: &["worker", "config"],
        restart: Restart::Chart,
        source: "as for master.config",
    },
    ReadOnce {
        chart: "nvidia-device-plugin",
        settings: &["config", "map"],
        restart: Restart::Chart,
        source: "NVIDIA/k8s-device-plugin@1b826acc6 deployments/helm/nvidia-device-plugin/templates/_helpers.tpl, \
                 podAnnotations: checksum/config; 2026-11-26",
    },
];

/// Adds to the values of a release, the user's included, what restarts its pods.
pub(crate) fn with_digests(chart: &str, mut values: Node) -> Node {
    for row in READ_ONCE.iter().filter(|row| row.chart == chart) {
        let Some(settings) = find(&values, row.settings) else {
            continue;
        };
        let digest = short_digest(&json!(settings).to_string());
        let (path, text) = match row.restart {
            Restart::Name(path) => match find(&values, path).and_then(Node::text) {
                Some(name) if is_created(&values, path) => {
                    (path.to_vec(), format!("{name}-{digest}"))
                }
                _ => continue,
            },
            Restart::Annotation(path) => ([path, &[START_CONFIG]].concat(), digest),
            Restart::Chart | Restart::Unneeded => continue,
        };
        let origin = settings.origin.clone();
        let patch = path
            .iter()
            .rev()
            .fold(Value::String(text), |below, key| json!({*key: below}));
        values = merge(values, &Node::from_serializable(&patch, origin));
    }
    values
}

/// Whether the chart creates the ConfigMap with the name at this path. Otherwise it exists, and its name is fixed.
fn is_created(values: &Node, name: &[&str]) -> bool {
    let section = name.split_last().map_or(&[][..], |(_, section)| section);
    let create = find(values, section).and_then(|section| section.get("create"));
    create.is_some_and(|it| matches!(it.value, node::Value::Scalar(Scalar::Bool(true))))
}

fn find<'n>(values: &'n Node, path: &[&str]) -> Option<&'n Node> {
    path.iter().try_fold(values, |node, key| node.get(key))
}
