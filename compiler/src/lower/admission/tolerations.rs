//! A pod that tolerates the taints of no pool that has what it asks for: it waits for ever.
//!
//! Where Kueue decides, its flavors add tolerations to a job that it lets start, so that there is no such policy.

use gpuc_schema::config::TaintEffect;

use super::cel;
use super::{Demand, Policy, amounts};
use crate::check::Checked;
use crate::model::{Pool, PoolTaint, Toleration};

/// The policy.
pub(super) fn policy(cluster: &Checked<'_>) -> Policy {
    let mut variables = cel::variables();
    let list = "variables.spec.?tolerations.orValue([])".to_owned();
    variables.push(("tolerations".to_owned(), list));
    let offers = cel::offers(cluster).into_iter();
    let offers = offers.filter(|_| !cluster.has_queues());
    let demands = offers.filter_map(|(resource, pools)| {
        let pools: Vec<_> = pools.into_iter().map(|(pool, _)| pool).collect();
        of_resource(cluster, resource, &pools)
    });
    Policy {
        name: "gpuc-gpu-tolerations",
        refuses: true,
        spares_daemons: true,
        demands: demands.collect(),
        variables,
        why: "a tainted node takes only pods that tolerate its taints",
    }
}

/// Nothing where a pool takes every pod.
fn of_resource(cluster: &Checked<'_>, resource: &str, pools: &[&Pool]) -> Option<Demand> {
    let mut open: Vec<String> = Vec::new();
    let mut written: Vec<String> = Vec::new();
    for pool in pools {
        let taints = pool.taints.iter();
        let taints: Vec<_> = taints
            .filter(|it| keeps_away(cluster, resource, it))
            .collect();
        if taints.is_empty() {
            return None;
        }
        let all: Vec<_> = taints.iter().map(|taint| tolerated(taint)).collect();
        let all = all.join(" && ");
        if !open.contains(&all) {
            open.push(all);
            let needed = pool.tolerations.iter();
            let needed = needed.filter(|it| {
                let mut taints = taints.iter();
                taints.any(|taint| taint.key == it.key && taint.effect == it.effect)
            });
            let needed: Vec<_> = needed.map(flow).collect();
            written.push(format!("{} for pool {}", needed.join(", "), pool.name));
        }
    }
    let asks = format!(
        "{}.exists(count, count > 0)",
        amounts::counts("variables.containers", resource)
    );
    Some(Demand {
        expression: format!("!{asks} || {}", open.join(" || ")),
        message: format!(
            "asks for {resource} and tolerates the taints of no pool that offers it; add to tolerations: {}",
            written.join(", or ")
        ),
        saying: None,
    })
}

/// Whether a taint keeps pods away that ask for the resource. A cloud may add the toleration that is called like the
/// resource: Kubernetes' `ExtendedResourceToleration`.
fn keeps_away(cluster: &Checked<'_>, resource: &str, taint: &PoolTaint) -> bool {
    let is_added = cluster.cloud.facts().tolerates_resources
        && taint.key == resource
        && taint.effect == TaintEffect::NoSchedule;
    taint.effect != TaintEffect::PreferNoSchedule && !is_added
}

/// Whether a pod tolerates a taint, as the scheduler reads it. An operator that compares numbers may.
///
/// Source: kubernetes `staging/src/k8s.io/api/core/v1/toleration.go`, `ToleratesTaint` (from memory).
fn tolerated(taint: &PoolTaint) -> String {
    format!(
        "variables.tolerations.exists(t, t.?key.orValue('') in ['', {key}] && \
         t.?effect.orValue('') in ['', '{effect}'] && \
         (!(t.?operator.orValue('') in ['', 'Equal']) || t.?value.orValue('') == {value}))",
        key = cel::text(&taint.key),
        effect = word(taint.effect),
        value = cel::text(&taint.value),
    )
}

/// As it is written on a line.
fn flow(toleration: &Toleration) -> String {
    let (key, effect) = (&toleration.key, word(toleration.effect));
    if toleration.value.is_empty() {
        return format!("{{key: {key}, operator: Exists, effect: {effect}}}");
    }
    let value = &toleration.value;
    format!("{{key: {key}, operator: Equal, value: \"{value}\", effect: {effect}}}")
}

fn word(effect: TaintEffect) -> &'static str {
    match effect {
        TaintEffect::NoSchedule => "NoSchedule",
        TaintEffect::PreferNoSchedule => "PreferNoSchedule",
        TaintEffect::NoExecute => "NoExecute",
    }
}
