//! A workload replaces a setting of the fast network of its pool.

use gpuc_schema::config::Task;

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;
use crate::placement::holding;

/// A workload replaces a setting of the fast network of its pool.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2208",
        name: "workload-fabric-variable-replaced",
        severity: Severity::Warning,
        summary: "a workload replaces a setting of the fast network of its pool",
        explain: "### What it checks

Whether `env` or `envValueFrom` of a workload on several nodes gives another value to a variable that gpuc
sets for the network of its pool, such as `FI_PROVIDER` for EFA and those of `NCCL` for GPUDirect.

### Why it matters

What the workload says goes before what gpuc sets. With another value NCCL may take the slow network
without a word, or stop.

### What to do

Remove the variable. Where the other value is meant, name the finding in `allow`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: p4d.24xlarge, nodes: {count: 2}, network: {efa: {}}, zones: [us-east-1a]}
workloads:
  - {name: finetune, trainJob: {image: "registry.example.com/model:1.0.0", nodes: 2, gpusPerNode: 8, memory: 64Gi, env: {FI_PROVIDER: tcp}}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: p4d.24xlarge, nodes: {count: 2}, network: {efa: {}}, zones: [us-east-1a]}
workloads:
  - {name: finetune, trainJob: {image: "registry.example.com/model:1.0.0", nodes: 2, gpusPerNode: 8, memory: 64Gi}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for workload in &cluster.written.workloads {
        let several = |it: &gpuc_schema::Spanned<u32>| it.value > 1;
        let task = workload.task();
        let task = task.filter(|task| task.nodes().is_some_and(several));
        let Some(pods) = task.and_then(Task::pods) else {
            continue;
        };
        let pools = holding(cluster, workload);
        let Some(pool) = pools.first() else {
            continue;
        };
        let network = &pool.written.network;
        let fabric = network.gpudirect.as_ref().map(|it| it.span);
        let fabric = fabric.or(network.efa.as_ref().map(|it| it.span));
        let Some(fabric) = fabric else {
            continue;
        };
        for (name, ours) in cluster.cloud.fabric_settings(pool).env {
            let mut env = pods.env.iter();
            let own = env.find(|(own, _)| own.as_str() == *name);
            let own = own.filter(|(_, value)| value.as_str() != *ours);
            let mut others = pods.env_value_from.keys();
            let other = others.find(|own| own.as_str() == *name);
            let Some(span) = own.map(|it| it.0.span).or(other.map(|it| it.span)) else {
                continue;
            };
            let message = format!(
                "workload `{}` replaces `{name}: {ours}`, which its network needs",
                workload.name
            );
            let draft = report.draft(&RULE.code, span, message);
            let why = format!("the network of pool `{}`", pool.name);
            draft
                .label(fabric, why)
                .help("remove the variable: gpuc sets it")
                .emit();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[test]
    fn what_the_network_needs_is_not_replaced_in_silence() {
        let replaced = "workload `a` replaces `FI_PROVIDER: efa`, which its network needs";
        for (nodes, env, expected) in [
            (2, "env: {FI_PROVIDER: tcp}", &[replaced][..]),
            (2, "env: {FI_PROVIDER: efa, NCCL_DEBUG: INFO}", &[]),
            (
                2,
                "envValueFrom: {FI_PROVIDER: {secret: {name: a, key: b}}}",
                &[replaced],
            ),
            (1, "env: {FI_PROVIDER: tcp}", &[]),
        ] {
            let yaml = format!(
                "
                cloud: {{aws: {{account: '123456789012', region: us-east-1, cluster: {{create: {{}}}}}}}}
                nodePools:
                  - {{name: gpu, machine: p4d.24xlarge, nodes: {{count: 2}}, network: {{efa: {{}}}}, zones: [us-east-1a]}}
                workloads: [{{name: a, trainJob: {{image: 'a:1', nodes: {nodes}, gpusPerNode: 8, {env}}}}}]
                "
            );
            assert_eq!(messages(&yaml, "GPUC2208"), expected, "{nodes} {env}");
        }
    }
}
