//! A taint has no value but the cloud requires one.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2007",
        name: "taint-value-missing",
        severity: Severity::Error,
        summary: "a taint has no value but the cloud requires one",
        checks: "Whether each taint has a value, on clouds whose command requires one.",
        reason: "Kubernetes allows a taint without a value. The commands of some clouds do not, and stop halfway.",
        remedy: "Add a value, such as `present`. All pods that gpuc creates tolerate the taint with its value.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-demo, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-demo.iam.gserviceaccount.com, cluster: {existing: {}}}}
stack: {devicePlugin: cloud}
nodePools:
  - name: gpu
    machine: n1-standard-8
    gpu: {model: T4, perNode: 1}
    nodes: {count: 1}
    taints: [{key: example.com/gpu, effect: NoSchedule}]
"#,
        correction: Correction::Replace("effect:", "value: present, effect:"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(source) = cluster.cloud.facts().taint_needs_value else {
        return;
    };
    for pool in cluster.pools.iter().filter(|pool| !pool.is_existing()) {
        for taint in &pool.user_taints {
            let (key, value) = (&taint.value.key, &taint.value.value);
            if !value.is_empty() {
                continue;
            }
            let message = format!("the taint `{key}` has no value, which the cloud requires");
            let primary = if value.span.is_written() {
                value.span
            } else {
                key.span
            };
            let builder = report.diagnostic(&RULE.code, primary, message);
            let builder = builder.help(format!("add `value: present`: {source}"));
            // An empty value can be replaced; a missing one has no location.
            builder.replace(value.span, "present").emit();
        }
    }
}
