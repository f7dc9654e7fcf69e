//! The memory limit of a container is below 1 MiB.

use gpuc_model::scheduling::thousandths_of_node;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};

use crate::{CheckContext, Rule, text_edit};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4060",
        name: "manifest-memory-tiny",
        severity: Severity::Error,
        summary: "the memory limit of a container is below 1 MiB",
        checks: "Whether the memory limit of a container is less than one mebibyte.",
        reason: "`m` means a thousandth: `512m` of memory is half a byte, and `16` is 16 bytes. The API server accepts both.
No process can start with so little memory: the container is killed before its program runs.",
        remedy: "Write the intended unit: `512Mi`, `16Gi`.",
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
      image: registry.example.com/train:1.0.0
      resources: {limits: {nvidia.com/gpu: 1, memory: 512m}}
"#,
        correction: Correction::Replace("memory: 512m", "memory: 512Mi"),
    },
    run,
};

/// Limits below this, in thousandths of a byte, are too low for any container. The minimum of container runtimes is
/// some mebibytes (from memory).
const MIN_BYTES: u64 = 1000 << 20;

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    for pod in &ctx.pods {
        for container in &pod.containers {
            let mut limits = container.resource_list("limits").iter();
            let Some(entry) = limits.find(|entry| entry.key == "memory") else {
                continue;
            };
            // Zero means no limit.
            let amount = thousandths_of_node(&entry.value).filter(|amount| *amount > 0);
            let Some(amount) = amount.filter(|amount| *amount < MIN_BYTES) else {
                continue;
            };
            let text = entry.value.text().unwrap_or_default();
            let message = format!(
                "{}: the memory limit `{text}` of container `{}` is {}",
                pod.title(),
                container.name(),
                format_bytes(amount)
            );
            let builder = report.diagnostic(&RULE.code, entry.value.span(), message);
            let builder = builder.primary_label("too low for any program");
            let mebi = text.strip_suffix('m').map(|number| format!("{number}Mi"));
            let edit = mebi
                .as_ref()
                .and_then(|meant| text_edit::replace_text(ctx.sources, &entry.value, meant));
            let builder = if let Some(meant) = mebi {
                builder.help(format!("write `{meant}`"))
            } else {
                let number = text.trim_end_matches(char::is_alphabetic);
                builder.help(format!("write `{number}Mi` or `{number}Gi`"))
            };
            match edit {
                Some(edit) => builder.suggest(vec![edit]).emit(),
                None => builder.emit(),
            };
        }
    }
}

/// Thousandths of a byte as text.
fn format_bytes(thousandths: u64) -> String {
    match thousandths.div_ceil(1000) {
        1 => "at most 1 byte".to_owned(),
        bytes => format!("{bytes} bytes"),
    }
}
