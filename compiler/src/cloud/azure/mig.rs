//! What AKS itself can cut GPUs into.
//!
//! `--gpu-instance-profile` cuts every GPU of every node into as many slices of one profile as fit: 7 of `MIG1g`, 3 of
//! `MIG2g`, 2 of `MIG3g`, 1 of `MIG4g` or of `MIG7g`. Sources, read 2026-11-21: MicrosoftDocs/azure-aks-docs
//! `articles/aks/gpu-multi-instance.md` (names, counts, immutable); Azure/AgentBaker `mig-partition.sh` (the ids it
//! hands to `nvidia-smi mig -cgi`: 19, 14, 9, 5 and 0).

use gpuc_schema::config::DriverOwner;
use gpuc_schema::gpu::{Mig, MigProfile};

use crate::model::{MigGpu, Pool, Sharing};

/// The values of the flag, with the id of the profile that each makes.
const PROFILES: [(&str, u32); 5] = [
    ("MIG1g", 19),
    ("MIG2g", 14),
    ("MIG3g", 9),
    ("MIG4g", 5),
    ("MIG7g", 0),
];

/// The layouts that AKS can make of a card: the value of the flag, the profile, and how many of it on each GPU.
pub(super) fn layouts(mig: &Mig) -> impl Iterator<Item = (&'static str, &'static MigProfile, u32)> {
    let profiles = mig.profiles;
    PROFILES.into_iter().filter_map(move |(flag, id)| {
        let profile = profiles.iter().find(|profile| profile.smi_id == id)?;
        Some((flag, profile, profile.max_instances))
    })
}

/// Whether AKS, and not the GPU Operator's MIG manager, cuts this pool's GPUs. Without AKS's driver it cannot.
pub(super) fn is_cut_by_aks(pool: &Pool) -> bool {
    matches!(pool.sharing.get(), Some(Sharing::Mig { .. }))
        && pool.driver.value == DriverOwner::Preinstalled
}

/// The value of the flag that gives this pool its layout. `None` where there is nothing to cut, or no such value.
pub(super) fn flag(pool: &Pool) -> Option<&'static str> {
    let Some(Sharing::Mig { gpus, .. }) = pool.sharing.get() else {
        return None;
    };
    let mig = pool.gpus.get()?.as_ref()?.model.mig?;
    let is_whole = |profile: &MigProfile, count: u32| {
        gpus.iter().all(|gpu: &MigGpu| {
            u32::try_from(gpu.slices.len()) == Ok(count)
                && gpu.slices.iter().all(|slice| slice.profile == profile.name)
        })
    };
    layouts(mig)
        .find(|(_, profile, count)| is_whole(profile, *count))
        .filter(|_| is_cut_by_aks(pool))
        .map(|(flag, _, _)| flag)
}

#[cfg(test)]
mod tests {
    use gpuc_schema::gpu::mig_tables;

    use super::super::testing;
    use super::*;
    use crate::diag::Report;

    #[test]
    fn the_layouts_are_those_that_aks_documents() {
        let found: Vec<_> = layouts(&mig_tables::A100_40GB)
            .map(|(flag, profile, count)| (flag, profile.name, count))
            .collect();
        assert_eq!(
            found,
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
    fn what_aks_cuts_gpuc_leaves_alone() {
        let cut = |driver: &str| {
            let mut report = Report::default();
            let yaml = testing::with_pools(&format!(
                "- {{name: slices, machine: Standard_NC24ads_A100_v4, nodes: {{count: 1}}, stack: {{driver: {driver}}}, \
                 sharing: {{mig: {{strategy: single, perGpu: [{{layout: [{{profile: 1g.10gb, count: 7}}]}}]}}}}}}"
            ));
            let cluster = testing::cluster(&yaml, &mut report);
            cluster
                .cloud
                .cuts_gpus(cluster.pool("slices").expect("the pool"))
        };
        assert!(cut("preinstalled"));
        assert!(!cut("operator"));
    }
}
