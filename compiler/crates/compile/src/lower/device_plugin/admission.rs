//! The admission policy that restricts gpuc-runtime's service account to its own node and to specific fields.
//!
//! RBAC grants permissions on resources, not on fields: permission to patch nodes covers all nodes, including
//! `unschedulable` and the labels of other components. A `ValidatingAdmissionPolicy`
//! (`admissionregistration.k8s.io/v1`, since Kubernetes 1.30) can check fields. The name of the node that a token was
//! issued for is in the request since 1.32
//! (<https://kubernetes.io/docs/reference/access-authn-authz/service-accounts-admin/>, 2026-11-21).

use std::collections::BTreeMap;

use k8s_openapi::api::admissionregistration::v1::{
    MatchCondition, MatchResources, NamedRuleWithOperations, ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding, ValidatingAdmissionPolicyBindingSpec,
    ValidatingAdmissionPolicySpec, Validation,
};

use super::{COMPONENT, NAMESPACE, metadata};

/// The conditions on a change, and their messages. `object` is the node after the change, `oldObject` before it. A
/// request for the node's status changes only that, and one for the node everything else. The last rules cover every
/// field that a version of Kubernetes has. `dyn`, because the type checker of the API server has no type for maps of
/// quantities, such as `capacity`.
const RULES: &[(&str, &str)] = &[
    (
        "request.userInfo.?extra[?'authentication.kubernetes.io/node-name'].orValue([]) == [object.metadata.name]",
        "gpuc-runtime may only change the node it runs on",
    ),
    (
        "object.metadata.?labels.orValue({}).all(key, \
         key.startsWith('nvidia.com/') || key.startsWith('gpuc.dev/gpu-model.') || \
         key in oldObject.metadata.?labels.orValue({}) && oldObject.metadata.labels[key] == object.metadata.labels[key])",
        "gpuc-runtime may only set labels of nvidia.com/ and gpuc.dev/gpu-model.",
    ),
    (
        "oldObject.metadata.?labels.orValue({}).all(key, \
         key.startsWith('nvidia.com/') || key.startsWith('gpuc.dev/gpu-model.') || \
         key in object.metadata.?labels.orValue({}))",
        "gpuc-runtime may only remove labels of nvidia.com/ and gpuc.dev/gpu-model.",
    ),
    (
        "object.metadata.?annotations.orValue({}).all(key, key == 'gpuc.dev/gpus' || \
         key in oldObject.metadata.?annotations.orValue({}) && \
         oldObject.metadata.annotations[key] == object.metadata.annotations[key]) && \
         oldObject.metadata.?annotations.orValue({}).all(key, key == 'gpuc.dev/gpus' || \
         key in object.metadata.?annotations.orValue({}))",
        "gpuc-runtime may only change the annotation gpuc.dev/gpus",
    ),
    (
        "object.metadata.?finalizers.orValue([]) == oldObject.metadata.?finalizers.orValue([]) && \
         object.metadata.?ownerReferences.orValue([]) == oldObject.metadata.?ownerReferences.orValue([])",
        "gpuc-runtime may not change finalizers or owners",
    ),
    (
        "object.spec.?unschedulable.orValue(false) == oldObject.spec.?unschedulable.orValue(false)",
        "gpuc-runtime may not cordon or uncordon nodes",
    ),
    (
        "object.spec.?taints.orValue([]).all(taint, taint in oldObject.spec.?taints.orValue([]))",
        "gpuc-runtime may not add taints",
    ),
    (
        "oldObject.spec.?taints.orValue([]).all(taint, \
         taint.key == 'startup-taint.cluster-autoscaler.kubernetes.io/gpuc' || \
         taint in object.spec.?taints.orValue([]))",
        "gpuc-runtime may only remove its own startup taint",
    ),
    (
        "object.status.?conditions.orValue([]).all(condition, \
         condition.type == 'GPUsHealthy' || condition in oldObject.status.?conditions.orValue([]))",
        "gpuc-runtime may only set its own condition",
    ),
    (
        "oldObject.status.?conditions.orValue([]).all(condition, \
         object.status.?conditions.orValue([]).exists(other, other.type == condition.type))",
        "gpuc-runtime may not remove conditions",
    ),
    (
        "dyn(object).?spec.orValue({}).all(key, key == 'taints' || \
         key in dyn(oldObject).?spec.orValue({}) && dyn(oldObject).spec[key] == dyn(object).spec[key]) && \
         dyn(oldObject).?spec.orValue({}).all(key, key == 'taints' || key in dyn(object).?spec.orValue({}))",
        "gpuc-runtime may change only the taints in the spec of the node",
    ),
    (
        "dyn(object).?status.orValue({}).all(key, key == 'conditions' || \
         key in dyn(oldObject).?status.orValue({}) && dyn(oldObject).status[key] == dyn(object).status[key]) && \
         dyn(oldObject).?status.orValue({}).all(key, key == 'conditions' || key in dyn(object).?status.orValue({}))",
        "gpuc-runtime may change only the conditions in the status of the node",
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

/// The binding of the policy.
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
                "labels": {"zone": "a", "gpuc.dev/pool": "train", "gpuc.dev/dedicated-to": "a", "nvidia.com/gpu.count": "8"},
                "annotations": {"a": "b"},
            },
            "spec": {"podCIDR": "10.1.0.0/24", "taints": [
                {"key": "startup-taint.cluster-autoscaler.kubernetes.io/gpuc", "effect": "NoSchedule"},
                {"key": "nvidia.com/gpu", "effect": "NoSchedule"},
            ]},
            "status": {
                "capacity": {"nvidia.com/gpu": "8"},
                "volumesInUse": ["kubernetes.io/csi/a"],
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        })
    }

    /// The message of the first violated rule for a change by gpuc-runtime on a node.
    fn violation(before: &Value, after: &Value, from: &str) -> Option<&'static str> {
        let node = "authentication.kubernetes.io/node-name";
        let request = json!({"userInfo": {"extra": {node: [from]}}});
        let violated = RULES.iter().find(|(expression, _)| {
            let parsed = Parser::default()
                .enable_optional_syntax(true)
                .parse(expression);
            let parsed = parsed.unwrap_or_else(|error| panic!("{expression}: {error}"));
            let mut context = Context::default();
            context.add_variable("object", after).unwrap();
            context.add_variable("oldObject", before).unwrap();
            context.add_variable("request", &request).unwrap();
            let result = Cel::resolve(&parsed, &context)
                .unwrap_or_else(|error| panic!("{expression}: {error}"));
            result != Cel::Bool(true)
        });
        violated.map(|(_, message)| *message)
    }

    /// The message for a change of one field of the node; `null` removes the field.
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
        violation(&node(), &after, "node-1")
    }

    #[test]
    fn required_changes_are_allowed() {
        let taint = json!([{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]);
        let conditions = json!([
            {"type": "Ready", "status": "True"},
            {"type": "GPUsHealthy", "status": "False"},
        ]);
        assert_eq!(violation(&node(), &node(), "node-1"), None);
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
        assert_eq!(
            changing("/metadata/labels/gpuc.dev~1gpu-model.L4", json!("4")),
            None
        );
        let report = json!("{}");
        assert_eq!(
            changing("/metadata/annotations/gpuc.dev~1gpus", report),
            None
        );
        assert_eq!(changing("/spec/taints", taint), None);
        assert_eq!(changing("/status/conditions", conditions), None);
        let bare = json!({"metadata": {"name": "node-1"}, "spec": {}, "status": {}});
        assert_eq!(
            violation(&bare, &bare, "node-1"),
            None,
            "missing fields are not an error"
        );
    }

    #[test]
    fn other_annotations_are_rejected() {
        let message = Some("gpuc-runtime may only change the annotation gpuc.dev/gpus");
        for (key, value) in [("a", json!("c")), ("a", Value::Null), ("new", json!("c"))] {
            assert_eq!(
                changing(&format!("/metadata/annotations/{key}"), value),
                message
            );
        }
        assert_eq!(changing("/metadata/annotations", Value::Null), message);
    }

    #[test]
    fn other_changes_are_rejected() {
        let rejected = |violation: Option<&'static str>, expected: &str| {
            assert!(
                violation.is_some_and(|message| message.contains(expected)),
                "{expected}: {violation:?}"
            );
        };
        rejected(violation(&node(), &node(), "node-2"), "the node it runs on");
        rejected(
            changing("/metadata/labels/zone", json!("b")),
            "only set labels",
        );
        rejected(
            changing("/metadata/labels/new", json!("b")),
            "only set labels",
        );
        // Labels that mark a node often have no value.
        rejected(
            changing(
                "/metadata/labels/node-role.kubernetes.io~1control-plane",
                json!(""),
            ),
            "only set labels",
        );
        rejected(
            changing("/metadata/labels/gpuc.dev~1pool", json!("b")),
            "only set labels",
        );
        for team in [json!("b"), Value::Null] {
            rejected(
                changing("/metadata/labels/gpuc.dev~1dedicated-to", team),
                "labels of nvidia.com/ and gpuc.dev/gpu-model.",
            );
        }
        rejected(
            changing("/metadata/labels/gpuc.dev~1pool", Value::Null),
            "only remove labels",
        );
        rejected(
            changing("/metadata/labels/zone", Value::Null),
            "only remove labels",
        );
        rejected(
            changing("/metadata/labels", Value::Null),
            "only remove labels",
        );
        rejected(changing("/spec/unschedulable", json!(true)), "cordon");
        rejected(
            changing("/spec/taints", Value::Null),
            "only remove its own startup taint",
        );
        let more = json!([
            {"key": "startup-taint.cluster-autoscaler.kubernetes.io/gpuc", "effect": "NoSchedule"},
            {"key": "nvidia.com/gpu", "effect": "NoExecute"},
        ]);
        rejected(changing("/spec/taints", more), "add taints");
        rejected(
            changing(
                "/status/conditions",
                json!([{"type": "Ready", "status": "False"}]),
            ),
            "condition",
        );
        rejected(
            changing("/status/conditions", json!([])),
            "remove conditions",
        );
        rejected(
            changing("/metadata/finalizers", json!(["a/b"])),
            "finalizers",
        );
        let owner = json!([{"apiVersion": "v1", "kind": "Node", "name": "node-2", "uid": "1"}]);
        rejected(changing("/metadata/ownerReferences", owner), "owners");
        let spec = "only the taints in the spec";
        rejected(
            changing("/spec/providerID", json!("aws:///us-east-1a/i-1")),
            spec,
        );
        rejected(changing("/spec/podCIDR", Value::Null), spec);
        let status = "only the conditions in the status";
        for (field, value) in [
            ("capacity/nvidia.com~1gpu", json!("9")),
            ("capacity/nvidia.com~1gpu", Value::Null),
            ("allocatable", json!({"nvidia.com/gpu": "9"})),
            (
                "addresses",
                json!([{"type": "InternalIP", "address": "10.0.0.2"}]),
            ),
            ("daemonEndpoints", json!({"kubeletEndpoint": {"Port": 1}})),
            ("volumesAttached", json!([{"name": "a", "devicePath": "b"}])),
            ("volumesInUse", Value::Null),
            ("a field of a later version", json!(1)),
        ] {
            rejected(changing(&format!("/status/{field}"), value), status);
        }
    }

    #[test]
    fn startup_taint_is_that_of_the_nodes() {
        let allowed = format!(
            "taint.key == '{}' ||",
            gpuc_schema::node_config::STARTUP_TAINT
        );
        assert!(RULES.iter().any(|(rule, _)| rule.contains(&allowed)));
    }

    #[test]
    fn request_without_node_is_rejected() {
        let request = json!({"userInfo": {"extra": {}}});
        let parsed = Parser::default()
            .enable_optional_syntax(true)
            .parse(RULES[0].0)
            .unwrap();
        let mut context = Context::default();
        context.add_variable("object", node()).unwrap();
        context.add_variable("request", request).unwrap();
        assert_eq!(Cel::resolve(&parsed, &context).unwrap(), Cel::Bool(false));
    }
}
