//! Pods on several nodes share a volume of one node.

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;
use gpuc_schema::config::{Task, VolumeFrom, Volumes};

/// Pods on several nodes share a volume of one node.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2188",
        name: "workload-volume-one-node",
        severity: Severity::Warning,
        summary: "pods on several nodes share a volume of one node",
        explain: "### What it checks

Whether a claim that gpuc makes for pods on several nodes is of a class of `storage` with files: a
disk is attached to one node at a time.

### Why it matters

The pods on the other nodes would wait for the disk for ever.

### What to do

Name a class of files, or a claim that is there and that several nodes may use.
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
  - {name: finetune, trainJob: {image: "registry.example.com/model:1.0.0", nodes: 2, gpusPerNode: 2, volumes: [{name: data, mountPath: /data, from: {claim: {sizeGiB: 100}}}]}}
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
  - {name: finetune, trainJob: {image: "registry.example.com/model:1.0.0", nodes: 2, gpusPerNode: 2, volumes: [{name: data, mountPath: /data, from: {existingClaim: shared}}]}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let classes = cluster.written.storage.iter().flat_map(|it| &it.classes);
    let files = classes.filter(|class| matches!(class.volumes.value, Volumes::Files(_)));
    let files: Vec<_> = files.map(|class| &class.name).collect();
    for workload in &cluster.written.workloads {
        let Some(task) = workload.task() else {
            continue;
        };
        // Each pod of a StatefulSet has a claim of its own.
        if task.most_pods() < 2 || matches!(task, Task::StatefulSet(_)) {
            continue;
        }
        for volume in task.pods().map_or(&[][..], |pods| pods.volumes) {
            let VolumeFrom::Claim(claim) = &volume.from.value else {
                continue;
            };
            if claim
                .class
                .as_ref()
                .is_some_and(|class| files.contains(&class))
            {
                continue;
            }
            let (name, pods) = (&volume.name, task.most_pods());
            let message =
                format!("volume `{name}` is for one node at a time, and {pods} pods use it");
            let class = claim.class.as_ref().map(|class| class.span);
            let span = class.unwrap_or(volume.from.span);
            let draft = report.draft(&RULE.code, span, message);
            draft
                .help("write `class` with a class of files, or `existingClaim`")
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
            storage: {{classes: [{{name: shared, volumes: {{files: {{}}}}}}]}}
            workloads: [{workloads}]
            "
        );
        assert_eq!(messages(&yaml, "GPUC2188"), expected, "{workloads}");
    }

    #[test]
    fn disks_are_for_one_node() {
        let job = |count: u32, from: &str| {
            format!(
                "{{name: a, job: {{image: 'a:1', completions: {count}, parallelism: {count}, \
                 volumes: [{{name: v, mountPath: /v, from: {from}}}]}}}}"
            )
        };
        let disk = "volume `v` is for one node at a time, and 2 pods use it";
        check(&job(2, "{claim: {sizeGiB: 1}}"), &[disk]);
        check(&job(1, "{claim: {sizeGiB: 1}}"), &[]);
        check(&job(2, "{existingClaim: there}"), &[]);
        check(&job(2, "{claim: {sizeGiB: 1, class: shared}}"), &[]);
    }
}
