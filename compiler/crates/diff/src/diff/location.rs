//! The location of a cluster, and the preconditions of its scripts.

use gpuc_model::Cluster;
use gpuc_model::plan::{Credentials, Plan};
use serde_json::{Value as Json, json};

use super::entities::{Entities, EntityKey};
use super::fields::FieldValue;

/// The script that creates the cluster itself.
pub(super) const CLUSTER_SCRIPT: &str = "cluster";

/// The cluster's name in the cloud.
const CLOUD_NAME: &str = "name in the cloud";

/// The kubeconfig context: another context may refer to the same cluster.
const CONTEXT: &str = "context";

/// The cluster's name in Argo CD: another name may refer to the same cluster.
const ARGOCD_NAME: &str = "name in Argo CD";

/// The version of a cluster that gpuc neither creates nor queries.
pub(super) const READ_ONLY_VERSION: &str = "Kubernetes version (read only)";

/// The distribution of a self-managed cluster: the file may have been wrong about it.
const DISTRIBUTION: &str = "Kubernetes distribution";

/// The condition under which it is the same cluster despite this difference; empty if it never is.
pub(super) fn same_cluster_condition(path: &str) -> &'static str {
    match path {
        CONTEXT | "kubeconfig context" | ARGOCD_NAME => {
            ", unless it is the same one under another name"
        }
        DISTRIBUTION => ", unless the file was wrong about the existing one",
        _ => "",
    }
}

impl Entities {
    /// Adds the location of the cluster and the preconditions of its scripts.
    pub(super) fn add_location(&mut self, cluster: &Cluster, plan: &Plan) {
        let checks = plan.provisioning.identity.iter();
        let conditions = checks.clone().filter(|check| !check.is_location);
        self.conditions = conditions.map(|check| check.subject.to_owned()).collect();
        let mut leaves: Vec<(&str, Json)> = checks
            .map(|check| (check.subject, json!(check.expected)))
            .collect();
        leaves.push(("place", json!(plan.summary.location)));
        if let Credentials::Context(context) = &plan.provisioning.credentials {
            leaves.push((CONTEXT, json!(context)));
        }
        if let Some(name) = cluster.cloud.remote_name(cluster) {
            leaves.push((CLOUD_NAME, json!(name)));
        }
        leaves.extend(
            cluster
                .cloud
                .container(cluster)
                .map(|(kind, name)| (kind, json!(name))),
        );
        if let Some(name) = cluster
            .config
            .gitops
            .as_ref()
            .and_then(|it| it.destination_cluster())
        {
            leaves.push((ARGOCD_NAME, json!(name)));
        }
        let version = &plan.summary.kubernetes;
        let asks = plan
            .provisioning
            .identity
            .iter()
            .any(|check| check.expected == *version);
        if !plan
            .provisioning
            .resources
            .iter()
            .any(|it| it.script == CLUSTER_SCRIPT)
            && !asks
        {
            leaves.push((READ_ONLY_VERSION, json!(version)));
        }
        let entity = self.by_key.entry(EntityKey::Location).or_default();
        let leaf = |value| FieldValue {
            value,
            inputs: Vec::new(),
        };
        let leaves = leaves.into_iter();
        entity.fields = leaves
            .map(|(path, value)| (path.to_owned(), leaf(value)))
            .collect();
    }
}
