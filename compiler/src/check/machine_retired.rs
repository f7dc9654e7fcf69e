//! A machine type cannot be created any more.

use super::Rule;
use super::places::machines;
use crate::cloud::machine::Status;
use crate::diag::words;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A machine type cannot be created any more.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2016",
        name: "machine-retired",
        severity: Severity::Error,
        summary: "a machine type cannot be created any more",
        explain: "### What it checks

Whether the cloud still makes machines of a pool's type.

### Why it matters

The cloud's command accepts the name and fails when it comes to the machines, after the cluster
has been made.

### What to do

Write a machine type that took its place; the help names those that gpuc knows. A pool that is
there already can be described with `existing`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {azure: {subscription: 00000000-1111-2222-3333-444444444444, resourceGroup: ml, location: eastus, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: Standard_NC6s_v3
    nodes: {count: 1}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {azure: {subscription: 00000000-1111-2222-3333-444444444444, resourceGroup: ml, location: eastus, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: Standard_NC4as_T4_v3
    nodes: {count: 1}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for (_, machine, span) in machines(cluster) {
        let Status::Retired { since, use_instead } = machine.status else {
            continue;
        };
        let since = since.map(|day| format!(" since {day}")).unwrap_or_default();
        let message = format!("`{}` cannot be created{since}", machine.name);
        let draft = report.draft(&RULE.code, span, message);
        match use_instead {
            [] => draft
                .help("`gpuc catalog machines` lists those that can be had")
                .emit(),
            [nearest, ..] => {
                let help = format!("instead there is {}", words::some(use_instead, 4));
                draft.help(help).replace(span, *nearest).emit()
            }
        };
    }
}
