//! A pod chooses nodes that no pool has.

use crate::diag::{Code, Report, Severity, words};
use crate::manifests::place::{Cause, against};
use crate::manifests::{Container, Rule, Scene};
use crate::model::POOL_LABEL;
use crate::placement::{Reason, Why};

/// A pod chooses nodes that no pool has.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4006",
        name: "manifest-selector-matches-nothing",
        severity: Severity::Error,
        summary: "a pod chooses nodes that no pool has",
        explain: "### What it checks

Whether some pool's nodes have the labels that `nodeSelector` and the required node affinity of a
pod ask for. A label that somebody may have put on nodes by hand is taken for there.

### Why it matters

The pod waits for ever: `node(s) didn't match Pod's node affinity/selector`.

### What to do

Choose a pool by its name, `gpuc.dev/pool`, or write the label that the nodes have.
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
    hosts: [node-2]
    nodes: {count: 1}
    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
--- # manifest.yaml
apiVersion: v1
kind: Pod
metadata: {name: train, namespace: research}
spec:
  tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
  containers:
    - name: train
      image: nvcr.io/nvidia/cuda:12.8.1-base-ubuntu24.04
      resources: {limits: {nvidia.com/gpu: 1}}
  nodeSelector: {gpuc.dev/pool: gpus}
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
    hosts: [node-2]
    nodes: {count: 1}
    taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]
--- # manifest.yaml
apiVersion: v1
kind: Pod
metadata: {name: train, namespace: research}
spec:
  tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
  containers:
    - name: train
      image: nvcr.io/nvidia/cuda:12.8.1-base-ubuntu24.04
      resources: {limits: {nvidia.com/gpu: 1}}
  nodeSelector: {gpuc.dev/pool: gpu}
"#,
    },
    run,
};

fn run(scene: &Scene<'_>, report: &mut Report) {
    for unplaced in scene
        .unplaced
        .iter()
        .filter(|it| it.cause == Cause::Selector)
    {
        let pod = &scene.pods[unplaced.pod];
        let is_label = |reason: &&Reason| {
            matches!(
                reason.why,
                Why::Label { .. } | Why::NoTerm { .. } | Why::NodeField
            )
        };
        let Some(nearest) = unplaced.nearest() else {
            continue;
        };
        let Some(reason) = against(nearest).find(is_label) else {
            continue;
        };
        let message = format!("{} chooses nodes that no pool has", pod.title());
        let span = if reason.asked.is_written() {
            reason.asked
        } else {
            unplaced.span(&scene.pods)
        };
        let mut draft = report.draft(&RULE.code, span, message);
        for verdict in &unplaced.verdicts {
            if let Some(reason) = against(verdict).find(is_label) {
                let text = format!("pool `{}` {reason}", verdict.pool.name);
                draft = draft.label(verdict.pool.name.span, text);
            }
        }
        let with: Vec<_> = match pod.containers.iter().find_map(Container::gpus) {
            Some(gpus) => scene.offering(&gpus.key),
            None => scene.cluster.pools.iter().collect(),
        };
        let names: Vec<_> = with.iter().filter(|pool| !pool.is_existing()).collect();
        let names: Vec<_> = names.iter().map(|pool| pool.name.as_str()).collect();
        let draft = match names.as_slice() {
            [] => draft.help("write a label that the nodes have"),
            names => draft.help(format!(
                "choose by `{POOL_LABEL}`: {}",
                words::all(names, "or")
            )),
        };
        let meant = meant(&reason.why, &names);
        match meant.filter(|_| reason.asked.is_written()) {
            Some(name) if scene.sources.text(reason.asked).len() < 64 => {
                let edit = crate::diag::Edit {
                    span: reason.asked,
                    text: name.to_owned(),
                };
                let is_plain = !scene
                    .sources
                    .text(reason.asked)
                    .contains(['"', '\'', '*', ' ']);
                if is_plain {
                    draft.fix(vec![edit]).emit()
                } else {
                    draft.emit()
                }
            }
            _ => draft.emit(),
        };
    }
}

/// The pool that a name misspells.
fn meant<'n>(why: &Why, names: &[&'n str]) -> Option<&'n str> {
    let Why::Label { asked, .. } = why else {
        return None;
    };
    let [value] = asked.values.as_slice() else {
        return None;
    };
    let is_pool = asked.key == POOL_LABEL;
    words::nearest(value, names.iter().copied()).filter(|_| is_pool)
}
