//! Effects of a restarted device plugin, in addition to those of its kind or chart.

use super::super::changes::Delta;
use super::super::entities::Entity;
use super::super::impact::Impact;
use super::classification::Classification;
use super::context::DiffContext;

/// The field that only pods with the MPS daemon set: the daemon identifies its clients by process.
const MPS_DAEMON_FIELD: &str = "spec.template.spec.hostPID";

/// The reason why a restart of the MPS daemon disrupts workloads.
const MPS_RESTART_REASON: &str = "its pods run the MPS daemon, and every program that computes through the daemon stops with \
    it: drain the nodes first";

/// Adds the effects of a restarted device plugin to the classification of its kind or chart.
pub(super) fn add_plugin_effects(
    setting: &DiffContext<'_>,
    delta: &Delta,
    classification: Classification,
) -> Classification {
    let classification = escalate_mps_restart(setting, delta, classification);
    let tolerates = delta
        .path
        .as_deref()
        .is_some_and(|path| path.contains("tolerations["));
    let entity = setting.entity(&delta.key);
    let mut pools = entity.into_iter().flat_map(|entity| &entity.pools);
    if classification.impact == Impact::DevicePluginRestarted
        && tolerates
        && pools.any(|pool| setting.replaces_taint(pool))
    {
        return Classification::with_reason(
            Impact::DevicePluginRestarted,
            "a node cannot have both values of the taint: between the run of the scripts and this deployment, no \
             device plugin that starts on these nodes tolerates them, so the steps drain them first (gpuc diff --plan)",
        );
    }
    classification
}

/// Escalates a restart of a device plugin that also restarts the MPS daemon.
fn escalate_mps_restart(
    setting: &DiffContext<'_>,
    delta: &Delta,
    classification: Classification,
) -> Classification {
    let sides = [setting.before, setting.after];
    let uses_mps = |name: &String| {
        let mut pools = sides.iter().flat_map(|entities| &entities.summary.pools);
        pools.any(|pool| pool.name == *name && pool.sharing.starts_with("MPS"))
    };
    let runs_mps_daemon = |entity: &Entity| match entity.chart {
        // The GPU operator runs no MPS daemon here.
        Some(chart) if chart.name == gpuc_compile::charts::NVIDIA_DEVICE_PLUGIN.name => {
            entity.pools.iter().any(uses_mps)
        }
        Some(_) => false,
        None => entity.fields.contains_key(MPS_DAEMON_FIELD),
    };
    let mut entities = sides
        .iter()
        .filter_map(|entities| entities.by_key.get(&delta.key));
    let ends_mps_clients = entities.any(runs_mps_daemon);
    if classification.impact == Impact::DevicePluginRestarted && ends_mps_clients {
        Classification::with_reason(Impact::WorkloadRestarted, MPS_RESTART_REASON)
    } else {
        classification
    }
}
