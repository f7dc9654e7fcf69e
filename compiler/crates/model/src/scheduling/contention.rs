//! Diagnostics about workloads that exceed a quota or the capacity of pools at the same time.

use gpuc_schema::Spanned;
use gpuc_syntax::diag::{Code, DiagnosticBuilder, Report, phrases};

use crate::scheduling::{
    ExceededQuota, OverCapacity, QuotaResource, RunningWorkload, UnschedulablePodSets,
    exceeded_quotas,
};
use crate::{Cluster, Grant, Team};

/// The load of every workload of the file.
pub fn running_workloads(cluster: &Cluster) -> Vec<RunningWorkload<'_>> {
    let workloads = cluster.config.workloads.iter();
    workloads
        .filter_map(|it| RunningWorkload::from_workload(cluster, it))
        .collect()
}

/// A quota that workloads of a team exceed.
pub struct ExceededByTeam<'c> {
    team: &'c Team,
    quota: ExceededQuota,
    subject: Subject,
    help: &'static str,
}

/// The workloads, as the subject of a sentence.
enum Subject {
    One(String),
    Several(String),
}

impl Subject {
    /// The subject with the verb that agrees with it.
    fn needs(&self) -> String {
        match self {
            Self::One(title) => format!("{title} needs"),
            Self::Several(titles) => format!("{titles} need"),
        }
    }
}

impl<'c> ExceededByTeam<'c> {
    /// The quotas that the services of a team exceed.
    pub fn by_services(cluster: &'c Cluster, workloads: &[RunningWorkload<'_>]) -> Vec<Self> {
        let mut sums = Vec::new();
        for team in &cluster.teams {
            let services = workloads_of_team(team, workloads, |workload| workload.is_long_running);
            sums.extend(
                quotas_exceeded_by(cluster, team, workloads, &services)
                    .into_iter()
                    .map(|spent| ExceededByTeam {
                        team,
                        subject: Subject::Several(format!("the services of team `{}`", team.name)),
                        help: match spent.resource {
                            QuotaResource::Storage => {
                                "lower the requests, or raise the team's quota"
                            }
                            _ => "run fewer pods, or raise the team's quota",
                        },
                        quota: spent,
                    }),
            );
        }
        sums
    }

    /// The quotas that one workload exceeds.
    pub fn by_workload(
        cluster: &'c Cluster,
        workloads: &[RunningWorkload<'_>],
        index: usize,
    ) -> Vec<Self> {
        let workload = &workloads[index];
        let Some(team) = workload.team.and_then(|name| cluster.team(name)) else {
            return Vec::new();
        };
        let found = exceeded_quotas(cluster, team, &[&workloads[index]]).into_iter();
        let sum = |spent: ExceededQuota| ExceededByTeam {
            team,
            quota: ExceededQuota {
                workloads: vec![index],
                ..spent
            },
            subject: Subject::One(workload.title.clone()),
            help: "lower the requests, or raise the team's quota",
        };
        found.map(sum).collect()
    }

    /// The quotas that services and jobs of a team exceed together, although its services alone fit.
    pub fn by_all_workloads(cluster: &'c Cluster, workloads: &[RunningWorkload<'_>]) -> Vec<Self> {
        let mut sums = Vec::new();
        for team in &cluster.teams {
            let services = workloads_of_team(team, workloads, |workload| workload.is_long_running);
            let jobs = workloads_of_team(team, workloads, |workload| !workload.is_long_running);
            let by_services = quotas_exceeded_by(cluster, team, workloads, &services);
            let is_new = |spent: &ExceededQuota| {
                let is_same = |it: &ExceededQuota| {
                    it.resource == spent.resource && is_subset(&it.spans, &spent.spans)
                };
                !by_services.iter().any(is_same)
            };
            if !cluster.has_queues() {
                let all = workloads_of_team(team, workloads, |_| true);
                let found = quotas_exceeded_by(cluster, team, workloads, &all).into_iter();
                sums.extend(found.filter(is_new).map(|spent| ExceededByTeam {
                    team,
                    quota: spent,
                    subject: Subject::Several(format!("the workloads of team `{}`", team.name)),
                    help: "lower the requests, raise the team's quota, or set `queueing: kueue`, so that jobs wait for \
                           each other",
                }));
                continue;
            }
            // PersistentVolumeClaims do not wait in queues, and outlive their jobs.
            let all = quotas_exceeded_by(
                cluster,
                team,
                workloads,
                &workloads_of_team(team, workloads, |_| true),
            )
            .into_iter();
            let claims = all.filter(|it| it.resource == QuotaResource::Storage && is_new(it));
            sums.extend(claims.map(|spent| ExceededByTeam {
                team,
                quota: spent,
                subject: Subject::Several(format!("the workloads of team `{}`", team.name)),
                help: "lower the requests, or raise the team's quota",
            }));
            for job in jobs {
                let concurrent: Vec<_> = services.iter().copied().chain([job]).collect();
                let found = quotas_exceeded_by(cluster, team, workloads, &concurrent).into_iter();
                let found = found.filter(|it| it.resource != QuotaResource::Storage);
                sums.extend(found.filter(is_new).map(|spent| ExceededByTeam {
                    team,
                    quota: spent,
                    subject: Subject::Several(format!(
                        "the services of team `{}` and {}",
                        team.name, workloads[job].title
                    )),
                    help: "lower the requests, or raise the team's quota: the services leave too little for the job",
                }));
            }
        }
        for sum in &mut sums {
            if sum.has_reached_capacity(cluster) {
                sum.help = if cluster.has_queues() {
                    "lower the requests, give the pool more nodes, or raise `lend` of other teams: the services leave too \
                     little for the job"
                } else {
                    "lower the requests, give the pool more nodes, or set `queueing: kueue`, so that jobs wait for each other"
                };
            }
        }
        sums
    }

    /// The indexes of the workloads.
    pub fn workload_indexes(&self) -> &[usize] {
        &self.quota.workloads
    }

    /// The diagnostic.
    pub fn diagnostic<'r>(
        &self,
        code: &'static Code,
        workloads: &[RunningWorkload<'_>],
        report: &'r mut Report,
    ) -> DiagnosticBuilder<'r> {
        let ExceededQuota {
            resource,
            requested,
            limit,
            ..
        } = &self.quota;
        let available = match resource {
            QuotaResource::Device(_) => limit.to_string(),
            resource => resource.format_amount(*limit),
        };
        let message = format!(
            "{} {} at once, but the team's limit is {available}",
            self.subject.needs(),
            resource.format_amount(*requested)
        );
        let mut builder = diagnostic_for_workloads(
            resource,
            &self.quota.workloads,
            &message,
            code,
            workloads,
            report,
        );
        for span in self.quota.spans.iter().filter(|it| it.is_written()) {
            builder = builder.label(*span, "this limits the team");
        }
        if self.quota.spans.iter().all(|it| !it.is_written()) {
            builder = builder.label(self.team.name.span, "this team");
        }
        builder.help(self.help)
    }

    /// Whether the team already has all the capacity that it can reach, so that a higher limit has no effect.
    fn has_reached_capacity(&self, cluster: &Cluster) -> bool {
        let mut grants = self
            .team
            .grants()
            .filter(|grant| self.quota.spans.contains(&grant.span))
            .peekable();
        grants.peek().is_some()
            && grants.all(|grant| {
                let larger = Grant {
                    limit: Spanned::without_span(u32::MAX),
                    ..grant.clone()
                };
                let mut totals = cluster.quota_totals().into_iter();
                let total =
                    totals.find(|it| it.pool == grant.pool && it.resource == grant.resource);
                let max = total.map_or(u64::MAX, |it| it.max_total());
                cluster.max_reachable(self.team, &larger).min(max) <= u64::from(grant.limit.value)
            })
    }
}

/// The indexes of the workloads of a team that match a predicate.
fn workloads_of_team(
    team: &Team,
    workloads: &[RunningWorkload<'_>],
    matches: impl Fn(&RunningWorkload<'_>) -> bool,
) -> Vec<usize> {
    workloads
        .iter()
        .enumerate()
        .filter(|(_, workload)| workload.team == Some(team.name.as_str()) && matches(workload))
        .map(|(index, _)| index)
        .collect()
}

/// The quotas that the selected workloads of a team exceed, with the indexes of the workloads.
fn quotas_exceeded_by(
    cluster: &Cluster,
    team: &Team,
    workloads: &[RunningWorkload<'_>],
    selected: &[usize],
) -> Vec<ExceededQuota> {
    // Another rule reports a workload that exceeds the quota alone.
    if selected.len() < 2 {
        return Vec::new();
    }
    let selected_workloads: Vec<_> = selected.iter().map(|index| &workloads[*index]).collect();
    let mut found = exceeded_quotas(cluster, team, &selected_workloads);
    for spent in &mut found {
        spent.workloads = spent
            .workloads
            .iter()
            .map(|index| selected[*index])
            .collect();
    }
    found
}

fn is_subset<T: PartialEq>(few: &[T], many: &[T]) -> bool {
    few.iter().all(|it| many.contains(it))
}

/// The diagnostic that the services on pools exceed their capacity.
pub fn over_capacity_diagnostic<'r>(
    over_capacity: &OverCapacity<'_>,
    code: &'static Code,
    workloads: &[RunningWorkload<'_>],
    report: &'r mut Report,
) -> DiagnosticBuilder<'r> {
    let names: Vec<_> = over_capacity
        .pools
        .iter()
        .map(|pool| pool.name.as_str())
        .collect();
    let (pools, their) = match &names[..] {
        [only] => (format!("pool `{only}`"), "its"),
        several => (
            format!("pools {}", phrases::quoted_conjunction(several, "and")),
            "their",
        ),
    };
    let nodes = over_capacity
        .pools
        .iter()
        .filter_map(|pool| pool.nodes.get());
    let max: u64 = nodes.clone().map(|nodes| u64::from(nodes.max)).sum();
    let resource = &over_capacity.resource;
    let (required, available) = if over_capacity.counts_nodes {
        let name = match resource {
            QuotaResource::Device(name) => format!("`{name}`"),
            QuotaResource::Memory => "memory".to_owned(),
            _ => "CPU".to_owned(),
        };
        let nodes = phrases::pluralize(over_capacity.requested, "node");
        (
            format!("{nodes} at once for their {name}"),
            format!("{their} maximum is {}", over_capacity.capacity),
        )
    } else {
        let limit = match resource {
            QuotaResource::Device(_) => over_capacity.capacity.to_string(),
            resource => resource.format_amount(over_capacity.capacity),
        };
        let nodes = phrases::pluralize(max, "node");
        (
            format!(
                "{} at once",
                resource.format_amount(over_capacity.requested)
            ),
            format!("{their} maximum of {nodes} has {limit}"),
        )
    };
    let mut members = over_capacity
        .workloads
        .iter()
        .map(|index| &workloads[*index]);
    let message = match members.next() {
        // The pods of a job can have several roles.
        Some(first) if !first.is_long_running && members.all(|it| it.title == first.title) => {
            format!(
                "{} needs {required} on {pools}, but {available}",
                first.title
            )
        }
        _ => format!("the services on {pools} need {required}, but {available}"),
    };
    let mut builder = diagnostic_for_workloads(
        resource,
        &over_capacity.workloads,
        &message,
        code,
        workloads,
        report,
    );
    for pool in &over_capacity.pools {
        let Some(nodes) = pool.nodes.get() else {
            continue;
        };
        let span = if nodes.max_span.is_written() {
            nodes.max_span
        } else {
            pool.name.span
        };
        let max = phrases::pluralize(nodes.max, "node");
        builder = builder.label(span, format!("pool `{}` has at most {max}", pool.name));
    }
    builder.help("give the pool more nodes, run fewer pods, or move some of them to another pool")
}

/// A diagnostic at the last of the workloads, with labels at the others.
fn diagnostic_for_workloads<'r>(
    resource: &QuotaResource,
    indexes: &[usize],
    message: &str,
    code: &'static Code,
    workloads: &[RunningWorkload<'_>],
    report: &'r mut Report,
) -> DiagnosticBuilder<'r> {
    let requesting = || indexes.iter().map(|index| &workloads[*index]);
    let last = requesting()
        .rfind(|workload| workload.is_patched)
        .or(requesting().next_back());
    let span = last.map_or(gpuc_schema::Span::NONE, |workload| workload.span);
    let mut builder = report.diagnostic(code, span, message);
    for index in indexes {
        let workload = &workloads[*index];
        let amount = workload.requested(resource);
        let label = match resource {
            QuotaResource::Pods | QuotaResource::Storage => {
                format!("needs {}", resource.format_amount(amount))
            }
            resource => {
                let by_pods = workload.requests_by_group(resource).into_iter();
                let pods = by_pods
                    .filter(|(_, each)| *each > 0)
                    .map(|(pods, _)| pods)
                    .fold(0, u64::saturating_add);
                let (amount, pods) = (
                    resource.format_amount(amount),
                    phrases::pluralize(pods, "pod"),
                );
                let suffix = if workload.has_default_request(resource) {
                    ", the default of pods that set no requests"
                } else {
                    ""
                };
                format!("needs {amount} for {pods}{suffix}")
            }
        };
        builder = builder.label(workload.span, label);
    }
    builder
}

/// The diagnostic that pods that start together do not fit into one pool.
pub fn unschedulable_diagnostic<'r>(
    unschedulable: &UnschedulablePodSets<'_>,
    workload: &RunningWorkload<'_>,
    code: &'static Code,
    report: &'r mut Report,
) -> DiagnosticBuilder<'r> {
    let (subject, max) = (&workload.title, unschedulable.max_in_one_pool());
    let format_count =
        |count: u64| QuotaResource::Device(unschedulable.resource.clone()).format_amount(count);
    let message = match unschedulable.pod_set_devices.as_slice() {
        [several @ .., last] if several.first().is_some_and(|first| *first <= max) => {
            let several: Vec<_> = several.iter().map(u64::to_string).collect();
            let several = several.join(", ");
            format!(
                "{subject} needs {several} and {}, each within one pool, but no pools have enough for all of them",
                format_count(*last)
            )
        }
        sets => {
            let largest = sets.first().copied().unwrap_or(0);
            format!(
                "{subject} needs {} within one pool, but its team's limit in a single pool is at most {max}",
                format_count(largest)
            )
        }
    };
    let mut builder = report.diagnostic(code, workload.span, message);
    for (grant, limit) in &unschedulable.reachable_grants {
        let label = if *limit < u64::from(grant.limit.value) {
            format!("the team can reach {limit} of these: other teams lend no more")
        } else {
            format!("the team's limit in this pool is {limit}")
        };
        builder = builder.label(grant.span, label);
    }
    builder.help("lower the requests, or raise the `limit` of one pool: Kueue places pods that start together in one pool")
}

#[cfg(test)]
mod tests {
    use super::Subject;

    #[test]
    fn verb_agrees_with_its_subject() {
        let several = Subject::Several("the services of team `t`".to_owned());
        assert_eq!(several.needs(), "the services of team `t` need");
        let one = Subject::One("workload `w`".to_owned());
        assert_eq!(one.needs(), "workload `w` needs");
    }
}
