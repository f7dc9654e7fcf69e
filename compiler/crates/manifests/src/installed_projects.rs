//! The projects that gpuc installs, whose versions are known.

use gpuc_schema::config::Task;

use gpuc_model::Cluster;

/// Whether a chart that gpuc installs defines the kinds of an API group.
pub(super) fn installs_group(cluster: &Cluster, group: &str) -> bool {
    let charts = &cluster.config.charts;
    let has = |predicate: fn(Task<'_>) -> bool| {
        let mut workloads = cluster.config.workloads.iter();
        workloads.any(|it| it.task().is_some_and(predicate))
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
