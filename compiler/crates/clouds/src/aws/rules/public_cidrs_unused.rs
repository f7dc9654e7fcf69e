//! Ranges of addresses for a public endpoint that the API server does not have.

use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::created_cluster;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2567",
        name: "public-cidrs-unused",
        severity: Severity::Error,
        summary: "`publicAccessCidrs` has no effect without a public endpoint",
        checks: "Whether `publicAccessCidrs` is set together with `endpoint: private`.",
        reason: "The list limits the public endpoint only. The security groups of the cluster limit the private one.",
        remedy: "Remove `publicAccessCidrs`, or use `endpoint: publicAndPrivate`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud:
  aws:
    account: "123456789012"
    region: us-east-1
    cluster: {create: {endpoint: private, publicAccessCidrs: [203.0.113.0/24]}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: gpu, machine: g5.xlarge, nodes: {count: 2}}
"#,
        correction: Correction::Replace("endpoint: private", "endpoint: publicAndPrivate"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(create) = created_cluster(cluster) else {
        return;
    };
    if create.endpoint.value.is_public() {
        return;
    }
    if let Some(range) = create.public_access_cidrs.first() {
        report
            .diagnostic(
                &RULE.code,
                create.endpoint.span,
                "`publicAccessCidrs` has no effect without a public endpoint",
            )
            .label(range.span, "the ranges are set here")
            .help("write `publicAndPrivate`, or remove `publicAccessCidrs`")
            .emit();
    }
}
