//! Host that is listed twice.

use std::collections::BTreeMap;

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2802",
        name: "host-twice",
        severity: Severity::Error,
        summary: "a host is listed twice, in one pool or in two pools",
        checks: r"Whether each host is listed once, in one pool.",
        reason: r"A node has only one label `gpuc.dev/pool`. The scripts of two pools with the same host would overwrite each
other's label, and gpuc would count the GPUs of the host twice.",
        remedy: r"Keep the host in one pool, and remove it everywhere else.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: lab}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1, node-2]
    nodes: {count: 2}
  - name: more
    gpu: {model: A30, perNode: 2}
    hosts: [node-2]
    nodes: {count: 1}
"#,
        correction: Correction::Replace("[node-2", "[node-3"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let mut seen = BTreeMap::new();
    for pool in &cluster.pools {
        for host in &pool.settings.hosts {
            let Some((first, span)) = seen.insert(host.as_str(), (&pool.name.value, host.span))
            else {
                continue;
            };
            let label = if *first == pool.name.value {
                "first listed here".to_owned()
            } else {
                format!("first listed in pool `{first}`")
            };
            report
                .diagnostic(
                    &RULE.code,
                    host.span,
                    format!("host `{host}` is listed twice"),
                )
                .label(span, label)
                .help("remove the host from one of the two lists")
                .emit();
        }
    }
}
