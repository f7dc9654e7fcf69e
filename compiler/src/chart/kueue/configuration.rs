//! Kueue's own configuration, which its chart takes whole, as one text: there is no key for a part of it.
//!
//! What gpuc does not decide is the chart's default, `managerConfig.controllerManagerConfigYaml` of
//! kubernetes-sigs/kueue@v0.19.2 `charts/kueue/values.yaml`, which `needs_upstream::kueue` compares; what the keys mean
//! is in `apis/config/v1beta2/configuration_types.go`, read 2026-11-21.

use std::collections::BTreeSet;

use gpuc_schema::config::QueuedKind;
use serde_json::{Value, json};

use crate::check::Checked;
use crate::model::{TEAM_LABEL, Team};
use crate::node::Node;
use crate::yaml::to_yaml;

/// The kinds of jobs that wait in queues: those of the chart's default, and the Training Operator's, which it leaves
/// out. A job of any other kind waits pod by pod, so that a part of it may start without the rest. Of a kind that the
/// cluster does not have Kueue waits until it is there.
///
/// Source: kubernetes-sigs/kueue `pkg/controller/jobframework`, `setup.go@00d5a098`: `setupControllers` and
/// `waitForAPI`; the names are those that the default has as comments.
const FRAMEWORKS: &[&str] = &[
    "batch/job",
    "kubeflow.org/mpijob",
    "ray.io/rayjob",
    "ray.io/rayservice",
    "ray.io/raycluster",
    "jobset.x-k8s.io/jobset",
    "kubeflow.org/paddlejob",
    "kubeflow.org/pytorchjob",
    "kubeflow.org/tfjob",
    "kubeflow.org/xgboostjob",
    "kubeflow.org/jaxjob",
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

/// The kinds of jobs that wait: those that always do, and those that the file names.
fn frameworks(cluster: &Checked<'_>) -> Vec<&'static str> {
    let more = named(cluster).into_iter().map(|kind| match kind {
        QueuedKind::SparkApplication => "sparkoperator.k8s.io/sparkapplication",
    });
    FRAMEWORKS.iter().copied().chain(more).collect()
}

/// The kinds that the file names, each once.
fn named(cluster: &Checked<'_>) -> BTreeSet<QueuedKind> {
    let settings = cluster.written.kueue.as_ref();
    let named = settings.into_iter().flat_map(|it| &it.job_kinds);
    named.map(|kind| kind.value).collect()
}

/// The feature gates without which Kueue does not start with these kinds.
///
/// Source: kubernetes-sigs/kueue `pkg/controller/jobs/sparkapplication/sparkapplication_controller.go@00d4c12a`,
/// `CanSupportIntegration`, and `pkg/features/kube_features.go`: alpha, and off, from 0.17 on.
pub(super) fn gates(cluster: &Checked<'_>) -> Vec<Value> {
    let gates = named(cluster).into_iter().map(|kind| match kind {
        QueuedKind::SparkApplication => "SparkApplicationIntegration",
    });
    gates
        .map(|name| json!({"name": name, "enabled": true}))
        .collect()
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
