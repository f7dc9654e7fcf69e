//! A workload of a team has the priority of system components.

use gpuc_kubernetes::api_server::priority::SYSTEM_CLASSES;
use gpuc_schema::Span;
use gpuc_schema::config::{Fragment, Workload};

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2226",
        name: "workload-priority-reserved",
        severity: Severity::Error,
        summary: "a workload of a team has the priority of system components",
        checks: "Whether a workload of a team has the priority `system-node-critical` or `system-cluster-critical`.",
        reason: "Such pods preempt all others, also those of other teams and of the cluster itself. A ResourceQuota in the
namespaces of teams therefore refuses them: the pods are never created.",
        remedy: "Remove the priority, or define one in `priorities`.",
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
teams: [{name: research}]
workloads:
  - {name: finetune, team: research, priority: system-node-critical, job: {image: "registry.example.com/model:1.0.0", gpus: 1}}
"#,
        correction: Correction::Replace(" priority: system-node-critical,", ""),
    },
    run,
};

// Source: https://kubernetes.io/docs/concepts/policy/resource-quotas/#limit-priority-class-consumption-by-default, read
// 2026-11-26.
fn run(cluster: &Cluster, report: &mut Report) {
    for workload in cluster
        .config
        .workloads
        .iter()
        .filter(|it| it.team.is_some())
    {
        let own = workload.priority.as_ref();
        let own = own.map(|it| (it.value.as_str(), it.span));
        for (name, span) in own.into_iter().chain(patched_priority(workload)) {
            if !SYSTEM_CLASSES.contains(&name) {
                continue;
            }
            let message = format!("workload `{}` has the priority `{name}`", workload.name);
            report
                .diagnostic(&RULE.code, span, message)
                .primary_label("a ResourceQuota refuses such pods in the namespaces of teams")
                .help("remove it, or use one of `priorities`")
                .emit();
        }
    }
}

/// The PriorityClass in the `podPatch` of a workload.
fn patched_priority(workload: &Workload) -> Option<(&str, Span)> {
    let Fragment::Map(entries) = &workload.pod_patch.value else {
        return None;
    };
    let (_, value) = entries
        .iter()
        .find(|(key, _)| key.as_str() == "priorityClassName")?;
    match &value.value {
        Fragment::Text(name) => Some((name, value.span)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_in;

    #[track_caller]
    fn check(workload: &str, expected: &[&str]) {
        let file = "
            cloud: {onPrem: {context: demo}}
            nodePools:
              - {name: gpu, gpu: {model: A30, perNode: 2}, hosts: [a, b], nodes: {count: 2}}
            teams: [{name: t}]
            priorities: [{name: high, value: 1}]
            workloads: [{name: a, job: {image: 'a:1'}, <rest>}]
            ";
        check_in(file, "GPUC2226", workload, expected);
    }

    #[test]
    fn priorities_of_system_components_are_found() {
        let node = "workload `a` has the priority `system-node-critical`";
        let cluster = "workload `a` has the priority `system-cluster-critical`";
        check("team: t, priority: system-node-critical", &[node]);
        check("team: t, priority: system-cluster-critical", &[cluster]);
        check("team: t, priority: high", &[]);
        check("priority: system-node-critical", &[]);
        let patch = "podPatch: {priorityClassName: system-cluster-critical}";
        check(&format!("team: t, {patch}"), &[cluster]);
        check("team: t, podPatch: {priorityClassName: high}", &[]);
    }
}
