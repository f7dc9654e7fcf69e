//! A policy and its binding as Kubernetes objects.

use gpuc_model::check::Checked;
use gpuc_model::plan::Object;
use gpuc_schema::Spanned;
use gpuc_schema::config::{Admission, Guard};
use gpuc_syntax::node::Origin;
use serde_json::{Value, json};

use super::{COMPONENT, Denies, Policy};

/// Whether a request creates an object or changes its pod template. Existing workloads can still be scaled, labelled
/// and deleted.
const POD_CHANGE_CONDITION: &str = "request.operation == 'CREATE' || \
     dyn(object).spec.?template.orValue({}) != dyn(oldObject).spec.?template.orValue({}) || \
     dyn(object).spec.?jobTemplate.orValue({}) != dyn(oldObject).spec.?jobTemplate.orValue({})";

/// As above, or the request changes the tolerations of an existing pod or adds an ephemeral container.
const RUNNING_POD_CHANGE_CONDITION: &str = "request.operation == 'CREATE' || \
     dyn(object).spec.?template.orValue({}) != dyn(oldObject).spec.?template.orValue({}) || \
     dyn(object).spec.?jobTemplate.orValue({}) != dyn(oldObject).spec.?jobTemplate.orValue({}) || \
     dyn(object).spec.?tolerations.orValue([]) != dyn(oldObject).spec.?tolerations.orValue([]) || \
     dyn(object).spec.?ephemeralContainers.orValue([]) != dyn(oldObject).spec.?ephemeralContainers.orValue([])";

/// Excludes DaemonSets and their pods. Anyone who may create pods can write any owner, so the requester must be the
/// controller of DaemonSets: its own service account, or the one of the whole controller manager where controllers
/// share it.
///
/// Source: <https://kubernetes.io/docs/reference/access-authn-authz/rbac/#controller-roles>, read 2026-11-26.
const NOT_DAEMON_SET_CONDITION: &str = "object.kind != 'DaemonSet' && \
     !(request.userInfo.username in ['system:serviceaccount:kube-system:daemon-set-controller', \
     'system:kube-controller-manager'] && \
     object.metadata.?ownerReferences.orValue([]).exists(owner, owner.apiVersion == 'apps/v1' && \
     owner.kind == 'DaemonSet' && owner.?controller.orValue(false)))";

/// The policy and its binding.
pub(super) fn objects(
    cluster: &Checked<'_>,
    admission: &Spanned<Admission>,
    policy: &Policy,
    namespaces: &Value,
) -> [Object; 2] {
    let gpus = cluster.gpu_pools().map(|(_, gpus)| gpus.span);
    let inputs: Vec<_> = [admission.span, admission.guard.span]
        .into_iter()
        .chain(gpus)
        .collect();
    let origin = Origin::rule(inputs, policy.reason);
    [match_rules(policy), binding(admission, policy, namespaces)]
        .map(|object| Object::new(COMPONENT, &object, origin.clone()))
}

fn metadata(policy: &Policy) -> Value {
    json!({"name": policy.name, "labels": {"app.kubernetes.io/managed-by": "gpuc"}})
}

fn match_rules(policy: &Policy) -> Value {
    let rule = |group: &str, operations: &[&str], resources: &[&str]| {
        json!({
            "apiGroups": [group],
            "apiVersions": ["v1"],
            "operations": operations,
            "resources": resources,
        })
    };
    let change = if policy.checks_running_pods {
        RUNNING_POD_CHANGE_CONDITION
    } else {
        POD_CHANGE_CONDITION
    };
    let mut conditions = vec![json!({"name": "changes-pods", "expression": change})];
    if policy.exempts_daemon_sets {
        conditions.push(json!({"name": "no-daemon", "expression": NOT_DAEMON_SET_CONDITION}));
    }
    let variables = policy.variables.iter();
    let variables =
        variables.map(|(name, expression)| json!({"name": name, "expression": expression}));
    let validations = policy.validations.iter().map(|validation| {
        let mut entry = json!({"expression": validation.expression, "message": validation.message});
        if let Some(message_expression) = &validation.message_expression {
            entry["messageExpression"] = json!(message_expression);
        }
        entry
    });
    let mut rules = vec![
        rule("", &["CREATE"], &["pods"]),
        rule(
            "apps",
            &["CREATE", "UPDATE"],
            &["daemonsets", "deployments", "replicasets", "statefulsets"],
        ),
        rule("batch", &["CREATE", "UPDATE"], &["cronjobs", "jobs"]),
    ];
    if policy.checks_running_pods {
        rules.push(rule("", &["UPDATE"], &["pods", "pods/ephemeralcontainers"]));
    }
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": metadata(policy),
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": rules},
            "matchConditions": conditions,
            "variables": variables.collect::<Vec<_>>(),
            "validations": validations.collect::<Vec<_>>(),
        },
    })
}

fn binding(admission: &Admission, policy: &Policy, namespaces: &Value) -> Value {
    let is_refused = match policy.denies {
        Denies::Never => false,
        Denies::IfEnforced => admission.guard.value == Guard::Enforce,
        Denies::Always => true,
    };
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
