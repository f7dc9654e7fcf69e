//! A TrainJob names a misspelled runtime.

use gpuc_syntax::diag::{Code, Correction, Report, Severity, phrases};

use crate::operator_pods::INSTALLED_RUNTIMES;
use crate::{CheckContext, Object, Rule};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4064",
        name: "manifest-runtime-unknown",
        severity: Severity::Warning,
        summary: "a TrainJob names an unknown runtime with nearly the name of a known one",
        checks: "Whether the runtime that a TrainJob names differs by one or two letters from a runtime that Kubeflow Trainer
installs or that is among the manifests. A runtime with another name may exist in the cluster.",
        reason: "Trainer rejects a TrainJob with an unknown runtime.",
        remedy: "Write the name in the help. If a runtime with the written name exists, write `allow:
[manifest-runtime-unknown]`.",
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
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: train, namespace: research}
spec:
  runtimeRef: {name: torch-distributd}
  trainer: {numNodes: 1, image: "registry.example.com/train:1.0.0"}
"#,
        correction: Correction::Replace("torch-distributd", "torch-distributed"),
    },
    run,
};

fn run(ctx: &CheckContext<'_>, report: &mut Report) {
    let is_runtime = |object: &&Object| object.kind.ends_with("TrainingRuntime");
    let known_runtimes = ctx.objects.iter().filter(is_runtime);
    let known_runtimes: Vec<_> = known_runtimes
        .filter_map(|object| object.name.as_deref())
        .collect();
    for object in ctx.objects.iter().filter(|it| it.kind == "TrainJob") {
        let reference = object
            .root
            .get("spec")
            .and_then(|spec| spec.get("runtimeRef"));
        let Some(node) = reference.and_then(|it| it.get("name")) else {
            continue;
        };
        let name = node.text().unwrap_or_default();
        if known_runtimes.contains(&name) || INSTALLED_RUNTIMES.contains(&name) {
            continue;
        }
        let Some(meant) = closest(
            name,
            known_runtimes.iter().chain(INSTALLED_RUNTIMES).copied(),
        ) else {
            continue;
        };
        let message = format!("{}: unknown runtime `{name}`", object.title());
        let builder = report.diagnostic(&RULE.code, node.span(), message);
        builder.help(format!("write `{meant}`")).emit();
    }
}

/// The runtime whose name differs by one or two letters. Other digits, or one more word, mean another runtime.
fn closest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let marks = |text: &str| {
        let marks = text.chars().filter(|c| !c.is_ascii_alphabetic());
        marks.collect::<String>()
    };
    let own = marks(name);
    let matching = known.filter(|it| marks(it) == own && it.len().abs_diff(name.len()) <= 1);
    // `flux-distributed` is no misspelled `mlx-distributed`.
    let matching = matching.filter(|it| it.chars().next() == name.chars().next());
    let mut matching = matching.collect::<Vec<_>>().into_iter();
    phrases::closest_match(name, matching.by_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closest_differs_in_letters_only() {
        let closest = |name| closest(name, INSTALLED_RUNTIMES.iter().copied());
        assert_eq!(closest("torch-distributd"), Some("torch-distributed"));
        assert_eq!(closest("torch-distributed-v2"), None);
        assert_eq!(closest("torch-distributed2"), None);
        assert_eq!(closest("flux-distributed"), None);
        assert_eq!(closest("ours"), None);
    }
}
