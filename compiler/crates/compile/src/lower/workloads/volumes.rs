//! The volumes of workloads and their PersistentVolumeClaims.

use gpuc_model::Cluster;
use gpuc_model::plan::Object;
use gpuc_schema::config::{NamedVolume, Pods, Task, VolumeClaim, VolumeFrom, Volumes};
use serde_json::{Value, json};

use super::{COMPONENT, WorkloadContext, without_empty_fields};

/// The mount path of shared memory.
const SHARED_MEMORY: &str = "/dev/shm";

/// The volumes of a pod and the mounts of its container.
pub(super) struct PodVolumes {
    pub(super) volumes: Vec<Value>,
    pub(super) mounts: Vec<Value>,
}

/// The volumes of a workload's pods, with their mounts.
pub(super) fn pod_volumes(work: &WorkloadContext<'_>, pods: &Pods<'_>) -> PodVolumes {
    let (mut volumes, mut mounts) = (Vec::new(), Vec::new());
    if let Some(empty_dir) = shared_memory(work, pods) {
        volumes.push(json!({"name": "shm", "emptyDir": empty_dir}));
        mounts.push(json!({"name": "shm", "mountPath": SHARED_MEMORY}));
    }
    for volume in pods.volumes {
        volumes.extend(volume_source(work, volume));
        let mut mount = json!({"name": volume.name.value, "mountPath": volume.mount_path.value});
        if volume.read_only.value {
            mount["readOnly"] = json!(true);
        }
        mounts.push(mount);
    }
    PodVolumes { volumes, mounts }
}

/// The shared memory of a container, if it needs more than the default of 64 MiB: frameworks use it to exchange data
/// between the processes of several GPUs. It counts as the pod's memory.
fn shared_memory(work: &WorkloadContext<'_>, pods: &Pods<'_>) -> Option<Value> {
    match pods.shared_memory {
        Some(size) if size.thousandths() == Some(0) => None,
        Some(size) => Some(json!({"medium": "Memory", "sizeLimit": size.value.0})),
        None => {
            let has_many_gpus = work
                .gpu_request
                .is_some_and(|gpu_request| gpu_request.count > 1);
            let is_needed = has_many_gpus || work.task.nodes().is_some();
            is_needed.then(|| json!({"medium": "Memory"}))
        }
    }
}

/// The volume of a pod; `None` if each pod of a `StatefulSet` gets its own.
fn volume_source(work: &WorkloadContext<'_>, volume: &NamedVolume) -> Option<Value> {
    let name = &volume.name.value;
    let claimed = |claim: &str| {
        let source = json!({"claimName": claim});
        json!({"name": name, "persistentVolumeClaim": source})
    };
    Some(match &volume.from.value {
        VolumeFrom::ExistingClaim(claim) => claimed(claim),
        VolumeFrom::Claim(_) if matches!(work.task, Task::StatefulSet(_)) => return None,
        VolumeFrom::Claim(_) => claimed(&claim_name(work, volume)),
        VolumeFrom::ConfigMap(map) => json!({"name": name, "configMap": {"name": map.value}}),
        VolumeFrom::Secret(secret) => {
            json!({"name": name, "secret": {"secretName": secret.value}})
        }
        VolumeFrom::Scratch(scratch) => {
            let size = scratch.size_gib.as_ref().map(|size| format!("{size}Gi"));
            json!({"name": name, "emptyDir": without_empty_fields(json!({"sizeLimit": size}))})
        }
    })
}

fn claim_name(work: &WorkloadContext<'_>, volume: &NamedVolume) -> String {
    format!("{}-{}", work.name(), volume.name)
}

/// The PersistentVolumeClaims of a workload.
pub(super) fn volume_claims(work: &WorkloadContext<'_>) -> Vec<Object> {
    let pods = work
        .task
        .pods()
        .filter(|_| !matches!(work.task, Task::StatefulSet(_)));
    let volumes = pods.map_or(&[][..], |pods| pods.volumes).iter();
    let claims = volumes.filter_map(|volume| {
        let VolumeFrom::Claim(claim) = &volume.from.value else {
            return None;
        };
        let object = json!({
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": work.metadata(&claim_name(work, volume)),
            "spec": claim_spec(work.cluster, claim),
        });
        Some(work.object(COMPONENT, &object))
    });
    claims.collect()
}

/// The claim templates of a StatefulSet.
pub(super) fn claim_templates(work: &WorkloadContext<'_>) -> Vec<Value> {
    let pods = work.task.pods();
    let volumes = pods.map_or(&[][..], |pods| pods.volumes).iter();
    let templates = volumes.filter_map(|volume| {
        let VolumeFrom::Claim(claim) = &volume.from.value else {
            return None;
        };
        Some(json!({
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {"name": volume.name.value},
            "spec": claim_spec(work.cluster, claim),
        }))
    });
    templates.collect()
}

fn claim_spec(cluster: &Cluster, claim: &VolumeClaim) -> Value {
    let mode = if is_shared_file_system(cluster, claim) {
        "ReadWriteMany"
    } else {
        "ReadWriteOnce"
    };
    without_empty_fields(json!({
        "accessModes": [mode],
        "storageClassName": claim.class.as_ref().map(|class| &class.value),
        "resources": {"requests": {"storage": format!("{}Gi", claim.size_gib)}},
    }))
}

/// Whether a claim's storage class is one in `storage` that many nodes can mount at once.
fn is_shared_file_system(cluster: &Cluster, claim: &VolumeClaim) -> bool {
    let classes = cluster.config.storage.iter().flat_map(|it| &it.classes);
    let name = claim.class.as_ref();
    classes
        .filter(|class| name.is_some_and(|name| *name == class.name))
        .any(|class| matches!(class.volumes.value, Volumes::Files(_)))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::charts::testing::with_checked_file;

    /// The volumes and mounts of a job with these keys.
    fn volumes_and_mounts(keys: &str) -> (Value, Value) {
        let text = format!(
            "{{apiVersion: gpuc.dev/v1alpha1, kind: GpuCluster, metadata: {{name: demo}}, \
             kubernetes: {{version: '1.36'}}, cloud: {{onPrem: {{context: demo}}}}, \
             stack: {{runtimeImage: 'r.example.com/runtime:0.1.0'}}, \
             nodePools: [{{name: gpu, gpu: {{model: L4, perNode: 4}}, hosts: [a], nodes: {{count: 1}}}}], \
             workloads: [{{name: train, job: {{image: 'r.example.com/train:1.0.0', {keys}}}}}]}}"
        );
        with_checked_file(&text, |cluster| {
            let objects = crate::lower::workloads::objects(&cluster);
            let job = objects.iter().find(|it| it.identity.kind == "Job");
            let job = serde_json::to_value(&job.expect("a job").node).expect("JSON");
            let spec = &job["spec"]["template"]["spec"];
            let mounts = spec["containers"][0]["volumeMounts"].clone();
            (spec["volumes"].clone(), mounts)
        })
    }

    #[test]
    fn shared_memory_has_the_requested_size() {
        for (keys, source) in [
            ("gpus: 2", Some(json!({"medium": "Memory"}))),
            ("gpus: 1", None),
            ("gpus: 2, sharedMemory: '0'", None),
            ("gpus: 1, sharedMemory: '0'", None),
            (
                "gpus: 1, sharedMemory: 2Gi",
                Some(json!({"medium": "Memory", "sizeLimit": "2Gi"})),
            ),
        ] {
            let (volumes, mounts) = volumes_and_mounts(keys);
            match source {
                None => assert_eq!((volumes, mounts), (Value::Null, Value::Null), "{keys}"),
                Some(source) => {
                    assert_eq!(volumes[0]["emptyDir"], source, "{keys}");
                    assert_eq!(mounts[0]["mountPath"], "/dev/shm", "{keys}");
                    assert_eq!(mounts[0]["name"], volumes[0]["name"], "{keys}");
                }
            }
        }
    }
}
