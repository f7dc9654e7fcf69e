//! Karpenter, which creates nodes for pending pods and removes them when they are empty.

use gpuc_model::check::Checked;
use gpuc_model::plan::{Chart, Crds, KubernetesSupport, PodSecurity, Release};
use gpuc_model::{KubernetesVersion, Pool, cloud};
use gpuc_syntax::node::{Node, Origin};
use serde_json::{Value, json};

/// The chart. In the repository, its folder `crds` is a symbolic link; the published chart contains it.
pub static KARPENTER: Chart = Chart {
    name: "karpenter",
    repository: "oci://public.ecr.aws/karpenter",
    version: "1.14.1",
    kubernetes: Some(KubernetesSupport {
        oldest: KubernetesVersion(30),
        newest: Some(KubernetesVersion(36)),
        source: "aws/karpenter-provider-aws@1d927085 website/content/en/v1.14/upgrading/compatibility.md, 2026-08-21",
    }),
    namespace: cloud::KARPENTER.0,
    pod_security: PodSecurity::Restricted,
    crds: Crds::Folder,
    api_groups: &["karpenter.sh", "karpenter.k8s.aws"],
    dependencies: &[],
    releases,
    source: "aws/karpenter-provider-aws@v1.14.1 charts/karpenter/values.yaml, 2026-08-20",
};

/// The maximum number of controllers: a leader and a standby.
const REPLICAS: u32 = 2;

fn releases(cluster: &Checked<'_>) -> Vec<Release> {
    let release = cluster.cloud.karpenter_values(cluster);
    let release = release.map(|(settings, mut inputs)| {
        let pools = super::system_pools(cluster);
        inputs.extend(
            pools
                .iter()
                .copied()
                .flat_map(gpuc_model::derive::origins::placement_spans),
        );
        inputs.extend(
            pools
                .iter()
                .map(|pool| pool.nodes.expect_resolved().min_span),
        );
        let reason =
            "the file enables Karpenter, which runs on nodes that it does not create itself";
        Release {
            name: KARPENTER.name.to_owned(),
            chart: &KARPENTER,
            repository: KARPENTER.repository.to_owned(),
            namespace: KARPENTER.namespace.to_owned(),
            values: Node::from_serializable(
                &values(&pools, &settings),
                Origin::rule(inputs, reason),
            ),
            pools: Vec::new(),
            daemon_sets: Vec::new(),
        }
    });
    release.into_iter().collect()
}

fn values(pools: &[&Pool], settings: &Value) -> Value {
    let mut values = json!({
        "fullnameOverride": KARPENTER.name,
        // The cloud grants permissions to this service account by name.
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
    // Two controllers never share a node, and a pending controller fails the installation.
    let nodes: u32 = pools
        .iter()
        .map(|pool| pool.nodes.expect_resolved().min)
        .sum();
    values["replicas"] = json!(nodes.min(REPLICAS));
    values["affinity"] = super::node_affinity(pools.iter().copied());
    let tolerations = super::union_of_tolerations(pools.iter().copied());
    if !tolerations.is_empty() {
        values["tolerations"] = json!(tolerations);
    }
    values
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::testing::with_checked_file;

    fn values(pools: &str) -> Value {
        let yaml = format!(
            "{{apiVersion: gpuc.dev/v1alpha1, kind: GpuCluster, metadata: {{name: demo}}, autoscaler: karpenter, \
             kubernetes: {{version: '1.36'}}, stack: {{runtimeImage: 'registry.example.com/gpuc-runtime:0.1.0'}}, \
             cloud: {{aws: {{account: '123456789012', region: us-east-1, cluster: {{create: {{}}}}}}}}, \
             nodePools: [{pools}, {{name: gpu, machine: g6.xlarge, nodes: {{min: 0, max: 4}}}}]}}"
        );
        with_checked_file(&yaml, |cluster| {
            let releases = super::releases(&cluster);
            assert_eq!(releases.len(), 1);
            assert_eq!(
                releases[0].oci_url(),
                "oci://public.ecr.aws/karpenter/karpenter"
            );
            serde_json::to_value(&releases[0].values).expect("values are JSON")
        })
    }

    #[test]
    fn runs_on_system_nodes() {
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
    fn single_node_gets_one_controller() {
        let values = values(
            "{name: system, machine: m7i.large, nodes: {count: 1}, \
             taints: [{key: CriticalAddonsOnly, effect: NoSchedule}]}",
        );
        assert_eq!(values["replicas"], 1);
        assert_eq!(values["tolerations"][0]["key"], "CriticalAddonsOnly");
    }
}
