//! What the API server says of pods: what `gpuc check --manifests` refuses before they are applied, as
//! `ValidatingAdmissionPolicy` objects (`admissionregistration.k8s.io/v1`, since Kubernetes 1.30), one file a policy.
//!
//! A policy refuses only what is certain. What others may still add to a pod on its way, Kueue its flavors' tolerations
//! and a cloud those of resources, counts as there. They guard against mistakes and not against people, so that one
//! that cannot be evaluated lets the pod pass: a mistake in a guard must not keep a cluster from starting pods.
//!
//! Source: <https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/> (from memory).

mod amounts;
mod cel;
mod devices;
mod idle;
mod limits;
mod names;
mod object;
mod scope;
mod slices;
mod tolerations;

use crate::check::Checked;
use crate::plan::{Object, Release};

/// The folder of the manifests.
const COMPONENT: &str = "admission";

/// What a policy demands.
struct Demand {
    /// What holds of a pod that is well.
    expression: String,
    /// What is said of one that is not.
    message: String,
    /// The same as an expression, where it names something of the pod's.
    saying: Option<String>,
}

/// A policy, before it is an object.
struct Policy {
    /// Its name, and its binding's.
    name: &'static str,
    /// Whether such a pod cannot run, so that refusing it takes nothing away.
    refuses: bool,
    /// Whether the pods of `DaemonSets` may: they serve nodes.
    spares_daemons: bool,
    /// What it works out once and names: names and expressions.
    variables: Vec<(String, String)>,
    /// What it demands. Without any there is no policy.
    demands: Vec<Demand>,
    /// Why there is such a policy.
    why: &'static str,
}

/// The policies and what puts them into force.
pub(super) fn objects(
    cluster: &Checked<'_>,
    releases: &[Release],
    others: &[Object],
) -> Vec<Object> {
    let Some(admission) = &cluster.written.admission else {
        return Vec::new();
    };
    let scope = scope::namespaces(cluster, &admission.exempt, releases, others);
    let policies = policies(cluster).into_iter();
    let policies = policies.filter(|policy| !policy.demands.is_empty());
    policies
        .flat_map(|policy| object::objects(cluster, admission, &policy, &scope))
        .collect()
}

fn policies(cluster: &Checked<'_>) -> Vec<Policy> {
    vec![
        names::policy(cluster),
        amounts::policy(cluster),
        tolerations::policy(cluster),
        slices::policy(cluster),
        idle::policy(cluster),
        devices::policy(),
        limits::policy(cluster),
    ]
}
