//! The objects that charts create with the values of a tree, and the labels of their components on nodes.
//!
//! Source: the charts' templates: NVIDIA/gpu-operator@v26.7.0 `deployments/gpu-operator/templates/clusterpolicy.yaml`,
//! `plugin_config.yaml` and `mig_config.yaml`; NVIDIA/k8s-device-plugin@v0.20.0
//! `deployments/helm/nvidia-device-plugin/templates/configmap.yml`; kubernetes/autoscaler
//! `charts/cluster-autoscaler/templates/deployment.yaml`; prometheus-community/helm-charts
//! `charts/kube-prometheus-stack/templates/prometheus/prometheus.yaml`; kubernetes-sigs/kueue
//! `charts/kueue/templates/manager/manager-config.yaml`; labels of nodes: NVIDIA/k8s-device-plugin
//! `docs/gpu-feature-discovery/README.md`, 2026-11-28.

use gpuc_compile::compile::Compilation;
use gpuc_model::plan::Release;
use gpuc_model::{Pool, Sharing};
use gpuc_schema::config::{Allocation, DevicePlugin, MigStrategy, NodeLabels};
use serde_json::{Value, json};

/// The objects of all releases of a tree.
pub(super) fn objects(compilation: &Compilation) -> Vec<Value> {
    let plan = compilation.plan.as_ref().unwrap();
    plan.releases.iter().flat_map(objects_of_release).collect()
}

fn objects_of_release(release: &Release) -> Vec<Value> {
    let values = serde_json::to_value(&release.values).unwrap();
    let name = release.name.as_str();
    let mut objects = Vec::new();
    let map = |name: &str, data: &Value| {
        json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata(release, name), "data": data,
        })
    };
    let deployment = match release.chart.name {
        "cluster-autoscaler" => Some("cluster-autoscaler-aws-cluster-autoscaler".to_owned()),
        "gpu-operator" => {
            objects.push(cluster_policy(release, &values));
            for key in ["devicePlugin", "migManager"] {
                let config = &values[key]["config"];
                if config["create"] == true {
                    let map_name = config["name"].as_str().unwrap();
                    objects.push(map(map_name, &config["data"]));
                }
            }
            Some("gpu-operator".to_owned())
        }
        "nvidia-device-plugin" => {
            let full = values["fullnameOverride"].as_str().unwrap_or(name);
            if let Some(configs) = values["config"].get("map") {
                objects.push(map(&format!("{full}-configs"), configs));
            }
            None
        }
        "kueue" => {
            let config = &values["managerConfig"]["controllerManagerConfigYaml"];
            let data = json!({"controller_manager_config.yaml": config});
            objects.push(map("kueue-manager-config", &data));
            Some("kueue-controller-manager".to_owned())
        }
        "kube-prometheus-stack" => {
            objects.push(prometheus(release, &values));
            if values["grafana"]["enabled"] == true {
                objects.push(grafana(release, &values["grafana"]));
            }
            Some("kube-prometheus-stack-operator".to_owned())
        }
        "jobset" | "lws" => Some(format!("{name}-controller-manager")),
        "kubeflow-trainer" => Some("kubeflow-trainer-controller-manager".to_owned()),
        "jupyterhub" => Some("hub".to_owned()),
        "node-feature-discovery" => Some("node-feature-discovery-master".to_owned()),
        "karpenter" | "network-operator" => Some(name.to_owned()),
        _ => None,
    };
    if let Some(name) = deployment {
        objects.push(json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata(release, &name),
            "spec": {"replicas": 1}, "status": {"replicas": 1, "readyReplicas": 1, "availableReplicas": 1},
        }));
    }
    objects
}

fn metadata(release: &Release, name: &str) -> Value {
    let chart = format!("{}-{}", release.chart.name, release.chart.version);
    json!({
        "name": name, "namespace": release.namespace,
        "labels": {
            "app.kubernetes.io/instance": release.name, "app.kubernetes.io/managed-by": "Helm", "helm.sh/chart": chart,
        },
    })
}

/// The chart copies most of its values into the `ClusterPolicy`.
fn cluster_policy(release: &Release, values: &Value) -> Value {
    let mut spec = json!({
        "operator": {"runtimeClass": "nvidia"},
        "driver": {"enabled": true},
        "toolkit": {"enabled": true},
        "devicePlugin": {"enabled": true},
        "dcgmExporter": {"enabled": true},
        "gfd": {"enabled": true},
        "mig": {"strategy": "single"},
        "migManager": {"enabled": true},
        "daemonsets": {},
    });
    let keys = [
        "cdi",
        "daemonsets",
        "dcgm",
        "dcgmExporter",
        "devicePlugin",
        "driver",
        "gfd",
        "hostPaths",
        "mig",
        "migManager",
        "operator",
        "toolkit",
        "validator",
    ];
    for key in keys {
        for (name, value) in values[key].as_object().into_iter().flatten() {
            // Names of ConfigMaps without their content.
            let mut value = value.clone();
            if let Some(entries) = value.as_object_mut().filter(|_| name == "config") {
                entries.retain(|key, _| key == "name" || key == "default");
            }
            spec[key][name] = value;
        }
    }
    let mut metadata = metadata(release, "cluster-policy");
    metadata.as_object_mut().unwrap().remove("namespace");
    json!({
        "apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy", "metadata": metadata, "spec": spec,
        "status": {"state": "ready", "namespace": release.namespace},
    })
}

/// Selectors are those of the values, or the label of the release.
fn prometheus(release: &Release, values: &Value) -> Value {
    let own = &values["prometheus"]["prometheusSpec"];
    let mut spec = json!({"replicas": 1, "retention": "10d"});
    for (key, value) in own.as_object().into_iter().flatten() {
        if !key.ends_with("NilUsesHelmValues") && key != "storageSpec" {
            spec[key] = value.clone();
        }
    }
    if let Some(storage) = own.get("storageSpec") {
        spec["storage"] = storage.clone();
    }
    for kind in ["podMonitor", "serviceMonitor", "rule"] {
        let selector = format!("{kind}Selector");
        if own.get(&selector).is_none() {
            let is_of_all = own[format!("{kind}SelectorNilUsesHelmValues")] == false;
            let of_release = json!({"matchLabels": {"release": release.name}});
            spec[&selector] = if is_of_all { json!({}) } else { of_release };
        }
    }
    json!({
        "apiVersion": "monitoring.coreos.com/v1", "kind": "Prometheus",
        "metadata": metadata(release, "kube-prometheus-stack-prometheus"), "spec": spec,
    })
}

/// Source: grafana/helm-charts `charts/grafana/templates/_pod.tpl`, 2026-11-28.
fn grafana(release: &Release, values: &Value) -> Value {
    let variable = |name: &str, key: &str| {
        let reference =
            json!({"name": values["admin"]["existingSecret"], "key": values["admin"][key]});
        json!({"name": name, "valueFrom": {"secretKeyRef": reference}})
    };
    let env = [
        variable("GF_SECURITY_ADMIN_USER", "userKey"),
        variable("GF_SECURITY_ADMIN_PASSWORD", "passwordKey"),
    ];
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": metadata(release, "kube-prometheus-stack-grafana"),
        "spec": {"replicas": 1, "template": {"spec": {"containers": [
            {"name": "grafana", "image": "docker.io/grafana/grafana:12.2.0", "env": env},
        ]}}},
        "status": {"replicas": 1, "readyReplicas": 1, "availableReplicas": 1},
    })
}

/// The labels that gpuc-runtime and GPU Feature Discovery write.
pub(super) fn add_gpu_labels(pool: &Pool, node: &mut Value) {
    let Some(Some(gpus)) = pool.gpus.get() else {
        return;
    };
    let is_labelled = match pool.plugin.value {
        DevicePlugin::Gpuc => pool.node_labels.value != NodeLabels::None,
        DevicePlugin::Nvidia | DevicePlugin::Operator => true,
        DevicePlugin::Cloud => false,
    };
    if !is_labelled || pool.allocation.value == Allocation::Dra {
        return;
    }
    let mut product = gpus.model.products[0].to_owned();
    let (mut replicas, mut count, mut strategy) = (1, gpus.per_node, "none");
    let mut mig = None;
    match pool.sharing.get().unwrap() {
        Sharing::Exclusive => {}
        Sharing::TimeSlicing {
            replicas: of_gpu,
            rename,
        }
        | Sharing::Mps {
            replicas: of_gpu,
            rename,
        } => {
            replicas = of_gpu.value;
            let is_mps = matches!(pool.sharing.get(), Some(Sharing::Mps { .. }));
            strategy = if is_mps { "mps" } else { "time-slicing" };
            if !rename {
                product.push_str("-SHARED");
            }
        }
        Sharing::Mig { strategy, gpus } => {
            let is_single = strategy.value == MigStrategy::Single;
            mig = Some(if is_single { "single" } else { "mixed" });
            if is_single {
                let profile = gpus[0].placements[0].profile;
                product = format!("{product}-MIG-{profile}");
                count = gpus
                    .iter()
                    .map(|gpu| u32::try_from(gpu.placements.len()).unwrap())
                    .sum();
            }
        }
    }
    let labels = &mut node["metadata"]["labels"];
    let own = [
        ("nvidia.com/gpu.product", product),
        ("nvidia.com/gpu.count", count.to_string()),
        ("nvidia.com/gpu.memory", gpus.model.memory_mib.to_string()),
        ("nvidia.com/gpu.replicas", replicas.to_string()),
        ("nvidia.com/gpu.sharing-strategy", strategy.to_owned()),
        (
            "nvidia.com/mig.capable",
            gpus.model.mig.is_some().to_string(),
        ),
    ];
    for (key, value) in own {
        labels[key] = value.into();
    }
    if let Some(mig) = mig {
        labels["nvidia.com/mig.strategy"] = mig.into();
    }
}

/// The slice that NVIDIA's DRA driver publishes for the GPUs of a node.
///
/// Source: kubernetes-sigs/dra-driver-nvidia-gpu `cmd/gpu-kubelet-plugin/deviceinfo.go`, 2026-11-28.
pub(super) fn resource_slice(pool: &Pool, node: &Value) -> Option<Value> {
    let gpus = pool.gpus.get()?.as_ref()?;
    if pool.allocation.value != Allocation::Dra {
        return None;
    }
    let name = node["metadata"]["name"].as_str().unwrap();
    let product = gpus.model.products[0].replace('-', " ");
    let capability = gpus.model.compute_capability;
    let uuid = |index: u32| format!("GPU-00000000-0000-0000-0000-{index:012}");
    let whole = |index: u32| {
        json!({
            "name": format!("gpu-{index}"),
            "attributes": {
                "type": {"string": "gpu"},
                "productName": {"string": product},
                "uuid": {"string": uuid(index)},
                "driverVersion": {"version": "595.91.7"},
                "cudaComputeCapability": {"version": format!("{capability}.0")},
            },
            "capacity": {"memory": {"value": format!("{}Mi", gpus.model.memory_mib)}},
        })
    };
    let layouts = match pool.sharing.get().unwrap() {
        Sharing::Mig { gpus, .. } => gpus.as_slice(),
        _ => &[],
    };
    let mut devices = Vec::new();
    for index in 0..gpus.per_node {
        let layout = layouts.iter().find(|gpu| gpu.index == index);
        match layout.filter(|gpu| !gpu.placements.is_empty()) {
            None => devices.push(whole(index)),
            // A GPU in MIG mode has devices instead.
            Some(gpu) => devices.extend(gpu.placements.iter().enumerate().map(|(number, placement)| {
                json!({
                    "name": format!("gpu-{index}-mig-{number}-{}-{}", placement.start, placement.size),
                    "attributes": {
                        "type": {"string": "mig"},
                        "productName": {"string": product},
                        "profile": {"string": placement.profile},
                        "parentUUID": {"string": uuid(index)},
                        "uuid": {"string": format!("MIG-00000000-0000-0000-{index:04}-{number:012}")},
                    },
                })
            })),
        }
    }
    Some(json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice",
        "metadata": {"name": format!("{name}-gpu.nvidia.com-abcde")},
        "spec": {
            "driver": "gpu.nvidia.com", "nodeName": name,
            "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
            "devices": devices,
        },
    }))
}
