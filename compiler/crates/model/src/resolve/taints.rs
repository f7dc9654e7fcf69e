//! The taints of the nodes of a pool, and the tolerations for them.

use gpuc_schema::config::{DevicePlugin, TaintEffect};
use gpuc_schema::node_config::STARTUP_TAINT;
use gpuc_syntax::node::{DerivationReason, Origin};

use crate::cloud::Cloud;
use crate::{DEDICATED_TO, PoolSpec, PoolTaint, SetBy, Sharing, Toleration};

/// All taints of the nodes, by key and effect. A taint of the pool takes precedence over another one of the cloud. A
/// taint that the cloud sets in any case is the cloud's, so that gpuc does not set it too.
pub(super) fn effective_taints(cloud: &dyn Cloud, pool: &PoolSpec) -> Vec<PoolTaint> {
    let automatic = cloud.automatic_taints(pool);
    let is_automatic = |taint: &PoolTaint| automatic.iter().any(|other| other.is_same(taint));
    let mut taints = own_taints(pool);
    taints.retain(|taint| !is_automatic(taint));
    add_missing(&mut taints, automatic);
    taints
}

/// The taints that follow from the pool itself.
fn own_taints(pool: &PoolSpec) -> Vec<PoolTaint> {
    let mut taints = Vec::new();
    let user_taints = pool.user_taints.iter().map(|taint| &taint.value);
    let by_user = user_taints.map(|taint| PoolTaint {
        key: taint.key.value.clone(),
        value: taint.value.value.clone(),
        effect: taint.effect.value,
        set_by: SetBy::Gpuc,
        span: taint.key.span,
        origin: Origin::derived(
            [taint.key.span, taint.value.span, taint.effect.span],
            DerivationReason::Written,
        ),
    });
    let dedicated = pool.settings.dedicated_to.iter().map(|team| PoolTaint {
        key: DEDICATED_TO.to_owned(),
        value: team.value.clone(),
        effect: TaintEffect::NoSchedule,
        set_by: SetBy::Gpuc,
        span: team.span,
        origin: Origin::rule(
            [team.span],
            "the taint of a dedicated pool repels other pods",
        ),
    });
    add_missing(&mut taints, by_user.chain(dedicated));
    taints
}

/// The taint that repels pods until gpuc-runtime has partitioned the GPUs of a node, on clouds whose nodes can have a
/// taint that is not restored after its removal. gpuc does not taint the nodes of existing pools.
pub(super) fn startup_taint(pool: &PoolSpec, cloud: &dyn Cloud) -> Option<PoolTaint> {
    let source = cloud.facts().startup_taints_source?;
    let is_partitioned_by_gpuc =
        pool.is_advertised_by(DevicePlugin::Gpuc) && pool.has_gpus() && !pool.is_existing();
    let is_mig = matches!(pool.sharing.get(), Some(Sharing::Mig { .. }));
    (is_partitioned_by_gpuc && is_mig && !cloud.partitions_gpus(pool)).then(|| PoolTaint {
        key: STARTUP_TAINT.to_owned(),
        value: "starting".to_owned(),
        effect: TaintEffect::NoSchedule,
        set_by: SetBy::Gpuc,
        span: pool.sharing_span,
        origin: Origin::fact(
            [pool.sharing_span, pool.plugin.span],
            "the taint repels pods until gpuc-runtime has partitioned the GPUs of the node",
            source,
        ),
    })
}

/// Adds taints, by key and effect. An existing taint is kept: a node has one taint with a key and an effect.
fn add_missing(taints: &mut Vec<PoolTaint>, more: impl IntoIterator<Item = PoolTaint>) {
    for taint in more {
        let has_same_key_and_effect =
            |other: &PoolTaint| other.key == taint.key && other.effect == taint.effect;
        if !taints.iter().any(has_same_key_and_effect) {
            taints.push(taint);
        }
    }
    taints.sort_by(|a, b| (&a.key, a.effect).cmp(&(&b.key, b.effect)));
}

/// The tolerations of a pod that must run on the nodes: one for each taint that would repel it.
pub(super) fn tolerations(taints: &[PoolTaint]) -> Vec<Toleration> {
    let repels = |taint: &&PoolTaint| taint.effect != TaintEffect::PreferNoSchedule;
    let toleration = |taint: &PoolTaint| Toleration {
        key: taint.key.clone(),
        value: taint.value.clone(),
        effect: taint.effect,
        origin: Origin::rule(
            taint.origin.inputs().iter().copied(),
            "a pod that must run on a tainted node tolerates its taint",
        ),
    };
    taints.iter().filter(repels).map(toleration).collect()
}
