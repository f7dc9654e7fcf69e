//! An empty pool looks different to the autoscaler than its nodes will.

use gpuc_schema::config::{Autoscaler, DevicePlugin};

use super::Rule;
use super::places::GPU;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, Offer};

/// An empty pool looks different to the autoscaler than its nodes will.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2014",
        name: "scale-from-zero",
        severity: Severity::Warning,
        summary: "an empty pool looks different to the autoscaler than its nodes will",
        explain: "### What it checks

Whether an autoscaler that adds the first node of an empty pool knows what that node will offer.
It believes what the machine type says: a number of whole GPUs called `nvidia.com/gpu`. Slices,
shares and virtual GPUs are not in it, unless the cloud lets gpuc write them where the autoscaler
looks.

### Why it matters

A pod that asks for `nvidia.com/mig-1g.5gb` or `nvidia.com/gpu.shared` waits for ever beside an
empty pool. With shares called `nvidia.com/gpu` the autoscaler starts too many nodes
(Azure/AKS#3427), and a pod that asks for more of them than the machine has GPUs is never placed
(kubernetes/autoscaler#8129).

### What to do

Keep one node: `min: 1`. From then on the autoscaler takes what a real node offers.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {gcp: {project: acme-demo, location: us-central1-a, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: n1-standard-8
    gpu: {model: T4, perNode: 1}
    nodes: {min: 0, max: 3}
    sharing: {timeSlicing: {replicas: 4}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {gcp: {project: acme-demo, location: us-central1-a, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: n1-standard-8
    gpu: {model: T4, perNode: 1}
    nodes: {min: 1, max: 3}
    sharing: {timeSlicing: {replicas: 4}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    // Karpenter plans from machine types whether a pool is empty or not.
    let templates = [Autoscaler::ClusterAutoscaler, Autoscaler::Managed];
    if cluster.cloud.facts().template_resources || !templates.contains(&cluster.autoscaler.value) {
        return;
    }
    for (pool, gpus) in cluster.gpu_pools().filter(|(pool, _)| !pool.is_existing()) {
        // Where the cloud both advertises and scales, it shares what it knows with itself.
        let clouds_own = pool.plugin.value == DevicePlugin::Cloud
            && cluster.autoscaler.value == Autoscaler::Managed;
        let (Some(nodes), Some(offers)) = (pool.nodes.get(), pool.offers.get()) else {
            continue;
        };
        if clouds_own || nodes.min > 0 {
            continue;
        }
        let Some(belief) = belief(offers, gpus.reported) else {
            continue;
        };
        let message = format!(
            "pool `{}` may not grow from zero nodes as it should",
            pool.name
        );
        let draft = report.draft(&RULE.code, nodes.min_span, message);
        let draft = draft
            .here(belief)
            .label(pool.written.sharing.span, "how GPUs are shared");
        draft
            .label(gpus.chosen, "the machine")
            .help("write `min: 1`")
            .replace(nodes.min_span, "1")
            .emit();
    }
}

/// What the autoscaler believes of an empty pool that is not so.
fn belief(offers: &[Offer], reported: u32) -> Option<String> {
    let wrong = |offer: &&Offer| offer.resource != GPU || offer.per_node != reported;
    let offer = offers.iter().find(wrong)?;
    let Offer {
        resource, per_node, ..
    } = offer;
    Some(if resource != GPU || reported == 0 {
        format!(
            "the autoscaler believes that a new node has no `{resource}`: it never adds the first"
        )
    } else {
        format!(
            "the autoscaler believes that a new node has {reported} `{resource}`, not {per_node}"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::Origin;

    fn check(offers: &[(&str, u32)], reported: u32, expected: Option<&str>) {
        let offer = |(resource, per_node): &(&str, u32)| Offer {
            resource: (*resource).to_owned(),
            per_node: *per_node,
            origin: Origin::Inherited,
        };
        let offers: Vec<_> = offers.iter().map(offer).collect();
        let found = belief(&offers, reported);
        match expected {
            Some(part) => assert!(
                found.as_ref().is_some_and(|it| it.contains(part)),
                "{found:?}"
            ),
            None => assert_eq!(found, None),
        }
    }

    #[test]
    fn only_whole_gpus_are_believed_in() {
        check(&[("nvidia.com/gpu", 8)], 8, None);
        check(
            &[("nvidia.com/gpu", 32)],
            8,
            Some("has 8 `nvidia.com/gpu`, not 32"),
        );
        check(&[("nvidia.com/gpu", 1)], 0, Some("has no `nvidia.com/gpu`"));
        check(
            &[("nvidia.com/gpu.shared", 4)],
            1,
            Some("has no `nvidia.com/gpu.shared`"),
        );
        let mixed = [("nvidia.com/gpu", 1), ("nvidia.com/mig-1g.5gb", 7)];
        check(&mixed, 1, Some("has no `nvidia.com/mig-1g.5gb`"));
    }
}
