//! Checks the requests of patched workloads, alone and together with all others, against pools and quotas.

use gpuc_model::check::Checked;
use gpuc_model::scheduling::contention::{self, Sum};
use gpuc_model::scheduling::{Answer, Defaults, Demand, Group, Load, crowded, stuck};
use gpuc_schema::Spanned;
use gpuc_schema::config::Workload;
use gpuc_syntax::diag::{Report, Severity};

use super::counts::groups;
use super::{PATCH_REFUSED, PATCHED_UNSCHEDULABLE, is_patched, patch_of, verdicts};
use crate::lower::workloads::{patched, pod_specs};

/// Checks every workload with a patch. The rules cover workloads without patches.
pub(super) fn check(cluster: &Checked<'_>, report: &mut Report) {
    let workloads = cluster.config.workloads.iter();
    let loads = workloads.filter_map(|workload| {
        let load = Load::of(cluster, workload)?;
        Some(if is_patched(workload) {
            with_patch(cluster, workload, load)
        } else {
            load
        })
    });
    let loads: Vec<_> = loads.collect();
    if !loads.iter().any(|load| load.patched) {
        return;
    }
    let services: Vec<_> = loads.iter().filter(|load| load.lasts).cloned().collect();
    for crowd in crowded(cluster, &services) {
        contention::diagnostic(&crowd, &PATCHED_UNSCHEDULABLE, &services, report).emit();
    }
    let alone = loads.iter().enumerate().filter(|(_, load)| load.patched);
    let alone = alone.flat_map(|(index, _)| Sum::of_one(cluster, &loads, index));
    let all = alone.chain(Sum::of_services(cluster, &loads));
    let before = report.count(Severity::Error);
    for sum in all {
        sum.diagnostic(&PATCH_REFUSED, &loads, report).emit();
    }
    if report.count(Severity::Error) > before {
        return;
    }
    for load in loads.iter().filter(|load| load.patched) {
        let team = load.team.and_then(|name| cluster.team(name));
        if let Some(stuck) = team.and_then(|team| stuck(cluster, team, load)) {
            contention::diagnostic_stuck(&stuck, load, &PATCH_REFUSED, report).emit();
        }
    }
}

/// The load of a workload with its patches.
fn with_patch<'c>(
    cluster: &'c Checked<'_>,
    workload: &'c Spanned<Workload>,
    plain: Load<'c>,
) -> Load<'c> {
    let objects = patched(cluster, workload);
    let counts: Vec<_> = objects.iter().flat_map(groups).collect();
    let specs: Vec<_> = objects.iter().flat_map(|it| pod_specs(&it.node)).collect();
    let defaults = Defaults::of(cluster, cluster.namespace_of(workload));
    let demands = specs.into_iter().map(|it| Demand::of_pod(it, &defaults));
    let demands: Vec<_> = demands.collect();
    let Some((first, own)) = demands.first().zip(plain.groups.first()) else {
        return plain;
    };
    let fits = |pool: &&gpuc_model::Pool| {
        let mut verdicts = verdicts(cluster, workload, first).into_iter();
        verdicts.any(|it| it.pool.index == pool.index && it.answer() != Answer::No)
    };
    let pools = cluster.pools.iter().filter(fits).collect();
    // The patch of a pod does not change its ResourceClaims.
    let demand = |demand: &Demand| Demand {
        claims: own.demand.claims.clone(),
        ..demand.clone()
    };
    let groups = if counts.len() == demands.len() {
        let each = counts.iter().zip(&demands).map(|(count, it)| Group {
            pods: count.pods,
            sets: vec![count.set],
            demand: demand(it),
        });
        each.collect()
    } else if counts.is_empty() || demands.len() == 1 {
        let (pods, sets) = if counts.is_empty() {
            (own.pods, own.sets.clone())
        } else {
            let pods = counts.iter().map(|count| count.pods);
            let sets = counts.iter().map(|count| count.set);
            (pods.fold(0, u64::saturating_add), sets.collect())
        };
        vec![Group {
            pods,
            sets,
            demand: demand(first),
        }]
    } else {
        return plain;
    };
    let span = counts.iter().find_map(|count| count.span);
    Load {
        span: span.unwrap_or(patch_of(workload)),
        patched: true,
        groups,
        pools,
        ..plain
    }
}
