//! A machine type is of a generation on its way out.

use super::Rule;
use super::places::machines;
use crate::cloud::machine::Status;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A machine type is of a generation on its way out.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2017",
        name: "machine-previous-generation",
        severity: Severity::Warning,
        summary: "a machine type is of a generation on its way out",
        explain: "### What it checks

Whether a machine type is of a generation that the cloud still rents, while it and its tools move
on.

### Why it matters

New images, regions and features leave such machines out first, and one day they cannot be had.

### What to do

Choose a newer machine type, or write `allow: [machine-previous-generation]`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {azure: {subscription: 00000000-1111-2222-3333-444444444444, resourceGroup: ml, location: eastus, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: Standard_ND40rs_v2
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
    machine: Standard_ND96asr_v4
    nodes: {count: 1}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for (_, machine, span) in machines(cluster) {
        if machine.status == Status::PreviousGeneration {
            let message = format!("`{}` is of a previous generation", machine.name);
            let draft = report.draft(&RULE.code, span, message);
            let help = "choose a newer one: `gpuc catalog machines` lists them".to_owned();
            let help = machine
                .note
                .map_or(help.clone(), |note| format!("{help}; {note}"));
            draft.help(help).emit();
        }
    }
}
