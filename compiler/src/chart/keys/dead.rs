//! Keys that people copy from tutorials and older versions, and what stands in their place now.

/// A key that no template reads any more, or never did.
#[derive(Debug, PartialEq, Eq)]
pub struct Dead {
    /// The chart.
    pub chart: &'static str,
    /// The path, its parts parted by `/`; everything below it is as dead.
    pub path: &'static str,
    /// What to write instead, as paths; empty where there is nothing to write.
    pub instead: &'static [&'static str],
    /// Why it does nothing, in words that follow a colon.
    pub why: &'static str,
    /// Where this stands.
    pub source: &'static str,
}

/// What is known of a path that a chart does not read.
pub(super) fn find(chart: &str, path: &[&str]) -> Option<&'static Dead> {
    DEAD.iter().find(|dead| {
        let parts: Vec<&str> = dead.path.split('/').collect();
        dead.chart == chart && path.starts_with(&parts)
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
    ($($chart:literal $path:literal => $instead:expr, $why:literal, $source:expr;)*) => {
        /// By chart; of two that fit, the first.
        const DEAD: &[Dead] = &[
            $(Dead { chart: $chart, path: $path, instead: &$instead, why: $why, source: $source },)*
        ];
    };
}

table! {
    "dcgm-exporter" "config" => ["customMetrics"],
        "the chart has no `config`: the list of metrics is `customMetrics`, the whole of it as text", EXPORTER;
    "dcgm-exporter" "metrics" => ["customMetrics"],
        "the chart has no `metrics`: the list of metrics is `customMetrics`, the whole of it as text", EXPORTER;
    "dcgm-exporter" "dcgmExporter" => [],
        "that is how the operator's chart names it; here the keys stand at the top", EXPORTER;

    "dra-driver-nvidia-gpu" "tolerations" => ["kubeletPlugin/tolerations", "controller/tolerations"],
        "the plugin on the nodes and the controller have their own", DRA;
    "dra-driver-nvidia-gpu" "nodeSelector" => ["kubeletPlugin/nodeSelector", "controller/nodeSelector"],
        "the plugin on the nodes and the controller have their own", DRA;

    "gpu-operator" "tolerations" => ["daemonsets/tolerations", "operator/tolerations"],
        "what runs on GPU nodes takes `daemonsets.tolerations`, the operator itself `operator.tolerations`", OPERATOR;
    "gpu-operator" "nodeSelector" => ["operator/nodeSelector"],
        "what runs on GPU nodes cannot be bound by a selector: it follows the labels `nvidia.com/gpu.deploy.*`",
        OPERATOR;
    "gpu-operator" "daemonsets/nodeSelector" => [],
        "what runs on GPU nodes cannot be bound by a selector: it follows the labels `nvidia.com/gpu.deploy.*`",
        OPERATOR;
    "gpu-operator" "affinity" => ["operator/affinity"],
        "only the operator itself takes one", OPERATOR;
    "gpu-operator" "resources" => ["operator/resources"],
        "each component has its own; the operator's are `operator.resources`", OPERATOR;
    "gpu-operator" "devicePlugin/config/map" => ["devicePlugin/config/data"],
        "`map` is the key of the device plugin's own chart; the operator's is `data`", OPERATOR;
    "gpu-operator" "devicePlugin/tolerations" => ["daemonsets/tolerations"],
        "all components on GPU nodes share their tolerations", OPERATOR;
    "gpu-operator" "driver/tolerations" => ["daemonsets/tolerations"],
        "all components on GPU nodes share their tolerations", OPERATOR;
    "gpu-operator" "psp" => ["psa/enabled"],
        "pod security policies left Kubernetes with 1.25", OPERATOR;
    "gpu-operator" "operator/defaultRuntime" => [],
        "the operator asks the nodes for their container runtime", OPERATOR;
    "gpu-operator" "cdi/default" => ["cdi/enabled"],
        "ignored since 25.10.0: with `cdi.enabled` CDI is the default", OPERATOR;
    "gpu-operator" "driver/useOpenKernelModules" => ["driver/kernelModuleType"],
        "`driver.kernelModuleType` replaced it: `auto`, `open` or `proprietary`", OPERATOR;
    "gpu-operator" "migManager/strategy" => ["mig/strategy"],
        "the strategy stands beside the manager, not in it", OPERATOR;
    "gpu-operator" "devicePlugin/migStrategy" => ["mig/strategy"],
        "the operator sets it for all of its components", OPERATOR;
    "gpu-operator" "migStrategy" => ["mig/strategy"],
        "`migStrategy` is the key of the device plugin's own chart", OPERATOR;
    "gpu-operator" "dcgmExporter/customMetrics" => ["dcgmExporter/config/data"],
        "`customMetrics` is the key of the exporter's own chart", OPERATOR;
    "gpu-operator" "mps" => ["devicePlugin/mps"],
        "it stands with the device plugin", OPERATOR;

    "jupyterhub" "singleuser/tolerations" => ["singleuser/extraTolerations"],
        "the chart adds to its own tolerations", HUB;
    "jupyterhub" "singleuser/extra_resource_limits" => ["singleuser/extraResource/limits"],
        "snake case is only for a profile's `kubespawner_override`", HUB;
    "jupyterhub" "singleuser/extra_resource_guarantees" => ["singleuser/extraResource/guarantees"],
        "snake case is only for a profile's `kubespawner_override`", HUB;
    "jupyterhub" "singleuser/extraResources" => ["singleuser/extraResource"],
        "the chart has it in the singular", HUB;
    "jupyterhub" "singleuser/resources" => ["singleuser/extraResource", "singleuser/cpu", "singleuser/memory"],
        "a server's resources have keys of their own", HUB;
    "jupyterhub" "singleuser/extraVolumes" => ["singleuser/storage/extraVolumes"],
        "volumes stand with the storage", HUB;
    "jupyterhub" "singleuser/extraVolumeMounts" => ["singleuser/storage/extraVolumeMounts"],
        "volumes stand with the storage", HUB;
    "jupyterhub" "auth" => ["hub/config"],
        "authenticators are classes below `hub.config` since 1.0", HUB;

    "karpenter" "settings/aws" => ["settings"],
        "the settings moved one level up", KARPENTER;
    "karpenter" "clusterName" => ["settings/clusterName"],
        "it stands with the settings", KARPENTER;
    "karpenter" "clusterEndpoint" => ["settings/clusterEndpoint"],
        "it stands with the settings", KARPENTER;

    "kube-prometheus-stack" "prometheusSpec" => ["prometheus/prometheusSpec"],
        "it stands with Prometheus", STACK;
    "kube-prometheus-stack" "serviceMonitorSelectorNilUsesHelmValues"
        => ["prometheus/prometheusSpec/serviceMonitorSelectorNilUsesHelmValues"],
        "it stands in Prometheus' own specification", STACK;
    "kube-prometheus-stack" "alertmanagerSpec" => ["alertmanager/alertmanagerSpec"],
        "it stands with Alertmanager", STACK;

    "kubeflow-trainer" "tolerations" => ["manager/tolerations"],
        "the controller's keys stand below `manager`", TRAINER;
    "kubeflow-trainer" "nodeSelector" => ["manager/nodeSelector"],
        "the controller's keys stand below `manager`", TRAINER;
    "kubeflow-trainer" "resources" => ["manager/resources"],
        "the controller's keys stand below `manager`", TRAINER;
    "kubeflow-trainer" "manager/image" => ["image"],
        "the controller's image stands at the top", TRAINER;
    "kubeflow-trainer" "jobset/enabled" => ["jobset/install"],
        "the switch of this chart inside is `install`", TRAINER;
    "kubeflow-trainer" "runtimes/enabled" => ["runtimes/defaultEnabled"],
        "the switch of all runtimes is `defaultEnabled`", TRAINER;

    "kueue" "tolerations" => ["controllerManager/tolerations"],
        "the controller's keys stand below `controllerManager`", KUEUE;
    "kueue" "nodeSelector" => ["controllerManager/nodeSelector"],
        "the controller's keys stand below `controllerManager`", KUEUE;
    "kueue" "controllerManager/manager/tolerations" => ["controllerManager/tolerations"],
        "where the pod may run stands beside its container", KUEUE;
    "kueue" "controllerManager/manager/nodeSelector" => ["controllerManager/nodeSelector"],
        "where the pod may run stands beside its container", KUEUE;
    "kueue" "controllerManager/resources" => ["controllerManager/manager/resources"],
        "resources stand with the container", KUEUE;
    "kueue" "featureGates" => ["controllerManager/featureGates"],
        "the controller's keys stand below `controllerManager`", KUEUE;
    "kueue" "integrations" => ["managerConfig/controllerManagerConfigYaml"],
        "the frameworks stand in the controller's configuration, which is one text", KUEUE;
    "kueue" "managerConfig/integrations" => ["managerConfig/controllerManagerConfigYaml"],
        "the frameworks stand in the controller's configuration, which is one text", KUEUE;

    "node-feature-discovery" "enableNodeFeatureApi" => [],
        "the NodeFeature API is the only one", NFD;
    "node-feature-discovery" "tolerations" => ["worker/tolerations", "master/tolerations"],
        "each component has its own", NFD;
    "node-feature-discovery" "nodeSelector" => ["worker/nodeSelector", "master/nodeSelector"],
        "each component has its own", NFD;

    "nvidia-device-plugin" "config/data" => ["config/map"],
        "`data` is the key of the operator's chart; the plugin's is `map`", PLUGIN;
    "nvidia-device-plugin" "mig/strategy" => ["migStrategy"],
        "that is the key of the operator's chart", PLUGIN;
    "nvidia-device-plugin" "node-feature-discovery" => ["nfd"],
        "the chart calls it `nfd`", PLUGIN;
    "nvidia-device-plugin" "namespace" => [],
        "the chart refuses it: the namespace is the release's own", PLUGIN;
    "nvidia-device-plugin" "serviceMonitor" => [],
        "the chart has none", PLUGIN;
}

#[cfg(test)]
mod tests {
    use super::super::{Found, Keys};
    use super::*;

    #[test]
    fn dead_keys_are_dead_and_what_stands_instead_is_alive() {
        for dead in DEAD {
            let keys = Keys::of(dead.chart).unwrap();
            let path: Vec<&str> = dead.path.split('/').collect();
            let Found::Unknown { dead: found, .. } = keys.find(&path) else {
                panic!("{} reads {}", dead.chart, dead.path);
            };
            assert_eq!(found, Some(dead), "another one hides {}", dead.path);
            for instead in dead.instead {
                let path: Vec<&str> = instead.split('/').collect();
                let found = keys.find(&path);
                assert!(
                    !matches!(found, Found::Unknown { .. }),
                    "{} lacks {instead}",
                    dead.chart
                );
            }
            assert!(!dead.why.ends_with('.') && dead.source.contains("20"));
        }
        let mut paths: Vec<_> = DEAD.iter().map(|it| (it.chart, it.path)).collect();
        paths.sort_unstable();
        paths.dedup();
        assert_eq!(paths.len(), DEAD.len());
    }

    #[test]
    fn what_is_below_a_dead_key_is_as_dead() {
        let found = find("gpu-operator", &["psp", "enabled"]);
        assert_eq!(found.unwrap().instead, ["psa/enabled"]);
        assert!(find("gpu-operator", &["psa", "enabled"]).is_none());
        assert!(find("kueue", &["psp"]).is_none());
    }
}
