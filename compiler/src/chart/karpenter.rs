//! Karpenter, which makes nodes for pods that wait and removes them when they are empty.

use serde_json::{Value, json};

use super::{Chart, Crds, PodSecurity};
use crate::check::Checked;
use crate::cloud;
use crate::lower;
use crate::model::Pool;
use crate::node::{Node, Origin};
use crate::plan::Release;

/// The chart. Its folder `crds` is a link out of the repository's chart, and in the published one.
pub static KARPENTER: Chart = Chart {
    name: "karpenter",
    repository: "oci://public.ecr.aws/karpenter",
    version: "1.14.1",
    namespace: cloud::KARPENTER.0,
    pod_security: PodSecurity::Restricted,
    crds: Crds::Folder,
    groups: &["karpenter.sh", "karpenter.k8s.aws"],
    after: &[],
    releases,
    source: "aws/karpenter-provider-aws@v1.14.1 charts/karpenter/values.yaml, 2026-08-20",
};

/// How many controllers there are at most: one leads, and one waits for it to fail.
const REPLICAS: u32 = 2;

fn releases(cluster: &Checked<'_>) -> Vec<Release> {
    let release = cluster.cloud.karpenter_values(cluster);
    let release = release.map(|(settings, mut inputs)| {
        let pools = super::system_pools(cluster);
        inputs.extend(pools.iter().copied().flat_map(lower::inputs::placement));
        inputs.extend(pools.iter().map(|pool| pool.nodes.sure().min_span));
        let why = "the file asks for Karpenter, which runs on nodes that it does not make itself";
        Release {
            name: KARPENTER.name.to_owned(),
            chart: &KARPENTER,
            repository: KARPENTER.repository.to_owned(),
            namespace: KARPENTER.namespace.to_owned(),
            values: Node::typed(&values(&pools, &settings), Origin::rule(inputs, why)),
            pools: Vec::new(),
            daemon_sets: Vec::new(),
        }
    });
    release.into_iter().collect()
}

fn values(pools: &[&Pool], settings: &Value) -> Value {
    let mut values = json!({
        "fullnameOverride": KARPENTER.name,
        // The cloud gives this account its rights by name.
        "serviceAccount": {"name": cloud::KARPENTER.1},
        "settings": settings,
        // Source: the installation in website/content/en/v1.14/getting-started, read 2026-11-21.
        "controller": {"resources": {
            "requests": {"cpu": "1", "memory": "1Gi"},
            "limits": {"cpu": "1", "memory": "1Gi"},
        }},
    });
    if pools.is_empty() {
        return values;
    }
    // Two controllers never share a node, and one that waits for a second node fails the installation.
    let nodes: u32 = pools.iter().map(|pool| pool.nodes.sure().min).sum();
    values["replicas"] = json!(nodes.min(REPLICAS));
    values["affinity"] = super::affinity(pools.iter().copied());
    let tolerations = super::tolerations(pools.iter().copied());
    if !tolerations.is_empty() {
        values["tolerations"] = json!(tolerations);
    }
    values
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::testing::checked_file;

    fn values(pools: &str) -> Value {
        let yaml = format!(
            "{{apiVersion: gpuc.dev/v1alpha1, kind: GpuCluster, metadata: {{name: demo}}, autoscaler: karpenter, \
             kubernetes: {{version: '1.34'}}, stack: {{runtimeImage: 'registry.example.com/gpuc-runtime:0.1.0'}}, \
             cloud: {{aws: {{account: '123456789012', region: us-east-1, cluster: {{create: {{}}}}}}}}, \
             nodePools: [{pools}, {{name: gpu, machine: g6.xlarge, nodes: {{min: 0, max: 4}}}}]}}"
        );
        checked_file(&yaml, |cluster| {
            let made = super::releases(&cluster);
            assert_eq!(made.len(), 1);
            assert_eq!(
                made[0].oci_url(),
                "oci://public.ecr.aws/karpenter/karpenter"
            );
            serde_json::to_value(&made[0].values).expect("values are JSON")
        })
    }

    #[test]
    fn it_runs_on_nodes_of_others() {
        let values = values("{name: system, machine: m7i.large, nodes: {count: 3}}");
        assert_eq!(values["settings"]["clusterName"], "demo");
        assert_eq!(values["replicas"], 2);
        let terms =
            &values["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
        let expected = json!([{"matchExpressions": [
            {"key": "gpuc.dev/pool", "operator": "In", "values": ["system"]},
        ]}]);
        assert_eq!(terms["nodeSelectorTerms"], expected);
        assert_eq!(values["tolerations"], Value::Null);
    }

    #[test]
    fn one_node_has_one_controller() {
        let values = values(
            "{name: system, machine: m7i.large, nodes: {count: 1}, \
             taints: [{key: CriticalAddonsOnly, effect: NoSchedule}]}",
        );
        assert_eq!(values["replicas"], 1);
        assert_eq!(values["tolerations"][0]["key"], "CriticalAddonsOnly");
    }
}
