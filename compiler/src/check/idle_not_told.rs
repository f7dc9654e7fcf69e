//! Idle slices are to be told of by what does not know how busy they are.

use gpuc_schema::config::Exporter;

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::{Cluster, Sharing};

/// Idle slices are to be told of by what does not know how busy they are.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2086",
        name: "idle-not-told",
        severity: Severity::Warning,
        summary: "idle slices are to be told of by what does not know how busy they are",
        explain: "### What it checks

Whether `monitoring.alerts` has `idlePercent` or `idleMinutes` where `monitoring.exporter` is `gpuc`
and every GPU of a pool is cut into MIG slices.

### Why it matters

gpuc-runtime asks the driver, which does not say how busy a slice is. Such a pool has no alert
`GpuIdle`, whatever the thresholds are, and its panels `Busy` stay empty. Memory, temperature, power
and errors are told as everywhere.

### What to do

Write `exporter: dcgm`, whose counters know it of slices as well. If nobody has to be told, remove
the thresholds, or allow this.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
monitoring:
  exporter: gpuc
  alerts: {idleMinutes: 30}
  prometheus: {existing: {release: kube-prometheus-stack}}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 1}
    hosts: [node-1]
    nodes: {count: 1}
    sharing: {mig: {strategy: single, perGpu: [{layout: [{profile: 1g.6gb, count: 4}]}]}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
monitoring:
  exporter: dcgm
  alerts: {idleMinutes: 30}
  prometheus: {existing: {release: kube-prometheus-stack}}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 1}
    hosts: [node-1]
    nodes: {count: 1}
    sharing: {mig: {strategy: single, perGpu: [{layout: [{profile: 1g.6gb, count: 4}]}]}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(monitoring) = &cluster.written.monitoring else {
        return;
    };
    if monitoring.exporter.value != Exporter::Gpuc {
        return;
    }
    let alerts = &monitoring.alerts;
    let thresholds = [alerts.idle_percent.span, alerts.idle_minutes.span];
    let Some(threshold) = thresholds.into_iter().find(|span| span.is_written()) else {
        return;
    };
    for (pool, _) in cluster.gpu_pools() {
        if !pool.sharing.get().is_some_and(Sharing::cuts_every_gpu) {
            continue;
        }
        let message = format!("pool `{}` has no alert `GpuIdle`", pool.name);
        report
            .draft(&RULE.code, threshold, message)
            .label(
                pool.written.sharing.span,
                "all of its GPUs are cut into slices",
            )
            .label(
                monitoring.exporter.span,
                "it does not know how busy a slice is",
            )
            .help("write `exporter: dcgm`")
            .emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[test]
    fn a_gpu_that_is_left_whole_can_be_idle() {
        let of = |layouts: &str, alerts: &str| {
            let yaml = format!(
                "
                cloud: {{onPrem: {{context: demo}}}}
                stack: {{runtimeImage: 'registry.example.com/gpuc-runtime:0.1.0'}}
                monitoring: {{exporter: gpuc, alerts: {{{alerts}}}, prometheus: {{install: {{}}}}}}
                nodePools:
                  - name: gpu
                    gpu: {{model: A30, perNode: 2}}
                    hosts: [a]
                    nodes: {{count: 1}}
                    sharing: {{mig: {{strategy: mixed, perGpu: [{layouts}]}}}}
                "
            );
            messages(&yaml, "GPUC2086").len()
        };
        let cut = "{gpus: '0', layout: [{profile: 1g.6gb, count: 4}]}";
        let all = "{layout: [{profile: 1g.6gb, count: 4}]}";
        assert_eq!(of(all, "idlePercent: 10"), 1);
        assert_eq!(of(all, "powerWatts: 100"), 0);
        assert_eq!(of(cut, "idlePercent: 10"), 0);
    }
}
