//! Maintenance window that is too short for GKE.

use std::collections::BTreeSet;

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use crate::gcp::create_section;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2629",
        name: "gke-maintenance-short",
        severity: Severity::Error,
        summary: "the maintenance window is shorter than GKE requires",
        checks: "Whether the maintenance window is open for at least 48 hours in any 32 days.",
        reason: "GKE refuses a shorter window, because it needs the time for security updates.",
        remedy: "Add days or hours: one day per week requires 12 hours, two days require 6 hours, three days 4 hours.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {create: {maintenance: {days: [saturday], start: "02:00", hours: 6}}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: system, machine: e2-standard-4, nodes: {count: 1}}
"#,
        correction: Correction::Replace("saturday", "saturday, sunday"),
    },
    run,
};

/// Source: cloud.google.com/kubernetes-engine/docs/concepts/maintenance-windows-and-exclusions, 2026-11-21: 48 hours of
/// availability in a 32-day rolling window, in which each day of the week comes four times at least.
fn run(cluster: &Cluster, report: &mut Report) {
    let create = create_section(&cluster.config);
    let Some(window) = create.and_then(|create| create.maintenance.as_ref()) else {
        return;
    };
    let days: BTreeSet<_> = window.days.iter().map(|day| day.value).collect();
    let days = u32::try_from(days.len()).expect("a week has seven days");
    let hours = 4 * days * window.hours.value;
    if hours < 48 {
        let message = format!("the maintenance window is open for only {hours} hours in 32 days");
        report
            .diagnostic(&RULE.code, window.span, message)
            .help("add days or hours: GKE requires 48 hours, for example two days of 6 hours each week")
            .emit();
    }
}
