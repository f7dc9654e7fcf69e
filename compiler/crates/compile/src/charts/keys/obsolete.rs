//! Obsolete keys from tutorials and older versions, with their replacements.

/// A key that no template reads, or no longer reads.
#[derive(Debug, PartialEq, Eq)]
pub struct ObsoleteKey {
    /// The chart.
    pub chart: &'static str,
    /// The path, with parts separated by `/`; it includes everything below.
    pub path: &'static str,
    /// The paths of the replacements; empty if there are none.
    pub replacements: &'static [&'static str],
    /// The reason why it has no effect, to follow a colon.
    pub reason: &'static str,
    /// Where this stands.
    pub source: &'static str,
}

/// The entry for a path that a chart does not read.
pub(super) fn find(chart: &str, path: &[&str]) -> Option<&'static ObsoleteKey> {
    OBSOLETE_KEYS.iter().find(|obsolete| {
        let parts: Vec<&str> = obsolete.path.split('/').collect();
        obsolete.chart == chart && path.starts_with(&parts)
    })
}

const OPERATOR: &str =
    "NVIDIA/gpu-operator@v26.7.0:deployments/gpu-operator/{values.yaml,templates}, 2026-08-20";
const PLUGIN: &str =
    "NVIDIA/k8s-device-plugin@v0.20.0:deployments/helm/nvidia-device-plugin, 2026-08-19";
const EXPORTER: &str = "NVIDIA/dcgm-exporter@4.5.3-4.8.2:deployment/values.yaml, 2026-05-06";
const HUB: &str =
    "jupyterhub/zero-to-jupyterhub-k8s@4.4.0:jupyterhub/values.schema.yaml, 2026-06-10";
const KUEUE: &str = "kubernetes-sigs/kueue@v0.19.2:charts/kueue/values.yaml, 2026-08-20";
const TRAINER: &str = "kubeflow/trainer@v2.3.0:charts/kubeflow-trainer/values.yaml, 2026-08-06";
const NFD: &str = "kubernetes-sigs/node-feature-discovery@v0.19.0:deployment/helm/node-feature-discovery, 2026-07-10";
const KARPENTER: &str =
    "aws/karpenter-provider-aws@v1.14.1:charts/karpenter/values.yaml, 2026-08-20";
const DRA: &str = "NVIDIA/k8s-dra-driver-gpu@v0.4.0:deployments/helm/dra-driver-nvidia-gpu/values.yaml, 2026-05-15";
const STACK: &str =
    "prometheus-community/helm-charts@kube-prometheus-stack-88.5.3:values.yaml, 2026-08-21";

macro_rules! table {
    ($($chart:literal $path:literal => $instead:expr, $reason:literal, $source:expr;)*) => {
        /// By chart; of two that fit, the first.
        const OBSOLETE_KEYS: &[ObsoleteKey] = &[
            $(ObsoleteKey { chart: $chart, path: $path, replacements: &$instead, reason: $reason, source: $source },)*
        ];
    };
}

table! {
    "dcgm-exporter" "config" => ["customMetrics"],
        "the chart has no `config`: the list of metrics is `customMetrics`, all of it as text", EXPORTER;
    "dcgm-exporter" "metrics" => ["customMetrics"],
        "the chart has no `metrics`: the list of metrics is `customMetrics`, all of it as text", EXPORTER;
    "dcgm-exporter" "dcgmExporter" => [],
        "that is the name in the operator's chart; here the keys are at the top level", EXPORTER;

    "dra-driver-nvidia-gpu" "tolerations" => ["kubeletPlugin/tolerations", "controller/tolerations"],
        "the kubelet plugin and the controller have separate keys", DRA;
    "dra-driver-nvidia-gpu" "nodeSelector" => ["kubeletPlugin/nodeSelector", "controller/nodeSelector"],
        "the kubelet plugin and the controller have separate keys", DRA;

    "gpu-operator" "tolerations" => ["daemonsets/tolerations", "operator/tolerations"],
        "the pods on GPU nodes use `daemonsets.tolerations`, the operator itself `operator.tolerations`", OPERATOR;
    "gpu-operator" "nodeSelector" => ["operator/nodeSelector"],
        "the pods on GPU nodes cannot have a node selector: they follow the labels `nvidia.com/gpu.deploy.*`",
        OPERATOR;
    "gpu-operator" "daemonsets/nodeSelector" => [],
        "the pods on GPU nodes cannot have a node selector: they follow the labels `nvidia.com/gpu.deploy.*`",
        OPERATOR;
    "gpu-operator" "affinity" => ["operator/affinity"],
        "only the operator itself supports affinity", OPERATOR;
    "gpu-operator" "resources" => ["operator/resources"],
        "each component has separate resources; the operator's are `operator.resources`", OPERATOR;
    "gpu-operator" "devicePlugin/config/map" => ["devicePlugin/config/data"],
        "`map` is the key of the device plugin's own chart; the operator's is `data`", OPERATOR;
    "gpu-operator" "devicePlugin/tolerations" => ["daemonsets/tolerations"],
        "all components on GPU nodes share their tolerations", OPERATOR;
    "gpu-operator" "driver/tolerations" => ["daemonsets/tolerations"],
        "all components on GPU nodes share their tolerations", OPERATOR;
    "gpu-operator" "psp" => ["psa/enabled"],
        "Kubernetes removed PodSecurityPolicy in 1.25", OPERATOR;
    "gpu-operator" "operator/defaultRuntime" => [],
        "the operator detects the container runtime of the nodes", OPERATOR;
    "gpu-operator" "cdi/default" => ["cdi/enabled"],
        "ignored since 25.10.0: with `cdi.enabled` CDI is the default", OPERATOR;
    "gpu-operator" "driver/useOpenKernelModules" => ["driver/kernelModuleType"],
        "`driver.kernelModuleType` replaced it: `auto`, `open` or `proprietary`", OPERATOR;
    "gpu-operator" "migManager/strategy" => ["mig/strategy"],
        "the strategy is next to the manager's section, not in it", OPERATOR;
    "gpu-operator" "devicePlugin/migStrategy" => ["mig/strategy"],
        "the operator sets it for all of its components", OPERATOR;
    "gpu-operator" "migStrategy" => ["mig/strategy"],
        "`migStrategy` is the key of the device plugin's own chart", OPERATOR;
    "gpu-operator" "dcgmExporter/customMetrics" => ["dcgmExporter/config/data"],
        "`customMetrics` is the key of the exporter's own chart", OPERATOR;
    "gpu-operator" "mps" => ["devicePlugin/mps"],
        "it belongs to the device plugin", OPERATOR;

    "jupyterhub" "singleuser/tolerations" => ["singleuser/extraTolerations"],
        "the chart adds these to its own tolerations", HUB;
    "jupyterhub" "singleuser/extra_resource_limits" => ["singleuser/extraResource/limits"],
        "snake case is only used in a profile's `kubespawner_override`", HUB;
    "jupyterhub" "singleuser/extra_resource_guarantees" => ["singleuser/extraResource/guarantees"],
        "snake case is only used in a profile's `kubespawner_override`", HUB;
    "jupyterhub" "singleuser/extraResources" => ["singleuser/extraResource"],
        "the chart uses the singular", HUB;
    "jupyterhub" "singleuser/resources" => ["singleuser/extraResource", "singleuser/cpu", "singleuser/memory"],
        "a server's resources have separate keys", HUB;
    "jupyterhub" "singleuser/extraVolumes" => ["singleuser/storage/extraVolumes"],
        "volumes belong to the storage", HUB;
    "jupyterhub" "singleuser/extraVolumeMounts" => ["singleuser/storage/extraVolumeMounts"],
        "volumes belong to the storage", HUB;
    "jupyterhub" "auth" => ["hub/config"],
        "authenticators are classes below `hub.config` since 1.0", HUB;

    "karpenter" "settings/aws" => ["settings"],
        "the settings moved one level up", KARPENTER;
    "karpenter" "clusterName" => ["settings/clusterName"],
        "it belongs to the settings", KARPENTER;
    "karpenter" "clusterEndpoint" => ["settings/clusterEndpoint"],
        "it belongs to the settings", KARPENTER;

    "kube-prometheus-stack" "prometheusSpec" => ["prometheus/prometheusSpec"],
        "it belongs to Prometheus", STACK;
    "kube-prometheus-stack" "serviceMonitorSelectorNilUsesHelmValues"
        => ["prometheus/prometheusSpec/serviceMonitorSelectorNilUsesHelmValues"],
        "it belongs to the specification of Prometheus", STACK;
    "kube-prometheus-stack" "alertmanagerSpec" => ["alertmanager/alertmanagerSpec"],
        "it belongs to Alertmanager", STACK;

    "kubeflow-trainer" "tolerations" => ["manager/tolerations"],
        "the controller's keys are below `manager`", TRAINER;
    "kubeflow-trainer" "nodeSelector" => ["manager/nodeSelector"],
        "the controller's keys are below `manager`", TRAINER;
    "kubeflow-trainer" "resources" => ["manager/resources"],
        "the controller's keys are below `manager`", TRAINER;
    "kubeflow-trainer" "manager/image" => ["image"],
        "the controller's image is at the top level", TRAINER;
    "kubeflow-trainer" "jobset/enabled" => ["jobset/install"],
        "the switch of this subchart is `install`", TRAINER;
    "kubeflow-trainer" "runtimes/enabled" => ["runtimes/defaultEnabled"],
        "the switch of all runtimes is `defaultEnabled`", TRAINER;

    "kueue" "tolerations" => ["controllerManager/tolerations"],
        "the controller's keys are below `controllerManager`", KUEUE;
    "kueue" "nodeSelector" => ["controllerManager/nodeSelector"],
        "the controller's keys are below `controllerManager`", KUEUE;
    "kueue" "controllerManager/manager/tolerations" => ["controllerManager/tolerations"],
        "scheduling keys are next to the container's section", KUEUE;
    "kueue" "controllerManager/manager/nodeSelector" => ["controllerManager/nodeSelector"],
        "scheduling keys are next to the container's section", KUEUE;
    "kueue" "controllerManager/resources" => ["controllerManager/manager/resources"],
        "resources belong to the container", KUEUE;
    "kueue" "featureGates" => ["controllerManager/featureGates"],
        "the controller's keys are below `controllerManager`", KUEUE;
    "kueue" "integrations" => ["managerConfig/controllerManagerConfigYaml"],
        "the frameworks are in the controller's configuration, which is a single text", KUEUE;
    "kueue" "managerConfig/integrations" => ["managerConfig/controllerManagerConfigYaml"],
        "the frameworks are in the controller's configuration, which is a single text", KUEUE;

    "node-feature-discovery" "enableNodeFeatureApi" => [],
        "the NodeFeature API is the only one", NFD;
    "node-feature-discovery" "tolerations" => ["worker/tolerations", "master/tolerations"],
        "each component has separate keys", NFD;
    "node-feature-discovery" "nodeSelector" => ["worker/nodeSelector", "master/nodeSelector"],
        "each component has separate keys", NFD;

    "nvidia-device-plugin" "config/data" => ["config/map"],
        "`data` is the key of the operator's chart; the plugin's is `map`", PLUGIN;
    "nvidia-device-plugin" "mig/strategy" => ["migStrategy"],
        "that is the key of the operator's chart", PLUGIN;
    "nvidia-device-plugin" "node-feature-discovery" => ["nfd"],
        "the chart calls it `nfd`", PLUGIN;
    "nvidia-device-plugin" "namespace" => [],
        "the chart rejects it: the namespace is that of the release", PLUGIN;
    "nvidia-device-plugin" "serviceMonitor" => [],
        "the chart has no such key", PLUGIN;
}

#[cfg(test)]
mod tests {
    use super::super::{KeyLookup, Keys};
    use super::*;

    #[test]
    fn obsolete_keys_are_unread_and_replacements_exist() {
        for obsolete in OBSOLETE_KEYS {
            let keys = Keys::for_chart(obsolete.chart).unwrap();
            let path: Vec<&str> = obsolete.path.split('/').collect();
            let KeyLookup::Unknown {
                obsolete: found, ..
            } = keys.find(&path)
            else {
                panic!("{} reads {}", obsolete.chart, obsolete.path);
            };
            assert_eq!(found, Some(obsolete), "another one hides {}", obsolete.path);
            for instead in obsolete.replacements {
                let path: Vec<&str> = instead.split('/').collect();
                let found = keys.find(&path);
                assert!(
                    !matches!(found, KeyLookup::Unknown { .. }),
                    "{} lacks {instead}",
                    obsolete.chart
                );
            }
            assert!(!obsolete.reason.ends_with('.') && obsolete.source.contains("20"));
        }
        let mut paths: Vec<_> = OBSOLETE_KEYS.iter().map(|it| (it.chart, it.path)).collect();
        paths.sort_unstable();
        paths.dedup();
        assert_eq!(paths.len(), OBSOLETE_KEYS.len());
    }

    #[test]
    fn entries_include_everything_below() {
        let found = find("gpu-operator", &["psp", "enabled"]);
        assert_eq!(found.unwrap().replacements, ["psa/enabled"]);
        assert!(find("gpu-operator", &["psa", "enabled"]).is_none());
        assert!(find("kueue", &["psp"]).is_none());
    }
}
