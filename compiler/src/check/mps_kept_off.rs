//! NVIDIA's MPS daemon does not come to a pool made by hand.

use gpuc_schema::config::DevicePlugin;

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, MPS_CAPABLE, Sharing};

/// NVIDIA's MPS daemon does not come to a pool made by hand.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2052",
        name: "mps-kept-off",
        severity: Severity::Error,
        summary: "nothing says that NVIDIA's MPS daemon comes to a pool made by hand",
        explain: r#"### What it checks

Whether the nodes of a pool made by hand have the label `nvidia.com/mps.capable: "true"` where
NVIDIA's device plugin shares their GPUs by MPS.

### Why it matters

The control daemon of the plugin's chart has a node selector for this label, and the plugin waits
for the daemon: without the label the nodes offer nothing. On nodes that gpuc makes it sets the
label; nodes made by hand it does not touch.

### What to do

Label the nodes, and say so in `existing.selector`; or write `devicePlugin: gpuc`.
"#,
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {existing: {}}}}
stack: {devicePlugin: nvidia}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
    existing: {selector: {eks.amazonaws.com/nodegroup: gpu-a}}
    sharing: {mps: {replicas: 4}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {existing: {}}}}
stack: {devicePlugin: nvidia}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
    existing: {selector: {eks.amazonaws.com/nodegroup: gpu-a, nvidia.com/mps.capable: "true"}}
    sharing: {mps: {replicas: 4}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in cluster.pools_advertised_by(DevicePlugin::Nvidia) {
        let Some(existing) = &pool.written.existing else {
            continue;
        };
        let is_mps = matches!(pool.sharing.get(), Some(Sharing::Mps { .. }));
        let is_label =
            |label: &crate::model::Label| label.key == MPS_CAPABLE && label.value == "true";
        if !is_mps || pool.selector.iter().any(is_label) {
            continue;
        }
        let message = format!(
            "nothing says that the nodes of pool `{}` let NVIDIA's MPS daemon in",
            pool.name
        );
        report
            .draft(&RULE.code, existing.span, message)
            .here(format!("no `{MPS_CAPABLE}` among these labels"))
            .label(pool.written.sharing.span, "MPS is asked for here")
            .help(format!(
                "label the nodes `{MPS_CAPABLE}=true` and add the label to `existing.selector`"
            ))
            .emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::check::testing::config;
    use crate::diag::Report;
    use crate::model::MPS_CAPABLE;
    use crate::resolve::{Choices, resolve};

    #[test]
    fn nodes_that_gpuc_makes_have_the_label_where_the_daemon_shall_come() {
        let labelled = |plugin: &str, sharing: &str| {
            let yaml = format!(
                "cloud: {{onPrem: {{context: a}}}}\n\
                 nodePools: [{{name: gpu, gpu: {{model: L4, perNode: 1}}, hosts: [a], nodes: {{count: 1}}, \
                 stack: {{devicePlugin: {plugin}}}, sharing: {sharing}}}]\n"
            );
            let config = config(&yaml);
            let cluster = resolve(config, &Choices::default(), &mut Report::default());
            let mut labels = cluster.pools[0].labels.iter();
            labels.any(|label| label.key == MPS_CAPABLE && label.value == "true")
        };
        assert!(labelled("nvidia", "{mps: {replicas: 4}}"));
        assert!(!labelled("gpuc", "{mps: {replicas: 4}}"));
        assert!(!labelled("nvidia", "{timeSlicing: {replicas: 4}}"));
    }
}
