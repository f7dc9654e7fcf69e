//! A tag that Azure or `az` does not take.

use gpuc_schema::Spanned;
use std::collections::BTreeMap;

use super::super::{memory, section};
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A tag that Azure or `az` does not take.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2725",
        name: "aks-tag-unwritable",
        severity: Severity::Error,
        summary: "Azure or az does not take a tag",
        explain: r"### What it checks

Whether tags have names of at most 512 and values of at most 256 characters; whether names are
without `<>%&\?/` and `=`, do not begin with `-` or `@`, differ by more than case, and are none of
`gpuc-tags`, `gpuc-labels` and `gpuc-taints`.

### Why it matters

Azure refuses such names or takes two for one; `az` takes what begins with `-` for a flag, with `@`
for a file, and ends a name at the first `=`. In tags of the three names gpuc remembers what it set.

### What to do

Choose another name or a shorter value.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: demo, location: eastus, cluster: {create: {}}, tags: {cost/center: ml}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: system
    machine: Standard_D4s_v5
    nodes: {count: 2}
  - name: gpu
    machine: Standard_NC24ads_A100_v4
    nodes: {count: 1}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {azure: {subscription: "00000000-1111-2222-3333-444444444444", resourceGroup: demo, location: eastus, cluster: {create: {}}, tags: {cost-center: ml}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: system
    machine: Standard_D4s_v5
    nodes: {count: 2}
  - name: gpu
    machine: Standard_NC24ads_A100_v4
    nodes: {count: 1}
"#,
    },
    run,
};

/// Source: learn.microsoft.com/azure/azure-resource-manager/management/tag-resources, its limitations, 2026-11-21.
fn run(cluster: &Cluster, report: &mut Report) {
    let shared = &section(&cluster.written).tags;
    let of_pools = cluster.pools.iter().map(|pool| &pool.written.tags);
    for (name, value) in std::iter::once(shared).chain(of_pools).flatten() {
        if let Some(fault) = fault(name, value) {
            report
                .draft(&RULE.code, name.span, format!("the tag `{name}` {fault}"))
                .help("choose another name or a shorter value")
                .emit();
        }
    }
    let mut seen = BTreeMap::new();
    for name in shared.keys() {
        twin(name, &mut seen, report);
    }
    for pool in &cluster.pools {
        let mut seen = seen.clone();
        for name in pool.written.tags.keys() {
            twin(name, &mut seen, report);
        }
    }
}

/// Reports a name that differs from one before it only by case.
fn twin(name: &Spanned<String>, seen: &mut BTreeMap<String, Spanned<String>>, report: &mut Report) {
    let before = seen.insert(name.to_lowercase(), name.clone());
    if let Some(before) = before.filter(|before| before != name) {
        let message = format!("the tags `{before}` and `{name}` are one to Azure");
        report
            .draft(&RULE.code, name.span, message)
            .label(before.span, "the other")
            .help(format!("write `{before}` in both places"))
            .emit();
    }
}

fn fault(name: &str, value: &str) -> Option<&'static str> {
    if name.is_empty() || name.chars().count() > 512 {
        Some("needs a name of 1 to 512 characters")
    } else if name.contains(['<', '>', '%', '&', '\\', '?', '/', '=']) {
        Some("has a name with one of `<>%&\\?/=`")
    } else if name.starts_with(['-', '@']) {
        Some("begins with a character that `az` takes for something else")
    } else if memory::is_memory(name) {
        Some("is one in which gpuc remembers what it set")
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
    fn az_must_not_take_a_name_for_anything_else() {
        for name in ["", "a=b", "-a", "@file", "a/b", "a\\b"] {
            assert!(fault(name, "").is_some(), "{name}");
        }
        assert!(fault("GPUC-tags-2", "").is_some());
        assert_eq!(fault("Cost Center 1", "a=b, @c; 'd'"), None);
        assert!(fault("a", &"x".repeat(257)).is_some());
    }
}
