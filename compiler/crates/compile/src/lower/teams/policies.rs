//! Admission policies that keep the members of a team within its namespaces and its quota: they expose no Service to
//! others, do not change the NetworkPolicy that isolates the team, and start no pods that Kueue does not count.
//!
//! RBAC grants permissions on kinds, not on fields and not on single objects that can be created. The policies ask the
//! API server's authorizer whether the requester has the permission in a larger scope, so that the platform team and
//! its controllers are not affected.
//!
//! Source: <https://kubernetes.io/docs/reference/access-authn-authz/validating-admission-policy/> (`authorizer`), read
//! 2026-11-26.

use gpuc_model::check::Checked;
use gpuc_model::plan::Object;
use gpuc_model::{TEAM_LABEL, Team};
use gpuc_schema::Span;
use gpuc_schema::config::{QueuedKind, Role, TeamNetwork};
use gpuc_syntax::node::Origin;
use serde_json::{Value, json};

use super::{COMPONENT, ISOLATION};
use crate::charts::queued_groups;
use crate::lower::admission::cel;

/// Whether the requester may create Services in every namespace, or may grant roles in this one.
const MAY_EXPOSE: &str = "authorizer.group('').resource('services').check('create').allowed() || \
     authorizer.group('rbac.authorization.k8s.io').resource('rolebindings').namespace(request.namespace)\
     .check('create').allowed()";

/// Whether the Service of a request is reachable only within the cluster, or does not change. Annotations count: those
/// of a load balancer determine who can reach it.
const IS_INTERNAL: &str = "!(object.spec.?type.orValue('ClusterIP') in ['NodePort', 'LoadBalancer']) && \
     size(object.spec.?externalIPs.orValue([])) == 0 || \
     request.operation == 'UPDATE' && object.spec == oldObject.spec && \
     object.metadata.?annotations.orValue({}) == oldObject.metadata.?annotations.orValue({})";

/// Whether the requester may delete NetworkPolicies in every namespace.
const MAY_CHANGE_ISOLATION: &str =
    "authorizer.group('networking.k8s.io').resource('networkpolicies').check('delete').allowed()";

/// Whether the requester may make the same change in every namespace, as controllers and the platform team may. A patch
/// is an update too.
const MAY_CHANGE_EVERYWHERE: &str = "authorizer.group(request.resource.group).resource(request.resource.resource)\
     .check(request.operation == 'CREATE' ? 'create' : 'update').allowed() || \
     request.operation == 'UPDATE' && \
     authorizer.group(request.resource.group).resource(request.resource.resource).check('patch').allowed()";

/// Whether a pod that waits for Kueue, or that Kueue started, keeps the label that makes Kueue count it, and the gates
/// that Kueue removes.
///
/// Source: kubernetes-sigs/kueue `pkg/controller/jobs/pod/pod_controller.go@ff69552e`, `Skip`, 2026-11-27.
const STAYS_QUEUED: &str = "request.resource.resource != 'pods' || request.operation != 'UPDATE' || \
     oldObject.metadata.?labels[?'kueue.x-k8s.io/managed'].orValue('') != 'true' || \
     object.metadata.?labels[?'kueue.x-k8s.io/managed'].orValue('') == 'true' && \
     dyn(oldObject).spec.?schedulingGates.orValue([]).all(gate, !gate.name.startsWith('kueue.x-k8s.io/') || \
     dyn(object).spec.?schedulingGates.orValue([]).exists(other, other.name == gate.name))";

/// A policy for the namespaces of teams, before it is an object.
struct Policy<'p> {
    name: &'p str,
    /// The requests that it validates.
    rules: Vec<Value>,
    /// The conditions for requests that it validates.
    conditions: Vec<Value>,
    /// The CEL variables: names and expressions.
    variables: Vec<(String, String)>,
    /// The conditions for allowed requests, and the messages for others.
    validations: Vec<(String, String)>,
}

/// The policies and their bindings.
pub(super) fn objects(cluster: &Checked<'_>) -> Vec<Object> {
    let mut objects = Vec::new();
    let members = cluster.teams.iter().flat_map(|team| &team.settings.members);
    let submitters: Vec<Span> = members
        .filter(|member| member.role.value >= Role::Submit)
        .map(|member| member.role.span)
        .collect();
    if !submitters.is_empty() {
        let validation = (
            format!("{IS_INTERNAL} || {MAY_EXPOSE}"),
            "members who submit jobs may create only Services of type ClusterIP without externalIPs, and may not \
             change others; ask an admin of the team"
                .to_owned(),
        );
        let reason = "members who submit jobs do not open ports of nodes or create load balancers";
        let policy = Policy {
            name: "gpuc-team-services",
            rules: vec![rule("", &["CREATE", "UPDATE"], "services")],
            conditions: Vec::new(),
            variables: Vec::new(),
            validations: vec![validation],
        };
        objects.extend(policy.objects(&Origin::rule(submitters.clone(), reason)));
    }
    if !submitters.is_empty() && cluster.has_queues() {
        objects.extend(queues(cluster, submitters));
    }
    let isolated: Vec<Span> = cluster
        .teams
        .iter()
        .map(|team| &team.settings.network)
        .filter(|network| network.value == TeamNetwork::Isolated)
        .map(|network| network.span)
        .collect();
    if !isolated.is_empty() {
        let condition = json!({
            "name": "isolates-a-team",
            "expression": format!(
                "oldObject.metadata.name == '{ISOLATION}' && \
                 oldObject.metadata.?labels[?'app.kubernetes.io/managed-by'].orValue('') == 'gpuc'"
            ),
        });
        let validation = (
            MAY_CHANGE_ISOLATION.to_owned(),
            format!(
                "the NetworkPolicy {ISOLATION} isolates the team and is changed by gpuc only; to allow more traffic, \
                 create another NetworkPolicy"
            ),
        );
        let reason = "an admin of an isolated team does not remove the isolation";
        let policy = Policy {
            name: "gpuc-team-isolation",
            rules: vec![rule(
                "networking.k8s.io",
                &["UPDATE", "DELETE"],
                "networkpolicies",
            )],
            conditions: vec![condition],
            variables: Vec::new(),
            validations: vec![validation],
        };
        objects.extend(policy.objects(&Origin::rule(isolated, reason)));
    }
    objects
}

/// The policy against pods that Kueue does not count. Kueue counts a pod or job with its controller, if it queues that
/// one. Without the policy, a member could name any of the team's running jobs as the controller of a pod, or remove
/// Kueue's gate from a pod.
///
/// Source: kubernetes-sigs/kueue `pkg/controller/jobframework/reconciler.go@ff69552e`, `FindAncestorJobManagedByKueue`,
/// 2026-11-27.
fn queues(cluster: &Checked<'_>, submitters: Vec<Span>) -> [Object; 2] {
    let mut kinds = (cluster.config.kueue.iter()).flat_map(|it| &it.job_kinds);
    let has_spark = kinds.any(|kind| matches!(kind.value, QueuedKind::SparkApplication));
    let mut groups = queued_groups(cluster);
    groups.remove("");
    // The driver of a Spark application controls the pods of its executors, which it creates with its own account. With
    // Kueue's integration, they are counted with the application. The `apiVersion` of pods is `v1`.
    let owners = groups.iter().copied();
    let owners: Vec<_> = owners.chain((!has_spark).then_some("v1")).collect();
    let controlled = format!(
        "object.metadata.?ownerReferences.orValue([]).exists(owner, owner.?controller.orValue(false) && \
         owner.apiVersion.split('/')[0] in {})",
        cel::string_list(&owners)
    );
    let unchanged = "request.operation == 'UPDATE' && object.metadata.?ownerReferences.orValue([]) == \
                     oldObject.metadata.?ownerReferences.orValue([])";
    let mut unpinned = cluster.teams.iter().flat_map(Team::unpinned_resources);
    let is_everything_counted = unpinned.next().is_some();
    // Pods without GPUs, such as executors of Spark, take nothing from a queue that counts only GPUs.
    let uncounted = if is_everything_counted {
        String::new()
    } else {
        format!(
            "request.resource.resource == 'pods' && !{} || ",
            cel::gpu_request_condition()
        )
    };
    let validations = [
        (
            format!("!{controlled} || {unchanged} || {uncounted}{MAY_CHANGE_EVERYWHERE}"),
            "only controllers create pods and jobs that another object controls, because the queue of the team counts \
             them with that object; remove metadata.ownerReferences"
                .to_owned(),
        ),
        (
            format!("{STAYS_QUEUED} || {MAY_CHANGE_EVERYWHERE}"),
            "only Kueue starts pods that wait in the queue of the team: keep the label kueue.x-k8s.io/managed and the \
             scheduling gates of kueue.x-k8s.io"
                .to_owned(),
        ),
    ];
    let operations = ["CREATE", "UPDATE"];
    let mut jobs = rule("", &operations, "*");
    jobs["apiGroups"] = json!(groups);
    jobs["apiVersions"] = json!(["*"]);
    let policy = Policy {
        name: "gpuc-team-queues",
        rules: vec![rule("", &operations, "pods"), jobs],
        conditions: Vec::new(),
        variables: if is_everything_counted {
            Vec::new()
        } else {
            cel::variables()
        },
        validations: validations.into(),
    };
    let reason = "the queues count every GPU that the members of a team use";
    let inputs = [cluster.config.queueing.span].into_iter().chain(submitters);
    policy.objects(&Origin::rule(inputs.collect::<Vec<_>>(), reason))
}

fn rule(group: &str, operations: &[&str], resource: &str) -> Value {
    json!({
        "apiGroups": [group],
        "apiVersions": ["v1"],
        "operations": operations,
        "resources": [resource],
    })
}

impl Policy<'_> {
    /// The policy and its binding.
    fn objects(&self, origin: &Origin) -> [Object; 2] {
        let metadata =
            json!({"name": self.name, "labels": {"app.kubernetes.io/managed-by": "gpuc"}});
        let validations = self
            .validations
            .iter()
            .map(|(expression, message)| json!({"expression": expression, "message": message}));
        let mut policy = json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingAdmissionPolicy",
            "metadata": metadata,
            "spec": {
                "failurePolicy": "Fail",
                "matchConstraints": {"resourceRules": self.rules},
                "validations": validations.collect::<Vec<_>>(),
            },
        });
        if !self.conditions.is_empty() {
            policy["spec"]["matchConditions"] = json!(self.conditions);
        }
        if !self.variables.is_empty() {
            let variables = self.variables.iter();
            let variables =
                variables.map(|(name, expression)| json!({"name": name, "expression": expression}));
            policy["spec"]["variables"] = variables.collect();
        }
        let binding = json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": metadata,
            "spec": {
                "policyName": self.name,
                "validationActions": ["Deny"],
                "matchResources": {"namespaceSelector": {
                    "matchExpressions": [{"key": TEAM_LABEL, "operator": "Exists"}],
                }},
            },
        });
        [policy, binding].map(|object| Object::new(COMPONENT, &object, origin.clone()))
    }
}
