//! The health policy of the configuration and of the environment variables.

use gpuc_schema::node_config::NodeConfig;
use tracing::warn;

use crate::health::Policy;

/// Combines the configuration with the values of `DP_DISABLE_HEALTHCHECKS` and `DP_ENABLE_HEALTHCHECKS`, and logs the
/// words that are not Xids.
pub(super) fn resolve(
    config: &NodeConfig,
    (disable, enable): &(Option<String>, Option<String>),
) -> Policy {
    let (policy, unknown) = Policy::new(&config.health, disable.as_deref(), enable.as_deref());
    for word in unknown {
        warn!("`{word}` in DP_DISABLE_HEALTHCHECKS or DP_ENABLE_HEALTHCHECKS is not an Xid");
    }
    policy
}
