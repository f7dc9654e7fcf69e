//! `JobSet`: Jobs that start, end and fail together. Kubeflow's Trainer makes its jobs of them.

use gpuc_model::KubernetesVersion;
use gpuc_model::check::Checked;
use gpuc_model::plan::{Chart, Crds, KubernetesSupport, PodSecurity, Release};
use gpuc_schema::config::Task;
use serde_json::json;

use super::{required_by, single_release};

/// The chart.
pub static JOBSET: Chart = Chart {
    name: "jobset",
    repository: "oci://registry.k8s.io/jobset/charts",
    version: "0.12.0",
    kubernetes: Some(KubernetesSupport {
        oldest: KubernetesVersion(27),
        newest: None,
        source: "kubernetes-sigs/jobset@v0.12.0 charts/jobset/README.md, 2026-05-08",
    }),
    namespace: "jobset-system",
    pod_security: PodSecurity::Restricted,
    crds: Crds::Folder,
    api_groups: &["jobset.x-k8s.io"],
    dependencies: &[],
    releases,
    source: "kubernetes-sigs/jobset@v0.12.0 charts/jobset/values.yaml, 2026-11-21",
};

fn releases(cluster: &Checked<'_>) -> Vec<Release> {
    let charts = &cluster.config.charts;
    let settings = charts.jobset.as_ref().or(charts.kubeflow_trainer.as_ref());
    let wanted = required_by(cluster, settings, |task| {
        matches!(task, Task::JobSet(_) | Task::TrainJob(_))
    });
    let image = json!({
        "repository": "registry.k8s.io/jobset/jobset",
        "tag": "v0.12.0",
        "pullPolicy": "IfNotPresent",
    });
    single_release(&JOBSET, wanted, &json!({"image": image}))
}
