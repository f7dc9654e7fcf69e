//! Objects among the manifests that gpuc generates: the file of the cluster defines the same ones.

use gpuc_model::{Cluster, TEAM_LABEL, WORKLOAD_LABEL};

use super::object::Object;

/// Whether gpuc generated an object: the file of the cluster has the same values.
pub(super) fn is_generated(object: &Object) -> bool {
    let labels = object.root.get("metadata").and_then(|it| it.get("labels"));
    labels.is_some_and(|it| it.get(TEAM_LABEL).is_some())
}

/// Whether gpuc generated an object for a workload of the file.
pub(super) fn is_generated_workload(cluster: &Cluster, object: &Object) -> bool {
    let labels = object.root.get("metadata").and_then(|it| it.get("labels"));
    let is_labelled = labels.is_some_and(|it| it.get(WORKLOAD_LABEL).is_some());
    let mut workloads = cluster.config.workloads.iter();
    let is_named = workloads.any(|workload| {
        let namespace = object.namespace.as_deref();
        let in_namespace = namespace.is_none_or(|it| it == cluster.namespace_of(workload));
        in_namespace && object.name.as_deref() == Some(workload.name.as_str())
    });
    is_labelled || is_named
}
