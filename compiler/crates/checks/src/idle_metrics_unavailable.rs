//! Idle alerts are configured, but the exporter cannot measure MIG devices.

use gpuc_schema::config::Exporter;

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, Sharing};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2086",
        name: "idle-metrics-unavailable",
        severity: Severity::Warning,
        summary: "idle alerts are configured, but the exporter cannot measure MIG devices",
        checks: "Whether `monitoring.alerts` has `idlePercent` or `idleMinutes` if `monitoring.exporter` is `gpuc`
and every GPU of a pool is partitioned into MIG devices.",
        reason: "gpuc-runtime queries the driver, which does not report the utilization of MIG devices. Such a pool
has no alert `GpuIdle`, whatever the thresholds are, and its panels `Busy` stay empty. Memory,
temperature, power and errors are reported as on other pools.",
        remedy: "Write `exporter: dcgm`, which measures MIG devices as well. If you do not need the alert, remove the
thresholds or allow this warning.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
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
        correction: Correction::Replace("exporter: gpuc", "exporter: dcgm"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(monitoring) = &cluster.config.monitoring else {
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
        if !pool
            .sharing
            .get()
            .is_some_and(Sharing::partitions_every_gpu)
        {
            continue;
        }
        let message = format!("pool `{}` has no alert `GpuIdle`", pool.name);
        report
            .diagnostic(&RULE.code, threshold, message)
            .label(pool.sharing_span, "all of its GPUs are partitioned")
            .label(
                monitoring.exporter.span,
                "this exporter cannot measure MIG devices",
            )
            .help("write `exporter: dcgm`")
            .emit();
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    #[test]
    fn pools_with_an_unpartitioned_gpu_pass() {
        let count = |layouts: &str, alerts: &str| {
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
            messages_with_id(&yaml, "GPUC2086").len()
        };
        let one = "{gpus: '0', layout: [{profile: 1g.6gb, count: 4}]}";
        let all = "{layout: [{profile: 1g.6gb, count: 4}]}";
        assert_eq!(count(all, "idlePercent: 10"), 1);
        assert_eq!(count(all, "powerWatts: 100"), 0);
        assert_eq!(count(one, "idlePercent: 10"), 0);
    }
}
