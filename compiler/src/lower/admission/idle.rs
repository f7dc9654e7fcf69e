//! A pod that asks for no GPU and tolerates the taint of GPU nodes: it takes their CPU and memory, and keeps an
//! autoscaler from removing them. It runs, so that it is said and not refused.

use std::collections::BTreeSet;

use gpuc_schema::config::TaintEffect;

use super::cel;
use super::{Demand, Policy};
use crate::check::Checked;
use crate::model::POOL_LABEL;

/// The policy.
pub(super) fn policy(cluster: &Checked<'_>) -> Policy {
    let keys = |with_gpus: bool| {
        let pools = cluster.pools.iter();
        let pools = pools.filter(move |pool| pool.has_gpus() == with_gpus);
        let taints = pools.flat_map(|pool| &pool.taints);
        let taints = taints.filter(|taint| taint.effect != TaintEffect::PreferNoSchedule);
        let keys: BTreeSet<&str> = taints.map(|taint| taint.key.as_str()).collect();
        keys
    };
    let of_gpus: Vec<_> = keys(true).difference(&keys(false)).copied().collect();
    let selectors = cluster.pools.iter().flat_map(|pool| &pool.selector);
    let chosen: BTreeSet<&str> = selectors
        .map(|label| label.key.as_str())
        .chain([POOL_LABEL])
        .collect();
    let mut variables = cel::variables();
    variables.push((
        "useless".to_owned(),
        format!(
            "variables.spec.?tolerations.orValue([]).filter(t, t.?key.orValue('') in {})",
            cel::texts(&of_gpus)
        ),
    ));
    let demand = Demand {
        expression: format!(
            "size(variables.useless) == 0 || {} || has(variables.spec.affinity) && \
             has(variables.spec.affinity.nodeAffinity) || \
             variables.spec.?nodeSelector.orValue({{}}).exists(key, key in {})",
            cel::asks_for_gpus(),
            cel::texts(&chosen)
        ),
        message: "asks for no GPU and tolerates the taint of GPU nodes; remove the toleration, or ask for a GPU in \
                  resources.limits"
            .to_owned(),
        saying: Some(
            "'asks for no GPU and tolerates ' + string(variables.useless[0].key) + \
             ', the taint of GPU nodes; remove the toleration, or ask for a GPU in resources.limits'"
                .to_owned(),
        ),
    };
    Policy {
        name: "gpuc-gpu-idle",
        refuses: false,
        spares_daemons: true,
        variables,
        demands: Some(demand)
            .filter(|_| !of_gpus.is_empty())
            .into_iter()
            .collect(),
        why: "nodes with GPUs are for pods with GPUs",
    }
}
