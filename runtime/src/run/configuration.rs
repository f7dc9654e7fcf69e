//! Changes of the configuration while the daemon runs.

use std::sync::Arc;

use gpuc_schema::node_config::{NodeConfig, StartSettings};
use tracing::{error, info, warn};

use super::{Daemon, health_policy};
use crate::config::{self, ConfigError, LoadedConfig};
use crate::device;

impl Daemon {
    /// Keeps the active configuration.
    pub(super) fn reject_config(&mut self, error: &ConfigError) {
        error!("new configuration rejected, keeping the previous one: {error}");
        self.outputs.metrics.count_rejected_config();
        self.status.config_error = Some(error.to_string());
        self.publish_status();
    }

    /// Applies a valid configuration, unless the pod must restart for it.
    pub(super) fn handle_config(&mut self, loaded: LoadedConfig) {
        let config = self.loader.adjust_config(loaded.config);
        self.status.config_error = None;
        // The other containers of the pod have read the active one, and the mounts are those of the active one.
        let changed = changed_start_settings(&config, &self.config);
        let is_pending = !changed.is_empty();
        self.outputs.metrics.set_config_pending(is_pending);
        if is_pending {
            let changed = changed.join(", ");
            warn!(
                "{changed} changed: the new configuration takes effect when this pod restarts, which the DaemonSet does \
                 when its template changes"
            );
        } else if config == *self.config {
            info!("the configuration is the active one again");
            self.set_unknown_keys(loaded.unknown_keys);
        } else {
            info!(pool = config.pool, "configuration changed");
            self.set_unknown_keys(loaded.unknown_keys);
            self.apply_config(config);
        }
        self.publish_status();
    }

    fn apply_config(&mut self, config: NodeConfig) {
        let watched = self.health.policy().needs_monitoring();
        let policy = health_policy::resolve(&config, &self.health_check_variables);
        self.health.set_policy(policy);
        self.outputs
            .metrics
            .set_config_hash(&config::digest(&config));
        self.config = Arc::new(config);
        let differences = device::differences(&self.inventory, &self.config);
        self.status.update_differences(differences);
        if self.health.policy().needs_monitoring() != watched {
            self.watch_driver();
            let monitoring = self.health.monitoring();
            self.outputs.metrics.set_monitoring(monitoring);
        }
        self.check_mps();
        self.publish();
    }

    pub(super) fn set_unknown_keys(&mut self, keys: Vec<String>) {
        self.outputs.metrics.set_unknown_keys(keys.len());
        self.status.update_unknown_keys(keys);
    }
}

/// Returns the settings that are read once and differ, as keys.
fn changed_start_settings(new: &NodeConfig, active: &NodeConfig) -> Vec<&'static str> {
    let (new, active) = (new.start_settings(), active.start_settings());
    let StartSettings {
        driver,
        devices,
        sharing,
    } = new;
    let changes = [
        ("`driver`", driver != active.driver),
        ("`devices`", devices != active.devices),
        ("`sharing`", sharing != active.sharing),
    ];
    let changed = changes.into_iter().filter(|(_, is_changed)| *is_changed);
    changed.map(|(key, _)| key).collect()
}
