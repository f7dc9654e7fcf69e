//! Where a cluster is, and what must hold before a script does anything.

use serde_json::{Value as Json, json};

use super::leaves::Leaf;
use super::parts::{Key, Parts};
use crate::model::Cluster;
use crate::plan::{Credentials, Plan};

/// What the cloud calls the cluster.
const CALLED: &str = "name in the cloud";

/// What the user calls the way to a cluster: another name for it may lead to the same one.
const CONTEXT: &str = "context";

/// What Argo CD calls the cluster that it brings the tree to: another name may mean the same one.
const BROUGHT_TO: &str = "name in Argo CD";

/// The version of a cluster that gpuc neither makes nor asks about it.
pub(super) const VERSION: &str = "Kubernetes version, which gpuc only reads";

/// What the cluster was made with, where hosts are prepared for it: what the file says of it may have been wrong.
const DISTRIBUTION: &str = "Kubernetes distribution";

/// When it is the same cluster although this differs, in words; nothing where it never is.
pub(super) fn unless(path: &str) -> &'static str {
    match path {
        CONTEXT | "kubeconfig context" | BROUGHT_TO => ", unless it is the same under another name",
        DISTRIBUTION => ", unless the file was wrong about the one that is there",
        _ => "",
    }
}

impl Parts {
    /// What must hold before a script does anything, and where the cluster is.
    pub(super) fn place(&mut self, cluster: &Cluster, plan: &Plan) {
        let checks = plan.provisioning.identity.iter();
        let conditions = checks.clone().filter(|check| !check.is_place);
        self.conditions = conditions.map(|check| check.what.to_owned()).collect();
        let mut leaves: Vec<(&str, Json)> = checks
            .map(|check| (check.what, json!(check.want)))
            .collect();
        leaves.push(("place", json!(plan.summary.place)));
        if let Credentials::Context(context) = &plan.provisioning.credentials {
            leaves.push((CONTEXT, json!(context)));
        }
        if let Some(name) = cluster.cloud.called(cluster) {
            leaves.push((CALLED, json!(name)));
        }
        leaves.extend(
            cluster
                .cloud
                .within(cluster)
                .map(|(what, name)| (what, json!(name))),
        );
        if let Some(name) = cluster
            .written
            .gitops
            .as_ref()
            .and_then(|it| it.brought_to())
        {
            leaves.push((BROUGHT_TO, json!(name)));
        }
        let version = &plan.summary.kubernetes;
        let asks = plan
            .provisioning
            .identity
            .iter()
            .any(|check| check.want == *version);
        if !plan
            .provisioning
            .resources
            .iter()
            .any(|it| it.script == super::judge::CLUSTER)
            && !asks
        {
            leaves.push((VERSION, json!(version)));
        }
        let part = self.all.entry(Key::Place).or_default();
        let leaf = |value| Leaf {
            value,
            inputs: Vec::new(),
        };
        let leaves = leaves.into_iter();
        part.leaves = leaves
            .map(|(path, value)| (path.to_owned(), leaf(value)))
            .collect();
    }
}
