//! Kubeflow's Trainer, which runs `TrainJobs`.
//!
//! Its copy of JobSet is disabled: gpuc installs that chart itself, so the cluster has it only once.

use gpuc_model::KubernetesVersion;
use gpuc_model::check::Checked;
use gpuc_model::plan::{Chart, Crds, KubernetesSupport, PodSecurity, Release};
use gpuc_schema::config::Task;
use serde_json::json;

use super::{required_by, single_release};

/// The chart.
pub static KUBEFLOW_TRAINER: Chart = Chart {
    name: "kubeflow-trainer",
    repository: "oci://ghcr.io/kubeflow/charts",
    version: "2.3.0",
    kubernetes: Some(KubernetesSupport {
        oldest: KubernetesVersion(31),
        newest: None,
        source: "kubeflow/trainer@v2.3.0 charts/kubeflow-trainer/README.md, 2026-08-06",
    }),
    namespace: "kubeflow-system",
    pod_security: PodSecurity::Baseline,
    crds: Crds::Templates,
    api_groups: &["trainer.kubeflow.org"],
    dependencies: &[("jobset", "its jobs are JobSets")],
    releases,
    source: "kubeflow/trainer@v2.3.0 charts/kubeflow-trainer/values.yaml, 2026-11-21",
};

fn releases(cluster: &Checked<'_>) -> Vec<Release> {
    let settings = cluster.config.charts.kubeflow_trainer.as_ref();
    let wanted = required_by(cluster, settings, |task| matches!(task, Task::TrainJob(_)));
    let values = json!({
        "jobset": {"install": false},
        // Without them there is no `torch-distributed`, which every example of a TrainJob names.
        "runtimes": {"defaultEnabled": true},
    });
    single_release(&KUBEFLOW_TRAINER, wanted, &values)
}
