//! An existing pool lacks the label that NVIDIA's MPS daemon requires.

use gpuc_schema::config::DevicePlugin;

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, MPS_CAPABLE, Sharing};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2052",
        name: "mps-label-missing",
        severity: Severity::Error,
        summary: "an existing pool lacks the label that NVIDIA's MPS daemon requires",
        checks: r#"Whether the nodes of an existing pool have the label `nvidia.com/mps.capable: "true"` if NVIDIA's
device plugin shares their GPUs through MPS."#,
        reason: r"The control daemon of the plugin's chart has a node selector for this label, and the plugin waits
for the daemon. Without the label, the nodes advertise nothing. gpuc sets the label on the nodes
that it creates, but does not change existing nodes.",
        remedy: r"Label the nodes and add the label to `existing.selector`; or write `devicePlugin: gpuc`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {existing: {}}}}
stack: {devicePlugin: nvidia}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
    existing: {selector: {eks.amazonaws.com/nodegroup: gpu-a}}
    sharing: {mps: {replicas: 4}}
"#,
        correction: Correction::Replace(
            "eks.amazonaws.com/nodegroup: gpu-a",
            r#"eks.amazonaws.com/nodegroup: gpu-a, nvidia.com/mps.capable: "true""#,
        ),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in cluster.pools_advertised_by(DevicePlugin::Nvidia) {
        let Some(existing) = &pool.settings.existing else {
            continue;
        };
        let is_mps = matches!(pool.sharing.get(), Some(Sharing::Mps { .. }));
        let is_mps_label =
            |label: &gpuc_model::Label| label.key == MPS_CAPABLE && label.value == "true";
        if !is_mps || pool.selector.iter().any(is_mps_label) {
            continue;
        }
        let message = format!(
            "the selector of pool `{}` lacks the label for NVIDIA's MPS daemon",
            pool.name
        );
        report
            .diagnostic(&RULE.code, existing.span, message)
            .primary_label(format!("`{MPS_CAPABLE}` is missing"))
            .label(pool.sharing_span, "MPS is enabled here")
            .help(format!(
                "label the nodes `{MPS_CAPABLE}=true` and add the label to `existing.selector`"
            ))
            .emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::parse_config;
    use gpuc_model::MPS_CAPABLE;
    use gpuc_model::resolve::{Choices, resolve};
    use gpuc_syntax::diag::Report;

    #[test]
    fn created_nodes_have_the_label_with_nvidia_mps() {
        let is_labelled = |plugin: &str, sharing: &str| {
            let yaml = format!(
                "cloud: {{onPrem: {{context: a}}}}\n\
                 nodePools: [{{name: gpu, gpu: {{model: L4, perNode: 1}}, hosts: [a], nodes: {{count: 1}}, \
                 stack: {{devicePlugin: {plugin}}}, sharing: {sharing}}}]\n"
            );
            let config = parse_config(&yaml);
            let cluster = resolve(
                config,
                &crate::testing::REGISTRY,
                &Choices::default(),
                &mut Report::default(),
            );
            let mut labels = cluster.pools[0].labels.iter();
            labels.any(|label| label.key == MPS_CAPABLE && label.value == "true")
        };
        assert!(is_labelled("nvidia", "{mps: {replicas: 4}}"));
        assert!(!is_labelled("gpuc", "{mps: {replicas: 4}}"));
        assert!(!is_labelled("nvidia", "{timeSlicing: {replicas: 4}}"));
    }
}
