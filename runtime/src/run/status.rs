//! What the daemon says of itself.

use std::collections::BTreeSet;

use crate::plugin::PluginEvent;

/// What becomes known of the daemon itself, for probes and metrics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// Why the driver cannot be used; nothing while it can.
    pub driver_trouble: Option<String>,
    /// Why the last configuration was not taken; nothing where it was.
    pub config_trouble: Option<String>,
    /// The resources that the kubelet knows which runs now.
    pub registered: BTreeSet<String>,
    /// How often the GPUs were read.
    pub scans: u64,
    /// How often they could not be.
    pub failed_scans: u64,
    /// What differs from the configuration: cards, slices.
    pub differences: Vec<String>,
}

impl Status {
    /// Takes what differs between the node and its configuration, and says so where that is news.
    pub(super) fn compare(&mut self, differences: Vec<String>) {
        // Before the first reading, everything would differ.
        if self.scans > 0 && differences != self.differences {
            for difference in &differences {
                tracing::warn!("{difference}");
            }
            self.differences = differences;
        }
    }

    /// Something happened between a plugin and the kubelet. Answers whether that is news.
    pub(super) fn heard(&mut self, event: PluginEvent) -> bool {
        match event {
            PluginEvent::Known {
                resource,
                known: true,
            } => self.registered.insert(resource),
            PluginEvent::Known { resource, .. } | PluginEvent::Closed { resource } => {
                self.registered.remove(&resource)
            }
            PluginEvent::Registered { .. }
            | PluginEvent::NotRegistered { .. }
            | PluginEvent::GivenUp { .. }
            | PluginEvent::NotBound { .. }
            | PluginEvent::Bound { .. }
            | PluginEvent::SocketLost { .. }
            | PluginEvent::SocketTaken { .. } => false,
        }
    }
}
