//! When Karpenter makes a node of a pool, what it is called, and when it goes again.
//!
//! Shape: `NodePool` of aws/karpenter-provider-aws@v1.14.1 `pkg/apis/crds`, 2026-08-20; what each field does:
//! website/content/en/v1.14/concepts/nodepools.md and disruption.md there, read 2026-11-21.

use gpuc_schema::config::Capacity;
use serde_json::{Map, Value, json};

use super::super::node_group::{NodeGroup, effect_name};
use super::COMPONENT;
use crate::check::Checked;
use crate::model::{Pool, PoolTaint, SetBy};
use crate::node::Origin;
use crate::plan::Object;

/// How long nothing may run on a node before it goes.
const IDLE: &str = "10m";

/// The NodePool of a pool.
pub(super) fn object(checked: &Checked<'_>, pool: &Pool) -> Object {
    let group = NodeGroup::new(checked, pool);
    let unavailable = group.max_unavailable();
    let labels: Map<_, _> = pool
        .labels
        .iter()
        .map(|label| (label.key.clone(), json!(label.value)))
        .collect();
    let mut template = json!({
        "nodeClassRef": {
            "group": "karpenter.k8s.aws",
            "kind": "EC2NodeClass",
            "name": pool.name.value,
        },
        "requirements": requirements(&group),
    });
    let lasting = pool.taints.iter();
    let lasting: Vec<_> = lasting
        .filter(|taint| taint.set_by == SetBy::Gpuc)
        .map(taint)
        .collect();
    if !lasting.is_empty() {
        template["taints"] = json!(lasting);
    }
    if let Some(startup) = &pool.startup_taint {
        template["startupTaints"] = json!([taint(startup)]);
    }
    let has_gpus = pool.has_gpus();
    if has_gpus {
        // A job that runs for weeks must not be ended because of its node's age; and without a limit to draining nothing
        // ends a pod that asks not to be disturbed.
        template["expireAfter"] = json!("Never");
    } else {
        template["expireAfter"] = json!("720h");
        template["terminationGracePeriod"] = json!("24h");
    }
    // What runs on GPUs is not moved to save machines.
    let policy = if has_gpus {
        "WhenEmpty"
    } else {
        "WhenEmptyOrUnderutilized"
    };
    let object = json!({
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": pool.name.value},
        "spec": {
            "template": {"metadata": {"labels": labels}, "spec": template},
            "disruption": {
                "consolidationPolicy": policy,
                "consolidateAfter": IDLE,
                "budgets": [{"nodes": unavailable.to_string()}],
            },
            // Nodes, and not GPUs: a node that shares its GPUs has more of them than machines have.
            "limits": {"nodes": group.nodes.max.to_string()},
        },
    });
    let mut inputs = crate::lower::inputs::placement(pool);
    inputs.extend(pool.labels.iter().flat_map(|label| label.origin.inputs()));
    inputs.extend(group.place_spans());
    inputs.extend([
        checked.autoscaler.span,
        group.machine.span,
        group.nodes.max_span,
        pool.written.capacity.span,
        unavailable.span,
    ]);
    inputs.extend(pool.startup_taint.iter().map(|taint| taint.span));
    let why = "Karpenter makes the nodes of a pool without a fixed number of them";
    Object::new(COMPONENT, &object, Origin::rule(inputs, why))
}

fn requirements(group: &NodeGroup<'_>) -> Vec<Value> {
    let one_of = |key: &str, values: Value| json!({"key": key, "operator": "In", "values": values});
    let capacity = match &group.pool.written.capacity.value {
        Capacity::OnDemand => "on-demand",
        Capacity::Spot(_) => "spot",
        // Karpenter calls both so, and takes none but reserved machines then.
        Capacity::Reservation(_) | Capacity::CapacityBlock(_) => "reserved",
    };
    let mut requirements = vec![
        one_of(
            "node.kubernetes.io/instance-type",
            json!([group.machine.value]),
        ),
        one_of("karpenter.sh/capacity-type", json!([capacity])),
    ];
    let zones = group.zones();
    if !zones.is_empty() {
        requirements.push(one_of("topology.kubernetes.io/zone", json!(zones)));
    }
    requirements
}

fn taint(taint: &PoolTaint) -> Value {
    let mut made = json!({"key": taint.key, "effect": effect_name(taint.effect)});
    if !taint.value.is_empty() {
        made["value"] = json!(taint.value);
    }
    made
}
