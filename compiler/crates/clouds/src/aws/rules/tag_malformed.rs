//! An invalid or reserved tag.

use std::ops::RangeInclusive;

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_schema::Spanned;
use gpuc_schema::config::Placement;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::tags::{NAME_TAG, RESERVED_PREFIXES};
use super::{created_pools, section};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2532",
        name: "tag-malformed",
        severity: Severity::Error,
        summary: "a tag has invalid characters, an invalid length or a reserved prefix",
        checks: "Whether keys of tags have 1 to 128 characters and values at most 256. Allowed are letters, digits,
spaces and `_ . : / = + - @`. Keys must not be reserved for AWS, eksctl or gpuc. The same applies to
the name of a placement group, because gpuc stores it in a tag.",
        reason: "AWS rejects other tags only after CloudFormation has started. eksctl sets tags such as Name and
eksctl.io/…, and gpuc stores values that EKS does not report in tags with the prefix gpuc.dev/.",
        remedy: "Rename the tag, or replace the characters.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}, tags: {"team": "research & development"}}
"#,
        correction: Correction::Replace(r#""research &"#, r#""research +"#),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let of_pools = created_pools(cluster).flat_map(|pool| &pool.settings.tags);
    for (key, value) in section(&cluster.config).tags.iter().chain(of_pools) {
        let reserved = RESERVED_PREFIXES
            .iter()
            .find(|prefix| key.starts_with(**prefix));
        if let Some(reserved) = reserved.or((key.value == NAME_TAG).then_some(&NAME_TAG)) {
            let message = format!("the tag `{key}` is reserved for AWS, eksctl or gpuc");
            report
                .diagnostic(&RULE.code, key.span, message)
                .primary_label(format!("`{reserved}` is reserved"))
                .help("use another key")
                .emit();
        }
        check_text(key, "key", 1..=128, report);
        check_text(value, "value", 0..=256, report);
    }
    for pool in created_pools(cluster) {
        if let Some(Placement::Group(name)) =
            pool.settings.network.placement.as_ref().map(|it| &it.value)
        {
            check_text(name, "value", 1..=255, report);
        }
    }
}

/// Reports invalid characters and an invalid length of the key or value of a tag.
///
/// Source: docs.aws.amazon.com/eks/latest/userguide/eks-using-tags.html, general knowledge.
fn check_text(
    text: &Spanned<String>,
    part: &str,
    length: RangeInclusive<usize>,
    report: &mut Report,
) {
    let is_allowed = |c: char| c.is_alphanumeric() || " _.:/=+-@".contains(c);
    if let Some(invalid) = text.chars().find(|c| !is_allowed(*c)) {
        let message = format!(
            "the {part} of a tag cannot contain `{}`",
            invalid.escape_default()
        );
        report
            .diagnostic(&RULE.code, text.span, message)
            .help("use letters, digits, spaces and `_ . : / = + - @`")
            .emit();
    } else if !length.contains(&text.chars().count()) {
        let (min, max) = (length.start(), length.end());
        let message = format!("the {part} of a tag must have {min} to {max} characters");
        report
            .diagnostic(&RULE.code, text.span, message)
            .help(format!("write {min} to {max} characters"))
            .emit();
    }
}
