//! The status of the daemon.

use std::collections::{BTreeMap, BTreeSet};

use tokio::time::Instant;

use crate::config::describe_unknown_keys;
use crate::plugin::PluginEvent;

/// The status of the daemon, for probes and metrics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Why the driver cannot be used, if so.
    pub driver_error: Option<String>,
    /// Why the last configuration was rejected, if so.
    pub config_error: Option<String>,
    /// The keys of the configuration that this version does not know; the others are applied.
    pub unknown_keys: Vec<String>,
    /// The resources that the running kubelet has registered and watches.
    pub registered: BTreeSet<String>,
    /// Why the last registration of a resource failed, until the kubelet watches it.
    pub registration_errors: BTreeMap<String, String>,
    /// The number of successful GPU discoveries.
    pub scans: u64,
    /// When the last successful GPU discovery finished.
    pub scanned_at: Option<Instant>,
    /// Why driver events are not monitored, although the configuration enables it.
    pub monitoring_error: Option<String>,
    /// The GPUs whose driver events are not monitored because of an error, and the error.
    pub unmonitored_gpus: Vec<String>,
    /// The driver calls that have not returned in time.
    pub overdue_calls: Vec<String>,
    /// The number of failed GPU discoveries.
    pub failed_scans: u64,
    /// Differences from the configuration: GPU models, MIG devices.
    pub differences: Vec<String>,
}

impl Status {
    /// Updates the differences between the node and its configuration, and logs them if they changed.
    pub(super) fn update_differences(&mut self, differences: Vec<String>) {
        // Before the first discovery, everything differs.
        if self.scans > 0 && differences != self.differences {
            for difference in &differences {
                tracing::warn!("{difference}");
            }
            self.differences = differences;
        }
    }

    /// Updates the unknown keys of the configuration, and logs them if they changed.
    pub(super) fn update_unknown_keys(&mut self, keys: Vec<String>) {
        if keys != self.unknown_keys {
            if !keys.is_empty() {
                let keys = describe_unknown_keys(&keys);
                tracing::warn!("the configuration has {keys}; the other keys are applied");
            }
            self.unknown_keys = keys;
        }
    }

    /// Processes an event of a device plugin. Returns whether the status changed.
    pub(super) fn handle_plugin_event(&mut self, event: PluginEvent) -> bool {
        match event {
            PluginEvent::RegistrationChanged {
                resource,
                is_registered: true,
            } => {
                self.registration_errors.remove(&resource);
                self.registered.insert(resource)
            }
            PluginEvent::RegistrationChanged { resource, .. } => self.registered.remove(&resource),
            PluginEvent::Closed { resource } => {
                self.registration_errors.remove(&resource);
                self.registered.remove(&resource)
            }
            PluginEvent::NotRegistered { resource, error } => {
                let before = self.registration_errors.insert(resource, error.clone());
                before != Some(error)
            }
            PluginEvent::NotWatched { resource } => {
                let error = "the kubelet accepted the registration and does not watch the devices: check its log".to_owned();
                let before = self.registration_errors.insert(resource, error.clone());
                before != Some(error)
            }
            PluginEvent::Registered { .. }
            | PluginEvent::DroppedByKubelet { .. }
            | PluginEvent::NotBound { .. }
            | PluginEvent::Bound { .. }
            | PluginEvent::SocketLost { .. }
            | PluginEvent::SocketTaken { .. } => false,
        }
    }
}
