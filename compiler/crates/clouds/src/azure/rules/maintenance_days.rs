//! Maintenance window on several days of the week.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use crate::azure::create_section;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2732",
        name: "aks-maintenance-days",
        severity: Severity::Error,
        summary: "an AKS maintenance schedule has more than one day of the week",
        checks: "Whether the maintenance window of an AKS cluster is on one day of the week.",
        reason: "A weekly maintenance schedule of AKS has exactly one day.",
        remedy: "Keep one day. Remove the others.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: demo, location: eastus, cluster: {create: {maintenance: {days: [saturday, sunday], start: "02:00", hours: 6}}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: Standard_D4s_v5, nodes: {count: 2}}
"#,
        correction: Correction::Replace(", sunday", ""),
    },
    run,
};

/// Source: learn.microsoft.com/azure/aks/planned-maintenance (`dayOfWeek` of a weekly schedule), 2026-11-21.
fn run(cluster: &Cluster, report: &mut Report) {
    let create = create_section(cluster);
    let Some(window) = create.and_then(|create| create.maintenance.as_ref()) else {
        return;
    };
    if let Some(second) = window.days.get(1) {
        report
            .diagnostic(
                &RULE.code,
                second.span,
                "a weekly maintenance schedule of AKS has exactly one day",
            )
            .help("keep one day and remove the others")
            .emit();
    }
}
