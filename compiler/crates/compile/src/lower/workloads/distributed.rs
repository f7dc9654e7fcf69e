//! Distributed jobs: JobSets and PyTorchJobs.

use gpuc_model::plan::Object;
use gpuc_schema::config::{JobSet, PytorchJob};
use serde_json::{Value, json};

use super::pod::{self, PodRole};
use super::{COMPONENT, WorkloadContext, without_empty_fields};

/// The rendezvous port of the pod with rank 0: the default of `torchrun` and of Kubeflow.
const RENDEZVOUS: u16 = 29400;

/// The name of a `JobSet`'s only group of pods.
const GROUP: &str = "node";

/// A `JobSet`, whose pods start and fail together.
///
/// Their DNS names are `<jobset>-<group>-<job>-<pod>`, below a Service with the name of the `JobSet`:
/// <https://jobset.sigs.k8s.io/docs/concepts/>, 2026-11-21 (from memory). `torchrun` reads each of its options from an
/// environment variable with the prefix `PET_`: pytorch/pytorch `torch/distributed/run.py` (from memory).
pub(super) fn job_set(work: &WorkloadContext<'_>, job: &JobSet) -> Object {
    let name = work.name();
    let variable = |name: &str, value: String| json!({"name": name, "value": value});
    let rank = json!({"name": "PET_NODE_RANK", "valueFrom": {"fieldRef":
        {"fieldPath": "metadata.annotations['batch.kubernetes.io/job-completion-index']"}}});
    let env = [
        variable("PET_NNODES", job.nodes.to_string()),
        variable("PET_NPROC_PER_NODE", job.gpus_per_node.to_string()),
        rank,
        variable("PET_MASTER_ADDR", format!("{name}-{GROUP}-0-0.{name}")),
        variable("PET_MASTER_PORT", RENDEZVOUS.to_string()),
    ];
    let role = PodRole {
        restart_policy: Some("Never"),
        env: &env,
        ..PodRole::MAIN
    };
    let group = json!({
        "name": GROUP,
        "replicas": 1,
        "template": {"spec": {
            "parallelism": job.nodes.value,
            "completions": job.nodes.value,
            "completionMode": "Indexed",
            "backoffLimit": 0,
            "template": pod::pod_template(work, &job.pods(), role),
        }},
    });
    let object = json!({
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": work.queued_metadata(name),
        "spec": without_empty_fields(json!({
            "failurePolicy": {"maxRestarts": job.restarts.value},
            "network": {"enableDNSHostnames": true, "publishNotReadyAddresses": true},
            "ttlSecondsAfterFinished": job.ttl_seconds.map(|it| it.value),
            "replicatedJobs": [group],
        })),
    });
    work.object(COMPONENT, &object)
}

/// A PyTorchJob of the Training Operator v1: a master and workers with the same template. The operator sets the
/// rendezvous variables, and requires the container name `pytorch`.
pub(super) fn pytorch_job(work: &WorkloadContext<'_>, job: &PytorchJob) -> Object {
    let role = PodRole {
        container: "pytorch",
        ..PodRole::MAIN
    };
    let template = pod::pod_template(work, &job.pods(), role);
    let replicas = |count: u32| -> Value {
        json!({"replicas": count, "restartPolicy": "OnFailure", "template": template})
    };
    let mut specs = json!({"Master": replicas(1)});
    if job.nodes.value > 1 {
        specs["Worker"] = replicas(job.nodes.value - 1);
    }
    let object = json!({
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": work.queued_metadata(work.name()),
        "spec": {
            "nprocPerNode": job.gpus_per_node.to_string(),
            "runPolicy": without_empty_fields(json!({
                "cleanPodPolicy": "None",
                "backoffLimit": job.retries.map(|it| it.value),
                "activeDeadlineSeconds": job.deadline_seconds.map(|it| it.value),
            })),
            "pytorchReplicaSpecs": specs,
        },
    });
    work.object(COMPONENT, &object)
}
