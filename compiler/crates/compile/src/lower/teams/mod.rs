//! Teams: namespaces, quotas, limits, role bindings and network policies.

mod limits;
mod members;
mod namespaces;
mod network;
mod policies;
mod priorities;
mod quotas;
mod summary;

use std::collections::BTreeMap;

use gpuc_schema::Span;

use gpuc_model::check::Checked;
use gpuc_model::plan::{Object, Release};
use gpuc_model::{TEAM_LABEL, Team};

pub(super) use summary::{quota_totals, summaries};

/// The folder of the manifests.
const COMPONENT: &str = "teams";

/// The name of objects that exist once per namespace.
const NAME: &str = "team";

/// The objects of all teams, and the PriorityClasses.
pub(super) fn objects(cluster: &Checked<'_>, releases: &[Release]) -> Vec<Object> {
    let mut objects = priorities::objects(cluster);
    objects.extend(members::cluster_roles(cluster, releases));
    objects.extend(policies::objects(cluster));
    for team in &cluster.teams {
        for index in 0..team.namespaces.len() {
            objects.push(namespaces::object(team, index));
            objects.extend(quotas::object(cluster, team, index));
            objects.push(quotas::system_priorities(team, index));
            objects.extend(limits::object(cluster, team, index));
            objects.extend(members::bindings(cluster, releases, team, index));
            objects.extend(network::object(cluster, team, index));
        }
    }
    objects
}

/// The name of the NetworkPolicy of an isolated namespace.
const ISOLATION: &str = "team-isolated";

/// The labels of a team's objects.
fn labels(team: &Team) -> BTreeMap<String, String> {
    let all = [
        ("app.kubernetes.io/managed-by", "gpuc"),
        (TEAM_LABEL, &team.name),
    ];
    all.map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into()
}

/// The spans of a team and of one of its namespaces.
fn spans(team: &Team, namespace: usize) -> [Span; 2] {
    [team.name.span, team.namespaces[namespace].span]
}
