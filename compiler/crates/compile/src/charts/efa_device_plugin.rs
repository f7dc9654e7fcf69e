//! The device plugin that advertises EFA interfaces, for pools whose taints eksctl's own copy does not tolerate.
//!
//! eksctl installs the plugin if a node group has EFA, and has no option to disable that. Its copy tolerates none of
//! the user's taints, so it does not run on a tainted pool, and no pod there gets an interface. gpuc adds a release
//! for such a pool; it selects the pool's nodes, where eksctl's copy cannot run.

use gpuc_model::check::Checked;
use gpuc_model::plan::{Chart, Crds, KUBE_SYSTEM, PodSecurity, Release};
use gpuc_model::{Pool, Toleration};
use gpuc_schema::config::TaintEffect;
use gpuc_syntax::node::{Node, Origin};
use serde_json::{Map, Value, json};

/// The chart.
pub static EFA_DEVICE_PLUGIN: Chart = Chart {
    name: "aws-efa-k8s-device-plugin",
    repository: "https://aws.github.io/eks-charts",
    version: "v0.5.30",
    namespace: KUBE_SYSTEM,
    pod_security: PodSecurity::Privileged,
    crds: Crds::None,
    api_groups: &[],
    dependencies: &[],
    releases,
    source: "aws/eks-charts:stable/aws-efa-k8s-device-plugin/values.yaml @52396092, 2026-08-03",
};

fn releases(cluster: &Checked<'_>) -> Vec<Release> {
    (cluster.pools.iter())
        .filter(|pool| !pool.tolerations.iter().all(is_tolerated_by_eksctl))
        .filter_map(release)
        .collect()
}

/// Whether eksctl's copy tolerates a taint (eksctl-io/eksctl:pkg/addons/assets/efa-device-plugin.yaml, and
/// `EFADevicePlugin.SetTolerations` in `device_plugin.go`, which adds nothing; 2026-11-21).
fn is_tolerated_by_eksctl(toleration: &Toleration) -> bool {
    match toleration.key.as_str() {
        "CriticalAddonsOnly" => true,
        "aws.amazon.com/efa" => toleration.effect == TaintEffect::NoSchedule,
        _ => false,
    }
}

fn release(pool: &Pool) -> Option<Release> {
    let efa = pool.settings.network.efa.as_ref()?;
    let taints = pool.taints.iter().map(|taint| taint.span);
    let origin = Origin::rule(
        [efa.span, pool.name.span].into_iter().chain(taints),
        "the EFA plugin that eksctl installs tolerates none of the pool's taints",
    );
    Some(Release {
        name: name(pool),
        chart: &EFA_DEVICE_PLUGIN,
        repository: EFA_DEVICE_PLUGIN.repository.to_owned(),
        namespace: KUBE_SYSTEM.to_owned(),
        values: Node::from_serializable(&values(pool), origin),
        pools: vec![pool.name.value.clone()],
        daemon_sets: vec![name(pool)],
    })
}

/// The name of a pool's release, which differs from that of eksctl's DaemonSet.
fn name(pool: &Pool) -> String {
    format!("efa-device-plugin-{}", pool.name)
}

fn values(pool: &Pool) -> Value {
    let selector: Map<String, Value> = (pool.selector.iter())
        .map(|label| (label.key.clone(), json!(label.value)))
        .collect();
    json!({
        "fullnameOverride": name(pool),
        "nodeSelector": selector,
        "tolerations": gpuc_model::derive::tolerations(pool),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use gpuc_schema::config::GpuCluster;

    use super::*;
    use gpuc_model::check::check;
    use gpuc_model::resolve::{Choices, resolve};
    use gpuc_syntax::diag::Report;

    /// The values of each release for a pool with these keys.
    fn values_for(pool: &str) -> Vec<Value> {
        let yaml = format!(
            "{{apiVersion: gpuc.dev/v1alpha1, kind: GpuCluster, metadata: {{name: demo}}, \
             kubernetes: {{version: '1.34'}}, stack: {{runtimeImage: 'registry.example.com/gpuc-runtime:0.1.0'}}, \
             cloud: {{aws: {{account: '123456789012', region: us-east-1, cluster: {{create: {{}}}}}}}}, nodePools: [\
             {{name: system, machine: m7i.xlarge, nodes: {{count: 2}}}}, \
             {{name: train, machine: p5.48xlarge, zones: [us-east-1a], nodes: {{count: 2}}, {pool}}}]}}"
        );
        // Through JSON: this YAML reader has tags of its own for enums, where the file has mappings.
        let json: Value = serde_yaml::from_str(&yaml).expect("the test's YAML");
        let config: GpuCluster = serde_json::from_value(json).expect("the test's file");
        let mut report = Report::default();
        let cluster = resolve(
            Arc::new(config),
            &crate::charts::testing::REGISTRY,
            &Choices::default(),
            &mut report,
        );
        let checked = check(&cluster, &mut report).expect("a cluster without errors");
        let releases = releases(&checked);
        let pools = (cluster.pools.iter())
            .filter(|pool| releases.iter().any(|release| release.name == name(pool)));
        pools.map(values).collect()
    }

    #[test]
    fn tainted_pool_gets_its_own_release() {
        let expected = json!({
            "fullnameOverride": "efa-device-plugin-train",
            "nodeSelector": {"gpuc.dev/pool": "train"},
            "tolerations": [{
                "key": "gpuc.dev/dedicated-to",
                "operator": "Equal",
                "value": "research",
                "effect": "NoSchedule",
            }],
        });
        let found = values_for("network: {efa: {}}, dedicatedTo: research");
        assert_eq!(found, [expected]);
    }

    #[test]
    fn other_pools_need_no_release() {
        let efa = "{key: aws.amazon.com/efa, value: present, effect: NoSchedule}";
        for pool in [
            "network: {efa: {}}",
            "dedicatedTo: research",
            &format!("network: {{efa: {{}}}}, taints: [{efa}]"),
        ] {
            assert_eq!(values_for(pool), Vec::<Value>::new(), "{pool}");
        }
    }
}
