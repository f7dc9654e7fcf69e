//! The teams in the generated README.

use gpuc_schema::config::{Member, Role};

use gpuc_model::check::Checked;
use gpuc_model::plan::{QuotaTotalSummary, TeamQuotaSummary, TeamSummary};
use gpuc_model::{Grant, QuotaTotal, Team};

/// The teams.
pub(in crate::lower) fn summaries(cluster: &Checked<'_>) -> Vec<TeamSummary> {
    let summary = |team: &Team| TeamSummary {
        name: team.name.value.clone(),
        namespaces: team.namespaces.iter().map(|it| it.value.clone()).collect(),
        members: team.settings.members.iter().map(|it| member(it)).collect(),
    };
    cluster.teams.iter().map(summary).collect()
}

fn member(member: &Member) -> String {
    let role = match member.role.value {
        Role::View => "view",
        Role::Submit => "submit",
        Role::Admin => "admin",
    };
    let names = [&member.group, &member.user, &member.service_account];
    let name = names.into_iter().flatten().next();
    format!("{} ({role})", name.map_or("", |name| name.as_str()))
}

/// The quotas of the teams by pool and resource, each with a sum.
pub(in crate::lower) fn quota_totals(cluster: &Checked<'_>) -> Vec<QuotaTotalSummary> {
    let summary = |promise: QuotaTotal<'_>| {
        let grants = promise.grants.iter();
        let mut teams: Vec<_> = grants
            .map(|(team, grant)| team_quota(team, grant))
            .collect();
        if teams.len() > 1 {
            teams.push(TeamQuotaSummary {
                name: "total".to_owned(),
                guaranteed: promise.guaranteed(),
                limit: promise.limit(),
            });
        }
        QuotaTotalSummary {
            pool: cluster.pools[promise.pool].name.value.clone(),
            resource: promise.resource.to_owned(),
            min: *promise.total.start(),
            max: *promise.total.end(),
            teams,
        }
    };
    cluster.quota_totals().into_iter().map(summary).collect()
}

fn team_quota(team: &Team, grant: &Grant) -> TeamQuotaSummary {
    let name = match grant.namespace {
        Some(index) if team.namespaces.len() > 1 => {
            format!("{} in {}", team.name, team.namespaces[index])
        }
        _ => team.name.value.clone(),
    };
    TeamQuotaSummary {
        name,
        guaranteed: u64::from(grant.guaranteed.value),
        limit: u64::from(grant.limit.value),
    }
}
