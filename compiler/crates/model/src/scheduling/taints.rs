//! Matching of taints and tolerations, as in the scheduler.
//!
//! Source: kubernetes `staging/src/k8s.io/api/core/v1/toleration.go` (`ToleratesTaint`): an empty effect matches every
//! effect, an empty key matches every key, `Exists` ignores the value, and no operator is `Equal`. Only taints that
//! keep pods from being scheduled count: `pkg/scheduler/framework/plugins/tainttoleration`, its `Filter`.

use gpuc_schema::config::TaintEffect;

use super::demand::PodToleration;
use crate::PoolTaint;

/// Whether a toleration matches a taint of a pool.
pub fn tolerates(toleration: &PodToleration, taint: &PoolTaint) -> bool {
    matches_taint(toleration, &taint.key, &taint.value, taint.effect.as_str())
}

/// Whether a toleration matches a taint with this key, value and effect.
pub fn matches_taint(toleration: &PodToleration, key: &str, value: &str, effect: &str) -> bool {
    let matches_effect = toleration.effect.is_empty() || toleration.effect == effect;
    let matches_key = toleration.key.is_empty() || toleration.key == key;
    matches_effect && matches_key && (toleration.matches_any_value || toleration.value == value)
}

/// The taints that repel a pod with these tolerations.
pub(super) fn untolerated<'p>(
    taints: &'p [PoolTaint],
    tolerations: &[PodToleration],
) -> Vec<&'p PoolTaint> {
    let repels = |taint: &&PoolTaint| {
        taint.effect != TaintEffect::PreferNoSchedule
            && !tolerations.iter().any(|it| tolerates(it, taint))
    };
    taints.iter().filter(repels).collect()
}
