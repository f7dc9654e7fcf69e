//! Teams: their namespaces, what these may use, and who may do what in them.

mod limits;
mod members;
mod namespaces;
mod network;
mod priorities;
mod quotas;
mod summary;

use std::collections::BTreeMap;

use gpuc_schema::Span;

use crate::check::Checked;
use crate::model::TEAM_LABEL;
use crate::model::Team;
use crate::plan::{Object, Release};

pub(super) use summary::{promises, summaries};

/// The folder of the manifests.
const COMPONENT: &str = "teams";

/// The name of what there is once in a namespace.
const NAME: &str = "team";

/// The objects of all teams, and the classes of priority.
pub(super) fn objects(cluster: &Checked<'_>, releases: &[Release]) -> Vec<Object> {
    let mut objects = priorities::objects(cluster);
    objects.extend(members::cluster_roles(cluster, releases));
    for team in &cluster.teams {
        for index in 0..team.namespaces.len() {
            objects.push(namespaces::object(team, index));
            objects.extend(quotas::object(cluster, team, index));
            objects.extend(limits::object(cluster, team, index));
            objects.extend(members::bindings(cluster, releases, team, index));
            objects.extend(network::object(cluster, team, index));
        }
    }
    objects
}

/// The labels of everything of a team.
fn labels(team: &Team) -> BTreeMap<String, String> {
    let all = [
        ("app.kubernetes.io/managed-by", "gpuc"),
        (TEAM_LABEL, &team.name),
    ];
    all.map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into()
}

/// Where a team and one of its namespaces were written.
fn places(team: &Team, namespace: usize) -> [Span; 2] {
    [team.name.span, team.namespaces[namespace].span]
}
