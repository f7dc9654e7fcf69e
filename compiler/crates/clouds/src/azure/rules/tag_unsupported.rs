//! Tag that Azure or `az` does not accept.

use gpuc_schema::Spanned;
use std::collections::BTreeMap;

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::{ownership, section};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2725",
        name: "aks-tag-unsupported",
        severity: Severity::Error,
        summary: "Azure or `az` does not accept a tag",
        checks: r"Whether tag names have at most 512 characters, and tag values at most 256. Names must not contain
`<>%&\?/` or `=`, and must not begin with `-` or `@`. Names must differ by more than case. The names
`gpuc-tags`, `gpuc-labels` and `gpuc-taints` are reserved.",
        reason: r"Azure refuses such names, or treats two names as one. `az` parses a leading `-` as a flag and a leading
`@` as a file name, and ends a name at the first `=`. gpuc keeps its ownership records in the reserved
tags.",
        remedy: r"Choose another name or a shorter value.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: demo, location: eastus, cluster: {create: {nodeImageChannel: securityPatch}}, tags: {cost/center: ml}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: system
    machine: Standard_D4s_v5
    nodes: {count: 2}
  - name: gpu
    machine: Standard_NC24ads_A100_v4
    nodes: {count: 1}
"#,
        correction: Correction::Replace("cost/center:", "cost-center:"),
    },
    run,
};

/// Source: learn.microsoft.com/azure/azure-resource-manager/management/tag-resources, its limitations, 2026-11-21.
fn run(cluster: &Cluster, report: &mut Report) {
    let shared = &section(&cluster.config).tags;
    let pool_tags = cluster.pools.iter().map(|pool| &pool.settings.tags);
    for (name, value) in std::iter::once(shared).chain(pool_tags).flatten() {
        if let Some(problem) = tag_problem(name, value) {
            report
                .diagnostic(&RULE.code, name.span, format!("the tag `{name}` {problem}"))
                .help("choose another name or a shorter value")
                .emit();
        }
    }
    let mut seen = BTreeMap::new();
    for name in shared.keys() {
        check_case_conflict(name, &mut seen, report);
    }
    for pool in &cluster.pools {
        let mut seen = seen.clone();
        for name in pool.settings.tags.keys() {
            check_case_conflict(name, &mut seen, report);
        }
    }
}

/// Reports a name that differs only by case from an earlier one.
fn check_case_conflict(
    name: &Spanned<String>,
    seen: &mut BTreeMap<String, Spanned<String>>,
    report: &mut Report,
) {
    let before = seen.insert(name.to_lowercase(), name.clone());
    if let Some(before) = before.filter(|before| before != name) {
        let message = format!("the tags `{before}` and `{name}` differ only by case");
        report
            .diagnostic(&RULE.code, name.span, message)
            .label(before.span, "the first tag")
            .help(format!("write `{before}` in both places"))
            .emit();
    }
}

/// The reason why a tag is not accepted, as a predicate of the message.
fn tag_problem(name: &str, value: &str) -> Option<&'static str> {
    if name.is_empty() || name.chars().count() > 512 {
        Some("must have a name of 1 to 512 characters")
    } else if name.contains(['<', '>', '%', '&', '\\', '?', '/', '=']) {
        Some("has a name that contains one of `<>%&\\?/=`")
    } else if name.starts_with(['-', '@']) {
        Some("begins with `-` or `@`, which `az` does not parse as part of a name")
    } else if ownership::is_ownership_record(name) {
        Some("is reserved for the ownership records of gpuc")
    } else if value.chars().count() > 256 {
        Some("has a value of more than 256 characters")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_az_misparses_are_refused() {
        for name in ["", "a=b", "-a", "@file", "a/b", "a\\b"] {
            assert!(tag_problem(name, "").is_some(), "{name}");
        }
        assert!(tag_problem("GPUC-tags-2", "").is_some());
        assert_eq!(tag_problem("Cost Center 1", "a=b, @c; 'd'"), None);
        assert!(tag_problem("a", &"x".repeat(257)).is_some());
    }
}
