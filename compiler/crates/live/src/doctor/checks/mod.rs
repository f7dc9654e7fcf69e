//! The checks of running clusters, one file each.

mod device_plugin_not_running;
mod device_plugin_not_scheduled;
mod gpus_not_advertised;
mod gpus_unhealthy;
mod messages;
mod node_not_ready;
mod pod_toleration_missing;

use super::check::Check;

/// Every check, by id.
pub static CHECKS: &[&Check] = &[
    &node_not_ready::CHECK,
    &gpus_not_advertised::CHECK,
    &device_plugin_not_scheduled::CHECK,
    &device_plugin_not_running::CHECK,
    &gpus_unhealthy::CHECK,
    &pod_toleration_missing::CHECK,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_are_sorted_by_id() {
        assert!(CHECKS.is_sorted_by_key(|check| check.code.id));
    }
}
