//! The device plugin that the operator runs: one configuration for each pool that shares its GPUs or has `extras`. A
//! node selects its configuration with a label.
//!
//! The flags of a configuration inject the `extras`. `gdrcopy.enabled` and `gds.enabled` of the chart also set them for
//! every node, as environment variables, and the plugin sets those whose kernel module is loaded: a pool without
//! `extras` may get components too (NVIDIA/gpu-operator@10ee5b36 (v26.7.0) `controllers/object_controls.go`,
//! `TransformDevicePlugin`; `assets/state-device-plugin/0400_configmap.yaml`; read 2026-11-26). A component that a node
//! lacks is ignored (NVIDIA/k8s-device-plugin@1b826acc6 `internal/cdi/cdi.go`, `CreateSpecFile`, read 2026-11-26).

use std::collections::BTreeSet;
use std::fmt::Write;

use gpuc_model::check::Checked;
use gpuc_model::{Pool, Sharing};
use serde_json::{Map, Value, json};

use crate::charts::plugin_config;
use crate::lower::injected_components;

/// The ConfigMap, before the digest of its content ([`crate::charts::read_once`]).
const NAME: &str = "gpuc-device-plugin";

/// The configuration of nodes without the label. No pool can have this name: pool names have no dots.
const DEFAULT_CONFIG: &str = "gpuc.exclusive";

/// The pools whose GPUs the operator's plugin advertises.
fn plugin_pools<'c>(cluster: &'c Checked<'_>) -> impl Iterator<Item = &'c Pool> {
    let pools = cluster.operator_pools();
    pools
        .filter(|(_, operands)| operands.plugin)
        .map(|(pool, _)| pool)
}

/// The section of the values.
pub(super) fn values(cluster: &Checked<'_>) -> Value {
    let enabled = plugin_pools(cluster).next().is_some();
    let configured = plugin_pools(cluster).filter(|pool| {
        !matches!(pool.sharing.expect_resolved(), Sharing::Exclusive) || !pool.extras.is_empty()
    });
    let mut data: Map<String, Value> = configured
        .map(|pool| (pool.name.value.clone(), json!(pool_config(pool))))
        .collect();
    if data.is_empty() {
        return json!({"enabled": enabled});
    }
    let default = "version: v1\nflags:\n  migStrategy: none\n";
    data.insert(DEFAULT_CONFIG.to_owned(), json!(default));
    json!({
        "enabled": true,
        "config": {"create": true, "name": NAME, "default": DEFAULT_CONFIG, "data": data},
    })
}

/// The operator's MIG strategy for all nodes. The plugin gets it as an environment variable, which takes precedence
/// over its configuration file. If pools need different strategies, it is empty, and each pool's configuration sets
/// its own.
///
/// Sources: NVIDIA/gpu-operator `controllers/object_controls.go`, `applyMIGConfiguration` (without a strategy the
/// plugin decides by node); NVIDIA/k8s-device-plugin@v0.20.0 (a variable overrides the file; MPS is rejected under
/// `mixed`). If the value is empty, the chart writes no strategy, and an empty `mig:` (NVIDIA/gpu-operator
/// `deployments/gpu-operator/templates/clusterpolicy.yaml`); the API server prunes nulls of fields that are not
/// nullable (kubernetes/kubernetes `apiextensions-apiserver/pkg/apiserver/customresource_handler.go`,
/// `PruneNonNullableNullsWithoutDefaults`), all read 2026-11-21. Omitting the value would set the chart's default,
/// `single`.
pub(super) fn mig_strategy(cluster: &Checked<'_>) -> &'static str {
    let strategies: BTreeSet<_> = plugin_pools(cluster)
        .map(|pool| match pool.sharing.expect_resolved() {
            Sharing::Mig { strategy, .. } => strategy.as_str(),
            // GPUs that are not partitioned are advertised alike under every strategy; `mixed` rejects MPS.
            Sharing::Mps { .. } => "none",
            Sharing::Exclusive | Sharing::TimeSlicing { .. } => "",
        })
        .filter(|strategy| !strategy.is_empty())
        .collect();
    let mut strategies = strategies.into_iter();
    match (strategies.next(), strategies.next()) {
        (None, _) => "none",
        (Some(only), None) => only,
        (Some(_), Some(_)) => "",
    }
}

/// The configuration of a pool, which the chart takes as text.
fn pool_config(pool: &Pool) -> String {
    let sharing = pool.sharing.expect_resolved();
    let strategy = match sharing {
        Sharing::Mig { strategy, .. } => strategy.as_str(),
        _ => "none",
    };
    let mut text = format!("version: v1\nflags:\n  migStrategy: {strategy}\n");
    let components = injected_components(pool).into_iter();
    for flag in components.filter_map(plugin_config::component_flag) {
        let _ = writeln!(text, "  {flag}: true");
    }
    let sections = [
        plugin_config::sharing_section(sharing),
        plugin_config::imex_section(pool),
    ];
    text.extend(sections.into_iter().flatten());
    text
}
