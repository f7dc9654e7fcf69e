//! The `NodePool` of a pool: requirements, labels, taints and disruption of its nodes.
//!
//! Schema: `NodePool` of aws/karpenter-provider-aws@v1.14.1 `pkg/apis/crds`, 2026-08-20; meaning of the fields:
//! website/content/en/v1.14/concepts/nodepools.md and disruption.md there, read 2026-11-21.

use gpuc_model::check::Checked;
use gpuc_model::plan::Object;
use gpuc_model::{Pool, PoolTaint, SetBy};
use gpuc_schema::config::Capacity;
use gpuc_syntax::node::Origin;
use serde_json::{Map, Value, json};

use super::super::node_group::NodeGroup;
use super::COMPONENT;

/// How long a node must be empty before Karpenter deletes it.
const CONSOLIDATE_AFTER: &str = "10m";

/// The `NodePool` of a pool.
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
    let taints: Vec<_> = pool
        .taints
        .iter()
        .filter(|taint| taint.set_by == SetBy::Gpuc)
        .map(taint_object)
        .collect();
    if !taints.is_empty() {
        template["taints"] = json!(taints);
    }
    if let Some(startup) = &pool.startup_taint {
        template["startupTaints"] = json!([taint_object(startup)]);
    }
    let has_gpus = pool.has_gpus();
    if has_gpus {
        // The age of a node must not end a job that runs for weeks. Without a grace period, Karpenter never deletes a
        // pod that must not be disrupted.
        template["expireAfter"] = json!("Never");
    } else {
        template["expireAfter"] = json!("720h");
        template["terminationGracePeriod"] = json!("24h");
    }
    // Karpenter does not move pods with GPUs to save machines.
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
                "consolidateAfter": CONSOLIDATE_AFTER,
                // All empty nodes may be deleted at once.
                "budgets": [{
                    "nodes": unavailable.to_string(),
                    "reasons": ["Drifted", "Underutilized"],
                }],
            },
            // A limit on nodes instead of GPUs: nodes with shared GPUs advertise more GPUs than the machine type has.
            "limits": {"nodes": group.nodes.max.to_string()},
        },
    });
    let mut inputs = gpuc_model::derive::origins::placement_spans(pool);
    inputs.extend(pool.labels.iter().flat_map(|label| label.origin.inputs()));
    inputs.extend(group.location_spans());
    inputs.extend(group.alternative_spans());
    inputs.extend([
        checked.autoscaler.span,
        group.machine.span,
        group.nodes.max_span,
        pool.settings.capacity.span,
        unavailable.span,
    ]);
    inputs.extend(pool.startup_taint.iter().map(|taint| taint.span));
    let reason = "Karpenter provisions pools without a fixed number of nodes";
    Object::new(COMPONENT, &object, Origin::rule(inputs, reason))
}

/// The capacity type of a pool in Karpenter.
pub(crate) fn capacity_type(pool: &Pool) -> &'static str {
    match &pool.settings.capacity.value {
        // The rule `capacity-unavailable` rejects flex-start.
        Capacity::OnDemand | Capacity::FlexStart(_) => "on-demand",
        Capacity::Spot(_) => "spot",
        // Karpenter uses one capacity type for both, and then only reserved machines.
        Capacity::Reservation(_) | Capacity::CapacityBlock(_) => "reserved",
    }
}

fn requirements(group: &NodeGroup<'_>) -> Vec<Value> {
    let one_of = |key: &str, values: Value| json!({"key": key, "operator": "In", "values": values});
    let mut requirements = vec![
        one_of(
            "node.kubernetes.io/instance-type",
            json!(group.machine_types()),
        ),
        one_of(
            "karpenter.sh/capacity-type",
            json!([capacity_type(group.pool)]),
        ),
    ];
    let zones = group.zones();
    if !zones.is_empty() {
        requirements.push(one_of("topology.kubernetes.io/zone", json!(zones)));
    }
    requirements
}

fn taint_object(taint: &PoolTaint) -> Value {
    let mut object = json!({"key": taint.key, "effect": taint.effect.as_str()});
    if !taint.value.is_empty() {
        object["value"] = json!(taint.value);
    }
    object
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::super::testing::{HEAD, cluster};
    use gpuc_model::check::check;
    use gpuc_syntax::diag::Report;

    /// The objects of a pool, in a cluster with another pool for Karpenter itself.
    fn objects(pool: &str) -> [Value; 2] {
        let yaml = format!(
            "{HEAD}autoscaler: karpenter\nallow: [karpenter-overprovisioning]\n\
             nodePools: [{{name: system, machine: m7i.large, nodes: {{count: 2}}}}, {{name: a, {pool}}}]"
        );
        let (cluster, found) = cluster(&yaml);
        let mut report = Report::default();
        let Some(checked) = check(&cluster, &mut report) else {
            panic!("{:#?}", found.diagnostics());
        };
        let objects: Vec<_> = cluster
            .cloud
            .objects(&checked)
            .iter()
            .map(|object| serde_json::to_value(&object.node).expect("JSON"))
            .collect();
        objects.try_into().expect("two objects for a pool")
    }

    fn requirement<'v>(pool: &'v Value, key: &str) -> &'v Value {
        let all = pool["spec"]["template"]["spec"]["requirements"].as_array();
        let mut all = all.into_iter().flatten();
        all.find(|it| it["key"] == key)
            .map_or(&Value::Null, |it| &it["values"])
    }

    #[test]
    fn capacity_sets_capacity_type_and_reservation() {
        for (capacity, kind, reservation) in [
            ("onDemand", "on-demand", Value::Null),
            ("{spot: {}}", "spot", Value::Null),
            (
                "{reservation: {id: cr-0123456789abcdef0, count: 4}}",
                "reserved",
                json!([{"id": "cr-0123456789abcdef0"}]),
            ),
            (
                "{capacityBlock: {id: cr-0123456789abcdef0, count: 4, start: '2096-12-01T11:30:00Z', end: '2096-12-15T11:30:00Z'}}",
                "reserved",
                json!([{"id": "cr-0123456789abcdef0"}]),
            ),
        ] {
            let [class, pool] = objects(&format!(
                "machine: p4d.24xlarge, zones: [us-east-1a], nodes: {{min: 0, max: 4}}, capacity: {capacity}"
            ));
            assert_eq!(
                requirement(&pool, "karpenter.sh/capacity-type"),
                &json!([kind])
            );
            assert_eq!(
                requirement(&pool, "topology.kubernetes.io/zone"),
                &json!(["us-east-1a"])
            );
            assert_eq!(
                class["spec"]["capacityReservationSelectorTerms"], reservation,
                "{kind}"
            );
        }
    }

    #[test]
    fn gpu_nodes_are_deleted_only_when_empty() {
        let [_, gpus] =
            objects("machine: g6.xlarge, nodes: {min: 0, max: 4}, upgrade: {maxUnavailable: 3}");
        let spec = &gpus["spec"];
        assert_eq!(spec["disruption"]["consolidationPolicy"], "WhenEmpty");
        assert_eq!(spec["disruption"]["budgets"][0]["nodes"], "3");
        assert_eq!(spec["template"]["spec"]["expireAfter"], "Never");
        assert_eq!(spec["limits"], json!({"nodes": "4"}));
        let [_, cpus] = objects("machine: m7i.large, nodes: {min: 0, max: 9}");
        let spec = &cpus["spec"];
        assert_eq!(
            spec["disruption"]["consolidationPolicy"],
            "WhenEmptyOrUnderutilized"
        );
        assert_eq!(spec["template"]["spec"]["expireAfter"], "720h");
    }

    #[test]
    fn mig_pool_has_a_startup_taint() {
        let [_, pool] = objects(
            "machine: p4d.24xlarge, nodes: {min: 0, max: 4}, taints: [{key: a, effect: NoExecute}], \
             sharing: {mig: {strategy: single, perGpu: [{layout: [{profile: 1g.5gb, count: 7}]}]}}",
        );
        let spec = &pool["spec"]["template"]["spec"];
        assert_eq!(spec["taints"], json!([{"key": "a", "effect": "NoExecute"}]));
        let startup = &spec["startupTaints"][0];
        assert_eq!(
            startup["key"],
            "startup-taint.cluster-autoscaler.kubernetes.io/gpuc"
        );
    }

    #[test]
    fn local_disks_and_system_disk() {
        let [class, _] = objects(
            "machine: g6.xlarge, nodes: {min: 0, max: 4}, localDisks: scratch, maxPods: 40",
        );
        assert_eq!(class["spec"]["instanceStorePolicy"], "RAID0");
        assert_eq!(class["spec"]["kubelet"], json!({"maxPods": 40}));
        let [class, _] = objects(
            "machine: g6.xlarge, nodes: {min: 0, max: 4}, os: {family: Bottlerocket}, diskGiB: 300",
        );
        let disks = &class["spec"]["blockDeviceMappings"];
        assert_eq!(disks[0]["ebs"]["volumeSize"], "4Gi");
        assert_eq!(disks[1]["ebs"]["volumeSize"], "300Gi");
    }
}
