//! Tests of the network between GPUs of several nodes.

use std::collections::BTreeMap;

use gpuc_model::fabric::{Fabric, pool_bandwidth, pool_fabric};
use gpuc_model::plan::Object;
use gpuc_schema::config::{FabricTest, PodSecurityLevel};
use serde_json::{Value, json};

use super::interconnect::InterconnectNeeds;
use super::pod;
use super::{COMPONENT, WorkloadContext, without_empty_fields};

/// NVIDIA's image of `PyTorch`, which contains NCCL, and the network plugin and libraries of EFA.
///
/// Source: NVIDIA/aicr `recipes/`, its tests of GKE and OKE, 2026-11-28.
const IMAGE: &str = "nvcr.io/nvidia/pytorch:25.06-py3";

/// The program.
const PROGRAM: &str = include_str!("programs/fabric_test.py");

/// The folder of the program in the container, and its file.
const FOLDER: &str = "/fabric-test";
const FILE: &str = "fabric_test.py";

/// The rendezvous port of the pod with rank 0: the default of `torchrun`.
const RENDEZVOUS: u16 = 29400;

/// The time limit of the Job in seconds. A network that does not connect the nodes would otherwise use their GPUs
/// without end.
const DEADLINE_SECONDS: u32 = 1800;

/// The user and group `nobody`, where namespaces do not allow root.
const NOBODY_ID: u32 = 65534;

/// The Job, the Service by which its pods find the first one, and the program.
pub(super) fn objects(work: &WorkloadContext<'_>, test: &FabricTest) -> Vec<Object> {
    let needs = pod::combined_needs(work, &work.pools);
    let name = work.name();
    let program = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": work.metadata(name),
        "data": {FILE: PROGRAM},
    });
    let service = json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": work.metadata(name),
        // The pods connect before they are ready.
        "spec": {"clusterIP": "None", "publishNotReadyAddresses": true, "selector": work.selector()},
    });
    let mut metadata = pod::pod_metadata(work);
    for (key, value) in &needs.additions.annotations {
        metadata["annotations"][key] = value.clone();
    }
    let job = json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": work.queued_metadata(name),
        "spec": {
            "completions": test.nodes.value,
            "parallelism": test.nodes.value,
            "completionMode": "Indexed",
            "backoffLimit": 0,
            "activeDeadlineSeconds": DEADLINE_SECONDS,
            "template": {"metadata": metadata, "spec": pod_spec(work, test, &needs)},
        },
    });
    [program, service, job]
        .iter()
        .map(|object| work.object(COMPONENT, object))
        .collect()
}

fn pod_spec(work: &WorkloadContext<'_>, test: &FabricTest, needs: &InterconnectNeeds) -> Value {
    let mut spec = pod::placement_fields(work, &work.pools);
    // Pods on one node would not use the network.
    spec["affinity"]["podAntiAffinity"] = json!({"requiredDuringSchedulingIgnoredDuringExecution": [{
        "labelSelector": {"matchLabels": work.selector()},
        "topologyKey": "kubernetes.io/hostname",
    }]});
    let mut volumes = vec![
        json!({"name": "program", "configMap": {"name": work.name()}}),
        json!({"name": "shared-memory", "emptyDir": {"medium": "Memory"}}),
    ];
    volumes.extend(needs.additions.volumes.iter().cloned());
    let mut mounts = vec![
        json!({"name": "program", "mountPath": FOLDER}),
        json!({"name": "shared-memory", "mountPath": "/dev/shm"}),
    ];
    mounts.extend(needs.additions.mounts.iter().cloned());
    let image = test.image.as_ref().map_or(IMAGE, |image| image.as_str());
    let container = without_empty_fields(json!({
        "name": "main",
        "image": image,
        "command": needs.command(&["torchrun", &format!("{FOLDER}/{FILE}")]),
        "env": env(work, test, needs),
        "resources": resources(work, test, needs),
        "securityContext": pod::container_security(needs),
        "volumeMounts": mounts,
    }));
    spec["restartPolicy"] = json!("Never");
    spec["automountServiceAccountToken"] = json!(false);
    spec["subdomain"] = json!(work.name());
    spec["securityContext"] = security(work);
    if !needs.additions.sidecars.is_empty() {
        spec["initContainers"] = json!(needs.additions.sidecars);
    }
    spec["containers"] = json!([container]);
    spec["volumes"] = json!(volumes);
    needs.add_to_spec(&mut spec);
    spec
}

/// The environment variables, by name.
fn env(work: &WorkloadContext<'_>, test: &FabricTest, needs: &InterconnectNeeds) -> Vec<Value> {
    let name = work.name();
    let mut all: BTreeMap<&str, String> = BTreeMap::from([
        ("NCCL_DEBUG", "INFO".to_owned()),
        ("NCCL_DEBUG_SUBSYS", "INIT,NET,ENV,GRAPH".to_owned()),
        ("PET_MASTER_ADDR", format!("{name}-0.{name}")),
        ("PET_MASTER_PORT", RENDEZVOUS.to_string()),
        ("PET_NNODES", test.nodes.to_string()),
        ("PET_NPROC_PER_NODE", test.gpus_per_node.to_string()),
        // The other nodes may start later: they pull a large image. Source: pytorch
        // `torch/distributed/elastic/rendezvous/static_tcp_rendezvous.py`, from memory, 2026-11-28.
        ("PET_RDZV_CONF", "timeout=1800".to_owned()),
    ]);
    let pool = work.pools.first();
    let fabric = pool.and_then(|pool| pool_fabric(work.cluster, pool, test.nodes.value).ok());
    // With the name of a network, NCCL fails instead of using TCP.
    if let Some(network) = fabric.and_then(Fabric::nccl_net) {
        all.insert("NCCL_NET", network.to_owned());
    }
    if matches!(fabric, Some(Fabric::InfiniBand | Fabric::Roce)) {
        // NVIDIA's image contains a plugin with another name.
        all.insert("NCCL_NET_PLUGIN", "none".to_owned());
    }
    let row = pool.zip(fabric).and_then(|(pool, fabric)| {
        let row = pool_bandwidth(work.cluster, pool, fabric, test.nodes.value)?;
        (row.gpus_per_node == test.gpus_per_node.value).then_some(row)
    });
    let floor = row.and_then(|row| Some((row.gigabytes_per_second?, row.min_bytes)));
    match (&test.min_bus_bandwidth, floor) {
        (Some(own), _) => {
            all.insert("MIN_BUS_BANDWIDTH", own.to_string());
        }
        (None, Some((floor, bytes))) => {
            all.insert("MIN_BUS_BANDWIDTH", floor.to_string());
            all.insert("MIN_BYTES", bytes.to_string());
        }
        (None, None) => {}
    }
    all.extend(
        needs
            .env
            .iter()
            .map(|(name, value)| (*name, (*value).to_owned())),
    );
    let mut variables: Vec<Value> = (all.iter())
        .map(|(name, value)| json!({"name": name, "value": value}))
        .collect();
    variables.push(json!({"name": "PET_NODE_RANK", "valueFrom": {"fieldRef":
        {"fieldPath": "metadata.annotations['batch.kubernetes.io/job-completion-index']"}}}));
    variables
}

fn resources(work: &WorkloadContext<'_>, test: &FabricTest, needs: &InterconnectNeeds) -> Value {
    let mut amounts = pod::device_resources(work, &work.pools);
    amounts.extend(needs.resources.clone());
    if let Some(memory) = &test.memory {
        amounts.insert("memory".to_owned(), json!(memory.value.0));
        if let Some(huge_pages) = &needs.huge_pages {
            amounts.insert("hugepages-2Mi".to_owned(), json!(huge_pages));
        }
    }
    without_empty_fields(json!({
        "requests": amounts,
        "limits": amounts,
        "claims": pod::container_claims(work, &work.pools, needs),
    }))
}

/// The image runs as root, which namespaces with the Pod Security Standard `restricted` do not allow.
fn security(work: &WorkloadContext<'_>) -> Value {
    let team = work.workload.value.team.as_ref();
    let team = team.and_then(|name| work.cluster.team(name));
    let level = team.map(|team| team.settings.pod_security.value);
    let mut security = json!({"seccompProfile": {"type": "RuntimeDefault"}});
    if level == Some(PodSecurityLevel::Restricted) {
        security["runAsNonRoot"] = json!(true);
        security["runAsUser"] = json!(NOBODY_ID);
        security["runAsGroup"] = json!(NOBODY_ID);
    }
    security
}
