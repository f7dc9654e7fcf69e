//! Usage of a team's quota by its workloads.

use std::collections::BTreeSet;

use gpuc_schema::Span;

use super::bin_packing;
use super::workload::{QuotaResource, RunningWorkload};
use crate::{Cluster, Grant, Quantity, Quota, Team};

/// A quota that workloads exceed.
#[derive(Clone, Debug)]
pub struct ExceededQuota {
    /// The limited resource.
    pub resource: QuotaResource,
    /// The requested amount.
    pub requested: u64,
    /// The team's limit.
    pub limit: u64,
    /// The location of the limit.
    pub spans: Vec<Span>,
    /// The indexes of the workloads.
    pub workloads: Vec<usize>,
}

/// A team's limit of a resource other than devices.
#[derive(Clone, Debug)]
pub struct Limit<'t> {
    /// The limited resource.
    pub resource: QuotaResource,
    /// The limit.
    pub amount: u64,
    /// The location of the limit.
    pub span: Span,
    /// The namespace where it applies; `None` for all namespaces of the team.
    pub namespace: Option<&'t str>,
}

/// The quotas that these workloads of a team exceed together. If there are several workloads, one that exceeds a quota
/// alone is not included.
pub fn exceeded_quotas(
    cluster: &Cluster,
    team: &Team,
    workloads: &[&RunningWorkload<'_>],
) -> Vec<ExceededQuota> {
    let mut found = exceeded_device_quotas(team, workloads);
    let limits = resource_limits(cluster, team).into_iter();
    found.extend(limits.filter_map(|limit| exceeded_limit(limit, workloads)));
    found
}

/// The quotas of devices that are exceeded.
fn exceeded_device_quotas(team: &Team, workloads: &[&RunningWorkload<'_>]) -> Vec<ExceededQuota> {
    let grants: Vec<_> = team.grants().collect();
    let names: BTreeSet<&String> = grants.iter().map(|grant| &grant.resource).collect();
    let mut found = Vec::new();
    for name in names {
        let resource = QuotaResource::Device(name.clone());
        let requests = workloads.iter().map(|workload| {
            let may_have = grants.iter().enumerate();
            let may_have = may_have.filter(|(_, grant)| is_covered_by(team, grant, workload, name));
            let grant_indexes: BTreeSet<_> = may_have.map(|(index, _)| index).collect();
            let requested = workload.requested(&resource);
            (
                grant_indexes,
                if workload.shares_a_claim() {
                    0
                } else {
                    requested
                },
            )
        });
        let grant_limit = |index: usize| Some(u64::from(grants[index].limit.value));
        let mut requests: Vec<_> = requests.collect();
        for request in requests.iter_mut().filter(|_| workloads.len() > 1) {
            if !bin_packing::find_oversubscriptions(std::slice::from_ref(request), grant_limit)
                .is_empty()
            {
                request.1 = 0;
            }
        }
        let oversubscriptions =
            bin_packing::find_oversubscriptions(&requests, grant_limit).into_iter();
        found.extend(oversubscriptions.map(|oversubscription| {
            ExceededQuota {
                resource: resource.clone(),
                requested: oversubscription.requested,
                limit: oversubscription.capacity,
                spans: oversubscription
                    .bins
                    .iter()
                    .map(|it| grants[*it].span)
                    .collect(),
                workloads: oversubscription.items,
            }
        }));
    }
    found
}

/// Whether a workload may use a device of this grant.
pub(super) fn is_covered_by(
    team: &Team,
    grant: &Grant,
    workload: &RunningWorkload<'_>,
    name: &str,
) -> bool {
    let is_elsewhere = grant
        .namespace
        .is_some_and(|index| workload.namespace != Some(team.namespaces[index].as_str()));
    let mut pools = workload.pools.iter();
    !is_elsewhere && grant.resource == name && pools.any(|pool| pool.index == grant.pool)
}

/// A team's limits of CPU, memory, pods and storage. Kueue counts the requests of pods across all namespaces of the
/// team; ResourceQuotas count volumes, and the quotas of single namespaces.
pub fn resource_limits<'t>(cluster: &Cluster, team: &'t Team) -> Vec<Limit<'t>> {
    let team_quota = team.quota.as_ref();
    let mut limits = Vec::new();
    if cluster.has_queues() {
        limits.extend(
            team_quota
                .into_iter()
                .flat_map(|quota| pod_limits(quota, None)),
        );
    }
    for (index, name) in team.namespaces.iter().enumerate() {
        let Some(quota) = team.namespace_quota(index) else {
            continue;
        };
        let namespace = Some(name.value.as_str());
        let is_whole = team_quota.is_some_and(|it| std::ptr::eq(it, quota));
        if !(is_whole && cluster.has_queues()) {
            limits.extend(pod_limits(quota, namespace));
        }
        limits.extend(limit_from(
            QuotaResource::Storage,
            bytes(quota.storage.as_ref()),
            namespace,
        ));
    }
    limits
}

fn pod_limits<'t>(quota: &Quota, namespace: Option<&'t str>) -> impl Iterator<Item = Limit<'t>> {
    let pods = quota.pods.as_ref();
    let counted = [
        (QuotaResource::Cpu, thousandths(quota.cpu.as_ref())),
        (QuotaResource::Memory, bytes(quota.memory.as_ref())),
        (
            QuotaResource::Pods,
            pods.map(|it| (u64::from(it.value), it.span)),
        ),
    ];
    let counted = counted.into_iter();
    counted.filter_map(move |(resource, max)| limit_from(resource, max, namespace))
}

fn limit_from(
    resource: QuotaResource,
    max: Option<(u64, Span)>,
    namespace: Option<&str>,
) -> Option<Limit<'_>> {
    let (amount, span) = max?;
    Some(Limit {
        resource,
        amount,
        span,
        namespace,
    })
}

fn thousandths(amount: Option<&Quantity>) -> Option<(u64, Span)> {
    Some((amount?.thousandths()?, amount?.span))
}

fn bytes(amount: Option<&Quantity>) -> Option<(u64, Span)> {
    Some((amount?.bytes()?, amount?.span))
}

fn exceeded_limit(limit: Limit<'_>, workloads: &[&RunningWorkload<'_>]) -> Option<ExceededQuota> {
    let applies_to = |workload: &RunningWorkload<'_>| {
        limit
            .namespace
            .is_none_or(|it| workload.namespace == Some(it))
    };
    let affected = workloads
        .iter()
        .enumerate()
        .filter(|(_, workload)| applies_to(workload));
    let mut requests: Vec<_> = affected
        .map(|(index, workload)| (index, workload.requested(&limit.resource)))
        .collect();
    let is_alone = workloads.len() == 1;
    requests.retain(|(_, count)| *count > 0 && (*count <= limit.amount || is_alone));
    let requested = requests
        .iter()
        .map(|(_, count)| *count)
        .fold(0, u64::saturating_add);
    (requested > limit.amount).then(|| ExceededQuota {
        resource: limit.resource,
        requested,
        limit: limit.amount,
        spans: vec![limit.span],
        workloads: requests.into_iter().map(|(index, _)| index).collect(),
    })
}
