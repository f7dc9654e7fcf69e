//! The guard of pods exempts every namespace that it would look at.

use super::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// The guard of pods exempts every namespace that it would look at.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2193",
        name: "guard-exempt-all",
        severity: Severity::Warning,
        summary: "the guard of pods exempts every namespace that it would look at",
        explain: "### What it checks

In a cluster with teams, whether `admission.exempt` leaves any of their namespaces.

### Why it matters

The guard is installed and looks at no pod: what it would refuse is found out on the cluster.

### What to do

Remove one of the namespaces from `exempt`, or `admission` where nothing is to be guarded.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, gpu: {model: A30, perNode: 2}, hosts: [node-1], nodes: {count: 1}}
teams:
  - {name: research, namespaces: [research, research-dev]}
admission: {exempt: [research, research-dev]}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, gpu: {model: A30, perNode: 2}, hosts: [node-1], nodes: {count: 1}}
teams:
  - {name: research, namespaces: [research, research-dev]}
admission: {exempt: [research-dev]}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(admission) = &cluster.written.admission else {
        return;
    };
    let mut spaces = cluster.teams.iter().flat_map(|team| &team.namespaces);
    let is_exempt = |name| admission.exempt.contains(name);
    let Some(first) = admission.exempt.first() else {
        return;
    };
    if cluster.teams.is_empty() || !spaces.all(is_exempt) {
        return;
    }
    let message = "the guard looks at no namespace: every team's is exempt".to_owned();
    let draft = report.draft(&RULE.code, first.span, message);
    let help = "remove one of them from `exempt`, or the whole of `admission`";
    draft.help(help).emit();
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[test]
    fn a_namespace_is_left() {
        let check = |teams: &str, exempt: &str, expected: &[&str]| {
            let yaml = format!(
                "
                cloud: {{onPrem: {{context: demo}}}}
                nodePools: [{{name: gpu, gpu: {{model: A30, perNode: 2}}, hosts: [a], nodes: {{count: 1}}}}]
                teams: [{teams}]
                admission: {{exempt: [{exempt}]}}
                "
            );
            assert_eq!(messages(&yaml, "GPUC2193"), expected, "{teams} {exempt}");
        };
        let all = "the guard looks at no namespace: every team's is exempt";
        let two = "{name: a}, {name: b, namespaces: [b, c]}";
        check(two, "a, b", &[]);
        check(two, "a, b, c", &[all]);
        check(two, "", &[]);
        check("", "sandbox", &[]);
    }
}
