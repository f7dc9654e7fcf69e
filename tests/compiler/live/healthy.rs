//! Healthy clusters: what an API server shows after a tree has been applied and every component works.
//!
//! The objects follow from the files of the tree and from what the components write by their documentation, and not
//! from the checks of `gpuc doctor`.

use gpuc_model::{Cluster, MachineType, Pool};
use serde_json::{Value, json};

use crate::support::Outcome;
use crate::support::examples::{compiled_examples, compiled_rich};

/// The time of the state.
pub(crate) const NOW: &str = "2026-11-28T12:00:00Z";

/// The time at which the objects were created.
const CREATED: &str = "2026-11-27T08:00:00Z";

/// A healthy cluster.
pub(crate) struct Healthy {
    /// The name of the example.
    pub(crate) name: String,
    /// The compilation.
    pub(crate) outcome: &'static Outcome,
    /// The index of the cluster's compilation.
    pub(crate) index: usize,
    /// The objects.
    pub(crate) objects: Vec<Value>,
}

/// The clusters of all examples, and those of the files that use all settings.
pub(crate) fn healthy_clusters() -> Vec<Healthy> {
    let outcomes = compiled_examples().iter().chain(compiled_rich());
    outcomes
        .flat_map(|(name, outcome)| {
            let indexes = 0..outcome.compilations.len();
            let built = indexes.filter(|index| outcome.compilations[*index].output.is_some());
            built.map(|index| Healthy {
                name: name.clone(),
                outcome,
                index,
                objects: objects(outcome, index),
            })
        })
        .collect()
}

/// The objects of the cluster with this index.
fn objects(outcome: &Outcome, index: usize) -> Vec<Value> {
    let compilation = &outcome.compilations[index];
    let cluster = compilation.cluster.as_ref().unwrap();
    let (tree, _) = compilation.output.as_ref().unwrap();
    let mut nodes: Vec<Value> = (cluster.pools.iter())
        .flat_map(|pool| nodes_of_pool(cluster, pool))
        .collect();
    let mut objects = vec![
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system"}}),
        system_pod(),
    ];
    let mut daemon_sets = Vec::new();
    for (path, file) in tree.files() {
        let parts: Vec<&str> = path.split('/').collect();
        match parts[..] {
            ["manifests", .., name] if name.rsplit('.').next() == Some("yaml") => {
                for object in documents(&file.contents) {
                    match object["kind"].as_str() {
                        Some("DaemonSet") => daemon_sets.push(object),
                        Some("Kustomization") | None => {}
                        Some(_) => objects.push(with_status(object)),
                    }
                }
            }
            ["flux" | "argocd", ..] => {
                for release in documents(&file.contents) {
                    for (chart, values) in releases(&release) {
                        daemon_sets.extend(chart_daemon_sets(chart, values, &mut nodes));
                    }
                }
            }
            ["helm", chart, "values.yaml"] => {
                let values = documents(&file.contents).remove(0);
                daemon_sets.extend(chart_daemon_sets(chart, &values, &mut nodes));
            }
            _ => {}
        }
    }
    // On EKS, the plugin of the cloud is part of Bottlerocket.
    let is_gke = cluster.cloud.facts().key == "gcp";
    if is_gke && cluster.pools.iter().any(uses_cloud_plugin) {
        daemon_sets.push(gke_plugin());
    }
    for mut daemon_set in daemon_sets {
        let own: Vec<String> = (nodes.iter())
            .filter(|node| runs_on(&daemon_set["spec"]["template"]["spec"], node))
            .map(|node| node["metadata"]["name"].as_str().unwrap().to_owned())
            .collect();
        daemon_set["status"] = json!({
            "desiredNumberScheduled": own.len(),
            "currentNumberScheduled": own.len(),
            "numberReady": own.len(),
            "numberAvailable": own.len(),
        });
        objects.extend(own.iter().map(|node| daemon_pod(&daemon_set, node)));
        objects.push(daemon_set);
    }
    objects.extend(nodes);
    for object in &mut objects {
        object["metadata"]["creationTimestamp"] = CREATED.into();
    }
    objects
}

/// The documents of a YAML text, read by another library than gpuc's.
pub(crate) fn documents(text: &str) -> Vec<Value> {
    let documents = serde_yaml::Deserializer::from_str(text);
    documents
        .map(|document| serde::Deserialize::deserialize(document).unwrap())
        .collect()
}

/// The chart and the values of a `HelmRelease` of Flux, or of the sources of an Application of Argo CD.
fn releases(object: &Value) -> Vec<(&str, &Value)> {
    let spec = &object["spec"];
    let chart = &spec["chart"]["spec"]["chart"];
    let sources = spec["sources"].as_array().into_iter().flatten();
    let sources = std::iter::once(&spec["source"]).chain(sources);
    let sources = sources.map(|source| (&source["chart"], &source["helm"]["valuesObject"]));
    std::iter::once((chart, &spec["values"]))
        .chain(sources)
        .filter_map(|(chart, values)| Some((chart.as_str()?, values)))
        .collect()
}

fn uses_cloud_plugin(pool: &Pool) -> bool {
    pool.is_advertised_by(gpuc_schema::config::DevicePlugin::Cloud) && pool.has_gpus()
}

/// The nodes of a pool: its hosts, or as many as its minimum, but at least one and at most eight.
fn nodes_of_pool(cluster: &Cluster, pool: &Pool) -> Vec<Value> {
    let min = pool.nodes.get().map_or(1, |range| range.min);
    let hosts = &pool.settings.hosts;
    let count = if hosts.is_empty() {
        min.clamp(1, 8) as usize
    } else {
        hosts.len()
    };
    (0..count)
        .map(|index| {
            let name = match hosts.get(index) {
                Some(host) => host.value.clone(),
                None => format!("{}-node-{index}", pool.name.value),
            };
            node(cluster, pool, &name)
        })
        .collect()
}

fn node(cluster: &Cluster, pool: &Pool, name: &str) -> Value {
    let mut labels = json!({
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": pool.architecture().label(),
    });
    if let Some(zone) = pool.settings.zones.first() {
        labels["topology.kubernetes.io/zone"] = zone.value.as_str().into();
    }
    for label in cluster.cloud.own_labels(cluster, pool) {
        if let Some(value) = label.values.first().filter(|_| label.is_certain) {
            labels[label.key] = value.as_str().into();
        }
    }
    for label in pool.labels.iter().chain(&pool.selector) {
        labels[&label.key] = label.value.as_str().into();
    }
    if let Some(MachineType::Catalog(machine)) = pool.machine.get() {
        labels["node.kubernetes.io/instance-type"] = machine.name.into();
    }
    let mut capacity = json!({
        "cpu": "192", "memory": "2000Gi", "pods": "110", "ephemeral-storage": "500Gi",
        "hugepages-2Mi": "64Gi",
    });
    let advertised = pool.advertised.get().map_or(&[][..], Vec::as_slice);
    for resource in advertised.iter().chain(&pool.interconnect) {
        capacity[&resource.name] = resource.per_node.to_string().into();
    }
    let os_image = match pool.os.value {
        gpuc_schema::config::OsFamily::Bottlerocket => {
            "Bottlerocket OS 1.50.0 (aws-k8s-1.36-nvidia)"
        }
        _ => "Linux",
    };
    let taints: Vec<Value> = (pool.taints.iter())
        .map(|taint| {
            json!({"key": taint.key, "value": taint.value, "effect": taint.effect.as_str()})
        })
        .collect();
    let condition = |kind: &str, status: &str, reason: &str| {
        json!({
            "type": kind, "status": status, "reason": reason, "message": reason,
            "lastHeartbeatTime": NOW, "lastTransitionTime": CREATED,
        })
    };
    let mut conditions = vec![
        condition("MemoryPressure", "False", "KubeletHasSufficientMemory"),
        condition("DiskPressure", "False", "KubeletHasNoDiskPressure"),
        condition("PIDPressure", "False", "KubeletHasSufficientPID"),
        condition("Ready", "True", "KubeletReady"),
    ];
    if pool.is_advertised_by(gpuc_schema::config::DevicePlugin::Gpuc) && pool.has_gpus() {
        conditions.push(condition("GPUsHealthy", "True", "AllHealthy"));
    }
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": {"taints": taints},
        "status": {
            "capacity": capacity,
            "allocatable": capacity,
            "conditions": conditions,
            "nodeInfo": {
                "kubeletVersion": "v1.36.2", "osImage": os_image, "kernelVersion": "6.12.0",
                "containerRuntimeVersion": "containerd://2.1.4",
            },
        },
    })
}

fn system_pod() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "kube-apiserver", "namespace": "kube-system"},
        "spec": {"nodeName": "control-plane", "containers": [{"name": "main", "image": "kube-apiserver:v1.36.2"}]},
        "status": ready_status(&["main"]),
    })
}

fn ready_status(containers: &[&str]) -> Value {
    let statuses: Vec<Value> = containers
        .iter()
        .map(|name| {
            json!({"name": name, "ready": true, "restartCount": 0, "state": {"running": {"startedAt": CREATED}}})
        })
        .collect();
    json!({
        "phase": "Running",
        "startTime": CREATED,
        "conditions": [
            {"type": "PodScheduled", "status": "True"},
            {"type": "Ready", "status": "True"},
        ],
        "containerStatuses": statuses,
    })
}

/// An object of the tree with the status of a working controller.
fn with_status(mut object: Value) -> Value {
    let active = json!({"conditions": [{"type": "Active", "status": "True", "reason": "Ready", "message": ""}]});
    match object["kind"].as_str().unwrap() {
        "ClusterQueue" | "LocalQueue" => object["status"] = active,
        "ResourceQuota" => {
            let hard = object["spec"]["hard"].clone();
            let mut used = hard.clone();
            for (_, amount) in used.as_object_mut().into_iter().flatten() {
                *amount = "0".into();
            }
            object["status"] = json!({"hard": hard, "used": used});
        }
        "PersistentVolumeClaim" => object["status"] = json!({"phase": "Bound"}),
        _ => {}
    }
    object
}

/// The pod of a DaemonSet on a node.
fn daemon_pod(daemon_set: &Value, node: &str) -> Value {
    let name = daemon_set["metadata"]["name"].as_str().unwrap();
    let template = &daemon_set["spec"]["template"];
    let mut spec = template["spec"].clone();
    spec["nodeName"] = node.into();
    let names: Vec<&str> = (spec["containers"].as_array().into_iter().flatten())
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    let status = ready_status(&names);
    let labels = template["metadata"]["labels"].clone();
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": format!("{name}-{node}"),
            "namespace": daemon_set["metadata"]["namespace"],
            "labels": labels,
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": name, "controller": true}],
        },
        "spec": spec,
        "status": status,
    })
}

/// Whether the pods of a DaemonSet run on a node: written from the API conventions, with strings only.
fn runs_on(spec: &Value, node: &Value) -> bool {
    let labels = &node["metadata"]["labels"];
    let selector = spec["nodeSelector"].as_object().into_iter().flatten();
    let is_selected = selector
        .into_iter()
        .all(|(key, value)| &labels[key] == value);
    let required =
        "/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms";
    let terms = spec.pointer(required).and_then(Value::as_array);
    let is_in_term = |term: &Value| {
        let expressions = term["matchExpressions"].as_array().into_iter().flatten();
        expressions.into_iter().all(|it| {
            let value = &labels[it["key"].as_str().unwrap()];
            let is_listed = it["values"]
                .as_array()
                .is_some_and(|list| list.contains(value));
            match it["operator"].as_str().unwrap() {
                "In" => is_listed,
                "NotIn" => !is_listed,
                "Exists" => !value.is_null(),
                "DoesNotExist" => value.is_null(),
                other => panic!("{other}"),
            }
        })
    };
    let tolerations = spec["tolerations"].as_array();
    let is_tolerated = |taint: &Value| {
        let mut tolerations = tolerations.into_iter().flatten();
        let text = |it: &Value, key: &str| it[key].as_str().unwrap_or_default().to_owned();
        tolerations.any(|it| {
            let (key, effect) = (text(it, "key"), text(it, "effect"));
            (key.is_empty() || key == text(taint, "key"))
                && (effect.is_empty() || effect == text(taint, "effect"))
                && (text(it, "operator") == "Exists" || text(it, "value") == text(taint, "value"))
        })
    };
    let taints = node["spec"]["taints"].as_array().into_iter().flatten();
    is_selected
        && terms.is_none_or(|terms| terms.iter().any(is_in_term))
        && taints
            .into_iter()
            .filter(|taint| taint["effect"] != "PreferNoSchedule")
            .all(is_tolerated)
}

/// The DaemonSets that a chart creates with these values, as far as they are about GPUs.
///
/// Source: the charts' templates: NVIDIA/k8s-device-plugin@v0.20.0 `deployments/helm/nvidia-device-plugin`,
/// NVIDIA/gpu-operator@v26.7.0 `assets/state-device-plugin` and `state-driver`, kubernetes-sigs/dra-driver-nvidia-gpu
/// `deployments/helm`, 2026-11-28.
fn chart_daemon_sets(chart: &str, values: &Value, nodes: &mut [Value]) -> Vec<Value> {
    let name = values["fullnameOverride"].as_str().unwrap_or(chart);
    let image = |path: &str, name: &str| json!([{"name": name, "image": path}]);
    if chart.starts_with("nvidia-device-plugin") {
        let plugin = image(
            "nvcr.io/nvidia/k8s-device-plugin:v0.20.0",
            "nvidia-device-plugin-ctr",
        );
        return vec![daemon_set(name, "nvidia-device-plugin", values, &plugin)];
    }
    if chart.starts_with("dra-driver-nvidia-gpu") {
        let path = "registry.k8s.io/dra-driver-nvidia/dra-driver-nvidia-gpu:v0.4.0";
        let name = "dra-driver-nvidia-gpu-kubelet-plugin";
        let containers = [("computeDomains", "compute-domains"), ("gpus", "gpus")];
        let enabled = containers
            .into_iter()
            .filter(|(resource, _)| values["resources"][resource]["enabled"] == true);
        let enabled: Vec<Value> = enabled
            .map(|(_, name)| json!({"name": name, "image": path}))
            .collect();
        let own = daemon_set(
            name,
            "dra-driver-nvidia-gpu",
            &values["kubeletPlugin"],
            &json!(enabled),
        );
        return vec![own];
    }
    if !chart.starts_with("gpu-operator") {
        return Vec::new();
    }
    // The operator labels the nodes on which Node Feature Discovery found an NVIDIA GPU.
    for node in nodes.iter_mut() {
        let has_gpus = node["status"]["capacity"]
            .as_object()
            .unwrap()
            .keys()
            .any(|it| it.starts_with("nvidia.com/"));
        if has_gpus {
            let labels = &mut node["metadata"]["labels"];
            if labels["nvidia.com/gpu.deploy.operands"] == "false" {
                continue;
            }
            labels["feature.node.kubernetes.io/pci-10de.present"] = "true".into();
            labels["nvidia.com/gpu.present"] = "true".into();
            // The label of clients is removed only while the driver changes.
            for operand in ["client", "device-plugin", "driver", "container-toolkit"] {
                let label = &mut labels[format!("nvidia.com/gpu.deploy.{operand}")];
                // The operator keeps values that users set.
                if label.is_null() {
                    *label = "true".into();
                }
            }
        }
    }
    let operand = |name: &str, label: &str, path: &str, container: &str| {
        let mut settings = values["daemonsets"].clone();
        settings["nodeSelector"] = json!({(format!("nvidia.com/gpu.deploy.{label}")): "true"});
        let tolerations = settings["tolerations"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let default =
            json!({"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"});
        settings["tolerations"] = [tolerations, vec![default]].concat().into();
        daemon_set(name, "gpu-operator", &settings, &image(path, container))
    };
    let mut operands = Vec::new();
    if values["devicePlugin"]["enabled"] != false {
        let path = "nvcr.io/nvidia/k8s-device-plugin:v0.20.0";
        operands.push(operand(
            "nvidia-device-plugin-daemonset",
            "device-plugin",
            path,
            "nvidia-device-plugin",
        ));
    }
    if values["driver"]["enabled"] != false {
        let path = "nvcr.io/nvidia/driver:595.91.07-ubuntu24.04";
        operands.push(operand(
            "nvidia-driver-daemonset",
            "driver",
            path,
            "nvidia-driver-ctr",
        ));
    }
    operands
}

fn daemon_set(name: &str, namespace: &str, values: &Value, containers: &Value) -> Value {
    let mut spec = json!({"containers": containers});
    for key in ["affinity", "tolerations", "nodeSelector"] {
        if !values[key].is_null() {
            spec[key] = values[key].clone();
        }
    }
    json!({
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"template": {"metadata": {"labels": {"app": name}}, "spec": spec}},
    })
}

/// GKE's device plugin, which tolerates every taint.
///
/// Source: GoogleCloudPlatform/container-engine-accelerators `cmd/nvidia_gpu/device-plugin.yaml`, 2026-11-28.
fn gke_plugin() -> Value {
    let values = json!({
        "tolerations": [{"operator": "Exists"}],
        "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [
                {"key": "cloud.google.com/gke-accelerator", "operator": "Exists"},
                {"key": "gke-no-default-nvidia-gpu-device-plugin", "operator": "DoesNotExist"},
            ]},
        ]}}},
    });
    let path = "gke.gcr.io/nvidia-gpu-device-plugin@sha256:0";
    let containers = json!([{"name": "nvidia-gpu-device-plugin", "image": path}]);
    daemon_set(
        "nvidia-gpu-device-plugin-small-cos",
        "kube-system",
        &values,
        &containers,
    )
}
