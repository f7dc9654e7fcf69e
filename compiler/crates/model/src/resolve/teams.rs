//! Resolution of teams: their namespaces, their quotas of the pools, and their default requests.

use gpuc_schema::config::{
    Amounts as FileAmounts, NamespaceQuota as FileNamespaceQuota, Quantity, Quota as FileQuota,
    Team as FileTeam,
};
use gpuc_schema::{Span, Spanned};
use gpuc_syntax::diag::phrases::quoted_list;
use gpuc_syntax::diag::{Report, Reported};
use gpuc_syntax::node::DerivationReason;

use super::codes;
use super::defaults::Defaults;
use super::grants::{reject_duplicate, resolve_grant};
use crate::{
    Amounts, ContainerLimits, Grant, NamespaceQuota, Pool, Quota, Resolved, Team, TeamSettings,
};

/// Default requests of containers that set none, where a quota or a limit requires requests.
const DEFAULT_REQUESTS: [(&str, &str); 2] = [("cpu", "500m"), ("memory", "1Gi")];

/// Resolves teams.
pub(super) struct TeamResolver<'r> {
    /// The pools of the cluster.
    pub(super) pools: &'r [Pool],
    /// The default values that were filled in.
    pub(super) defaults: &'r mut Defaults,
    /// The diagnostics.
    pub(super) report: &'r mut Report,
}

impl TeamResolver<'_> {
    /// Resolves the teams of the file.
    pub(super) fn resolve(mut self, teams: &[Spanned<FileTeam>]) -> Vec<Team> {
        teams
            .iter()
            .enumerate()
            .map(|(index, team)| self.resolve_team(index, team))
            .collect()
    }

    fn resolve_team(&mut self, index: usize, team: &FileTeam) -> Team {
        let namespaces = if team.namespaces.is_empty() {
            let because = DerivationReason::Rule("the name of the team");
            let path = ["teams", &index.to_string(), "namespaces"];
            self.defaults.fill(path, &[&team.name], because);
            vec![team.name.clone()]
        } else {
            team.namespaces.clone()
        };
        let mut grants = Vec::new();
        let team_path = ["teams".to_owned(), index.to_string()];
        if let Some(quota) = &team.quota {
            let path = [&team_path[..], &["quota".to_owned()]].concat();
            self.push_grants(&mut grants, quota, Ok(None), &path);
        }
        for (entry, namespace_quota) in team.namespace_quotas.iter().enumerate() {
            let namespace = namespaces
                .iter()
                .position(|name| *name == namespace_quota.namespace)
                .map(Some)
                .ok_or_else(|| report_unknown_namespace(namespace_quota, &namespaces, self.report));
            let keys = ["namespaceQuotas", &entry.to_string(), "quota"].map(str::to_owned);
            let path: Vec<_> = team_path.iter().cloned().chain(keys).collect();
            self.push_grants(&mut grants, &namespace_quota.quota, namespace, &path);
        }
        let namespace_quota = |quota: &Spanned<FileNamespaceQuota>| NamespaceQuota {
            namespace: quota.namespace.clone(),
            quota: Quota::new(&quota.value.quota, quota.span),
        };
        let quota = team.quota.as_ref();
        Team {
            index,
            name: team.name.clone(),
            default_request: self.default_request(index, team),
            settings: TeamSettings::from(team),
            quota: quota.map(|quota| Quota::new(&quota.value, quota.span)),
            namespace_quotas: team.namespace_quotas.iter().map(namespace_quota).collect(),
            limits: team.limits.as_ref().map(ContainerLimits::from),
            namespaces,
            grants,
        }
    }

    /// Adds the grants of the quota at a path of the file.
    fn push_grants(
        &mut self,
        grants: &mut Vec<Resolved<Grant>>,
        quota: &FileQuota,
        namespace: Result<Option<usize>, Reported>,
        path: &[String],
    ) {
        let first_of_quota = grants.len();
        for (index, entry) in quota.gpus.iter().enumerate() {
            let resolved = match (resolve_grant(entry, self.pools, self.report), namespace) {
                (Ok(grant), Ok(namespace)) => Ok(Grant { namespace, ..grant }),
                (Err(reported), _) | (_, Err(reported)) => Err(reported),
            }
            .and_then(|grant| reject_duplicate(grant, &grants[first_of_quota..], self.report));
            if let (Ok(grant), None) = (&resolved, &entry.limit) {
                let keys = ["gpus".to_owned(), index.to_string(), "limit".to_owned()];
                let because = DerivationReason::Rule("equal to the guaranteed amount");
                self.defaults
                    .fill(path.iter().cloned().chain(keys), &grant.limit, because);
            }
            grants.push(match resolved {
                Ok(grant) => Resolved::Value(grant),
                Err(reported) => Resolved::Unresolved(reported),
            });
        }
    }

    /// Default requests of containers that set none. With a quota of CPU or memory, the API server rejects a pod
    /// without requests. With only a maximum, Kubernetes uses the maximum as the request of each container.
    ///
    /// Source: `SetDefaults_LimitRangeItem` in kubernetes `pkg/apis/core/v1/defaults.go`, read 2026-11-21.
    fn default_request(&mut self, index: usize, team: &FileTeam) -> Amounts {
        let limits = team.limits.as_ref();
        let team_quota = team.quota.iter().map(|it| &it.value);
        let namespace_quotas = team.namespace_quotas.iter().map(|it| &it.quota);
        let quotas: Vec<_> = team_quota.chain(namespace_quotas).collect();
        let mut amounts = limits
            .and_then(|it| it.default_request.clone())
            .unwrap_or_default();
        for (key, request) in DEFAULT_REQUESTS {
            let amount_of = |amounts: &FileAmounts| match key {
                "cpu" => amounts.cpu.clone(),
                _ => amounts.memory.clone(),
            };
            let is_counted = quotas.iter().any(|quota| match key {
                "cpu" => quota.cpu.is_some(),
                _ => quota.memory.is_some(),
            });
            let limit = limits.and_then(|it| {
                let default = it.default.as_ref().and_then(amount_of);
                default.or_else(|| it.max.as_ref().and_then(amount_of))
            });
            let is_limited = limit.is_some();
            // A quota of 0 admits no request.
            let counted = quotas
                .iter()
                .filter_map(|quota| match key {
                    "cpu" => quota.cpu.clone(),
                    _ => quota.memory.clone(),
                })
                .filter(|it| it.thousandths().is_some_and(|count| count > 0));
            let max = limit
                .into_iter()
                .chain(counted)
                .min_by_key(|it| it.thousandths());
            if amount_of(&amounts).is_some() || (!is_counted && !is_limited) {
                continue;
            }
            let request = Quantity(request.to_owned());
            // Invalid quantities are reported by a rule.
            let is_less = |max: &Spanned<Quantity>| max.thousandths() < request.thousandths();
            let value = match max.filter(is_less) {
                Some(max) => max.value,
                None => request,
            };
            let path = ["teams", &index.to_string(), "limits", "defaultRequest", key];
            let because =
                DerivationReason::Rule("pods need a request where a quota or a limit applies");
            self.defaults.fill(path, &value, because);
            let slot = match key {
                "cpu" => &mut amounts.cpu,
                _ => &mut amounts.memory,
            };
            *slot = Some(Spanned::without_span(value));
        }
        Amounts::from(&amounts)
    }
}

fn report_unknown_namespace(
    quota: &FileNamespaceQuota,
    namespaces: &[Spanned<String>],
    report: &mut Report,
) -> Reported {
    let name = &quota.namespace;
    let message = format!("namespace `{name}` does not belong to the team");
    let names: Vec<_> = namespaces.iter().map(|it| it.as_str()).collect();
    let first = namespaces.first().map_or(Span::NONE, |it| it.span);
    let help = format!(
        "write one of {}, or add it to `namespaces`",
        quoted_list(&names, 12)
    );
    report
        .diagnostic(&codes::QUOTA_NAMESPACE_UNKNOWN, name.span, message)
        .label(first, "the namespaces of the team")
        .help(help)
        .emit()
}
