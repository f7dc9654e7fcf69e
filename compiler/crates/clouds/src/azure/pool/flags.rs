//! Flags that create a pool.

use super::super::{mig, ownership};
use super::{PoolSettings, key_value_pairs};

impl PoolSettings<'_> {
    /// Every flag of `az aks nodepool add` with its values.
    pub(super) fn flags(&self) -> Vec<(&'static str, Vec<String>)> {
        let settings = &self.pool.settings;
        let nodes = self.pool.nodes.expect_resolved();
        let mut flags = vec![
            ("--mode", vec![self.mode().to_owned()]),
            ("--node-vm-size", vec![self.vm_size().to_owned()]),
            ("--os-type", vec!["Linux".to_owned()]),
            ("--os-sku", vec![self.os_sku().to_owned()]),
            ("--node-count", vec![nodes.initial().to_string()]),
        ];
        if !nodes.is_fixed() {
            flags.push(("--enable-cluster-autoscaler", Vec::new()));
            flags.push(("--min-count", vec![nodes.min.to_string()]));
            flags.push(("--max-count", vec![nodes.max.to_string()]));
        }
        flags.push(("--node-osdisk-size", vec![settings.disk_gib.to_string()]));
        let optional = [
            ("--node-osdisk-type", self.disk_type().map(str::to_owned)),
            ("--max-pods", settings.max_pods.map(|pods| pods.to_string())),
            ("--vnet-subnet-id", self.subnet().map(str::to_owned)),
            ("--crg-id", self.reservation().map(str::to_owned)),
            ("--ppg", self.placement().map(str::to_owned)),
            ("--gpu-driver", self.driver().map(str::to_owned)),
            (
                "--gpu-instance-profile",
                mig::instance_profile(self.pool).map(str::to_owned),
            ),
        ];
        let given = |(flag, value): (_, Option<_>)| value.map(|value| (flag, vec![value]));
        flags.extend(optional.into_iter().filter_map(given));
        let zones = self.zones();
        if !zones.is_empty() {
            flags.push(("--zones", zones));
        }
        if let Some((eviction, price)) = self.spot_terms() {
            flags.push(("--priority", vec!["Spot".to_owned()]));
            flags.push(("--eviction-policy", vec![eviction.to_owned()]));
            flags.push(("--spot-max-price", vec![price.to_string()]));
        }
        flags.push(("--labels", key_value_pairs(&self.labels())));
        let taints = self.taints();
        if !taints.is_empty() {
            flags.push(("--node-taints", vec![taints.join(",")]));
        }
        let tags = ownership::pool_tags_with_records(self.tags(), &self.labels(), &taints);
        if !tags.is_empty() {
            flags.push(("--tags", key_value_pairs(&tags)));
        }
        if let Some(upgrade) = self.upgrade().filter(|upgrade| !upgrade.is_default()) {
            flags.extend(upgrade.flags().map(|(flag, value)| (flag, vec![value])));
        }
        flags
    }
}
