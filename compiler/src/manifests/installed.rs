//! What of the projects whose kinds people write gpuc itself installs: of these the versions are known.

use gpuc_schema::config::Task;

use crate::model::Cluster;

use super::read::Object;

/// The API versions of the kinds that gpuc's charts bring, by group.
///
/// Sources: the definitions of kubernetes-sigs/jobset@v0.12.0, kubernetes-sigs/lws@v0.10.0, kubeflow/trainer@v2.3.0 and
/// kubernetes-sigs/kueue@v0.19.2, `spec.versions` (2026-11-22).
const VERSIONS: &[(&str, &[&str], &[&str])] = &[
    (
        "jobset.x-k8s.io",
        &["JobSet"],
        &["jobset.x-k8s.io/v1alpha2"],
    ),
    (
        "leaderworkerset.x-k8s.io",
        &["LeaderWorkerSet"],
        &["leaderworkerset.x-k8s.io/v1"],
    ),
    (
        "trainer.kubeflow.org",
        &["ClusterTrainingRuntime", "TrainJob", "TrainingRuntime"],
        &["trainer.kubeflow.org/v1alpha1"],
    ),
    (
        "kueue.x-k8s.io",
        &[
            "AdmissionCheck",
            "ClusterQueue",
            "Cohort",
            "LocalQueue",
            "ResourceFlavor",
            "Topology",
            "Workload",
            "WorkloadPriorityClass",
        ],
        &["kueue.x-k8s.io/v1beta2", "kueue.x-k8s.io/v1beta1"],
    ),
];

/// The versions by which the cluster has a kind, where that of an object is none of them.
pub(super) fn versions(cluster: &Cluster, object: &Object) -> Option<&'static [&'static str]> {
    let mut known = VERSIONS.iter();
    let (group, _, versions) =
        known.find(|it| object.is_of(it.0) && it.1.contains(&object.kind.as_str()))?;
    let is_other = !versions.contains(&object.api_version.as_str());
    (is_other && brings(cluster, group)).then_some(*versions)
}

/// Whether a chart that gpuc installs brings the kinds of a group.
pub(super) fn brings(cluster: &Cluster, group: &str) -> bool {
    let charts = &cluster.written.charts;
    let has = |is: fn(Task<'_>) -> bool| {
        let mut workloads = cluster.written.workloads.iter();
        workloads.any(|it| it.task().is_some_and(is))
    };
    let has_trainer =
        charts.kubeflow_trainer.is_some() || has(|it| matches!(it, Task::TrainJob(_)));
    match group {
        "jobset.x-k8s.io" => {
            has_trainer || charts.jobset.is_some() || has(|it| matches!(it, Task::JobSet(_)))
        }
        "leaderworkerset.x-k8s.io" => {
            charts.lws.is_some() || has(|it| matches!(it, Task::LeaderWorkerSet(_)))
        }
        "trainer.kubeflow.org" => has_trainer,
        "kueue.x-k8s.io" => charts.kueue.is_some() || cluster.has_queues(),
        _ => false,
    }
}
