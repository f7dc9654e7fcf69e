//! A scheduler for one pod and one node, implemented from the documentation of Kubernetes for objects of the Kubernetes
//! API. It uses no code of gpuc.
//!
//! <https://kubernetes.io/docs/concepts/scheduling-eviction/>,
//! <https://kubernetes.io/docs/concepts/workloads/pods/init-containers/#resource-sharing-within-containers>
//! and <https://kubernetes.io/docs/concepts/workloads/pods/sidecar-containers/>, read 2026-11-21.

use std::collections::BTreeMap;

use serde_json::Value;

/// The properties of a node that the scheduler uses.
#[derive(Clone, Debug, Default)]
pub(super) struct Node {
    pub(super) labels: BTreeMap<String, String>,
    /// Key, value and effect.
    pub(super) taints: Vec<(String, String, String)>,
    /// In thousandths of a core, of a byte, or of a device.
    pub(super) allocatable: BTreeMap<String, u128>,
}

/// Whether the scheduler can bind the pod to the node.
pub(super) fn fits(pod: &Value, node: &Node) -> bool {
    resources_fit(pod, node) && taints_tolerated(pod, node) && affinity_matches(pod, node)
}

/// The number of identical pods that fit on identical nodes, placed one after the other.
pub(super) fn placeable_pods(pod: &Value, node: &Node, nodes: usize, apart: bool) -> u64 {
    let mut placed = 0;
    for _ in 0..nodes {
        let mut left = node.clone();
        while fits(pod, &left) {
            placed += 1;
            for (name, amount) in pod_requests(pod) {
                if let Some(rest) = left.allocatable.get_mut(&name) {
                    *rest -= amount;
                }
            }
            if apart || placed > 10_000 {
                break;
            }
        }
    }
    placed
}

fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

fn text_of<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

/// A quantity in thousandths. Supports only the formats in these tests: numbers, `m`, and powers of 1000 and 1024.
fn amount(value: &Value) -> u128 {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let units = [
        ("m", 1),
        ("Mi", 1000 << 20),
        ("Gi", 1000 << 30),
        ("Ti", 1000 << 40),
        ("G", 1_000_000_000_000),
        ("", 1000),
    ];
    let mut units = units.iter();
    let (digits, unit) = units
        .find_map(|(suffix, unit)| Some((text.strip_suffix(suffix)?, *unit)))
        .unwrap();
    let (integer, part) = digits.split_once('.').unwrap_or((digits, "0"));
    let number = |digits: &str| digits.parse::<u128>().unwrap();
    let tens = 10_u128.pow(u32::try_from(part.len()).unwrap());
    number(integer) * unit + (number(part) * unit).div_ceil(tens)
}

/// A container's effective requests: its requests, or its limits for resources without a request.
fn container_requests(container: &Value, name: &str) -> u128 {
    let resources = &container["resources"];
    let values = [&resources["requests"][name], &resources["limits"][name]];
    let mut values = values.into_iter().filter(|value| !value.is_null());
    values.next().map_or(0, amount)
}

/// A pod's effective requests: the maximum of its init phase and its running phase.
pub(crate) fn pod_requests(pod: &Value) -> BTreeMap<String, u128> {
    let inits = list(pod, "initContainers");
    let containers = list(pod, "containers");
    let mut names = Vec::new();
    for container in inits.iter().chain(containers) {
        for key in ["requests", "limits"] {
            let values = container["resources"][key].as_object();
            names.extend(values.into_iter().flat_map(|values| values.keys().cloned()));
        }
    }
    let overhead = pod["overhead"].as_object();
    names.extend(
        overhead
            .into_iter()
            .flat_map(|values| values.keys().cloned()),
    );
    let mut requests = BTreeMap::new();
    for name in names {
        // The phases of the pod's lifecycle, each with the total request of the running containers.
        let mut moments = Vec::new();
        let mut running = 0;
        for init in inits {
            let own = container_requests(init, &name);
            moments.push(running + own);
            if text_of(init, "restartPolicy") == "Always" {
                running += own;
            }
        }
        let main: u128 = containers
            .iter()
            .map(|it| container_requests(it, &name))
            .sum();
        moments.push(running + main);
        let overhead = &pod["overhead"][&name];
        let overhead = if overhead.is_null() {
            0
        } else {
            amount(overhead)
        };
        let worst = moments.into_iter().max().unwrap_or(0);
        requests.insert(name, worst + overhead);
    }
    requests
}

fn resources_fit(pod: &Value, node: &Node) -> bool {
    pod_requests(pod).into_iter().all(|(name, request)| {
        let has = node.allocatable.get(&name).copied().unwrap_or(0);
        request <= has
    })
}

fn taints_tolerated(pod: &Value, node: &Node) -> bool {
    let hard = node.taints.iter();
    let mut hard = hard.filter(|(_, _, effect)| effect != "PreferNoSchedule");
    hard.all(|taint| {
        let mut tolerations = list(pod, "tolerations").iter();
        tolerations.any(|toleration| tolerates(toleration, taint))
    })
}

fn tolerates(toleration: &Value, (key, value, effect): &(String, String, String)) -> bool {
    let exists = text_of(toleration, "operator") == "Exists";
    if !text_of(toleration, "effect").is_empty() && text_of(toleration, "effect") != effect {
        return false;
    }
    match text_of(toleration, "key") {
        "" => exists,
        own if own != key => false,
        _ if exists => true,
        _ => text_of(toleration, "value") == value,
    }
}

fn affinity_matches(pod: &Value, node: &Node) -> bool {
    let selector = pod["nodeSelector"].as_object().into_iter().flatten();
    for (key, value) in selector {
        if node.labels.get(key).map(String::as_str) != value.as_str() {
            return false;
        }
    }
    let required =
        &pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    if required.is_null() {
        return true;
    }
    list(required, "nodeSelectorTerms").iter().any(|term| {
        let expressions = list(term, "matchExpressions");
        let mut all = expressions.iter();
        !expressions.is_empty() && all.all(|expression| matches_expression(expression, node))
    })
}

fn matches_expression(expression: &Value, node: &Node) -> bool {
    let label = node.labels.get(text_of(expression, "key"));
    let values: Vec<_> = list(expression, "values")
        .iter()
        .map(|value| value.as_str().unwrap_or_default())
        .collect();
    let number = |text: &str| text.parse::<i64>().ok();
    match text_of(expression, "operator") {
        "In" => label.is_some_and(|label| values.contains(&label.as_str())),
        "NotIn" => label.is_none_or(|label| !values.contains(&label.as_str())),
        "Exists" => label.is_some(),
        "DoesNotExist" => label.is_none(),
        comparison => {
            let Some((label, bound)) = label
                .and_then(|label| number(label))
                .zip(values.first().and_then(|bound| number(bound)))
            else {
                return false;
            };
            match comparison {
                "Gt" => label > bound,
                "Lt" => label < bound,
                other => panic!("unknown operator {other}"),
            }
        }
    }
}
