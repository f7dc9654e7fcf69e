//! Kueue's own configuration, which its chart takes whole, as one text: there is no key for a part of it.
//!
//! What gpuc does not decide is the chart's default, `managerConfig.controllerManagerConfigYaml` of
//! kubernetes-sigs/kueue@v0.19.2 `charts/kueue/values.yaml`, which `needs_upstream::kueue` compares; what the keys mean
//! is in `apis/config/v1beta2/configuration_types.go`, read 2026-11-21.

use std::collections::BTreeSet;

use gpuc_schema::config::{QueuedKind, Task};
use serde_json::{Value, json};

use crate::check::Checked;
use crate::model::{TEAM_LABEL, Team};
use crate::node::Node;
use crate::yaml::to_yaml;

/// The kinds of jobs that wait in queues by the chart's default.
const FRAMEWORKS: &[&str] = &[
    "batch/job",
    "kubeflow.org/mpijob",
    "ray.io/rayjob",
    "ray.io/rayservice",
    "ray.io/raycluster",
    "jobset.x-k8s.io/jobset",
    "workload.codeflare.dev/appwrapper",
    "trainer.kubeflow.org/trainjob",
    "pod",
    "deployment",
    "statefulset",
    "leaderworkerset.x-k8s.io/leaderworkerset",
];

/// What pods ask for and no queue counts, whatever the file says: Kueue holds back whoever asks for something that its
/// queue does not count.
const UNCOUNTED: &[&str] = &["ephemeral-storage", "hugepages-"];

/// The configuration.
pub(super) fn text(cluster: &Checked<'_>) -> String {
    let mut configuration = json!({
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": ":8081"},
        "metrics": {"bindAddress": ":8443"},
        "webhook": {"port": 9443},
        "leaderElection": {"leaderElect": true, "resourceName": "c1f6bfd2.kueue.x-k8s.io"},
        "controller": {"groupKindConcurrency": {
            "Job.batch": 5,
            "Pod": 5,
            "Workload.kueue.x-k8s.io": 10,
            "LocalQueue.kueue.x-k8s.io": 5,
            "ClusterQueue.kueue.x-k8s.io": 5,
            "ResourceFlavor.kueue.x-k8s.io": 1,
        }},
        "clientConnection": {"qps": 300, "burst": 500},
        "integrations": {"frameworks": frameworks(cluster)},
        // Nobody else's pods wait for Kueue, nor fail when it is away.
        "managedJobsNamespaceSelector": {"matchExpressions": [
            {"key": TEAM_LABEL, "operator": "Exists"},
        ]},
        "resources": {"excludeResourcePrefixes": uncounted(cluster)},
    });
    let settings = cluster.written.kueue.as_ref();
    if settings.is_some_and(|it| it.fair_sharing.value) {
        let strategies = ["LessThanOrEqualToFinalShare", "LessThanInitialShare"];
        configuration["fairSharing"] = json!({"preemptionStrategies": strategies});
    }
    to_yaml(&Node::from_json(configuration))
}

/// The kinds of jobs that wait: the chart's own, those that the file names, and that of its own workloads.
fn frameworks(cluster: &Checked<'_>) -> Vec<&'static str> {
    let settings = cluster.written.kueue.as_ref();
    let named = settings.into_iter().flat_map(|it| &it.job_kinds);
    let mut kinds: Vec<_> = named.map(|kind| kind.value).collect();
    let mut workloads = cluster.written.workloads.iter();
    if workloads.any(|it| matches!(it.task(), Some(Task::PytorchJob(_)))) {
        kinds.push(QueuedKind::PytorchJob);
    }
    let more = kinds.into_iter().map(|kind| match kind {
        QueuedKind::PytorchJob => "kubeflow.org/pytorchjob",
        QueuedKind::TfJob => "kubeflow.org/tfjob",
        QueuedKind::JaxJob => "kubeflow.org/jaxjob",
        QueuedKind::XgboostJob => "kubeflow.org/xgboostjob",
        QueuedKind::PaddleJob => "kubeflow.org/paddlejob",
        QueuedKind::SparkApplication => "sparkoperator.k8s.io/sparkapplication",
    });
    let mut frameworks = FRAMEWORKS.to_vec();
    for name in more {
        if !frameworks.contains(&name) {
            frameworks.push(name);
        }
    }
    frameworks
}

/// What pods ask for and no queue counts: network interfaces, and CPU and memory unless teams have a quota of them.
fn uncounted(cluster: &Checked<'_>) -> Vec<Value> {
    let teams = cluster.teams.iter();
    let counted: BTreeSet<&str> = teams
        .flat_map(Team::counted_anywhere)
        .map(|(name, _, _)| name)
        .collect();
    let own = ["cpu", "memory"].into_iter();
    let own = own.filter(|name| !counted.contains(name));
    let fabric = cluster.pools.iter().flat_map(|pool| &pool.fabric);
    let names = own.chain(UNCOUNTED.iter().copied());
    let names = names.chain(fabric.map(|offer| offer.resource.as_str()));
    let names: BTreeSet<&str> = names.collect();
    names.into_iter().map(|name| json!(name)).collect()
}
