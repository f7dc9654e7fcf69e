//! Invalid label of a Google Cloud resource.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::Spanned;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::super::{ownership, section};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2620",
        name: "gke-resource-label",
        severity: Severity::Error,
        summary: "Google Cloud does not accept a resource label",
        checks: r"Whether the keys and values of `cloud.gcp.resourceLabels` and of the `tags` of a pool have at most 63
lower-case letters, digits, `_` and `-`. A key must start with a letter, and not with `goog-` or
`gpuc-labels`.",
        reason: r"They become labels of Google Cloud resources, which are more restricted than labels of Kubernetes: no
dots, slashes or upper-case letters. In `gpuc-labels`, gpuc records the labels that it has set.",
        remedy: r"Use lower case, and `-` instead of other characters.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {gcp: {project: acme-ml-prod, location: us-central1-a, nodeServiceAccount: gke-nodes@acme-ml-prod.iam.gserviceaccount.com, cluster: {existing: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g2-standard-8
    nodes: {count: 1}
    tags: {CostCenter: ml}
"#,
        correction: Correction::Replace("CostCenter:", "cost-center:"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let pools = cluster.pools.iter().flat_map(|pool| &pool.settings.tags);
    for (key, value) in section(&cluster.config).resource_labels.iter().chain(pools) {
        if !is_resource_label_key(key) {
            report_invalid(key, "key", report);
        }
        if !is_resource_label_text(value) {
            report_invalid(value, "value", report);
        }
    }
}

fn report_invalid(text: &Spanned<String>, part: &str, report: &mut Report) {
    let message = format!("invalid resource label {part} `{text}`");
    let builder = report.diagnostic(&RULE.code, text.span, message);
    let help = match part {
        "key" if text.starts_with("goog-") => {
            "choose another key: Google reserves keys that start with `goog-`"
        }
        "key" if ownership::is_ownership_record(text) => {
            "choose another key: gpuc reserves it for its ownership records"
        }
        "key" => "use at most 63 lower-case letters, digits, `_` and `-`, starting with a letter",
        _ => "use at most 63 lower-case letters, digits, `_` and `-`",
    };
    builder.help(help).emit();
}

fn is_resource_label_key(key: &str) -> bool {
    let is_reserved = key.starts_with("goog-") || ownership::is_ownership_record(key);
    is_resource_label_text(key) && key.starts_with(char::is_alphabetic) && !is_reserved
}

/// Whether `text` consists of allowed characters: letters of any script, except upper case, digits, `_` and `-`.
fn is_resource_label_text(text: &str) -> bool {
    let allowed = |c: char| (c.is_alphanumeric() && !c.is_uppercase()) || c == '_' || c == '-';
    text.chars().count() <= 63 && text.chars().all(allowed)
}
