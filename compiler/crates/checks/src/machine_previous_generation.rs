//! A machine type belongs to a previous generation.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_model::cloud::machine::Status;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::queries::catalog_machines;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2017",
        name: "machine-previous-generation",
        severity: Severity::Warning,
        summary: "a machine type belongs to a previous generation",
        checks: "Whether a machine type belongs to a generation that the cloud still offers, but no longer develops.",
        reason: "New images, regions and features drop such machines first, and at some point they are no longer
available.",
        remedy: "Choose a newer machine type, or write `allow: [machine-previous-generation]`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {azure: {subscription: 00000000-1111-2222-3333-444444444444, resourceGroup: ml, location: eastus, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: Standard_ND40rs_v2
    nodes: {count: 1}
"#,
        correction: Correction::Replace("Standard_ND40rs_v2", "Standard_ND96asr_v4"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for (_, machine, span) in catalog_machines(cluster) {
        if machine.status == Status::PreviousGeneration {
            let message = format!(
                "machine type `{}` belongs to a previous generation",
                machine.name
            );
            let help = "run `gpuc catalog machines`, and choose a newer one";
            let help = machine
                .note
                .map_or(help.to_owned(), |note| format!("{help}; {note}"));
            report
                .diagnostic(&RULE.code, span, message)
                .help(help)
                .emit();
        }
    }
}
