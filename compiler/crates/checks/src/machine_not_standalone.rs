//! A machine type is available only as part of a larger one.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_model::cloud::machine::Status;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::queries::catalog_machines;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2019",
        name: "machine-not-standalone",
        severity: Severity::Error,
        summary: "a machine type is available only as part of a larger one",
        checks: "Whether a machine type can be rented individually.",
        reason: "Machines of a rack-sized system are rented together with the other machines of the rack. A node pool
with only one of them cannot be created.",
        remedy: "Choose a machine type that can be rented individually, or create this pool by other means and
describe it with `existing`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: p6e-gb200.36xlarge
    nodes: {count: 1}
"#,
        correction: Correction::Replace("p6e-gb200.36xlarge", "p6-b200.48xlarge"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for (_, machine, span) in catalog_machines(cluster) {
        if machine.status == Status::PartOfLarger {
            let message = format!(
                "machine type `{}` is available only as part of a larger one",
                machine.name
            );
            let help =
                "run `gpuc catalog machines`, and choose one that can be rented individually";
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
