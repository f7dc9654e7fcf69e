//! An entry of `digests` is not an image with a tag, or not a digest.

use gpuc_kubernetes::names::parse_image;
use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2120",
        name: "digest-malformed",
        severity: Severity::Error,
        summary: "an entry of `digests` is invalid",
        checks: "Whether each key of `digests` is an image with its tag, and each value is `sha256:` followed by 64
hexadecimal digits.",
        reason: "gpuc appends the digest to the image's tag. A registry cannot resolve an invalid digest.",
        remedy: "Write the digest that the registry reports: `crane digest IMAGE`, or `docker buildx imagetools
inspect IMAGE`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
nodePools:
  - name: system
    machine: m7i.xlarge
    nodes: {count: 2}
charts: {kueue: {}}
digests: {"registry.k8s.io/kueue/kueue:v0.19.2": "sha256:0123"}
"#,
        correction: Correction::Replace(r#" {"registry.k8s.io/kueue/kueue:v0.19.2": "sha256:0123"}"#, r#"
  "registry.k8s.io/kueue/kueue:v0.19.2": sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"#),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    for (name, digest) in &cluster.config.digests {
        let is_tagged =
            parse_image(name).is_ok_and(|image| image.tag.is_some() && image.digest.is_none());
        if !is_tagged {
            let message = format!("`{name}` is not an image with a tag");
            report
                .diagnostic(&RULE.code, name.span, message)
                .help("run `gpuc catalog images` to list the images of the charts")
                .emit();
        }
        let hex = digest.strip_prefix("sha256:");
        let is_digest = hex.is_some_and(|hex| {
            hex.len() == 64 && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        });
        if !is_digest {
            let message = format!("invalid digest `{digest}`");
            report
                .diagnostic(&RULE.code, digest.span, message)
                .help("write `sha256:` and 64 hexadecimal digits")
                .emit();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    #[test]
    fn keys_are_images_and_values_digests() {
        let digest = format!("sha256:{}", "A".repeat(64));
        let found = messages_with_id(
            &format!(
                "
                cloud: {{onPrem: {{context: demo}}}}
                nodePools: [{{name: gpu, hosts: [a], nodes: {{count: 1}}}}]
                digests: {{'registry.k8s.io/kueue': '{digest}'}}
                "
            ),
            "GPUC2120",
        );
        let upper = format!("invalid digest `{digest}`");
        let tag = "`registry.k8s.io/kueue` is not an image with a tag".to_owned();
        assert_eq!(found, [tag, upper]);
    }
}
