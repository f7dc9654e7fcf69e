//! An image name is invalid.

use gpuc_kubernetes::names::parse_image;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use gpuc_syntax::variables::has_placeholder;

use crate::{CheckContext, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4051",
        name: "manifest-image-invalid",
        severity: Severity::Error,
        summary: "an image name is invalid",
        checks: "Whether the image of each container is a valid image name: a registry, a repository in lower case, a tag, a
digest. Values that contain template placeholders are not checked.",
        reason: "The API server accepts the pod, but no node can pull the image: `InvalidImageName`. The pod occupies its
GPUs and never starts.",
        remedy: "Write the name as `docker pull` expects it, without `https://`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - {name: cpu, hosts: [node-1], nodes: {count: 1}}
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [node-2, node-3]
    nodes: {count: 2}
    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
--- # manifest.yaml
apiVersion: v1
kind: Pod
metadata: {name: train, namespace: research}
spec:
  tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
  containers:
    - name: train
      image: https://registry.example.com/train:1.0.0
      resources: {limits: {nvidia.com/gpu: 1}}
"#,
        correction: Correction::Replace("https://registry.example.com/train:1.0.0", "registry.example.com/train:1.0.0"),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for container in ctx.pods.iter().flat_map(|pod| &pod.containers) {
        let Some(node) = container.image() else {
            continue;
        };
        let text = node.text().unwrap_or_default();
        if is_unchecked(text) {
            continue;
        }
        let Err(problem) = parse_image(text) else {
            continue;
        };
        let message = format!("invalid image name `{text}`");
        let builder = report.diagnostic(&RULE.code, node.span(), message);
        let meant = without_scheme(text).filter(|meant| parse_image(meant).is_ok());
        let help = meant.map_or_else(|| problem.to_owned(), |meant| format!("write `{meant}`"));
        builder.help(help).emit();
    }
}

/// Whether the image is a template placeholder, or contains spaces, which `api_server` reports.
fn is_unchecked(text: &str) -> bool {
    let is_word = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || "_-".contains(c);
    let is_filled_in = has_placeholder(text) || text.contains('<');
    is_filled_in || text.contains(char::is_whitespace) || text.chars().all(is_word)
}

/// The name without a URL scheme; `None` if it has none.
fn without_scheme(text: &str) -> Option<&str> {
    let schemes = ["https://", "http://", "docker://", "oci://"];
    schemes.iter().find_map(|scheme| text.strip_prefix(scheme))
}
