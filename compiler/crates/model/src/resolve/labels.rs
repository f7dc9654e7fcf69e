//! The labels of the nodes of a pool, and the labels that select them.

use gpuc_schema::Spanned;
use gpuc_schema::config::{Autoscaler, DevicePlugin};
use gpuc_syntax::node::{DerivationReason, Origin};

use crate::cloud::Cloud;
use crate::{DEDICATED_TO, Label, MPS_CAPABLE, POOL_LABEL, PoolSpec, Sharing, operator};

/// The labels that gpuc sets on the nodes, by key. gpuc does not label the nodes of existing pools.
pub(super) fn effective_labels(
    cloud: &dyn Cloud,
    autoscaler: Spanned<Autoscaler>,
    pool: &PoolSpec,
    uses_operator: bool,
) -> Vec<Label> {
    if pool.is_existing() {
        return cloud.required_labels(autoscaler, pool);
    }
    let mut labels = own_labels(pool);
    labels.extend(cloud.required_labels(autoscaler, pool));
    if uses_operator {
        // A rule checks the labels of the operator that the user set.
        let mut operands = operator::operand_labels(cloud, pool);
        operands.retain(|new| labels.iter().all(|label| label.key != new.key));
        labels.extend(operands);
    }
    labels.sort_by(|a, b| a.key.cmp(&b.key));
    labels
}

/// The labels that follow from the pool itself.
fn own_labels(pool: &PoolSpec) -> Vec<Label> {
    let name = Label {
        key: POOL_LABEL.to_owned(),
        value: pool.name.value.clone(),
        origin: Origin::rule(
            [pool.name.span],
            "every node has the name of its pool as a label",
        ),
    };
    let dedicated = pool.settings.dedicated_to.iter().map(|team| Label {
        key: DEDICATED_TO.to_owned(),
        value: team.value.clone(),
        origin: Origin::rule(
            [team.span],
            "the nodes of a dedicated pool are labelled with its purpose",
        ),
    });
    let by_user = pool.user_labels.iter().map(|(key, value)| Label {
        key: key.value.clone(),
        value: value.value.clone(),
        origin: Origin::derived([key.span, value.span], DerivationReason::Written),
    });
    let by_nvidia = pool.is_advertised_by(DevicePlugin::Nvidia);
    let is_mps = matches!(pool.sharing.get(), Some(Sharing::Mps { .. }));
    let is_set_by_user = pool.user_labels.keys().any(|key| **key == MPS_CAPABLE);
    let mps = (by_nvidia && is_mps && !is_set_by_user).then(|| Label {
        key: MPS_CAPABLE.to_owned(),
        value: "true".to_owned(),
        origin: Origin::fact(
            [pool.plugin.span, pool.sharing_span],
            "the MPS control daemon of NVIDIA's chart runs only on nodes with this label",
            "NVIDIA/k8s-device-plugin@v0.20.0 daemonset-mps-control-daemon.yml",
        ),
    });
    std::iter::once(name)
        .chain(dedicated)
        .chain(mps)
        .chain(by_user)
        .collect()
}

/// The labels that select the nodes of a pool with these labels.
pub(super) fn node_selector(pool: &PoolSpec, labels: &[Label]) -> Vec<Label> {
    let Some(existing) = &pool.settings.existing else {
        let is_pool = |label: &&Label| label.key == POOL_LABEL;
        return labels.iter().filter(is_pool).cloned().collect();
    };
    let label = |(key, value): (&Spanned<String>, &Spanned<String>)| Label {
        key: key.value.clone(),
        value: value.value.clone(),
        origin: Origin::derived([key.span, value.span], DerivationReason::Written),
    };
    existing.selector.iter().map(label).collect()
}
