//! The taints of a pool's nodes, and what tolerates them.

use gpuc_schema::config::{DevicePlugin, TaintEffect};
use gpuc_schema::node_config::STARTUP_TAINT;

use crate::cloud::Cloud;
use crate::model::{DEDICATED_TO, Pool, PoolTaint, SetBy, Sharing, Toleration};
use crate::node::{Because, Origin};

/// The taints that follow from the pool itself.
pub(super) fn of(pool: &Pool) -> Vec<PoolTaint> {
    let mut taints = Vec::new();
    let written = pool.written.taints.iter().map(|taint| &taint.value);
    let written = written.map(|taint| PoolTaint {
        key: taint.key.value.clone(),
        value: taint.value.value.clone(),
        effect: taint.effect.value,
        set_by: SetBy::Gpuc,
        span: taint.key.span,
        origin: Origin::made(
            [taint.key.span, taint.value.span, taint.effect.span],
            Because::Written,
        ),
    });
    let dedicated = pool.written.dedicated_to.iter().map(|whom| PoolTaint {
        key: DEDICATED_TO.to_owned(),
        value: whom.value.clone(),
        effect: TaintEffect::NoSchedule,
        set_by: SetBy::Gpuc,
        span: whom.span,
        origin: Origin::rule([whom.span], "a dedicated pool keeps others away"),
    });
    add(&mut taints, written.chain(dedicated));
    taints
}

/// The taint that keeps pods away until gpuc-runtime has cut a node's GPUs, where nodes can have one that stays off
/// once it is taken off. The nodes of pools made by hand are their maker's.
pub(super) fn startup(pool: &Pool, cloud: &dyn Cloud) -> Option<PoolTaint> {
    let source = cloud.facts().startup_taints?;
    let by_us = pool.is_advertised_by(DevicePlugin::Gpuc) && pool.has_gpus() && !pool.is_existing();
    let is_mig = matches!(pool.sharing.get(), Some(Sharing::Mig { .. }));
    (by_us && is_mig && !cloud.cuts_gpus(pool)).then(|| PoolTaint {
        key: STARTUP_TAINT.to_owned(),
        value: "starting".to_owned(),
        effect: TaintEffect::NoSchedule,
        set_by: SetBy::Gpuc,
        span: pool.written.sharing.span,
        origin: Origin::fact(
            [pool.written.sharing.span, pool.plugin.span],
            "a node whose GPUs gpuc-runtime has yet to cut keeps pods away until it has",
            source,
        ),
    })
}

/// Adds taints, by key and effect. One that is there already stays as it is: a node has one taint of a key and effect.
pub(super) fn add(taints: &mut Vec<PoolTaint>, more: impl IntoIterator<Item = PoolTaint>) {
    for taint in more {
        let same = |other: &PoolTaint| other.key == taint.key && other.effect == taint.effect;
        if !taints.iter().any(same) {
            taints.push(taint);
        }
    }
    taints.sort_by(|a, b| (&a.key, a.effect).cmp(&(&b.key, b.effect)));
}

/// What a pod that must run on the nodes says: one toleration for each taint that would keep it away.
pub(super) fn tolerations(taints: &[PoolTaint]) -> Vec<Toleration> {
    let keeps_away = |taint: &&PoolTaint| taint.effect != TaintEffect::PreferNoSchedule;
    let toleration = |taint: &PoolTaint| Toleration {
        key: taint.key.clone(),
        value: taint.value.clone(),
        effect: taint.effect,
        origin: Origin::rule(
            taint.origin.inputs().iter().copied(),
            "what must run on a tainted node tolerates its taint",
        ),
    };
    taints.iter().filter(keeps_away).map(toleration).collect()
}
