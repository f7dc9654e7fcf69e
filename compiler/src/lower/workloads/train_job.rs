//! `TrainJobs` of Kubeflow's Trainer v2.
//!
//! Each has a `TrainingRuntime` of its own, which holds the pods: what a `TrainJob` itself can say of them is little,
//! and the runtimes of the chart know nothing of pools.

use gpuc_schema::config::TrainJob;
use serde_json::json;

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
    let runtime = json!({
        "apiVersion": API_VERSION,
        "kind": "TrainingRuntime",
        "metadata": work.metadata(work.name()),
        "spec": {
            "mlPolicy": {"numNodes": job.nodes.value, "torch": {}},
            "template": {"spec": {
                "failurePolicy": {"maxRestarts": job.restarts.value},
                "replicatedJobs": [{
                    "name": NODE,
                    "template": {"metadata": {"labels": {STEP: "trainer"}}, "spec": runs},
                }],
            }},
        },
    });
    let train_job = json!({
        "apiVersion": API_VERSION,
        "kind": "TrainJob",
        "metadata": work.queued(work.name()),
        "spec": slim(json!({
            "runtimeRef": {
                "apiGroup": "trainer.kubeflow.org",
                "kind": "TrainingRuntime",
                "name": work.name(),
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
