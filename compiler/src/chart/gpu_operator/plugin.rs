//! The device plugin that the operator runs, and how each pool shares its GPUs through it: a configuration for each
//! pool that shares them, which its nodes choose by a label.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::chart::plugin_config;
use crate::check::Checked;
use crate::lower;
use crate::model::{Pool, Sharing};

/// The ConfigMap.
const NAME: &str = "gpuc-device-plugin";

/// The configuration of nodes without the label. No pool is called so: their names have no dots.
const DEFAULT: &str = "gpuc.exclusive";

/// The pools whose GPUs the operator's plugin advertises.
fn pools<'c>(cluster: &'c Checked<'_>) -> impl Iterator<Item = &'c Pool> {
    let pools = cluster.operator_pools();
    pools
        .filter(|(_, operands)| operands.plugin)
        .map(|(pool, _)| pool)
}

/// The section of the values.
pub(super) fn values(cluster: &Checked<'_>) -> Value {
    let enabled = pools(cluster).next().is_some();
    let shared = pools(cluster).filter(|pool| !matches!(pool.sharing.sure(), Sharing::Exclusive));
    let mut data: Map<String, Value> = shared
        .map(|pool| (pool.name.value.clone(), json!(config(pool))))
        .collect();
    if data.is_empty() {
        return json!({"enabled": enabled});
    }
    data.insert(DEFAULT.to_owned(), json!(text("none", None)));
    json!({
        "enabled": true,
        "config": {"create": true, "name": NAME, "default": DEFAULT, "data": data},
    })
}

/// The operator's strategy for all nodes. It is given to the plugin as a variable, which outweighs a configuration:
/// where pools need different ones there is none, and each pool's configuration has its own.
///
/// Sources: NVIDIA/gpu-operator `controllers/object_controls.go`, `applyMIGConfiguration` (without a strategy the
/// plugin decides by node); NVIDIA/k8s-device-plugin@v0.20.0 (a variable outweighs the file; MPS is refused under
/// `mixed`). The chart writes no strategy where the value is empty, and `mig:` with nothing in it (NVIDIA/gpu-operator
/// `deployments/gpu-operator/templates/clusterpolicy.yaml`); the API server drops what is null where a kind does not
/// allow it (kubernetes/kubernetes `apiextensions-apiserver/pkg/apiserver/customresource_handler.go`,
/// `PruneNonNullableNullsWithoutDefaults`), all read 2026-11-21. To leave the value out would be the chart's default,
/// `single`.
pub(super) fn strategy(cluster: &Checked<'_>) -> &'static str {
    let strategies: BTreeSet<_> = pools(cluster)
        .map(|pool| match pool.sharing.sure() {
            Sharing::Mig { strategy, .. } => lower::strategy_word(strategy.value),
            // What is not cut is offered alike under every strategy, except that MPS is refused under one.
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

fn config(pool: &Pool) -> String {
    let sharing = pool.sharing.sure();
    let strategy = match sharing {
        Sharing::Mig { strategy, .. } => lower::strategy_word(strategy.value),
        _ => "none",
    };
    text(strategy, plugin_config::sharing(sharing))
}

/// The chart wants each configuration as text.
fn text(strategy: &str, sharing: Option<String>) -> String {
    let sharing = sharing.unwrap_or_default();
    format!("version: v1\nflags:\n  migStrategy: {strategy}\n{sharing}")
}
