//! A policy as objects of Kubernetes, and what puts it into force.

use gpuc_schema::Spanned;
use gpuc_schema::config::{Admission, Guard};
use serde_json::{Value, json};

use super::{COMPONENT, Policy};
use crate::check::Checked;
use crate::node::Origin;
use crate::plan::Object;

/// What changes pods when something is changed that makes them. What runs already may be scaled, labelled and removed
/// as before.
const CHANGES_PODS: &str = "request.operation == 'CREATE' || \
     dyn(object).spec.?template.orValue({}) != dyn(oldObject).spec.?template.orValue({}) || \
     dyn(object).spec.?jobTemplate.orValue({}) != dyn(oldObject).spec.?jobTemplate.orValue({})";

/// The pods of a `DaemonSet`, and itself.
const NO_DAEMON: &str = "object.kind != 'DaemonSet' && \
     !object.metadata.?ownerReferences.orValue([]).exists(owner, owner.kind == 'DaemonSet')";

/// The policy and its binding.
pub(super) fn objects(
    cluster: &Checked<'_>,
    admission: &Spanned<Admission>,
    policy: &Policy,
    namespaces: &Value,
) -> [Object; 2] {
    let gpus = cluster.gpu_pools().map(|(_, gpus)| gpus.chosen);
    let inputs: Vec<_> = [admission.span, admission.guard.span]
        .into_iter()
        .chain(gpus)
        .collect();
    let origin = Origin::rule(inputs, policy.why);
    [rules(policy), binding(admission, policy, namespaces)]
        .map(|object| Object::new(COMPONENT, &object, origin.clone()))
}

fn metadata(policy: &Policy) -> Value {
    json!({"name": policy.name, "labels": {"app.kubernetes.io/managed-by": "gpuc"}})
}

fn rules(policy: &Policy) -> Value {
    let rule = |group: &str, operations: &[&str], resources: &[&str]| {
        json!({
            "apiGroups": [group],
            "apiVersions": ["v1"],
            "operations": operations,
            "resources": resources,
        })
    };
    let mut conditions = vec![json!({"name": "changes-pods", "expression": CHANGES_PODS})];
    if policy.spares_daemons {
        conditions.push(json!({"name": "no-daemon", "expression": NO_DAEMON}));
    }
    let variables = policy.variables.iter();
    let variables =
        variables.map(|(name, expression)| json!({"name": name, "expression": expression}));
    let demands = policy.demands.iter().map(|demand| {
        let mut it = json!({"expression": demand.expression, "message": demand.message});
        if let Some(saying) = &demand.saying {
            it["messageExpression"] = json!(saying);
        }
        it
    });
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": metadata(policy),
        "spec": {
            "failurePolicy": "Ignore",
            "matchConstraints": {"resourceRules": [
                rule("", &["CREATE"], &["pods"]),
                rule("apps", &["CREATE", "UPDATE"], &["daemonsets", "deployments", "replicasets", "statefulsets"]),
                rule("batch", &["CREATE", "UPDATE"], &["cronjobs", "jobs"]),
            ]},
            "matchConditions": conditions,
            "variables": variables.collect::<Vec<_>>(),
            "validations": demands.collect::<Vec<_>>(),
        },
    })
}

fn binding(admission: &Admission, policy: &Policy, namespaces: &Value) -> Value {
    let is_refused = policy.refuses && admission.guard.value == Guard::Enforce;
    let actions: &[&str] = if is_refused {
        &["Deny"]
    } else {
        &["Warn", "Audit"]
    };
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": metadata(policy),
        "spec": {
            "policyName": policy.name,
            "validationActions": actions,
            "matchResources": {"namespaceSelector": namespaces},
        },
    })
}
