//! An image is not a valid image reference.

use gpuc_kubernetes::names::parse_image;
use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use super::queries::configured_images;

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2027",
        name: "image-invalid",
        severity: Severity::Error,
        summary: "an image is not a valid image reference",
        checks: "Whether each image has the syntax of an image reference: registry, repository, tag and digest.",
        reason: "The kubelet could not pull the image: pods stay in `InvalidImageName`.",
        remedy: "Correct the image reference according to the help.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
stack: {runtimeImage: "https://registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    machine: g6.xlarge
    nodes: {count: 1}
"#,
        correction: Correction::Replace(
            r#""https://registry.example.com/gpuc-runtime:0.1.0""#,
            r#""registry.example.com/gpuc-runtime:0.1.0""#,
        ),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for text in configured_images(cluster) {
        if let Err(problem) = parse_image(text) {
            let message = format!("invalid image reference `{text}`");
            report
                .diagnostic(&RULE.code, text.span, message)
                .help(problem)
                .emit();
        }
    }
}
