//! Policy against containers that request more GPUs than the limit of their team.

use gpuc_model::TEAM_LABEL;
use gpuc_model::check::Checked;

use super::cel::{self, CONTAINERS};
use super::{Denies, Policy, Validation, amounts};

/// The policy.
pub(super) fn policy(cluster: &Checked<'_>) -> Policy {
    let mut variables = cel::variables();
    let team = format!("namespaceObject.metadata.?labels[?'{TEAM_LABEL}'].orValue('')");
    variables.push(("team".to_owned(), team));
    let mut validations = Vec::new();
    for team in &cluster.teams {
        let Some(max) = team.gpus_per_container() else {
            continue;
        };
        for resource in cluster.requestable_resources(team) {
            let requested =
                amounts::requested_amounts(&format!("variables.{CONTAINERS}"), resource);
            let name = cel::string_literal(&team.name);
            validations.push(Validation {
                expression: format!("variables.team != {name} || {requested}.all(count, count <= {max})"),
                message: format!(
                    "a container of team {} may request at most {max} {resource}; request fewer, and run several pods",
                    team.name
                ),
                message_expression: None,
            });
        }
    }
    Policy {
        name: "gpuc-gpus-per-container",
        denies: Denies::Always,
        exempts_daemon_sets: false,
        checks_running_pods: false,
        variables,
        validations,
        reason: "a team limits the number of GPUs per container",
    }
}
