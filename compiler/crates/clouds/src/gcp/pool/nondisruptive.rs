//! Fields whose change does not affect existing nodes: upgrades, zones, numbers of nodes.

use gpuc_schema::config::BlueGreen;
use gpuc_schema::{Span, Spanned};
use serde_json::json;

use super::super::setting::Setting;
use super::super::{location, nodes, section};
use super::{PoolLowering, kinds};

/// The surge and unavailable nodes of a pool that gcloud creates without flags.
///
/// Source: gcloud container node-pools create, `--max-surge-upgrade` (default 1), Google Cloud SDK 528.0.0.
const DEFAULT_SURGE: (u32, u32, Span) = (1, 0, Span::NONE);

impl PoolLowering<'_> {
    pub(super) fn upgrade(&self) -> Setting {
        let upgrade = self.pool.settings.upgrade.as_ref();
        if let Some(settings) = upgrade.and_then(|upgrade| upgrade.blue_green.as_ref()) {
            return self.blue_green_upgrade(settings);
        }
        // The rule `gke-upgrade-incomplete` rejects one without the other.
        let configured = upgrade.and_then(|upgrade| {
            let (surge, unavailable) = (upgrade.max_surge?, upgrade.max_unavailable?);
            Some((surge.value, unavailable.value, upgrade.span))
        });
        // No reserved machine is free for a surge node: GKE deletes a node before it creates its replacement.
        let reserved = self.pool.is_reserved();
        let default = || reserved.then_some((0, 1, self.pool.settings.capacity.span));
        let (surge, unavailable, span) = configured.or_else(default).unwrap_or(DEFAULT_SURGE);
        let flags = [
            format!("--max-surge-upgrade={surge}"),
            format!("--max-unavailable-upgrade={unavailable}"),
        ];
        // A pool that is updated may use blue-green upgrades.
        let switch = ["--enable-surge-upgrade".to_owned()];
        let desired = json!({"maxSurge": surge, "maxUnavailable": unavailable});
        Setting::new(&kinds::UPGRADE, desired, span)
            .with_flags(flags.clone())
            .with_update(self.update(switch.into_iter().chain(flags)))
    }

    /// Every setting is written, so that no default of GKE applies.
    fn blue_green_upgrade(&self, settings: &Spanned<BlueGreen>) -> Setting {
        let seconds = |minutes: u32| format!("{}s", minutes * 60);
        let (soak, batch_soak) = (
            settings.soak_minutes.value,
            settings.batch_soak_minutes.value,
        );
        let mut desired = json!({"soakMinutes": soak, "batchSoakMinutes": batch_soak});
        let batch = match (settings.batch_percent, settings.batch_nodes) {
            (Some(percent), _) => {
                desired["batchPercent"] = json!(percent.value);
                format!("batch-percent={}", f64::from(percent.value) / 100.0)
            }
            (None, nodes) => {
                let nodes = nodes.map_or(1, |nodes| nodes.value);
                desired["batchNodes"] = json!(nodes);
                format!("batch-node-count={nodes}")
            }
        };
        let flags = [
            "--enable-blue-green-upgrade".to_owned(),
            format!("--node-pool-soak-duration={}", seconds(soak)),
            format!(
                "--standard-rollout-policy={batch},batch-soak-duration={}",
                seconds(batch_soak)
            ),
        ];
        Setting::new(
            &kinds::UPGRADE,
            json!({"blueGreen": desired}),
            settings.span,
        )
        .with_flags(flags.clone())
        .with_update(self.update(flags))
    }

    pub(super) fn management(&self) -> Setting {
        // GKE does not repair flex-start machines: it could not replace one at once.
        let (repairs, span) = match self.pool.flex_start() {
            Some(_) => (false, self.pool.settings.capacity.span),
            None => (true, Span::NONE),
        };
        let repair = if repairs {
            "--enable-autorepair"
        } else {
            "--no-enable-autorepair"
        };
        let flags = ["--enable-autoupgrade", repair].map(str::to_owned);
        let desired = json!({"upgrade": true, "repair": repairs});
        Setting::new(&kinds::MANAGEMENT, desired, span)
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
        // GKE creates flex-start machines in any zone that has them.
        let policy = self.pool.flex_start().map(|_| "ANY");
        let policy_flag = policy.map(|policy| format!("--location-policy={policy}"));
        let update = self.update(
            size.autoscaling_flags()
                .into_iter()
                .chain(policy_flag.clone()),
        );
        let limits = size.autoscaling_limits();
        let scaling = Setting::new(&kinds::AUTOSCALING, limits, range.min_span)
            .with_flags(size.create_flags())
            .with_update(update.clone());
        let policy = policy.map(|policy| {
            let span = self.pool.settings.capacity.span;
            Setting::new(&kinds::LOCATION_POLICY, json!(policy), span)
                .with_flags(policy_flag)
                .with_update(update)
        });
        let scaling = [scaling].into_iter().chain(policy);
        let per_zone = match size {
            nodes::PoolSize::Fixed { per_zone } => per_zone,
            nodes::PoolSize::Autoscaled {
                initial_per_zone, ..
            } => {
                let initial = range.initial.map(|initial| {
                    Setting::new(&kinds::INITIAL_NODES, json!(initial_per_zone), initial.span)
                });
                return scaling.chain(initial).collect();
            }
        };
        let flags = [
            format!("--node-pool={}", self.pool.name),
            format!("--num-nodes={per_zone}"),
        ];
        let resize = self.target.cluster_command("resize").with_arguments(flags);
        let nodes =
            Setting::new(&kinds::NODES, json!(per_zone), range.min_span).with_update(resize);
        scaling.chain([nodes]).collect()
    }
}
