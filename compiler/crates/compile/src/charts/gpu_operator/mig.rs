//! The MIG manager, which partitions the GPUs of the pools whose plugin the operator runs, each by its own layout.
//!
//! Layouts are in the format of NVIDIA/mig-parted@bd7160f4 `deployments/systemd/config-default.yaml`.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::{Value, json};

use gpuc_model::check::Checked;
use gpuc_model::{MigGpu, Pool, Sharing};

/// The ConfigMap, before the digest of its content ([`crate::charts::read_once`]).
///
/// A new name restarts the MIG manager, and it applies the layout of its node's label if the GPUs differ from it. With
/// a digest in the label, the order in which the ConfigMap and the labels of the nodes change would matter: the MIG
/// manager does not retry (NVIDIA/mig-parted@bd7160f4 `cmd/nvidia-mig-manager/main.go`, read 2026-11-26).
const NAME: &str = "gpuc-mig-layouts";

/// The name of the layout without MIG, which is required because nodes without the label get it.
const DISABLED_CONFIG: &str = "all-disabled";

/// The layout without MIG.
const MIG_DISABLED_LAYOUT: &str = "- devices: all\n  mig-enabled: false\n";

/// The section of the values.
pub(super) fn values(cluster: &Checked<'_>) -> Value {
    let mut layouts = BTreeMap::new();
    let mut plugin = false;
    for (pool, operands) in cluster.operator_pools() {
        plugin |= operands.plugin;
        if operands.mig {
            layouts.insert(pool.mig_config_name(), mig_layout(pool));
        }
    }
    if layouts.is_empty() {
        return json!({"enabled": plugin});
    }
    layouts.insert(DISABLED_CONFIG.to_owned(), MIG_DISABLED_LAYOUT.to_owned());
    let mut text = String::from("version: v1\nmig-configs:\n");
    for (name, layout) in &layouts {
        let _ = writeln!(text, "  {name}:");
        for line in layout.lines() {
            let _ = writeln!(text, "    {line}");
        }
    }
    let mut values = json!({
        "enabled": true,
        "config": {
            "create": true,
            "name": NAME,
            "data": {"config.yaml": text},
        },
    });
    if cluster.cloud.facts().creates_machines {
        // A GPU that is passed through to a virtual machine cannot be reset, which some models require to change the
        // MIG mode (cloud-native-docs, gpu-operator/gpu-operator-mig.rst, read 2026-11-21).
        values["env"] = json!([{"name": "WITH_REBOOT", "value": "true"}]);
    }
    values
}

/// One entry for each run of consecutive GPUs with the same MIG devices.
fn mig_layout(pool: &Pool) -> String {
    let Sharing::Mig { gpus, .. } = pool.sharing.expect_resolved() else {
        unreachable!("the operator partitions the GPUs of pools with MIG");
    };
    let mut text = String::new();
    for run in gpus.chunk_by(|a, b| devices_by_profile(a) == devices_by_profile(b)) {
        let indexes: Vec<_> = run.iter().map(|gpu| gpu.index.to_string()).collect();
        let counts = devices_by_profile(&run[0]);
        let _ = writeln!(text, "- devices: [{}]", indexes.join(", "));
        let _ = writeln!(text, "  mig-enabled: {}", !counts.is_empty());
        if !counts.is_empty() {
            text.push_str("  mig-devices:\n");
        }
        for (profile, count) in counts {
            let _ = writeln!(text, "    \"{profile}\": {count}");
        }
    }
    text
}

/// The number of MIG devices of each profile on a GPU.
fn devices_by_profile(gpu: &MigGpu) -> BTreeMap<&'static str, u32> {
    let mut counts = BTreeMap::new();
    for device in &gpu.placements {
        *counts.entry(device.profile).or_default() += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use gpuc_schema::gpu::placement::Placement;

    use super::*;

    #[test]
    fn counts_are_by_profile() {
        let device = |profile, start, size| Placement {
            profile,
            start,
            size,
        };
        let placements = vec![
            device("3g.20gb", 0, 4),
            device("1g.5gb", 4, 1),
            device("1g.5gb", 5, 1),
        ];
        let gpu = MigGpu {
            index: 0,
            placements,
        };
        assert_eq!(
            devices_by_profile(&gpu),
            BTreeMap::from([("1g.5gb", 2), ("3g.20gb", 1)])
        );
    }
}
