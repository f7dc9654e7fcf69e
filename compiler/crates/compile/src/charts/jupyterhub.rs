//! `JupyterHub`, by the Zero to JupyterHub chart: a hub that starts a pod for each person who logs in.
//!
//! A profile that names a pool becomes KubeSpawner overrides for its pods: the pool's labels as node selector,
//! tolerations, the resource that its nodes advertise, and the runtime class if pods need one. KubeSpawner replaces
//! lists and merges mappings, jupyterhub/kubespawner@01be5c20 kubespawner/utils.py, `recursive_update`.

use gpuc_model::check::Checked;
use gpuc_model::plan::{Chart, Crds, KubernetesSupport, PodSecurity, Release};
use gpuc_model::{ExtendedResourceRequest, KubernetesVersion, Pool, slug};
use gpuc_schema::config::{JupyterHub, NotebookProfile, Quantity};
use gpuc_syntax::node::{Node, Origin};
use serde_json::{Map, Number, Value, json};

use crate::lower;

/// The chart.
pub static JUPYTERHUB: Chart = Chart {
    name: "jupyterhub",
    repository: "https://hub.jupyter.org/helm-chart/",
    version: "4.4.0",
    kubernetes: Some(KubernetesSupport {
        oldest: KubernetesVersion(28),
        newest: None,
        source: "jupyterhub/zero-to-jupyterhub-k8s@4.4.0 jupyterhub/Chart.yaml (kubeVersion), 2026-06-10",
    }),
    namespace: "jupyterhub",
    // Each notebook has a privileged init container, which blocks access to the node's credentials at the metadata
    // server. A NetworkPolicy also does so, but only if the cluster's network plugin enforces it. Only the hub creates
    // pods in this namespace.
    pod_security: PodSecurity::Privileged,
    crds: Crds::None,
    api_groups: &[],
    dependencies: &[],
    releases,
    source: "jupyterhub/zero-to-jupyterhub-k8s@4.4.0 jupyterhub/values.yaml and values.schema.yaml, 2026-11-21",
};

/// The timeout for the start of a notebook, in seconds. An autoscaler may have to create a node first, and images with
/// frameworks are large. The hub's default is 300.
const START_SECONDS: u32 = 1200;

fn releases(cluster: &Checked<'_>) -> Vec<Release> {
    let release = |hub: &JupyterHub| {
        let pools = (hub.profiles.iter()).filter_map(|profile| profile_pool(cluster, profile));
        let pool_spans = pools.flat_map(|pool| {
            let placement = gpuc_model::derive::origins::placement_spans(pool);
            placement
                .into_iter()
                .chain(gpuc_model::derive::origins::serving_spans(pool))
        });
        let notebooks = cluster.config.notebooks.as_ref().map(|it| it.span);
        let mut inputs: Vec<_> = pool_spans.chain(notebooks).collect();
        inputs.sort_unstable();
        inputs.dedup();
        let reason = "`notebooks` enables JupyterHub, whose profiles follow from their pools";
        Release {
            name: JUPYTERHUB.name.to_owned(),
            chart: &JUPYTERHUB,
            repository: JUPYTERHUB.repository.to_owned(),
            namespace: JUPYTERHUB.namespace.to_owned(),
            values: Node::from_serializable(&values(cluster, hub), Origin::rule(inputs, reason)),
            pools: Vec::new(),
            daemon_sets: Vec::new(),
        }
    };
    cluster.jupyter_hub().map(release).into_iter().collect()
}

fn profile_pool<'c>(cluster: &'c Checked<'_>, profile: &NotebookProfile) -> Option<&'c Pool> {
    cluster.pool(profile.pool.as_ref()?)
}

fn values(cluster: &Checked<'_>, hub: &JupyterHub) -> Value {
    let profiles: Vec<_> = (hub.profiles.iter())
        .map(|profile| profile_entry(cluster, hub, profile))
        .collect();
    let idle = hub.idle_minutes.value * 60;
    let mut values = json!({
        "cull": {"enabled": true, "timeout": idle, "every": (idle / 2).min(600)},
        // The pre-pullers pull every image onto every user node, including images with frameworks onto nodes without
        // GPUs, and each upgrade of the release waits for them.
        "prePuller": {"hook": {"enabled": false}, "continuous": {"enabled": false}},
        "proxy": {"service": {"type": hub.service.as_str()}},
        // It is the scheduler of Kubernetes 1.30, and a scheduler may be at most one version behind its cluster:
        // https://kubernetes.io/releases/version-skew-policy/, 2026-11-21.
        "scheduling": {"userScheduler": {"enabled": false}},
        "singleuser": {
            "profileList": profiles,
            "startTimeout": START_SECONDS,
            "storage": storage_values(cluster, hub),
        },
    });
    let mut hub_values = Map::new();
    if let Some(secret) = &hub.secret {
        hub_values.insert("existingSecret".to_owned(), json!(secret.value));
    }
    if let Some(class) = storage_class(hub) {
        let pvc = json!({"pvc": {"storageClassName": class}});
        hub_values.insert("db".to_owned(), pvc);
    }
    if !hub_values.is_empty() {
        values["hub"] = Value::Object(hub_values);
    }
    values
}

fn storage_class(hub: &JupyterHub) -> Option<&str> {
    let class = hub.storage.as_ref()?.class.as_ref()?;
    Some(&class.value)
}

/// The volumes of every notebook. They are the same for all profiles because a profile's list would replace the one
/// with the user's files. Frameworks exchange data between processes in `/dev/shm`, which has 64 MiB in a container
/// by default; data there counts as the notebook's memory.
fn storage_values(cluster: &Checked<'_>, hub: &JupyterHub) -> Value {
    let mut storage = Map::new();
    if let Some(written) = &hub.storage {
        let size = format!("{}Gi", written.size_gib);
        storage.insert("capacity".to_owned(), json!(size));
    }
    if let Some(class) = storage_class(hub) {
        storage.insert("dynamic".to_owned(), json!({"storageClass": class}));
    }
    let mut pools = hub
        .profiles
        .iter()
        .filter_map(|it| profile_pool(cluster, it));
    if pools.any(|pool| pool.has_gpus()) {
        let volumes = json!([{"name": "shm", "emptyDir": {"medium": "Memory"}}]);
        let mounts = json!([{"name": "shm", "mountPath": "/dev/shm"}]);
        storage.insert("extraVolumes".to_owned(), volumes);
        storage.insert("extraVolumeMounts".to_owned(), mounts);
    }
    Value::Object(storage)
}

/// An entry of the list of profiles that users choose from.
fn profile_entry(cluster: &Checked<'_>, hub: &JupyterHub, profile: &NotebookProfile) -> Value {
    let mut entry = json!({"display_name": profile.name.value, "slug": slug(&profile.name)});
    let overrides = spawner_overrides(cluster, hub, profile);
    if !overrides.is_empty() {
        entry["kubespawner_override"] = Value::Object(overrides);
    }
    entry
}

fn spawner_overrides(
    cluster: &Checked<'_>,
    hub: &JupyterHub,
    profile: &NotebookProfile,
) -> Map<String, Value> {
    let mut overrides = Map::new();
    let mut set = |key: &str, value: Value| overrides.insert(key.to_owned(), value);
    if let Some(image) = profile.image.as_ref().or(hub.image.as_ref()) {
        set("image", json!(image.value));
    }
    if let Some(cores) = profile.cpu.as_ref().and_then(cores) {
        set("cpu_guarantee", cores.clone());
        set("cpu_limit", cores);
    }
    if let Some(bytes) = profile.memory.as_ref().and_then(bytes) {
        set("mem_guarantee", json!(bytes));
        set("mem_limit", json!(bytes));
    }
    let Some(pool) = profile_pool(cluster, profile) else {
        return overrides;
    };
    let labels = pool.selector.iter();
    let labels = labels.map(|label| (label.key.clone(), json!(label.value)));
    set("node_selector", Value::Object(labels.collect()));
    set("tolerations", json!(gpuc_model::derive::tolerations(pool)));
    if let Some(devices) = ExtendedResourceRequest::for_notebook(profile, pool) {
        let amounts = json!({devices.resource: devices.count.to_string()});
        set("extra_resource_guarantees", amounts.clone());
        set("extra_resource_limits", amounts);
        if let Some(class) = lower::test_pod_class(cluster, pool) {
            set("extra_pod_config", json!({"runtimeClassName": class}));
        }
    }
    overrides
}

/// CPU cores as a number, which KubeSpawner requires.
fn cores(amount: &gpuc_schema::Spanned<Quantity>) -> Option<Value> {
    let thousandths = amount.thousandths()?;
    if thousandths.is_multiple_of(1000) {
        return Some(json!(thousandths / 1000));
    }
    let cores = f64::from(u32::try_from(thousandths).ok()?) / 1000.0;
    Number::from_f64(cores).map(Value::Number)
}

/// Memory in bytes: in JupyterHub, the suffix `G` means Kubernetes' `Gi`.
///
/// Source: jupyterhub/jupyterhub@0b3a96c0 jupyterhub/traitlets.py, `ByteSpecification`, 2026-11-21.
fn bytes(amount: &gpuc_schema::Spanned<Quantity>) -> Option<u64> {
    Some(amount.thousandths()?.div_ceil(1000))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charts::testing::with_checked_file;

    /// The values of a hub with these keys, with a pool of full GPUs, one of replicas, one of MIG devices, one without
    /// GPUs.
    #[track_caller]
    fn values_for(hub: &str) -> Value {
        let yaml = format!(
            "
apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {{name: demo}}
kubernetes: {{version: '1.36'}}
cloud: {{onPrem: {{context: demo}}}}
stack: {{devicePlugin: nvidia}}
charts: {{jupyterhub: {{values: {{hub: {{config: {{JupyterHub: {{authenticator_class: github}}}}}}}}}}}}
nodePools:
  - {{name: cpu, hosts: [a], nodes: {{count: 1}}}}
  - name: whole
    hosts: [b]
    nodes: {{count: 1}}
    gpu: {{model: A30, perNode: 4}}
    taints: [{{key: nvidia.com/gpu, value: present, effect: NoSchedule}}]
  - name: shares
    hosts: [c]
    nodes: {{count: 1}}
    gpu: {{model: A30, perNode: 1}}
    sharing: {{timeSlicing: {{replicas: 4, rename: true}}}}
  - name: slices
    hosts: [d]
    nodes: {{count: 1}}
    gpu: {{model: A30, perNode: 1}}
    sharing: {{mig: {{strategy: mixed, perGpu: [{{layout: [{{profile: 1g.6gb, count: 4}}]}}]}}}}
    stack: {{devicePlugin: gpuc, runtimeImage: 'registry.example.com/gpuc-runtime:0.1.0'}}
notebooks: {{jupyterHub: {{{hub}}}}}
"
        );
        with_checked_file(&yaml, |cluster| {
            let hub = cluster.jupyter_hub().expect("a hub");
            values(&cluster, hub)
        })
    }

    #[test]
    fn profiles_follow_from_their_pools() {
        let values = values_for(
            "image: 'r.example.com/n:1', profiles: [
                {name: Two A30, pool: whole, gpus: 2, cpu: 1.5, memory: 2Gi},
                {name: Share, pool: shares, image: 'r.example.com/m:2'},
                {name: Slice, pool: slices, profile: 1g.6gb},
                {name: CPU (small), cpu: 4, memory: 1G}]",
        );
        let list = &values["singleuser"]["profileList"];
        let overrides = |index: usize| &list[index]["kubespawner_override"];
        let limits = |index: usize| &overrides(index)["extra_resource_limits"];
        assert_eq!(
            *overrides(0),
            json!({
                "image": "r.example.com/n:1",
                "cpu_guarantee": 1.5,
                "cpu_limit": 1.5,
                "mem_guarantee": 2_147_483_648_u64,
                "mem_limit": 2_147_483_648_u64,
                "node_selector": {"gpuc.dev/pool": "whole"},
                "tolerations": [{"key": "nvidia.com/gpu", "operator": "Equal", "value": "present",
                    "effect": "NoSchedule"}],
                "extra_resource_guarantees": {"nvidia.com/gpu": "2"},
                "extra_resource_limits": {"nvidia.com/gpu": "2"},
                // No runtime class: these nodes inject GPUs through CDI.
            })
        );
        assert_eq!(*limits(1), json!({"nvidia.com/gpu.shared": "1"}));
        assert_eq!(overrides(1)["image"], "r.example.com/m:2");
        assert_eq!(*limits(2), json!({"nvidia.com/mig-1g.6gb": "1"}));
        let small = json!({"display_name": "CPU (small)", "slug": "cpu-small",
            "kubespawner_override": {"image": "r.example.com/n:1", "cpu_guarantee": 4, "cpu_limit": 4,
                "mem_guarantee": 1_000_000_000, "mem_limit": 1_000_000_000}});
        assert_eq!(list[3], small);
        assert_eq!(
            values["singleuser"]["storage"]["extraVolumeMounts"],
            json!([{"name": "shm", "mountPath": "/dev/shm"}])
        );
    }

    #[test]
    fn hub_settings_are_chart_values() {
        let plain = values_for("profiles: [{name: a, pool: cpu}]");
        assert_eq!(plain["cull"]["timeout"], 3600);
        assert_eq!(plain["proxy"]["service"]["type"], "ClusterIP");
        assert_eq!(plain["singleuser"]["storage"], json!({}));
        assert_eq!(plain.get("hub"), None);
        let all = values_for(
            "profiles: [{name: a, pool: cpu}], idleMinutes: 10, storage: {sizeGiB: 5, class: fast}, \
             secret: mine, service: NodePort",
        );
        let cull = json!({"enabled": true, "timeout": 600, "every": 300});
        assert_eq!(all["cull"], cull);
        let hub = json!({"existingSecret": "mine", "db": {"pvc": {"storageClassName": "fast"}}});
        assert_eq!(all["hub"], hub);
        let storage = json!({"capacity": "5Gi", "dynamic": {"storageClass": "fast"}});
        assert_eq!(all["singleuser"]["storage"], storage);
        assert_eq!(all["proxy"]["service"]["type"], "NodePort");
    }
}
