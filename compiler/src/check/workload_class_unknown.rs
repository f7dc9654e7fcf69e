//! A workload names a class that is none of the file's.

use gpuc_schema::Spanned;
use gpuc_schema::config::VolumeFrom;

use super::Rule;
use super::syntax::is_dns_subdomain;
use super::words::one_of;
use crate::diag::words::nearest;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A workload names a class that is none of the file's.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2198",
        name: "workload-class-unknown",
        severity: Severity::Warning,
        summary: "a workload names a class that is none of the file's",
        explain: "### What it checks

Whether each `priority` of a workload is one of `priorities`, where the file has some, and each
`class` of its volumes one of `storage.classes`, where the file has some. Classes of Kubernetes'
own, `system-` and more, are let be.

### Why it matters

The API server refuses pods of a PriorityClass that is not there, and a claim of a StorageClass that
is not there waits for ever. Most of the time it is a slip of the pen.

### What to do

Write a name of the file, or allow the finding where the class comes from elsewhere.
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
priorities: [{name: production, value: 1000}]
workloads:
  - {name: finetune, priority: producton, job: {image: "registry.example.com/model:1.0.0", gpus: 1}}
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
priorities: [{name: production, value: 1000}]
workloads:
  - {name: finetune, priority: production, job: {image: "registry.example.com/model:1.0.0", gpus: 1}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let priorities = cluster.written.priorities.iter();
    let priorities: Vec<_> = priorities.map(|it| &it.name).collect();
    let storage = cluster.written.storage.iter();
    let classes = storage.flat_map(|it| &it.classes);
    let classes: Vec<_> = classes.map(|it| &it.name).collect();
    for workload in &cluster.written.workloads {
        let priority = workload.priority.as_ref();
        if let Some(name) = priority.filter(|name| !name.starts_with("system-")) {
            look("PriorityClass", name, &priorities, report);
        }
        let pods = workload.task().and_then(gpuc_schema::config::Task::pods);
        for volume in pods.map_or(&[][..], |pods| pods.volumes) {
            if let VolumeFrom::Claim(claim) = &volume.from.value
                && let Some(name) = &claim.class
            {
                look("StorageClass", name, &classes, report);
            }
        }
    }
}

fn look(kind: &str, name: &Spanned<String>, known: &[&Spanned<String>], report: &mut Report) {
    if known.is_empty() || known.contains(&name) {
        return;
    }
    // What is refused itself is no advice.
    let good = known.iter().map(|it| it.as_str());
    let good = good.filter(|name| is_dns_subdomain(name) && !name.starts_with("system-"));
    let mut names: Vec<&str> = Vec::new();
    for name in good {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let message = format!("the file has no {kind} called `{name}`");
    let mut draft = report.draft(&RULE.code, name.span, message);
    let near = nearest(name, names.iter().copied());
    let mut found = known.iter().filter(|it| Some(it.as_str()) == near);
    if let Some(found) = found.next() {
        draft = draft.label(found.span, "the nearest name");
    }
    let help = match near {
        Some(near) => format!("did you mean `{near}`?"),
        None if names.is_empty() => "correct the classes of the file first".to_owned(),
        None => one_of(&names),
    };
    draft.help(help).emit();
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[track_caller]
    fn check(lists: &str, workload: &str, expected: &[&str]) {
        let yaml = format!(
            "
            cloud: {{onPrem: {{context: demo}}}}
            nodePools:
              - {{name: gpu, gpu: {{model: A30, perNode: 2}}, hosts: [a], nodes: {{count: 1}}}}
            workloads: [{{name: a, {workload}}}]
            {lists}
            "
        );
        assert_eq!(messages(&yaml, "GPUC2198"), expected, "{workload}");
    }

    #[test]
    fn classes_are_the_files() {
        let list = "priorities: [{name: prod, value: 1}]";
        let job = |name: &str| format!("priority: {name}, job: {{image: 'a:1'}}");
        check(list, &job("prod"), &[]);
        check(list, &job("system-node-critical"), &[]);
        check("", &job("prodd"), &[]);
        let none = "the file has no PriorityClass called `prodd`";
        check(list, &job("prodd"), &[none]);
        let list = "storage: {classes: [{name: fast, volumes: {files: {}}}]}";
        let job = |class: &str| {
            format!(
                "job: {{image: 'a:1', volumes: [{{name: v, mountPath: /v, \
                 from: {{claim: {{sizeGiB: 1, class: {class}}}}}}}]}}"
            )
        };
        check(list, &job("fast"), &[]);
        check("", &job("fats"), &[]);
        let none = "the file has no StorageClass called `fats`";
        check(list, &job("fats"), &[none]);
    }
}
