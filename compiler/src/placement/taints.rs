//! Taints and tolerations, as the scheduler reads them.
//!
//! Source: kubernetes `staging/src/k8s.io/api/core/v1/toleration.go` (`ToleratesTaint`): an empty effect is every
//! effect, an empty key is every key, `Exists` looks at no value, and no operator is `Equal`. Only taints that keep
//! pods from being scheduled count: `pkg/scheduler/framework/plugins/tainttoleration`, its `Filter`.

use gpuc_schema::config::TaintEffect;

use super::demand::Tolerated;
use crate::model::PoolTaint;

/// Whether a toleration lets a pod onto a node with this taint.
pub fn tolerates(toleration: &Tolerated, taint: &PoolTaint) -> bool {
    let effect = toleration.effect.is_empty() || toleration.effect == effect(taint.effect);
    let key = toleration.key.is_empty() || toleration.key == taint.key;
    effect && key && (toleration.exists || toleration.value == taint.value)
}

/// The taints that keep such a pod away.
pub(super) fn untolerated<'p>(
    taints: &'p [PoolTaint],
    tolerations: &[Tolerated],
) -> Vec<&'p PoolTaint> {
    let keeps_away = |taint: &&PoolTaint| {
        taint.effect != TaintEffect::PreferNoSchedule
            && !tolerations.iter().any(|it| tolerates(it, taint))
    };
    taints.iter().filter(keeps_away).collect()
}

/// As Kubernetes writes it.
pub(super) fn effect(effect: TaintEffect) -> &'static str {
    match effect {
        TaintEffect::NoSchedule => "NoSchedule",
        TaintEffect::PreferNoSchedule => "PreferNoSchedule",
        TaintEffect::NoExecute => "NoExecute",
    }
}
