//! The labels that describe a node's GPUs, and what writes them on the nodes of each pool.
//!
//! gpuc-runtime and NVIDIA's GPU Feature Discovery write the same labels. Placement, the linter and the charts read
//! this module, so that they agree on the labels that exist.

use gpuc_schema::config::{Allocation, DevicePlugin, Fragment, NodeLabels};

use crate::cloud::Injection;
use crate::{Cluster, Operands, Pool};

/// What writes the labels of the GPUs of a pool's nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GpuLabelWriter {
    /// gpuc-runtime.
    Runtime,
    /// GPU Feature Discovery, installed by the chart of NVIDIA's device plugin or by the GPU Operator.
    FeatureDiscovery,
    /// Something that the file does not describe may write them: the nodes or the cluster exist already, or Node
    /// Feature Discovery that gpuc does not install reads the file that gpuc-runtime writes.
    Unknown,
    /// Nothing.
    None,
}

/// The labels of GPU Feature Discovery, without `nvidia.com/`. A name that ends in `.` or `-` is a prefix.
///
/// Source: NVIDIA/k8s-device-plugin@v0.20.0 docs/gpu-feature-discovery/README.md and internal/lm, 2026-11-26.
const NAMES: &[&str] = &[
    "cuda.",
    "gfd.timestamp",
    "gpu.clique",
    "gpu.compute.",
    "gpu.count",
    "gpu.engines.",
    "gpu.family",
    "gpu.machine",
    "gpu.memory",
    "gpu.mode",
    "gpu.multiprocessors",
    "gpu.product",
    "gpu.replicas",
    "gpu.sharing-strategy",
    "gpu.slices.",
    "mig-",
    "mig.capable",
    "mig.strategy",
    "mps.capable",
    "vgpu.",
    GPU_PRESENT,
];

/// The label of nodes with GPUs, which the GPU Operator sets too.
///
/// Source: NVIDIA/gpu-operator `controllers/state_manager.go` (`commonGPULabelKey`), 2026-11-26.
pub(crate) const GPU_PRESENT: &str = "gpu.present";

/// Whether GPU Feature Discovery writes this label.
pub fn is_gpu_label(key: &str) -> bool {
    let Some(name) = key.strip_prefix("nvidia.com/") else {
        return false;
    };
    NAMES.iter().any(|known| {
        let is_prefix = known.ends_with(['.', '-']);
        name == *known || (is_prefix && name.starts_with(known))
    })
}

impl Cluster {
    /// What writes the labels of the GPUs of a pool's nodes.
    pub fn gpu_label_writer(&self, pool: &Pool) -> GpuLabelWriter {
        let may_have_other_software =
            pool.is_existing() || self.config.cloud.has_existing_cluster();
        let otherwise = if may_have_other_software {
            GpuLabelWriter::Unknown
        } else {
            GpuLabelWriter::None
        };
        if pool.allocation.value != Allocation::DevicePlugin {
            return otherwise;
        }
        let is_discovered = match pool.plugin.value {
            DevicePlugin::Gpuc => {
                return match pool.node_labels.value {
                    NodeLabels::Node => GpuLabelWriter::Runtime,
                    NodeLabels::FeatureFile if self.has_node_feature_discovery() => {
                        GpuLabelWriter::Runtime
                    }
                    NodeLabels::FeatureFile => GpuLabelWriter::Unknown,
                    NodeLabels::None => otherwise,
                };
            }
            DevicePlugin::Nvidia => self.has_feature_discovery(pool),
            DevicePlugin::Operator => self.chart_without_feature_discovery(pool).is_none(),
            DevicePlugin::Cloud => false,
        };
        if is_discovered {
            GpuLabelWriter::FeatureDiscovery
        } else {
            otherwise
        }
    }

    /// Whether the chart of NVIDIA's device plugin runs GPU Feature Discovery on a pool that the plugin serves. It
    /// passes the labels to Node Feature Discovery, and it loads the driver's library only with NVIDIA's container
    /// runtime: unlike the plugin, it does not mount the driver's folder.
    ///
    /// Source: NVIDIA/k8s-device-plugin@1b826acc6
    /// deployments/helm/nvidia-device-plugin/templates/daemonset-gfd.yml, 2026-11-26.
    pub fn has_feature_discovery(&self, pool: &Pool) -> bool {
        self.can_run_feature_discovery(pool)
            && self.has_node_feature_discovery()
            && self.chart_without_feature_discovery(pool).is_none()
    }

    /// The chart of the pool's device plugin if its values in the file disable GPU Feature Discovery:
    /// `gfd.enabled: false`.
    pub fn chart_without_feature_discovery(&self, pool: &Pool) -> Option<&'static str> {
        let chart = match pool.plugin.value {
            DevicePlugin::Nvidia => "nvidia-device-plugin",
            DevicePlugin::Operator => "gpu-operator",
            DevicePlugin::Gpuc | DevicePlugin::Cloud => return None,
        };
        (self.is_enabled(chart, &["gfd", "enabled"]) == Some(false)).then_some(chart)
    }

    /// Whether NVIDIA's device plugin serves the pool and GPU Feature Discovery next to it finds the driver's library.
    pub fn can_run_feature_discovery(&self, pool: &Pool) -> bool {
        pool.is_advertised_by(DevicePlugin::Nvidia)
            && self.driver_access(pool).is_some_and(|access| {
                access.runtime_class.is_some() || access.injection == Injection::EnvironmentVariable
            })
    }

    /// Whether `charts` installs Node Feature Discovery, which runs on the nodes of every pool.
    pub fn has_node_feature_discovery(&self) -> bool {
        self.config.charts.node_feature_discovery.is_some()
    }

    /// Whether the GPU Operator labels the nodes of a pool with [`GPU_PRESENT`]: always if one of its operands runs
    /// there, and possibly if it runs elsewhere in the cluster.
    pub(crate) fn operator_labels_gpus(&self, pool: &Pool) -> Option<bool> {
        if Operands::for_pool(self.cloud, pool).is_some() {
            return Some(true);
        }
        self.operator_pools().next().is_none().then_some(false)
    }

    /// The boolean that the file sets at a path of a chart's values.
    fn is_enabled(&self, chart: &str, path: &[&str]) -> Option<bool> {
        let settings = self.config.charts.get(chart)?;
        match settings.values.get_path(path)?.value {
            Fragment::Bool(is_enabled) => Some(is_enabled),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_gpu_label;

    #[test]
    fn labels_of_other_components_are_not_labels_of_gpus() {
        for key in [
            "nvidia.com/gpu.product",
            "nvidia.com/gpu.compute.major",
            "nvidia.com/mig-1g.5gb.count",
            "nvidia.com/cuda.driver.major",
        ] {
            assert!(is_gpu_label(key), "{key}");
        }
        for key in [
            "nvidia.com/gpu",
            "nvidia.com/gpu.deploy.driver",
            "nvidia.com/gpu.products",
            "nvidia.com/mig.config",
            "nvidia.com/device-plugin.config",
            "example.com/gpu.product",
        ] {
            assert!(!is_gpu_label(key), "{key}");
        }
    }
}
