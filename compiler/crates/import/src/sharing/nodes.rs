//! The sharing that the labels and the advertised amounts of nodes show.

use super::{Layout, SHARED_GPU, SharedPool, Sharing, uniform_mig};
use crate::configs::MIG_CONFIG_LABEL;
use crate::context::label_source;
use crate::groups::GPU;
use crate::json::source;
use crate::report::Report;
use crate::tree::Evidence;

/// The sharing that GKE's device plugin manages.
pub(super) fn of_gke_labels(pool: &SharedPool<'_>) -> Option<(Sharing, Evidence)> {
    const STRATEGY: &str = "cloud.google.com/gke-gpu-sharing-strategy";
    const CLIENTS: &str = "cloud.google.com/gke-max-shared-clients-per-gpu";
    const PARTITION: &str = "cloud.google.com/gke-gpu-partition-size";
    if let Some((profile, node)) = pool.group.label(PARTITION) {
        let evidence = Evidence::sure(label_source(node, PARTITION, profile));
        return Some((uniform_mig(pool, profile)?, evidence));
    }
    let (strategy, node) = pool.group.label(STRATEGY)?;
    let (clients, _) = pool.group.label(CLIENTS)?;
    let sharing = Sharing::Replicas {
        key: match strategy {
            "mps" => "mps",
            _ => "timeSlicing",
        },
        replicas: clients.parse().ok()?,
        rename: false,
        packed: false,
    };
    let at = label_source(node, STRATEGY, strategy);
    Some((
        sharing,
        Evidence::sure(format!("{at}, {CLIENTS} = {clients}")),
    ))
}

/// The labels of GPU Feature Discovery: `nvidia.com/gpu.sharing-strategy` and `nvidia.com/gpu.replicas`.
pub(super) fn of_labels(pool: &SharedPool<'_>) -> Option<(Sharing, Evidence)> {
    const STRATEGY: &str = "nvidia.com/gpu.sharing-strategy";
    const REPLICAS: &str = "nvidia.com/gpu.replicas";
    let (strategy, node) = pool.group.label(STRATEGY)?;
    let key = match strategy {
        "time-slicing" => "timeSlicing",
        "mps" => "mps",
        _ => return None,
    };
    let (replicas, _) = pool.group.label(REPLICAS)?;
    let replicas: u64 = replicas.parse().ok().filter(|count| *count > 1)?;
    let sharing = Sharing::Replicas {
        key,
        replicas,
        rename: pool.group.advertised().contains_key(SHARED_GPU),
        packed: false,
    };
    let at = label_source(node, STRATEGY, strategy);
    Some((
        sharing,
        Evidence::sure(format!("{at}, {REPLICAS} = {replicas}")),
    ))
}

/// The sharing that the advertised amounts imply.
pub(super) fn of_amounts(
    pool: &SharedPool<'_>,
    report: &mut Report,
) -> Option<(Sharing, Evidence)> {
    let advertised = pool.group.advertised();
    let (count, _) = pool.hardware.count.as_ref()?;
    let count = u64::from(*count).max(1);
    let node = pool.group.nodes.first()?;
    let object = format!("Node {}", node.metadata.name);
    let at = |name: &str, amount: u64| source(&object, format!("status.capacity[{name}]"), amount);
    let devices: Vec<(&str, u64)> = (advertised.iter())
        .filter_map(|(name, amount)| Some((name.strip_prefix("nvidia.com/mig-")?, *amount)))
        .collect();
    if let Some((profile, amount)) = devices.first() {
        let at = at(&format!("nvidia.com/mig-{profile}"), *amount);
        let layout: Layout = (devices.iter())
            .map(|(profile, amount)| (profile_name(pool, profile), amount / count))
            .collect();
        if devices.iter().any(|(_, amount)| amount % count != 0) {
            let key = format!("nodePools[{}].sharing", pool.name);
            let reason =
                "the MIG devices are not the same on all GPUs, and no ConfigMap has the layout";
            report.leave_out(Some(&key), at, reason);
            return None;
        }
        let evidence = match count {
            1 => Evidence::sure(at),
            _ => Evidence::guess(
                at,
                "no ConfigMap has the layout; all GPUs of a node have the same MIG devices",
            ),
        };
        let sharing = Sharing::Mig {
            strategy: "mixed",
            layouts: vec![(None, layout)],
            packed: false,
        };
        return Some((sharing, evidence));
    }
    let product = pool.group.label("nvidia.com/gpu.product");
    if let Some((_, profile)) = product.and_then(|(product, _)| product.split_once("-MIG-")) {
        let amount = *advertised.get(GPU)?;
        let sharing = Sharing::Mig {
            strategy: "single",
            layouts: vec![(None, Layout::from([(profile.to_owned(), amount / count)]))],
            packed: false,
        };
        return Some((
            sharing,
            Evidence::guess(
                at(GPU, amount),
                "all GPUs of a node have the same MIG devices",
            ),
        ));
    }
    let (name, amount) = match advertised.get(SHARED_GPU) {
        Some(amount) => (SHARED_GPU, *amount),
        None => (GPU, *advertised.get(GPU)?),
    };
    let is_shared = name == SHARED_GPU || (amount > count && amount % count == 0);
    if !is_shared || amount / count < 2 {
        return None;
    }
    // The MIG manager partitions these GPUs.
    let layout = pool.group.label(MIG_CONFIG_LABEL);
    if let Some((layout, node)) = layout.filter(|(value, _)| !value.contains("disabled")) {
        let key = format!("nodePools[{}].sharing", pool.name);
        let reason =
            "the MIG manager partitions the GPUs, and the ConfigMap with the layout is not known";
        report.leave_out(
            Some(&key),
            label_source(node, MIG_CONFIG_LABEL, layout),
            reason,
        );
        return None;
    }
    let reason = "no label and no ConfigMap says how: MPS, or MIG with strategy single, advertises the same amounts";
    let sharing = Sharing::Replicas {
        key: "timeSlicing",
        replicas: amount / count,
        rename: name == SHARED_GPU,
        packed: false,
    };
    Some((sharing, Evidence::guess(at(name, amount), reason)))
}

/// The name of the profile of a resource: `1g.5gb+me` for `1g.5gb.me`.
fn profile_name(pool: &SharedPool<'_>, resource: &str) -> String {
    let mig = pool
        .hardware
        .model
        .as_ref()
        .and_then(|(model, _)| model.mig);
    let mut profiles = mig.into_iter().flat_map(|mig| mig.profiles);
    let found = profiles.find(|it| it.resource_name() == format!("mig-{resource}"));
    found.map_or(resource, |it| it.name).to_owned()
}
