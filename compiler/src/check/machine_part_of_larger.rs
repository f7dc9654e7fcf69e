//! A machine type is rented only as part of a larger one.

use super::Rule;
use super::places::machines;
use crate::cloud::machine::Status;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A machine type is rented only as part of a larger one.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2019",
        name: "machine-part-of-larger",
        severity: Severity::Error,
        summary: "a machine type is rented only as part of a larger one",
        explain: "### What it checks

Whether a machine type can be had by itself.

### Why it matters

Machines of a rack-sized system are rented together with the others of the rack; a node pool of
one of them cannot be made.

### What to do

Choose a machine type that is rented by itself, or make this pool by other means and describe it
with `existing`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: p6e-gb200.36xlarge
    nodes: {count: 1}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: p6-b200.48xlarge
    nodes: {count: 1}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for (_, machine, span) in machines(cluster) {
        if machine.status == Status::PartOfLarger {
            let message = format!(
                "`{}` is rented only as part of a larger machine",
                machine.name
            );
            let draft = report.draft(&RULE.code, span, message);
            let help = "choose one that is rented by itself: `gpuc catalog machines` lists them";
            let help = machine
                .note
                .map_or(help.to_owned(), |note| format!("{help}; {note}"));
            draft.help(help).emit();
        }
    }
}
