//! A TrainJob names a runtime that is misspelt.

use crate::diag::{Code, Report, Severity, words};
use crate::manifests::completed::INSTALLED;
use crate::manifests::{Object, Rule, Scene};

/// A TrainJob names a runtime that is misspelt.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4064",
        name: "manifest-runtime-unknown",
        severity: Severity::Warning,
        summary: "a TrainJob names a runtime that is nearly one of Trainer's",
        explain: "### What it checks

Whether the runtime that a TrainJob names is one that Kubeflow Trainer installs, or is among the manifests,
where its name is that of one but for a letter or two. A runtime with another name may be in the cluster.

### Why it matters

Trainer refuses a TrainJob whose runtime is not there.

### What to do

Write the name that the help says. If there is a runtime of the written name, write `allow:
[manifest-runtime-unknown]`.
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
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: train, namespace: research}
spec:
  runtimeRef: {name: torch-distributd}
  trainer: {numNodes: 1, image: "registry.example.com/train:1.0.0"}
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
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainJob
metadata: {name: train, namespace: research}
spec:
  runtimeRef: {name: torch-distributed}
  trainer: {numNodes: 1, image: "registry.example.com/train:1.0.0"}
"#,
    },
    run,
};

fn run(scene: &Scene<'_>, report: &mut Report) {
    let is_runtime = |object: &&Object| object.kind.ends_with("TrainingRuntime");
    let given = scene.objects.iter().filter(is_runtime);
    let given: Vec<_> = given.filter_map(|object| object.name.as_deref()).collect();
    for object in scene.objects.iter().filter(|it| it.kind == "TrainJob") {
        let reference = object
            .root
            .get("spec")
            .and_then(|spec| spec.get("runtimeRef"));
        let Some(node) = reference.and_then(|it| it.get("name")) else {
            continue;
        };
        let name = node.text().unwrap_or_default();
        if given.contains(&name) || INSTALLED.contains(&name) {
            continue;
        }
        let Some(meant) = meant(name, given.iter().chain(INSTALLED).copied()) else {
            continue;
        };
        let message = format!(
            "{} names the runtime `{name}`, which nobody makes",
            object.title()
        );
        let draft = report.draft(&RULE.code, node.span(), message);
        draft.help(format!("write `{meant}`")).emit();
    }
}

/// The runtime that is called so but for a letter or two. Another number, or a word more, is another runtime.
fn meant<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let marks = |text: &str| {
        let marks = text.chars().filter(|c| !c.is_ascii_alphabetic());
        marks.collect::<String>()
    };
    let own = marks(name);
    let alike = known.filter(|it| marks(it) == own && it.len().abs_diff(name.len()) <= 1);
    let mut alike = alike.collect::<Vec<_>>().into_iter();
    words::nearest(name, alike.by_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_are_misspelt_and_numbers_are_not() {
        let meant = |name| meant(name, INSTALLED.iter().copied());
        assert_eq!(meant("torch-distributd"), Some("torch-distributed"));
        assert_eq!(meant("torch-distributed-v2"), None);
        assert_eq!(meant("torch-distributed2"), None);
        assert_eq!(meant("ours"), None);
    }
}
