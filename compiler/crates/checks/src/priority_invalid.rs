//! A priority class is invalid.

use gpuc_kubernetes::names::is_dns_subdomain;
use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::Span;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2158",
        name: "priority-invalid",
        severity: Severity::Error,
        summary: "a priority class is invalid",
        checks: "Whether each name in `priorities` is a valid object name, is unique and does not start with
`system-`. Whether all values are at most 1000000000: Kubernetes reserves higher values. Whether at
most one class is the default.",
        reason: "Kubernetes rejects the object. Of two defaults it uses the lower one.",
        remedy: "Correct the value as described in the help.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-1, node-2]
    nodes: {count: 2}
priorities: [{name: production, value: 2000000000}]
"#,
        correction: Correction::Replace("2000000000", "1000000000"),
    },
    run,
};

/// The highest value that Kubernetes does not reserve.
///
/// Source: `HighestUserDefinablePriority` in kubernetes `pkg/apis/scheduling/types.go` (from memory);
/// <https://kubernetes.io/docs/concepts/scheduling-eviction/pod-priority-preemption/>.
const MAX_PRIORITY: i32 = 1_000_000_000;

/// `maxLength` of the description of Kueue's class of the same name. The class of Kubernetes has no limit.
///
/// Source: kubernetes-sigs/kueue@v0.19.2, the definition of `WorkloadPriorityClass`.
const MAX_DESCRIPTION_LENGTH: usize = 2048;

fn run(cluster: &Cluster, report: &mut Report) {
    let classes = &cluster.config.priorities;
    for (index, class) in classes.iter().enumerate() {
        let name = &class.name;
        let first = classes[..index].iter().find(|it| it.name == *name);
        let problem = if name.is_empty() {
            Some(("a priority class has no name".to_owned(), Span::NONE))
        } else if !is_dns_subdomain(name) {
            Some((format!("invalid priority class name `{name}`"), Span::NONE))
        } else if name.starts_with("system-") {
            let message =
                format!("the prefix of priority class `{name}` is reserved for Kubernetes");
            Some((message, Span::NONE))
        } else {
            let first = first.map(|it| it.name.span);
            first.map(|first| (format!("duplicate priority class name `{name}`"), first))
        };
        if let Some((message, first)) = problem {
            let help = "choose a name of lower-case letters, digits, `-` and `.` that starts and ends with a letter or \
                        a digit, and does not start with `system-`";
            report
                .diagnostic(&RULE.code, name.span, message)
                .label(first, "the first class of this name")
                .help(help)
                .emit();
        }
        let class = &class.value;
        if class.value.value > MAX_PRIORITY {
            let message = format!(
                "the priority {} exceeds the maximum of {MAX_PRIORITY}",
                class.value
            );
            report
                .diagnostic(&RULE.code, class.value.span, message)
                .help(format!("write at most {MAX_PRIORITY}"))
                .emit();
        }
        if let Some(description) = &class.description
            && description.chars().count() > MAX_DESCRIPTION_LENGTH
        {
            let count = description.chars().count();
            let message = format!(
                "the description has {count} characters, and the limit is {MAX_DESCRIPTION_LENGTH}"
            );
            let help = format!("shorten it to at most {MAX_DESCRIPTION_LENGTH} characters");
            report
                .diagnostic(&RULE.code, description.span, message)
                .help(help)
                .emit();
        }
        let other = classes[..index].iter().find(|it| it.default.value);
        if let Some(other) = other.filter(|_| class.default.value) {
            let message = "two priority classes are the default";
            report
                .diagnostic(&RULE.code, class.default.span, message)
                .label(other.default.span, "the first default")
                .help("remove `default` from one of them")
                .emit();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{TEAMS, check_in};

    #[track_caller]
    fn check(teams: &str, expected: &[&str]) {
        check_in(TEAMS, "GPUC2158", teams, expected);
    }

    #[test]
    fn invalid_classes_are_found() {
        check(
            "priorities: [{name: a, value: 1000000000, default: true}, {name: b.c, value: -5}]",
            &[],
        );
        check(
            "priorities: [{name: A, value: 1000000001}, {name: system-x, value: 1, default: true}, {name: c, value: 1}, {name: c, value: 2, default: true}]",
            &[
                "invalid priority class name `A`",
                "the priority 1000000001 exceeds the maximum of 1000000000",
                "the prefix of priority class `system-x` is reserved for Kubernetes",
                "duplicate priority class name `c`",
                "two priority classes are the default",
            ],
        );
    }
}
