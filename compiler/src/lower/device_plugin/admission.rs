//! What keeps the runtime's account to its own node, and there to what is its business.
//!
//! The rights of Kubernetes know resources, not fields: who may patch a node may patch every node, `unschedulable`
//! and the labels of others as well. A `ValidatingAdmissionPolicy` (`admissionregistration.k8s.io/v1`, since
//! Kubernetes 1.30) sees the field. The name of the node that a token was issued for is in the request since 1.32
//! (<https://kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin/>, 2026-11-21).

use std::collections::BTreeMap;

use k8s_openapi::api::admissionregistration::v1::{
    MatchCondition, MatchResources, NamedRuleWithOperations, ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding, ValidatingAdmissionPolicyBindingSpec,
    ValidatingAdmissionPolicySpec, Validation,
};

use super::{COMPONENT, NAMESPACE, metadata};

/// What must hold of a change, and what is said where it does not. `object` is the node after the change, `oldObject`
/// before it. A request for the node's status changes only that, and one for the node everything else.
const RULES: &[(&str, &str)] = &[
    (
        "request.userInfo.?extra[?'authentication.kubernetes.io/node-name'].orValue([]) == [object.metadata.name]",
        "gpuc-runtime changes only the node it runs on",
    ),
    (
        "object.metadata.?labels.orValue({}).all(key, \
         (key.startsWith('nvidia.com/') || key.startsWith('gpuc.dev/')) && key != 'gpuc.dev/pool' || \
         oldObject.metadata.?labels[?key].orValue('') == object.metadata.labels[key])",
        "gpuc-runtime sets only labels of nvidia.com and gpuc.dev, and not the pool's",
    ),
    (
        "oldObject.metadata.?labels.orValue({}).all(key, \
         (key.startsWith('nvidia.com/') || key.startsWith('gpuc.dev/')) && key != 'gpuc.dev/pool' || \
         key in object.metadata.?labels.orValue({}))",
        "gpuc-runtime takes away only labels of nvidia.com and gpuc.dev, and not the pool's",
    ),
    (
        "object.metadata.?annotations.orValue({}) == oldObject.metadata.?annotations.orValue({})",
        "gpuc-runtime changes no annotations",
    ),
    (
        "object.spec.?unschedulable.orValue(false) == oldObject.spec.?unschedulable.orValue(false)",
        "gpuc-runtime neither cordons nor uncordons nodes",
    ),
    (
        "object.spec.?taints.orValue([]).all(taint, taint in oldObject.spec.?taints.orValue([]))",
        "gpuc-runtime sets no taints",
    ),
    (
        "oldObject.spec.?taints.orValue([]).all(taint, \
         taint.key == 'startup-taint.cluster-autoscaler.kubernetes.io/gpuc' || \
         taint in object.spec.?taints.orValue([]))",
        "gpuc-runtime takes off only its own startup taint",
    ),
    (
        "object.status.?conditions.orValue([]).all(condition, \
         condition.type == 'GPUsHealthy' || condition in oldObject.status.?conditions.orValue([]))",
        "gpuc-runtime sets only its own condition",
    ),
    (
        "oldObject.status.?conditions.orValue([]).all(condition, \
         object.status.?conditions.orValue([]).exists(other, other.type == condition.type))",
        "gpuc-runtime takes no condition away",
    ),
    (
        "object.status.?capacity.orValue({}) == oldObject.status.?capacity.orValue({}) && \
         object.status.?allocatable.orValue({}) == oldObject.status.?allocatable.orValue({}) && \
         object.status.?addresses.orValue([]) == oldObject.status.?addresses.orValue([])",
        "gpuc-runtime changes neither what the node has nor where it is",
    ),
];

/// The policy.
pub(super) fn policy() -> ValidatingAdmissionPolicy {
    let account = format!("system:serviceaccount:{NAMESPACE}:{COMPONENT}");
    let validation = |&(expression, message): &(&str, &str)| Validation {
        expression: expression.to_owned(),
        message: Some(message.to_owned()),
        ..Validation::default()
    };
    ValidatingAdmissionPolicy {
        metadata: metadata(COMPONENT, None, BTreeMap::new()),
        spec: Some(ValidatingAdmissionPolicySpec {
            failure_policy: Some("Fail".to_owned()),
            match_constraints: Some(MatchResources {
                resource_rules: Some(vec![NamedRuleWithOperations {
                    api_groups: Some(vec![String::new()]),
                    api_versions: Some(vec!["v1".to_owned()]),
                    operations: Some(vec!["UPDATE".to_owned()]),
                    resources: Some(vec!["nodes".to_owned(), "nodes/status".to_owned()]),
                    ..NamedRuleWithOperations::default()
                }]),
                ..MatchResources::default()
            }),
            match_conditions: Some(vec![MatchCondition {
                name: "by-gpuc-runtime".to_owned(),
                expression: format!("request.userInfo.username == '{account}'"),
            }]),
            validations: Some(RULES.iter().map(validation).collect()),
            ..ValidatingAdmissionPolicySpec::default()
        }),
        ..ValidatingAdmissionPolicy::default()
    }
}

/// What puts the policy into force.
pub(super) fn binding() -> ValidatingAdmissionPolicyBinding {
    ValidatingAdmissionPolicyBinding {
        metadata: metadata(COMPONENT, None, BTreeMap::new()),
        spec: Some(ValidatingAdmissionPolicyBindingSpec {
            policy_name: Some(COMPONENT.to_owned()),
            validation_actions: Some(vec!["Deny".to_owned()]),
            ..ValidatingAdmissionPolicyBindingSpec::default()
        }),
    }
}

#[cfg(test)]
mod tests {
    use cel::parser::Parser;
    use cel::{Context, Value as Cel};
    use serde_json::{Value, json};

    use super::*;

    fn node() -> Value {
        json!({
            "metadata": {
                "name": "node-1",
                "labels": {"zone": "a", "gpuc.dev/pool": "train", "nvidia.com/gpu.count": "8"},
                "annotations": {"a": "b"},
            },
            "spec": {"taints": [
                {"key": "startup-taint.cluster-autoscaler.kubernetes.io/gpuc", "effect": "NoSchedule"},
                {"key": "nvidia.com/gpu", "effect": "NoSchedule"},
            ]},
            "status": {
                "capacity": {"nvidia.com/gpu": "8"},
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        })
    }

    /// What the policy says against a change by the runtime on a node: the first rule that does not hold.
    fn verdict(before: &Value, after: &Value, from: &str) -> Option<&'static str> {
        let node = "authentication.kubernetes.io/node-name";
        let request = json!({"userInfo": {"extra": {node: [from]}}});
        let broken = RULES.iter().find(|(expression, _)| {
            let parsed = Parser::default()
                .enable_optional_syntax(true)
                .parse(expression);
            let parsed = parsed.unwrap_or_else(|error| panic!("{expression}: {error}"));
            let mut context = Context::default();
            context.add_variable("object", after).unwrap();
            context.add_variable("oldObject", before).unwrap();
            context.add_variable("request", &request).unwrap();
            let holds = Cel::resolve(&parsed, &context);
            let holds = holds.unwrap_or_else(|error| panic!("{expression}: {error}"));
            holds != Cel::Bool(true)
        });
        broken.map(|(_, message)| *message)
    }

    /// What it says against a change of one place in the node; `null` takes away what is there.
    fn changing(pointer: &str, value: Value) -> Option<&'static str> {
        let mut after = node();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        let parent = after.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        let key = key.replace("~1", "/");
        if value.is_null() {
            parent.remove(&key);
        } else {
            parent.insert(key, value);
        }
        verdict(&node(), &after, "node-1")
    }

    #[test]
    fn the_runtime_may_do_its_work() {
        let taint = json!([{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]);
        let conditions = json!([
            {"type": "Ready", "status": "True"},
            {"type": "GPUsHealthy", "status": "False"},
        ]);
        assert_eq!(verdict(&node(), &node(), "node-1"), None);
        assert_eq!(
            changing("/metadata/labels/nvidia.com~1gpu.product", json!("L4")),
            None
        );
        assert_eq!(
            changing("/metadata/labels/nvidia.com~1gpu.count", json!("4")),
            None
        );
        assert_eq!(
            changing("/metadata/labels/nvidia.com~1gpu.count", Value::Null),
            None
        );
        assert_eq!(changing("/spec/taints", taint), None);
        assert_eq!(changing("/status/conditions", conditions), None);
        let bare = json!({"metadata": {"name": "node-1"}, "spec": {}, "status": {}});
        assert_eq!(
            verdict(&bare, &bare, "node-1"),
            None,
            "what is not there is no error"
        );
    }

    #[test]
    fn and_nothing_else() {
        let refused = |verdict: Option<&'static str>, word: &str| {
            assert!(
                verdict.is_some_and(|said| said.contains(word)),
                "{word}: {verdict:?}"
            );
        };
        refused(verdict(&node(), &node(), "node-2"), "the node it runs on");
        refused(
            changing("/metadata/labels/zone", json!("b")),
            "sets only labels",
        );
        refused(
            changing("/metadata/labels/new", json!("b")),
            "sets only labels",
        );
        refused(
            changing("/metadata/labels/gpuc.dev~1pool", json!("b")),
            "not the pool's",
        );
        refused(
            changing("/metadata/labels/gpuc.dev~1pool", Value::Null),
            "takes away",
        );
        refused(changing("/metadata/labels/zone", Value::Null), "takes away");
        refused(changing("/metadata/labels", Value::Null), "takes away");
        refused(
            changing("/metadata/annotations/a", json!("c")),
            "annotations",
        );
        refused(changing("/spec/unschedulable", json!(true)), "cordons");
        refused(
            changing("/spec/taints", Value::Null),
            "only its own startup taint",
        );
        let more = json!([
            {"key": "startup-taint.cluster-autoscaler.kubernetes.io/gpuc", "effect": "NoSchedule"},
            {"key": "nvidia.com/gpu", "effect": "NoExecute"},
        ]);
        refused(changing("/spec/taints", more), "sets no taints");
        refused(
            changing(
                "/status/conditions",
                json!([{"type": "Ready", "status": "False"}]),
            ),
            "condition",
        );
        refused(
            changing("/status/conditions", json!([])),
            "takes no condition away",
        );
        refused(
            changing("/status/capacity/nvidia.com~1gpu", json!("9")),
            "what the node has",
        );
    }

    #[test]
    fn the_taint_is_the_one_that_nodes_register_with() {
        let allowed = format!(
            "taint.key == '{}' ||",
            gpuc_schema::node_config::STARTUP_TAINT
        );
        assert!(RULES.iter().any(|(rule, _)| rule.contains(&allowed)));
    }

    #[test]
    fn a_request_without_a_node_is_refused() {
        let nobody = json!({"userInfo": {"extra": {}}});
        let parsed = Parser::default()
            .enable_optional_syntax(true)
            .parse(RULES[0].0)
            .unwrap();
        let mut context = Context::default();
        context.add_variable("object", node()).unwrap();
        context.add_variable("request", nobody).unwrap();
        assert_eq!(Cel::resolve(&parsed, &context).unwrap(), Cel::Bool(false));
    }
}
