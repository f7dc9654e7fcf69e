//! More pods than the machine type has IP addresses for.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::{catalog_instance, created_pools, machine_span};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2531",
        name: "max-pods-above-addresses",
        severity: Severity::Warning,
        summary: "a node can have more pods than IP addresses",
        checks: "Whether `maxPods` exceeds the number of IP addresses of the machine type's network interfaces.",
        reason: "With the Amazon VPC CNI plugin, each pod takes an IP address of the node's interfaces. Pods beyond
that are scheduled but cannot start for lack of an address, unless the plugin assigns prefixes.",
        remedy: "Lower `maxPods`. Or set ENABLE_PREFIX_DELEGATION of the plugin, and
`allow: [max-pods-above-addresses]`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}, maxPods: 110}
"#,
        correction: Correction::Replace("maxPods: 110", "maxPods: 58"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in created_pools(cluster) {
        let max = catalog_instance(pool).and_then(|instance| instance.max_pods);
        let (Some(pods), Some(max)) = (pool.settings.max_pods, max) else {
            continue;
        };
        if pods.value > max {
            let message =
                format!("the machine type has IP addresses for {max} pods, `maxPods` is {pods}");
            report
                .diagnostic(&RULE.code, pods.span, message)
                .label(machine_span(pool), "the machine type is set here")
                .help(format!(
                    "write at most {max}, unless the network plugin assigns prefixes"
                ))
                .emit();
        }
    }
}
