//! A machine type is a preview.

use super::Rule;
use super::places::machines;
use crate::cloud::machine::Status;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A machine type is a preview.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2018",
        name: "machine-preview",
        severity: Severity::Warning,
        summary: "a machine type is a preview",
        explain: "### What it checks

Whether the cloud offers a machine type only as a preview.

### Why it matters

A preview can be had by those who signed up for it, and its name and size may still change.

### What to do

Sign up with the cloud and write `allow: [machine-preview]`, or choose another machine type.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {azure: {subscription: 00000000-1111-2222-3333-444444444444, resourceGroup: ml, location: eastus, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: Standard_NC144ds_xl_RTXPRO6000BSE_v6
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
    machine: Standard_NC40ads_H100_v5
    nodes: {count: 1}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for (_, machine, span) in machines(cluster) {
        if machine.status == Status::Preview {
            let message = format!("`{}` is a preview", machine.name);
            let draft = report.draft(&RULE.code, span, message);
            let help = "it can be created by who signed up for the preview".to_owned();
            let help = machine
                .note
                .map_or(help.clone(), |note| format!("{help}; {note}"));
            draft.help(help).emit();
        }
    }
}
