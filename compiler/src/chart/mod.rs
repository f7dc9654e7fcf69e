//! Helm charts: one file each, and what every one of them says of itself.

pub(crate) mod dcgm_exporter;
mod efa_device_plugin;
pub(crate) mod kube_prometheus_stack;
pub(crate) mod nvidia_device_plugin;

use serde_json::{Value, json};

use crate::check::Checked;
use crate::model::Pool;
use crate::plan::Release;

pub use dcgm_exporter::DCGM_EXPORTER;
pub use efa_device_plugin::EFA_DEVICE_PLUGIN;
pub use kube_prometheus_stack::KUBE_PROMETHEUS_STACK;
pub use nvidia_device_plugin::NVIDIA_DEVICE_PLUGIN;

/// A Helm chart at the version gpuc writes values for.
#[derive(Debug)]
pub struct Chart {
    /// The chart's name.
    pub name: &'static str,
    /// The repository's URL.
    pub repository: &'static str,
    /// The pinned version, as the repository spells it.
    pub version: &'static str,
    /// Images that it runs at that version, with their tags.
    pub images: &'static [&'static str],
    /// The releases of it that a cluster needs, with their values.
    pub releases: fn(&Checked<'_>) -> Vec<Release>,
    /// Where this stands.
    pub source: &'static str,
}

/// Every chart, by name.
pub static CHARTS: &[&Chart] = &[
    &EFA_DEVICE_PLUGIN,
    &DCGM_EXPORTER,
    &KUBE_PROMETHEUS_STACK,
    &NVIDIA_DEVICE_PLUGIN,
];

/// A pool's nodes and no others, by labels that they have before they are ready, as a chart takes it.
fn affinity(pool: &Pool) -> Value {
    let labels = pool.selector.iter();
    let expressions: Vec<_> = labels
        .map(|label| json!({"key": label.key, "operator": "In", "values": [label.value]}))
        .collect();
    json!({
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": expressions}]
            }
        }
    })
}
