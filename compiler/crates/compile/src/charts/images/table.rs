//! The images of every chart, by chart.

use super::{ChartImage, ImageKeys};

macro_rules! image_keys {
    (whole $at:literal) => {
        ImageKeys::Whole($at)
    };
    (parts $registry:literal $repository:literal) => {
        ImageKeys::Parts {
            registry: $registry,
            repository: $repository,
        }
    };
    (named $repository:literal $image:literal) => {
        ImageKeys::Named {
            repository: $repository,
            image: $image,
        }
    };
    (reference $at:literal) => {
        ImageKeys::Reference($at)
    };
    (fixed) => {
        ImageKeys::Fixed
    };
}

/// A row is: chart, image, tag, where the values name the image, where the tag, and which switch runs it.
macro_rules! table {
    ($(
        $chart:literal $repository:literal $tag:literal
        $how:ident[$($at:literal)*] tag[$($tag_path:literal)?] when[$($switch:literal $on:literal)?];
    )*) => {
        /// From each chart's values.yaml and Chart.yaml at the revision that its list in `keys/` names. Where Git has a
        /// placeholder that the release replaces (kueue, jobset, lws, jupyterhub, karpenter, gpu-operator), what is
        /// released stands here.
        pub(super) const IMAGES: &[ChartImage] = &[$(ChartImage {
            chart: $chart,
            repository: $repository,
            tag: $tag,
            keys: image_keys!($how $($at)*),
            tag_path: first(&[$($tag_path)?]),
            switch: first(&[$(($switch, $on))?]),
        }),*];
    };
}

const fn first<T: Copy>(items: &[T]) -> Option<T> {
    match items {
        [first, ..] => Some(*first),
        [] => None,
    }
}

table! {
    "aws-efa-k8s-device-plugin" "602401143452.dkr.ecr.us-west-2.amazonaws.com/eks/aws-efa-k8s-device-plugin" "v0.5.20" whole["image/repository"] tag["image/tag"] when[];
    "cluster-autoscaler" "registry.k8s.io/autoscaling/cluster-autoscaler" "v1.35.0" whole["image/repository"] tag["image/tag"] when[];
    "dcgm-exporter" "nvcr.io/nvidia/k8s/dcgm-exporter" "4.5.3-4.8.2-distroless" whole["image/repository"] tag["image/tag"] when[];
    "dra-driver-nvidia-gpu" "registry.k8s.io/dra-driver-nvidia/dra-driver-nvidia-gpu" "v0.4.0" whole["image/repository"] tag["image/tag"] when[];
    "gpu-operator" "nvcr.io/nvidia/gpu-operator" "v26.7.0" named["operator/repository" "operator/image"] tag["operator/version"] when[];
    "gpu-operator" "nvcr.io/nvidia/gpu-operator" "v26.7.0" named["validator/repository" "validator/image"] tag["validator/version"] when[];
    "gpu-operator" "nvcr.io/nvidia/driver" "595.91.07" named["driver/repository" "driver/image"] tag["driver/version"] when["driver/enabled" true];
    "gpu-operator" "nvcr.io/nvidia/cloud-native/k8s-driver-manager" "v0.12.0" named["driver/manager/repository" "driver/manager/image"] tag["driver/manager/version"] when["driver/enabled" true];
    "gpu-operator" "nvcr.io/nvidia/k8s/container-toolkit" "v1.20.0" named["toolkit/repository" "toolkit/image"] tag["toolkit/version"] when["toolkit/enabled" true];
    "gpu-operator" "nvcr.io/nvidia/k8s-device-plugin" "v0.20.0" named["devicePlugin/repository" "devicePlugin/image"] tag["devicePlugin/version"] when["devicePlugin/enabled" true];
    "gpu-operator" "nvcr.io/nvidia/cloud-native/dcgm" "4.6.0-1-ubuntu24.04" named["dcgm/repository" "dcgm/image"] tag["dcgm/version"] when["dcgm/enabled" false];
    "gpu-operator" "nvcr.io/nvidia/k8s/dcgm-exporter" "4.6.0-4.8.3-distroless" named["dcgmExporter/repository" "dcgmExporter/image"] tag["dcgmExporter/version"] when["dcgmExporter/enabled" true];
    "gpu-operator" "nvcr.io/nvidia/k8s-device-plugin" "v0.20.0" named["gfd/repository" "gfd/image"] tag["gfd/version"] when["gfd/enabled" true];
    "gpu-operator" "nvcr.io/nvidia/cloud-native/k8s-mig-manager" "v0.15.0" named["migManager/repository" "migManager/image"] tag["migManager/version"] when["migManager/enabled" true];
    "gpu-operator" "nvcr.io/nvidia/gpu-operator" "v26.7.0" named["nodeStatusExporter/repository" "nodeStatusExporter/image"] tag["nodeStatusExporter/version"] when["nodeStatusExporter/enabled" false];
    "gpu-operator" "nvcr.io/nvidia/cloud-native/nvidia-fs" "2.29.4" named["gds/repository" "gds/image"] tag["gds/version"] when["gds/enabled" false];
    "gpu-operator" "nvcr.io/nvidia/cloud-native/gdrdrv" "v2.6" named["gdrcopy/repository" "gdrcopy/image"] tag["gdrcopy/version"] when["gdrcopy/enabled" false];
    "gpu-operator" "nvcr.io/nvidia/cloud-native/vgpu-device-manager" "v0.5.0" named["vgpuDeviceManager/repository" "vgpuDeviceManager/image"] tag["vgpuDeviceManager/version"] when["sandboxWorkloads/enabled" false];
    "gpu-operator" "nvcr.io/nvidia/cloud-native/k8s-driver-manager" "v0.12.0" named["vfioManager/repository" "vfioManager/image"] tag["vfioManager/version"] when["sandboxWorkloads/enabled" false];
    "gpu-operator" "nvcr.io/nvidia/cloud-native/k8s-driver-manager" "v0.12.0" named["vfioManager/driverManager/repository" "vfioManager/driverManager/image"] tag["vfioManager/driverManager/version"] when["sandboxWorkloads/enabled" false];
    "gpu-operator" "nvcr.io/nvidia/cloud-native/k8s-driver-manager" "v0.12.0" named["vgpuManager/driverManager/repository" "vgpuManager/driverManager/image"] tag["vgpuManager/driverManager/version"] when["vgpuManager/enabled" false];
    "gpu-operator" "nvcr.io/nvidia/kubevirt-gpu-device-plugin" "v1.6.0" named["sandboxDevicePlugin/repository" "sandboxDevicePlugin/image"] tag["sandboxDevicePlugin/version"] when["sandboxWorkloads/enabled" false];
    "gpu-operator" "nvcr.io/nvidia/cloud-native/nvidia-sandbox-device-plugin" "v0.0.5" named["kataSandboxDevicePlugin/repository" "kataSandboxDevicePlugin/image"] tag["kataSandboxDevicePlugin/version"] when["sandboxWorkloads/enabled" false];
    "gpu-operator" "nvcr.io/nvidia/cloud-native/k8s-cc-manager" "v0.4.3" named["ccManager/repository" "ccManager/image"] tag["ccManager/version"] when["ccManager/enabled" true];
    "gpu-operator" "nvcr.io/nvidia/dra-driver-nvidia-gpu" "v0.5.0" named["draDriver/repository" "draDriver/image"] tag["draDriver/version"] when["gpuCluster/deployCR" false];
    "gpu-operator" "registry.k8s.io/nfd/node-feature-discovery" "v0.19.0" whole["node-feature-discovery/image/repository"] tag["node-feature-discovery/image/tag"] when["nfd/enabled" true];
    "jobset" "registry.k8s.io/jobset/jobset" "v0.12.0" whole["image/repository"] tag["image/tag"] when[];
    "jupyterhub" "quay.io/jupyterhub/k8s-hub" "4.4.0" whole["hub/image/name"] tag["hub/image/tag"] when[];
    "jupyterhub" "quay.io/jupyterhub/configurable-http-proxy" "5.2.0" whole["proxy/chp/image/name"] tag["proxy/chp/image/tag"] when[];
    "jupyterhub" "docker.io/library/traefik" "v3.6.12" whole["proxy/traefik/image/name"] tag["proxy/traefik/image/tag"] when["proxy/https/enabled" false];
    "jupyterhub" "quay.io/jupyterhub/k8s-secret-sync" "4.4.0" whole["proxy/secretSync/image/name"] tag["proxy/secretSync/image/tag"] when["proxy/https/enabled" false];
    "jupyterhub" "quay.io/jupyterhub/k8s-network-tools" "4.4.0" whole["singleuser/networkTools/image/name"] tag["singleuser/networkTools/image/tag"] when["singleuser/cloudMetadata/blockWithIptables" true];
    "jupyterhub" "quay.io/jupyterhub/k8s-singleuser-sample" "4.4.0" whole["singleuser/image/name"] tag["singleuser/image/tag"] when[];
    "jupyterhub" "registry.k8s.io/kube-scheduler" "v1.30.14" whole["scheduling/userScheduler/image/name"] tag["scheduling/userScheduler/image/tag"] when["scheduling/userScheduler/enabled" true];
    "jupyterhub" "registry.k8s.io/pause" "3.10.1" whole["scheduling/userPlaceholder/image/name"] tag["scheduling/userPlaceholder/image/tag"] when["scheduling/userPlaceholder/enabled" true];
    "jupyterhub" "quay.io/jupyterhub/k8s-image-awaiter" "4.4.0" whole["prePuller/hook/image/name"] tag["prePuller/hook/image/tag"] when["prePuller/hook/enabled" true];
    "jupyterhub" "registry.k8s.io/pause" "3.10.1" whole["prePuller/pause/image/name"] tag["prePuller/pause/image/tag"] when["prePuller/continuous/enabled" true];
    "karpenter" "public.ecr.aws/karpenter/controller" "1.14.1" whole["controller/image/repository"] tag["controller/image/tag"] when[];
    "kube-prometheus-stack" "quay.io/prometheus-operator/prometheus-operator" "v0.93.1" parts["prometheusOperator/image/registry" "prometheusOperator/image/repository"] tag["prometheusOperator/image/tag"] when["prometheusOperator/enabled" true];
    "kube-prometheus-stack" "quay.io/prometheus-operator/prometheus-config-reloader" "v0.93.1" parts["prometheusOperator/prometheusConfigReloader/image/registry" "prometheusOperator/prometheusConfigReloader/image/repository"] tag["prometheusOperator/prometheusConfigReloader/image/tag"] when["prometheusOperator/enabled" true];
    "kube-prometheus-stack" "ghcr.io/jkroepke/kube-webhook-certgen" "1.8.7" parts["prometheusOperator/admissionWebhooks/patch/image/registry" "prometheusOperator/admissionWebhooks/patch/image/repository"] tag["prometheusOperator/admissionWebhooks/patch/image/tag"] when["prometheusOperator/admissionWebhooks/patch/enabled" true];
    "kube-prometheus-stack" "quay.io/prometheus-operator/admission-webhook" "v0.93.1" parts["prometheusOperator/admissionWebhooks/deployment/image/registry" "prometheusOperator/admissionWebhooks/deployment/image/repository"] tag["prometheusOperator/admissionWebhooks/deployment/image/tag"] when["prometheusOperator/admissionWebhooks/deployment/enabled" false];
    "kube-prometheus-stack" "quay.io/prometheus/prometheus" "v3.14.0-distroless" parts["prometheus/prometheusSpec/image/registry" "prometheus/prometheusSpec/image/repository"] tag["prometheus/prometheusSpec/image/tag"] when["prometheus/enabled" true];
    "kube-prometheus-stack" "quay.io/prometheus/alertmanager" "v0.34.0" parts["alertmanager/alertmanagerSpec/image/registry" "alertmanager/alertmanagerSpec/image/repository"] tag["alertmanager/alertmanagerSpec/image/tag"] when["alertmanager/enabled" true];
    "kube-prometheus-stack" "quay.io/thanos/thanos" "v0.42.4" parts["thanosRuler/thanosRulerSpec/image/registry" "thanosRuler/thanosRulerSpec/image/repository"] tag["thanosRuler/thanosRulerSpec/image/tag"] when["thanosRuler/enabled" false];
    "kubeflow-trainer" "ghcr.io/kubeflow/trainer/trainer-controller-manager" "v2.3.0" parts["image/registry" "image/repository"] tag["image/tag"] when[];
    "kubeflow-trainer" "registry.k8s.io/jobset/jobset" "v0.12.0" whole["jobset/image/repository"] tag["jobset/image/tag"] when["jobset/install" true];
    "kubeflow-trainer" "docker.io/library/alpine" "3.21" parts["runtimes/installer/image/registry" "runtimes/installer/image/repository"] tag["runtimes/installer/image/tag"] when["runtimes/defaultEnabled" false];
    "kubeflow-trainer" "docker.io/pytorch/pytorch" "2.13.0-cuda13.0-cudnn9-runtime" fixed[] tag[] when["runtimes/torchDistributed/enabled" false];
    "kubeflow-trainer" "ghcr.io/kubeflow/trainer/deepspeed-runtime" "v2.3.0" parts["runtimes/deepspeedDistributed/image/registry" "runtimes/deepspeedDistributed/image/repository"] tag["runtimes/deepspeedDistributed/image/tag"] when["runtimes/deepspeedDistributed/enabled" false];
    "kubeflow-trainer" "ghcr.io/kubeflow/trainer/mlx-runtime" "v2.3.0" parts["runtimes/mlxDistributed/image/registry" "runtimes/mlxDistributed/image/repository"] tag["runtimes/mlxDistributed/image/tag"] when["runtimes/mlxDistributed/enabled" false];
    "kubeflow-trainer" "ghcr.io/kubeflow/trainer/xgboost-runtime" "v2.3.0" parts["runtimes/xgboostDistributed/image/registry" "runtimes/xgboostDistributed/image/repository"] tag["runtimes/xgboostDistributed/image/tag"] when["runtimes/xgboostDistributed/enabled" false];
    "kubeflow-trainer" "ghcr.io/kubeflow/trainer/torchtune-trainer" "v2.3.0" parts["runtimes/torchtuneDistributed/image/registry" "runtimes/torchtuneDistributed/image/repository"] tag["runtimes/torchtuneDistributed/image/tag"] when["runtimes/torchtuneDistributed/llama3_2_1B/enabled" false];
    "kubeflow-trainer" "ghcr.io/kubeflow/trainer/data-cache" "v2.3.0" parts["dataCache/cacheImage/registry" "dataCache/cacheImage/repository"] tag["dataCache/cacheImage/tag"] when["dataCache/enabled" false];
    "kueue" "registry.k8s.io/kueue/kueue" "v0.19.2" whole["controllerManager/manager/image/repository"] tag["controllerManager/manager/image/tag"] when[];
    "kueue" "registry.k8s.io/kueue/kueueviz-backend" "v0.19.2" whole["kueueViz/backend/image/repository"] tag["kueueViz/backend/image/tag"] when["enableKueueViz" false];
    "kueue" "registry.k8s.io/kueue/kueueviz-frontend" "v0.19.2" whole["kueueViz/frontend/image/repository"] tag["kueueViz/frontend/image/tag"] when["enableKueueViz" false];
    "lws" "registry.k8s.io/lws/lws" "v0.10.0" whole["image/manager/repository"] tag["image/manager/tag"] when[];
    "network-operator" "nvcr.io/nvidia/cloud-native/network-operator" "v26.4.1" named["operator/repository" "operator/image"] tag["operator/tag"] when[];
    "network-operator" "nvcr.io/nvidia/mellanox/network-operator-init-container" "network-operator-v26.4.1" named["operator/ofedDriver/initContainer/repository" "operator/ofedDriver/initContainer/image"] tag["operator/ofedDriver/initContainer/version"] when["operator/ofedDriver/initContainer/enable" true];
    "network-operator" "nvcr.io/nvidia/mellanox/node-feature-discovery" "network-operator-v26.4.1" whole["node-feature-discovery/image/repository"] tag["node-feature-discovery/image/tag"] when["nfd/enabled" true];
    "network-operator" "nvcr.io/nvidia/mellanox/maintenance-operator" "network-operator-v26.4.1" named["maintenance-operator-chart/operator/image/repository" "maintenance-operator-chart/operator/image/name"] tag["maintenance-operator-chart/operator/image/tag"] when["maintenanceOperator/enabled" false];
    "network-operator" "nvcr.io/nvidia/mellanox/sriov-network-operator" "network-operator-v26.4.1" reference["sriov-network-operator/images/operator"] tag[] when["sriovNetworkOperator/enabled" false];
    "network-operator" "nvcr.io/nvidia/mellanox/sriov-network-operator-config-daemon" "network-operator-v26.4.1" reference["sriov-network-operator/images/sriovConfigDaemon"] tag[] when["sriovNetworkOperator/enabled" false];
    "network-operator" "nvcr.io/nvidia/mellanox/sriov-cni" "network-operator-v26.4.1" reference["sriov-network-operator/images/sriovCni"] tag[] when["sriovNetworkOperator/enabled" false];
    "network-operator" "nvcr.io/nvidia/mellanox/ib-sriov-cni" "network-operator-v26.4.1" reference["sriov-network-operator/images/ibSriovCni"] tag[] when["sriovNetworkOperator/enabled" false];
    "network-operator" "nvcr.io/nvidia/mellanox/ovs-cni-plugin" "network-operator-v26.4.1" reference["sriov-network-operator/images/ovsCni"] tag[] when["sriovNetworkOperator/enabled" false];
    "network-operator" "nvcr.io/nvidia/mellanox/rdma-cni" "network-operator-v26.4.1" reference["sriov-network-operator/images/rdmaCni"] tag[] when["sriovNetworkOperator/enabled" false];
    "network-operator" "nvcr.io/nvidia/mellanox/sriov-network-device-plugin" "network-operator-v26.4.1" reference["sriov-network-operator/images/sriovDevicePlugin"] tag[] when["sriovNetworkOperator/enabled" false];
    "network-operator" "nvcr.io/nvidia/mellanox/dra-driver-sriov" "network-operator-v26.4.1" reference["sriov-network-operator/images/sriovDraDriver"] tag[] when["sriovNetworkOperator/enabled" false];
    "network-operator" "ghcr.io/k8snetworkplumbingwg/network-resources-injector" "v1.7.0" reference["sriov-network-operator/images/resourcesInjector"] tag[] when["sriovNetworkOperator/enabled" false];
    "network-operator" "nvcr.io/nvidia/mellanox/sriov-network-operator-webhook" "network-operator-v26.4.1" reference["sriov-network-operator/images/webhook"] tag[] when["sriovNetworkOperator/enabled" false];
    "node-feature-discovery" "registry.k8s.io/nfd/node-feature-discovery" "v0.19.0" whole["image/repository"] tag["image/tag"] when[];
    "nvidia-device-plugin" "nvcr.io/nvidia/k8s-device-plugin" "v0.20.0" whole["image/repository"] tag["image/tag"] when[];
    "nvidia-device-plugin" "registry.k8s.io/nfd/node-feature-discovery" "v0.19.0" whole["nfd/image/repository"] tag["nfd/image/tag"] when["nfd/enabled" false];
}
