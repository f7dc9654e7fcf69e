//! Admission policies for pods: the checks of `gpuc check --manifests` that the API server can make, as
//! `ValidatingAdmissionPolicy` objects (`admissionregistration.k8s.io/v1`, since Kubernetes 1.30), one file per policy.
//!
//! A policy denies only certain errors. Fields that other controllers may still add to a pod, such as the tolerations
//! of Kueue's flavors and those that a cloud adds for resources, count as present.
//!
//! A request is denied, or warned about, if a policy cannot be evaluated (`failurePolicy: Fail`). Otherwise a pod that
//! is large enough to exceed the cost limit of the evaluation would bypass the policies, and an error in a policy would
//! disable it without a sign. `needs_kube_lab` evaluates the policies with the API server's own code and finds no
//! error. Namespaces without a policy are not affected.
//!
//! A user can still give a container GPUs that were not allocated to it: with a variable that comes from a ConfigMap
//! or a Secret (`envFrom`), with an image that sets it, and with a privileged container.
//!
//! Source: <https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/>, read 2026-11-26.

mod amounts;
pub(super) mod cel;
mod devices;
mod idle;
mod limits;
mod names;
mod object;
mod scope;
mod slices;
mod tolerations;

use gpuc_model::check::Checked;
use gpuc_model::plan::{Object, Release};

/// The folder of the manifests.
const COMPONENT: &str = "admission";

/// A condition that a pod must meet.
struct Validation {
    /// The CEL expression that is true for a valid pod.
    expression: String,
    /// The message for an invalid pod.
    message: String,
    /// The message as a CEL expression, if it contains a value of the pod.
    message_expression: Option<String>,
}

/// Whether a policy denies invalid pods.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Denies {
    /// It only warns: an invalid pod can run.
    Never,
    /// If the file says so (`guard: enforce`): an invalid pod cannot run.
    IfEnforced,
    /// Also with `guard: warn`: it enforces a limit of the file.
    Always,
}

/// A policy, before it is an object.
struct Policy {
    /// The name of the policy and its binding.
    name: &'static str,
    /// Which invalid pods the policy denies. It warns about others.
    denies: Denies,
    /// Whether DaemonSets are exempt, because they serve nodes.
    exempts_daemon_sets: bool,
    /// Whether changes of existing pods are checked, not only of pod templates: added tolerations and ephemeral
    /// containers.
    checks_running_pods: bool,
    /// The CEL variables: names and expressions.
    variables: Vec<(String, String)>,
    /// The conditions. Without any, gpuc creates no policy.
    validations: Vec<Validation>,
    /// The reason for the policy.
    reason: &'static str,
}

/// The policies and their bindings.
pub(super) fn objects(
    cluster: &Checked<'_>,
    releases: &[Release],
    other_objects: &[Object],
) -> Vec<Object> {
    let Some(admission) = &cluster.config.admission else {
        return Vec::new();
    };
    let scope = scope::namespace_selector(cluster, &admission.exempt, releases, other_objects);
    let policies = policies(cluster).into_iter();
    let policies = policies.filter(|policy| !policy.validations.is_empty());
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
