//! `TrainJobs` of Kubeflow's Trainer v2.
//!
//! Each has its own `TrainingRuntime` with the pod template: a `TrainJob` itself can set few fields of it, and the
//! chart's runtimes have no settings for node pools.

use gpuc_model::plan::Object;
use gpuc_schema::config::TrainJob;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::pod::{self, PodRole};
use super::{COMPONENT, RUNTIMES, WorkloadContext, without_empty_fields};

const API_VERSION: &str = "trainer.kubeflow.org/v1alpha1";

/// The name that the Trainer requires for the training pods and their container.
const NODE: &str = "node";

/// The label that identifies the training pods. Without it, the Trainer does not configure `torchrun`.
///
/// Source: kubeflow/trainer@v2.3.0 charts/kubeflow-trainer/files/runtimes.
const ANCESTOR_STEP_LABEL: &str = "trainer.kubeflow.org/trainjob-ancestor-step";

/// The number of bytes of the digest in the name of a runtime.
const DIGEST_BYTES: usize = 4;

/// The runtime, and the job that refers to it.
pub(super) fn objects(work: &WorkloadContext<'_>, job: &TrainJob) -> Vec<Object> {
    let role = PodRole {
        container: NODE,
        restart_policy: Some("Never"),
        ..PodRole::MAIN
    };
    let job_spec = without_empty_fields(json!({
        "completionMode": "Indexed",
        "backoffLimit": 0,
        "template": pod::pod_template(work, &job.pods(), role),
    }));
    let spec = json!({
        "mlPolicy": {"numNodes": job.nodes.value, "torch": {}},
        "template": {"spec": {
            "failurePolicy": {"maxRestarts": job.restarts.value},
            "replicatedJobs": [{
                "name": NODE,
                "template": {"metadata": {"labels": {ANCESTOR_STEP_LABEL: "trainer"}}, "spec": job_spec},
            }],
        }},
    });
    let name = runtime_name(work, &spec);
    let runtime = json!({
        "apiVersion": API_VERSION,
        "kind": "TrainingRuntime",
        "metadata": work.metadata(&name),
        "spec": spec,
    });
    let train_job = json!({
        "apiVersion": API_VERSION,
        "kind": "TrainJob",
        "metadata": work.queued_metadata(work.name()),
        "spec": without_empty_fields(json!({
            "runtimeRef": {
                "apiGroup": "trainer.kubeflow.org",
                "kind": "TrainingRuntime",
                "name": name,
            },
            "activeDeadlineSeconds": job.deadline_seconds.map(|it| it.value),
            "trainer": {
                "numNodes": job.nodes.value,
                "numProcPerNode": job.gpus_per_node.value,
            },
        })),
    });
    vec![
        work.object(RUNTIMES, &runtime),
        work.object(COMPONENT, &train_job),
    ]
}

/// The name of the runtime: the name of the job, and a digest of the specification. A job keeps the runtime with which
/// it started, and `runtimeRef` is immutable, so a changed image or command requires a new job.
///
/// Source: kubeflow/trainer@v2.3.0 `manifests/base/crds/trainer.kubeflow.org_trainjobs.yaml`, `runtimeRef`: "field is
/// immutable".
fn runtime_name(work: &WorkloadContext<'_>, spec: &Value) -> String {
    let patch = json!(work.workload.value.pod_patch);
    let digest = Sha256::digest(json!([spec, patch]).to_string());
    let suffix: Vec<_> = (digest.iter().take(DIGEST_BYTES))
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("{}-{}", work.name(), suffix.concat())
}
