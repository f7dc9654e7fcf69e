//! Whether a Deployment makes new pods before it takes old ones away.
//!
//! Source: kubernetes `pkg/controller/deployment/util/deployment_util.go`, `ResolveFenceposts`, and
//! `pkg/apis/apps/v1/defaults.go`, `SetDefaults_Deployment` (from memory).

use crate::node::{Node, Scalar, Value};

/// What is so where nothing is written.
pub(crate) struct Usual {
    /// Whether a pod comes more than there are.
    pub(crate) surges: bool,
    /// Whether one may be away.
    pub(crate) may_lack: bool,
}

impl Usual {
    /// A quarter each, of the first rounded up.
    pub(crate) fn of_kubernetes(pods: u64) -> Self {
        Self {
            surges: true,
            may_lack: pods >= 4,
        }
    }
}

/// Whether so many pods with this strategy need room for one more when they change.
pub(crate) fn needs_room(strategy: Option<&Node>, pods: u32, usual: &Usual) -> bool {
    let kind = strategy.and_then(|strategy| strategy.get("type"));
    if pods == 0 || kind.and_then(Node::text) == Some("Recreate") {
        return false;
    }
    let rolling = strategy.and_then(|strategy| strategy.get("rollingUpdate"));
    let of = |key: &str| rolling.and_then(|rolling| rolling.get(key));
    let surge = of("maxSurge").map_or(Some(usual.surges), |it| is_some(it, pods, true));
    let away = of("maxUnavailable").map_or(Some(usual.may_lack), |it| is_some(it, pods, false));
    surge == Some(true) && away == Some(false)
}

/// Whether a number of pods, or a part of them in percent, is one pod at least; nothing where it is neither.
fn is_some(written: &Node, pods: u32, up: bool) -> Option<bool> {
    if let Value::Scalar(Scalar::Integer(count)) = written.value {
        return Some(count > 0);
    }
    let text = written.text()?;
    if let Ok(count) = text.parse::<u64>() {
        return Some(count > 0);
    }
    let percent: u64 = text.strip_suffix('%')?.parse().ok()?;
    let part = percent.saturating_mul(pods.into());
    Some(if up { part > 0 } else { part >= 100 })
}
