//! MIG geometries that AKS supports.
//!
//! `--gpu-instance-profile` partitions every GPU of every node into the maximum number of MIG devices of one profile: 7
//! of `MIG1g`, 3 of `MIG2g`, 2 of `MIG3g`, 1 of `MIG4g` or of `MIG7g`. Sources, read 2026-11-21:
//! MicrosoftDocs/azure-aks-docs `articles/aks/gpu-multi-instance.md` (names, counts, immutable); Azure/AgentBaker
//! `mig-partition.sh` (the IDs that it passes to `nvidia-smi mig -cgi`: 19, 14, 9, 5 and 0).

use gpuc_schema::config::DriverOwner;
use gpuc_schema::gpu::{Mig, MigProfile};

use gpuc_model::{MigGpu, Pool, PoolSpec, Sharing};

/// Values of the flag, each with the ID of its MIG profile.
const PROFILES: [(&str, u32); 5] = [
    ("MIG1g", 19),
    ("MIG2g", 14),
    ("MIG3g", 9),
    ("MIG4g", 5),
    ("MIG7g", 0),
];

/// Geometries that AKS supports on a GPU model: the value of the flag, the profile, and the number of MIG devices per
/// GPU.
pub(super) fn geometries(
    mig: &Mig,
) -> impl Iterator<Item = (&'static str, &'static MigProfile, u32)> {
    let profiles = mig.profiles;
    PROFILES.into_iter().filter_map(move |(flag, id)| {
        let profile = profiles.iter().find(|profile| profile.smi_id == id)?;
        Some((flag, profile, profile.max_instances))
    })
}

/// Whether AKS partitions the GPUs of a pool, not the GPU Operator's MIG manager. AKS requires its own driver for this.
pub(super) fn is_partitioned_by_aks(pool: &PoolSpec) -> bool {
    matches!(pool.sharing.get(), Some(Sharing::Mig { .. }))
        && pool.driver.value == DriverOwner::Preinstalled
}

/// Value of the flag for the MIG geometry of a pool. `None` without MIG, or if AKS does not support the geometry.
pub(super) fn instance_profile(pool: &Pool) -> Option<&'static str> {
    let Some(Sharing::Mig { gpus, .. }) = pool.sharing.get() else {
        return None;
    };
    let mig = pool.gpus.get()?.as_ref()?.model.mig?;
    let is_uniform = |profile: &MigProfile, count: u32| {
        gpus.iter().all(|gpu: &MigGpu| {
            u32::try_from(gpu.placements.len()) == Ok(count)
                && gpu
                    .placements
                    .iter()
                    .all(|placement| placement.profile == profile.name)
        })
    };
    geometries(mig)
        .find(|(_, profile, count)| is_uniform(profile, *count))
        .filter(|_| is_partitioned_by_aks(pool))
        .map(|(flag, _, _)| flag)
}

#[cfg(test)]
mod tests {
    use gpuc_schema::gpu::mig_tables;

    use super::super::testing;
    use super::*;
    use gpuc_syntax::diag::Report;

    #[test]
    fn geometries_match_the_documentation() {
        let geometries: Vec<_> = geometries(&mig_tables::A100_40GB)
            .map(|(flag, profile, count)| (flag, profile.name, count))
            .collect();
        assert_eq!(
            geometries,
            [
                ("MIG1g", "1g.5gb", 7),
                ("MIG2g", "2g.10gb", 3),
                ("MIG3g", "3g.20gb", 2),
                ("MIG4g", "4g.20gb", 1),
                ("MIG7g", "7g.40gb", 1),
            ]
        );
    }

    #[test]
    fn aks_partitions_gpus_only_with_its_own_driver() {
        let is_partitioned = |driver: &str| {
            let mut report = Report::default();
            let yaml = testing::with_pools(&format!(
                "- {{name: slices, machine: Standard_NC24ads_A100_v4, nodes: {{count: 1}}, stack: {{driver: {driver}}}, \
                 sharing: {{mig: {{strategy: single, perGpu: [{{layout: [{{profile: 1g.10gb, count: 7}}]}}]}}}}}}"
            ));
            let cluster = testing::cluster(&yaml, &mut report);
            cluster
                .cloud
                .partitions_gpus(cluster.pool("slices").expect("the pool"))
        };
        assert!(is_partitioned("preinstalled"));
        assert!(!is_partitioned("operator"));
    }
}
