//! A machine type is in preview.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_model::cloud::machine::Status;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::queries::catalog_machines;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2018",
        name: "machine-preview",
        severity: Severity::Warning,
        summary: "a machine type is in preview",
        checks: "Whether the cloud offers a machine type only as a preview.",
        reason: "A preview is available only after sign-up, and its name and size may still change.",
        remedy: "Sign up with the cloud and write `allow: [machine-preview]`, or choose another machine type.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {azure: {subscription: 00000000-1111-2222-3333-444444444444, resourceGroup: ml, location: eastus, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: Standard_NC144ds_xl_RTXPRO6000BSE_v6
    nodes: {count: 1}
"#,
        correction: Correction::Replace(
            "Standard_NC144ds_xl_RTXPRO6000BSE_v6",
            "Standard_NC40ads_H100_v5",
        ),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for (_, machine, span) in catalog_machines(cluster) {
        if machine.status == Status::Preview {
            let message = format!("machine type `{}` is in preview", machine.name);
            let help = "sign up for the preview with the cloud, or choose another machine type";
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
