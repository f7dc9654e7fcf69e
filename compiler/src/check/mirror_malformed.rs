//! The registry to pull images from is no registry.

use super::Rule;
use super::syntax::image;
use crate::diag::{Code, Report, Severity};
use crate::model::Cluster;

/// The registry to pull images from is no registry.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC2121",
        name: "mirror-malformed",
        severity: Severity::Error,
        summary: "the registry to pull images from is no registry",
        explain: "### What it checks

Whether `mirror.images` is a registry's host, perhaps with a port and a path: what stands before
the name of an image.

### Why it matters

It is put in front of every image's name. With `https://`, a tag or a space in it no node could
pull any of them.

### What to do

Write the host and the path alone.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
nodePools:
  - name: system
    machine: m7i.xlarge
    nodes: {count: 2}
charts: {kueue: {}}
mirror: {images: "https://registry.example.com/hub"}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
cloud: {aws: {account: "123456789012", region: us-east-1, cluster: {create: {}}}}
nodePools:
  - name: system
    machine: m7i.xlarge
    nodes: {count: 2}
charts: {kueue: {}}
mirror: {images: registry.example.com/hub}
"#,
    },
    run,
};

fn run(cluster: &Cluster, report: &mut Report) {
    let Some(registry) = &cluster.written.mirror.images else {
        return;
    };
    let path = registry.trim_end_matches('/');
    let host = path.split('/').next().unwrap_or_default();
    let is_host = host.contains(['.', ':']) || host == "localhost";
    let name = format!("{path}/name:tag");
    if is_host && image(&name).is_ok() {
        return;
    }
    let message = format!("`{registry}` is not a registry of images");
    let draft = report.draft(&RULE.code, registry.span, message);
    let bare = path.split_once("://").map(|(_, rest)| rest);
    match bare.filter(|rest| image(&format!("{rest}/name:tag")).is_ok()) {
        Some(rest) => draft
            .help("leave out the scheme")
            .replace(registry.span, rest)
            .emit(),
        None => draft
            .help("write a host and a path: `registry.acme.dev/mirror`")
            .emit(),
    };
}

#[cfg(test)]
mod tests {
    use crate::check::testing::messages;

    fn found(registry: &str) -> usize {
        let yaml = format!(
            "
            cloud: {{onPrem: {{context: demo}}}}
            nodePools: [{{name: gpu, hosts: [a], nodes: {{count: 1}}}}]
            mirror: {{images: '{registry}'}}
            "
        );
        messages(&yaml, "GPUC2121").len()
    }

    #[test]
    fn a_host_and_a_path_are_enough() {
        for fine in [
            "r.io",
            "localhost",
            "r:5000/a/b",
            "registry.acme.dev/mirror/",
        ] {
            assert_eq!(found(fine), 0, "{fine}");
        }
        for wrong in [
            "https://r.io",
            "mirror",
            "r.io/a:tag",
            "r.io/a b",
            "r.io//a",
            "",
        ] {
            assert_eq!(found(wrong), 1, "{wrong}");
        }
    }
}
