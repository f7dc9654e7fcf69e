//! What several rules look at, with the place where each was written.

use gpuc_schema::config::{DriverOwner, Fragment, NotebookProfile, Stack};
use gpuc_schema::gpu::cuda::DriverVersion;
use gpuc_schema::{Span, Spanned};

use crate::cloud::Facts;
use crate::cloud::machine::Machine;
use crate::model::{Cluster, MachineType, Pool, PoolGpus};

/// The one resource of GPUs that autoscalers know.
pub(super) const GPU: &str = "nvidia.com/gpu";

/// The machines of the catalog that gpuc would create, each with the place where it was named.
pub(super) fn machines(cluster: &Cluster) -> impl Iterator<Item = (&Pool, &'static Machine, Span)> {
    let made = cluster.pools.iter().filter(|pool| !pool.is_existing());
    made.filter_map(|pool| match pool.machine.get()? {
        MachineType::Catalog(machine) => {
            let name = pool.written.machine.as_ref();
            let span = name.map_or(pool.name.span, |name| name.span);
            Some((pool, *machine, span))
        }
        _ => None,
    })
}

/// The images that were written, the cluster's, the pools', the notebooks' and the workloads'.
pub(super) fn images(cluster: &Cluster) -> impl Iterator<Item = &Spanned<String>> {
    let of_stacks =
        stacks(cluster).flat_map(|stack| stack.runtime_image.iter().chain(&stack.driver_image));
    let of_notebooks = cluster.jupyter_hub().into_iter().flat_map(|hub| {
        let profiles = hub.profiles.iter();
        hub.image.iter().chain(profiles.flat_map(|it| &it.image))
    });
    let workloads = cluster.written.workloads.iter();
    let tasks = workloads.flat_map(|workload| workload.tasks());
    let of_workloads = tasks.filter_map(|(_, _, task)| task.image());
    of_stacks.chain(of_notebooks).chain(of_workloads)
}

/// The profiles of notebooks that name a pool that there is, each with it.
pub(super) fn notebooks_on_pools(
    cluster: &Cluster,
) -> impl Iterator<Item = (&NotebookProfile, &Spanned<String>, &Pool)> {
    let profiles = cluster.jupyter_hub().into_iter();
    profiles
        .flat_map(|hub| &hub.profiles)
        .filter_map(|profile| {
            let name = profile.pool.as_ref()?;
            Some((&profile.value, name, cluster.pool(name)?))
        })
}

/// What the user wrote into the values of a chart.
pub(super) fn chart_values<'c>(cluster: &'c Cluster, chart: &str) -> Option<&'c Fragment> {
    let settings = cluster.written.charts.get(chart)?;
    Some(&settings.values.value)
}

/// Who may install drivers on a cloud, by what gpuc makes for it.
pub(super) fn drivers(facts: &Facts) -> Vec<&'static DriverOwner> {
    let drivers = facts.drivers.iter();
    drivers
        .filter(|driver| **driver != DriverOwner::DaemonSet || facts.driver_daemon_set)
        .collect()
}

/// What was written in `stack`, for the cluster and for each pool.
pub(super) fn stacks(cluster: &Cluster) -> impl Iterator<Item = &Stack> {
    let pools = cluster.pools.iter().map(|pool| &pool.written.stack);
    std::iter::once(&cluster.written.stack).chain(pools)
}

/// The driver versions that something of gpuc's would install, pool by pool. One that cannot be read is a finding of
/// its own.
pub(super) fn driver_versions(
    cluster: &Cluster,
) -> impl Iterator<Item = (&Pool, &PoolGpus, &Spanned<String>, DriverVersion)> {
    cluster.gpu_pools().filter_map(|(pool, gpus)| {
        let written = pool.driver_version.as_ref()?;
        let installed = pool.driver.value != DriverOwner::Preinstalled;
        let version = DriverVersion::parse(written)?;
        installed.then_some((pool, gpus, written, version))
    })
}

/// Something in `stack` that no pool makes use of.
pub(super) struct Unused<'c, T> {
    /// What was written.
    pub(super) written: &'c Spanned<T>,
    /// A pool that would have to make use of it.
    pub(super) pool: &'c Pool,
}

/// What was written in a `stack` for pools with GPUs that make no use of it: in a pool's own, or in the cluster's when
/// none does. Without any GPUs the cluster's are defaults for pools to come.
pub(super) fn unused<T>(
    cluster: &Cluster,
    pick: fn(&Stack) -> Option<&Spanned<T>>,
    is_used: impl Fn(&Pool) -> bool,
) -> Vec<Unused<'_, T>> {
    let idle: Vec<_> = (cluster.gpu_pools().map(|(pool, _)| pool))
        .filter(|pool| !is_used(pool))
        .collect();
    let is_known = |pool: &Pool| !pool.gpus.is_hole();
    let all_idle = idle.len() == cluster.gpu_pools().count() && cluster.pools.iter().all(is_known);
    let of_cluster = pick(&cluster.written.stack).filter(|_| all_idle);
    let of_cluster = of_cluster.zip(idle.first().copied());
    let of_pools = (idle.iter()).filter_map(|pool| Some((pick(&pool.written.stack)?, *pool)));
    (of_cluster.into_iter().chain(of_pools))
        .map(|(written, pool)| Unused { written, pool })
        .collect()
}

/// Keeps the first of the findings that would point at the same place: what stands once for many pools is wrong once.
#[derive(Default)]
pub(super) struct Once {
    seen: Vec<Span>,
}

impl Once {
    /// Whether nothing was said about this place yet. A place that nobody wrote is always new.
    pub(super) fn is_new(&mut self, span: Span) -> bool {
        let new = !span.is_written() || !self.seen.contains(&span);
        self.seen.push(span);
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_new_once() {
        let span = |start| Span {
            source: 0,
            start,
            end: 9,
        };
        let mut once = Once::default();
        assert!(once.is_new(span(1)) && once.is_new(span(2)));
        assert!(!once.is_new(span(1)));
        assert!(once.is_new(Span::NONE) && once.is_new(Span::NONE));
    }
}
