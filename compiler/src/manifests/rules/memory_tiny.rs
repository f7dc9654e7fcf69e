//! A container may have less memory than any program needs.

use crate::diag::{Code, Report, Severity};
use crate::manifests::{Rule, Scene, edit};
use crate::placement::thousandths_of;

/// A container may have less memory than any program needs.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4060",
        name: "manifest-memory-tiny",
        severity: Severity::Error,
        summary: "a container may have less memory than any program needs",
        explain: "### What it checks

Whether the limit of memory of a container is less than a mebibyte.

### Why it matters

`m` is a thousandth: `512m` of memory is half a byte, and `16` are 16 bytes. The API server takes both, and
no process starts in so little: the container is killed before its program runs.

### What to do

Write the unit that was meant: `512Mi`, `16Gi`.
",
        bad: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
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
      image: registry.example.com/train:1.0.0
      resources: {limits: {nvidia.com/gpu: 1, memory: 512m}}
"#,
        good: r#"apiVersion: gpuc.dev/v1alpha1
kind: GpuCluster
metadata: {name: demo}
kubernetes: {version: "1.34"}
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
      image: registry.example.com/train:1.0.0
      resources: {limits: {nvidia.com/gpu: 1, memory: 512Mi}}
"#,
    },
    run,
};

/// What no container starts in, in thousandths of a byte. The least that container runtimes take is some mebibytes
/// (from memory).
const TOO_LITTLE: u64 = 1000 << 20;

fn run(scene: &Scene<'_>, report: &mut Report) {
    for pod in &scene.pods {
        for container in &pod.containers {
            let mut limits = container.list("limits").iter();
            let Some(entry) = limits.find(|entry| entry.key == "memory") else {
                continue;
            };
            // No limit at all is written as zero.
            let amount = thousandths_of(&entry.value).filter(|amount| *amount > 0);
            let Some(amount) = amount.filter(|amount| *amount < TOO_LITTLE) else {
                continue;
            };
            let text = entry.value.text().unwrap_or_default();
            let message = format!(
                "{}: container `{}` may have `{text}` of memory, which is {}",
                pod.title(),
                container.name(),
                words(amount)
            );
            let draft = report.draft(&RULE.code, entry.value.span(), message);
            let draft = draft.here("no program starts in so little");
            let mebi = text.strip_suffix('m').map(|number| format!("{number}Mi"));
            let edit = mebi
                .as_ref()
                .and_then(|meant| edit::text(scene.sources, &entry.value, meant));
            let draft = match mebi {
                Some(meant) => draft.help(format!("write `{meant}`")),
                None => draft.help(format!("write a unit: `{text}Mi` or `{text}Gi`")),
            };
            match edit {
                Some(edit) => draft.fix(vec![edit]).emit(),
                None => draft.emit(),
            };
        }
    }
}

/// Thousandths of a byte in words.
fn words(thousandths: u64) -> String {
    match thousandths.div_ceil(1000) {
        1 => "a byte at most".to_owned(),
        bytes => format!("{bytes} bytes"),
    }
}
