//! The volumes of workloads, and the claims that gpuc makes for them.

use gpuc_schema::config::{NamedVolume, Pods, Task, VolumeClaim, VolumeFrom, Volumes};
use serde_json::{Value, json};

use super::{COMPONENT, Work, slim};
use crate::model::Cluster;
use crate::plan::Object;

/// Where programs find shared memory.
const SHARED_MEMORY: &str = "/dev/shm";

/// A pod's volumes, and where its container sees them.
pub(super) struct Mounted {
    pub(super) volumes: Vec<Value>,
    pub(super) mounts: Vec<Value>,
}

/// The volumes of a workload's pods.
pub(super) fn of(work: &Work<'_>, pods: &Pods<'_>) -> Mounted {
    let shared = shared_memory(work, pods).into_iter();
    let mut volumes: Vec<_> = shared
        .map(|empty_dir| json!({"name": "shm", "emptyDir": empty_dir}))
        .collect();
    let mounts = volumes.iter();
    let mut mounts: Vec<_> = mounts
        .map(|_| json!({"name": "shm", "mountPath": SHARED_MEMORY}))
        .collect();
    for volume in pods.volumes {
        volumes.extend(source(work, volume));
        let mut mount = json!({"name": volume.name.value, "mountPath": volume.mount_path.value});
        if volume.read_only.value {
            mount["readOnly"] = json!(true);
        }
        mounts.push(mount);
    }
    Mounted { volumes, mounts }
}

/// The shared memory of a container, where it has more than 64 MiB: frameworks hand data between the processes of
/// several GPUs by it. It counts as the pod's memory.
fn shared_memory(work: &Work<'_>, pods: &Pods<'_>) -> Option<Value> {
    match pods.shared_memory {
        Some(size) if size.thousandths() == Some(0) => None,
        Some(size) => Some(json!({"medium": "Memory", "sizeLimit": size.value.0})),
        None => {
            let several = work.ask.is_some_and(|ask| ask.count > 1);
            let many = several || work.task.nodes().is_some();
            many.then(|| json!({"medium": "Memory"}))
        }
    }
}

/// What a volume of a pod is; `None` where each pod of a `StatefulSet` gets its own.
fn source(work: &Work<'_>, volume: &NamedVolume) -> Option<Value> {
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
            json!({"name": name, "emptyDir": slim(json!({"sizeLimit": size}))})
        }
    })
}

fn claim_name(work: &Work<'_>, volume: &NamedVolume) -> String {
    format!("{}-{}", work.name(), volume.name)
}

/// The claims that gpuc makes for a workload.
pub(super) fn claims(work: &Work<'_>) -> Vec<Object> {
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

/// The claims of each pod of a `StatefulSet`.
pub(super) fn templates(work: &Work<'_>) -> Vec<Value> {
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
    let mode = if is_files(cluster, claim) {
        "ReadWriteMany"
    } else {
        "ReadWriteOnce"
    };
    slim(json!({
        "accessModes": [mode],
        "storageClassName": claim.class.as_ref().map(|class| &class.value),
        "resources": {"requests": {"storage": format!("{}Gi", claim.size_gib)}},
    }))
}

/// Whether a claim's class is one of `storage` that many nodes may use at once.
fn is_files(cluster: &Cluster, claim: &VolumeClaim) -> bool {
    let classes = cluster.written.storage.iter().flat_map(|it| &it.classes);
    let named = claim.class.as_ref();
    let mut classes = classes.filter(|class| named.is_some_and(|named| *named == class.name));
    classes.any(|class| matches!(class.volumes.value, Volumes::Files(_)))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::chart::testing::checked_file;

    /// The volumes and mounts of a job with these keys.
    fn made(keys: &str) -> (Value, Value) {
        let text = format!(
            "{{apiVersion: gpuc.dev/v1alpha1, kind: GpuCluster, metadata: {{name: demo}}, \
             kubernetes: {{version: '1.34'}}, cloud: {{onPrem: {{context: demo}}}}, \
             stack: {{runtimeImage: 'r.example.com/runtime:0.1.0'}}, \
             nodePools: [{{name: gpu, gpu: {{model: L4, perNode: 4}}, hosts: [a], nodes: {{count: 1}}}}], \
             workloads: [{{name: train, job: {{image: 'r.example.com/train:1.0.0', {keys}}}}}]}}"
        );
        checked_file(&text, |cluster| {
            let objects = crate::lower::workloads::objects(&cluster);
            let job = objects.iter().find(|it| it.identity.kind == "Job");
            let job = serde_json::to_value(&job.expect("a job").node).expect("JSON");
            let spec = &job["spec"]["template"]["spec"];
            let mounts = spec["containers"][0]["volumeMounts"].clone();
            (spec["volumes"].clone(), mounts)
        })
    }

    #[test]
    fn shared_memory_is_as_large_as_it_is_said_to_be() {
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
            let (volumes, mounts) = made(keys);
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
