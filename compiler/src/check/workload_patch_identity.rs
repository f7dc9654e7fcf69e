//! A patch changes what an object is.

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A patch changes what an object is.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2185",
        name: "workload-patch-identity",
        severity: Severity::Error,
        summary: "a patch changes what an object is",
        explain: "### What it checks

Whether `patch` leaves a workload's `apiVersion`, `kind`, name, namespace and status alone.

### Why it matters

Under another name it would be another object, of which nothing in the tree knows.

### What to do

Change `name`, `namespace` or the kind of the workload itself.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [gpu-1, gpu-2]
    nodes: {count: 2}
workloads:
  - {name: finetune, job: {image: "registry.example.com/model:1.0.0", gpus: 1}, patch: {metadata: {name: other}}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [gpu-1, gpu-2]
    nodes: {count: 2}
workloads:
  - {name: finetune, job: {image: "registry.example.com/model:1.0.0", gpus: 1}, patch: {metadata: {labels: {tier: gold}}}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    const FIXED: &[(&[&str], &str)] = &[
        (&["apiVersion"], "the workload's kind"),
        (&["kind"], "the workload's kind"),
        (&["metadata", "name"], "the workload's `name`"),
        (
            &["metadata", "namespace"],
            "the workload's `team` or `namespace`",
        ),
        (&["status"], "nothing: Kubernetes writes it"),
    ];
    for workload in &cluster.written.workloads {
        for (path, instead) in FIXED {
            let Some(found) = workload.patch.value.at(path) else {
                continue;
            };
            let message = format!("a patch cannot change `{}`", path.join("."));
            let draft = report.draft(&RULE.code, found.span, message);
            draft
                .help(format!("remove it, and change {instead}"))
                .emit();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[track_caller]
    fn check(workloads: &str, expected: &[&str]) {
        let yaml = format!(
            "
            cloud: {{onPrem: {{context: demo}}}}
            nodePools:
              - {{name: gpu, gpu: {{model: A30, perNode: 2}}, hosts: [a, b], nodes: {{count: 2}}}}
            workloads: [{workloads}]
            "
        );
        assert_eq!(messages(&yaml, "GPUC2185"), expected, "{workloads}");
    }

    #[test]
    fn what_an_object_is_stays() {
        let job = "{name: a, job: {image: 'a:1'}, patch: ";
        check(&format!("{job}{{metadata: {{labels: {{a: b}}}}}}}}"), &[]);
        check(
            &format!("{job}{{kind: Pod}}}}"),
            &["a patch cannot change `kind`"],
        );
        let named = "a patch cannot change `metadata.name`";
        check(&format!("{job}{{metadata: {{name: b}}}}}}"), &[named]);
    }
}
