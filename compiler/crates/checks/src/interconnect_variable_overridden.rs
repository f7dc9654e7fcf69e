//! A workload overrides a variable of its pool's interconnect.

use gpuc_schema::config::Task;

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_model::scheduling::fitting_pools;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2208",
        name: "interconnect-variable-overridden",
        severity: Severity::Warning,
        summary: "a workload overrides a variable of its pool's interconnect",
        checks: "Whether a workload on several nodes overrides a variable that gpuc sets for the interconnect of its
pool, in `env` or `envValueFrom`. Examples are `FI_PROVIDER` for EFA and the `NCCL` variables for
GPUDirect.",
        reason: "The workload's value takes precedence over gpuc's. With another value NCCL may fall back to the slow
network silently, or stop.",
        remedy: "Remove the variable. If the other value is intended, add the warning to `allow`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: p4d.24xlarge, nodes: {count: 2}, network: {efa: {}}, zones: [us-east-1a]}
workloads:
  - {name: finetune, trainJob: {image: "registry.example.com/model:1.0.0", nodes: 2, gpusPerNode: 8, memory: 64Gi, env: {FI_PROVIDER: tcp}}}
"#,
        correction: Correction::Replace(", env: {FI_PROVIDER: tcp}", ""),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for workload in &cluster.config.workloads {
        let is_multi_node = |it: &gpuc_schema::Spanned<u32>| it.value > 1;
        let task = workload.task();
        let task = task.filter(|task| task.nodes().is_some_and(is_multi_node));
        let Some(pods) = task.and_then(Task::pods) else {
            continue;
        };
        let pools = fitting_pools(cluster, workload);
        let Some(pool) = pools.first() else {
            continue;
        };
        let network = &pool.settings.network;
        let interconnect = network.gpudirect.as_ref().map(|it| it.span);
        let interconnect = interconnect.or(network.efa.as_ref().map(|it| it.span));
        let Some(interconnect) = interconnect else {
            continue;
        };
        for (name, expected) in cluster.cloud.interconnect_settings(cluster, pool).env {
            let mut env = pods.env.iter();
            let own = env.find(|(own, _)| own.as_str() == *name);
            let own = own.filter(|(_, value)| value.as_str() != *expected);
            let mut others = pods.env_value_from.keys();
            let other = others.find(|own| own.as_str() == *name);
            let Some(span) = own.map(|it| it.0.span).or(other.map(|it| it.span)) else {
                continue;
            };
            let message = format!(
                "workload `{}` overrides `{name}: {expected}`, which its interconnect requires",
                workload.name
            );
            let label = format!("the interconnect of pool `{}`", pool.name);
            report
                .diagnostic(&RULE.code, span, message)
                .label(interconnect, label)
                .help("remove this variable: gpuc sets it")
                .emit();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    #[test]
    fn overridden_interconnect_variables_are_found() {
        let overridden =
            "workload `a` overrides `FI_PROVIDER: efa`, which its interconnect requires";
        for (nodes, env, expected) in [
            (2, "env: {FI_PROVIDER: tcp}", &[overridden][..]),
            (2, "env: {FI_PROVIDER: efa, NCCL_DEBUG: INFO}", &[]),
            (
                2,
                "envValueFrom: {FI_PROVIDER: {secret: {name: a, key: b}}}",
                &[overridden],
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
            assert_eq!(
                messages_with_id(&yaml, "GPUC2208"),
                expected,
                "{nodes} {env}"
            );
        }
    }
}
