//! A resource label that Google Cloud refuses.

use gpuc_schema::Spanned;

use super::super::{memory, section};
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2620",
        name: "gke-resource-label",
        severity: Severity::Error,
        summary: "a resource label that Google Cloud does not take",
        explain: r"### What it checks

Whether the keys and values of `cloud.gcp.resourceLabels` and of a pool's `tags` have at most 63
lower-case letters, digits, `_` and `-`, the key starting with a letter and not with `goog-` or
`gpuc-labels`.

### Why it matters

They become labels of Google Cloud's resources, which are stricter than labels of Kubernetes: no
dots, no slashes, no capitals. In `gpuc-labels` gpuc remembers which of them it set.

### What to do

Write it in lower case, with `-` instead of other characters.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g2-standard-8
    nodes: {count: 1}
    tags: {CostCenter: ml}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g2-standard-8
    nodes: {count: 1}
    tags: {cost-center: ml}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let pools = cluster.pools.iter().flat_map(|pool| &pool.written.tags);
    for (key, value) in section(&cluster.written)
        .resource_labels
        .iter()
        .chain(pools)
    {
        if !is_key(key) {
            refuse(key, "key", report);
        }
        if !is_word(value) {
            refuse(value, "value", report);
        }
    }
}

fn refuse(text: &Spanned<String>, part: &str, report: &mut Report) {
    let message = format!("`{text}` cannot be the {part} of a label in Google Cloud");
    let draft = report.draft(&RULE.code, text.span, message);
    let help = match part {
        "key" if text.starts_with("goog-") => "keys that start with `goog-` are Google's own",
        "key" if memory::is_memory(text) => "gpuc remembers there which labels it set",
        "key" => "write at most 63 lower-case letters, digits, `_` and `-`, starting with a letter",
        _ => "write at most 63 lower-case letters, digits, `_` and `-`",
    };
    draft.help(help).emit();
}

fn is_key(key: &str) -> bool {
    let is_taken = key.starts_with("goog-") || memory::is_memory(key);
    is_word(key) && key.starts_with(char::is_alphabetic) && !is_taken
}

/// Letters of any script will do, as long as none is a capital.
fn is_word(text: &str) -> bool {
    let allowed = |c: char| (c.is_alphanumeric() && !c.is_uppercase()) || c == '_' || c == '-';
    text.chars().count() <= 63 && text.chars().all(allowed)
}
