//! A label is reserved.

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, GpuLabelWriter, Pool, is_gpu_label};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2005",
        name: "label-reserved",
        severity: Severity::Error,
        summary: "a label is reserved",
        checks: "Whether a pool's `labels` contain reserved labels. Reserved are labels of gpuc (`gpuc.dev/`), labels
of the cloud, labels that the kubelet or the cloud sets on each node, such as the machine type, and labels that
gpuc-runtime or NVIDIA's GPU Feature Discovery sets on nodes with GPUs, such as `nvidia.com/gpu.product`.",
        reason: "Clouds reject labels with their own prefixes, some only after the cluster is created. The DaemonSets
of gpuc select their nodes by its own labels. A label that is overridden tells pods something
different from the file.",
        remedy: "Remove the label, or choose a key with your own prefix.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
    labels: {gpuc.dev/pool: infer}
"#,
        correction: Correction::Replace("gpuc.dev/pool:", "example.com/pool:"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let facts = cluster.cloud.facts();
    for pool in cluster.pools.iter().filter(|pool| !pool.is_existing()) {
        for key in pool.user_labels.keys() {
            let prefixes = [("gpuc.dev/", "gpuc sets labels with this prefix itself")];
            let mut prefixes = prefixes.iter().chain(facts.reserved_prefixes);
            let reserved = prefixes.find(|(prefix, _)| key.starts_with(prefix));
            let reserved = reserved.map(|(_, reason)| *reason);
            let Some(reason) = reserved.or_else(|| gpu_label_reason(cluster, pool, key)) else {
                continue;
            };
            let message = format!("the label `{key}` is reserved");
            report
                .diagnostic(&RULE.code, key.span, message)
                .help(format!("remove it: {reason}"))
                .emit();
        }
    }
}

/// Why a label of GPUs has another value than the configured one on the nodes of a pool. `nvidia.com/gpu.present` has
/// only one value.
fn gpu_label_reason(cluster: &Cluster, pool: &Pool, key: &str) -> Option<&'static str> {
    if !pool.has_gpus() || !is_gpu_label(key) || key == "nvidia.com/gpu.present" {
        return None;
    }
    match cluster.gpu_label_writer(pool) {
        GpuLabelWriter::Runtime => Some("gpuc-runtime sets it to the value of the node's GPUs"),
        GpuLabelWriter::FeatureDiscovery => {
            Some("GPU Feature Discovery sets it to the value of the node's GPUs")
        }
        GpuLabelWriter::Unknown | GpuLabelWriter::None => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    #[test]
    fn labels_of_kubelet_and_cloud_are_reserved() {
        let found = messages_with_id(
            "
            cloud: {onPrem: {context: demo}}
            nodePools:
              - name: a
                hosts: [a]
                nodes: {count: 1}
                labels: {kubernetes.io/hostname: b, kubernetes.io/arch: arm64, topology.kubernetes.io/zone: rack-1}
            ",
            "GPUC2005",
        );
        let expected = ["kubernetes.io/arch", "kubernetes.io/hostname"];
        assert_eq!(
            found,
            expected.map(|key| format!("the label `{key}` is reserved"))
        );
        let found = messages_with_id(
            "
            cloud: {aws: {account: '123456789012', region: us-east-1, cluster: {create: {}}}}
            nodePools:
              - {name: a, machine: m7i.xlarge, nodes: {count: 1}, labels: {node.kubernetes.io/instance-type: big}}
            ",
            "GPUC2005",
        );
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn prefixes_of_the_cloud_are_reserved() {
        let found = messages_with_id(
            "
            cloud: {azure: {subscription: s, resourceGroup: g, location: eastus, cluster: {existing: {}}}}
            nodePools:
              - name: gpu
                machine: Standard_NC4as_T4_v3
                nodes: {count: 1}
                labels: {kubernetes.azure.com/mode: user, team: a}
            ",
            "GPUC2005",
        );
        assert_eq!(found, ["the label `kubernetes.azure.com/mode` is reserved"]);
    }

    #[test]
    fn labels_of_gpus_are_reserved_where_something_sets_them() {
        let check = |stack: &str, label: &str| {
            let file = format!(
                "
            cloud: {{onPrem: {{context: demo}}}}
            stack: {{{stack}}}
            nodePools:
              - {{name: a, hosts: [a], nodes: {{count: 1}}, gpu: {{model: L4, perNode: 1}}, labels: {{{label}}}}}
              - {{name: b, hosts: [b], nodes: {{count: 1}}, labels: {{{label}}}}}
            "
            );
            messages_with_id(&file, "GPUC2005")
        };
        let product = "nvidia.com/gpu.product: L4";
        assert_eq!(
            check("", product),
            ["the label `nvidia.com/gpu.product` is reserved"]
        );
        let operator = "driver: operator, devicePlugin: operator";
        assert_eq!(check(operator, product).len(), 1);
        assert_eq!(check("nodeLabels: none", product), [""; 0]);
        assert_eq!(check("devicePlugin: nvidia", product), [""; 0]);
        assert_eq!(check("", "nvidia.com/gpu.present: 'true'"), [""; 0]);
    }
}
