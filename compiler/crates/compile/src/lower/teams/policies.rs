//! Admission policies that keep the members of a team within its namespaces: they expose no Service to others, and do
//! not change the NetworkPolicy that isolates the team.
//!
//! RBAC grants permissions on kinds, not on fields and not on single objects that can be created. The policies ask the
//! API server's authorizer whether the requester has the permission in a larger scope, so that the platform team and
//! its controllers are not affected.
//!
//! Source: <https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/> (`authorizer`), read
//! 2026-11-26.

use gpuc_model::TEAM_LABEL;
use gpuc_model::check::Checked;
use gpuc_model::plan::Object;
use gpuc_schema::Span;
use gpuc_schema::config::{Role, TeamNetwork};
use gpuc_syntax::node::Origin;
use serde_json::{Value, json};

use super::{COMPONENT, ISOLATION};

/// Whether the requester may create Services in every namespace, or may grant roles in this one.
const MAY_EXPOSE: &str = "authorizer.group('').resource('services').check('create').allowed() || \
     authorizer.group('rbac.authorization.k8s.io').resource('rolebindings').namespace(request.namespace)\
     .check('create').allowed()";

/// Whether the Service of a request is reachable only within the cluster, or does not change.
const IS_INTERNAL: &str = "!(object.spec.?type.orValue('ClusterIP') in ['NodePort', 'LoadBalancer']) && \
     size(object.spec.?externalIPs.orValue([])) == 0 || \
     request.operation == 'UPDATE' && object.spec == oldObject.spec";

/// Whether the requester may delete NetworkPolicies in every namespace.
const MAY_CHANGE_ISOLATION: &str =
    "authorizer.group('networking.k8s.io').resource('networkpolicies').check('delete').allowed()";

/// The policies and their bindings.
pub(super) fn objects(cluster: &Checked<'_>) -> Vec<Object> {
    let mut objects = Vec::new();
    let members = cluster.teams.iter().flat_map(|team| &team.settings.members);
    let submitters: Vec<Span> = members
        .filter(|member| member.role.value >= Role::Submit)
        .map(|member| member.role.span)
        .collect();
    if !submitters.is_empty() {
        let rule = json!({
            "apiGroups": [""],
            "apiVersions": ["v1"],
            "operations": ["CREATE", "UPDATE"],
            "resources": ["services"],
        });
        let validation = json!({
            "expression": format!("{IS_INTERNAL} || {MAY_EXPOSE}"),
            "message": "members who submit jobs may create Services that are reachable within the cluster: use type \
                        ClusterIP and no externalIPs, or ask an admin of the team to create the Service",
        });
        let reason = "members who submit jobs do not open ports of nodes or create load balancers";
        let origin = Origin::rule(submitters, reason);
        objects.extend(policy(
            "gpuc-team-services",
            &rule,
            &[],
            &validation,
            &origin,
        ));
    }
    let isolated: Vec<Span> = cluster
        .teams
        .iter()
        .map(|team| &team.settings.network)
        .filter(|network| network.value == TeamNetwork::Isolated)
        .map(|network| network.span)
        .collect();
    if !isolated.is_empty() {
        let rule = json!({
            "apiGroups": ["networking.k8s.io"],
            "apiVersions": ["v1"],
            "operations": ["UPDATE", "DELETE"],
            "resources": ["networkpolicies"],
        });
        let condition = json!({
            "name": "isolates-a-team",
            "expression": format!(
                "oldObject.metadata.name == '{ISOLATION}' && \
                 oldObject.metadata.?labels[?'app.kubernetes.io/managed-by'].orValue('') == 'gpuc'"
            ),
        });
        let validation = json!({
            "expression": MAY_CHANGE_ISOLATION,
            "message": format!(
                "the NetworkPolicy {ISOLATION} isolates the team and is changed by gpuc only; to allow more traffic, \
                 create another NetworkPolicy"
            ),
        });
        let reason = "an admin of an isolated team does not remove the isolation";
        let origin = Origin::rule(isolated, reason);
        objects.extend(policy(
            "gpuc-team-isolation",
            &rule,
            &[condition],
            &validation,
            &origin,
        ));
    }
    objects
}

/// A policy for the namespaces of teams, and its binding.
fn policy(
    name: &str,
    rule: &Value,
    conditions: &[Value],
    validation: &Value,
    origin: &Origin,
) -> [Object; 2] {
    let metadata = json!({"name": name, "labels": {"app.kubernetes.io/managed-by": "gpuc"}});
    let mut policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": metadata,
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [validation],
        },
    });
    if !conditions.is_empty() {
        policy["spec"]["matchConditions"] = json!(conditions);
    }
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": metadata,
        "spec": {
            "policyName": name,
            "validationActions": ["Deny"],
            "matchResources": {"namespaceSelector": {
                "matchExpressions": [{"key": TEAM_LABEL, "operator": "Exists"}],
            }},
        },
    });
    [policy, binding].map(|object| Object::new(COMPONENT, &object, origin.clone()))
}
