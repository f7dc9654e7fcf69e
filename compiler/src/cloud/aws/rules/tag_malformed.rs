//! A tag that AWS or eksctl would not take.

use std::ops::RangeInclusive;

use gpuc_schema::Spanned;
use gpuc_schema::config::Placement;

use super::tags::{NAME, RESERVED};
use super::{made_pools, section};
use crate::check::Rule;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// A tag that AWS or eksctl would not take.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2532",
        name: "tag-malformed",
        severity: Severity::Error,
        summary: "a tag has characters, a length or a prefix that it may not have",
        explain: "### What it checks

Whether tags have keys of 1 to 128 and values of up to 256 characters, of letters, digits,
spaces and `_ . : / = + - @`, and keys that are not written by AWS, eksctl or gpuc. The name of
a placement group is held to the same, because it is kept in a tag.

### Why it matters

AWS refuses other tags after CloudFormation has begun. Tags such as Name and eksctl.io/… are
written by eksctl, and gpuc keeps what EKS does not show in tags below gpuc.dev/.

### What to do

Rename the tag, or replace the characters.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}, tags: {"team": "research & development"}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}, tags: {"team": "research + development"}}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let of_pools = made_pools(cluster).flat_map(|pool| &pool.written.tags);
    for (key, value) in section(&cluster.written).tags.iter().chain(of_pools) {
        let reserved = RESERVED.iter().find(|prefix| key.starts_with(**prefix));
        if let Some(reserved) = reserved.or((key.value == NAME).then_some(&NAME)) {
            let message = format!("`{key}` is a tag of AWS, eksctl or gpuc");
            report
                .draft(&RULE.code, key.span, message)
                .here(format!("`{reserved}` is taken"))
                .help("use another key")
                .emit();
        }
        look(key, "key", 1..=128, report);
        look(value, "value", 0..=256, report);
    }
    for pool in made_pools(cluster) {
        if let Some(Placement::Group(name)) =
            pool.written.network.placement.as_ref().map(|it| &it.value)
        {
            look(name, "value", 1..=255, report);
        }
    }
}

/// Source: docs.aws.amazon.com/eks/latest/userguide/eks-using-tags.html, general knowledge.
fn look(text: &Spanned<String>, what: &str, length: RangeInclusive<usize>, report: &mut Report) {
    let allowed = |c: char| c.is_alphanumeric() || " _.:/=+-@".contains(c);
    if let Some(bad) = text.chars().find(|c| !allowed(*c)) {
        let message = format!(
            "the {what} of a tag may not have `{}`",
            bad.escape_default()
        );
        report
            .draft(&RULE.code, text.span, message)
            .help("use letters, digits, spaces and `_ . : / = + - @`")
            .emit();
    } else if !length.contains(&text.chars().count()) {
        let (least, most) = (length.start(), length.end());
        let message = format!("the {what} of a tag has {least} to {most} characters");
        report
            .draft(&RULE.code, text.span, message)
            .help("shorten or fill it")
            .emit();
    }
}
