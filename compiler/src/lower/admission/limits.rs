//! More GPUs in a container than its team lets one have.

use super::cel::{self, CONTAINERS};
use super::{Demand, Policy, amounts};
use crate::check::Checked;
use crate::model::TEAM_LABEL;

/// The policy.
pub(super) fn policy(cluster: &Checked<'_>) -> Policy {
    let mut variables = cel::variables();
    let team = format!("namespaceObject.metadata.?labels[?'{TEAM_LABEL}'].orValue('')");
    variables.push(("team".to_owned(), team));
    let mut demands = Vec::new();
    for team in &cluster.teams {
        let Some(most) = team.gpus_per_container() else {
            continue;
        };
        for resource in cluster.resources_of(team) {
            let asked = amounts::counts(&format!("variables.{CONTAINERS}"), resource);
            let name = cel::text(&team.name);
            demands.push(Demand {
                expression: format!("variables.team != {name} || {asked}.all(count, count <= {most})"),
                message: format!(
                    "a container of team {} may ask for {most} {resource} at most; ask for less, and run several pods",
                    team.name
                ),
                saying: None,
            });
        }
    }
    Policy {
        name: "gpuc-gpus-per-container",
        refuses: true,
        spares_daemons: false,
        variables,
        demands,
        why: "a team says how many GPUs one of its containers may have",
    }
}
