//! An autoscaler names a target that is not among the manifests, and nearly is.

use crate::diag::words::nearest;
use crate::diag::{Code, Report, Severity};
use crate::manifests::claims::may_meet;
use crate::manifests::read::Object;
use crate::manifests::services::is_scaler;
use crate::manifests::{Rule, Scene, edit};
use crate::node::Node;

/// An autoscaler names a target that is not among the manifests, and nearly is.
pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4054",
        name: "manifest-scale-target-unknown",
        severity: Severity::Warning,
        summary: "an autoscaler names a target that is not there, and one of nearly that name is",
        explain: "### What it checks

Whether what a HorizontalPodAutoscaler or a ScaledObject of KEDA's names by `scaleTargetRef` is among the
manifests of its namespace, where others of that kind are, and one of nearly that name. With nothing
near it, the target may be somewhere else.

### Why it matters

The API server takes an autoscaler of nothing. It says so in its status, and the pods stay as many as
they are.

### What to do

Write the name of what it is to scale.
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
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat, namespace: research}
spec:
  replicas: 1
  selector: {matchLabels: {app: chat}}
  template:
    metadata: {labels: {app: chat}}
    spec:
      tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
      containers:
        - name: main
          image: registry.example.com/model:1.0.0
          resources: {limits: {nvidia.com/gpu: 1}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: chat, namespace: research}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: chatt}
  minReplicas: 1
  maxReplicas: 2
  metrics: [{type: Pods, pods: {metric: {name: waiting}, target: {type: AverageValue, averageValue: 4}}}]
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
apiVersion: apps/v1
kind: Deployment
metadata: {name: chat, namespace: research}
spec:
  replicas: 1
  selector: {matchLabels: {app: chat}}
  template:
    metadata: {labels: {app: chat}}
    spec:
      tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
      containers:
        - name: main
          image: registry.example.com/model:1.0.0
          resources: {limits: {nvidia.com/gpu: 1}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: chat, namespace: research}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: chat}
  minReplicas: 1
  maxReplicas: 2
  metrics: [{type: Pods, pods: {metric: {name: waiting}, target: {type: AverageValue, averageValue: 4}}}]
"#,
    },
    run,
};

fn run(scene: &Scene<'_>, report: &mut Report) {
    for scaler in scene.objects.iter().filter(|it| is_scaler(it)) {
        let target = scaler
            .root
            .get("spec")
            .and_then(|it| it.get("scaleTargetRef"));
        let Some((kind, name, place)) = target.and_then(named) else {
            continue;
        };
        let known = scene.objects.iter();
        let known = known.filter(|it| it.kind == kind && may_meet(it, scaler));
        let known: Vec<_> = known
            .filter_map(|it| Some((it.name.as_deref()?, it)))
            .collect();
        let near = nearest(name, known.iter().map(|(name, _)| *name));
        let Some(near) = near.filter(|_| !known.iter().any(|(known, _)| *known == name)) else {
            continue;
        };
        // Two that share their work, such as a reader and a writer, may have an autoscaler each.
        let is_scaled = |it: &&Object| {
            let other = it.root.get("spec").and_then(|it| it.get("scaleTargetRef"));
            is_scaler(it)
                && other
                    .and_then(named)
                    .is_some_and(|it| (it.0, it.1) == (kind, near))
        };
        if scene.objects.iter().any(|it| is_scaled(&it)) {
            continue;
        }
        let message = format!(
            "{} scales {kind} `{name}`, which is not there",
            scaler.title()
        );
        let mut draft = report.draft(&RULE.code, place.span(), message);
        let found = known.iter().find(|(known, _)| *known == near);
        let named = found.and_then(|(_, it)| it.root.get("metadata")?.get("name"));
        if let Some(named) = named {
            draft = draft.label(named.span(), "nearly its name");
        }
        let draft = draft.help(format!("did you mean `{near}`?"));
        match edit::value(scene.sources, place, near) {
            Some(edit) => draft.fix(vec![edit]).emit(),
            None => draft.emit(),
        };
    }
}

/// The kind and the name of a target, and where the name is.
fn named(target: &Node) -> Option<(&str, &str, &Node)> {
    let kind = target.get("kind").map_or(Some("Deployment"), Node::text)?;
    let place = target.get("name")?;
    let name = place.text().filter(|name| !name.contains(['$', '{']))?;
    Some((kind, name, place))
}
