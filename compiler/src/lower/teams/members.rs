//! Who may do what in a team's namespaces.
//!
//! A binding's role cannot be changed, so that there is one for each role, and members come and go in it.

use gpuc_schema::Span;
use gpuc_schema::config::{Member, Role};
use serde_json::{Value, json};

use super::{COMPONENT, labels, places};
use crate::check::Checked;
use crate::model::Team;
use crate::node::Origin;
use crate::plan::{Object, Release};

/// The API group of roles.
const RBAC: &str = "rbac.authorization.k8s.io";

/// The role that sees the jobs of the cluster's charts, which Kubernetes' own `view` does not know.
const VIEW: &str = "gpuc-team-view";

/// The role that starts and stops jobs.
const SUBMIT: &str = "gpuc-team-submit";

/// What people start and stop that every cluster has. `view` sees all of it.
const BUILT_IN: [(&str, &[&str]); 2] = [
    (
        "",
        &["configmaps", "persistentvolumeclaims", "pods", "services"],
    ),
    ("batch", &["cronjobs", "jobs"]),
];

/// What people start and stop, and what they only look at, by the API groups that charts bring.
///
/// Source: `names.plural` in the charts' definitions: kubernetes-sigs/jobset@v0.12.0, kubernetes-sigs/lws@v0.10.0,
/// kubeflow/trainer@v2.3.0, kubernetes-sigs/kueue@v0.19.2.
const OF_CHARTS: [(&str, &[&str], &[&str]); 4] = [
    ("jobset.x-k8s.io", &["jobsets"], &[]),
    ("kueue.x-k8s.io", &[], &["localqueues", "workloads"]),
    ("leaderworkerset.x-k8s.io", &["leaderworkersets"], &[]),
    (
        "trainer.kubeflow.org",
        &["trainjobs"],
        &["trainingruntimes"],
    ),
];

/// What people start and stop where pods claim GPUs.
const CLAIMS: (&str, &[&str]) = (
    "resource.k8s.io",
    &["resourceclaims", "resourceclaimtemplates"],
);

const READ: [&str; 3] = ["get", "list", "watch"];
const WRITE: [&str; 5] = ["create", "delete", "deletecollection", "patch", "update"];

/// The roles that members are bound to, beside Kubernetes' own.
pub(super) fn cluster_roles(cluster: &Checked<'_>, releases: &[Release]) -> Vec<Object> {
    let teams = cluster.teams.iter();
    let members: Vec<_> = teams.flat_map(|team| &team.written.members).collect();
    if members.is_empty() {
        return Vec::new();
    }
    let inputs = members.iter().map(|member| member.span);
    let (seen, submitted) = kinds(cluster, releases);
    let mut roles = Vec::new();
    if !seen.is_empty() {
        let why = "members see the jobs of the cluster's charts";
        let origin = Origin::rule(inputs.clone(), why);
        roles.push(role(VIEW, &rules(&seen, &READ), origin));
    }
    if members
        .iter()
        .any(|member| member.role.value >= Role::Submit)
    {
        let why = "members start and stop jobs";
        let origin = Origin::rule(inputs, why);
        roles.push(role(SUBMIT, &rules(&submitted, &WRITE), origin));
    }
    roles
}

type Kinds = Vec<(&'static str, Vec<&'static str>)>;

/// What members see beyond Kubernetes' own `view`, and what they start and stop.
fn kinds(cluster: &Checked<'_>, releases: &[Release]) -> (Kinds, Kinds) {
    let (mut seen, mut submitted) = (Kinds::new(), Kinds::new());
    submitted.extend(BUILT_IN.map(|(group, kinds)| (group, kinds.to_vec())));
    for (group, own, other) in OF_CHARTS {
        if releases.iter().any(|it| it.chart.groups.contains(&group)) {
            seen.push((group, [own, other].concat()));
            if !own.is_empty() {
                submitted.push((group, own.to_vec()));
            }
        }
    }
    if cluster.pools_claimed().next().is_some() {
        let (group, kinds) = CLAIMS;
        seen.push((group, kinds.to_vec()));
        submitted.push((group, kinds.to_vec()));
    }
    (seen, submitted)
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

/// The bindings of a namespace.
pub(super) fn bindings(
    cluster: &Checked<'_>,
    releases: &[Release],
    team: &Team,
    index: usize,
) -> Vec<Object> {
    let (seen, _) = kinds(cluster, releases);
    let extra = (!seen.is_empty()).then_some(("team-view-jobs", VIEW, Role::View));
    let own = [
        ("team-view", "view", Role::View),
        ("team-submit", SUBMIT, Role::Submit),
        ("team-admin", "admin", Role::Admin),
    ];
    let all = own.into_iter().chain(extra);
    all.filter_map(|(name, role, least)| {
        let members = team.written.members.iter();
        let members: Vec<_> = members.filter(|it| it.role.value >= least).collect();
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
        let spans = members.iter().flat_map(|it| [it.span, it.role.span]);
        let inputs: Vec<Span> = places(team, index).into_iter().chain(spans).collect();
        let why = "members have their role in the team's namespaces";
        Some(Object::new(COMPONENT, &object, Origin::rule(inputs, why)))
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
        (None, None, None) => unreachable!("`team-member-invalid` refuses a member that is nobody"),
    }
}
