//! `admission.exempt` contains every namespace of the teams.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2193",
        name: "guard-exempt-all",
        severity: Severity::Warning,
        summary: "`admission.exempt` contains every namespace of the teams",
        checks: "Whether `admission.exempt` leaves any namespace of the teams guarded.",
        reason: "The guard is installed but checks no pods. Mistakes that it would reject are noticed only on the
cluster.",
        remedy: "Remove a namespace from `exempt`, or remove `admission` if no namespace needs the guard.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, gpu: {model: A30, perNode: 2}, hosts: [node-1], nodes: {count: 1}}
teams:
  - {name: research, namespaces: [research, research-dev]}
admission: {exempt: [research, research-dev]}
"#,
        correction: Correction::Replace("exempt: [research, research-dev", "exempt: [research-dev"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(admission) = &cluster.config.admission else {
        return;
    };
    let mut namespaces = cluster.teams.iter().flat_map(|team| &team.namespaces);
    let is_exempt = |name| admission.exempt.contains(name);
    let Some(first) = admission.exempt.first() else {
        return;
    };
    if cluster.teams.is_empty() || !namespaces.all(is_exempt) {
        return;
    }
    let message = "the guard has no effect: every namespace of the teams is exempt".to_owned();
    let help = "remove a namespace from `exempt`, or remove `admission`";
    report
        .diagnostic(&RULE.code, first.span, message)
        .help(help)
        .emit();
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    #[test]
    fn exempting_every_namespace_is_reported() {
        let check = |teams: &str, exempt: &str, expected: &[&str]| {
            let yaml = format!(
                "
                cloud: {{onPrem: {{context: demo}}}}
                nodePools: [{{name: gpu, gpu: {{model: A30, perNode: 2}}, hosts: [a], nodes: {{count: 1}}}}]
                teams: [{teams}]
                admission: {{exempt: [{exempt}]}}
                "
            );
            assert_eq!(
                messages_with_id(&yaml, "GPUC2193"),
                expected,
                "{teams} {exempt}"
            );
        };
        let all = "the guard has no effect: every namespace of the teams is exempt";
        let two = "{name: a}, {name: b, namespaces: [b, c]}";
        check(two, "a, b", &[]);
        check(two, "a, b, c", &[all]);
        check(two, "", &[]);
        check("", "sandbox", &[]);
    }
}
