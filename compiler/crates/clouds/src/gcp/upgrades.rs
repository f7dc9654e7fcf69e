//! Automatic node upgrades of GKE: gpuc's scripts upgrade only the control plane.

use gpuc_model::plan::AutoUpgrade;
use gpuc_model::{Cluster, Pool};
use gpuc_schema::config::GcpReleaseChannel;

use super::create_section;

const SOURCE: &str = "https://docs.cloud.google.com/kubernetes-engine/upgrades and \
                      https://docs.cloud.google.com/kubernetes-engine/docs/how-to/upgrading-a-cluster, read 2026-11-22";

/// GKE upgrades the nodes of pools that gpuc creates. Pools of existing clusters are managed by their owner.
pub(super) fn auto_upgrades(cluster: &Cluster, pool: &Pool) -> Vec<AutoUpgrade> {
    if pool.is_existing() {
        return Vec::new();
    }
    let version = cluster.kubernetes.get().map(|version| AutoUpgrade {
        name: "Kubernetes version",
        value: version.value.to_string(),
        rank: version.value.0,
        inputs: vec![version.span],
        upgrade_effect: "after the control plane, GKE drains and recreates every node with the new version, automatically and \
             within the maintenance window",
        downgrade_effect: "nodes keep the version of the control plane, which cannot be downgraded",
        source: SOURCE,
    });
    let channel = create_section(&cluster.config).map(|create| {
        let channel = create.release_channel;
        AutoUpgrade {
            name: "release channel",
            value: channel_name(channel.value).to_owned(),
            rank: channel_rank(channel.value),
            inputs: vec![channel.span],
            upgrade_effect: "if the channel offers a newer version, GKE upgrades the control plane and recreates every node, \
                 automatically and within the maintenance window",
            downgrade_effect: "nodes keep their version until the slower channel offers a newer one",
            source: SOURCE,
        }
    });
    version.into_iter().chain(channel).collect()
}

/// Name of a channel, in GKE and in the file.
pub(super) fn channel_name(channel: GcpReleaseChannel) -> &'static str {
    match channel {
        GcpReleaseChannel::Rapid => "rapid",
        GcpReleaseChannel::Regular => "regular",
        GcpReleaseChannel::Stable => "stable",
        GcpReleaseChannel::Extended => "extended",
    }
}

/// Rank of a channel: channels with a higher rank get new versions earlier.
fn channel_rank(channel: GcpReleaseChannel) -> u8 {
    match channel {
        GcpReleaseChannel::Rapid => 3,
        GcpReleaseChannel::Regular => 2,
        GcpReleaseChannel::Stable => 1,
        GcpReleaseChannel::Extended => 0,
    }
}
