//! Checks the requests of patched workloads, alone and together with all others, against pools and quotas.

use gpuc_model::check::Checked;
use gpuc_model::scheduling::contention::{self, ExceededByTeam};
use gpuc_model::scheduling::{
    DefaultRequests, Demand, Feasibility, PodGroup, RunningWorkload, find_over_capacity,
    find_unschedulable,
};
use gpuc_schema::Spanned;
use gpuc_schema::config::Workload;
use gpuc_syntax::diag::{Report, Severity};

use super::counts::pods_per_template;
use super::{PATCH_REFUSED, PATCHED_UNSCHEDULABLE, feasibility_by_pool, is_patched, patch_span};
use crate::lower::workloads::{patched_objects, pod_specs};

/// Checks every workload with a patch. The rules cover workloads without patches.
pub(super) fn check(cluster: &Checked<'_>, report: &mut Report) {
    let workloads = cluster.config.workloads.iter();
    let running_workloads = workloads.filter_map(|workload| {
        let running = RunningWorkload::from_workload(cluster, workload)?;
        Some(if is_patched(workload) {
            apply_patches(cluster, workload, running)
        } else {
            running
        })
    });
    let workloads: Vec<_> = running_workloads.collect();
    if !workloads.iter().any(|workload| workload.is_patched) {
        return;
    }
    let services: Vec<_> = workloads
        .iter()
        .filter(|workload| workload.is_long_running)
        .cloned()
        .collect();
    for over_capacity in find_over_capacity(cluster, &services) {
        contention::over_capacity_diagnostic(
            &over_capacity,
            &PATCHED_UNSCHEDULABLE,
            &services,
            report,
        )
        .emit();
    }
    let alone = workloads
        .iter()
        .enumerate()
        .filter(|(_, workload)| workload.is_patched);
    let alone =
        alone.flat_map(|(index, _)| ExceededByTeam::by_workload(cluster, &workloads, index));
    let all = alone.chain(ExceededByTeam::by_services(cluster, &workloads));
    let before = report.count(Severity::Error);
    for sum in all {
        sum.diagnostic(&PATCH_REFUSED, &workloads, report).emit();
    }
    if report.count(Severity::Error) > before {
        return;
    }
    for workload in workloads.iter().filter(|workload| workload.is_patched) {
        let team = workload.team.and_then(|name| cluster.team(name));
        if let Some(unschedulable) =
            team.and_then(|team| find_unschedulable(cluster, team, workload))
        {
            contention::unschedulable_diagnostic(&unschedulable, workload, &PATCH_REFUSED, report)
                .emit();
        }
    }
}

/// The load of a workload with its patches.
fn apply_patches<'c>(
    cluster: &'c Checked<'_>,
    workload: &'c Spanned<Workload>,
    unpatched: RunningWorkload<'c>,
) -> RunningWorkload<'c> {
    let objects = patched_objects(cluster, workload);
    let counts: Vec<_> = objects.iter().flat_map(pods_per_template).collect();
    let specs: Vec<_> = objects.iter().flat_map(|it| pod_specs(&it.node)).collect();
    let defaults = DefaultRequests::for_namespace(cluster, cluster.namespace_of(workload));
    let demands = specs
        .into_iter()
        .map(|it| Demand::from_pod_spec(it, &defaults));
    let demands: Vec<_> = demands.collect();
    let Some((first, own)) = demands.first().zip(unpatched.groups.first()) else {
        return unpatched;
    };
    let fits = |pool: &&gpuc_model::Pool| {
        let mut evaluations = feasibility_by_pool(cluster, workload, first).into_iter();
        evaluations
            .any(|it| it.pool.index == pool.index && it.feasibility() != Feasibility::DoesNotFit)
    };
    let pools = cluster.pools.iter().filter(fits).collect();
    // The patch of a pod does not change its ResourceClaims.
    let demand = |demand: &Demand| Demand {
        claims: own.demand.claims.clone(),
        ..demand.clone()
    };
    let groups = if counts.len() == demands.len() {
        let each = counts.iter().zip(&demands).map(|(count, it)| PodGroup {
            pods: count.pods,
            pod_sets: vec![count.set],
            demand: demand(it),
        });
        each.collect()
    } else if counts.is_empty() || demands.len() == 1 {
        let (pods, sets) = if counts.is_empty() {
            (own.pods, own.pod_sets.clone())
        } else {
            let pods = counts.iter().map(|count| count.pods);
            let sets = counts.iter().map(|count| count.set);
            (pods.fold(0, u64::saturating_add), sets.collect())
        };
        vec![PodGroup {
            pods,
            pod_sets: sets,
            demand: demand(first),
        }]
    } else {
        return unpatched;
    };
    let span = counts.iter().find_map(|count| count.span);
    RunningWorkload {
        span: span.unwrap_or(patch_span(workload)),
        is_patched: true,
        groups,
        pools,
        ..unpatched
    }
}
