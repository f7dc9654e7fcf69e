//! A volume creates a file or folder in place of a GPU's device node.

use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use gpuc_syntax::node::Node;

use crate::{CheckContext, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4102",
        name: "manifest-device-created",
        severity: Severity::Warning,
        summary: "a volume creates a folder in place of a GPU's device node",
        checks: "Whether a `hostPath` volume of a path such as `/dev/nvidia0` has the type `DirectoryOrCreate` or
`FileOrCreate`.",
        reason: "On a node without this device node, or before the driver is loaded, the kubelet creates a folder or a file with its
name. The driver then cannot create the device node, and the GPU cannot be used until the node reboots.",
        remedy: "Request the GPU as a resource instead. A component that needs the device node itself uses the type `CharDevice`.",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.36"}
cloud: {onPrem: {context: demo}}
stack: {runtimeImage: "registry.example.com/gpuc-runtime:0.1.0"}
nodePools:
  - name: gpu
    gpu: {model: A30, perNode: 2}
    hosts: [gpu-1, gpu-2]
    nodes: {count: 2}
--- # manifest.yaml
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: exporter, namespace: research}
spec:
  selector: {matchLabels: {app: exporter}}
  template:
    metadata: {labels: {app: exporter}}
    spec:
      containers: [{name: main, image: "registry.example.com/exporter:1.0.0"}]
      volumes: [{name: gpu, hostPath: {path: /dev/nvidia0, type: DirectoryOrCreate}}]
"#,
        correction: Correction::Replace(
            "type: DirectoryOrCreate",
            "type: CharDevice",
        ),
    },
    run,
};

/// Device nodes of the driver, in addition to those of GPUs, `/dev/nvidia0`. Others, such as `/dev/nvidia-caps`, are
/// folders.
const DEVICES: &[&str] = &["ctl", "-modeset", "-uvm", "-uvm-tools"];

/// The types that create what does not exist.
const CREATING_TYPES: &[&str] = &["DirectoryOrCreate", "FileOrCreate"];

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for pod in &ctx.pods {
        let volumes = pod.spec.get("volumes").map_or(&[][..], Node::items);
        for host_path in volumes.iter().filter_map(|volume| volume.get("hostPath")) {
            let text = |key: &str| host_path.get(key).and_then(Node::text);
            let is_device = text("path").is_some_and(is_device_node);
            let is_created = text("type").is_some_and(|it| CREATING_TYPES.contains(&it));
            let Some(kind) = host_path.get("type").filter(|_| is_device && is_created) else {
                continue;
            };
            let path = text("path").unwrap_or_default();
            let message = format!(
                "{}: a volume creates `{path}` on nodes without it",
                pod.title()
            );
            report
                .diagnostic(&RULE.code, kind.span(), message)
                .primary_label("the driver cannot create the device node afterwards")
                .help("write `type: CharDevice`, or request the GPU as a resource instead")
                .emit();
        }
    }
}

fn is_device_node(path: &str) -> bool {
    path.strip_prefix("/dev/nvidia").is_some_and(|rest| {
        let is_gpu = !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
        is_gpu || DEVICES.contains(&rest)
    })
}
