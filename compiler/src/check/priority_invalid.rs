//! A class of priority cannot be made.

use super::Rule;
use super::syntax::is_dns_subdomain;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;
use gpuc_schema::Span;

/// A class of priority cannot be made.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2158",
        name: "priority-invalid",
        severity: Severity::Error,
        summary: "a class of priority cannot be made",
        explain: "### What it checks

Whether each name of `priorities` can be an object's, is there once and does not start with `system-`;
whether no value is above 1000000000, which Kubernetes keeps for itself; and whether at most one is the
default.

### Why it matters

Kubernetes refuses the object. Of two defaults it takes the lower one.

### What to do

Correct it as the help says.
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
    hosts: [node-1, node-2]
    nodes: {count: 2}
priorities: [{name: production, value: 2000000000}]
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
    hosts: [node-1, node-2]
    nodes: {count: 2}
priorities: [{name: production, value: 1000000000}]
"#,
    },
    run,
};

/// The highest value that is not Kubernetes' own.
///
/// Source: `HighestUserDefinablePriority` in kubernetes `pkg/apis/scheduling/types.go` (from memory);
/// <https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/>.
const HIGHEST: i32 = 1_000_000_000;

/// `maxLength` of the description of Kueue's class of the same name; Kubernetes' own has no limit.
///
/// Source: kubernetes-sigs/kueue@v0.19.2, the definition of `WorkloadPriorityClass`.
const LONGEST: usize = 2048;

fn run(cluster: &Cluster, report: &mut Report) {
    let classes = &cluster.written.priorities;
    for (index, class) in classes.iter().enumerate() {
        let name = &class.name;
        let first = classes[..index].iter().find(|it| it.name == *name);
        let problem = if name.is_empty() {
            Some(("a class has no name".to_owned(), Span::NONE))
        } else if !is_dns_subdomain(name) {
            Some((format!("no class can be called `{name}`"), Span::NONE))
        } else if name.starts_with("system-") {
            let message = format!("`{name}` would be one of Kubernetes' own classes");
            Some((message, Span::NONE))
        } else {
            let first = first.map(|it| it.name.span);
            first.map(|first| (format!("two classes are called `{name}`"), first))
        };
        if let Some((message, first)) = problem {
            let draft = report.draft(&RULE.code, name.span, message);
            let draft = draft.label(first, "the first one");
            let help = "choose another name: lower-case letters, digits, `-` and `.`, with a letter or a digit first and last, not \
                 `system-` first";
            draft.help(help).emit();
        }
        let class = &class.value;
        if class.value.value > HIGHEST {
            let message = format!("{} is above what is not Kubernetes' own", class.value);
            let draft = report.draft(&RULE.code, class.value.span, message);
            draft.help(format!("write at most {HIGHEST}")).emit();
        }
        let long = class.description.as_ref();
        let long = long.filter(|text| text.chars().count() > LONGEST);
        if let Some(description) = long {
            let count = description.chars().count();
            let message = format!("a description of {count} characters");
            let draft = report.draft(&RULE.code, description.span, message);
            draft.help(format!("write at most {LONGEST}")).emit();
        }
        let other = classes[..index].iter().find(|it| it.default.value);
        if let Some(other) = other.filter(|_| class.default.value) {
            let message = "two classes are the default";
            let draft = report.draft(&RULE.code, class.default.span, message);
            let draft = draft.label(other.default.span, "the first one");
            draft.help("leave `default` to one of them").emit();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    #[track_caller]
    fn check(teams: &str, expected: &[&str]) {
        let yaml = format!(
            "
            cloud: {{onPrem: {{context: demo}}}}
            nodePools:
              - {{name: train, gpu: {{model: A30, perNode: 2}}, hosts: [a], nodes: {{count: 1}}}}
              - {{name: infer, gpu: {{model: L4, perNode: 4}}, hosts: [b], nodes: {{count: 1}}}}
              - {{name: turns, gpu: {{model: L4, perNode: 1}}, hosts: [c], nodes: {{count: 1}}, sharing: {{timeSlicing: {{replicas: 4, rename: true}}}}}}
            {teams}
            "
        );
        assert_eq!(messages(&yaml, "GPUC2158"), expected, "{teams}");
    }

    #[test]
    fn classes_can_be_made() {
        check(
            "priorities: [{name: a, value: 1000000000, default: true}, {name: b.c, value: -5}]",
            &[],
        );
        check(
            "priorities: [{name: A, value: 1000000001}, {name: system-x, value: 1, default: true}, {name: c, value: 1}, {name: c, value: 2, default: true}]",
            &[
                "no class can be called `A`",
                "1000000001 is above what is not Kubernetes' own",
                "`system-x` would be one of Kubernetes' own classes",
                "two classes are called `c`",
                "two classes are the default",
            ],
        );
    }
}
