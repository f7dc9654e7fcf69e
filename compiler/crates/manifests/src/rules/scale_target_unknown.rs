//! The target of an autoscaler is unknown, and a known object has nearly that name.

use gpuc_syntax::diag::words::nearest;
use gpuc_syntax::diag::{Code, Correction, Report, Severity};
use gpuc_syntax::node::Node;

use crate::claims::may_meet;
use crate::read::Object;
use crate::services::is_scaler;
use crate::{Rule, Scene, text_edit};

pub(super) static RULE: Rule = Rule {
    code: Code {
        id: "GPUC4054",
        name: "manifest-scale-target-unknown",
        severity: Severity::Warning,
        summary: "the target of an autoscaler is unknown; a known object has nearly that name",
        checks: "Whether the `scaleTargetRef` of a HorizontalPodAutoscaler or a KEDA ScaledObject is among the manifests of
its namespace. gpuc reports only names close to an object of the same kind: a target with another name may
exist elsewhere.",
        reason: "The API server accepts an autoscaler without a target. The autoscaler reports the problem in its status, and
the number of pods does not change.",
        remedy: "Write the name of the object to scale.",
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
        correction: Correction::Replace("name: chatt", "name: chat"),
    },
    run,
};

fn run(scene: &Scene<'_>, report: &mut Report) {
    for scaler in scene.objects.iter().filter(|it| is_scaler(it)) {
        let target = scaler
            .root
            .get("spec")
            .and_then(|it| it.get("scaleTargetRef"));
        let Some((kind, name, node)) = target.and_then(parse_target) else {
            continue;
        };
        let known = scene.objects.iter();
        let known = known.filter(|it| it.kind == kind && may_meet(it, scaler));
        let known: Vec<_> = known
            .filter_map(|it| Some((it.name.as_deref()?, it)))
            .collect();
        let is_known = known.iter().any(|(known, _)| *known == name);
        let closest = nearest(name, known.iter().map(|(name, _)| *name));
        let Some(closest) = closest.filter(|_| !is_known) else {
            continue;
        };
        // Objects with similar names, such as a reader and a writer, may have separate autoscalers.
        let is_scaled = |it: &&Object| {
            let other = it.root.get("spec").and_then(|it| it.get("scaleTargetRef"));
            is_scaler(it)
                && other
                    .and_then(parse_target)
                    .is_some_and(|it| (it.0, it.1) == (kind, closest))
        };
        if scene.objects.iter().any(|it| is_scaled(&it)) {
            continue;
        }
        let message = format!("{}: unknown {kind} `{name}`", scaler.title());
        let mut builder = report.diagnostic(&RULE.code, node.span(), message);
        let found = known.iter().find(|(known, _)| *known == closest);
        let found = found.and_then(|(_, it)| it.root.get("metadata")?.get("name"));
        if let Some(found) = found {
            builder = builder.label(found.span(), "an object with a similar name");
        }
        let builder = builder.help(format!("did you mean `{closest}`?"));
        match text_edit::value(scene.sources, node, closest) {
            Some(edit) => builder.fix(vec![edit]).emit(),
            None => builder.emit(),
        };
    }
}

/// The kind and the name of a target, and the node of the name.
fn parse_target(target: &Node) -> Option<(&str, &str, &Node)> {
    let kind = target.get("kind").map_or(Some("Deployment"), Node::text)?;
    let node = target.get("name")?;
    let name = node.text().filter(|name| !name.contains(['$', '{']))?;
    Some((kind, name, node))
}
