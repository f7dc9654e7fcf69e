//! `extendedResources` requires a newer Kubernetes version.

use gpuc_model::check::Rule;
use gpuc_model::{Cluster, KubernetesVersion};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::queries::ReportedSpans;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2231",
        name: "extended-resources-kubernetes-too-old",
        severity: Severity::Error,
        summary: "`extendedResources` requires a newer Kubernetes version",
        checks: "Whether Kubernetes is 1.36 or newer if a pool with `allocation: dra` has `extendedResources: true`.",
        reason: "The feature gate `DRAExtendedResource` is alpha and off in Kubernetes 1.34 and 1.35, beta and on in 1.36,
and locked to on from 1.37. Managed clusters do not let you set gates. Without the gate, the API
server drops `extendedResourceName` from DeviceClasses, and pods that request the resource stay
pending.",
        remedy: "Write a newer version, or remove `extendedResources` and let pods use ResourceClaims.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.35"}
cloud: {onPrem: {context: demo}}
stack: {allocation: dra, extendedResources: true}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1]
    nodes: {count: 1}
"#,
        correction: Correction::Replace(r#"version: "1.35""#, r#"version: "1.36""#),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(version) = cluster.kubernetes.get() else {
        return;
    };
    if cluster.bridges_extended_resources() {
        return;
    }
    let first = KubernetesVersion::FIRST_WITH_DRA_EXTENDED_RESOURCES;
    let mut reported = ReportedSpans::default();
    for pool in cluster
        .dra_pools()
        .filter(|pool| pool.extended_resources.value)
    {
        if !reported.insert(pool.extended_resources.span) {
            continue;
        }
        let message = format!(
            "Kubernetes {} does not support `extendedResources` of pool `{}`",
            version.value, pool.name
        );
        report
            .diagnostic(&RULE.code, pool.extended_resources.span, message)
            .primary_label("set here")
            .label(
                version.span,
                format!("DeviceClasses have extended resources since {first}"),
            )
            .help(format!(
                "write `version: \"{first}\"` or newer, or remove `extendedResources`"
            ))
            .emit();
    }
}
