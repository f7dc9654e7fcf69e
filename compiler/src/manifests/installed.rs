//! Which of the projects whose kinds people write gpuc itself installs: of these the version is known.

use gpuc_schema::config::Task;

use crate::model::Cluster;

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
