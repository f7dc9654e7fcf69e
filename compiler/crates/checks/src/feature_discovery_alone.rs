//! GPU Feature Discovery or its Node Feature Discovery is enabled where it cannot label nodes.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::config::Fragment;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

const CHART: &str = "nvidia-device-plugin";

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2227",
        name: "feature-discovery-alone",
        severity: Severity::Error,
        summary: "GPU Feature Discovery is enabled without `charts.node-feature-discovery`",
        checks: "Whether the values of the chart `nvidia-device-plugin` enable GPU Feature Discovery (`gfd.enabled`) only if
`charts.node-feature-discovery` is in the file, and never enable the chart's own Node Feature Discovery
(`nfd.enabled`).",
        reason: "GPU Feature Discovery only writes what it finds to Node Feature Discovery, which labels the nodes. gpuc
installs the chart of the device plugin once for each pool. Each release would install a Node Feature
Discovery for the whole cluster, and the releases would conflict.",
        remedy: "Add `charts: {node-feature-discovery: {}}` and remove the values: gpuc then enables GPU Feature Discovery.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {devicePlugin: nvidia}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
charts:
  nvidia-device-plugin: {values: {gfd: {enabled: true}}}
"#,
        correction: Correction::Replace(
            "  nvidia-device-plugin: {values: {gfd: {enabled: true}}}",
            "  node-feature-discovery: {}",
        ),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(settings) = cluster.config.charts.get(CHART) else {
        return;
    };
    let has_discovery = cluster.has_node_feature_discovery();
    for (section, message) in [
        (
            "gfd",
            "GPU Feature Discovery has no Node Feature Discovery that labels the nodes",
        ),
        (
            "nfd",
            "each release of the chart would install Node Feature Discovery for the whole cluster",
        ),
    ] {
        let enabled = settings.values.get_path(&[section, "enabled"]);
        let Some(enabled) = enabled.filter(|it| it.value == Fragment::Bool(true)) else {
            continue;
        };
        if section == "gfd" && has_discovery {
            continue;
        }
        let builder = report.diagnostic(&RULE.code, enabled.span, message);
        let help = if has_discovery {
            "remove this value; gpuc enables GPU Feature Discovery, because `charts.node-feature-discovery` is in the file"
        } else {
            "remove this value and add `charts: {node-feature-discovery: {}}`; gpuc then enables GPU Feature Discovery"
        };
        builder.help(help).emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    #[test]
    fn only_discovery_that_cannot_label_is_reported() {
        let labels = "GPU Feature Discovery has no Node Feature Discovery that labels the nodes";
        let each =
            "each release of the chart would install Node Feature Discovery for the whole cluster";
        for (charts, expected) in [
            (
                "nvidia-device-plugin: {values: {gfd: {enabled: true}}}",
                &[labels][..],
            ),
            (
                "nvidia-device-plugin: {values: {gfd: {enabled: false}}}",
                &[],
            ),
            (
                "nvidia-device-plugin: {values: {gfd: {enabled: true}}}, node-feature-discovery: {}",
                &[],
            ),
            (
                "nvidia-device-plugin: {values: {gfd: {enabled: true}, nfd: {enabled: true}}}",
                &[labels, each],
            ),
            (
                "nvidia-device-plugin: {values: {nfd: {enabled: true}}}, node-feature-discovery: {}",
                &[each],
            ),
        ] {
            let yaml = format!(
                "cloud: {{aws: {{account: \"123456789012\", region: us-east-1, cluster: {{create: {{}}}}}}}}\n\
                 stack: {{devicePlugin: nvidia}}\n\
                 nodePools:\n\
                 - {{name: gpu, machine: g6.xlarge, nodes: {{count: 1}}}}\n\
                 charts: {{{charts}}}\n"
            );
            assert_eq!(messages_with_id(&yaml, "GPUC2227"), expected, "{charts}");
        }
    }
}
