//! How GKE keeps nodes as new as their control plane: gpuc's scripts only raise the control plane.

use gpuc_schema::config::GcpReleaseChannel;

use super::created;
use crate::model::{Cluster, Pool};
use crate::plan::Followed;

const SOURCE: &str = "https://docs.cloud.google.com/kubernetes-engine/upgrades and \
                      https://docs.cloud.google.com/kubernetes-engine/docs/how-to/upgrading-a-cluster, read 2026-11-22";

/// A pool that gpuc makes has upgrades by GKE; one that is there may not, and is its owner's.
pub(super) fn followed(cluster: &Cluster, pool: &Pool) -> Vec<Followed> {
    if pool.is_existing() {
        return Vec::new();
    }
    let version = cluster.kubernetes.get().map(|version| Followed {
        name: "Kubernetes version",
        value: version.value.to_string(),
        rank: version.value.0,
        inputs: vec![version.span],
        up: "after the control plane, GKE drains every node and makes it again in the new version, by itself and \
             within the maintenance window",
        down: "nodes stay as new as the control plane, which does not go back",
        source: SOURCE,
    });
    let channel = created(&cluster.written).map(|create| {
        let channel = create.release_channel;
        Followed {
            name: "release channel",
            value: name(channel.value).to_owned(),
            rank: rank(channel.value),
            inputs: vec![channel.span],
            up: "where the channel offers a newer version, GKE raises the control plane and makes every node again, by \
                 itself and within the maintenance window",
            down: "nodes stay as they are until the slower channel has caught up",
            source: SOURCE,
        }
    });
    version.into_iter().chain(channel).collect()
}

/// What GKE and the file call a channel.
pub(super) fn name(channel: GcpReleaseChannel) -> &'static str {
    match channel {
        GcpReleaseChannel::Rapid => "rapid",
        GcpReleaseChannel::Regular => "regular",
        GcpReleaseChannel::Stable => "stable",
        GcpReleaseChannel::Extended => "extended",
    }
}

/// Which channel has versions sooner: more is sooner.
fn rank(channel: GcpReleaseChannel) -> u8 {
    match channel {
        GcpReleaseChannel::Rapid => 3,
        GcpReleaseChannel::Regular => 2,
        GcpReleaseChannel::Stable => 1,
        GcpReleaseChannel::Extended => 0,
    }
}
