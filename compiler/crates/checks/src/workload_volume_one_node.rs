//! Pods on several nodes share a volume that can be attached to one node.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::config::{Task, VolumeFrom, Volumes};
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2188",
        name: "workload-volume-one-node",
        severity: Severity::Warning,
        summary: "pods on several nodes share a volume that can be attached to one node",
        checks: "Whether a claim that gpuc creates for pods on several nodes has a class of `storage` with file
systems. A disk can be attached to one node at a time.",
        reason: "The pods on the other nodes would wait for the disk indefinitely.",
        remedy: "Use a class with `files`, or an existing claim that several nodes can mount.",
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
  - {name: finetune, trainJob: {image: "registry.example.com/model:1.0.0", nodes: 2, gpusPerNode: 2, volumes: [{name: data, mountPath: /data, from: {claim: {sizeGiB: 100}}}]}}
"#,
        correction: Correction::Replace("claim: {sizeGiB: 100}", "existingClaim: shared"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let classes = cluster.config.storage.iter().flat_map(|it| &it.classes);
    let file_classes = classes.filter(|class| matches!(class.volumes.value, Volumes::Files(_)));
    let file_classes: Vec<_> = file_classes.map(|class| &class.name).collect();
    for workload in &cluster.config.workloads {
        let Some(task) = workload.task() else {
            continue;
        };
        // Each pod of a StatefulSet has its own claim.
        if task.max_pods() < 2 || matches!(task, Task::StatefulSet(_)) {
            continue;
        }
        for volume in task.pods().map_or(&[][..], |pods| pods.volumes) {
            let VolumeFrom::Claim(claim) = &volume.from.value else {
                continue;
            };
            if claim
                .class
                .as_ref()
                .is_some_and(|class| file_classes.contains(&class))
            {
                continue;
            }
            let (name, pods) = (&volume.name, task.max_pods());
            let message =
                format!("volume `{name}` can be mounted on one node, but {pods} pods use it");
            let class = claim.class.as_ref().map(|class| class.span);
            let span = class.unwrap_or(volume.from.span);
            report
                .diagnostic(&RULE.code, span, message)
                .help("set `class` to a class with `files`, or use an `existingClaim`")
                .emit();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_in;

    #[track_caller]
    fn check(workloads: &str, expected: &[&str]) {
        let file = "
            cloud: {onPrem: {context: demo}}
            nodePools:
              - {name: gpu, gpu: {model: A30, perNode: 2}, hosts: [a, b], nodes: {count: 2}}
            storage: {classes: [{name: shared, volumes: {files: {}}}]}
            workloads: [<rest>]
            ";
        check_in(file, "GPUC2188", workloads, expected);
    }

    #[test]
    fn shared_disks_are_found() {
        let job = |count: u32, from: &str| {
            format!(
                "{{name: a, job: {{image: 'a:1', completions: {count}, parallelism: {count}, \
                 volumes: [{{name: v, mountPath: /v, from: {from}}}]}}}}"
            )
        };
        let disk = "volume `v` can be mounted on one node, but 2 pods use it";
        check(&job(2, "{claim: {sizeGiB: 1}}"), &[disk]);
        check(&job(1, "{claim: {sizeGiB: 1}}"), &[]);
        check(&job(2, "{existingClaim: there}"), &[]);
        check(&job(2, "{claim: {sizeGiB: 1, class: shared}}"), &[]);
    }
}
