//! Whether a Deployment creates new pods before it deletes old ones.
//!
//! Source: kubernetes `pkg/controller/deployment/util/deployment_util.go`, `ResolveFenceposts`, and
//! `pkg/apis/apps/v1/defaults.go`, `SetDefaults_Deployment` (from memory).

use gpuc_syntax::node::{Node, Scalar, Value};

/// The defaults of a rolling update.
pub struct RollingUpdateDefaults {
    /// Whether the default `maxSurge` allows at least one pod.
    pub allows_surge: bool,
    /// Whether the default `maxUnavailable` allows at least one pod.
    pub allows_unavailable: bool,
}

impl RollingUpdateDefaults {
    /// The defaults of Kubernetes: 25% each, `maxSurge` rounded up and `maxUnavailable` rounded down.
    pub fn kubernetes_defaults(pods: u64) -> Self {
        Self {
            allows_surge: true,
            allows_unavailable: pods >= 4,
        }
    }
}

/// Whether a rolling update of this many pods needs free capacity for an additional pod.
pub fn needs_extra_capacity(
    strategy: Option<&Node>,
    pods: u32,
    defaults: &RollingUpdateDefaults,
) -> bool {
    let kind = strategy.and_then(|strategy| strategy.get("type"));
    if pods == 0 || kind.and_then(Node::text) == Some("Recreate") {
        return false;
    }
    let rolling = strategy.and_then(|strategy| strategy.get("rollingUpdate"));
    let limit = |key: &str| rolling.and_then(|rolling| rolling.get(key));
    let surge = limit("maxSurge").map_or(Some(defaults.allows_surge), |it| {
        is_positive(it, pods, true)
    });
    let unavailable = limit("maxUnavailable").map_or(Some(defaults.allows_unavailable), |it| {
        is_positive(it, pods, false)
    });
    surge == Some(true) && unavailable == Some(false)
}

/// Whether a number or percentage of pods is at least one pod; `None` if the value is neither.
fn is_positive(written: &Node, pods: u32, round_up: bool) -> Option<bool> {
    if let Value::Scalar(Scalar::Integer(count)) = written.value {
        return Some(count > 0);
    }
    let text = written.text()?;
    if let Ok(count) = text.parse::<u64>() {
        return Some(count > 0);
    }
    let percent: u64 = text.strip_suffix('%')?.parse().ok()?;
    let scaled = percent.saturating_mul(pods.into());
    Some(if round_up { scaled > 0 } else { scaled >= 100 })
}
