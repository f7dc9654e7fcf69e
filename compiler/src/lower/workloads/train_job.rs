//! `TrainJobs` of Kubeflow's Trainer v2.
//!
//! Each has a `TrainingRuntime` of its own, which holds the pods: what a `TrainJob` itself can say of them is little,
//! and the runtimes of the chart know nothing of pools.

use gpuc_schema::config::TrainJob;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::pod::{self, Role};
use super::{COMPONENT, RUNTIMES, Work, slim};
use crate::plan::Object;

const API_VERSION: &str = "trainer.kubeflow.org/v1alpha1";

/// What the Trainer calls the group of pods and the container that train.
const NODE: &str = "node";

/// The label by which the Trainer knows the group of pods that train: without it nothing is told to `torchrun`.
///
/// Source: kubeflow/trainer@v2.3.0 charts/kubeflow-trainer/files/runtimes.
const STEP: &str = "trainer.kubeflow.org/trainjob-ancestor-step";

/// How many bytes of a digest tell the runtimes of one job apart.
const BYTES: usize = 4;

/// The runtime, and the job that refers to it.
pub(super) fn objects(work: &Work<'_>, job: &TrainJob) -> Vec<Object> {
    let role = Role {
        container: NODE,
        restart: Some("Never"),
        ..Role::MAIN
    };
    let runs = slim(json!({
        "completionMode": "Indexed",
        "backoffLimit": 0,
        "template": pod::template(work, &job.pods(), role),
    }));
    let spec = json!({
        "mlPolicy": {"numNodes": job.nodes.value, "torch": {}},
        "template": {"spec": {
            "failurePolicy": {"maxRestarts": job.restarts.value},
            "replicatedJobs": [{
                "name": NODE,
                "template": {"metadata": {"labels": {STEP: "trainer"}}, "spec": runs},
            }],
        }},
    });
    let name = name(work, &spec);
    let runtime = json!({
        "apiVersion": API_VERSION,
        "kind": "TrainingRuntime",
        "metadata": work.metadata(&name),
        "spec": spec,
    });
    let train_job = json!({
        "apiVersion": API_VERSION,
        "kind": "TrainJob",
        "metadata": work.queued(work.name()),
        "spec": slim(json!({
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

/// What the runtime with this specification is called: after the job, and after what it says. A job keeps the runtime
/// that it started with, and `runtimeRef` cannot be changed, so that a job whose image or command changed is a new one.
///
/// Source: kubeflow/trainer@v2.3.0 `manifests/base/crds/trainer.kubeflow.org_trainjobs.yaml`, `runtimeRef`: "field is
/// immutable".
fn name(work: &Work<'_>, spec: &Value) -> String {
    let patch = json!(work.workload.value.pod_patch);
    let digest = Sha256::digest(json!([spec, patch]).to_string());
    let bytes = digest.iter().take(BYTES);
    let digest: Vec<_> = bytes.map(|byte| format!("{byte:02x}")).collect();
    format!("{}-{}", work.name(), digest.concat())
}
