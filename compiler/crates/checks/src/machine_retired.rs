//! A machine type is no longer available.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_model::cloud::machine::Status;
use gpuc_syntax::diag::{Code, Correction, Report, Severity, phrases};

use super::queries::catalog_machines;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2016",
        name: "machine-retired",
        severity: Severity::Error,
        summary: "a machine type is no longer available",
        checks: "Whether the cloud still offers the machine type of a pool.",
        reason: "The cloud's command accepts the name, and fails when it creates the machines, after the cluster is
created.",
        remedy: "Write a replacement; the help names those that gpuc knows. An existing pool can be described with
`existing`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {azure: {subscription: 00000000-1111-2222-3333-444444444444, resourceGroup: ml, location: eastus, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: Standard_NC6s_v3
    nodes: {count: 1}
"#,
        correction: Correction::Replace("Standard_NC6s_v3", "Standard_NC4as_T4_v3"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for (_, machine, span) in catalog_machines(cluster) {
        let Status::Retired { since, use_instead } = machine.status else {
            continue;
        };
        let since = since.map(|day| format!(" since {day}")).unwrap_or_default();
        let message = format!("machine type `{}` cannot be created{since}", machine.name);
        let builder = report.diagnostic(&RULE.code, span, message);
        match use_instead {
            [] => builder
                .help("run `gpuc catalog machines`, and choose an available one")
                .emit(),
            [replacement, ..] => {
                let help = format!(
                    "use one of these instead: {}",
                    phrases::quoted_list(use_instead, 4)
                );
                builder.help(help).replace(span, *replacement).emit()
            }
        };
    }
}
