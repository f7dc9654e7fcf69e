//! Fields whose change does not affect existing nodes: upgrades, zones, numbers of nodes.

use gpuc_schema::Span;
use serde_json::json;

use super::super::setting::Setting;
use super::super::{location, nodes, section};
use super::{PoolLowering, kinds};

impl PoolLowering<'_> {
    pub(super) fn upgrade(&self) -> Option<Setting> {
        let (surge, unavailable, span) = match &self.pool.settings.upgrade {
            // The rule `gke-upgrade-incomplete` rejects one without the other.
            Some(upgrade) => (
                upgrade.max_surge?.value,
                upgrade.max_unavailable?.value,
                upgrade.span,
            ),
            // No reserved machine is free for a surge node: GKE deletes a node before it creates its replacement.
            None if self.pool.is_reserved() => (0, 1, self.pool.settings.capacity.span),
            None => return None,
        };
        let flags = [
            format!("--max-surge-upgrade={surge}"),
            format!("--max-unavailable-upgrade={unavailable}"),
        ];
        let desired = json!({"maxSurge": surge, "maxUnavailable": unavailable});
        Some(
            Setting::new(&kinds::UPGRADE, desired, span)
                .with_flags(flags.clone())
                .with_update(self.update(flags)),
        )
    }

    pub(super) fn management(&self) -> Setting {
        let flags = ["--enable-autoupgrade", "--enable-autorepair"].map(str::to_owned);
        let desired = json!({"upgrade": true, "repair": true});
        Setting::new(&kinds::MANAGEMENT, desired, Span::NONE)
            .with_flags(flags.clone())
            .with_update(self.update(flags))
    }

    pub(super) fn zones(&self) -> Option<Setting> {
        let gcp = section(&self.cluster.config);
        let mut zones = location::pool_zones(gcp, self.pool);
        zones.sort_unstable();
        let span = self
            .pool
            .settings
            .zones
            .first()
            .map_or(gcp.location.span, |zone| zone.span);
        let flag = format!("--node-locations={}", zones.join(","));
        (!zones.is_empty()).then(|| {
            Setting::new(&kinds::ZONES, json!(zones), span)
                .with_flag(flag.clone())
                .with_update(self.update([flag]))
        })
    }

    pub(super) fn node_count_settings(&self) -> Vec<Setting> {
        let range = self.pool.nodes.expect_resolved();
        let zones = location::pool_zones(section(&self.cluster.config), self.pool);
        let size = nodes::pool_size(range, zones.len());
        let scaling = Setting::new(
            &kinds::AUTOSCALING,
            size.autoscaling_limits(),
            range.min_span,
        )
        .with_flags(size.create_flags())
        .with_update(self.update(size.autoscaling_flags()));
        let nodes::PoolSize::Fixed { per_zone } = size else {
            return vec![scaling];
        };
        let flags = [
            format!("--node-pool={}", self.pool.name),
            format!("--num-nodes={per_zone}"),
        ];
        let resize = self.target.cluster_command("resize").with_arguments(flags);
        let nodes =
            Setting::new(&kinds::NODES, json!(per_zone), range.min_span).with_update(resize);
        vec![scaling, nodes]
    }
}
