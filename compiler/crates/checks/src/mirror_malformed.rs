//! The registry in `mirror.images` is invalid.

use gpuc_kubernetes::names::parse_image;
use gpuc_model::Cluster;
use gpuc_model::check::Rule;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2121",
        name: "mirror-malformed",
        severity: Severity::Error,
        summary: "the registry in `mirror.images` is invalid",
        checks: "Whether `mirror.images` is the host of a registry, with an optional port and path: the part before
the name of an image.",
        reason: "gpuc puts it in front of the name of every image. With `https://`, a tag or a space in it, no node
could pull an image.",
        remedy: "Write only the host and the path.",
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
mirror: {images: "https://registry.example.com/hub"}
"#,
        correction: Correction::Replace(r#""https://registry.example.com/hub""#, "registry.example.com/hub"),
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(registry) = &cluster.config.mirror.images else {
        return;
    };
    let path = registry.trim_end_matches('/');
    let host = path.split('/').next().unwrap_or_default();
    let is_host = host.contains(['.', ':']) || host == "localhost";
    let name = format!("{path}/name:tag");
    if is_host && parse_image(&name).is_ok() {
        return;
    }
    let message = format!("invalid image registry `{registry}`");
    let builder = report.diagnostic(&RULE.code, registry.span, message);
    let without_scheme = path.split_once("://").map(|(_, rest)| rest);
    match without_scheme.filter(|rest| parse_image(&format!("{rest}/name:tag")).is_ok()) {
        Some(rest) => builder
            .help("remove the scheme")
            .replace(registry.span, rest)
            .emit(),
        None => builder
            .help("write a host and a path, such as `registry.acme.dev/mirror`")
            .emit(),
    };
}

#[cfg(test)]
mod tests {
    use crate::testing::messages_with_id;

    fn count_findings(registry: &str) -> usize {
        let yaml = format!(
            "
            cloud: {{onPrem: {{context: demo}}}}
            nodePools: [{{name: gpu, hosts: [a], nodes: {{count: 1}}}}]
            mirror: {{images: '{registry}'}}
            "
        );
        messages_with_id(&yaml, "GPUC2121").len()
    }

    #[test]
    fn only_host_and_path_are_valid() {
        for valid in [
            "r.io",
            "localhost",
            "r:5000/a/b",
            "registry.acme.dev/mirror/",
        ] {
            assert_eq!(count_findings(valid), 0, "{valid}");
        }
        for invalid in [
            "https://r.io",
            "mirror",
            "r.io/a:tag",
            "r.io/a b",
            "r.io//a",
            "",
        ] {
            assert_eq!(count_findings(invalid), 1, "{invalid}");
        }
    }
}
