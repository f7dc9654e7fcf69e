//! The device plugin that advertises EFA interfaces, for pools where eksctl's own copy does not run.
//!
//! eksctl installs the plugin if a node group has EFA, and has no option to disable that. Its copy tolerates none of
//! the user's taints and selects the machine types of a list, so it does not run on a tainted pool or on newer
//! machines, and no pod there gets an interface. gpuc adds a release for such a pool; it selects the pool's nodes,
//! where eksctl's copy cannot run. Two copies on a node would use the same socket.

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
    // The chart and its documentation state no versions.
    kubernetes: None,
    namespace: KUBE_SYSTEM,
    pod_security: PodSecurity::Privileged,
    crds: Crds::None,
    api_groups: &[],
    dependencies: &[],
    releases,
    source: "aws/eks-charts:stable/aws-efa-k8s-device-plugin/values.yaml @52396092, 2026-08-03",
};

fn releases(cluster: &Checked<'_>) -> Vec<Release> {
    (cluster.pools.iter()).filter_map(release).collect()
}

/// The machine types on which eksctl's copy runs.
/// Source: eksctl-io/eksctl:pkg/addons/assets/efa-device-plugin.yaml @99984adb, 2026-08-21.
#[rustfmt::skip]
const EKSCTL_MACHINES: [&str; 121] = [
    "c5n.18xlarge", "c5n.9xlarge", "c5n.metal", "c6a.48xlarge", "c6a.metal", "c6gn.16xlarge", "c6i.32xlarge",
    "c6i.metal", "c6id.32xlarge", "c6id.metal", "c6in.32xlarge", "c6in.metal", "c7a.48xlarge",
    "c7a.metal-48xl", "c7g.16xlarge", "c7g.metal", "c7gd.16xlarge", "c7gn.16xlarge", "c7i.48xlarge",
    "c7i.metal-48xl", "dl1.24xlarge", "dl2q.24xlarge", "g4dn.12xlarge", "g4dn.16xlarge", "g4dn.8xlarge",
    "g4dn.metal", "g5.12xlarge", "g5.16xlarge", "g5.24xlarge", "g5.48xlarge", "g5.8xlarge", "g6.12xlarge",
    "g6.16xlarge", "g6.24xlarge", "g6.48xlarge", "g6.8xlarge", "g6e.12xlarge", "g6e.16xlarge",
    "g6e.24xlarge", "g6e.48xlarge", "g6e.8xlarge", "gr6.8xlarge", "hpc6a.48xlarge", "hpc6id.32xlarge",
    "hpc7a.12xlarge", "hpc7a.24xlarge", "hpc7a.48xlarge", "hpc7a.96xlarge", "hpc7g.16xlarge",
    "hpc7g.4xlarge", "hpc7g.8xlarge", "i3en.12xlarge", "i3en.24xlarge", "i3en.metal", "i4g.16xlarge",
    "i4i.32xlarge", "i4i.metal", "im4gn.16xlarge", "inf1.24xlarge", "m5dn.24xlarge", "m5dn.metal",
    "m5n.24xlarge", "m5n.metal", "m5zn.12xlarge", "m5zn.metal", "m6a.48xlarge", "m6a.metal", "m6i.32xlarge",
    "m6i.metal", "m6id.32xlarge", "m6id.metal", "m6idn.32xlarge", "m6idn.metal", "m6in.32xlarge",
    "m6in.metal", "m7a.48xlarge", "m7a.metal-48xl", "m7g.16xlarge", "m7g.metal", "m7gd.16xlarge",
    "m7i.48xlarge", "m7i.metal-48xl", "p3dn.24xlarge", "p4d.24xlarge", "p4de.24xlarge", "p5.48xlarge",
    "p5e.48xlarge", "p5en.48xlarge", "r5dn.24xlarge", "r5dn.metal", "r5n.24xlarge", "r5n.metal",
    "r6a.48xlarge", "r6a.metal", "r6i.32xlarge", "r6i.metal", "r6id.32xlarge", "r6id.metal",
    "r6idn.32xlarge", "r6idn.metal", "r6in.32xlarge", "r6in.metal", "r7a.48xlarge", "r7a.metal-48xl",
    "r7g.16xlarge", "r7g.metal", "r7gd.16xlarge", "r7i.48xlarge", "r7i.metal-48xl", "r7iz.32xlarge",
    "r7iz.metal-32xl", "trn1.32xlarge", "trn1n.32xlarge", "trn2.48xlarge", "vt1.24xlarge", "x2idn.32xlarge",
    "x2idn.metal", "x2iedn.32xlarge", "x2iedn.metal", "x2iezn.12xlarge", "x2iezn.metal",
];

/// Why eksctl's copy does not run on a pool.
enum Obstacle<'p> {
    Taints,
    /// Its list does not contain these machine types.
    Machines(Vec<&'p str>),
}

fn obstacle(pool: &Pool) -> Option<Obstacle<'_>> {
    if !pool.tolerations.iter().all(is_tolerated_by_eksctl) {
        return Some(Obstacle::Taints);
    }
    let mut unknown = pool.machine_types();
    unknown.retain(|name| !EKSCTL_MACHINES.contains(name));
    (!unknown.is_empty()).then_some(Obstacle::Machines(unknown))
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
    let obstacle = obstacle(pool)?;
    let spans = [efa.span, pool.name.span].into_iter();
    let origin = match obstacle {
        Obstacle::Taints => Origin::rule(
            spans.chain(pool.taints.iter().map(|taint| taint.span)),
            "the EFA plugin that eksctl installs tolerates none of the pool's taints",
        ),
        Obstacle::Machines(_) => Origin::rule(
            spans.chain(pool.machine_name.as_ref().map(|name| name.span)),
            "the EFA plugin that eksctl installs does not run on this machine type",
        ),
    };
    Some(Release {
        name: name(pool),
        chart: &EFA_DEVICE_PLUGIN,
        repository: EFA_DEVICE_PLUGIN.repository.to_owned(),
        namespace: KUBE_SYSTEM.to_owned(),
        values: Node::from_serializable(&values(pool, &obstacle), origin),
        pools: vec![pool.name.value.clone()],
        daemon_sets: vec![name(pool)],
    })
}

/// The name of a pool's release, which differs from that of eksctl's DaemonSet.
fn name(pool: &Pool) -> String {
    format!("efa-device-plugin-{}", pool.name)
}

fn values(pool: &Pool, obstacle: &Obstacle<'_>) -> Value {
    let selector: Map<String, Value> = (pool.selector.iter())
        .map(|label| (label.key.clone(), json!(label.value)))
        .collect();
    let mut values = json!({
        "fullnameOverride": name(pool),
        "nodeSelector": selector,
        "tolerations": gpuc_model::derive::tolerations(pool),
    });
    if let Obstacle::Machines(names) = obstacle {
        values["supportedInstanceLabels"] = json!({"values": names});
    }
    values
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
    fn values_for(machine: &str, pool: &str) -> Vec<Value> {
        let yaml = format!(
            "{{apiVersion: gpuc.dev/v1alpha1, kind: GpuCluster, metadata: {{name: demo}}, \
             kubernetes: {{version: '1.36'}}, stack: {{runtimeImage: 'registry.example.com/gpuc-runtime:0.1.0'}}, \
             cloud: {{aws: {{account: '123456789012', region: us-east-1, cluster: {{create: {{}}}}}}}}, nodePools: [\
             {{name: system, machine: m7i.xlarge, nodes: {{count: 2}}}}, \
             {{name: train, machine: {machine}, zones: [us-east-1a], nodes: {{count: 2}}, {pool}}}]}}"
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
        let values = releases(&checked).into_iter();
        values
            .map(|release| serde_json::to_value(&release.values).expect("JSON"))
            .collect()
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
        let found = values_for("p5.48xlarge", "network: {efa: {}}, dedicatedTo: research");
        assert_eq!(found, [expected]);
    }

    /// eksctl's list has p5.48xlarge, but not the newer machine types.
    #[test]
    fn newer_machines_get_their_own_release() {
        for machine in ["p6-b200.48xlarge", "p5.4xlarge", "g7e.48xlarge"] {
            let expected = json!({
                "fullnameOverride": "efa-device-plugin-train",
                "nodeSelector": {"gpuc.dev/pool": "train"},
                "tolerations": [],
                "supportedInstanceLabels": {"values": [machine]},
            });
            assert_eq!(values_for(machine, "network: {efa: {}}"), [expected]);
        }
    }

    #[test]
    fn other_pools_need_no_release() {
        let efa = "{key: aws.amazon.com/efa, value: present, effect: NoSchedule}";
        for pool in [
            "network: {efa: {}}",
            "dedicatedTo: research",
            &format!("network: {{efa: {{}}}}, taints: [{efa}]"),
        ] {
            assert_eq!(
                values_for("p5.48xlarge", pool),
                Vec::<Value>::new(),
                "{pool}"
            );
        }
    }
}
