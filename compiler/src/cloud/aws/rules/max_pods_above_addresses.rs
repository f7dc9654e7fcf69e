//! More pods than a machine has addresses for.

use super::{instance, machine_span, made_pools};
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// More pods than a machine has addresses for.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2531",
        name: "max-pods-above-addresses",
        severity: Severity::Warning,
        summary: "a node may have more pods than addresses",
        explain: "### What it checks

Whether `maxPods` is at most what the machine's network interfaces have addresses for.

### Why it matters

With the VPC's own network plugin each pod takes an address of the node's interfaces. Pods
beyond that are scheduled and then wait for an address, unless the plugin hands out whole
prefixes.

### What to do

Lower `maxPods`, or set ENABLE_PREFIX_DELEGATION of the plugin and write `allow: [max-pods-
above-addresses]`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}, maxPods: 110}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}, maxPods: 58}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in made_pools(cluster) {
        let most = instance(pool).and_then(|instance| instance.max_pods);
        let (Some(pods), Some(most)) = (pool.written.max_pods, most) else {
            continue;
        };
        if pods.value > most {
            let message = format!("the machine has addresses for {most} pods, not for {pods}");
            report
                .draft(&RULE.code, pods.span, message)
                .label(machine_span(pool), "the machine is chosen here")
                .help(format!(
                    "write {most} at most, unless the network plugin hands out prefixes"
                ))
                .emit();
        }
    }
}
