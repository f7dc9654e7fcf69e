//! Key that applies only to machines that a cloud creates.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use crate::machine_keys::machine_keys;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2806",
        name: "cloud-only-key",
        severity: Severity::Error,
        summary: "a key of a pool applies only to machines that a cloud creates",
        checks: r"Whether a pool on premises has `machine`, `nodes.initial`, `zones`, `subnets`, `capacity`, `network`, `diskGiB`,
`maxPods`, `tags` or `upgrade`.",
        reason: r"These keys configure machines that a cloud creates. Existing hosts do not change, so the key would have no
effect and would mislead readers of the file.",
        remedy: r"Remove the key. Describe the GPUs of a host with `gpu`. Set the maximum number of pods in the configuration
of the kubelet.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: lab}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
    diskGiB: 200
"#,
        correction: Correction::Replace(
            "    diskGiB: 200
",
            "",
        ),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for pool in &cluster.pools {
        for (key, span) in machine_keys(pool) {
            report
                .diagnostic(
                    &RULE.code,
                    span,
                    format!("`{key}` is not supported on premises"),
                )
                .label(
                    pool.name.span,
                    format!("pool `{}` consists of existing hosts", pool.name),
                )
                .help(format!("remove `{key}`"))
                .emit();
        }
    }
}
