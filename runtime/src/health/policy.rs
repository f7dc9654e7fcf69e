//! The health policy: which errors count, and how long an unhealthy GPU must be quiet.

use std::collections::BTreeSet;

use gpuc_schema::node_config::HealthPolicy;

use super::xid::{Effect, effect};

/// A day in milliseconds: a recurrence within it doubles the quiet time.
pub const RECURRENCE_WINDOW: u64 = 24 * 60 * 60 * 1000;

/// Maximum quiet time, regardless of recurrences: six hours in milliseconds.
pub const MAX_QUIET_TIME: u64 = 6 * 60 * 60 * 1000;

/// Which errors make a device unhealthy, and when it recovers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Whether only Xids that are enabled by number count.
    off: bool,
    /// Ignored Xids.
    ignored: BTreeSet<u64>,
    /// Xids that always count; NVIDIA's way to remove one from the ignore list.
    enabled: Enabled,
    /// The quiet time in milliseconds.
    quiet: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Enabled {
    All,
    Listed(BTreeSet<u64>),
}

impl Policy {
    /// Creates the policy from a configuration and the environment variables that NVIDIA's plugin reads:
    /// `DP_DISABLE_HEALTHCHECKS` (`all`, `xids`, or comma-separated Xids) and `DP_ENABLE_HEALTHCHECKS` (`all` or Xids;
    /// takes precedence). Also returns the invalid values.
    ///
    /// With `all` or `xids`, driver events are ignored, as with NVIDIA's plugin; a GPU that does not respond to queries
    /// is still unhealthy.
    pub fn new(
        config: &HealthPolicy,
        disable: Option<&str>,
        enable: Option<&str>,
    ) -> (Self, Vec<String>) {
        let disable = disable.unwrap_or_default().to_lowercase();
        let enable = enable.unwrap_or_default().to_lowercase();
        let mut unknown = Vec::new();
        let mut ignored: BTreeSet<u64> = config.ignored_xids.iter().copied().collect();
        let mut off = !config.watch;
        for word in split_list(&disable) {
            match (word, word.parse()) {
                ("all" | "xids", _) => off = true,
                (_, Ok(number)) => {
                    ignored.insert(number);
                }
                (_, Err(_)) => unknown.push(word.to_owned()),
            }
        }
        let mut all = false;
        let mut listed = BTreeSet::new();
        for word in split_list(&enable) {
            match (word, word.parse()) {
                ("all", _) => all = true,
                (_, Ok(number)) => {
                    listed.insert(number);
                }
                (_, Err(_)) => unknown.push(word.to_owned()),
            }
        }
        let policy = Self {
            off: off && !all,
            ignored,
            enabled: if all {
                Enabled::All
            } else {
                Enabled::Listed(listed)
            },
            quiet: config
                .quiet_seconds
                .map(|seconds| u64::from(seconds) * 1000),
        };
        (policy, unknown)
    }

    /// Returns the effect of an Xid under this policy. An application error that is enabled by number makes the device
    /// unhealthy for the quiet time.
    pub fn effect(&self, xid: u64) -> Effect {
        let by_number = effect(xid);
        let enabled = match &self.enabled {
            Enabled::All => true,
            Enabled::Listed(listed) => listed.contains(&xid),
        };
        if enabled && by_number == Effect::Application {
            Effect::Quiet
        } else if !enabled && (self.off || self.ignored.contains(&xid)) {
            Effect::Application
        } else {
            by_number
        }
    }

    /// Whether events other than Xids count.
    pub fn counts_events(&self) -> bool {
        !self.off
    }

    /// Whether any event can count; if not, monitoring is not needed.
    pub fn needs_monitoring(&self) -> bool {
        !self.off || self.enabled != Enabled::Listed(BTreeSet::new())
    }

    /// Returns the quiet time in milliseconds after this many recurrences; `None` if the device is never advertised
    /// again.
    pub fn quiet_time(&self, recurrences: u32) -> Option<u64> {
        let factor = 1_u64.checked_shl(recurrences).unwrap_or(u64::MAX);
        let wait = |quiet: u64| quiet.saturating_mul(factor).min(MAX_QUIET_TIME.max(quiet));
        self.quiet.map(wait)
    }
}

fn split_list(list: &str) -> impl Iterator<Item = &str> {
    list.split(',')
        .map(str::trim)
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(disable: &str, enable: &str) -> Policy {
        let (policy, unknown) = Policy::new(&HealthPolicy::default(), Some(disable), Some(enable));
        assert_eq!(unknown, [""; 0]);
        policy
    }

    #[test]
    fn application_errors_are_ignored_by_default() {
        let policy = Policy::new(&HealthPolicy::default(), None, None).0;
        for xid in [13, 31, 43, 45, 68, 109] {
            assert_eq!(policy.effect(xid), Effect::Application, "{xid}");
        }
        assert_eq!(policy.effect(79), Effect::Reboot);
        assert!(policy.needs_monitoring() && policy.counts_events());
    }

    #[test]
    fn disabled_xids_are_ignored() {
        let policy = policy("48, 74", "");
        assert_eq!(policy.effect(48), Effect::Application);
        assert_eq!(policy.effect(74), Effect::Application);
        assert_eq!(policy.effect(31), Effect::Application);
        assert_eq!(policy.effect(79), Effect::Reboot);
    }

    #[test]
    fn all_and_xids_disable_monitoring() {
        for word in ["all", "xids", "ALL", "13,xids"] {
            let policy = policy(word, "");
            assert_eq!(policy.effect(79), Effect::Application, "{word}");
            assert!(
                !policy.counts_events() && !policy.needs_monitoring(),
                "{word}"
            );
        }
    }

    #[test]
    fn enabled_xids_override_disabled_ones() {
        let some = policy("all", "79,31");
        assert_eq!(some.effect(79), Effect::Reboot);
        assert_eq!(some.effect(31), Effect::Quiet);
        assert_eq!(some.effect(48), Effect::Application);
        assert!(some.needs_monitoring() && !some.counts_events());
        let all = policy("all", "all");
        assert_eq!(all.effect(48), Effect::Reset);
        assert_eq!(all.effect(31), Effect::Quiet);
        assert!(all.counts_events());
    }

    #[test]
    fn invalid_xids_are_returned() {
        let config = HealthPolicy::default();
        let (_, unknown) = Policy::new(&config, Some("48,memory"), Some("-1"));
        assert_eq!(unknown, ["memory", "-1"]);
    }

    #[test]
    fn configuration_can_ignore_and_disable() {
        let config = HealthPolicy {
            ignored_xids: vec![94],
            ..HealthPolicy::default()
        };
        let ignoring = Policy::new(&config, None, None).0;
        assert_eq!(ignoring.effect(94), Effect::Application);
        let config = HealthPolicy {
            watch: false,
            ..HealthPolicy::default()
        };
        assert!(!Policy::new(&config, None, None).0.needs_monitoring());
    }

    #[test]
    fn quiet_time_doubles_up_to_the_maximum() {
        let policy = Policy::new(&HealthPolicy::default(), None, None).0;
        assert_eq!(policy.quiet_time(0), Some(60_000));
        assert_eq!(policy.quiet_time(1), Some(120_000));
        assert_eq!(policy.quiet_time(3), Some(480_000));
        assert_eq!(policy.quiet_time(40), Some(MAX_QUIET_TIME));
        assert_eq!(policy.quiet_time(u32::MAX), Some(MAX_QUIET_TIME));
        let config = HealthPolicy {
            quiet_seconds: None,
            ..HealthPolicy::default()
        };
        assert_eq!(Policy::new(&config, None, None).0.quiet_time(0), None);
    }
}
