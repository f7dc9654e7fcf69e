//! Kueue's own configuration, which its chart takes as one text, without keys for its parts.
//!
//! Everything that gpuc does not set is the chart's default, `managerConfig.controllerManagerConfigYaml` of
//! kubernetes-sigs/kueue@v0.19.2 `charts/kueue/values.yaml`, which `needs_upstream::kueue` compares. The keys are
//! documented in `apis/config/v1beta2/configuration_types.go`, read 2026-11-21.

use std::collections::BTreeSet;

use gpuc_schema::config::QueuedKind;
use serde_json::{Value, json};

use gpuc_model::check::Checked;
use gpuc_model::{TEAM_LABEL, Team};
use gpuc_syntax::node::Node;
use gpuc_syntax::yaml::to_yaml;

/// The kinds of jobs that Kueue queues: those of the chart's default, and the Training Operator's. Kueue queues the
/// pods of other jobs one by one, so some may start without the rest. If the cluster does not have a kind, Kueue
/// waits until its CRD exists.
///
/// Source: kubernetes-sigs/kueue `pkg/controller/jobframework`, `setup.go@00d5a098`: `setupControllers` and
/// `waitForAPI`; the names are in comments of the default.
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

/// Resources that no queue counts, independent of the file. Kueue does not admit a workload that requests a resource
/// that its queue does not cover, unless the resource is excluded.
const ALWAYS_EXCLUDED: &[&str] = &["ephemeral-storage", "hugepages-"];

/// The configuration.
pub(super) fn configuration_text(cluster: &Checked<'_>) -> String {
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
        // Other pods do not wait for Kueue, and are created even if Kueue is unavailable.
        "managedJobsNamespaceSelector": {"matchExpressions": [
            {"key": TEAM_LABEL, "operator": "Exists"},
        ]},
        "resources": {"excludeResourcePrefixes": excluded_resources(cluster)},
    });
    let classes = (cluster.granted_classes().into_iter()).map(|name| (name.to_owned(), name));
    let claims = cluster.queued_claims().into_iter();
    let claims = claims.map(|claim| (claim.resource, claim.device_class));
    let mappings: Vec<Value> = classes
        .chain(claims)
        .map(|(name, class)| json!({"name": name, "deviceClassNames": [class]}))
        .collect();
    if !mappings.is_empty() {
        configuration["resources"]["deviceClassMappings"] = json!(mappings);
    }
    let settings = cluster.config.kueue.as_ref();
    if settings.is_some_and(|it| it.fair_sharing.value) {
        let strategies = ["LessThanOrEqualToFinalShare", "LessThanInitialShare"];
        configuration["fairSharing"] = json!({"preemptionStrategies": strategies});
    }
    to_yaml(&Node::from_json(configuration))
}

/// The kinds of jobs that Kueue queues: the fixed ones, and those in the file.
fn frameworks(cluster: &Checked<'_>) -> Vec<&'static str> {
    let optional = (optional_kinds(cluster).into_iter()).map(|kind| match kind {
        QueuedKind::SparkApplication => "sparkoperator.k8s.io/sparkapplication",
    });
    FRAMEWORKS.iter().copied().chain(optional).collect()
}

/// The API groups of the kinds that Kueue queues; the group of pods is empty.
pub(crate) fn queued_groups(cluster: &Checked<'_>) -> BTreeSet<&'static str> {
    let groups = frameworks(cluster).into_iter().map(|name| {
        // Built-in kinds other than jobs have no group in their names.
        let builtin = if name == "pod" { "" } else { "apps" };
        name.split_once('/').map_or(builtin, |(group, _)| group)
    });
    groups.collect()
}

/// The optional kinds that the file names.
fn optional_kinds(cluster: &Checked<'_>) -> BTreeSet<QueuedKind> {
    let settings = cluster.config.kueue.as_ref();
    let kinds = settings.into_iter().flat_map(|it| &it.job_kinds);
    kinds.map(|kind| kind.value).collect()
}

/// The feature gates that these kinds require.
///
/// Source: kubernetes-sigs/kueue `pkg/controller/jobs/sparkapplication/sparkapplication_controller.go@00d4c12a`,
/// `CanSupportIntegration`, and `pkg/features/kube_features.go`: alpha, and off, from 0.17 on.
pub(super) fn feature_gates(cluster: &Checked<'_>) -> Vec<Value> {
    let gates = (optional_kinds(cluster).into_iter()).map(|kind| match kind {
        QueuedKind::SparkApplication => "SparkApplicationIntegration",
    });
    gates
        .map(|name| json!({"name": name, "enabled": true}))
        .collect()
}

/// The resources that no queue counts, including network interfaces, and CPU and memory unless teams have a quota for
/// them.
fn excluded_resources(cluster: &Checked<'_>) -> Vec<Value> {
    let teams = cluster.teams.iter();
    let counted: BTreeSet<&str> = teams
        .flat_map(Team::unpinned_resources)
        .map(|(name, _, _)| name)
        .collect();
    let interconnect = cluster.pools.iter().flat_map(|pool| &pool.interconnect);
    let names: BTreeSet<&str> = (["cpu", "memory"].into_iter())
        .filter(|name| !counted.contains(name))
        .chain(ALWAYS_EXCLUDED.iter().copied())
        .chain(interconnect.map(|advertised| advertised.name.as_str()))
        .collect();
    names.into_iter().map(|name| json!(name)).collect()
}
