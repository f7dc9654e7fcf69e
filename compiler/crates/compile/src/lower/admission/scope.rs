//! The namespaces to which the policies apply.

use std::collections::BTreeSet;

use gpuc_model::check::Checked;
use gpuc_model::plan::{KUBE_SYSTEM, Object, Release};
use gpuc_model::{CHART_NAMESPACES, TEAM_LABEL};
use gpuc_schema::Spanned;
use gpuc_schema::config::Gitops;
use serde_json::{Value, json};

use crate::lower::workloads;

/// The label that Kubernetes sets on every namespace, with its name.
const NAME: &str = "kubernetes.io/metadata.name";

/// Kubernetes' own namespaces, in addition to [`KUBE_SYSTEM`].
const KUBERNETES_NAMESPACES: &[&str] = &["kube-node-lease", "kube-public"];

/// The namespace selector: the namespaces of teams or, without teams, all except system namespaces.
pub(super) fn namespace_selector(
    cluster: &Checked<'_>,
    exempt: &[Spanned<String>],
    releases: &[Release],
    other_objects: &[Object],
) -> Value {
    let mut names: BTreeSet<&str> = exempt.iter().map(|it| it.value.as_str()).collect();
    if cluster.teams.is_empty() {
        names.extend(KUBERNETES_NAMESPACES);
        names.extend(CHART_NAMESPACES);
        names.insert(KUBE_SYSTEM);
        names.extend(releases.iter().map(|it| it.namespace.as_str()));
        // The policies apply to the file's own workloads too.
        let others = other_objects
            .iter()
            .filter(|it| it.component != workloads::COMPONENT);
        names.extend(others.filter_map(|it| it.identity.namespace.as_deref()));
        names.extend(cluster.config.gitops.as_ref().map(|it| match &it.value {
            Gitops::Flux(flux) => flux.namespace.as_str(),
            Gitops::Argocd(argocd) => argocd.namespace.as_str(),
        }));
    }
    let mut expressions = Vec::new();
    if !cluster.teams.is_empty() {
        expressions.push(json!({"key": TEAM_LABEL, "operator": "Exists"}));
    }
    if !names.is_empty() {
        expressions.push(json!({"key": NAME, "operator": "NotIn", "values": names}));
    }
    json!({"matchExpressions": expressions})
}
