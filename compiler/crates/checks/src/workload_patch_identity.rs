//! A patch changes the identity of an object.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2185",
        name: "workload-patch-identity",
        severity: Severity::Error,
        summary: "a patch changes the identity of an object",
        checks: "Whether `patch` changes a workload's `apiVersion`, `kind`, name, namespace or status.",
        reason: "With another name it would be a different object that gpuc does not track.",
        remedy: "Change `name`, `namespace` or the kind of the workload itself.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
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
        correction: Correction::Replace("name: other", "labels: {tier: gold}"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    const FIXED_FIELDS: &[(&[&str], &str)] = &[
        (&["apiVersion"], "and change the workload's kind"),
        (&["kind"], "and change the workload's kind"),
        (&["metadata", "name"], "and change the workload's `name`"),
        (
            &["metadata", "namespace"],
            "and change the workload's `team` or `namespace`",
        ),
        (&["status"], "because Kubernetes sets it"),
    ];
    for workload in &cluster.config.workloads {
        for (path, replacement) in FIXED_FIELDS {
            let Some(found) = workload.patch.value.get_path(path) else {
                continue;
            };
            let message = format!("a patch cannot change `{}`", path.join("."));
            report
                .diagnostic(&RULE.code, found.span, message)
                .help(format!("remove it, {replacement}"))
                .emit();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{WORKLOADS, check_in};

    #[track_caller]
    fn check(workloads: &str, expected: &[&str]) {
        check_in(WORKLOADS, "GPUC2185", workloads, expected);
    }

    #[test]
    fn patches_of_the_identity_are_found() {
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
