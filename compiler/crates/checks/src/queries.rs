//! Queries that several rules share, with the location of each result.

use gpuc_schema::config::{DriverOwner, Fragment, NotebookProfile, Stack};
use gpuc_schema::gpu::cuda::DriverVersion;
use gpuc_schema::gpu::driver_branches::{BranchStatus, branch_status};
use gpuc_schema::{Span, Spanned};

use gpuc_model::cloud::CloudFacts;
use gpuc_model::cloud::machine::Machine;
use gpuc_model::{Cluster, MachineType, Pool, PoolGpus};

/// The only GPU resource that autoscalers know.
pub(super) const GPU_RESOURCE: &str = "nvidia.com/gpu";

/// The machines of the catalog that gpuc creates, each with the location of its name.
pub(super) fn catalog_machines(
    cluster: &Cluster,
) -> impl Iterator<Item = (&Pool, &'static Machine, Span)> {
    let created = cluster.pools.iter().filter(|pool| !pool.is_existing());
    created.filter_map(|pool| match pool.machine.get()? {
        MachineType::Catalog(machine) => {
            let name = pool.machine_name.as_ref();
            let span = name.map_or(pool.name.span, |name| name.span);
            Some((pool, *machine, span))
        }
        _ => None,
    })
}

/// The images in the configuration: those of the cluster, the pools, the notebooks and the workloads.
pub(super) fn configured_images(cluster: &Cluster) -> impl Iterator<Item = &Spanned<String>> {
    let of_stacks = configured_stacks(cluster)
        .flat_map(|stack| stack.runtime_image.iter().chain(&stack.driver_image));
    let of_notebooks = cluster.jupyter_hub().into_iter().flat_map(|hub| {
        let profiles = hub.profiles.iter();
        hub.image.iter().chain(profiles.flat_map(|it| &it.image))
    });
    let workloads = cluster.config.workloads.iter();
    let tasks = workloads.flat_map(|workload| workload.tasks());
    let of_workloads = tasks.filter_map(|(_, _, task)| task.image());
    of_stacks.chain(of_notebooks).chain(of_workloads)
}

/// The notebook profiles that name an existing pool, each with that pool.
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

/// The values of a chart from the configuration.
pub(super) fn chart_values<'c>(cluster: &'c Cluster, chart: &str) -> Option<&'c Fragment> {
    let settings = cluster.config.charts.get(chart)?;
    Some(&settings.values.value)
}

/// The values of `driver` that a cloud supports.
pub(super) fn supported_drivers(facts: &CloudFacts) -> Vec<&'static DriverOwner> {
    let drivers = facts.drivers.iter();
    drivers
        .filter(|driver| **driver != DriverOwner::DaemonSet || facts.has_driver_daemon_set)
        .collect()
}

/// The `stack` sections of the cluster and of each pool.
pub(super) fn configured_stacks(cluster: &Cluster) -> impl Iterator<Item = &Stack> {
    let pools = cluster
        .pools
        .iter()
        .map(|pool| &cluster.pool_in_file(pool).stack);
    std::iter::once(&cluster.config.stack).chain(pools)
}

/// The driver versions that gpuc installs, by pool. Another rule reports a version that cannot be parsed.
pub(super) fn installed_driver_versions(
    cluster: &Cluster,
) -> impl Iterator<Item = (&Pool, &PoolGpus, &Spanned<String>, DriverVersion)> {
    cluster.gpu_pools().filter_map(|(pool, gpus)| {
        let written = pool.driver_version.as_ref()?;
        let installed = pool.driver.value != DriverOwner::Preinstalled;
        let version = DriverVersion::parse(written)?;
        installed.then_some((pool, gpus, written, version))
    })
}

/// The driver versions in the configuration whose branch has this status.
pub(super) fn configured_branches(
    cluster: &Cluster,
    status: BranchStatus,
) -> impl Iterator<Item = (&Spanned<String>, DriverVersion)> {
    let written = configured_stacks(cluster).filter_map(|stack| stack.driver_version.as_ref());
    written
        .filter_map(|written| Some((written, DriverVersion::parse(written)?)))
        .filter(move |(_, version)| branch_status(version.branch) == status)
}

/// Whether a branch exists and has not ended. Other rules report those that are not.
pub(super) fn is_usable_branch(version: DriverVersion) -> bool {
    matches!(
        branch_status(version.branch),
        BranchStatus::Known | BranchStatus::New
    )
}

/// A setting in `stack` that has no effect.
pub(super) struct UnusedSetting<'c, T> {
    /// The setting.
    pub(super) written: &'c Spanned<T>,
    /// A pool that does not use the setting.
    pub(super) pool: &'c Pool,
}

/// The settings in `stack` that pools with GPUs do not use: in the pool's own `stack`, or in the cluster's if no pool
/// uses it. In a cluster without GPUs, the cluster's settings are defaults for future pools.
pub(super) fn unused_settings<T>(
    cluster: &Cluster,
    setting_of: fn(&Stack) -> Option<&Spanned<T>>,
    is_used: impl Fn(&Pool) -> bool,
) -> Vec<UnusedSetting<'_, T>> {
    let ignoring: Vec<_> = (cluster.gpu_pools().map(|(pool, _)| pool))
        .filter(|pool| !is_used(pool))
        .collect();
    let is_known = |pool: &Pool| !pool.gpus.is_unresolved();
    let all_ignore =
        ignoring.len() == cluster.gpu_pools().count() && cluster.pools.iter().all(is_known);
    let of_cluster = setting_of(&cluster.config.stack).filter(|_| all_ignore);
    let of_cluster = of_cluster.zip(ignoring.first().copied());
    let of_pools = (ignoring.iter())
        .filter_map(|pool| Some((setting_of(&cluster.pool_in_file(pool).stack)?, *pool)));
    (of_cluster.into_iter().chain(of_pools))
        .map(|(written, pool)| UnusedSetting { written, pool })
        .collect()
}

/// Deduplicates diagnostics by location: a setting that applies to many pools is reported once.
#[derive(Default)]
pub(super) struct ReportedSpans {
    seen: Vec<Span>,
}

impl ReportedSpans {
    /// Records a location, and returns whether it is new. A location that is not in the file is always new.
    pub(super) fn insert(&mut self, span: Span) -> bool {
        let is_new = !span.is_written() || !self.seen.contains(&span);
        self.seen.push(span);
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn location_is_new_once() {
        let span = |start| Span {
            source: 0,
            start,
            end: 9,
        };
        let mut reported = ReportedSpans::default();
        assert!(reported.insert(span(1)) && reported.insert(span(2)));
        assert!(!reported.insert(span(1)));
        assert!(reported.insert(Span::NONE) && reported.insert(Span::NONE));
    }
}
