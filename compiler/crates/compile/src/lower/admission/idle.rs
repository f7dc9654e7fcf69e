//! Policy against pods that request no GPU and tolerate the taint of GPU nodes, and against pods that bypass the
//! scheduler: they take CPU and memory there, and keep an autoscaler from removing the nodes. Such a pod runs, so the
//! policy warns instead of denying it.

use std::collections::BTreeSet;

use gpuc_model::POOL_LABEL;
use gpuc_model::check::Checked;
use gpuc_schema::config::TaintEffect;

use super::{Denies, Policy, Validation, cel};

/// Whether the toleration `t` matches every taint that keeps pods off a node.
const TOLERATES_EVERYTHING: &str = "(t.?key.orValue('') == '' && t.?operator.orValue('') == 'Exists' && \
     t.?effect.orValue('') in ['', 'NoSchedule'])";

/// The policy.
pub(super) fn policy(cluster: &Checked<'_>) -> Policy {
    let taint_keys = |with_gpus: bool| {
        let pools = cluster.pools.iter();
        let pools = pools.filter(move |pool| pool.has_gpus() == with_gpus);
        let taints = pools.flat_map(|pool| &pool.taints);
        let taints = taints.filter(|taint| taint.effect != TaintEffect::PreferNoSchedule);
        let taint_keys: BTreeSet<&str> = taints.map(|taint| taint.key.as_str()).collect();
        taint_keys
    };
    let gpu_taints: Vec<_> = taint_keys(true)
        .difference(&taint_keys(false))
        .copied()
        .collect();
    let selectors = cluster.pools.iter().flat_map(|pool| &pool.selector);
    let selector_keys: BTreeSet<&str> = selectors
        .map(|label| label.key.as_str())
        .chain([POOL_LABEL])
        .collect();
    let mut variables = cel::variables();
    variables.push((
        "useless".to_owned(),
        format!(
            "variables.spec.?tolerations.orValue([]).filter(t, t.?key.orValue('') in {} || {TOLERATES_EVERYTHING})",
            cel::string_list(&gpu_taints)
        ),
    ));
    let validation = Validation {
        expression: format!(
            "size(variables.useless) == 0 || {} || has(variables.spec.affinity) && \
             has(variables.spec.affinity.nodeAffinity) || \
             variables.spec.?nodeSelector.orValue({{}}).exists(key, key in {})",
            cel::gpu_request_condition(),
            cel::string_list(&selector_keys)
        ),
        message: "requests no GPU and tolerates the taint of GPU nodes; remove the toleration, or request a GPU in \
                  resources.limits"
            .to_owned(),
        message_expression: Some(
            "'requests no GPU and tolerates ' + \
             (variables.useless[0].?key.orValue('') == '' ? 'every taint, also that of GPU nodes' : \
             string(variables.useless[0].key) + ', the taint of GPU nodes') + \
             '; remove the toleration, or request a GPU in resources.limits'"
                .to_owned(),
        ),
    };
    let bypass = Validation {
        expression: "request.operation != 'CREATE' && object.kind == 'Pod' || !has(variables.spec.nodeName)".to_owned(),
        message: "sets nodeName, so the scheduler checks neither the taints of the node nor its free GPUs; use \
                  nodeSelector"
            .to_owned(),
        message_expression: None,
    };
    Policy {
        name: "gpuc-gpu-idle",
        denies: Denies::Never,
        exempts_daemon_sets: true,
        checks_running_pods: true,
        variables,
        validations: Some(validation)
            .filter(|_| !gpu_taints.is_empty())
            .into_iter()
            .chain(cluster.gpu_pools().next().map(|_| bypass))
            .collect(),
        reason: "GPU nodes are for pods that request GPUs",
    }
}
