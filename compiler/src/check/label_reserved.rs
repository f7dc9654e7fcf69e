//! A label is not the user's to set.

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A label is not the user's to set.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2005",
        name: "label-reserved",
        severity: Severity::Error,
        summary: "a label is not the user's to set",
        explain: "### What it checks

Whether a pool's `labels` leave alone what belongs to gpuc (`gpuc.dev/`), what the cloud keeps for
itself, and what each kubelet or the cloud sets to what it finds, such as the machine type.

### Why it matters

Clouds refuse labels with their own prefixes, some only after the cluster has been made. By
labels of gpuc's own its DaemonSets find their nodes. A label that is set over again tells pods
something else than the file does.

### What to do

Remove the label, or choose a key with a prefix of your own.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
    labels: {gpuc.dev/pool: infer}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
    labels: {example.com/pool: infer}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let facts = cluster.cloud.facts();
    for pool in cluster.pools.iter().filter(|pool| !pool.is_existing()) {
        for key in pool.written.labels.keys() {
            let prefixes = [("gpuc.dev/", "gpuc sets labels with this prefix itself")];
            let mut prefixes = prefixes.iter().chain(facts.reserved_prefixes);
            let Some((_, reason)) = prefixes.find(|(prefix, _)| key.starts_with(prefix)) else {
                continue;
            };
            let message = format!("the label `{key}` cannot be set");
            let draft = report.draft(&RULE.code, key.span, message);
            draft.help(format!("remove it: {reason}")).emit();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[test]
    fn what_kubelets_and_clouds_set_themselves_is_reserved() {
        let found = messages(
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
        let wanted = ["kubernetes.io/arch", "kubernetes.io/hostname"];
        assert_eq!(
            found,
            wanted.map(|key| format!("the label `{key}` cannot be set"))
        );
        let found = messages(
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
        let found = messages(
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
        assert_eq!(
            found,
            ["the label `kubernetes.azure.com/mode` cannot be set"]
        );
    }
}
