//! Default requests and limits of containers, and their maximum: a LimitRange.
//!
//! Kubernetes uses the maximum as the default of containers that set no requests. A maximum of GPUs therefore comes
//! with the default 0, and only where no controller interprets that as a request: [`Cluster::can_limit_range_gpus`].
//!
//! Source: `SetDefaults_LimitRangeItem` in kubernetes `pkg/apis/core/v1/defaults.go`, read 2026-11-21; that both
//! defaults of an extended resource are the same: `ValidateLimitRange` in `pkg/apis/core/validation/validation.go`.
//!
//! [`Cluster::can_limit_range_gpus`]: gpuc_model::Cluster::can_limit_range_gpus

use gpuc_model::check::Checked;
use gpuc_model::plan::Object;
use gpuc_model::{Amounts, Team};
use gpuc_schema::Span;
use gpuc_syntax::node::Origin;
use serde_json::{Map, Value, json};

use super::{COMPONENT, NAME, labels, spans};

/// The LimitRange of a namespace; `None` if it would be empty.
pub(super) fn object(cluster: &Checked<'_>, team: &Team, index: usize) -> Option<Object> {
    let limits = team.limits.as_ref();
    let max = limits.and_then(|it| it.max.clone()).unwrap_or_default();
    let default = limits.and_then(|it| it.default.clone()).unwrap_or_default();
    // Kubernetes derives this default from the maximum. It is explicit so that the applied object shows no difference.
    let default = Amounts {
        cpu: default.cpu.or_else(|| max.cpu.clone()),
        memory: default.memory.or_else(|| max.memory.clone()),
    };
    let mut inputs: Vec<Span> = spans(team, index).into();
    inputs.extend(limits.map(|it| it.span));
    let quotas = team.namespace_quota(index).into_iter();
    inputs.extend(quotas.flat_map(|it| it.cpu.iter().chain(&it.memory).map(|it| it.span)));
    let mut item = json!({"type": "Container"});
    for (key, amounts) in [
        ("default", &default),
        ("defaultRequest", &team.default_request),
        ("max", &max),
    ] {
        let mut amounts = resource_amounts(amounts);
        let gpus = team.gpus_per_container();
        if let Some(gpus) = gpus.filter(|_| cluster.can_limit_range_gpus()) {
            let count = if key == "max" { gpus.value } else { 0 };
            let names = cluster.requestable_resources(team).into_iter();
            amounts.extend(names.map(|name| (name.to_owned(), json!(count.to_string()))));
        }
        if !amounts.is_empty() {
            item[key] = Value::Object(amounts);
        }
    }
    if item.as_object().is_none_or(|item| item.len() == 1) {
        return None;
    }
    let object = json!({
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": NAME, "namespace": team.namespaces[index].value, "labels": labels(team)},
        "spec": {"limits": [item]},
    });
    let reason = "defaults for containers that set no resources, and the maximum per container";
    Some(Object::new(
        COMPONENT,
        &object,
        Origin::rule(inputs, reason),
    ))
}

fn resource_amounts(amounts: &Amounts) -> Map<String, Value> {
    let cpu_and_memory = [("cpu", &amounts.cpu), ("memory", &amounts.memory)];
    cpu_and_memory
        .into_iter()
        .filter_map(|(key, amount)| Some((key.to_owned(), json!(amount.as_ref()?.text))))
        .collect()
}
