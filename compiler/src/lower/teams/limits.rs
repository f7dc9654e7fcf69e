//! What a container gets that does not say, and the most that one may ask for: a `LimitRange`.
//!
//! Of a most for containers Kubernetes makes what every container asks for that says nothing. A most of GPUs therefore
//! comes with the default 0, and only where nobody takes that for a wish: [`Cluster::ranges_hold_gpus`].
//!
//! Source: `SetDefaults_LimitRangeItem` in kubernetes `pkg/apis/core/v1/defaults.go`, read 2026-11-21; that both
//! defaults of an extended resource are the same: `ValidateLimitRange` in `pkg/apis/core/validation/validation.go`.
//!
//! [`Cluster::ranges_hold_gpus`]: crate::model::Cluster::ranges_hold_gpus

use gpuc_schema::Span;
use gpuc_schema::config::Amounts;
use serde_json::{Map, Value, json};

use super::{COMPONENT, NAME, labels, places};
use crate::check::Checked;
use crate::model::Team;
use crate::node::Origin;
use crate::plan::Object;

/// The limits of a namespace; none where nothing is said and nothing has to be.
pub(super) fn object(cluster: &Checked<'_>, team: &Team, index: usize) -> Option<Object> {
    let limits = team.written.limits.as_ref();
    let most = limits.and_then(|it| it.max.clone()).unwrap_or_default();
    let default = limits.and_then(|it| it.default.clone()).unwrap_or_default();
    // What Kubernetes makes of a most by itself is written down, so that nobody sees a difference.
    let default = Amounts {
        cpu: default.cpu.or_else(|| most.cpu.clone()),
        memory: default.memory.or_else(|| most.memory.clone()),
    };
    let mut inputs: Vec<Span> = places(team, index).into();
    inputs.extend(limits.map(|it| it.span));
    let quotas = team.quota_of(index).into_iter();
    inputs.extend(quotas.flat_map(|it| it.cpu.iter().chain(&it.memory).map(|it| it.span)));
    let mut item = json!({"type": "Container"});
    for (key, amounts) in [
        ("default", &default),
        ("defaultRequest", &team.default_request),
        ("max", &most),
    ] {
        let mut amounts = amounts_of(amounts);
        let gpus = team.gpus_per_container();
        if let Some(gpus) = gpus.filter(|_| cluster.ranges_hold_gpus()) {
            let count = if key == "max" { gpus.value } else { 0 };
            let names = cluster.resources_of(team).into_iter();
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
    let why = "a container gets so much that says nothing, and may ask for no more than the most";
    Some(Object::new(COMPONENT, &object, Origin::rule(inputs, why)))
}

fn amounts_of(amounts: &Amounts) -> Map<String, Value> {
    let both = [("cpu", &amounts.cpu), ("memory", &amounts.memory)];
    let written = both.into_iter().filter_map(|(key, amount)| {
        let amount = amount.as_ref()?;
        Some((key.to_owned(), json!(amount.value.0)))
    });
    written.collect()
}
