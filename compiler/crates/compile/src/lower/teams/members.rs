//! The roles of members in a team's namespaces.
//!
//! The role of a RoleBinding is immutable, so there is one binding for each role, and only its subjects change.

use gpuc_model::Team;
use gpuc_model::check::Checked;
use gpuc_model::plan::{Object, Release};
use gpuc_schema::Span;
use gpuc_schema::config::{Member, Role};
use gpuc_syntax::node::Origin;
use serde_json::{Value, json};

use super::{COMPONENT, labels, spans};

/// The API group of roles.
const RBAC: &str = "rbac.authorization.k8s.io";

/// The role to view the custom resources of the installed charts, which Kubernetes' `view` does not cover.
const VIEW: &str = "gpuc-team-view";

/// The role to create and delete workloads.
const SUBMIT: &str = "gpuc-team-submit";

/// The built-in kinds that members create and delete. `view` covers all of them.
const BUILT_IN_KINDS: [(&str, &[&str]); 2] = [
    (
        "",
        &["configmaps", "persistentvolumeclaims", "pods", "services"],
    ),
    ("batch", &["cronjobs", "jobs"]),
];

/// The kinds that members create and delete, and those that they only view, by API group of the charts.
///
/// Source: `names.plural` in the charts' definitions: kubernetes-sigs/jobset@v0.12.0, kubernetes-sigs/lws@v0.10.0,
/// kubeflow/trainer@v2.3.0, kubernetes-sigs/kueue@v0.19.2.
const CHART_KINDS: [(&str, &[&str], &[&str]); 4] = [
    ("jobset.x-k8s.io", &["jobsets"], &[]),
    ("kueue.x-k8s.io", &[], &["localqueues", "workloads"]),
    ("leaderworkerset.x-k8s.io", &["leaderworkersets"], &[]),
    (
        "trainer.kubeflow.org",
        &["trainjobs"],
        &["trainingruntimes"],
    ),
];

/// The kinds that members create and delete where GPUs are allocated through DRA.
const CLAIM_KINDS: (&str, &[&str]) = (
    "resource.k8s.io",
    &["resourceclaims", "resourceclaimtemplates"],
);

const READ: [&str; 3] = ["get", "list", "watch"];
const WRITE: [&str; 5] = ["create", "delete", "deletecollection", "patch", "update"];

/// The ClusterRoles that members are bound to, in addition to Kubernetes' own.
pub(super) fn cluster_roles(cluster: &Checked<'_>, releases: &[Release]) -> Vec<Object> {
    let teams = cluster.teams.iter();
    let members: Vec<_> = teams.flat_map(|team| &team.settings.members).collect();
    if members.is_empty() {
        return Vec::new();
    }
    let inputs = members.iter().map(|member| member.span);
    let (viewed, submitted) = kinds(cluster, releases);
    let mut roles = Vec::new();
    if !viewed.is_empty() {
        let reason = "members view the jobs of the installed charts";
        let origin = Origin::rule(inputs.clone(), reason);
        roles.push(role(VIEW, &rules(&viewed, &READ), origin));
    }
    if members
        .iter()
        .any(|member| member.role.value >= Role::Submit)
    {
        let reason = "members create and delete jobs";
        let origin = Origin::rule(inputs, reason);
        roles.push(role(SUBMIT, &rules(&submitted, &WRITE), origin));
    }
    roles
}

type Kinds = Vec<(&'static str, Vec<&'static str>)>;

/// The kinds that members view in addition to Kubernetes' `view`, and those that they create and delete.
fn kinds(cluster: &Checked<'_>, releases: &[Release]) -> (Kinds, Kinds) {
    let (mut viewed, mut submitted) = (Kinds::new(), Kinds::new());
    submitted.extend(BUILT_IN_KINDS.map(|(group, kinds)| (group, kinds.to_vec())));
    for (group, own, other) in CHART_KINDS {
        if releases
            .iter()
            .any(|it| it.chart.api_groups.contains(&group))
        {
            viewed.push((group, [own, other].concat()));
            if !own.is_empty() {
                submitted.push((group, own.to_vec()));
            }
        }
    }
    let claims_adapters = !cluster.queued_claims().is_empty();
    if claims_adapters || cluster.dra_pools().next().is_some() {
        let (group, kinds) = CLAIM_KINDS;
        viewed.push((group, kinds.to_vec()));
        submitted.push((group, kinds.to_vec()));
    }
    (viewed, submitted)
}

fn rules(kinds: &Kinds, verbs: &[&str]) -> Vec<Value> {
    let rule = |(group, resources): &(&str, Vec<&str>)| json!({"apiGroups": [group], "resources": resources, "verbs": verbs});
    kinds.iter().map(rule).collect()
}

fn role(name: &str, rules: &[Value], origin: Origin) -> Object {
    let object = json!({
        "apiVersion": format!("{RBAC}/v1"),
        "kind": "ClusterRole",
        "metadata": {"name": name, "labels": {"app.kubernetes.io/managed-by": "gpuc"}},
        "rules": rules,
    });
    Object::new(COMPONENT, &object, origin)
}

/// The RoleBindings of a namespace.
pub(super) fn bindings(
    cluster: &Checked<'_>,
    releases: &[Release],
    team: &Team,
    index: usize,
) -> Vec<Object> {
    let (viewed, _) = kinds(cluster, releases);
    let extra = (!viewed.is_empty()).then_some(("team-view-jobs", VIEW, Role::View));
    let own = [
        ("team-view", "view", Role::View),
        ("team-submit", SUBMIT, Role::Submit),
        ("team-admin", "admin", Role::Admin),
    ];
    let all = own.into_iter().chain(extra);
    all.filter_map(|(name, role, min_role)| {
        let members = team.settings.members.iter();
        let members: Vec<_> = members.filter(|it| it.role.value >= min_role).collect();
        if members.is_empty() {
            return None;
        }
        let subjects: Vec<_> = members.iter().map(|it| subject(team, it)).collect();
        let object = json!({
            "apiVersion": format!("{RBAC}/v1"),
            "kind": "RoleBinding",
            "metadata": {
                "name": name,
                "namespace": team.namespaces[index].value,
                "labels": labels(team),
            },
            "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": role},
            "subjects": subjects,
        });
        let member_spans = members.iter().flat_map(|it| [it.span, it.role.span]);
        let inputs: Vec<Span> = spans(team, index).into_iter().chain(member_spans).collect();
        let reason = "members have their role in the team's namespaces";
        Some(Object::new(
            COMPONENT,
            &object,
            Origin::rule(inputs, reason),
        ))
    })
    .collect()
}

fn subject(team: &Team, member: &Member) -> Value {
    let by_name = |kind: &str, name: &str| json!({"apiGroup": RBAC, "kind": kind, "name": name});
    match (&member.group, &member.user, &member.service_account) {
        (Some(group), _, _) => by_name("Group", group),
        (_, Some(user), _) => by_name("User", user),
        (_, _, Some(account)) => {
            let own = (team.namespaces[0].as_str(), account.as_str());
            let (namespace, name) = account.split_once(':').unwrap_or(own);
            json!({"kind": "ServiceAccount", "namespace": namespace, "name": name})
        }
        (None, None, None) => {
            unreachable!("`team-member-invalid` rejects a member without a subject")
        }
    }
}
