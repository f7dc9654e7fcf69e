//! A workload names a class that is not in the configuration.

use gpuc_kubernetes::names::is_dns_subdomain;
use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::Spanned;
use gpuc_schema::config::VolumeFrom;
use gpuc_syntax::diag::phrases::closest_match;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::messages::one_of_help;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2198",
        name: "workload-class-unknown",
        severity: Severity::Warning,
        summary: "a workload names a class that is not in the configuration",
        checks: "Whether the `priority` of each workload is one of `priorities`, if the file has any. Whether the
`class` of each volume is one of `storage.classes`, if the file has any. Priority classes of
Kubernetes, `system-`, are ignored.",
        reason: "The API server rejects pods with an unknown PriorityClass, and a claim with an unknown StorageClass
stays pending indefinitely. Usually the name is a typo.",
        remedy: "Use a name from the file, or allow the warning if the class is created by other means.",
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
priorities: [{name: production, value: 1000}]
workloads:
  - {name: finetune, priority: producton, job: {image: "registry.example.com/model:1.0.0", gpus: 1}}
"#,
        correction: Correction::Replace("producton", "production"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let priorities = cluster.config.priorities.iter();
    let priorities: Vec<_> = priorities.map(|it| &it.name).collect();
    let storage = cluster.config.storage.iter();
    let classes = storage.flat_map(|it| &it.classes);
    let classes: Vec<_> = classes.map(|it| &it.name).collect();
    for workload in &cluster.config.workloads {
        let priority = workload.priority.as_ref();
        if let Some(name) = priority.filter(|name| !name.starts_with("system-")) {
            check_class("PriorityClass", name, &priorities, report);
        }
        let pods = workload.task().and_then(gpuc_schema::config::Task::pods);
        for volume in pods.map_or(&[][..], |pods| pods.volumes) {
            if let VolumeFrom::Claim(claim) = &volume.from.value
                && let Some(name) = &claim.class
            {
                check_class("StorageClass", name, &classes, report);
            }
        }
    }
}

fn check_class(
    kind: &str,
    name: &Spanned<String>,
    known: &[&Spanned<String>],
    report: &mut Report,
) {
    if known.is_empty() || known.contains(&name) {
        return;
    }
    // Invalid names are not suggested.
    let valid = known
        .iter()
        .map(|it| it.as_str())
        .filter(|name| is_dns_subdomain(name) && !name.starts_with("system-"));
    let mut names: Vec<&str> = Vec::new();
    for name in valid {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let message = format!("unknown {kind} `{name}`");
    let mut builder = report.diagnostic(&RULE.code, name.span, message);
    let similar = closest_match(name, names.iter().copied());
    let mut found = known.iter().filter(|it| Some(it.as_str()) == similar);
    if let Some(found) = found.next() {
        builder = builder.label(found.span, "a class with a similar name");
    }
    let help = match similar {
        Some(similar) => format!("did you mean `{similar}`?"),
        None if names.is_empty() => "correct the names of the classes in the file first".to_owned(),
        None => one_of_help(&names),
    };
    builder.help(help).emit();
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

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
        assert_eq!(messages_with_id(&yaml, "GPUC2198"), expected, "{workload}");
    }

    #[test]
    fn unknown_classes_are_found() {
        let list = "priorities: [{name: prod, value: 1}]";
        let job = |name: &str| format!("priority: {name}, job: {{image: 'a:1'}}");
        check(list, &job("prod"), &[]);
        check(list, &job("system-node-critical"), &[]);
        check("", &job("prodd"), &[]);
        let none = "unknown PriorityClass `prodd`";
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
        let none = "unknown StorageClass `fats`";
        check(list, &job("fats"), &[none]);
    }
}
