//! Policy against pods that do not tolerate the taints of any pool with the requested resource: they stay pending
//! indefinitely.
//!
//! With Kueue, flavors add tolerations to a job when it is admitted, so this policy is not created.

use gpuc_model::check::Checked;
use gpuc_model::{Pool, PoolTaint, Toleration};
use gpuc_schema::config::TaintEffect;

use super::amounts::{self, NodeAmount, RequestedVariables};
use super::{Denies, Policy, Validation, cel};

/// The policy.
pub(super) fn policy(cluster: &Checked<'_>) -> Policy {
    let mut variables = cel::variables();
    let list = "variables.spec.?tolerations.orValue([])".to_owned();
    variables.push(("tolerations".to_owned(), list));
    let advertised = cel::pools_by_resource(cluster).into_iter();
    let advertised = advertised.filter(|_| !cluster.has_queues());
    let mut validations = Vec::new();
    for (index, (resource, pools)) in advertised.enumerate() {
        let requested = RequestedVariables::new(index);
        if let Some(validation) = validation_for(cluster, &resource, &pools, &requested) {
            if have_different_amounts(&pools) {
                variables.extend(requested.definitions(&resource));
            }
            validations.push(validation);
        }
    }
    Policy {
        name: "gpuc-gpu-tolerations",
        denies: Denies::IfEnforced,
        exempts_daemon_sets: false,
        checks_running_pods: false,
        validations,
        variables,
        reason: "a tainted node accepts only pods that tolerate its taints",
    }
}

/// Whether nodes of these pools have different amounts of a resource. If so, a pod must tolerate the taints of a pool
/// that has as many as it requests.
fn have_different_amounts(pools: &[(&Pool, u32)]) -> bool {
    pools.iter().any(|(_, per_node)| *per_node != pools[0].1)
}

/// `None` if a pool has no taint that the pod must tolerate.
fn validation_for(
    cluster: &Checked<'_>,
    resource: &str,
    pools: &[(&Pool, u32)],
    requested: &RequestedVariables,
) -> Option<Validation> {
    let is_different = have_different_amounts(pools);
    let mut conditions: Vec<String> = Vec::new();
    // The tolerations, and the pools that require them.
    let mut suggestions: Vec<(String, Vec<String>)> = Vec::new();
    let mut fits: Vec<String> = Vec::new();
    for &(pool, per_node) in pools {
        let taints = pool.taints.iter();
        let taints: Vec<_> = taints
            .filter(|it| must_be_tolerated(cluster, resource, it))
            .collect();
        if taints.is_empty() {
            return None;
        }
        let all = taints.iter().map(|taint| toleration_condition(taint));
        let mut condition = all.collect::<Vec<_>>().join(" && ");
        let mut note = String::new();
        if is_different {
            let amount = NodeAmount::new(pool, resource, per_node);
            let fit = amount.fits(requested);
            condition = format!("{fit} && {condition}");
            note = if amount.is_shared {
                format!(", whose nodes have {per_node} replicas of GPUs, one per container")
            } else {
                format!(", whose nodes have {per_node}")
            };
            if !fits.contains(&fit) {
                fits.push(fit);
            }
        }
        if !conditions.contains(&condition) {
            conditions.push(condition);
            let tolerations = pool.tolerations.iter();
            let tolerations = tolerations.filter(|it| {
                let mut taints = taints.iter();
                taints.any(|taint| taint.key == it.key && taint.effect == it.effect)
            });
            let tolerations: Vec<_> = tolerations.map(flow_style).collect();
            let (tolerations, name) = (tolerations.join(", "), format!("{}{note}", pool.name));
            match suggestions
                .iter_mut()
                .find(|(same, _)| *same == tolerations)
            {
                Some((_, names)) => names.push(name),
                None => suggestions.push((tolerations, vec![name])),
            }
        }
    }
    let requests = format!(
        "{}.exists(count, count > 0)",
        amounts::requested_amounts("variables.containers", resource)
    );
    let mut expression = format!("!{requests} || {}", conditions.join(" || "));
    if is_different {
        // Another policy reports a request that no node has.
        expression = format!("{expression} || !({})", fits.join(" || "));
    }
    let enough = if is_different {
        "has enough of it"
    } else {
        "advertises it"
    };
    let suggestions = suggestions
        .iter()
        .map(|(tolerations, names)| format!("{tolerations} for pool {}", names.join(", or ")));
    let suggestions: Vec<_> = suggestions.collect();
    Some(Validation {
        expression,
        message: format!(
            "requests {resource} and does not tolerate the taints of any pool that {enough}; add to tolerations: {}",
            suggestions.join(", or ")
        ),
        message_expression: None,
    })
}

/// Whether a taint repels pods that request the resource. A cloud may add the toleration with the name of the resource:
/// Kubernetes' admission plugin `ExtendedResourceToleration`.
fn must_be_tolerated(cluster: &Checked<'_>, resource: &str, taint: &PoolTaint) -> bool {
    let is_added = cluster.cloud.facts().tolerates_requested_resources
        && taint.key == resource
        && taint.effect == TaintEffect::NoSchedule;
    taint.effect != TaintEffect::PreferNoSchedule && !is_added
}

/// The CEL expression for whether a pod tolerates a taint, by the rules of the scheduler. An operator that compares
/// numbers counts as tolerating.
///
/// Source: kubernetes `staging/src/k8s.io/api/core/v1/toleration.go`, `ToleratesTaint` (from memory).
fn toleration_condition(taint: &PoolTaint) -> String {
    format!(
        "variables.tolerations.exists(t, t.?key.orValue('') in ['', {key}] && \
         t.?effect.orValue('') in ['', '{effect}'] && \
         (!(t.?operator.orValue('') in ['', 'Equal']) || t.?value.orValue('') == {value}))",
        key = cel::string_literal(&taint.key),
        effect = taint.effect.as_str(),
        value = cel::string_literal(&taint.value),
    )
}

/// A toleration in YAML flow style.
fn flow_style(toleration: &Toleration) -> String {
    let (key, effect) = (&toleration.key, toleration.effect.as_str());
    if toleration.value.is_empty() {
        return format!("{{key: {key}, operator: Exists, effect: {effect}}}");
    }
    let value = &toleration.value;
    format!("{{key: {key}, operator: Equal, value: \"{value}\", effect: {effect}}}")
}
